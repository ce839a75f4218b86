"""Commit offsets: for the user, by time, before partitions are given back, and at the end.

A client that is no member commits nothing: without a generation the coordinator could not
distinguish a zombie from a tool.

A request has the instance id that the user set, wherever there is room for it.

Source: KIP-345 (the instance id in OffsetCommit, "Public Interfaces"); Kafka's ConsumerCoordinator:
a commit that a rebalance interrupts is not tried again, one that a moving coordinator interrupts
is.
"""

from __future__ import annotations

from itertools import groupby

from msgspec.structs import replace

from fencepost.model.client import links
from fencepost.model.client.behaviour import Reaction
from fencepost.model.client.client_interface import Committed
from fencepost.model.client.client_state import (
    ClientState,
    ClientWork,
    Committing,
    Flight,
    Membership,
    Phase,
    Stage,
    is_fenced,
)
from fencepost.model.client.links import INSTANCE_SINCE
from fencepost.model.messages.errors import Error, kafka_error
from fencepost.model.messages.messages import (
    CommitPartition,
    CommitTopic,
    OffsetCommitRequest,
    OffsetCommitResponse,
)
from fencepost.model.messages.subscription import TopicPartition


def sent_instance(work: ClientWork, api: str, version: int) -> str | None:
    """Return the instance id for a request of this API and version."""
    instance, conduct = work.settings.group_instance_id, work.conduct
    if instance is None and conduct.names_dynamic:
        instance = work.settings.client_id
    if instance is None or api not in conduct.identified or version < INSTANCE_SINCE[api]:
        return None
    if not conduct.keeps_instance and work.state.membership.was_removed:
        return None
    if conduct.cuts_instance:
        instance = instance.rpartition("-")[0] or instance
    return instance + conduct.instance_suffix


_API = "OffsetCommit"
_NONE = Error.NONE.value


def commit_for_user(work: ClientWork) -> None:
    """Commit the user's positions; report at once if that is impossible."""
    state = work.state
    if (refusal := _refusal(work)) is not None:
        work.tell(Committed(refusal))
        return
    offsets = _offsets(work, only_new=False)
    waiting = 1 + (0 if state.committing is None else state.committing.waiting)
    if not offsets:
        work.tell(Committed(Error.NONE.name))
        return
    deadline = work.now_ms + work.settings.commit_timeout_ms
    generation = state.membership.generation_id if work.conduct.commits_late else -1
    work.change(committing=Committing(offsets, deadline, waiting, generation_id=generation))


def _refusal(work: ClientWork) -> str | None:
    """Return why the user can't commit now; None: it can."""
    state, member = work.state, work.state.membership
    if is_fenced(state) and work.conduct.commits_when_fenced:
        return None
    if state.failure is not None:
        return state.failure.code
    if state.stage is not Stage.RUNNING:
        return Error.UNKNOWN_MEMBER_ID.name
    return _not_a_member(work, member)


def _not_a_member(work: ClientWork, member: Membership) -> str | None:
    """Return the error of a client that isn't a member of the generation; None: it is one."""
    conduct = work.conduct
    if member.generation_id < 0:
        goes_on = conduct.commits_as_nobody or conduct.commits_unsubscribed
        return None if goes_on else Error.UNKNOWN_MEMBER_ID.name
    goes_on = member.phase is Phase.STABLE or conduct.commits_late
    return None if goes_on else Error.REBALANCE_IN_PROGRESS.name


def start(work: ClientWork, deadline_ms: int) -> None:
    """Commit new offsets, if a member may, and no commit is under way."""
    member = work.state.membership
    if member.phase is not Phase.STABLE or work.state.committing is not None:
        return
    if offsets := _offsets(work, only_new=True):
        work.change(committing=Committing(offsets, deadline_ms))


def unsubscribed(work: ClientWork, before: ClientState) -> None:
    """Commit what was read, as a faulty client does that has just given its place up."""
    conduct, member = work.conduct, before.membership
    if not (conduct.commits_unsubscribed or conduct.commits_as_before):
        return
    deadline = work.now_ms + work.settings.commit_timeout_ms
    offsets = positions(before)
    if offsets and conduct.commits_unsubscribed:
        work.change(committing=Committing(offsets, deadline))
    elif offsets:
        as_before = Committing(
            offsets, deadline, generation_id=member.generation_id, member_id=member.member_id
        )
        work.change(committing=as_before)


def pursue(work: ClientWork) -> None:
    """Commit when it is time, and send the present commit."""
    state = work.state
    goes_on = is_fenced(state) and work.conduct.commits_when_fenced
    if state.stage not in {Stage.RUNNING, Stage.CLOSING} and not goes_on:
        return
    every = work.settings.auto_commit_ms
    if every is not None and work.now_ms >= (state.auto_commit_ms or 0):
        if state.stage is not Stage.CLOSING:
            start(work, work.now_ms + work.settings.request_timeout_ms)
        work.change(auto_commit_ms=work.now_ms + every)
    current = work.state.committing
    if current is None:
        return
    if (ended := _interrupted(work, current)) is not None:
        if not work.conduct.commits_again:
            work.end_commit(ended)
        return
    coordinator = work.state.cluster.coordinator
    if coordinator is None or work.now_ms < current.backoff.not_before_ms:
        return
    if current.member_id and work.state.membership.phase is not Phase.STABLE:
        return
    if link := links.idle(work, coordinator):
        request_id = work.state.next_id
        if links.ask(work, link, _API, lambda version: _request(work, version)):
            work.change(committing=replace(current, request_id=request_id))


def _interrupted(work: ClientWork, current: Committing) -> str | None:
    """Return why a commit can't be done any more."""
    if work.now_ms >= current.deadline_ms:
        return "REQUEST_TIMED_OUT"
    if current.member_id:
        return None
    return _not_a_member(work, work.state.membership)


def _request(work: ClientWork, version: int) -> OffsetCommitRequest:
    member, current = work.state.membership, work.state.committing
    assert current is not None
    is_member = member.generation_id >= 0 and not is_fenced(work.state)
    member_id = current.member_id or member.member_id
    generation = member.generation_id if current.generation_id < 0 else current.generation_id
    by_topic = groupby(current.offsets, lambda row: row[0].topic)
    return OffsetCommitRequest(
        group_id=work.settings.group_id,
        generation_id=generation if version >= 1 else -1,
        member_id=member_id if version >= 1 and is_member else "",
        group_instance_id=sent_instance(work, _API, version) if is_member else None,
        topics=tuple(
            CommitTopic(
                name=topic,
                partitions=tuple(
                    CommitPartition(partition_index=partition.partition, committed_offset=offset)
                    for partition, offset in rows
                ),
            )
            for topic, rows in by_topic
        ),
    )


def _offsets(work: ClientWork, *, only_new: bool) -> tuple[tuple[TopicPartition, int], ...]:
    """Return the user's positions, in order; those that differ from the commits, if `only_new`."""
    committed = {p.partition: p.committed for p in work.state.reading.positions}
    rows = positions(work.state)
    return tuple(row for row in rows if not (only_new and row[1] == committed[row[0]]))


def positions(state: ClientState) -> tuple[tuple[TopicPartition, int], ...]:
    """Return the user's positions, in order, as far as they are known."""
    positions = sorted(state.reading.positions, key=lambda p: p.partition)
    return tuple((p.partition, p.offset) for p in positions if p.offset is not None)


def read(work: ClientWork, flight: Flight, answer: OffsetCommitResponse) -> int | str | None:
    """Take the answer to a commit: the first error of any partition counts.

    Return the error if it is about the membership, else None.
    """
    codes = [row.error_code for topic in answer.topics for row in topic.partitions]
    code = next((each for each in codes if each != _NONE), _NONE)
    reaction = work.conduct.reaction(_API, code)
    current = work.state.committing
    if current is not None and current.request_id == flight.correlation_id:
        again = reaction is Reaction.BEGIN_ANEW and work.conduct.commits_again
        if again or reaction in {Reaction.RETRY, Reaction.FIND_COORDINATOR}:
            lost(work)
        else:
            if code == _NONE:
                _note(work, current)
            work.end_commit(kafka_error(code))
            if reaction is Reaction.TELL and not current.waiting:
                work.tell_error(code, _API)
    if reaction in {Reaction.GO_ON, Reaction.RETRY, Reaction.TELL}:
        return None
    if work.settings.commits_on_revoke and not work.conduct.goes_on_when_refused:
        work.change(topics=())
    is_stable = work.state.membership.phase is Phase.STABLE
    return code if is_stable or reaction is Reaction.FAIL else None


def lost(work: ClientWork) -> None:
    """Try a commit again after a pause: it was not done, and no answer refused it."""
    current = work.state.committing
    if current is not None:
        backoff = work.failed(current.backoff)
        work.change(committing=replace(current, backoff=backoff, request_id=None))


def _note(work: ClientWork, current: Committing) -> None:
    done = dict(current.offsets)
    work.change_reading(
        positions=tuple(
            replace(p, committed=done.get(p.partition, p.committed))
            for p in work.state.reading.positions
        )
    )
