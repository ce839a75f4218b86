"""Write the operator's report as text and as JSON.

The text has the problems first, each with its processes, times, and the fix; then the kinds of
problems that the log can't show, the causes of rebalances, settings that would have avoided some,
and the cost of deployments.  Processes are named by client id and host; times are UTC.

In the JSON times are ms since 1970, durations ms; values that are not in the log are null or
`unknown`.  The same log gives the same bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any, Generic, TypeVar

from msgspec import UNSET, Meta, UnsetType

from fencepost.traces.files.document_schema import Count, Document, DocumentSchema
from fencepost.traces.operations.client_libraries import BY_NAME, without_static
from fencepost.traces.operations.operator_report import (
    KINDS,
    GroupFigures,
    LimitedRows,
    OperatorReport,
)
from fencepost.traces.operations.operator_rows import (
    AVOIDING,
    Cause,
    Deployment,
    End,
    Expiration,
    ExpiredTogether,
    Failover,
    FencingChain,
    GroupKind,
    LifeLine,
    Loop,
    NearTimeout,
    PendingId,
    Rebalance,
    Remedy,
    Restart,
    SelfFencing,
    StaticLeave,
    ThrownOut,
)
from fencepost.traces.operations.problem_words import (
    AIMS,
    OperatorProblem,
    at,
    often,
    operator_problems,
    quoted,
    seconds,
    short,
    times,
)

K = TypeVar("K")
R = TypeVar("R")


def problems_text(report: OperatorReport) -> str:
    """Format the number of problems, as "shown in this log" where it can't show some kinds."""
    count = len(report.problems)
    lost = sum(figures.last is not None for figures in report.figures.values())
    lost_text = f", {times(lost, 'group')} without a member since the last one expired"
    text = f"{times(count, 'problem')} with clients"
    if report.unshown:
        text = f"{text if count else 'no problem with clients'} shown in this log"
    return text + (lost_text if lost else "")


NO_LINE = "The log has no line about a group of the classic protocol."
_MOST = 5
"""Greatest number of lines of a kind in the text."""
_MOST_GROUPS = 20
"""Greatest number of groups named in the text."""
_HOUR_MS = 3_600_000


def operator_summary(report: OperatorReport) -> list[str]:
    """Return the report as lines of text."""
    if report.from_ms is None or report.until_ms is None:
        return [NO_LINE]
    problems = operator_problems(report)
    counts = f"{times(report.rebalances.count, 'rebalance')} in {times(report.groups, 'group')}"
    span = f"From {at(report.from_ms)} to {at(report.until_ms)}"
    expired = report.expirations.count
    expired_text = f", {times(expired, 'member')} expired" if expired else ""
    lines = [f"{span}: {problems_text(report)}, {counts}{expired_text}."]
    number = 0
    for kind, same in groupby(problems, key=lambda problem: problem.kind):
        alike = list(same)
        for problem in alike[:_MOST]:
            number += 1
            lines += ["", f"{number}. {problem.says}", f"   {problem.remedy} [{problem.place}]"]
        if (more := len(alike) - _MOST) > 0:
            number += more
            lines += ["", f"   And {more:,} more of this kind ({kind}); the JSON has all."]
    lacks, expired_lines = list(unshown(report)), list(expirations(report))
    rest = (*_rebalances(report), *other_lines(report), *at_end(report))
    parts = (lacks, expired_lines)
    return [*lines, *(line for part in parts if part for line in ("", *part)), *rest]


def at_end(report: OperatorReport) -> Iterator[str]:
    """Yield lines that name groups that were rebalancing, or without members, at the log's end."""
    figures = sorted(report.figures.items())
    open_ = [(f.rebalancing_ms, group) for group, f in figures if f.rebalancing_ms is not None]
    rebalancing = [f"{quoted(group)} (since {at(ms)})" for ms, group in open_]
    if rebalancing:
        yield f"Still rebalancing at the end of the log: {_some(rebalancing)}."
    lost = [
        f"{quoted(group)} (since {at(f.last.at_ms)}, {f.last.process})"
        for group, f in figures
        if f.last is not None
    ]
    if lost:
        yield (
            "Lost the last member when its session expired, and had none until the log ends: "
            f"{_some(lost)}. Start the process again, and look at the lag of the group."
        )
    if empty := [quoted(group) for group, f in figures if f.is_empty and f.last is None]:
        yield f"Without a member at the end of the log: {_some(empty)}."


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_GROUPS:,} more" if len(names) > _MOST_GROUPS else ""
    return ", ".join(names[:_MOST_GROUPS]) + more


def unshown(report: OperatorReport) -> Iterator[str]:
    """Yield lines about possible problems that the log can't show."""
    figures = report.figures.items()
    taken = sum(f.replaced for group, f in figures if not report.shows(group, "fenced"))
    expired = sum(f.expired for group, f in figures if not report.shows(group, "short-session"))
    intro = "Not shown in this log: whether a process was alive when"
    if taken:
        yield f"{intro} another took its group.instance.id ({often(taken)}); a restart looks alike."
    if expired:
        yield f"{intro} its session as a static member expired ({often(expired)})."


def _rebalances(report: OperatorReport) -> Iterator[str]:
    if not report.rebalances.count:
        return
    causes = ", ".join(f"{c.value} {report.causes[c]:,}" for c in Cause if report.causes[c])
    yield from ("", f"Rebalances by cause: {causes}.", *_by_group(report))
    yield from rebalance_lines(report)


def rebalance_lines(report: OperatorReport) -> Iterator[str]:
    """Yield lines about what would have avoided rebalances, about reasons, and the longest."""
    helped = [
        f"{remedy.value} {report.remedies[remedy]:,}"
        for remedy in AVOIDING
        if report.remedies[remedy]
    ]
    if helped:
        yield f"What would have avoided some: {', '.join(helped)}."
    yield from _sessions(report)
    yield from _of_expired(report)
    yield from _kinds(report)
    for why, count in sorted(report.unclear.items()):
        yield f"What would have avoided {count:,} is unknown: {why}."
    yield from _reasons(report)
    span = (report.until_ms or 0) - (report.from_ms or 0)
    if span >= _HOUR_MS:
        hour, most = max(report.by_hour.items(), key=lambda item: (item[1], -item[0]))
        yield f"Most in an hour: {most:,}, from {at(hour)}."
    known = [r for r in report.rebalances.rows if r.duration_ms is not None]
    if known:
        longest = max(known, key=lambda r: (r.duration_ms or 0, -r.start_ms))
        yield (
            f"The longest took {short(longest.duration_ms or 0)}: group {quoted(longest.group)}, "
            f"{at(longest.start_ms)}, {longest.cause.value} {longest.who}".rstrip()
            + f" [{longest.place}]."
        )


def causes_by_group(report: OperatorReport) -> list[tuple[str, int, str]]:
    """Return for each group: name, number of rebalances, their causes; the most first."""
    counted = [(f.causes.total(), group) for group, f in report.figures.items() if f.causes]
    rows = []
    for total, group in sorted(counted, key=lambda item: (-item[0], item[1])):
        causes = report.figures[group].causes
        causes_text = ", ".join(f"{c.value} {causes[c]:,}" for c in Cause if causes[c])
        rows.append((group, total, causes_text))
    return rows


def _by_group(report: OperatorReport) -> Iterator[str]:
    rows = causes_by_group(report)
    for group, total, causes_text in rows[:_MOST_GROUPS] if len(rows) > 1 else ():
        yield f"  {group_line(report, group, total, causes_text)}"
    if (more := len(rows) - _MOST_GROUPS) > 0:
        yield f"  and {times(more, 'group')} with fewer or as many; the JSON has them."


def group_line(report: OperatorReport, group: str, total: int, causes_text: str) -> str:
    """Return the line about a group's rebalances; the arguments are as in `causes_by_group`."""
    figures = report.figures[group]
    helped = [f"{r.value} {figures.remedies[r]:,}" for r in AVOIDING if figures.remedies[r]]
    avoided = f"; avoided by {', '.join(helped)}" if helped else ""
    return f"{quoted(group)}: {total:,}, {_took(figures)} ({causes_text}){avoided}"


def _took(figures: GroupFigures) -> str:
    """Format how long the rebalances of a group took, as far as that is known."""
    known = figures.durations.total()
    if not known:
        return "for an unknown time"
    together = "together " if known > 1 else ""
    unknown = figures.causes.total() - known
    return f"{together}{short(figures.total_ms)}" + (f" and {unknown:,} unknown" if unknown else "")


def _sessions(report: OperatorReport) -> Iterator[str]:
    """Yield lines about the session timeout that would have avoided rebalances."""
    needed = [r.session_ms for r in report.rebalances.rows if r.session_ms is not None]
    if not needed:
        return
    others = report.remedies[Remedy.STATIC] + report.remedies[Remedy.LONGER_SESSION] - len(needed)
    which = "all of these"
    if others:
        which = (
            f"{len(needed):,} of these; how long members were away before the other {others:,}, "
            "the log doesn't show"
        )
    enough_ms, today_ms = max(needed), _today_ms(report)
    if today_ms is not None and today_ms >= enough_ms:
        yield (
            f"A session.timeout.ms of {enough_ms} would have been enough for {which}; today's "
            f"{today_ms} is."
        )
    else:
        today = "" if today_ms is None else f" Today's is {today_ms}."
        yield f"A session.timeout.ms of {enough_ms} would have been enough for {which}.{today}"
    yield AIMS


def _today_ms(report: OperatorReport) -> int | None:
    """Return the shortest session timeout of members that were restarted, if the log shows it."""
    needed = {row.group for row in report.rebalances.rows if row.session_ms is not None}
    known = [row.session_ms for row in report.restarts.rows if row.group in needed]
    return min((each for each in known if each is not None), default=None)


def _of_expired(report: OperatorReport) -> Iterator[str]:
    """Yield lines about rebalances of members that expired, and what static membership needs."""
    saved = {Remedy.STATIC, Remedy.LONGER_SESSION}
    rows = [
        row for row in report.rebalances.rows if row.remedy in saved and row.expired_ms is not None
    ]
    late = [row.expired_ms or 0 for row in rows if row.away_ms is None and row.expired_ms]
    if late:
        who = "is of a member" if len(late) == 1 else "are of members"
        yield (
            f"{len(late):,} of these {who} that expired and came back up to {short(max(late))} "
            "later. That takes a session.timeout.ms longer than the silence (today's session) and "
            "this absence together; static membership alone doesn't avoid it. This log doesn't "
            "show if the process lived: then find out why it was silent."
        )
    waits = [row for row in rows if row.expired_ms == 0 and row.duration_ms is not None]
    if waits:
        worst = max(waits, key=lambda row: (row.duration_ms or 0, -row.start_ms))
        yield (
            f"{times(len(waits), 'new member')} had to wait for "
            f"{'its' if len(waits) == 1 else 'their'} dead predecessor, whose session had to end "
            f"first: {worst.who} in group {quoted(worst.group)} for "
            f"{short(worst.duration_ms or 0)} from {at(worst.start_ms)} [{worst.place}]. "
            "A static member takes the place of its predecessor at once."
        )


def _reasons(report: OperatorReport) -> Iterator[str]:
    """Yield lines with reasons as they stand: of the broker where it is not known, of clients."""
    rows = report.rebalances.rows
    other = Counter(
        _without_ids(row.reason.partition("; client reason: ")[0])
        for row in rows
        if row.cause is Cause.OTHER
    )
    of_clients = Counter(
        _without_ids(row.client_reason)
        for row in rows
        if row.client_reason and not row.client_reason.startswith(_USUAL)
    )
    for whose, counts in (("The broker's reasons", other), ("Clients' reasons", of_clients)):
        most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if most:
            text = "; ".join(f'"{reason}" {count:,}' for reason, count in most[:_MOST])
            more = f"; and {len(most) - _MOST:,} more" if len(most) > _MOST else ""
            yield f"{whose}, as they stand: {text}{more}."


_USUAL = (
    "not provided",
    "need to re-join with the given member-id",
    "rebalance failed due to MemberIdRequiredException",
)
"""Reasons of clients that say no more than the cause."""
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _without_ids(reason: str) -> str:
    return _ID.sub("…", reason)


_STREAMS = (
    "Groups of Streams threads: {}. Their members join again by themselves while tasks move "
    "(probing rebalances); they close without LeaveGroup by default, so that each restart of a "
    "dynamic member waits for its session: group.instance.id keeps the tasks."
)


def _kinds(report: OperatorReport) -> Iterator[str]:
    """Yield lines about groups that are not of plain consumers, or whose library lacks a lot."""
    for group in _of_kind(report, GroupKind.CONNECT)[:_MOST_GROUPS]:
        away = [row.back_ms - row.at_ms for row in report.restarts.rows if row.group == group]
        longest = f", here up to {short(max(away))}" if away else ""
        yield (
            f"{quoted(group)} is a group of Connect workers: they can't be static members. "
            "scheduled.rebalance.max.delay.ms (300000 by default) keeps the tasks of a worker for "
            f"it while it is away{longest}; each restart still costs its rebalances."
        )
    if streams := _of_kind(report, GroupKind.STREAMS):
        yield _STREAMS.format(_some([quoted(group) for group in streams]))
    for name, library in BY_NAME.items():
        figures = report.figures.items()
        own = [quoted(group) for group, f in figures if f.library == name]
        if own and not library.has_static:
            yield f"Clients of {_some(sorted(own))}: {without_static(library)}"


def _of_kind(report: OperatorReport, kind: GroupKind) -> list[str]:
    return [group for group, f in sorted(report.figures.items()) if f.kind is kind]


_CUT = "It may have cost more: the log {} in the middle of it"


def cut(deployment: Deployment) -> str:
    """Describe the missing part of a deployment that the log shows only in part; else return ""."""
    ends = (deployment.begins, "begins"), (deployment.ends, "ends")
    words = [word for is_in_log, word in ends if not is_in_log]
    return _CUT.format(" and ".join(words)) if words else ""


def _restarts(report: OperatorReport) -> Iterator[str]:
    """Yield lines about restarts that rebalances show; going and coming are one."""
    by_group: dict[str, list[Restart]] = {}
    for row in report.restarts.rows:
        by_group.setdefault(row.group, []).append(row)
    most = sorted(by_group.items(), key=lambda item: (-len(item[1]), item[0]))
    for group, rows in most[:_MOST]:
        known = [row.away_ms for row in rows]
        count = report.figures[group].came_back
        yield f"Restarts in group {quoted(group)}: {count:,}, away for {_span(known)}."
    if (more := len(most) - _MOST) > 0:
        yield f"And restarts in {times(more, 'more group')}; the JSON has them."


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
    for series in together[:_MOST]:
        yield f"  {_together(series)} [{series.place}]"
    if (more := len(together) - _MOST) > 0:
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
_SHUT_DOWN = "Static members send no LeaveGroup when they are stopped: it may be a shutdown."


def _together(row: ExpiredTogether) -> str:
    """Describe members that expired at nearly the same time."""
    groups = f"group {quoted(row.groups[0])}" if len(row.groups) == 1 else _groups_text(row.groups)
    names = _some([str(process) for process in row.processes])
    back = f"{row.back:,} came back"
    if row.back == row.count:
        back = "all came back"
    elif not row.back:
        back = "who came back is unknown" if row.unclear else "none came back"
    if row.back_after_ms is not None:
        back += f", the last {short(row.back_after_ms)} later"
    is_stop = not row.back and row.static == row.count
    return (
        f"{row.count:,} members of {groups}, {names}, together at {at(row.from_ms)}, within "
        f"{short(row.until_ms - row.from_ms)}; {back}. {_SHUT_DOWN if is_stop else _STOOD_STILL}"
    )


def _is_among(row: Expiration, together: Sequence[ExpiredTogether]) -> bool:
    return any(
        series.from_ms <= row.at_ms <= series.until_ms and row.group in series.groups
        for series in together
    )


def _groups_text(groups: Sequence[str]) -> str:
    return f"{times(len(groups), 'group')} ({_some([quoted(group) for group in groups])})"


def _expired(rows: Sequence[Expiration]) -> str:
    """Describe the expirations of one member, or of members with one name."""
    first, last = rows[0], rows[-1]
    when = f"at {at(first.at_ms)}"
    if len(rows) > 1:
        when = f"{often(len(rows))} from {at(first.at_ms)} to {at(last.at_ms)}"
    parts = [when]
    if stayed := [row.at_ms - row.joined_ms for row in rows if row.joined_ms is not None]:
        parts.append(f"{_span(stayed)} after its join")
    if since := [row.at_ms - row.assigned_ms for row in rows if row.assigned_ms is not None]:
        parts.append(f"{_span(since)} after an assignment")
    if dropped := sum(row.end is End.DROPPED for row in rows):
        parts.append(f"{often(dropped)} since it did not join a rebalance in time")
    back = [row.back_ms - row.at_ms for row in rows if row.back_ms is not None]
    if later := [each for each in back if each >= 0]:
        parts.append(f"back {_span(later)} later")
    if before := [-each for each in back if each < 0]:
        parts.append(f"its successor had come {_span(before)} before")
    never = sum(row.back_ms is None and not row.is_unclear for row in rows)
    if never:
        not_back = "not back until the log ends"
        parts.append(not_back if never == len(rows) else f"{often(never)} {not_back}")
    if unclear := sum(row.is_unclear for row in rows):
        parts.append(f"{often(unclear)} it is unknown whether it came back")
    return ", ".join(parts)


def _span(durations: Sequence[int]) -> str:
    low, high = short(min(durations)), short(max(durations))
    return low if low == high else f"{low} to {high}"


def _failovers(report: OperatorReport) -> Iterator[str]:
    """Yield lines about coordinators that read groups, and the members that expired after that."""
    near: list[list[Failover]] = []
    for row in report.failovers.rows:
        if near and row.at_ms - near[-1][-1].at_ms <= _FAILOVER_MS:
            near[-1].append(row)
        else:
            near.append([row])
    for rows in near[:_MOST]:
        names = [quoted(group) for group in sorted({row.group for row in rows})]
        expired = sum(row.expired for row in rows)
        ends = [row.until_ms for row in rows if row.until_ms is not None]
        after = ""
        if ends:
            after = (
                f" {times(expired, 'member')} from before expired up to "
                f"{short(max(ends) - rows[0].at_ms)} later: they did not go on after the failover, "
                "or came back with new member ids."
            )
        yield (
            f"The coordinator of {times(len(names), 'group')} ({_some(names)}) changed or started "
            f"again at {at(rows[0].at_ms)} [{rows[0].place}].{after}"
        )
    if (more := len(near) - _MOST) > 0:
        yield f"And {more:,} more such changes; the JSON has them."


_FAILOVER_MS = 60_000


def other_lines(report: OperatorReport) -> Iterator[str]:
    """Yield lines about restarts, deployments, removals, failovers and sessions nearly over."""
    yield from _restarts(report)
    dearest = sorted(report.deployments.rows, key=lambda row: -row.rebalances)
    for deployment in dearest[:_MOST]:
        yield (
            f"Deployment of {quoted(deployment.group)} at {at(deployment.from_ms)}: "
            f"{times(deployment.restarts, 'restart')} of {times(deployment.processes, 'member')} "
            f"in {seconds(deployment.until_ms - deployment.from_ms)} cost "
            f"{times(deployment.rebalances, 'rebalance')}."
            + (f" {note}." if (note := cut(deployment)) else "")
        )
    if (more := report.deployments.count - _MOST) > 0:
        yield f"And {more:,} more deployments that cost less; the JSON has them."
    removed = [row for row in report.static_leaves.rows if row.itself is False]
    for row in removed[:_MOST]:
        whose = "" if row.process is None else f" (of {row.process})"
        group = quoted(row.group)
        yield f"{row.by} removed {row.instance_id}{whose} from {group} at {at(row.at_ms)}."
    if (more := len(removed) - _MOST) > 0:
        yield f"And {more:,} more static members were removed by others; the JSON has them."
    yield from _failovers(report)
    if report.near_timeouts.count:
        worst = report.near_timeouts.rows[0]
        yield (
            f"{times(report.near_timeouts.count, 'member')} came close to their session "
            f"timeout; the closest was {worst.process} in {quoted(worst.group)}: silent for "
            f"{seconds(worst.silent_ms)} of {seconds(worst.session_ms)}."
        )


def _words(kinds: Iterable[str]) -> Meta:
    """Describe the keys of an object by the words that it may have."""
    return Meta(extra_json_schema={"propertyNames": {"enum": list(kinds)}})


_Times = Annotated[int, Meta(ge=1)]
_ByCause = Annotated[dict[Cause, _Times], _words(cause.value for cause in Cause)]
_ByRemedy = Annotated[dict[Remedy, _Times], _words(remedy.value for remedy in Remedy)]
_ByKind = Annotated[
    dict[str, _Times],
    _words(KINDS),
    Meta(
        description="Kinds of problems that the log can't show, each with the number of groups of "
        "which that is so"
    ),
]
_Unclear = Annotated[
    dict[str, _Times],
    Meta(description="Of how many rebalances it is unknown what would have avoided them, by why"),
]


class GroupCauses(Document, frozen=True):
    """The causes of a group's rebalances."""

    group: str
    causes: _ByCause


class GroupAtEnd(Document, frozen=True):
    """State of a group at the end of the log.

    Members are null where the log doesn't show all of them; `rebalancing_ms` is the start of a
    rebalance that wasn't over, or null.  `session_ms`: the longest session timeout of its members;
    `assignors`: those that all members offer; both where the log shows them.  `kind`: of its
    members, as far as the log shows it; `last_expired_ms`: time at which its last member expired,
    if none came since; `library`: its client library, "" where the log doesn't show it.
    """

    group: str
    static: Count | None
    dynamic: Count | None
    rebalancing_ms: int | None
    session_ms: int | None
    assignors: tuple[str, ...]
    kind: GroupKind | UnsetType = UNSET
    last_expired_ms: int | UnsetType | None = UNSET
    library: str | UnsetType = UNSET


class HourCount(Document, frozen=True):
    """The rebalances that began in an hour."""

    hour_ms: int
    rebalances: int


class Kept(Document, Generic[R], frozen=True):
    """The first rows of a kind, and the count of all."""

    count: int
    rows: tuple[R, ...]

    @classmethod
    def of(cls, limited: LimitedRows[R]) -> Kept[R]:
        """Take the rows that the report keeps."""
        return cls(count=limited.count, rows=tuple(limited.rows))


class OperatorDocument(Document, frozen=True):
    """The operator's report as JSON, its problems first.

    Older documents lack the tables that are not required.
    """

    from_ms: int | None
    until_ms: int | None
    groups: int
    unreadable: int
    unshown: _ByKind
    problems: tuple[OperatorProblem, ...]
    rebalances_by_cause: _ByCause
    rebalances_by_remedy: _ByRemedy
    rebalances_unclear: _Unclear
    rebalances_by_group: tuple[GroupCauses, ...]
    at_end: tuple[GroupAtEnd, ...]
    rebalances_by_hour: tuple[HourCount, ...]
    chains: Kept[FencingChain]
    self_fencings: Kept[SelfFencing]
    static_leaves: Kept[StaticLeave]
    thrown_out: Kept[ThrownOut]
    near_timeouts: Kept[NearTimeout]
    rebalances: Kept[Rebalance]
    deployments: Kept[Deployment]
    life_lines: Kept[LifeLine]
    restarts: Kept[Restart] | UnsetType = UNSET
    expirations: Kept[Expiration] | UnsetType = UNSET
    expired_together: tuple[ExpiredTogether, ...] | UnsetType = UNSET
    pending_ids: Kept[PendingId] | UnsetType = UNSET
    loops: Kept[Loop] | UnsetType = UNSET
    failovers: Kept[Failover] | UnsetType = UNSET


SCHEMA = DocumentSchema(
    "operator-report-1",
    "What an operator asks of a request log",
    "Times end in _ms and are milliseconds since 1970, or milliseconds that something took. "
    "`count` says how many rows there were, `rows` holds the first of them.",
    OperatorDocument,
    {"OperatorProblem": "Problem"},
)


def operator_json(report: OperatorReport) -> dict[str, Any]:
    """Return the report, with its problems first, as `operator-report-1` describes it."""
    groups = sorted(report.figures.items())
    hidden = Counter(kind for kinds in report.unshown.values() for kind in kinds)
    return OperatorDocument(
        from_ms=report.from_ms,
        until_ms=report.until_ms,
        groups=report.groups,
        unreadable=report.unreadable,
        unshown=_in_order(KINDS, hidden),
        problems=tuple(operator_problems(report)),
        rebalances_by_cause=_in_order(Cause, report.causes),
        rebalances_by_remedy=_in_order(Remedy, report.remedies),
        rebalances_unclear=dict(sorted(report.unclear.items())),
        rebalances_by_group=tuple(
            GroupCauses(group=group, causes=_in_order(Cause, f.causes)) for group, f in groups
        ),
        at_end=tuple(
            GroupAtEnd(
                group=group,
                static=f.static,
                dynamic=f.dynamic,
                rebalancing_ms=f.rebalancing_ms,
                session_ms=f.session_ms,
                assignors=f.assignors,
                kind=f.kind,
                last_expired_ms=None if f.last is None else f.last.at_ms,
                library=f.library,
            )
            for group, f in groups
        ),
        rebalances_by_hour=tuple(
            HourCount(hour_ms=hour, rebalances=count)
            for hour, count in sorted(report.by_hour.items())
        ),
        restarts=Kept.of(report.restarts),
        expirations=Kept.of(report.expirations),
        expired_together=tuple(report.together),
        pending_ids=Kept.of(report.pending_ids),
        loops=Kept.of(report.loops),
        failovers=Kept.of(report.failovers),
        chains=Kept.of(report.chains),
        self_fencings=Kept.of(report.self_fencings),
        static_leaves=Kept.of(report.static_leaves),
        thrown_out=Kept.of(report.thrown_out),
        near_timeouts=Kept.of(report.near_timeouts),
        rebalances=Kept.of(report.rebalances),
        deployments=Kept.of(report.deployments),
        life_lines=Kept.of(report.life_lines),
    ).plain()


def _in_order(words: Iterable[K], counts: Mapping[K, int]) -> dict[K, int]:
    """Return the counts that are not 0, in the order of the words."""
    return {word: count for word in words if (count := counts.get(word, 0))}
