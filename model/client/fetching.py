"""Find positions, and fetch records from there on, while the user polls.

A position comes from the group's committed offset; where there is none, or the log has it no more,
from the log's first or next offset, as the user set it.

Source: Kafka's protocol guide; Kafka's Fetcher.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from msgspec.structs import replace

from fencepost.model.client import links, lookup
from fencepost.model.client.behaviour import Reaction
from fencepost.model.client.client_interface import Endpoint, Records
from fencepost.model.client.client_state import (
    Backoff,
    ClientWork,
    Phase,
    Position,
    Stage,
    is_fenced,
)
from fencepost.model.messages.cluster_messages import (
    FetchedLog,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    FetchGroup,
    FetchTopic,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from fencepost.model.messages.subscription import TopicPartition

_NONE = Error.NONE.value
_GROUPS_SINCE = 8
_OFFSET_OUT_OF_RANGE = 1
_UNKNOWN_TOPIC = Error.UNKNOWN_TOPIC_OR_PARTITION.value


def pursue(work: ClientWork) -> None:
    """Request unknown positions, and records."""
    state = work.state
    goes_on = is_fenced(state) and work.conduct.reads_when_fenced
    if not state.is_polling or not (state.stage is Stage.RUNNING or goes_on):
        return
    reading = state.reading
    if work.now_ms >= reading.backoff.not_before_ms:
        _ask_positions(work)
    if work.now_ms < reading.fetch_backoff.not_before_ms or not work.settings.fetches:
        return
    for leader, positions in _by_leader(work, _to_read(work)):
        _ask_log(work, leader, positions)


def pause(work: ClientWork, partitions: Iterable[tuple[str, int]]) -> None:
    """Hand out no records of these partitions until they are resumed, or assigned anew."""
    if work.conduct.heeds_pause:
        named = frozenset(TopicPartition(*partition) for partition in partitions)
        work.change_reading(paused=work.state.reading.paused | named)


def resume(work: ClientWork, partitions: Iterable[tuple[str, int]]) -> None:
    """Read on from where the user was."""
    if work.conduct.heeds_resume:
        named = frozenset(TopicPartition(*partition) for partition in partitions)
        work.change_reading(paused=work.state.reading.paused - named)


def _to_read(work: ClientWork) -> Sequence[Position]:
    """List the positions to read on from: those of all partitions that the user has."""
    reading, before = work.state.reading, work.state.membership.target_before
    kept = [p for p in reading.positions if work.conduct.reads_kept or p.partition not in before]
    return (*(p for p in kept if p.partition not in reading.paused), *reading.given_back)


def _by_leader(
    work: ClientWork, positions: Iterable[Position]
) -> list[tuple[Endpoint, list[Position]]]:
    """Return the positions by their partition's leader, as far as leaders are known."""
    by_leader: dict[Endpoint, list[Position]] = {}
    for position in positions:
        if leader := lookup.leader_of(work.state, *position.partition):
            by_leader.setdefault(leader, []).append(position)
    return list(by_leader.items())


def _ask_positions(work: ClientWork) -> None:
    state = work.state
    unknown = [p.partition for p in state.reading.positions if p.offset is None and not p.resets]
    coordinator = state.cluster.coordinator
    if not unknown or coordinator is None or state.membership.phase is not Phase.STABLE:
        return
    if link := links.idle(work, coordinator):
        links.ask(work, link, "OffsetFetch", lambda version: _request(work, unknown, version))


def _request(work: ClientWork, unknown: list[TopicPartition], version: int) -> OffsetFetchRequest:
    topics = tuple(
        FetchTopic(name=topic, partition_indexes=tuple(p.partition for p in rows))
        for topic, rows in groupby(sorted(unknown), lambda p: p.topic)
    )
    group_id = work.settings.group_id
    if version >= _GROUPS_SINCE:
        return OffsetFetchRequest(groups=(FetchGroup(group_id=group_id, topics=topics),))
    return OffsetFetchRequest(group_id=group_id, topics=topics)


def _ask_log(work: ClientWork, leader: Endpoint, positions: list[Position]) -> None:
    """Request the missing offsets of a leader, else records."""
    missing = tuple(p.partition for p in positions if p.offset is None and p.resets)
    known = tuple((p.partition, p.offset) for p in positions if p.offset is not None)
    if not (missing or known) or (link := links.idle(work, leader)) is None:
        return
    if missing:
        earliest = work.settings.auto_offset_reset == "earliest"
        links.ask(work, link, "ListOffsets", lambda _: ListOffsetsRequest(missing, earliest))
    else:
        wait = work.settings.fetch_max_wait_ms
        links.ask(work, link, "Fetch", lambda _: FetchRequest(known, wait))


def _change(work: ClientWork, changed: dict[TopicPartition, Position]) -> None:
    reading = work.state.reading
    work.change_reading(
        positions=tuple(changed.get(p.partition, p) for p in reading.positions),
        given_back=tuple(changed.get(p.partition, p) for p in reading.given_back),
    )


def offsets_read(work: ClientWork, answer: OffsetFetchResponse) -> None:
    """Take committed offsets; where there is none, ask the log."""
    group = next(iter(answer.groups), None)
    rows = answer.topics if group is None else group.topics
    positions = {p.partition: p for p in work.state.reading.positions if p.offset is None}
    code = answer.error_code if group is None else group.error_code
    changed = {}
    for topic in rows:
        for row in topic.partitions:
            position = positions.get(TopicPartition(topic.name, row.partition_index))
            code = code if code != _NONE else row.error_code
            if position is None or row.error_code != _NONE:
                continue
            if row.committed_offset < 0 or not work.conduct.heeds_committed:
                changed[position.partition] = replace(position, resets=True)
            else:
                offset = row.committed_offset
                changed[position.partition] = replace(position, offset=offset, committed=offset)
    _change(work, changed)
    if code == _NONE:
        work.change_reading(backoff=Backoff())
        return
    offsets_lost(work)
    match work.conduct.reaction("OffsetFetch", code):
        case Reaction.FIND_COORDINATOR:
            lookup.forget_coordinator(work)
        case Reaction.FAIL:
            work.fail(code, "OffsetFetch")
        case Reaction.TELL:
            work.tell_error(code, "OffsetFetch")
        case _:
            pass


def offsets_lost(work: ClientWork) -> None:
    """Request the committed offsets again after a pause."""
    work.change_reading(backoff=work.failed(work.state.reading.backoff))


def log_offsets_read(work: ClientWork, answer: ListOffsetsResponse) -> None:
    """Take the log's own offsets."""
    positions = {p.partition: p for p in work.state.reading.positions}
    good = [row for row in answer.rows if row.error_code == _NONE and row.offset >= 0]
    _change(
        work,
        {
            row.partition: replace(positions[row.partition], offset=row.offset, resets=False)
            for row in good
            if row.partition in positions and positions[row.partition].offset is None
        },
    )
    if len(good) < len(answer.rows):
        log_lost(work)


def log_read(work: ClientWork, request: FetchRequest, answer: FetchResponse) -> None:
    """Hand records to the user, if it polls, and go on behind them."""
    state = work.state
    if not state.is_polling:
        return
    reading = state.reading
    positions = {p.partition: p for p in (*reading.positions, *reading.given_back)}
    fetched_from = dict(request.positions)
    is_wrong = answer.error_code != _NONE
    changed = {}
    for row in answer.logs:
        position = positions.get(row.partition)
        if position is None or position.offset != fetched_from.get(row.partition):
            continue
        if row.partition in reading.paused:
            continue
        if row.error_code == _OFFSET_OUT_OF_RANGE:
            changed[row.partition] = replace(position, offset=None, resets=True)
        elif row.error_code == _UNKNOWN_TOPIC and work.conduct.ends_when_deleted:
            work.fail(row.error_code, "Fetch")
            return
        elif row.error_code != _NONE:
            is_wrong = True
        else:
            changed[row.partition] = _handed(work, position, row)
    _change(work, changed)
    if is_wrong:
        log_lost(work)
    else:
        work.change_reading(fetch_backoff=Backoff())


def _handed(work: ClientWork, position: Position, row: FetchedLog) -> Position:
    """Return the position behind a partition's batches, whose records the user has now."""
    first = position.offset
    assert first is not None
    batches = [batch for batch in row.batches if batch.last >= first]
    if not batches:
        return position
    count = sum(min(batch.records, batch.last - first + 1) for batch in batches)
    begin = max(first, batches[0].first)
    if first == position.committed and not work.conduct.reads_after_commit:
        begin, count = begin + 1, count - 1
    if count:
        work.tell(Records(position.partition, begin, count))
    return replace(position, offset=batches[-1].last + 1)


def log_lost(work: ClientWork) -> None:
    """Look up leaders after a pause: one didn't answer, or leads no more."""
    work.change_reading(fetch_backoff=work.failed(work.state.reading.fetch_backoff))
    if not work.state.cluster.is_stale:
        work.change_cluster(is_stale=True)
