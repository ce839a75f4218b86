"""Describe what interrupted groups: expirations, times without a member, changes of coordinator.

Members that expired at one time, and groups that had no member at one time, are one line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import (
    EmptySpan,
    End,
    Expiration,
    ExpiredTogether,
    Failover,
)
from fencepost.traces.operations.problem_words import at, clock, often, quoted, short, times

MOST = 5
"""Greatest number of lines of a kind in the text."""
MOST_GROUPS = 20
"""Greatest number of groups named in the text."""


def some(names: Sequence[str], most: int = MOST_GROUPS) -> str:
    """List names, the first of many."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def at_end(report: OperatorReport) -> Iterator[str]:
    """Yield lines that name groups that were rebalancing, or without members, at the log's end."""
    figures = sorted(report.figures.items())
    open_ = [(f.rebalancing_ms, group) for group, f in figures if f.rebalancing_ms is not None]
    rebalancing = [f"{quoted(group)} (since {at(ms)})" for ms, group in open_]
    if rebalancing:
        yield f"Still rebalancing at the end of the log: {some(rebalancing)}."
    deletions = {
        group: f.empty.deleted_ms
        for group, f in figures
        if f.empty is not None and f.empty.deleted_ms is not None
    }
    if deletions:
        names = [f"{quoted(group)} (at {at(ms)})" for group, ms in deletions.items()]
        yield f"Deleted, and not used since: {some(names)}."
    empty = [quoted(g) for g, f in figures if f.is_empty and f.lost is None and g not in deletions]
    if empty:
        yield f"Without a member at the end of the log: {some(empty)}."


def empty_text(report: OperatorReport) -> Iterator[str]:
    """Yield clauses about groups that lost their last member, or had none for a while."""
    lost = [figures.lost for figures in report.figures.values() if figures.lost is not None]
    if lost:
        how = "was lost" if any(row.is_poll_timeout for row in lost) else "expired"
        yield f"{times(len(lost), 'group')} without a member since the last one {how}"
    rows = [row for row in report.ended_spans.rows if row.lasted_ms >= _BRIEF_MS]
    if not rows:
        return
    count = sum(figures.emptied > 0 for figures in report.figures.values())
    several = list(_at_once(rows))
    if len(several) == 1:
        yield f"{times(len({row.group for row in rows}), 'group')} had no member {_when(rows)}"
    else:
        longest_ms = max(row.lasted_ms for row in rows)
        yield f"{times(count, 'group')} had no member for up to {short(longest_ms)}"


def coordinator_text(report: OperatorReport) -> Iterator[str]:
    """Yield clauses about coordinators that were away, and members that did not go on then."""
    rows = report.failovers.rows
    away = [row for row in rows if (row.away_ms or 0) >= _BRIEF_MS]
    if away:
        groups = times(len({row.group for row in away}), "group")
        longest_ms = max(row.away_ms or 0 for row in away)
        up_to = "" if len(away) == 1 else "up to "
        yield f"the coordinator of {groups} was away for {up_to}{short(longest_ms)}"
    if expired := sum(row.expired for row in rows):
        yield f"{times(expired, 'member')} expired after a change of the coordinator"


def empty_times(report: OperatorReport) -> Iterator[str]:
    """Yield lines about groups that lost their last member, and those that had none for a while."""
    lost = [figures.lost for figures in report.figures.values() if figures.lost is not None]
    if lost:
        names = [
            f"{quoted(row.group)} (since {at(row.from_ms)}, {row.process})"
            for row in sorted(lost, key=lambda row: row.group)
        ]
        ways = ["its session expired"] if not all(row.is_poll_timeout for row in lost) else []
        ways += ["it was not polled"] if _not_polled(lost) else []
        yield (
            f"Lost the last member when {' or '.join(ways)}, and had none until the log ends: "
            f"{some(names)}. Start the process again, and look at the lag of the group."
        )
        if static := [quoted(row.group) for row in lost if row.instance_id is not None]:
            yield (
                f"The last member of {some(sorted(static))} was static: such members send no "
                "LeaveGroup when they are stopped, and nothing is wrong if it was."
            )
    if not report.ended_spans.count:
        return
    count = sum(figures.emptied > 0 for figures in report.figures.values())
    yield f"Groups that had no member for a while: {count:,}."
    several: list[list[EmptySpan]] = []
    again: list[list[EmptySpan]] = []
    for rows in _at_once(report.ended_spans.rows):
        (several if len(rows) > 1 else again).append(rows)
    for rows in several[:MOST]:
        groups = some([quoted(name) for name in sorted({row.group for row in rows})])
        yield f"  {groups}: {_when(rows)}{_how(rows)} [{rows[0].place}]"
    by_group: dict[str, list[EmptySpan]] = {}
    for row in (row for rows in (*several[MOST:], *again) for row in rows):
        by_group.setdefault(row.group, []).append(row)
    lasted_ms = {group: sum(row.lasted_ms for row in rows) for group, rows in by_group.items()}
    most = sorted(by_group.items(), key=lambda item: (-lasted_ms[item[0]], item[0]))
    for group, rows in most[:MOST]:
        when = _when(rows)
        if len(rows) > 1:
            each = f"{often(len(rows))} between {at(rows[0].from_ms)} and"
            last = rows[-1].until_ms or rows[-1].from_ms
            when = f"{each} {clock(last)}, {span([row.lasted_ms for row in rows])}"
        yield f"  {quoted(group)}: {when}{_how(rows)} [{rows[0].place}]"
    if (more := len(most) - MOST) > 0:
        yield f"  and {times(more, 'more group')}; the JSON has them."


_BRIEF_MS = 1_000
"""Shortest time without a member, or a coordinator, that the first line names."""
_ONE_TIME_MS = 5_000
"""Greatest distance of the beginnings, and of the ends, of times that have one cause."""


def _not_polled(rows: Sequence[EmptySpan]) -> bool:
    return any(row.is_poll_timeout for row in rows)


def _at_once(rows: Sequence[EmptySpan]) -> Iterator[list[EmptySpan]]:
    """Yield times without a member of several groups that begin and end together."""
    series: dict[str, EmptySpan] = {}
    for row in rows:
        if series:
            first = next(iter(series.values()))
            is_same = row.from_ms - first.from_ms <= _ONE_TIME_MS
            is_same = is_same and abs((row.until_ms or 0) - (first.until_ms or 0)) <= _ONE_TIME_MS
            if not is_same or row.group in series:
                yield list(series.values())
                series = {}
        series[row.group] = row
    if series:
        yield list(series.values())


def _when(rows: Sequence[EmptySpan]) -> str:
    from_ms = min(row.from_ms for row in rows)
    until_ms = max(row.until_ms or row.from_ms for row in rows)
    return f"from {at(from_ms)} to {clock(until_ms)} ({short(until_ms - from_ms)})"


_HOW = {
    End.EXPIRED: "the last member expired",
    End.DROPPED: "the last member did not join in time",
    End.SILENT: "the last member expired",
    End.LEFT: "the last member left",
    End.REMOVED: "the last member was removed",
}


def _how(rows: Sequence[EmptySpan]) -> str:
    """Name how the last members went, where all went in one way that the log shows."""
    if _not_polled(rows):
        return "; the last member left, since it was not polled"
    ways = {_HOW.get(row.end, "") for row in rows}
    how = f"; {way}" if len(ways) == 1 and (way := ways.pop()) else ""
    deleted = [row.deleted_ms for row in rows if row.deleted_ms is not None]
    if deleted:
        how += f"; deleted at {at(deleted[0])}" if len(rows) == 1 else "; deleted meanwhile"
    return how


def expirations(report: OperatorReport) -> Iterator[str]:
    """Yield lines about members that expired: who, when, how long after the join, and the return.

    Those of one group that have one name are one line.
    """
    count = report.expirations.count
    if not count:
        return
    never = sum(figures.never_back for figures in report.figures.values())
    never_text = f"; {never:,} not back until the log ends" if never else ""
    yield f"Members that expired: {count:,}{never_text}."
    together = report.together
    same: dict[tuple[object, ...], list[ExpiredTogether]] = {}
    for series in together:
        same.setdefault((series.groups, series.processes), []).append(series)
    repeats = list(same.values())
    for alike in repeats[:MOST]:
        yield f"  {_together(alike)} [{alike[0].place}]"
    if more := sum(map(len, repeats[MOST:])):
        yield f"  and {often(more)} more; the JSON has them."
    by_name: dict[tuple[str, str], list[Expiration]] = {}
    alone = (row for row in report.expirations.rows if not _is_among(row, together))
    for row in alone:
        by_name.setdefault((row.group, row.instance_id or str(row.process)), []).append(row)
    most = sorted(by_name.items(), key=lambda item: (-len(item[1]), item[1][0].at_ms, item[0]))
    for (group, name), rows in most[:_MOST_EXPIRED]:
        yield f"  {name} in {quoted(group)}: {_expired(rows)} [{rows[0].place}]"
    if (more := len(most) - _MOST_EXPIRED) > 0:
        yield f"  and {times(more, 'more member')}; the JSON has them."


_MOST_EXPIRED = 12
_STOOD_STILL = (
    "Several at once are hardly chance: their host, their network or the broker stood still. Look "
    "there (garbage collection, a full disk, a virtual machine that was moved)."
)
_SCHEDULED = (
    " At so even a distance something runs that makes it stand still: look for a backup, a "
    "snapshot, a scheduled job."
)
_EVEN = 0.1
"""Greatest difference of distances that are one rhythm, as a part of their mean."""
_MAY_BE_STOP = "a static member sends no LeaveGroup when it is stopped: so it may have been"
_SHUT_DOWN = "Static members send no LeaveGroup when they are stopped: it may be a shutdown."


def _together(rows: Sequence[ExpiredTogether]) -> str:
    """Describe members that expired at nearly the same time, once or several times."""
    row = rows[0]
    groups = f"group {quoted(row.groups[0])}" if len(row.groups) == 1 else _groups_text(row.groups)
    names = some([str(process) for process in row.processes])
    count, returned = sum(each.count for each in rows), sum(each.back for each in rows)
    back = f"{returned:,} came back"
    if returned == count:
        back = "all came back"
    elif not returned:
        is_unclear = any(each.unclear for each in rows)
        back = "who came back is unknown" if is_unclear else "none came back"
    after_ms = [each.back_after_ms for each in rows if each.back_after_ms is not None]
    if after_ms:
        back += f", the last {short(max(after_ms))} later"
    when, why = f"at {at(row.from_ms)}", _SHUT_DOWN if _is_stop(rows) else _STOOD_STILL
    if len(rows) > 1:
        every = _every(rows)
        when = f"{often(len(rows))} from {at(row.from_ms)} to {at(rows[-1].from_ms)}{every}"
        why += _SCHEDULED if every and why is _STOOD_STILL else ""
    within_ms = max(each.until_ms - each.from_ms for each in rows)
    return (
        f"{row.count:,} members of {groups}, {names}, together {when}, within {short(within_ms)}; "
        f"{back}. {why}"
    )


def _is_stop(rows: Sequence[ExpiredTogether]) -> bool:
    """Return True if all were static, and none came back: they may have been stopped."""
    return not any(row.back or row.static < row.count for row in rows)


def _every(rows: Sequence[ExpiredTogether]) -> str:
    """Format the distance of events that come in a rhythm; "" where they don't."""
    turns = [after.from_ms - before.from_ms for before, after in pairwise(rows)]
    if len(turns) < 2 or max(turns) - min(turns) > _EVEN * sum(turns) / len(turns):
        return ""
    return f", one every {short(sum(turns) // len(turns))}"


def together_text(report: OperatorReport) -> Iterator[str]:
    """Yield a clause about members that expired at nearly the same time, unless it was a stop."""
    rows = [row for row in report.together if not _is_stop([row])]
    if not rows:
        return
    if len(rows) > 1:
        yield f"members expired together {often(len(rows))}{_every(rows)}"
        return
    groups = "" if len(rows[0].groups) == 1 else f" of {len(rows[0].groups):,} groups"
    yield f"{rows[0].count:,} members{groups} expired together"


def _is_among(row: Expiration, together: Sequence[ExpiredTogether]) -> bool:
    return any(
        series.from_ms <= row.at_ms <= series.until_ms and row.group in series.groups
        for series in together
    )


def _groups_text(groups: Sequence[str]) -> str:
    return f"{times(len(groups), 'group')} ({some([quoted(group) for group in groups])})"


def _expired(rows: Sequence[Expiration]) -> str:
    """Describe the expirations of one member, or of members with one name."""
    first, last = rows[0], rows[-1]
    when = f"at {at(first.at_ms)}"
    if len(rows) > 1:
        when = f"{often(len(rows))} from {at(first.at_ms)} to {at(last.at_ms)}"
    parts = [when]
    if stayed := [row.at_ms - row.joined_ms for row in rows if row.joined_ms is not None]:
        parts.append(f"{span(stayed)} after its join")
    if since := [row.at_ms - row.assigned_ms for row in rows if row.assigned_ms is not None]:
        parts.append(f"{span(since)} after an assignment")
    if loaded := [row.at_ms - row.loaded_ms for row in rows if row.loaded_ms is not None]:
        parts.append(f"{span(loaded)} after a coordinator loaded the group")
    if dropped := sum(row.end is End.DROPPED for row in rows):
        parts.append(f"{often(dropped)} since it did not join a rebalance in time")
    back = [row.back_ms - row.at_ms for row in rows if row.back_ms is not None]
    if later := [each for each in back if each >= 0]:
        parts.append(f"back {span(later)} later")
    if before := [-each for each in back if each < 0]:
        parts.append(f"its successor had come {span(before)} before")
    never = sum(row.back_ms is None and not row.is_unclear for row in rows)
    if never:
        not_back = "not back until the log ends"
        if all(row.instance_id is not None for row in rows):
            not_back += f" ({_MAY_BE_STOP})"
        parts.append(not_back if never == len(rows) else f"{often(never)} {not_back}")
    if unclear := sum(row.back_ms is None and row.is_unclear for row in rows):
        unknown = "unknown whether it came back"
        parts.append(unknown if unclear == len(rows) else f"{often(unclear)} {unknown}")
    return ", ".join(parts)


def span(durations: Sequence[int]) -> str:
    """Format the least and the greatest of some durations (ms)."""
    low, high = short(min(durations)), short(max(durations))
    return low if low == high else f"{low} to {high}"


def failovers(report: OperatorReport) -> Iterator[str]:
    """Yield lines about coordinators that read groups, and the members that expired after that."""
    near: list[list[Failover]] = []
    for row in report.failovers.rows:
        if near and row.at_ms - near[-1][-1].at_ms <= _FAILOVER_MS:
            near[-1].append(row)
        else:
            near.append([row])
    for rows in near[:MOST]:
        names = [quoted(group) for group in sorted({row.group for row in rows})]
        expired = sum(row.expired for row in rows)
        ends = [row.until_ms for row in rows if row.until_ms is not None]
        after = ""
        if cut_off := sum(row.cut_off for row in rows):
            after = f" It cut off {times(cut_off, 'rebalance')}, which the counts above lack."
        if ends:
            after += (
                f" {times(expired, 'member')} from before expired up to "
                f"{short(max(ends) - rows[0].at_ms)} later: they did not go on after the failover, "
                "or came back with new member ids."
            )
        yield (
            f"The coordinator of {times(len(names), 'group')} ({some(names)}) {_changed(rows)} "
            f"[{rows[0].place}].{after}"
        )
    if (more := len(near) - MOST) > 0:
        yield f"And {more:,} more such changes; the JSON has them."


def _changed(rows: Sequence[Failover]) -> str:
    """Describe how the coordinator of some groups changed at one time."""
    away = [row for row in rows if row.away_ms is not None]
    if open_ := [row for row in rows if not row.is_loaded]:
        return f"resigned at {at(open_[0].at_ms)}, and the log doesn't show which one came after"
    if not away:
        return f"changed or started again at {at(rows[0].at_ms)}"
    from_ms, until_ms = min(row.unloaded_ms or 0 for row in away), max(row.at_ms for row in away)
    text = f"was away from {at(from_ms)} to {clock(until_ms)} ({short(until_ms - from_ms)})"
    if count := sum(row.missed or 0 for row in away):
        text += (
            f", and {times(count, 'generation')} began meanwhile at a broker whose log is not here"
        )
    return text


_FAILOVER_MS = 60_000
