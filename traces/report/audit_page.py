"""Make the page of an audit: the whole of its text, with a time line, tables and life lines.

The time line of the log is first, then wrong answers, problems with the clients, members that
expired, rebalances, restarts and life lines.  Of long tables the page has the first rows, with
their count; the JSON has the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fencepost.traces.audit.server_log_audit import unread_heading, unread_words
from fencepost.traces.logs.server_log import UnreadLines
from fencepost.traces.operations.group_lines import RebalanceLines
from fencepost.traces.operations.interruption_words import (
    at_end,
    empty_times,
    expirations,
    removed_offsets,
    some,
)
from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import Cause, Rebalance, Remedy
from fencepost.traces.operations.operator_words import (
    NO_LINE,
    causes_by_group,
    covered,
    cut,
    group_line,
    other_lines,
    rebalance_lines,
    unshown,
    verdict,
)
from fencepost.traces.operations.ownership_picture import life_picture
from fencepost.traces.operations.problem_words import (
    OperatorProblem,
    at,
    operator_problems,
    quoted,
    seconds,
    short,
    times,
)
from fencepost.traces.operations.time_line import (
    DRAWN,
    KINDS,
    LEGEND,
    NARROW,
    WIDE,
    TimeLine,
    chosen,
    time_line,
)
from fencepost.traces.pages.trace_page import PageTrace, page_with_traces

_ROWS = 200
"""Greatest number of rows of a table."""
_REBALANCES = 1_000
"""Greatest number of rebalances in the page."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A group's result: `outcome` explained, violated or unknown; its trace's name, if any.

    `violations`: lines about its first violations.
    """

    group: str
    outcome: str
    reason: str
    trace: str | None = None
    violations: tuple[str, ...] = ()


def audit_page(
    report: OperatorReport,
    judged: Sequence[Judged] = (),
    traces: Mapping[str, PageTrace] | None = None,
    not_covered: Sequence[str] = (),
    unread: Sequence[UnreadLines] = (),
    about: Sequence[str] = (),
    other_groups: Mapping[str, str] | None = None,
    fenced: int = 0,
) -> str:
    """Make the page.

    `judged`: every group; `traces`: of violated ones, by name; `not_covered`: subjects that the log
    lacks; `unread`: lines about groups that were not understood; `about`: lines about the log and
    what was not judged; `other_groups`: the protocol of each group that is not classic; `fenced`:
    how often a member of those was fenced.
    """
    counts = {word: sum(1 for g in judged if g.outcome == word) for word in _OUTCOMES}
    heading, *more = _heading(
        report, counts, unread, other_groups or {}, fenced, is_judged=not not_covered
    )
    problems, life_lines = operator_problems(report), report.life_lines.rows
    rebalances = chosen(report, _REBALANCES)
    links = {row.place: f"rebalance-{number}" for number, row in enumerate(rebalances, 1)}
    line = time_line(report, links)
    day, moments = _moments(rebalances)
    by_group = causes_by_group(report)
    return page_with_traces(
        "audit.html",
        heading.removesuffix("."),
        traces or {},
        outcome="unknown" if unread else _worst(counts, len(problems)),
        unread=_points(unread_words(unread)),
        is_partly_shown=bool(report.unshown or unread),
        facts=_facts(report, counts if judged else {}),
        covered=[*more, *covered(report)],
        judged=[g for g in judged if g.outcome != "explained"][:_ROWS],
        unexplained=counts["violated"] + counts["unknown"],
        problems=problems[:_ROWS],
        problem_count=len(problems),
        head=_head,
        facts_of_clients=_points([*unshown(report), *at_end(report)]),
        has_fenced=any(row.fenced_ms is not None for row in life_lines),
        groups=_groups(report, by_group, rebalances, links, line),
        group_count=len(by_group),
        cut=cut,
        causes=[(c.value, report.causes[c]) for c in Cause if report.causes[c]],
        remedies=[
            (_REMEDIES.get(r, r.value), report.remedies[r]) for r in Remedy if report.remedies[r]
        ],
        hours=[(at(hour), count) for hour, count in sorted(report.by_hour.items())][-_ROWS:],
        most=max(report.by_hour.values(), default=0),
        deployments=report.deployments.rows[:_ROWS],
        rebalances=rebalances,
        day=day,
        moments=moments,
        expired=_points([*empty_times(report), *removed_offsets(report), *expirations(report)]),
        expirations=report.expirations.rows[:_ROWS],
        notes=_points(rebalance_lines(report) if report.rebalances.count else ()),
        others=_points(other_lines(report)),
        about=_points(about),
        points_of=_points,
        no_line=NO_LINE,
        near=report.near_timeouts.rows[:_ROWS],
        life_lines=life_lines[:_ROWS],
        picture=life_picture(report),
        line=line,
        drawn=DRAWN,
        wide=WIDE,
        narrow=NARROW,
        legend=LEGEND,
        report=report,
        not_shown=not_covered,
        at=at,
        seconds=seconds,
        short=short,
        times=times,
        saved=_saved,
    )


_OUTCOMES = {"violated": "violated", "unknown": "unknown", "explained": "holds"}
"""The outcomes of a group, the worst first, and the word that colours each."""

_REMEDIES = {Remedy.NOTHING: "none of these"}


def _worst(counts: Mapping[str, int], problem_count: int) -> str:
    """Return the colour of the page: that of the worst result."""
    bad = next((word for word in ("violated", "unknown") if counts[word]), "")
    return bad or (
        "known-failure" if problem_count else "holds" if counts["explained"] else "index"
    )


def _head(problem: OperatorProblem) -> str:
    """Return the heading of a problem: its group, its instance id, and its processes."""
    who = [problem.instance_id or "", some(problem.names, _NAMES)]
    return " · ".join([quoted(problem.group), *filter(None, dict.fromkeys(who))])


_NAMES = 3


@dataclass(frozen=True, slots=True)
class Point:
    """A line of the text: its begin, the `rest` of a long one, and the lines that belong to it."""

    says: str
    rest: str
    below: tuple[Point, ...]


_LONG = 360
"""Characters of a line from which on its rest is folded up."""
_BEGIN = 200


def _points(lines: Iterable[str]) -> list[Point]:
    """Return lines of the text as points; a line that is indented belongs to the one before."""
    blocks: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith("  ") and blocks:
            blocks[-1][1].append(line[2:])
        else:
            blocks.append((line.strip(), []))
    points = []
    for says, below in blocks:
        end = says.rfind(" ", 0, _BEGIN) if len(says) > _LONG else len(says)
        end = end if end > 0 else len(says)
        points.append(Point(says[:end], says[end:].strip(), tuple(_points(below))))
    return points


def _heading(
    report: OperatorReport,
    counts: Mapping[str, int],
    unread: Sequence[UnreadLines],
    other_groups: Mapping[str, str],
    fenced: int,
    *,
    is_judged: bool,
) -> list[str]:
    counts_text = ", ".join(f"{counts[w]:,} {w}" for w in reversed(_OUTCOMES) if counts[w])
    groups = sum(counts.values()) or report.groups
    results = counts_text if is_judged else None
    rest = [f"{unread_heading(unread)}."] if unread else []
    return [*verdict(report, groups, results, other_groups, fenced), *rest]


def _facts(report: OperatorReport, counts: Mapping[str, int]) -> list[tuple[str, str]]:
    expired = report.expirations.count
    if report.from_ms is None or report.until_ms is None:
        return [("the log", NO_LINE)]
    return [
        ("from", at(report.from_ms)),
        ("to", at(report.until_ms)),
        ("rebalances", f"{report.rebalances.count:,}"),
        *([("members that expired", f"{expired:,}")] if expired else []),
        *((word, f"{count:,}") for word, count in counts.items() if count),
    ]


@dataclass(frozen=True, slots=True)
class PageRebalance:
    """A rebalance in the page: its row, the id of its place in the page, its lines and members."""

    row: Rebalance
    id: str
    kind: str
    story: RebalanceLines | None


@dataclass(frozen=True, slots=True)
class PageGroup:
    """A group's rebalances in the page; `lane`: number of its lane in the time line, 0: none."""

    name: str
    says: str
    lane: int
    rebalances: tuple[PageRebalance, ...]


def _groups(
    report: OperatorReport,
    causes_of: Sequence[tuple[str, int, str]],
    rebalances: Sequence[Rebalance],
    links: Mapping[str, str],
    line: TimeLine | None,
) -> list[PageGroup]:
    """Return the groups with the most rebalances, with those that the page has room for.

    `causes_of`: the rows of `causes_by_group`.
    """
    by_group: dict[str, list[PageRebalance]] = {}
    for row in rebalances:
        story = None if report.lines is None else report.lines.of(row)
        kind = KINDS.get(row.cause, "other")
        by_group.setdefault(row.group, []).append(PageRebalance(row, links[row.place], kind, story))
    numbers = {} if line is None else {lane.name: lane.number for lane in line.lanes}
    return [
        PageGroup(
            group,
            group_line(report, group, total, causes),
            numbers.get(group, 0),
            tuple(by_group.get(group, ())),
        )
        for group, total, causes in causes_of[:_ROWS]
    ]


def _saved(row: Rebalance) -> str:
    """Return the setting that would have avoided a rebalance, with the timeout that it needs."""
    if row.session_ms is None:
        return _REMEDIES.get(row.remedy, row.remedy.value)
    return f"{row.remedy.value}, session.timeout.ms {row.session_ms}"


def _moments(rows: Sequence[Rebalance]) -> tuple[str, dict[int, str]]:
    """Return the common day of all rows ("" if several), and the text of each time."""
    texts = {row.start_ms: at(row.start_ms) for row in rows}
    days = {text.partition(" ")[0] for text in texts.values()}
    if len(days) != 1:
        return "", texts
    return days.pop(), {ms: text.split()[1] for ms, text in texts.items()}
