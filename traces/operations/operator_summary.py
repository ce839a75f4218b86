"""The operator's report as text: problems first, then what the log can't show of them.

Then come the causes of rebalances, what would have avoided some of them, and what deployments cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import AVOIDING, Cause, Deployment, Remedy
from fencepost.traces.operations.operator_words import (
    at,
    often,
    operator_problems,
    problems_told,
    seconds,
    times,
)

_MOST = 5
"""The most lines of a kind in the text."""
_MOST_GROUPS = 20
"""The most groups that are named in the text."""
_HOUR_MS = 3_600_000


def operator_summary(report: OperatorReport) -> list[str]:
    """Return the report as lines of text."""
    if report.from_ms is None or report.until_ms is None:
        return ["The log has no line about a group."]
    found = operator_problems(report)
    counts = f"{times(report.rebalances.count, 'rebalance')} in {times(report.groups, 'group')}"
    span = f"From {at(report.from_ms)} to {at(report.until_ms)}"
    lines = [f"{span}: {problems_told(report)}, {counts}."]
    number = 0
    for kind, same in groupby(found, key=lambda problem: problem.kind):
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
    """Tell which groups were rebalancing when the log ended, and which had no member."""
    figures = sorted(report.figures.items())
    open_ = [(f.rebalancing_ms, group) for group, f in figures if f.rebalancing_ms is not None]
    told = [f"{group} (since {at(ms)})" for ms, group in open_]
    if told:
        yield f"Still rebalancing at the end of the log: {_some(told)}."
    if empty := [group for group, f in figures if f.is_empty]:
        yield f"Without a member at the end of the log: {_some(empty)}."


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_GROUPS:,} more" if len(names) > _MOST_GROUPS else ""
    return ", ".join(names[:_MOST_GROUPS]) + more


def unshown(report: OperatorReport) -> Iterator[str]:
    """Tell which problems there may have been that the log can't show."""
    figures = report.figures.items()
    taken = sum(f.replaced for group, f in figures if not report.shows(group, "fenced"))
    expired = sum(f.expired for group, f in figures if not report.shows(group, "short-session"))
    asked = "Not shown in this log: whether a process was alive when"
    if taken:
        yield f"{asked} another took its group.instance.id ({often(taken)}); a restart looks alike."
    if expired:
        yield f"{asked} its session as a static member expired ({often(expired)})."


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
    """Return each group that rebalanced, how often, and its causes; the most first."""
    counted = [(f.causes.total(), group) for group, f in report.figures.items() if f.causes]
    found = []
    for total, group in sorted(counted, key=lambda item: (-item[0], item[1])):
        causes = report.figures[group].causes
        told = ", ".join(f"{c.value} {causes[c]:,}" for c in Cause if causes[c])
        found.append((group, total, told))
    return found


def _by_group(report: OperatorReport) -> Iterator[str]:
    found = causes_by_group(report)
    for group, total, told in found[:_MOST_GROUPS] if len(found) > 1 else ():
        figures = report.figures[group]
        helped = [f"{r.value} {figures.remedies[r]:,}" for r in AVOIDING if figures.remedies[r]]
        avoided = f"; avoided by {', '.join(helped)}" if helped else ""
        together = "together " if total > 1 else ""
        yield f"  {group}: {total:,}, {together}{seconds(figures.total_ms)} ({told}){avoided}"
    if (more := len(found) - _MOST_GROUPS) > 0:
        yield f"  and {times(more, 'group')} with fewer or as many; the JSON has them."


def _sessions(report: OperatorReport) -> Iterator[str]:
    """Tell which session timeout would have been enough, and for how many rebalances."""
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
    """What is said of a deployment whose beginning or end the log may not show; "" for others."""
    shown = (deployment.begins, "begins"), (deployment.ends, "ends")
    words = [word for is_shown, word in shown if not is_shown]
    return _CUT.format(" and ".join(words)) if words else ""


def _others(report: OperatorReport) -> Iterator[str]:
    dearest = sorted(report.deployments.rows, key=lambda row: -row.rebalances)
    for deployment in dearest[:_MOST]:
        yield (
            f"Deployment of {deployment.group} at {at(deployment.from_ms)}: "
            f"{times(deployment.restarts, 'restart')} of {times(deployment.processes, 'member')} "
            f"in {seconds(deployment.until_ms - deployment.from_ms)} cost "
            f"{times(deployment.rebalances, 'rebalance')}."
            + (f" {told}." if (told := cut(deployment)) else "")
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
