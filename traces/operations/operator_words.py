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

from fencepost.model.history.words import LONGEST_VERDICT, at_most, sentence
from fencepost.traces.files.document_schema import Count, Document, DocumentSchema
from fencepost.traces.operations.client_libraries import (
    LIBRARIES,
    ClientLibrary,
    without_static,
)
from fencepost.traces.operations.interruption_words import (
    MOST,
    MOST_GROUPS,
    at_end,
    coordinator_text,
    empty_text,
    empty_times,
    expirations,
    failovers,
    removed_offsets,
    removed_text,
    rhythm_text,
    some,
    span,
    together_text,
)
from fencepost.traces.operations.operator_report import (
    KINDS,
    GroupFigures,
    LimitedRows,
    OperatorReport,
)
from fencepost.traces.operations.operator_rows import (
    Cause,
    Deployment,
    EmptySpan,
    Expiration,
    ExpiredTogether,
    Failover,
    FencingChain,
    GroupKind,
    LifeLine,
    Loop,
    NearTimeout,
    OffsetsRemoved,
    PendingId,
    Rebalance,
    Remedy,
    Restart,
    SelfFencing,
    StaticLeave,
    ThrownOut,
)
from fencepost.traces.operations.problem_words import (
    OperatorProblem,
    at,
    often,
    operator_problems,
    quoted,
    seconds,
    short,
    times,
)
from fencepost.traces.operations.remedy_words import by_setting, remedy_lines

K = TypeVar("K")
R = TypeVar("R")


def problem_texts(report: OperatorReport, judged: int | None = None) -> list[str]:
    """Format what hurt: problems, and groups without a member; else that nothing did.

    Problems are "shown in this log" where it can't show some kinds.  `judged`: the number of groups
    to which that applies, None if the log has no others.
    """
    problems = report.problems
    of_brokers = sum(problem.is_of_broker for problem in problems)
    of_clients = len(problems) - of_brokers
    counts = [f"{times(of_clients, 'problem')} with clients"] if of_clients else []
    counts += [f"{times(of_brokers, 'problem')} of the brokers"] if of_brokers else []
    limit = " shown in this log" if report.unshown else ""
    parts = [f"{' and '.join(counts)}{limit}"] if counts else []
    parts += [*coordinator_text(report), *empty_text(report), *removed_text(report)]
    parts += [*together_text(report), *rhythm_text(report)]
    nothing = "no problem with clients shown" if limit else "0 problems with clients"
    where = " in this log" if limit else ""
    if judged is not None:
        where = f" in the {'one group' if judged == 1 else f'{judged:,} groups'} judged"
    return parts or [f"{nothing}{where}"]


def verdict(
    report: OperatorReport,
    groups: int,
    results: str | None,
    others: Mapping[str, str],
    fenced: int = 0,
) -> list[str]:
    """Return the verdict as sentences: the first on one line, then what it has no room for.

    `groups`: number of classic groups; `results`: the counts of their outcomes, None where the log
    has no answers of the broker; `others`: the protocol of each group that is not classic;
    `fenced`: the number of times that a member of those was fenced.
    """
    left_out = []
    if others:
        protocols = ", ".join(sorted(set(others.values())))
        left_out = [f"{times(len(others), 'group')} not judged ({protocols})"]
    whose = "their" if len(others) > 1 else "its"
    more = [f"{whose} members were fenced {often(fenced)}"] if fenced else []
    if not groups and others:
        return _on_lines(["nothing judged: no group of the classic protocol", *left_out], more)
    first, *problems = problem_texts(report, groups if others and results is None else None)
    if results is None:
        more = [*problems, *_cost_texts(report), *more, "the broker's answers are not judged"]
        return _on_lines([first, *(left_out or [f"{times(groups, 'group')} read"])], more)
    read = f"{times(groups, 'group')}: {results}" if results else times(groups, "group")
    return _on_lines([first, read, *left_out], [*problems, *_cost_texts(report), *more])


def _on_lines(first: Sequence[str], more: Sequence[str]) -> list[str]:
    """Return clauses as sentences: a first line with those that fit, then each of the others.

    `first`: what goes into the first line before `more`.
    """
    line, rest = first[0], list(first[1:])
    if len(line) >= LONGEST_VERDICT:
        line, rest = at_most(LONGEST_VERDICT - 1, line), [*first]
    kept = []
    for clause in [*rest, *more]:
        if len(line) + len(clause) + 3 <= LONGEST_VERDICT:
            line += f"; {clause}"
        else:
            kept.append(clause)
    return [sentence(text) for text in (line, *kept)]


def _cost_texts(report: OperatorReport) -> list[str]:
    """Format the cost of restarts, and the number of avoidable rebalances; nothing if zero."""
    parts = []
    costs = [f for f in report.figures.values() if f.cost]
    if costs:
        restarts, cost = sum(f.restarts for f in costs), sum(f.cost for f in costs)
        whose = " of Connect workers" if all(f.kind is GroupKind.CONNECT for f in costs) else ""
        parts.append(f"{times(restarts, 'restart')}{whose} cost {times(cost, 'rebalance')}")
        if whose:
            parts[-1] += " (they can't be static members: see scheduled.rebalance.max.delay.ms)"
    late = report.late.total()
    if avoidable := report.avoidable - late:
        be = "was" if avoidable == 1 else "were"
        more = f" and {late:,} more perhaps" if late else ""
        parts.append(
            f"{avoidable:,} of {times(report.rebalances.count, 'rebalance')} {be} avoidable{more}"
        )
    return parts


NO_LINE = "The log has no line about a group of the classic protocol."
_HOUR_MS = 3_600_000


def operator_summary(report: OperatorReport) -> list[str]:
    """Return the report as lines of text."""
    if report.from_ms is None or report.until_ms is None:
        return [NO_LINE]
    if not report.groups:
        return [*covered(report), NO_LINE]
    problems = operator_problems(report)
    lines = list(covered(report))
    number = 0
    for kind, same in groupby(problems, key=lambda problem: problem.kind):
        alike = list(same)
        for problem in alike[:MOST]:
            number += 1
            lines += ["", f"{number}. {problem.says}", f"   {problem.remedy} [{problem.place}]"]
        if (more := len(alike) - MOST) > 0:
            number += more
            lines += ["", f"   And {more:,} more of this kind ({kind}); the JSON has all."]
    kinds = (unshown, empty_times, removed_offsets, expirations, _rebalances)
    parts = [list(each(report)) for each in kinds]
    parts.append([*other_lines(report), *at_end(report)])
    return [*lines, *(line for part in parts if part for line in ("", *part))]


def covered(report: OperatorReport) -> Iterator[str]:
    """Yield lines about what the log covers: its time, and the number of rebalances in it."""
    if report.from_ms is None or report.until_ms is None:
        return
    counts = f"{times(report.rebalances.count, 'rebalance')} in {times(report.groups, 'group')}"
    expired = report.expirations.count
    expired_text = f", {times(expired, 'member')} expired" if expired else ""
    period = f"From {at(report.from_ms)} to {at(report.until_ms)}"
    yield f"{period}: {counts}{_of_these(report)}{expired_text}."
    before = [quoted(name) for name, f in sorted(report.figures.items()) if f.began_rebalancing]
    if before:
        whose = "rebalance" if len(before) == 1 else "rebalances"
        yield f"Not counted: the {whose} of {some(before)} in which the log begins."


def _of_these(report: OperatorReport) -> str:
    """Format how rebalances ended, unless each gave its members a generation."""
    figures = report.figures.values()
    cut_off = sum(f.cut for f in figures)
    cut_count = sum(f.cut for f in figures if f.rebalancing_ms is not None)
    waiting = cut_off - cut_count
    ended = report.rebalances.count - report.emptying - cut_off
    parts = [f"{ended + waiting:,} gave members a generation"] if ended + waiting else []
    if waiting:
        parts.append(f"{waiting:,} of these without an assignment when the log ends")
    if report.emptying:
        parts.append(f"{report.emptying:,} left a group empty")
    if cut_count:
        be = "was" if cut_count == 1 else "were"
        parts.append(f"{cut_count:,} {be} not over when the log ends")
    return f" ({', '.join(parts)})" if ended != report.rebalances.count else ""


def unshown(report: OperatorReport) -> Iterator[str]:
    """Yield lines about possible problems that the log can't show."""
    figures = report.figures.items()
    taken = sum(f.replaced for group, f in figures if not report.shows(group, "fenced"))
    expired = sum(f.expired for group, f in figures if not report.shows(group, "short-session"))
    intro = "This log doesn't show whether a process was alive when"
    if taken:
        yield f"{intro} another took its group.instance.id ({often(taken)}): it may be a restart."
    if expired:
        yield f"{intro} its session as a static member expired ({often(expired)})."


def _rebalances(report: OperatorReport) -> Iterator[str]:
    if not report.rebalances.count:
        return
    causes = ", ".join(f"{c.value} {report.causes[c]:,}" for c in Cause if report.causes[c])
    yield from (f"Rebalances by cause: {causes}.", *_by_group(report))
    yield from rebalance_lines(report)


def rebalance_lines(report: OperatorReport) -> Iterator[str]:
    """Yield lines about what would have avoided rebalances, about reasons, and the longest."""
    yield from remedy_lines(report)
    yield from _kinds(report)
    for why, count in sorted(report.unclear.items()):
        yield f"The remedy of {count:,} is unknown: {why}."
    yield from _reasons(report)
    span_ms = (report.until_ms or 0) - (report.from_ms or 0)
    if span_ms >= _HOUR_MS:
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
    for group, total, causes_text in rows[:MOST_GROUPS] if len(rows) > 1 else ():
        yield f"  {group_line(report, group, total, causes_text)}"
    if (more := len(rows) - MOST_GROUPS) > 0:
        yield f"  and {times(more, 'group')} with fewer or as many; the JSON has them."


def group_line(report: OperatorReport, group: str, total: int, causes_text: str) -> str:
    """Return the line about a group's rebalances; the arguments are as in `causes_by_group`."""
    figures = report.figures[group]
    counts = by_setting(figures.remedies, figures.late)
    helped = [f"{name} {count:,}" for name, count in counts if count]
    avoided = f"; avoided by {', '.join(helped)}" if helped else ""
    return f"{quoted(group)}: {total:,} ({causes_text}){_took(figures)}{avoided}"


def _took(figures: GroupFigures) -> str:
    """Format how long a group's rebalances took, as far as the log shows it."""
    total, known = figures.causes.total(), figures.timed
    if not known:
        return ""
    took = f"took {short(figures.total_ms)}{' together' if known > 1 else ''}"
    return f"; {took}" if known == total else f"; {known:,} of them {took}"


def _reasons(report: OperatorReport) -> Iterator[str]:
    """Yield lines that quote reasons: of the broker where it is not known, of clients."""
    rows = report.rebalances.rows
    other: dict[str, list[Rebalance]] = {}
    of_clients: dict[str, list[Rebalance]] = {}
    for row in rows:
        if row.cause is Cause.OTHER:
            reason = _without_ids(row.reason.partition("; client reason: ")[0])
            other.setdefault(reason, []).append(row)
        if row.client_reason and not row.client_reason.startswith(_USUAL):
            of_clients.setdefault(_without_ids(row.client_reason), []).append(row)
    for who, by_reason in (("the broker", other), ("clients", of_clients)):
        most = sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0]))
        if most:
            text = "; ".join(_reason_text(*each) for each in most[:MOST])
            more = f"; and {len(most) - MOST:,} more" if len(most) > MOST else ""
            yield f"Reasons that {who} gave (quoted): {text}{more}."


def _reason_text(reason: str, rows: Sequence[Rebalance]) -> str:
    """Format a reason, how often it was the reason, and where at first."""
    which = "" if len(rows) == 1 else "the first "
    return f'"{reason}" {often(len(rows))} ({which}at {at(rows[0].start_ms)} [{rows[0].place}])'


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
    "Groups of Streams threads: {}. Their members join again while tasks move (probing "
    "rebalances). They close without LeaveGroup by default, so each restart of a dynamic member "
    "waits for its session to end. A group.instance.id keeps the tasks."
)


def _kinds(report: OperatorReport) -> Iterator[str]:
    """Yield lines about groups that are not of plain consumers, or whose library lacks a lot."""
    connect = _of_kind(report, GroupKind.CONNECT)[:MOST_GROUPS]
    restarts = report.restarts.rows if connect else []
    for group in connect:
        away = [row.back_ms - row.at_ms for row in restarts if row.group == group]
        yield (
            f"{quoted(group)} is a group of Connect workers, which can't be static members. Each "
            "restart costs its rebalances. The tasks of an absent worker stand still until it "
            "returns, or for scheduled.rebalance.max.delay.ms (300000 by default)."
            f"{_longest_absence(max(away)) if away else ''}"
        )
    if streams := _of_kind(report, GroupKind.STREAMS):
        yield _STREAMS.format(some([quoted(group) for group in streams]))
    for library in (each for each in LIBRARIES if not each.has_static):
        own = [quoted(group) for group, f in report.figures.items() if f.library == library.name]
        if own:
            needs = _away(report, library)
            yield f"Clients of {some(sorted(own))}: {without_static(library)}{needs}"


def _longest_absence(away_ms: int) -> str:
    """Compare an absence of a Connect worker with the default delay: the log doesn't show today's.

    From its departure, since Connect counts the delay from there.
    """
    longest = f" The longest absence here was {short(away_ms)}"
    if away_ms < _CONNECT_DELAY_MS:
        return f"{longest}, shorter than the default, so nothing needs to change."
    return f"{longest}: with the default, other workers took its tasks before it returned."


_CONNECT_DELAY_MS = 300_000


def _away(report: OperatorReport, library: ClientLibrary) -> str:
    """Describe what static membership would need for members that expired; "" if none did."""
    late = [
        row.expired_ms
        for row in report.rebalances.rows
        if row.expired_ms and report.figures[row.group].library == library.name
    ]
    if not late:
        return ""
    return (
        f" It would also need a {library.session_name} longer than today's plus "
        f"{short(max(late))}, the longest absence. This log doesn't show whether the process was "
        f"alive. If it was, a longer {library.session_name} alone is enough; check why the process "
        "was silent."
    )


def _of_kind(report: OperatorReport, kind: GroupKind) -> list[str]:
    return [group for group, f in sorted(report.figures.items()) if f.kind is kind]


def cut(deployment: Deployment) -> str:
    """Describe the missing part of a deployment that the log shows only in part; else return ""."""
    words = [] if deployment.begins else ["begins less than a minute before it"]
    words += [] if deployment.ends else ["ends before all are back"]
    return f"It may have cost more: the log {' and '.join(words)}" if words else ""


def _restarts(report: OperatorReport) -> Iterator[str]:
    """Yield lines about restarts that rebalances show; going and coming are one."""
    by_group: dict[str, list[Restart]] = {}
    for row in report.restarts.rows:
        by_group.setdefault(row.group, []).append(row)
    most = sorted(by_group.items(), key=lambda item: (-len(item[1]), item[0]))
    for group, rows in most[:MOST]:
        known = [row.away_ms for row in rows]
        count = report.figures[group].came_back
        yield f"Restarts in group {quoted(group)}: {count:,}, away for {span(known)}{_guess(rows)}."
    if (more := len(most) - MOST) > 0:
        yield f"And restarts in {times(more, 'more group')}; the JSON has them."


def _guess(rows: Sequence[Restart]) -> str:
    """Say that restarts were paired by time alone; "" if none was."""
    names = {str(row.process.client_id) for row in rows if row.is_guess}
    if not names:
        return ""
    which = f"the client id {min(names)}" if len(names) == 1 else "one client id"
    return (
        f" (probably: several processes may have {which}, and each that left is paired with the "
        "next that joined)"
    )


def other_lines(report: OperatorReport) -> Iterator[str]:
    """Yield lines about restarts, deployments, removals, failovers and sessions nearly over."""
    yield from _restarts(report)
    dearest = sorted(report.deployments.rows, key=lambda row: -row.rebalances)
    for deployment in dearest[:MOST]:
        yield (
            f"Deployment of {quoted(deployment.group)} at {at(deployment.from_ms)}: "
            f"{times(deployment.restarts, 'restart')} of {times(deployment.processes, 'member')} "
            f"in {seconds(deployment.until_ms - deployment.from_ms)} cost "
            f"{times(deployment.rebalances, 'rebalance')}."
            + (f" {note}." if (note := cut(deployment)) else "")
        )
    if (more := report.deployments.count - MOST) > 0:
        yield f"And {more:,} more deployments that cost less; the JSON has them."
    removed = [row for row in report.static_leaves.rows if row.itself is False]
    for row in removed[:MOST]:
        whose = "" if row.process is None else f" (of {row.process})"
        group = quoted(row.group)
        yield f"At {at(row.at_ms)} {row.by} removed {row.instance_id}{whose} from {group}."
    if (more := len(removed) - MOST) > 0:
        yield f"And {more:,} more static members were removed by others; the JSON has them."
    yield from failovers(report)
    if report.causes[Cause.NOT_STORED]:
        yield from _of_storage(report)
    if report.near_timeouts.count:
        worst = report.near_timeouts.rows[0]
        yield (
            f"{times(report.near_timeouts.count, 'member')} came close to their session "
            f"timeout; the closest was {worst.process} in {quoted(worst.group)}: silent for "
            f"{seconds(worst.silent_ms)} of {seconds(worst.session_ms)}."
        )


_QUOTED = 3
"""Greatest number of forms of brokers' lines that are quoted."""
_BEFORE_MS, _AFTER_MS = 600_000, 60_000
"""Times before and after the audited time in which brokers may log why nothing was stored."""


def _of_storage(report: OperatorReport) -> Iterator[str]:
    """Yield a line with the brokers' lines about the partitions that store groups, if any."""
    from_ms, until_ms = (report.from_ms or 0) - _BEFORE_MS, (report.until_ms or 0) + _AFTER_MS
    near = [
        each for each in report.storage if each.from_ms <= until_ms and each.until_ms >= from_ms
    ]
    if near:
        parts = [
            f'"{row.says}" {often(row.lines)} ({"the first is " * (row.lines > 1)}{row.first})'
            for row in near[:_QUOTED]
        ]
        more = f"; and {len(near) - _QUOTED} other kinds" if len(near) > _QUOTED else ""
        yield f"Other lines of the brokers about these partitions: {'; '.join(parts)}{more}."


def _words(kinds: Iterable[str]) -> Meta:
    """Describe the keys of an object by the words that it may have."""
    return Meta(extra_json_schema={"propertyNames": {"enum": list(kinds)}})


_Times = Annotated[int, Meta(ge=1)]
_ByCause = Annotated[dict[Cause, _Times], _words(cause.value for cause in Cause)]
_ByRemedy = Annotated[dict[Remedy, _Times], _words(remedy.value for remedy in Remedy)]
_ByKind = Annotated[
    dict[str, _Times],
    _words(KINDS),
    Meta(description="Kinds of problems that the log can't show, each with its number of groups"),
]
_Unclear = Annotated[
    dict[str, _Times],
    Meta(description="Numbers of rebalances whose remedy is unknown, by reason"),
]


class GroupCauses(Document, frozen=True):
    """The number of rebalances of a group by cause: `causes`."""

    group: str
    causes: _ByCause


class GroupAtEnd(Document, frozen=True):
    """State of a group at the end of the log.

    `static`, `dynamic`: members, null where the log doesn't show all of them; `rebalancing_ms`:
    start of a rebalance that wasn't over, or null; `session_ms`: the longest session timeout of
    its members, `assignors`: the assignors that all of them offer, where the log shows them;
    `kind`: of its members, as far as the log shows it; `last_expired_ms`: time at which its
    last member expired, or left because it was not polled, if no member joined after that;
    `began_rebalancing`: the log begins in a rebalance, which is not counted; `library`: its
    client library, "" where the log doesn't show it; `most_members`: the most members that it
    had in a generation, null where that isn't certain.
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
    began_rebalancing: bool | UnsetType = UNSET
    most_members: Count | UnsetType | None = UNSET


class HourCount(Document, frozen=True):
    """The number of `rebalances` that began in the hour from `hour_ms` on."""

    hour_ms: int
    rebalances: int


class Kept(Document, Generic[R], frozen=True):
    """Rows of a table: `count` is the number of all, `rows` has the first 5,000."""

    count: int
    rows: tuple[R, ...]

    @classmethod
    def of(cls, limited: LimitedRows[R]) -> Kept[R]:
        """Take the rows that the report keeps."""
        return cls(count=limited.count, rows=tuple(limited.rows))


class OperatorDocument(Document, frozen=True):
    """The activity of the consumers in a log, the problems first.

    `from_ms`, `until_ms`: the time that the log covers; `groups`: number of groups;
    `unreadable`: number of lines that are no valid message; `unshown`: kinds of problems that
    this log can't show, each with its number of groups; `problems`: the worst kind first,
    within a kind the most frequent; `at_end`: each group at the end of the log;
    `rebalances_by_cause`, `rebalances_by_remedy`, `rebalances_by_hour`: numbers of rebalances;
    `rebalances_unclear`: numbers of rebalances whose remedy is unknown, by reason;
    `rebalances_by_group`: the causes of each group; `expired_together`: members that expired
    together.  The rest are tables: `chains`, `self_fencings`, `static_leaves`, `thrown_out`,
    `near_timeouts`, `rebalances`, `deployments`, `life_lines`, `restarts`, `expirations`,
    `pending_ids`, `loops`, `failovers`, `empty_spans`, `removed_offsets`.  Older documents lack
    those that are not required.
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
    empty_spans: Kept[EmptySpan] | UnsetType = UNSET
    removed_offsets: Kept[OffsetsRemoved] | UnsetType = UNSET


SCHEMA = DocumentSchema(
    "operator-report-1",
    "The activity of consumers in a log",
    "Names of times end in _ms: milliseconds since 1970, or the milliseconds of a duration.",
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
                last_expired_ms=None if f.lost is None else f.lost.from_ms,
                began_rebalancing=f.began_rebalancing,
                library=f.library,
                most_members=f.most_members,
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
        empty_spans=Kept(count=report.empty_count, rows=tuple(report.empty_spans)),
        removed_offsets=Kept.of(report.removed_offsets),
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
