"""Draw the whole log: a lane for each group, with its rebalances by cause, and what hurt it.

Members that expired stand above the lane's line, takeovers of instance ids below it: form and place
tell kinds apart, not colour alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import Cause, End, Rebalance
from fencepost.traces.operations.ownership_picture import (
    LEFT,
    LONG_NAME,
    TOP,
    WIDTH,
    Scale,
    Tick,
    clipped,
)
from fencepost.traces.operations.problem_words import at, short

_DRAWN = 30
_ROW = 34
_LEAST = 2.0
"""Least width of a rebalance."""
_MOST_MARKS = 1_000
"""Greatest number of marks of a kind in a lane."""

KINDS = {
    Cause.NEW_MEMBER: "came",
    Cause.LEAVE: "went",
    Cause.EXPIRY: "expired",
    Cause.LEADER_REJOIN: "again",
    Cause.MEMBER_REJOIN: "again",
    Cause.CHANGED_SUBSCRIPTION: "again",
}
"""The colour of a rebalance, by its cause; `other` else."""
LEGEND = (
    ("came", "new member"),
    ("went", "leave"),
    ("expired", "expiry"),
    ("again", "rejoin or changed subscription"),
    ("other", "another cause"),
)


@dataclass(frozen=True, slots=True)
class Mark:
    """A rebalance; `link`: the id of its row in the page's table, "" for none."""

    x: float
    width: float
    kind: str
    says: str
    link: str


@dataclass(frozen=True, slots=True)
class Moment:
    """A member that expired, or a takeover."""

    x: float
    says: str


@dataclass(frozen=True, slots=True)
class GroupLane:
    """A group; `y`: of its line."""

    name: str
    y: int
    rebalances: tuple[Mark, ...]
    expirations: tuple[Moment, ...]
    takeovers: tuple[Moment, ...]


@dataclass(frozen=True, slots=True)
class TimeLine:
    """The groups with the most events; `count`: of all groups that have any."""

    width: int
    height: int
    left: int
    top: int
    ticks: tuple[Tick, ...]
    lanes: tuple[GroupLane, ...]
    count: int


def time_line(report: OperatorReport, links: Mapping[str, str]) -> TimeLine | None:
    """Draw the groups with the most events; None if there are none.

    `links`: the id of a rebalance's row in the page, by its place.
    """
    if report.from_ms is None or report.until_ms is None:
        return None
    taken = [row for row in report.life_lines.rows if row.end is End.REPLACED and row.until_ms]
    events = Counter(row.group for row in report.rebalances.rows)
    events.update(row.group for row in report.expirations.rows)
    events.update(row.group for row in taken)
    if not events:
        return None
    scale = Scale(report.from_ms, report.until_ms)
    lanes = []
    for number, group in enumerate(sorted(events, key=lambda name: (-events[name], name))[:_DRAWN]):
        rebalances = [row for row in report.rebalances.rows if row.group == group][:_MOST_MARKS]
        expirations = [row for row in report.expirations.rows if row.group == group][:_MOST_MARKS]
        takeovers = [row for row in taken if row.group == group][:_MOST_MARKS]
        lanes.append(
            GroupLane(
                clipped(group, LONG_NAME),
                TOP + number * _ROW + _ROW // 2,
                tuple(_mark(row, scale, links) for row in rebalances),
                tuple(
                    Moment(
                        round(scale.x(row.at_ms), 1),
                        f"{at(row.at_ms)}: {row.instance_id or row.process} expired",
                    )
                    for row in expirations
                ),
                tuple(
                    Moment(
                        round(scale.x(row.until_ms or 0), 1),
                        f"{at(row.until_ms or 0)}: {row.instance_id} went to a new member",
                    )
                    for row in takeovers
                ),
            )
        )
    height = TOP + len(lanes) * _ROW
    return TimeLine(WIDTH, height, LEFT, TOP, scale.ticks(), tuple(lanes), len(events))


def _mark(row: Rebalance, scale: Scale, links: Mapping[str, str]) -> Mark:
    x, end = scale.x(row.start_ms), scale.x(row.stable_ms or row.completed_ms)
    took = "not finished" if row.duration_ms is None else short(row.duration_ms)
    says = f"{at(row.start_ms)}: {row.cause.value} {row.who}".rstrip() + f", {took}"
    x = min(x, WIDTH - _LEAST)
    width = max(round(end - x, 1), _LEAST)
    kind = KINDS.get(row.cause, "other")
    return Mark(round(x, 1), width, kind, says, links.get(row.place, ""))
