"""Write the operator's report as text and as JSON.

The text has the problems first, each with its processes, times, and the fix; then the kinds of
problems that the log can't show, the causes of rebalances, settings that would have avoided some,
and the cost of deployments.  Processes are named by client id and host; times are UTC.

In the JSON times are ms since 1970, durations ms; values that are not in the log are null or
`unknown`.  The same log gives the same bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Annotated, Any, Generic, TypeVar

from msgspec import Meta

from fencepost.traces.files.document_schema import Count, Document, DocumentSchema
from fencepost.traces.operations.operator_report import (
    KINDS,
    LimitedRows,
    OperatorReport,
    Recurring,
)
from fencepost.traces.operations.operator_rows import (
    AVOIDING,
    Cause,
    Deployment,
    FencingChain,
    LifeLine,
    NearTimeout,
    PollTimeout,
    Process,
    Rebalance,
    Remedy,
    RowPart,
    SelfFencing,
    StaticLeave,
    ThrownOut,
)
from fencepost.traces.operations.restarts import long_enough_ms

K = TypeVar("K")
R = TypeVar("R")


class OperatorProblem(RowPart, frozen=True):
    """A problem with clients, with all its occurrences.

    `kind`: a word for programs; `names`: the processes; `count`: of occurrences, on `days` days.
    """

    kind: str
    group: str
    instance_id: str | None
    names: tuple[str, ...]
    count: int
    days: int
    first_ms: int
    last_ms: int
    says: str
    remedy: str
    place: str


def operator_problems(report: OperatorReport) -> list[OperatorProblem]:
    """Return the problems of a report, the worst first."""
    return [_problem(problem, report) for problem in report.problems]


def _problem(problem: Recurring, report: OperatorReport) -> OperatorProblem:
    says, remedy = _sentences(problem)
    if (
        problem.kind == "fenced"
        and problem.count > 1
        and not report.shows(problem.first.group, "ping-pong")
    ):
        says += _MAY_BE_SHARED
    return OperatorProblem(
        problem.kind,
        problem.first.group,
        problem.first.instance_id,
        tuple(map(str, sorted(problem.names))),
        problem.count,
        len(problem.days),
        problem.from_ms,
        problem.until_ms,
        says,
        remedy,
        problem.place,
    )


def _sentences(problem: Recurring) -> tuple[str, str]:
    """Return the sentences of a problem: a description, and a remedy."""
    match problem.first:
        case FencingChain() as first:
            return _ping_pong(problem, first) if first.ping_pong else _fenced(problem, first)
        case SelfFencing() as first:
            return _doubled(problem, first) if first.second else _self_fencing(problem, first)
        case StaticLeave() as first:
            return _static_leave(problem, first)
        case ThrownOut():
            return _short_session(problem)
        case PollTimeout() as first:
            return _poll_timeout(problem, first)


def at(ms: int) -> str:
    """Format a time (ms since 1970)."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def problems_text(report: OperatorReport) -> str:
    """Format the number of problems, as "shown in this log" where it can't show some kinds."""
    count = len(report.problems)
    if not report.unshown:
        return f"{times(count, 'problem')} with clients"
    return f"{times(count, 'problem') if count else 'no problem'} with clients shown in this log"


def _clock(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%H:%M:%S")


def seconds(ms: int) -> str:
    """Format a duration (ms) in seconds or minutes."""
    return f"{ms / 1000:.1f} s" if ms < 120_000 else f"{ms / 60_000:.0f} min"


def times(count: int, word: str) -> str:
    """Format a count with its word: `1 restart`, `2 restarts`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def often(count: int) -> str:
    """Format a number of occurrences: `once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def _names(processes: Sequence[Process]) -> str:
    texts = [str(process) for process in processes]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def rhythm(problem: Recurring) -> str:
    """Format times of a problem: `at …`, `3 times …`, `5 times a day, on 59 days, last on …`."""
    days = len(problem.days)
    if days > 1:
        a_day = problem.count / days
        rate = f"{often(round(a_day))} a day" if a_day >= 1.5 else often(problem.count)
        return f"{rate}, on {days:,} days, last on {at(problem.until_ms)}"
    if problem.from_ms == problem.until_ms and problem.count == 1:
        return f"at {at(problem.from_ms)}"
    until = f"between {at(problem.from_ms)} and {_clock(problem.until_ms)}"
    return until if problem.count == 1 else f"{often(problem.count)} {until}"


def _ping_pong(problem: Recurring, row: FencingChain) -> tuple[str, str]:
    return (
        (
            f"{_names(sorted(problem.names))} share group.instance.id {row.instance_id} in group "
            f"{row.group}: it was taken over {rhythm(problem)}, and each fenced the other."
        ),
        "Give each process its own group.instance.id, for example the name of its pod.",
    )


_OWN_ID = (
    "Give each process its own group.instance.id. If the second is to replace the first, end the "
    "first, and start the second when it is gone. FENCED_INSTANCE_ID is fatal: let the fenced "
    "consumer end."
)


_MAY_BE_SHARED = (
    " This log can't tell whether processes share the id, or restarts overlap: many takeovers in a "
    "short time mean that they share it."
)


def _fenced(problem: Recurring, row: FencingChain) -> tuple[str, str]:
    """Describe a process that lost its instance id while alive, and the process that took it."""
    turn = row.decisive
    old, new = turn.from_process, turn.to_process
    notice = "" if turn.told_ms is None else f"; the first was told at {at(turn.told_ms)}"
    more = "" if problem.count == 1 else f" Such takeovers: {rhythm(problem)}."
    return (
        (
            f"{old} was fenced while it was alive: {new} took its group.instance.id "
            f"{row.instance_id} in group {row.group} at {at(turn.at_ms)}{notice}.{more}"
        ),
        _OWN_ID,
    )


def _doubled(problem: Recurring, row: SelfFencing) -> tuple[str, str]:
    more = "" if problem.count == 1 else f" It happened {rhythm(problem)}."
    return (
        (
            f"{row.process} was fenced while it was alive: a second process with the same "
            f"client.id on that host{_ports(row)} took its group.instance.id {row.instance_id} in "
            f"group {row.group} at {at(row.taken_ms)}, and the first was told at "
            f"{at(row.at_ms)}.{more}"
        ),
        _OWN_ID,
    )


def _ports(row: SelfFencing) -> str:
    """Name the ports of both processes, where the log has them; they may be one process's."""
    old, new = (each.rpartition(":")[2] for each in (row.address, row.by_address))
    return f" (from port {new}; the first was at port {old})" if old and new else ""


def _self_fencing(problem: Recurring, row: SelfFencing) -> tuple[str, str]:
    return (
        (
            f"{row.process}, static member {row.instance_id} of group {row.group}, was fenced "
            f"{rhythm(problem)} by a later join of its own{_ports(row)}, while it was alive."
        ),
        (
            "Either a join whose answer was lost was handled after a later one, or two processes "
            "with one client.id run on that host. Check that it is not the second. Then give the "
            "client a longer request timeout, and restart it when it ends with the fatal error."
        ),
    )


def _static_leave(problem: Recurring, row: StaticLeave) -> tuple[str, str]:
    surely = "" if row.itself else " (probably: the log doesn't show who sent it)"
    return (
        (
            f"{_names(sorted(problem.names))} left group {row.group} with a LeaveGroup "
            f"{rhythm(problem)}, though it is static member {row.instance_id}{surely}. "
            "Its partitions moved at once."
        ),
        (
            "A static member should close without LeaveGroup: update the client library, or change "
            "the setting that makes it leave on close. Nothing to do if the group was made smaller."
        ),
    )


def _short_session(problem: Recurring) -> tuple[str, str]:
    """Describe all removals of a member whose process was alive."""
    last, longest = problem.last, problem.longest_ms
    assert isinstance(last, ThrownOut)  # noqa: S101  (for the type checker)
    known = f" as {last.instance_id}" if last.instance_id is not None else ""
    last_at = f", last at {at(last.at_ms)}" if len(problem.days) == 1 else ""
    how = often(problem.count) if len(problem.days) == 1 else f"{rhythm(problem)},"
    return (
        (
            f"{last.process} was removed from group {last.group}{known} "
            f"{how} while it was alive{last_at}: it was "
            f"silent for up to {seconds(longest)}, and its session timeout is "
            f"{seconds(last.session_ms)}."
        ),
        _longer_session(longest),
    )


def _poll_timeout(problem: Recurring, row: PollTimeout) -> tuple[str, str]:
    return (
        (
            f"{_names(sorted(problem.names))} left group {row.group} {rhythm(problem)}, while it "
            "was alive: its poll() was not called for max.poll.interval.ms."
        ),
        (
            "Process fewer records for each poll (max.poll.records), or set a longer "
            "max.poll.interval.ms."
        ),
    )


def _longer_session(silent_ms: int) -> str:
    enough = long_enough_ms(silent_ms)
    why = (
        "find out why it is silent (garbage collection, no CPU time, a bad network, poll() not "
        "called)"
    )
    return f"Set session.timeout.ms to {enough} or more, or {why}." if enough else f"F{why[1:]}."


_MOST = 5
"""Greatest number of lines of a kind in the text."""
_MOST_GROUPS = 20
"""Greatest number of groups named in the text."""
_HOUR_MS = 3_600_000


def operator_summary(report: OperatorReport) -> list[str]:
    """Return the report as lines of text."""
    if report.from_ms is None or report.until_ms is None:
        return ["The log has no line about a group."]
    problems = operator_problems(report)
    counts = f"{times(report.rebalances.count, 'rebalance')} in {times(report.groups, 'group')}"
    span = f"From {at(report.from_ms)} to {at(report.until_ms)}"
    lines = [f"{span}: {problems_text(report)}, {counts}."]
    number = 0
    for kind, same in groupby(problems, key=lambda problem: problem.kind):
        alike = list(same)
        for problem in alike[:_MOST]:
            number += 1
            lines += ["", f"{number}. {problem.says}", f"   {problem.remedy} [{problem.place}]"]
        if (more := len(alike) - _MOST) > 0:
            number += more
            lines += ["", f"   And {more:,} more of this kind ({kind}); the JSON has all."]
    lacks = list(unshown(report))
    rest = (*_rebalances(report), *_others(report), *at_end(report))
    return [*lines, *([""] if lacks else []), *lacks, *rest]


def at_end(report: OperatorReport) -> Iterator[str]:
    """Yield lines that name groups that were rebalancing, or without members, at the log's end."""
    figures = sorted(report.figures.items())
    open_ = [(f.rebalancing_ms, group) for group, f in figures if f.rebalancing_ms is not None]
    rebalancing = [f"{group} (since {at(ms)})" for ms, group in open_]
    if rebalancing:
        yield f"Still rebalancing at the end of the log: {_some(rebalancing)}."
    if empty := [group for group, f in figures if f.is_empty]:
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
    helped = [
        f"{remedy.value} {report.remedies[remedy]:,}"
        for remedy in AVOIDING
        if report.remedies[remedy]
    ]
    if helped:
        yield f"What would have avoided some: {', '.join(helped)}."
    yield from _sessions(report)
    for why, count in sorted(report.unclear.items()):
        yield f"What would have avoided {count:,} is unknown: {why}."
    span = (report.until_ms or 0) - (report.from_ms or 0)
    if span >= _HOUR_MS:
        hour, most = max(report.by_hour.items(), key=lambda item: (item[1], -item[0]))
        yield f"Most in an hour: {most:,}, from {at(hour)}."
    known = [r for r in report.rebalances.rows if r.duration_ms is not None]
    if known:
        longest = max(known, key=lambda r: (r.duration_ms or 0, -r.start_ms))
        yield (
            f"The longest took {seconds(longest.duration_ms or 0)}: group {longest.group}, "
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
        figures = report.figures[group]
        helped = [f"{r.value} {figures.remedies[r]:,}" for r in AVOIDING if figures.remedies[r]]
        avoided = f"; avoided by {', '.join(helped)}" if helped else ""
        took = f"{'together ' if total > 1 else ''}{seconds(figures.total_ms)}"
        yield f"  {group}: {total:,}, {took} ({causes_text}){avoided}"
    if (more := len(rows) - _MOST_GROUPS) > 0:
        yield f"  and {times(more, 'group')} with fewer or as many; the JSON has them."


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
    yield f"A session.timeout.ms of {max(needed)} would have been enough for {which}."
    yield (
        "That is for the fewest rebalances; for the least time without a consumer another one may "
        "be better (fencepost advise)."
    )


_CUT = "It may have cost more: the log {} in the middle of it"


def cut(deployment: Deployment) -> str:
    """Describe the missing part of a deployment that the log shows only in part; else return ""."""
    ends = (deployment.begins, "begins"), (deployment.ends, "ends")
    words = [word for is_in_log, word in ends if not is_in_log]
    return _CUT.format(" and ".join(words)) if words else ""


def _others(report: OperatorReport) -> Iterator[str]:
    dearest = sorted(report.deployments.rows, key=lambda row: -row.rebalances)
    for deployment in dearest[:_MOST]:
        yield (
            f"Deployment of {deployment.group} at {at(deployment.from_ms)}: "
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
        yield f"{row.by} removed {row.instance_id}{whose} from {row.group} at {at(row.at_ms)}."
    if (more := len(removed) - _MOST) > 0:
        yield f"And {more:,} more static members were removed by others; the JSON has them."
    if report.near_timeouts.count:
        worst = report.near_timeouts.rows[0]
        yield (
            f"{times(report.near_timeouts.count, 'member')} came close to their session "
            f"timeout; the closest was {worst.process} in {worst.group}: silent for "
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
    `assignors`: those that all members offer; both where the log shows them.
    """

    group: str
    static: Count | None
    dynamic: Count | None
    rebalancing_ms: int | None
    session_ms: int | None
    assignors: tuple[str, ...]


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
    """The operator's report as JSON, its problems first."""

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
            )
            for group, f in groups
        ),
        rebalances_by_hour=tuple(
            HourCount(hour_ms=hour, rebalances=count)
            for hour, count in sorted(report.by_hour.items())
        ),
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
