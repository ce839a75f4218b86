"""Describe what interrupted groups: expirations, times without a member, changes of coordinator.

Members that expired at one time, and groups that had no member at one time, are one line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from fencepost.model.history.words import first_names
from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import (
    Cause,
    EmptySpan,
    End,
    Expiration,
    ExpiredTogether,
    Failover,
    OffsetsRemoved,
)
from fencepost.traces.operations.problem_words import at, clock, often, quoted, short, times

MOST = 5
"""Greatest number of lines of a kind in the text."""
MOST_GROUPS = 20
"""Greatest number of groups named in the text."""


def some(names: Sequence[str], most: int = MOST_GROUPS) -> str:
    """List names, the first of many."""
    return first_names(names, most)


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
        unused = [row for row in report.removed_offsets.rows if row.used_ms is None]
        rows = {row.group: row for row in reversed(unused) if row.with_group}
        names = [
            f"{quoted(group)} (at {at(ms)}{_with_offsets(rows.get(group))})"
            for group, ms in deletions.items()
        ]
        yield f"Deleted, and not used since: {some(names)}."
        if any(row.offsets != 0 for row in rows.values()):
            yield (
                "Set the offsets of such a group before it is used again "
                f"(kafka-consumer-groups.sh --reset-offsets). {_FROM_RESET}"
            )
    empty = [quoted(g) for g, f in figures if f.is_empty and f.lost is None and g not in deletions]
    if empty:
        yield f"Without a member at the end of the log: {some(empty)}."


def empty_text(report: OperatorReport) -> Iterator[str]:
    """Yield clauses about groups that lost their last member, or had none for a while."""
    lost = [figures.lost for figures in report.figures.values() if figures.lost is not None]
    if lost:
        how = "was lost" if any(row.is_poll_timeout for row in lost) else "expired"
        yield f"{times(len(lost), 'group')} without a member since the last one {how}"
    if deleted := _lost_and_deleted(report):
        be = "was" if len(deleted) == 1 else "were"
        whose = "its last member" if len(deleted) == 1 else "their last members"
        yield f"{times(len(deleted), 'group')} lost {whose}, and {be} deleted later"
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


_FROM_RESET = (
    "A consumer without an offset starts from auto.offset.reset: it skips records (latest), or "
    "reads them again (earliest)."
)


def _with_offsets(row: OffsetsRemoved | None) -> str:
    """Format how many offsets went with a group."""
    if row is None or row.offsets is None:
        return ""
    more = f" of {times(row.groups, 'group')} together" if row.groups > 1 else ""
    return f", with {times(row.offsets, 'offset')}{more}"


def _used_without(report: OperatorReport) -> list[OffsetsRemoved]:
    """Return the deletions of offsets after which a group is used again."""
    rows = report.removed_offsets.rows
    return [row for row in rows if row.used_ms is not None and row.offsets != 0]


def removed_text(report: OperatorReport) -> Iterator[str]:
    """Yield a clause about groups that are used again without their offsets."""
    if count := len({row.group for row in _used_without(report)}):
        whose, be = ("its", "is") if count == 1 else ("their", "are")
        yield f"{times(count, 'group')} {be} used again after {whose} offsets were deleted"


def removed_offsets(report: OperatorReport) -> Iterator[str]:
    """Yield lines about offsets that somebody deleted, and that consumers lack since."""
    rows = _used_without(report)
    alone = [row for row in report.removed_offsets.rows if not row.with_group and row not in rows]
    for row in [*rows, *alone][:MOST]:
        if row.with_group:
            deletion = f"{quoted(row.group)} was deleted at {at(row.at_ms)}{_with_offsets(row)}"
        else:
            count = "Offsets" if row.offsets is None else times(row.offsets, "offset")
            be = "was" if row.offsets == 1 else "were"
            deletion = f"{count} of {quoted(row.group)} {be} deleted at {at(row.at_ms)}"
        again = "" if row.used_ms is None else f", and it is used again since {clock(row.used_ms)}"
        yield f"{deletion}{again} [{row.place}]."
    if (more := len(rows) + len(alone) - MOST) > 0:
        yield f"And {times(more, 'more such deletion')}; the JSON has them."
    if rows or alone:
        yield (
            f"{_FROM_RESET} Look from where it reads (kafka-consumer-groups.sh --describe); if "
            "that is wrong, stop it, and set its offsets (--reset-offsets)."
        )


def coordinator_text(report: OperatorReport) -> Iterator[str]:
    """Yield clauses about coordinators that were away, and members that did not continue."""
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
        ways = ["expired"] if not all(row.is_poll_timeout for row in lost) else []
        ways += ["was not polled"] if _not_polled(lost) else []
        yield (
            f"Without a member until the log ends, since the last one {' or '.join(ways)}: "
            f"{some(names)}. Start the process again, and check the lag of the group."
        )
        if static := [quoted(row.group) for row in lost if row.instance_id is not None]:
            yield (
                f"The last member of {some(sorted(static))} was static. A static member sends no "
                "LeaveGroup when it is stopped: ignore this if you stopped it."
            )
    if deleted := _lost_and_deleted(report):
        names = [
            f"{quoted(row.group)} (since {at(row.from_ms)}, {row.process}; deleted at "
            f"{at(row.deleted_ms or 0)})"
            for row in deleted
        ]
        yield (
            f"Deleted after the last member was lost: {some(names)}. Ignore this if you ended the "
            "group; otherwise set its offsets, and start its process again."
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


def _lost_and_deleted(report: OperatorReport) -> list[EmptySpan]:
    """Return the times without a member of groups that somebody deleted after they were lost."""
    lasting = (figures.empty for figures in report.figures.values())
    rows = (row for row in lasting if row is not None and row.was_lost and not row.is_lost)
    return sorted(rows, key=lambda row: row.group)


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
    never_text = f"; {never:,} not back before the log ends" if never else ""
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
    most = _alone(report)
    rhythms = {_key(rows[0]): every_ms for rows, every_ms in _rhythms(report, most)}
    for rows in most[:_MOST_EXPIRED]:
        group, name = _key(rows[0])
        says = _expired(rows, rhythms.get((group, name)))
        lived = sum(row.lived is True for row in rows)
        if lived and not report.shows(group, "short-session"):
            which = "" if lived == len(rows) else f"{often(lived)} "
            says += f", {which}its process was alive, by the reason of its next join"
        yield f"  {name} in {quoted(group)}: {says} [{rows[0].place}]"
    if (more := len(most) - _MOST_EXPIRED) > 0:
        yield f"  and {times(more, 'more member')}; the JSON has them."


def _key(row: Expiration) -> tuple[str, str]:
    """Return the group of a member that expired, and its name."""
    return row.group, row.instance_id or str(row.process)


def _alone(report: OperatorReport) -> list[list[Expiration]]:
    """Return the expirations of each name that are not several at once, the most first."""
    by_name: dict[tuple[str, str], list[Expiration]] = {}
    together = report.together
    begins = [series.from_ms for series in together]
    for row in report.expirations.rows:
        before = bisect_right(begins, row.at_ms)
        if not before or not _is_among(row, together[before - 1]):
            by_name.setdefault(_key(row), []).append(row)
    return sorted(by_name.values(), key=lambda rows: (-len(rows), rows[0].at_ms, _key(rows[0])))


def _rhythms(
    report: OperatorReport, alone: Sequence[list[Expiration]]
) -> Iterator[tuple[list[Expiration], int]]:
    """Yield expirations of a name at even distances, with these in ms, unless they are a loop."""
    loops = {
        (row.group, str(row.process)) for row in report.loops.rows if row.cause is Cause.EXPIRY
    }
    for rows in alone:
        every_ms = _even_ms([row.at_ms for row in rows])
        is_loop = (rows[0].group, str(rows[0].process)) in loops
        if every_ms is not None and every_ms >= _LEAST_MS and not is_loop:
            yield rows, every_ms


def rhythm_text(report: OperatorReport) -> Iterator[str]:
    """Yield a clause about members that expired at even distances."""
    rhythms = list(_rhythms(report, _alone(report)))
    if len(rhythms) == 1:
        (rows, every_ms), *_ = rhythms
        group, name = _key(rows[0])
        who = f"{name} in group {quoted(group)}"
        yield f"1 member expired {often(len(rows))}, one every {short(every_ms)} ({who})"
    elif rhythms:
        yield f"{len(rhythms):,} members expired again and again at even distances"


_MOST_EXPIRED = 12
_AT_ONCE = "They probably have one cause"
_WHY_STILL = "Look for a garbage collection, a full disk, or a virtual machine that was moved."
_STOOD_STILL = f"{_AT_ONCE}: their host, their network or the broker stood still. {_WHY_STILL}"
_OTHERS_STAYED = (
    f"{_AT_ONCE}. Other members of {{}} stayed, so the broker did not stand still: a host or a "
    f"network that they share did. {_WHY_STILL}"
)
_SCHEDULED = " The distance is even: look for a backup, a snapshot, or another scheduled job."
_JOB = "look for a job that runs at these times: a backup, a snapshot, a restart"
_EVEN = 0.1
"""Greatest difference of distances that are one rhythm, as a part of their mean."""
_LEAST_MS = 5 * 60_000
"""Least distance of a member's expirations that are one: those of a deployment are closer."""
_MAY_BE_STOP = "maybe it was stopped: a static member sends no LeaveGroup then"
_SHUT_DOWN = "Maybe they were stopped: static members send no LeaveGroup then."


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
    when, why = f"at {at(row.from_ms)}", _SHUT_DOWN if _is_stop(rows) else _why(rows)
    if len(rows) > 1:
        every = _every(rows)
        when = f"{often(len(rows))} from {at(row.from_ms)} to {at(rows[-1].from_ms)}{every}"
        why += _SCHEDULED if every and why is not _SHUT_DOWN else ""
    within_ms = max(each.until_ms - each.from_ms for each in rows)
    return (
        f"{row.count:,} members of {groups}, {names}, together {when}, within {short(within_ms)}; "
        f"{back}. {why}"
    )


def _why(rows: Sequence[ExpiredTogether]) -> str:
    """Say where to look: not at the broker where others of the same groups stayed."""
    groups = len(rows[0].groups)
    if any(row.stayed_in != len(row.groups) for row in rows):
        return _STOOD_STILL
    whose = "the group" if groups == 1 else "each of these groups"
    ending = _ending([process.client_id for process in rows[0].processes])
    alike = f" All their names end with {ending!r}." if ending else ""
    return _OTHERS_STAYED.format(whose) + alike


def _ending(names: Sequence[str]) -> str:
    """Return the last part of all names, from a separator on; "" if they have none in common."""
    if len(set(names)) < 2:
        return ""
    columns = zip(*(name[::-1] for name in names), strict=False)
    alike = takewhile(lambda letters: len(set(letters)) == 1, columns)
    common = "".join(letters[0] for letters in alike)[::-1]
    begin = re.search(r"[-_.:/][^-_.:/]", common)
    return "" if begin is None else common[begin.start() :]


def _is_stop(rows: Sequence[ExpiredTogether]) -> bool:
    """Return True if all were static, and none came back: they may have been stopped."""
    return not any(row.back or row.static < row.count for row in rows)


def _every(rows: Sequence[ExpiredTogether]) -> str:
    """Format the distance of events that come in a rhythm; "" where they don't."""
    every_ms = _even_ms([row.from_ms for row in rows])
    return "" if every_ms is None else f", one every {short(every_ms)}"


def _even_ms(times_ms: Sequence[int]) -> int | None:
    """Return the distance of at least three times in ms; None where it isn't even."""
    turns = [after - before for before, after in pairwise(times_ms)]
    if len(turns) < 2 or max(turns) - min(turns) > _EVEN * sum(turns) / len(turns):
        return None
    return sum(turns) // len(turns)


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


def _is_among(row: Expiration, series: ExpiredTogether) -> bool:
    return series.from_ms <= row.at_ms <= series.until_ms and row.group in series.groups


def _groups_text(groups: Sequence[str]) -> str:
    return f"{times(len(groups), 'group')} ({some([quoted(group) for group in groups])})"


def _expired(rows: Sequence[Expiration], every_ms: int | None) -> str:
    """Describe the expirations of one member, or of members with one name.

    `every_ms`: their distance where it is even.  What holds for some only is told with its number.
    """
    first, last = rows[0], rows[-1]
    when = f"at {at(first.at_ms)}"
    if len(rows) > 1:
        when = f"{often(len(rows))} from {at(first.at_ms)} to {at(last.at_ms)}"
    parts = [when]
    if every_ms is not None:
        parts.append(f"one every {short(every_ms)} ({_JOB})")

    def add(durations: Sequence[int], says: str) -> None:
        if durations:
            which = "" if len(durations) == len(rows) else f"{often(len(durations))} "
            parts.append(f"{which}{says.format(span(durations))}")

    add([r.at_ms - r.joined_ms for r in rows if r.joined_ms is not None], "{} after its join")
    since = [r.at_ms - r.assigned_ms for r in rows if r.assigned_ms is not None]
    add(since, "{} after an assignment")
    loaded = [r.at_ms - r.loaded_ms for r in rows if r.loaded_ms is not None]
    add(loaded, "{} after a coordinator loaded the group")
    if dropped := sum(row.end is End.DROPPED for row in rows):
        parts.append(f"{often(dropped)} because it did not join a rebalance in time")
    returns = [(row.back_ms - row.at_ms, row) for row in rows if row.back_ms is not None]
    probably = "probably " if any(row.is_guess for _, row in returns) else ""
    at_latest = [ms for ms, row in returns if ms >= 0 and row.at_latest]
    later = [ms for ms, row in returns if ms >= 0 and not row.at_latest]
    add(later, f"{probably}back {{}} later")
    add(at_latest, f"{probably}back {{}} later at the latest")
    add([-ms for ms, _ in returns if ms < 0], "its successor had joined {} before")
    never = sum(row.back_ms is None and not row.is_unclear for row in rows)
    if never:
        not_back = "not back before the log ends"
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
                f"{short(max(ends) - rows[0].at_ms)} later, since the new coordinator got no "
                f"heartbeat from them.{_back(report, rows)} Check in the brokers' logs why "
                "the coordinator changed, and in the clients' logs why they did not continue."
            )
        yield (
            f"The coordinator of {times(len(names), 'group')} ({some(names)}) {_changed(rows)} "
            f"[{rows[0].place}].{after}"
        )
    if (more := len(near) - MOST) > 0:
        yield f"And {more:,} more such changes; the JSON has them."


def _back(report: OperatorReport, rows: Sequence[Failover]) -> str:
    """Say how many members that expired after changes came back with a new id; "" if none did."""
    loads = {(row.group, row.at_ms) for row in rows}
    stale = [row for row in report.expirations.rows if (row.group, row.loaded_ms) in loads]
    count = sum(row.back_ms is not None for row in stale)
    if not count:
        return ""
    who = f"{count:,} of them" if count < len(stale) else "All" if count > 1 else "It"
    return f" {who} came back with {'a new member id' if count == 1 else 'new member ids'}."


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
