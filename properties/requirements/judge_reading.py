"""State the requirements of the area READ, and judge them.

They are about the records that reach a member's user: of all its partitions, of no others, none
skipped, and none again that was committed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fencepost.model.history.words import enumerated
from fencepost.model.messages.errors import Error as Code
from fencepost.model.messages.messages import (
    OffsetCommitRequest,
    OffsetCommitResponse,
)
from fencepost.model.table.table import Level
from fencepost.properties.requirements.driver_messages import (
    Assigned,
    Ended,
    Lost,
    Partition,
    Revoked,
)
from fencepost.properties.requirements.evidence import (
    CLOCK_MS,
    COMMIT,
    JOIN,
    LEAVE,
    MEMBER_APIS,
    PAUSE,
    RESUME,
    Action,
    Call,
    ConsumerRun,
    Evidence,
)
from fencepost.properties.requirements.requirement import HOLDS, Requirement, Verdict, violated

_PRODUCE, _COMMIT, _STOP, _RESUME = "produce", "commit", "stop-polling", "poll-on"
_PEACEFUL = {_PRODUCE, _COMMIT}
"""Actions that interrupt nobody's reading."""

_LIMIT_MS = 8000
"""Time in which a member reads on: more than any library pauses between attempts."""

_USUAL_AGE_MS = 300_000
"""Age at which metadata are asked for again, if nothing else is set."""

_UNREAD = "does not read a partition that it is assigned"
_UNUSED = "does not use an assignment"
"""The library didn't even report the partition to its user."""

_GRACE_MS = 500
"""Delay of records that the user had already received when its partitions were revoked."""

_ORDER_MS = 4 * CLOCK_MS
"""Difference of the clocks of two drivers."""


@dataclass(frozen=True, slots=True)
class _Tenure:
    """A time in which the coordinator's last word is that a run has a partition, and it polls."""

    run: ConsumerRun
    partition: Partition
    since_ms: float
    until_ms: float


@dataclass(frozen=True, slots=True)
class _Delivery:
    """Records of one partition, from `first` to before `end`, that the user of a run received."""

    at_ms: float
    first: int
    end: int
    run: ConsumerRun


def _deliveries(evidence: Evidence) -> Mapping[Partition, Sequence[_Delivery]]:
    """Collect all deliveries of each partition, in order of time."""
    collected: dict[Partition, list[_Delivery]] = {}
    for run in evidence.runs:
        for at_ms, rows in evidence.records_of(run):
            delivery = _Delivery(at_ms, rows.first, rows.first + rows.count, run)
            collected.setdefault(rows.partition, []).append(delivery)
    for deliveries in collected.values():
        deliveries.sort(key=lambda delivery: delivery.at_ms)
    return collected


def _duty_ends(evidence: Evidence, run: ConsumerRun) -> float:
    """Return when a run needn't read any more: it ends, is fenced, gave up or unsubscribed.

    A run whose start failed never needs to.
    """
    if (start := evidence.failed_start(run)) is not None:
        return start.began_ms
    ends = [evidence.ended_ms if run.ended_ms is None else run.ended_ms]
    ends += [c.end_ms for c in evidence.of(run) if c.is_answered(Code.FENCED_INSTANCE_ID)]
    ends += [at_ms for at_ms, error in evidence.errors_of(run) if error.fatal]
    ends += [act.began_ms for act in evidence.actions_of("unsubscribe", run)]
    if (gave_up := evidence.ended(run)) is not None:
        ends.append(gave_up)
    return min(ends)


def _polled(
    evidence: Evidence, run: ConsumerRun, since: float, until: float
) -> Iterator[tuple[float, float]]:
    """Yield the times between two times in which the user polled."""
    for stop in evidence.actions_of(_STOP, run):
        if stop.began_ms >= until:
            break
        if stop.began_ms > since:
            yield since, stop.began_ms
        resumed = (a.ended_ms for a in evidence.actions_of(_RESUME, run) if a.ended_ms > since)
        since = max(since, next((at for at in resumed if at > stop.began_ms), until))
    if since < until:
        yield since, until


def _tenures(evidence: Evidence, run: ConsumerRun) -> Iterator[_Tenure]:
    end = _duty_ends(evidence, run)
    gone = {act.topic: act.began_ms for act in evidence.actions_of("delete-topic")}
    for sync in evidence.syncs_of(run):
        again = evidence.first_after(run, sync.at_ms, JOIN)
        until = end if again is None else min(end, again.at_ms)
        for since_ms, until_ms in _polled(evidence, run, sync.end_ms, until):
            for partition in sync.assigned:
                end_ms = min(until_ms, gone.get(partition[0], until_ms))
                yield _Tenure(run, partition, since_ms, end_ms)


def _appended(
    evidence: Evidence, partition: Partition, until: float
) -> Sequence[tuple[float, int]]:
    """List the ends of a partition's log, with the times from which on they hold."""
    ends, end = [], 0
    for act in evidence.actions_of(_PRODUCE):
        of_it = act.topic in {"", partition[0]} and partition[1] < act.partitions
        if of_it and act.ended_ms < until:
            end += act.count
            ends.append((act.ended_ms, end))
    return ends


def _delivered(
    evidence: Evidence, run: ConsumerRun, partition: Partition, since: float = 0.0
) -> int:
    """Return the offset behind the last record of a partition that a user received; 0: none."""
    rows = (records for _, records in evidence.records_of(run, since))
    return max((r.first + r.count for r in rows if r.partition == partition), default=0)


def _committed(evidence: Evidence, partition: Partition, until: float) -> int:
    """Return the position that surely was committed last before a time; 0: none.

    A commit whose answer nobody saw may have come through or not: the lower position counts.
    """
    position = 0
    for call in sorted(evidence.calls, key=lambda call: call.end_ms):
        if call.api != COMMIT or call.at_ms >= until:
            continue
        offset = _offset_in(call, partition)
        if offset is None:
            continue
        if call.answered_ms is None:
            position = min(position, offset)
        elif call.end_ms < until and _accepts(call, partition):
            position = offset
    return position


def _offset_in(call: Call, partition: Partition) -> int | None:
    if not isinstance(call.request, OffsetCommitRequest):
        return None
    rows = ((t.name, p) for t in call.request.topics for p in t.partitions)
    offsets = (p.committed_offset for name, p in rows if (name, p.partition_index) == partition)
    return next(offsets, None)


def _accepts(call: Call, partition: Partition) -> bool:
    if not isinstance(call.answer, OffsetCommitResponse):
        return call.code == Code.NONE.value
    rows = ((t.name, p) for t in call.answer.topics for p in t.partitions)
    return any(
        (name, p.partition_index) == partition and p.error_code == Code.NONE.value
        for name, p in rows
    )


def is_caught_up(evidence: Evidence, run: ConsumerRun) -> bool:
    """Tell if a run's user has all records of the partitions that it has to read now."""
    if _duty_ends(evidence, run) < evidence.ended_ms:
        return True
    syncs = evidence.syncs_of(run)
    if not syncs or evidence.first_after(run, syncs[-1].at_ms, JOIN) is not None:
        return False
    return all(
        _unread(evidence, tenure) is None
        for tenure in _tenures(evidence, run)
        if tenure.until_ms >= evidence.ended_ms
    )


def _unread(evidence: Evidence, tenure: _Tenure) -> tuple[float, int] | None:
    """Return the first offset that was appended and not read, and when; None: all is read."""
    run, partition, until = tenure.run, tenure.partition, tenure.until_ms
    position = _delivered(evidence, run, partition)
    position = max(position, _committed(evidence, partition, until))
    rows = (
        (at_ms, position) for at_ms, end in _appended(evidence, partition, until) if end > position
    )
    return next(rows, None)


def _quiet_times(
    evidence: Evidence, tenure: _Tenure, since: float
) -> Iterator[tuple[float, float]]:
    """Yield the times of a tenure in which nothing was done and nothing went wrong."""
    until = tenure.until_ms
    times = [since, until]
    times += [a.ended_ms for a in evidence.actions if a.name not in _PEACEFUL]
    for call in evidence.of(tenure.run):
        if call.fault:
            is_held = call.fault == "delay" and call.answered_ms is None
            times.append(until if is_held else call.end_ms)
    yield from pairwise(sorted(at_ms for at_ms in times if since <= at_ms <= until))


def _stalled_ms(evidence: Evidence, since: float, until: float) -> float:
    return sum(ms for at_ms, ms in evidence.stalls if since <= at_ms <= until)


def _is_overdue(evidence: Evidence, since: float, until: float) -> bool:
    """Tell if a member had time enough to read on, stalls left out."""
    return since + _LIMIT_MS + _stalled_ms(evidence, since, until) <= until


def _reads_assigned(evidence: Evidence) -> Iterator[Verdict]:
    for run in evidence.runs:
        for tenure in _tenures(evidence, run):
            partition, since, until = tenure.partition, tenure.since_ms, tenure.until_ms
            unread = _unread(evidence, tenure)
            if unread is None:
                if _delivered(evidence, run, partition, since):
                    yield HOLDS
                continue
            at_ms, offset = unread
            times = _quiet_times(evidence, tenure, max(at_ms, since))
            if not any(_is_overdue(evidence, begun, end) for begun, end in times):
                continue
            begun = max(at_ms, since)
            topic, number = partition
            observed, user = _UNREAD, "its user"
            if not _is_reported(evidence, tenure):
                observed, user = _UNUSED, "the library didn't report it to its user, who"
            yield violated(
                observed,
                f"{run.name} has had {topic}-{number} for {(until - since) / 1000:.1f} s, but "
                f"{user} got no record of it from offset {offset} on in the last "
                f"{(until - begun) / 1000:.1f} s",
                begun,
            )


Span = tuple[float, float]


def _held(evidence: Evidence, run: ConsumerRun) -> dict[Partition, list[Span]]:
    """Collect the times in which a run had each partition, as its user was told.

    Where a library reports no partitions to users: from an answer to a sync to that to the next.
    """
    if evidence.tells_partitions:
        steps = list(evidence.ownership(run))
    else:
        syncs = evidence.syncs_of(run)
        steps = [(sync.end_ms, frozenset(sync.assigned)) for sync in syncs]
    ends = [at_ms for at_ms, _ in steps[1:]]
    held: dict[Partition, list[Span]] = {}
    for (since, partitions), until in zip(steps, [*ends, evidence.ended_ms], strict=False):
        for partition in partitions:
            spans = held.setdefault(partition, [])
            if spans and spans[-1][1] == since:
                spans[-1] = spans[-1][0], until
            else:
                spans.append((since, until))
    return held


def _is_reported(evidence: Evidence, tenure: _Tenure) -> bool:
    """Tell if a library reported to its user a partition that a sync gave it.

    True where a library reports no partitions at all.
    """
    if not evidence.tells_partitions:
        return True
    spans = _held(evidence, tenure.run).get(tenure.partition, ())
    return any(since < tenure.until_ms and tenure.since_ms < until for since, until in spans)


def _answered(evidence: Evidence, run: ConsumerRun) -> dict[Partition, list[Span]]:
    """Collect the times from the answer to a sync until the user is told of its partitions.

    They are the member's by then, and a library may fetch first and tell its user afterwards.  Such
    a time ends with the next event about partitions, and with the next join.
    """
    answered: dict[Partition, list[Span]] = {}
    for sync in evidence.syncs_of(run):
        ends = [evidence.ended_ms if run.ended_ms is None else run.ended_ms]
        ends += [call.at_ms for call in evidence.of(run, JOIN, LEAVE, since=sync.at_ms)[:1]]
        kinds = Assigned, Revoked, Lost, Ended
        ends += [event.at_ms for event in evidence.events_of(run, *kinds, since=sync.end_ms)[:1]]
        for partition in sync.assigned:
            answered.setdefault(partition, []).append((sync.end_ms, min(ends)))
    return answered


def _reads_nothing_else(evidence: Evidence) -> Iterator[Verdict]:
    for run in evidence.runs:
        held, answered = _held(evidence, run), _answered(evidence, run)
        for at_ms, records in evidence.records_of(run):
            topic, number = records.partition
            own = [*held.get(records.partition, ()), *answered.get(records.partition, ())]
            spans = sorted(span for span in own if span[0] - at_ms < _ORDER_MS)
            if any(at_ms <= evidence.later(until, _GRACE_MS) for _, until in spans):
                yield HOLDS
                continue
            detail = "that it was not assigned"
            if spans:
                over = max(until for _, until in spans)
                detail = f"{(at_ms - over) / 1000:.1f} s after it had given it up"
            yield violated(
                "records of a partition that it doesn't have",
                f"the user of {run.name} was given records of {topic}-{number}, from offset "
                f"{records.first} on, {detail}",
                at_ms,
            )


def _skips_nothing(evidence: Evidence) -> Iterator[Verdict]:
    for (topic, number), deliveries in _deliveries(evidence).items():
        unseen = _committed_by_killed(evidence, (topic, number))
        for delivery in deliveries:
            if delivery.run.settings.auto_offset_reset != "earliest":
                continue
            yield HOLDS
            read = {
                offset
                for other in deliveries
                if other.at_ms <= delivery.at_ms + _ORDER_MS
                for offset in range(other.first, other.end)
            }
            missing = next((n for n in range(unseen, delivery.first) if n not in read), None)
            if missing is not None:
                yield violated(
                    "records are skipped",
                    f"the user of {delivery.run.name} was given records of {topic}-{number} from "
                    f"offset {delivery.first} on, and nobody had been given {missing}",
                    delivery.at_ms,
                )


def _committed_by_killed(evidence: Evidence, partition: Partition) -> int:
    """Return the position that runs committed whose process was killed.

    What their users saw last may have been lost with the process.
    """
    dead = {run.id for run in evidence.runs if run.how == "crashed"}
    calls = (c for c in evidence.calls if c.api == COMMIT and c.client_id in dead)
    return max((_offset_in(call, partition) or 0 for call in calls), default=0)


def _reads_nothing_again(evidence: Evidence) -> Iterator[Verdict]:
    for partition, deliveries in _deliveries(evidence).items():
        for run in evidence.runs:
            own = [delivery for delivery in deliveries if delivery.run is run]
            yield from _goes_on(evidence, partition, run, own)


def _goes_on(
    evidence: Evidence, partition: Partition, run: ConsumerRun, deliveries: Sequence[_Delivery]
) -> Iterator[Verdict]:
    """Judge that a run begins at the committed position, and never goes back by itself."""
    topic, number = partition
    syncs = evidence.syncs_of(run)
    position, before = 0, None
    for delivery in deliveries:
        at_ms = delivery.at_ms
        sync = next((s for s in reversed(syncs) if s.end_ms <= at_ms + CLOCK_MS), None)
        if sync is None:
            continue
        tenure = _tenure_key(evidence, run, partition, sync, at_ms)
        committed = _committed(evidence, partition, sync.at_ms)
        goes_on = before is not None and max(position, committed + 1) <= delivery.first
        is_next = before is not None and delivery.first == position
        is_older = goes_on and _may_be_older(evidence, delivery, sync)
        is_older = is_older or (is_next and _is_on_its_way(evidence, partition, delivery))
        if tenure != before and is_older:
            position = delivery.end
            continue
        if committed or tenure == before:
            yield HOLDS
        if delivery.first < committed:
            yield violated(
                "reads again what was committed",
                f"{committed} was committed of {topic}-{number} before {run.name} was assigned it "
                f"in generation {sync.generation}, and its user was given records from offset "
                f"{delivery.first} on",
                at_ms,
            )
        if tenure == before and delivery.first < position:
            yield violated(
                "reads again what it was not asked to give up",
                f"the user of {run.name} had been given {topic}-{number} up to offset "
                f"{position - 1}, nothing was revoked since, and it was given records from offset "
                f"{delivery.first} on again",
                at_ms,
            )
        position = delivery.end if tenure != before else max(position, delivery.end)
        before = tenure


def _may_be_older(evidence: Evidence, delivery: _Delivery, sync: Call) -> bool:
    """Tell if records may belong to the generation before: their user isn't told when it ends."""
    since = evidence.later(sync.end_ms, _GRACE_MS)
    return not evidence.tells_partitions and delivery.at_ms <= since


def _is_on_its_way(evidence: Evidence, partition: Partition, delivery: _Delivery) -> bool:
    """Tell if a user could have been given records before it was told to give them up."""
    return any(
        event.at_ms <= delivery.at_ms <= evidence.later(event.at_ms, _GRACE_MS)
        for event in evidence.events_of(delivery.run, Revoked, Lost)
        if isinstance(event.event, Revoked | Lost) and partition in event.event.partitions
    )


def _tenure_key(
    evidence: Evidence, run: ConsumerRun, partition: Partition, sync: Call, at_ms: float
) -> tuple[float, int]:
    """Tell times apart in which a run has a partition: its position begins anew in each.

    With an eager assignor each generation is such a time.  Records that come before the user is
    told of an assignment belong to the generation before, even right behind the sync.  With a
    cooperative assignor a partition that the member keeps goes on, unless the member lost its place
    or its user subscribed anew.
    """
    acts = (*evidence.actions_of("unsubscribe", run), *evidence.actions_of("subscribe", run))
    breaks = sum(act.began_ms <= at_ms for act in acts)
    if not run.is_cooperative:
        breaks += sum(event.at_ms <= at_ms for event in evidence.events_of(run, Assigned))
        return sync.at_ms, breaks
    refusals = (Code.UNKNOWN_MEMBER_ID, Code.ILLEGAL_GENERATION)
    calls = [call for call in evidence.of(run, *MEMBER_APIS) if call.end_ms <= at_ms]
    breaks += sum(any(map(call.is_answered, refusals)) for call in calls)
    spans = _held(evidence, run).get(partition, [])
    begun = (since for since, _ in reversed(spans) if since <= at_ms + CLOCK_MS)
    return next(begun, sync.at_ms), breaks


def _reads_new_topic(evidence: Evidence) -> Iterator[Verdict]:
    for act in evidence.actions_of("create-topic"):
        runs = [run for run in evidence.runs if _subscribes_later(run, act)]
        if not runs:
            continue
        if _is_read(evidence, act.topic):
            yield HOLDS
            continue
        age = max(_metadata_age(run) for run in runs)
        begun = act.ended_ms + age
        if _is_overdue(evidence, begun, evidence.ended_ms):
            names = enumerated([run.name for run in runs])
            yield violated(
                "does not read a topic that was made later",
                f"{act.topic} was made while {names} subscribed by a pattern that it matches, and "
                "no user was given a record of it for "
                f"{(evidence.ended_ms - begun) / 1000:.1f} s, counted from {age:,} ms later on, "
                "when metadata were to be requested again",
                act.began_ms,
            )


def _subscribes_later(run: ConsumerRun, act: Action) -> bool:
    """Tell if a run subscribed by a pattern before a topic was made that matches it."""
    pattern = run.settings.pattern
    if not isinstance(pattern, str) or run.ended_ms is not None:
        return False
    return run.began_ms <= act.began_ms and re.fullmatch(pattern, act.topic) is not None


def _metadata_age(run: ConsumerRun) -> int:
    age = run.settings.metadata_max_age_ms
    return age if isinstance(age, int) else _USUAL_AGE_MS


def _is_read(evidence: Evidence, topic: str) -> bool:
    return any(
        records.partition[0] == topic
        for run in evidence.runs
        for _, records in evidence.records_of(run)
    )


def _reads_beside_deleted(evidence: Evidence) -> Iterator[Verdict]:
    for act in evidence.actions_of("delete-topic"):
        runs = [r for r in evidence.runs if r.began_ms <= act.began_ms and r.ended_ms is None]
        for run in runs:
            ends = [at_ms for at_ms, error in evidence.errors_of(run, act.began_ms) if error.fatal]
            ends += [at for at in (evidence.ended(run),) if at is not None and at >= act.began_ms]
            if ends:
                yield violated(
                    "ends after a topic was deleted",
                    f"{act.topic} was deleted, and the user of {run.name} got an error after "
                    "which it reads nothing more, of no other topic",
                    min(ends),
                )
        for topic, count in evidence.partitions.items() if runs else ():
            for number in range(count):
                yield from _reads_on(evidence, act, (topic, number))


def _reads_on(evidence: Evidence, act: Action, partition: Partition) -> Iterator[Verdict]:
    """Judge that what was appended to a partition after an action reaches some user."""
    rows = [row for row in _appended(evidence, partition, math.inf) if row[0] > act.ended_ms]
    position = max(_delivered(evidence, run, partition) for run in evidence.runs)
    unread = next((at_ms for at_ms, end in rows if end > position), None)
    if unread is None:
        yield from (HOLDS for _ in rows[:1])
    elif _is_overdue(evidence, unread, evidence.ended_ms):
        topic, number = partition
        yield violated(
            "does not read on after a topic was deleted",
            f"{act.topic} was deleted, and no user was given the records that were appended to "
            f"{topic}-{number} afterwards, for {(evidence.ended_ms - unread) / 1000:.1f} s",
            unread,
        )


def _pauses(evidence: Evidence) -> Iterator[tuple[ConsumerRun, Partition, Span]]:
    """Yield the times in which a partition was paused: until it is resumed, or the run joins."""
    for run, act in evidence.actions_on_runs(PAUSE):
        if act.outcome != "ok":
            continue
        join = evidence.first_after(run, act.began_ms, JOIN)
        ends = [evidence.ended_ms if run.ended_ms is None else run.ended_ms]
        ends += [] if join is None else [join.at_ms]
        for partition in act.named:
            resumed = (a for a in evidence.actions_of(RESUME, run) if partition in a.named)
            later = [a.began_ms for a in resumed if a.began_ms > act.began_ms]
            yield run, partition, (act.ended_ms, min([*ends, *later]))


def _pauses_reading(evidence: Evidence) -> Iterator[Verdict]:
    for run, partition, (since, until) in _pauses(evidence):
        if not any(since < at_ms < until for at_ms, _ in _appended(evidence, partition, until)):
            continue
        yield HOLDS
        topic, number = partition
        for at_ms, records in evidence.records_of(run, evidence.later(since, _GRACE_MS)):
            if records.partition == partition and at_ms < until - _ORDER_MS:
                yield violated(
                    "records of a paused partition",
                    f"the user of {run.name} paused {topic}-{number}, and was given records of it, "
                    f"from offset {records.first} on, {(at_ms - since) / 1000:.1f} s later",
                    at_ms,
                )


def _resumes_reading(evidence: Evidence) -> Iterator[Verdict]:
    for run, act in evidence.actions_on_runs(RESUME):
        if act.outcome != "ok" or evidence.first_after(run, act.began_ms, JOIN) is not None:
            continue
        until = evidence.ended_ms if run.ended_ms is None else run.ended_ms
        for partition in act.named:
            topic, number = partition
            before = (r for at, r in evidence.records_of(run) if at < act.began_ms)
            ends = (r.first + r.count for r in before if r.partition == partition)
            position = max(ends, default=0)
            after = (r for _, r in evidence.records_of(run, act.began_ms))
            first = next((r.first for r in after if r.partition == partition), None)
            if first is not None:
                yield HOLDS
            if first not in {None, position}:
                yield violated(
                    "goes on elsewhere after a pause",
                    f"the user of {run.name} resumed {topic}-{number} at offset {position}, and "
                    f"was given records from {first} on",
                    act.began_ms,
                )
            end = max((end for _, end in _appended(evidence, partition, act.began_ms)), default=0)
            begun = act.ended_ms
            if first is None and end > position and _is_overdue(evidence, begun, until):
                yield violated(
                    "does not read a partition that was resumed",
                    f"the user of {run.name} resumed {topic}-{number}, and was given no record of "
                    f"it, from offset {position} on, for {(until - begun) / 1000:.1f} s",
                    begun,
                )


_POSITIONS = "KafkaConsumer's documentation, Offsets and Consumer Position"
_PAUSES = "KafkaConsumer's documentation, Consumption Flow Control; KafkaConsumer.pause"

REQUIREMENTS = (
    Requirement(
        "CLIENT-READ-ASSIGNED",
        Level.MUST,
        "A member delivers the records of each assigned partition, after every rebalance, "
        "restart and error.",
        "KIP-429, what a member fetches after an eager and after a cooperative rebalance",
        provoked="records are appended to each partition, before and after what happens to the "
        "group",
        judged="the partitions in the answer to the member's last SyncGroup: the user gets their "
        "records within eight seconds in which there was no error",
        judge=_reads_assigned,
        unseen="no member was assigned a partition with records to read",
    ),
    Requirement(
        "CLIENT-READ-NOTHING-ELSE",
        Level.MUST,
        "A member delivers no record of a partition that it wasn't assigned, or that it revoked.",
        "KIP-429, onPartitionsRevoked",
        provoked="records are appended to each partition while partitions go to other members",
        judged="each record comes while its partition is assigned, by the answer to SyncGroup or "
        "in the user's event, or half a second later, since it may have been on its way",
        judge=_reads_nothing_else,
        unseen="no member read a record",
    ),
    Requirement(
        "CLIENT-READ-NO-GAP",
        Level.MUST,
        "A member skips no record: it starts at the committed offset, or at the first record, "
        "and reads on without gaps.",
        f"{_POSITIONS}; KIP-320, what a position is",
        provoked="records are read, committed or not, while partitions go to other members",
        judged="before a record reaches a user, all older ones of its partition reached some user",
        judge=_skips_nothing,
        unseen="no member read a record",
    ),
    Requirement(
        "CLIENT-READ-NOT-TWICE",
        Level.MUST,
        "A member reads no record again that was committed before its assignment, or that it "
        "has read since.",
        f"{_POSITIONS}; KIP-320, what a position is",
        provoked="members commit, then partitions go to others, members restart, and requests for "
        "positions and records fail",
        judged="the offsets that a user was given are not below those in the OffsetCommits that "
        "were accepted before its last SyncGroup, nor below those that it was given since; an "
        "eager member may begin at the committed position in each generation, whether its user "
        "gets an event of the rebalance or not; records that go on where the last ones before a "
        "revocation ended may come half a second after it",
        judge=_reads_nothing_again,
        unseen="no member read on from an offset that was committed or read before",
    ),
    Requirement(
        "CLIENT-READ-NEW-TOPIC",
        Level.SHOULD,
        "A member that subscribed by a pattern reads a new topic that matches it.",
        "Kafka's KafkaConsumer.subscribe(Pattern): it is matched against all topics that exist, "
        "each time that metadata are that old",
        provoked="a topic is made, and records are appended to it",
        judged="a user gets a record of it, within the age of metadata and 8 s",
        dispute="A library may well have no patterns: then the case is unsupported.  Nothing is "
        "lost by a late reader, so it is not a MUST.",
        judge=_reads_new_topic,
        unseen="no topic was made that a pattern matches",
    ),
    Requirement(
        "CLIENT-READ-DELETED-TOPIC",
        Level.MUST,
        "After a topic is deleted, members read their other topics.",
        "Kafka's KafkaConsumer.subscribe: a group rebalances when a topic is deleted; KIP-516, "
        "whose errors of an unknown topic are of a partition",
        provoked="one of two topics is deleted, and records are appended to the other one",
        judged="no user gets a fatal error, and the records reach some user within 8 s",
        judge=_reads_beside_deleted,
        unseen="no topic was deleted while records were read",
    ),
    Requirement(
        "CLIENT-READ-PAUSED",
        Level.SHOULD,
        "A member delivers no record of a partition that its user paused, until it is resumed.",
        _PAUSES,
        provoked="a user pauses a partition, and records are appended to it",
        judged="no record of it reaches the user until it resumes the partition, or the member "
        "joins again: a rebalance needn't preserve a pause",
        judge=_pauses_reading,
        unseen="nothing was appended to a partition that was paused",
    ),
    Requirement(
        "CLIENT-READ-RESUMED",
        Level.SHOULD,
        "A member reads a resumed partition from the record at which it was paused.",
        _PAUSES,
        provoked="a user resumes a partition to which records were appended",
        judged="the first record of it afterwards is the one behind the last before, and comes "
        "within 8 s",
        judge=_resumes_reading,
        unseen="no partition was resumed",
    ),
)
