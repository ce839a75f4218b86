"""Evidence made by hand: what a client could have sent, and its users seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fencepost.model.messages.errors import Error as Code
from fencepost.model.messages.messages import (
    CommitPartition,
    CommittedPartition,
    CommittedTopic,
    CommitTopic,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinMember,
    JoinProtocol,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
    TxnCommitPartition,
    TxnCommitTopic,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.subscription import (
    Subscription,
    TopicPartition,
    encode_assignment,
    encode_subscription,
)
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.driver_messages import (
    AnyEvent,
    Assigned,
    ConsumerSettings,
    Ended,
    Error,
    Lost,
    Records,
    Revoked,
)
from fencepost.properties.requirements.evidence import (
    Action,
    Call,
    ConsumerRun,
    Evidence,
    UserEvent,
)
from fencepost.properties.requirements.requirements import judge

TOPIC = "t"
NEWEST = {"JoinGroup": (0, 9), "SyncGroup": (0, 5), "Heartbeat": (0, 4), "OffsetCommit": (2, 9)}
OLD = {"JoinGroup": (0, 4), "SyncGroup": (0, 2), "Heartbeat": (0, 2), "OffsetCommit": (0, 6)}
SAME = "the instance id of the run"

Piece = ConsumerRun | Call | UserEvent | Action


def run(
    consumer: str = "a",
    number: int = 1,
    *,
    instance: str | None = "i-1",
    process: str = "",
    began: float = 0,
    ended: float | None = None,
    how: str = "",
    **settings: Any,
) -> ConsumerRun:
    """A run with a session of 6 s and a poll interval of 8 s."""
    fields = {"bootstrap": "h:1", "group": "g", "topics": (TOPIC,), "instance": instance}
    return ConsumerRun(
        f"{consumer}.{number}",
        consumer,
        number,
        process or consumer,
        ConsumerSettings(**{**fields, **settings}),
        began,
        ended,
        how,
    )


def call(
    of: ConsumerRun,
    api: str,
    at: float,
    request: Message | None,
    answer: Message | None,
    version: int,
    **fields: Any,
) -> Call:
    answered = None if answer is None and "code" not in fields else at + 1
    made = Call(api, version, at, answered, client_id=of.id, **fields)
    made.request, made.answer = request, answer
    return made


def _instance(of: ConsumerRun, instance: str | None) -> str | None:
    return of.instance if instance == SAME else instance


def join(
    of: ConsumerRun,
    at: float,
    member: str = "",
    *,
    gives: str = "m1",
    error: Code = Code.NONE,
    generation: int = 1,
    leader: str = "m1",
    members: Sequence[tuple[str, Sequence[int], int]] = (),
    skip: bool = False,
    version: int = 9,
    instance: str | None = SAME,
    lost: str = "",
    session: int = 6000,
    rebalance: int = 8000,
    protocol: str = "range",
    metadata: bytes = b"",
    others: Sequence[tuple[str, bytes]] = (),
) -> Call:
    """A join.  `members`: of the answer to a leader: id, owned partitions, their generation.

    `others`: more of them, with their metadata; `metadata`: its own.
    """
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=session,
        rebalance_timeout_ms=rebalance,
        member_id=member,
        group_instance_id=_instance(of, instance),
        protocol_type="consumer",
        protocols=(JoinProtocol(name=protocol, metadata=metadata),),
    )
    rows = [
        JoinMember(
            member_id=name,
            metadata=encode_subscription(
                Subscription(
                    (TOPIC,), tuple(TopicPartition(TOPIC, n) for n in owned), of_generation
                )
            ),
        )
        for name, owned, of_generation in members
    ]
    rows += [JoinMember(member_id=name, metadata=written) for name, written in others]
    answer = JoinGroupResponse(
        error_code=error.value,
        generation_id=generation if error is Code.NONE else -1,
        protocol_name=protocol,
        leader=leader,
        skip_assignment=skip,
        member_id=gives,
        members=tuple(rows),
    )
    return call(of, "JoinGroup", at, request, None if lost else answer, version, fault=lost)


def sync(
    of: ConsumerRun,
    at: float,
    member: str = "m1",
    *,
    generation: int = 1,
    error: Code = Code.NONE,
    gives: Sequence[tuple[str, Sequence[int]]] = (),
    gets: Sequence[int] = (),
    version: int = 5,
    instance: str | None = SAME,
    assignment: bytes | None = None,
    gives_bytes: Sequence[tuple[str, bytes]] = (),
) -> Call:
    """A sync; `gives`: member ids with their partitions; `gets`: the partitions of its answer.

    `gives_bytes`, `assignment`: more of these, as bytes.
    """
    rows = tuple(
        SyncAssignment(
            member_id=name,
            assignment=encode_assignment(TopicPartition(TOPIC, number) for number in numbers),
        )
        for name, numbers in gives
    )
    rows += tuple(SyncAssignment(member_id=name, assignment=b) for name, b in gives_bytes)
    request = SyncGroupRequest(
        group_id="g",
        generation_id=generation,
        member_id=member,
        group_instance_id=_instance(of, instance),
        assignments=rows,
    )
    own = encode_assignment(TopicPartition(TOPIC, number) for number in gets)
    own = own if assignment is None else assignment
    answer = SyncGroupResponse(error_code=error.value, assignment=own)
    return call(of, "SyncGroup", at, request, answer, version)


def heartbeat(
    of: ConsumerRun,
    at: float,
    member: str = "m1",
    *,
    generation: int = 1,
    error: Code = Code.NONE,
    version: int = 4,
    instance: str | None = SAME,
) -> Call:
    """A heartbeat."""
    request = HeartbeatRequest(
        group_id="g",
        generation_id=generation,
        member_id=member,
        group_instance_id=_instance(of, instance),
    )
    return call(of, "Heartbeat", at, request, HeartbeatResponse(error_code=error.value), version)


def beats(of: ConsumerRun, since: float, until: float, every: float = 400) -> list[Call]:
    """Heartbeats from one time to another."""
    count = int((until - since) / every)
    return [heartbeat(of, since + index * every) for index in range(count)]


def commit(
    of: ConsumerRun,
    at: float,
    member: str = "m1",
    *,
    generation: int = 1,
    error: Code = Code.NONE,
    version: int = 9,
    instance: str | None = SAME,
    offset: int = 1,
) -> Call:
    """A commit of one partition."""
    request = OffsetCommitRequest(
        group_id="g",
        generation_id=generation,
        member_id=member,
        group_instance_id=_instance(of, instance),
        topics=(
            CommitTopic(
                name=TOPIC,
                partitions=(CommitPartition(partition_index=0, committed_offset=offset),),
            ),
        ),
    )
    answer = OffsetCommitResponse(topics=_committed(error))
    return call(of, "OffsetCommit", at, request, answer, version)


def _committed(error: Code) -> tuple[CommittedTopic, ...]:
    row = CommittedPartition(partition_index=0, error_code=error.value)
    return (CommittedTopic(name=TOPIC, partitions=(row,)),)


def transact(
    of: ConsumerRun,
    at: float,
    member: str = "m1",
    *,
    generation: int = 1,
    error: Code = Code.NONE,
    version: int = 4,
    instance: str | None = SAME,
) -> Call:
    """Offsets of one partition, sent to a transaction."""
    names_member = version >= 3
    request = TxnOffsetCommitRequest(
        transactional_id="x",
        group_id="g",
        generation_id=generation if names_member else -1,
        member_id=member if names_member else "",
        group_instance_id=_instance(of, instance) if names_member else None,
        topics=(
            TxnCommitTopic(
                name=TOPIC,
                partitions=(TxnCommitPartition(partition_index=0, committed_offset=1),),
            ),
        ),
    )
    answer = TxnOffsetCommitResponse(topics=_committed(error))
    return call(of, "TxnOffsetCommit", at, request, answer, version)


def leave(of: ConsumerRun, at: float, member: str = "m1", *, instance: str | None = None) -> Call:
    """A leave of one member."""
    row = LeavingMember(member_id=member, group_instance_id=instance)
    request = LeaveGroupRequest(group_id="g", members=(row,))
    return call(of, "LeaveGroup", at, request, LeaveGroupResponse(error_code=0), 5)


def find(of: ConsumerRun, at: float, code: int = 0) -> Call:
    """A look for the coordinator."""
    return call(of, "FindCoordinator", at, None, None, 4, code=code)


def saw(of: ConsumerRun, at: float, event: AnyEvent) -> UserEvent:
    return UserEvent(of.id, at, event)


def _parts(numbers: Sequence[int]) -> tuple[tuple[str, int], ...]:
    return tuple((TOPIC, number) for number in numbers)


def assigned(of: ConsumerRun, at: float, *numbers: int) -> UserEvent:
    return saw(of, at, Assigned(of.consumer, at, _parts(numbers)))


def revoked(of: ConsumerRun, at: float, *numbers: int) -> UserEvent:
    return saw(of, at, Revoked(of.consumer, at, _parts(numbers)))


def lost(of: ConsumerRun, at: float, *numbers: int) -> UserEvent:
    return saw(of, at, Lost(of.consumer, at, _parts(numbers)))


def read(
    of: ConsumerRun, at: float, number: int = 0, *, first: int = 0, count: int = 1
) -> UserEvent:
    return saw(of, at, Records(of.consumer, at, (TOPIC, number), first, count))


def told(
    of: ConsumerRun, at: float, code: str = "FENCED_INSTANCE_ID", *, fatal: bool = True
) -> UserEvent:
    return saw(of, at, Error(of.consumer, at, "poll", code, fatal, "something"))


def ended(of: ConsumerRun, at: float) -> UserEvent:
    return saw(of, at, Ended(of.consumer, at))


def action(
    name: str,
    of: ConsumerRun | None = None,
    at: float = 0,
    until: float | None = None,
    **fields: Any,
) -> Action:
    return Action(
        name, "" if of is None else of.id, at, at + 1 if until is None else until, **fields
    )


def evidence(*pieces: Piece | Sequence[Any], end: float = 10_000, **fields: Any) -> Evidence:
    """The evidence with these pieces, each kind in order of time; the broker is the newest."""
    flat: list[Piece] = []
    for piece in pieces:
        flat.extend(piece if isinstance(piece, list | tuple) else [piece])  # type: ignore[list-item]
    calls = [p for p in flat if isinstance(p, Call)]
    seen = [p for p in flat if isinstance(p, UserEvent)]
    return Evidence(
        runs=tuple(p for p in flat if isinstance(p, ConsumerRun)),
        calls=tuple(sorted(calls, key=lambda c: c.at_ms)),
        user_events=tuple(sorted(seen, key=lambda s: s.at_ms)),
        actions=tuple(p for p in flat if isinstance(p, Action)),
        **{
            "partitions": {TOPIC: 2},
            "versions": ((0.0, NEWEST),),
            "ended_ms": end,
            **fields,
        },
    )


def settled(
    of: ConsumerRun, at: float, *numbers: int, member: str = "m1", **fields: Any
) -> list[Piece]:
    """A join, a sync, what its user sees, and a heartbeat."""
    generation = fields.get("generation", 1)
    return [
        join(of, at, gives=member, **fields),
        sync(of, at + 10, member, generation=generation),
        assigned(of, at + 20, *numbers),
        heartbeat(of, at + 30, member, generation=generation),
    ]


def assert_told_apart(name: str, right: Evidence, wrong: Evidence, observed: str) -> None:
    """Assert that a judge passes what is right, and says of what is wrong what it saw."""
    assert judge(name, right).outcome is Outcome.PASS
    verdict = judge(name, wrong)
    assert verdict.outcome is Outcome.FAIL
    assert observed in verdict.observed
