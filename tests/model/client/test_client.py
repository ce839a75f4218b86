"""What holds at every step of a client, whatever brokers answer and users do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.member_bytes import STRANGE

from fencepost.model.client.behaviour import ClientSettings
from fencepost.model.client.client import ClientStep, step
from fencepost.model.client.client_interface import (
    AnswerRead,
    Assigned,
    Closed,
    Committed,
    ConnectionLost,
    Endpoint,
    ErrorReported,
    HangUp,
    Input,
    Lost,
    Outgoing,
    Records,
    Revoked,
    Transacted,
    Woken,
)
from fencepost.model.client.client_state import ClientState
from fencepost.model.messages.cluster_messages import (
    CLUSTER_VERSIONS,
    ApiVersionsResponse,
    Batch,
    BrokerNode,
    ClusterResponse,
    FetchedLog,
    FetchRequest,
    FetchResponse,
    FindCoordinatorResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetRow,
    TopicLeaders,
    TransactionResponse,
    VersionRange,
)
from fencepost.model.messages.messages import (
    APIS,
    CommittedPartition,
    CommittedTopic,
    CommitTopic,
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinMember,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupResponse,
    TxnCommitTopic,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.subscription import TopicPartition, encode_assignment
from fencepost.model.plans.steps import (
    Close,
    Commit,
    CommitInTransaction,
    ResumePolling,
    Start,
    StopPolling,
    Subscribe,
    Unsubscribe,
)

NODES = (BrokerNode(1, "one", 9092), BrokerNode(2, "two", 9092))
CODES = (*[0] * 40, 3, 14, 15, 16, 22, 25, 27, 79, 82, 81, 30, 35, -1, 99)
"""Error codes that answers are given; the good one mostly, or no client gets anywhere."""

SETTINGS = st.builds(
    ClientSettings,
    group_id=st.just("g"),
    topics=st.just(("t",)),
    group_instance_id=st.sampled_from([None, "i"]),
    assignors=st.sampled_from([("range",), ("sticky",), ("cooperative-sticky",)]),
    session_timeout_ms=st.just(6000),
    heartbeat_interval_ms=st.just(500),
    max_poll_interval_ms=st.just(8000),
    auto_commit_ms=st.sampled_from([None, 1000]),
)
HIGHEST = st.dictionaries(st.sampled_from(sorted(APIS)), st.integers(0, 12), max_size=2)
ACTS = st.lists(
    st.tuples(st.sampled_from("aaaaaaaalwwwu"), st.integers(0, 999), st.sampled_from(CODES)),
    max_size=60,
)
USER: tuple[Input, ...] = (
    StopPolling("a"),
    ResumePolling("a"),
    ResumePolling("a"),
    Commit("a"),
    CommitInTransaction("a"),
    Subscribe("a", ("t", "u")),
    Unsubscribe("a"),
    Close("a", 3000),
)


def partitions(choice: int) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition("t", n) for n in range(4) if choice >> n & 1)


def committed(
    topics: Iterable[CommitTopic | TxnCommitTopic], code: int
) -> tuple[CommittedTopic, ...]:
    """The same answer to each partition of a commit."""
    return tuple(
        CommittedTopic(
            name=topic.name,
            partitions=tuple(
                CommittedPartition(partition_index=row.partition_index, error_code=code)
                for row in topic.partitions
            ),
        )
        for topic in topics
    )


def answer_to(
    asked: Outgoing, choice: int, code: int, highest: dict[str, int], strange: bytes | None = None
) -> Message | ClusterResponse:
    """Some answer of the right kind; `strange`: what another member wrote."""
    message, version = asked.message, asked.version
    match asked.api, message:
        case "ApiVersions", _:
            rows = {api.name: (api.lowest, api.highest) for api in APIS.values()}
            known = {**rows, **CLUSTER_VERSIONS}
            ranges = (VersionRange(a, lo, highest.get(a, hi)) for a, (lo, hi) in known.items())
            return ApiVersionsResponse(35 if code == 35 else 0, tuple(ranges))
        case "FindCoordinator", _:
            return FindCoordinatorResponse(code, NODES[choice % 2])
        case "Metadata", MetadataRequest(topics):
            leaders = tuple((1, 2, 1, 2)[: choice % 5])
            return MetadataResponse(NODES, tuple(TopicLeaders(t, 0, leaders) for t in topics or ()))
        case "ListOffsets", ListOffsetsRequest(asked_for, _):
            return ListOffsetsResponse(tuple(OffsetRow(p, code, choice) for p in asked_for))
        case "Fetch", FetchRequest(positions, _):
            batch = (Batch(choice, choice + 3, 4),)
            logs = (FetchedLog(p, code if code in {0, 3} else 1, batch) for p, _ in positions)
            return FetchResponse(0, tuple(logs))
        case "JoinGroup", JoinGroupRequest():
            me = JoinMember(member_id="m", metadata=message.protocols[0].metadata)
            another = () if strange is None else (JoinMember(member_id="n", metadata=strange),)
            good = code == 0
            leads = good and choice % 2 == 0
            return JoinGroupResponse(
                error_code=code,
                generation_id=choice if good else -1,
                protocol_type="consumer" if good and version >= 7 else None,
                protocol_name=message.protocols[0].name if good else None,
                leader="m" if leads else "somebody",
                member_id="m",
                members=(me, *another) if leads else (),
            )
        case "SyncGroup", _:
            assigned = encode_assignment(partitions(choice)) if strange is None else strange
            return SyncGroupResponse(error_code=code, assignment=assigned if code == 0 else b"")
        case "Heartbeat", _:
            return HeartbeatResponse(error_code=code)
        case "InitProducerId" | "AddOffsetsToTxn" | "EndTxn", _:
            return TransactionResponse(code, choice, choice)
        case "TxnOffsetCommit", TxnOffsetCommitRequest():
            return TxnOffsetCommitResponse(topics=committed(message.topics, code))
        case "LeaveGroup", _:
            return LeaveGroupResponse(error_code=code)
        case "OffsetCommit", OffsetCommitRequest():
            return OffsetCommitResponse(topics=committed(message.topics, code))
        case "OffsetFetch", OffsetFetchRequest():
            offset = choice if choice % 3 else -1
            wanted = message.groups[0].topics if message.groups else message.topics
            rows_found = tuple(
                FetchedTopic(
                    name=topic.name,
                    partitions=tuple(
                        FetchedPartition(partition_index=n, committed_offset=offset)
                        for n in topic.partition_indexes
                    ),
                )
                for topic in wanted or ()
            )
            if version >= 8:
                group = FetchedGroup(group_id="g", topics=rows_found, error_code=code)
                return OffsetFetchResponse(groups=(group,))
            return OffsetFetchResponse(topics=rows_found, error_code=code if version >= 2 else 0)
        case _:
            raise AssertionError(asked.api)


@dataclass
class Watched:
    """A client, and what must hold of it at each step."""

    settings: ClientSettings
    highest: dict[str, int]
    state: ClientState = field(default_factory=ClientState)
    now_ms: int = 0
    wake_at_ms: int | None = None
    open: dict[Endpoint, Outgoing] = field(default_factory=dict)
    owned: set[TopicPartition] = field(default_factory=set)
    waiting: int = 0
    is_over: bool = False
    strange: bytes | None = None

    def give(self, given: Input) -> None:
        done = step(self.settings, self.state, given, self.now_ms)
        assert done == step(self.settings, self.state, given, self.now_ms)
        assert isinstance(hash(done), int)
        self.state, self.wake_at_ms = done.state, done.wake_at_ms
        assert done.wake_at_ms is None or done.wake_at_ms > self.now_ms
        self._see_requests(done)
        self._see_events(done)
        again = step(self.settings, self.state, Woken(), self.now_ms)
        assert (again.requests, again.events) == ((), ()), "nothing more is due at this time"

    def _see_requests(self, done: ClientStep) -> None:
        for request in done.requests:
            if isinstance(request, HangUp):
                self.open.pop(request.to, None)
                continue
            assert not self.is_over, "a client that failed or is closed asks nothing"
            assert request.to not in self.open, "one request at a time"
            self.open[request.to] = request
            message = request.message
            if isinstance(message, Message):
                message.to_body(request.version)
                assert request.version <= self.highest.get(request.api, 99)
            if self.settings.group_instance_id is not None:
                assert request.api != "LeaveGroup"
                assert getattr(message, "group_instance_id", "i") == "i"
            if isinstance(message, OffsetCommitRequest):
                assert message.generation_id >= 0

    def _see_events(self, done: ClientStep) -> None:
        for event in done.events:
            match event:
                case Assigned(given):
                    assert self.owned.isdisjoint(given)
                    self.owned |= set(given)
                case Revoked(given) | Lost(given):
                    assert self.owned >= set(given)
                    self.owned -= set(given)
                case Records(partition, _, count):
                    assert partition in self.owned
                    assert count > 0
                    assert not self.is_over
                case ErrorReported(_, fatal, _):
                    self.is_over |= fatal
                case Committed() | Transacted():
                    self.waiting -= 1
                    assert self.waiting >= 0
                case Closed():
                    self.is_over = True
                    assert self.waiting == 0
                    assert self.wake_at_ms is None

    def act(self, kind: str, choice: int, code: int) -> None:
        endpoints = list(self.open)
        if kind == "a" and endpoints:
            asked = self.open.pop(endpoints[choice % len(endpoints)])
            answer = answer_to(asked, choice, code, self.highest, self.strange)
            self.now_ms += 1
            self.give(AnswerRead(asked.correlation_id, answer))
        elif kind == "l" and endpoints:
            endpoint = endpoints[choice % len(endpoints)]
            del self.open[endpoint]
            self.give(ConnectionLost(endpoint))
        elif kind == "u":
            given = USER[choice % len(USER)]
            self.waiting += (
                isinstance(given, Commit | CommitInTransaction) and not self._is_closed()
            )
            self.give(given)
        elif self.wake_at_ms is not None:
            self.now_ms = self.wake_at_ms
            self.give(Woken())

    def _is_closed(self) -> bool:
        return self.state.stage.value == "closed"


@settings(max_examples=100)
@given(SETTINGS, HIGHEST, ACTS)
def test_at_each_step(
    consumer: ClientSettings, highest: dict[str, int], acts: list[tuple[str, int, int]]
) -> None:
    watched = Watched(consumer, highest)
    watched.give(Start("a"))
    for act in acts:
        watched.act(*act)


@settings(max_examples=150)
@given(SETTINGS, ACTS, STRANGE)
def test_no_bytes_of_another_member_are_too_strange(
    consumer: ClientSettings, acts: list[tuple[str, int, int]], strange: bytes
) -> None:
    watched = Watched(consumer, {}, strange=strange)
    watched.give(Start("a"))
    for act in (*[("a", 4, 0)] * 12, *acts):
        watched.act(*act)


@settings(max_examples=50)
@given(SETTINGS, ACTS)
def test_close_ends_in_time_whatever_happened_before(
    consumer: ClientSettings, acts: list[tuple[str, int, int]]
) -> None:
    watched = Watched(consumer, {})
    watched.give(Start("a"))
    for act in acts:
        watched.act(*act)
    begun_ms = watched.now_ms
    watched.give(Close("a", 3000))
    while watched.wake_at_ms is not None:
        watched.act("w", 0, 0)
    assert watched.is_over
    assert watched.state.stage.value == "closed"
    assert watched.now_ms <= max(begun_ms, watched.state.close_by_ms or 0)


def test_an_answer_to_nothing_that_was_asked_changes_nothing() -> None:
    consumer = ClientSettings(group_id="g", topics=("t",))
    started = step(consumer, ClientState(), Start("a"), 0)
    done = step(consumer, started.state, AnswerRead(99, HeartbeatResponse(error_code=82)), 1)
    assert done.state == started.state
    assert (done.requests, done.events) == ((), ())


def test_an_answer_of_a_kind_that_no_client_asks_for_is_our_own_fault() -> None:
    consumer = ClientSettings(group_id="g", topics=("t",))
    started = step(consumer, ClientState(), Start("a"), 0)
    describe = APIS["DescribeGroups"].response(groups=())
    with pytest.raises(TypeError, match="answers nothing that a client asks"):
        step(consumer, started.state, AnswerRead(1, describe), 1)


def test_a_throttled_client_pauses_on_that_connection() -> None:
    """The broker throttles for 7 s: no heartbeat for so long, then one at once."""
    watched = Watched(ClientSettings(group_id="g", topics=("t",), auto_commit_ms=None), {})
    watched.give(Start("a"))
    while "Heartbeat" not in {asked.api for asked in watched.open.values()}:
        watched.act("a" if watched.open else "w", 0, 0)
    (beat,) = (asked for asked in watched.open.values() if asked.api == "Heartbeat")
    del watched.open[beat.to]
    answer = HeartbeatResponse(error_code=0, throttle_time_ms=7000)
    watched.give(AnswerRead(beat.correlation_id, answer))
    begun_ms = watched.now_ms
    while beat.to not in watched.open:
        watched.act("w", 0, 0)
    assert watched.now_ms == begun_ms + 7000
