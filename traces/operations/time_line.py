"""Draw the whole log: all its groups together, then a lane for each group.

A lane has columns of equal time.  A column's bar is its rebalances by cause, with their number if
there are several.  Members that expired stand above the bars, takeovers of instance ids below them,
each with their number: form and place tell kinds apart, not colour alone.  Places are parts of the
width, so that the log fits any screen; a narrow one has fewer columns.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import Cause, End, Expiration, LifeLine, Rebalance
from fencepost.traces.operations.ownership_picture import Scale
from fencepost.traces.operations.problem_words import at, short, times

DRAWN = 30
"""Number of lanes that are seen at once."""
_MOST_LANES = 200
WIDE, NARROW = 72, 24
"""Numbers of columns."""
_MARKED = 24
"""Number of columns of expirations and takeovers, which need room for their number."""
_MARGIN = 0.28
"""Part of a mark's column that lies between its middle and the next mark's column."""
_NAMED = 12
"""Greatest number of events that a mark names."""
_MANY = 99
_THOUSAND = 1_000
_DIGIT = 6.0
"""Width of a digit, with its share of the room between two numbers."""
_COLUMN = {WIDE: 8.5, NARROW: 13.5}
"""Least width of a column on the screens that it is for."""
_BAR, _ALL_BAR, _LEAST_BAR, _LEAST_PART = 18.0, 44.0, 7.0, 4.0
_COUNT, _MARK = 11, 16
"""Heights of a number and of a mark."""

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
_ORDER = tuple(kind for kind, _ in LEGEND)

_Event = TypeVar("_Event", Rebalance, Expiration, LifeLine)


@dataclass(frozen=True, slots=True)
class Part:
    """The rebalances of one kind in a column: a part of its bar."""

    kind: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Column:
    """Rebalances of a part of the log's time: the column `number`.

    `x`, `middle`: in per cent; `label`: their number, "" for one, or where
    a larger one needs the room; `y`: top of the bar; `link`: the
    id of the first in the page, "" for none.
    """

    number: int
    x: float
    middle: float
    y: float
    parts: tuple[Part, ...]
    label: str
    says: str
    link: str


@dataclass(frozen=True, slots=True)
class Mark:
    """Members that expired, or takeovers.

    `x`, `slim_x`: the middle in per cent, on a wide screen and on a narrow one; `label`: their
    number.
    """

    x: float
    slim_x: float
    label: str
    says: str


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time in which a group was rebalancing for longer than a column; in per cent."""

    x: float
    width: float
    says: str


@dataclass(frozen=True, slots=True)
class Lane:
    """A group, or (`name` is empty) all of them.

    `top`: y of the bars' upper end; `bottom`: of their lower end; `wide`, `narrow`: the columns for
    a wide screen and for a narrow one.
    """

    name: str
    number: int
    height: int
    top: int
    bottom: int
    rebalances: int
    wide: tuple[Column, ...]
    narrow: tuple[Column, ...]
    expirations: tuple[Mark, ...]
    takeovers: tuple[Mark, ...]
    stretches: tuple[Stretch, ...]
    expired: int
    taken: int

    @property
    def says(self) -> str:
        """The lane in words."""
        words = [times(self.rebalances, "rebalance")]
        words += [f"{times(self.expired, 'member')} expired"] if self.expired else []
        words += [times(self.taken, "takeover")] if self.taken else []
        return ", ".join(words)


@dataclass(frozen=True, slots=True)
class TimeLine:
    """The log; `lanes`: the groups with the most events, `count`: of all that have any.

    `from_ms`, `span_ms`: its begin and length; `left_out`: the sentence about events that are not
    drawn, since there are too many, "" if all are.
    """

    from_ms: int
    span_ms: int
    ticks: tuple[str, ...]
    overall: Lane
    lanes: tuple[Lane, ...]
    count: int
    left_out: str

    @property
    def step_ms(self) -> int:
        """The time of a column on a wide screen."""
        return self.span_ms // WIDE


@dataclass(frozen=True, slots=True)
class _Rows:
    """The events of a group, or of all groups."""

    rebalances: Sequence[Rebalance]
    expirations: Sequence[Expiration]
    takeovers: Sequence[LifeLine]

    @property
    def count(self) -> int:
        return len(self.rebalances) + len(self.expirations) + len(self.takeovers)


def _by_group(report: OperatorReport) -> dict[str, _Rows]:
    """Return the events of each group that has any, the busiest group first."""
    taken = [row for row in report.life_lines.rows if row.end is End.REPLACED and row.until_ms]
    rows: dict[str, tuple[list[Rebalance], list[Expiration], list[LifeLine]]] = defaultdict(
        lambda: ([], [], [])
    )
    for rebalance in report.rebalances.rows:
        rows[rebalance.group][0].append(rebalance)
    for expiration in report.expirations.rows:
        rows[expiration.group][1].append(expiration)
    for takeover in taken:
        rows[takeover.group][2].append(takeover)
    groups = {group: _Rows(*lists) for group, lists in rows.items()}
    return dict(sorted(groups.items(), key=lambda item: (-item[1].count, item[0])))


class _Columns:
    """The log's time in columns."""

    def __init__(self, report: OperatorReport) -> None:
        self.from_ms = report.from_ms or 0
        self.scale = Scale(self.from_ms, report.until_ms or 0)

    def of(self, ms: int, count: int) -> int:
        """Return the number of the column that a time is in."""
        return min(max((ms - self.from_ms) * count // self.scale.span, 0), count - 1)

    def begin_ms(self, column: int, count: int) -> int:
        """Return the first time of a column."""
        return self.from_ms - (-self.scale.span * column // count)

    def percent(self, ms: int) -> float:
        """Return the place of a time in per cent."""
        return round(100 * (ms - self.from_ms) / self.scale.span, 2)

    def grouped(
        self, rows: Iterable[_Event], time: Callable[[_Event], int], count: int
    ) -> dict[int, list[_Event]]:
        """Return the events of each column that has any."""
        by_column: dict[int, list[_Event]] = {}
        for row in sorted(rows, key=time):
            by_column.setdefault(self.of(time(row), count), []).append(row)
        return by_column


def chosen(report: OperatorReport, most: int) -> list[Rebalance]:
    """Return the rebalances that a page has room for: one of each column first, then the others."""
    rows = report.rebalances.rows
    if len(rows) <= most:
        return rows
    columns = _Columns(report)
    firsts: list[Rebalance] = []
    for events in _by_group(report).values():
        by_column = columns.grouped(events.rebalances, _start, WIDE)
        firsts += [each[0] for _, each in sorted(by_column.items())]
    taken = {row.place for row in firsts[:most]}
    for row in rows:
        if len(taken) >= most:
            break
        taken.add(row.place)
    return [row for row in rows if row.place in taken]


def time_line(report: OperatorReport, links: Mapping[str, str]) -> TimeLine | None:
    """Draw the groups with the most events; None if there are none.

    `links`: the id of a rebalance in the page, by its place.
    """
    if report.from_ms is None or report.until_ms is None:
        return None
    groups = _by_group(report)
    if not groups:
        return None
    columns = _Columns(report)
    everything = _Rows(
        [row for rows in groups.values() for row in rows.rebalances],
        [row for rows in groups.values() for row in rows.expirations],
        [row for rows in groups.values() for row in rows.takeovers],
    )
    drawn = list(groups.items())[:_MOST_LANES]
    most = {
        count: max(
            (
                len(each)
                for _, rows in drawn
                for each in columns.grouped(rows.rebalances, _start, count).values()
            ),
            default=1,
        )
        for count in (WIDE, NARROW)
    }
    lanes = [
        _lane(name, number, rows, columns, links, most)
        for number, (name, rows) in enumerate(drawn, 1)
    ]
    ticks = tuple(tick.says for tick in columns.scale.ticks())
    return TimeLine(
        columns.from_ms,
        columns.scale.span,
        ticks,
        _lane("", 0, everything, columns, {}, {}),
        tuple(lanes),
        len(groups),
        _left_out(report),
    )


def _left_out(report: OperatorReport) -> str:
    tables = (
        (report.rebalances, "rebalances"),
        (report.expirations, "members that expired"),
        (report.life_lines, "life lines of instance ids, with their takeovers"),
    )
    parts = [
        f"the first {len(rows):,} of {kept.count:,} {word}"
        for kept, word in tables
        if kept.count > len(rows := kept.rows)
    ]
    return f"Drawn are {'; '.join(parts)}. The figures above count all." if parts else ""


def _lane(
    name: str,
    number: int,
    rows: _Rows,
    columns: _Columns,
    links: Mapping[str, str],
    most: Mapping[int, int],
) -> Lane:
    bar = _BAR if name else _ALL_BAR
    top = _COUNT + (_MARK if rows.expirations else 0)
    bottom = top + int(bar)
    wide, narrow = (
        _bars(columns, rows.rebalances, count, bottom, bar, most.get(count, 0), links)
        for count in (WIDE, NARROW)
    )
    return Lane(
        name,
        number,
        bottom + (_MARK + 2 if rows.takeovers else 3),
        top,
        bottom,
        len(rows.rebalances),
        wide,
        narrow,
        _marks(columns, rows.expirations, lambda row: row.at_ms, _expired, "member"),
        _marks(columns, rows.takeovers, lambda row: row.until_ms or 0, _taken, "takeover"),
        _stretches(columns, rows.rebalances) if name else (),
        len(rows.expirations),
        len(rows.takeovers),
    )


def _start(row: Rebalance) -> int:
    return row.start_ms


def _bars(
    columns: _Columns,
    rows: Sequence[Rebalance],
    count: int,
    bottom: int,
    bar: float,
    most: int,
    links: Mapping[str, str],
) -> tuple[Column, ...]:
    """Draw the rebalances of each column; `most`: of any column, 0: of these."""
    by_column = columns.grouped(rows, _start, count)
    most = most or max(map(len, by_column.values()), default=1)
    labels = _labels({number: len(events) for number, events in by_column.items()}, count)
    made = []
    for number, events in sorted(by_column.items()):
        kinds = Counter(KINDS.get(row.cause, "other") for row in events)
        least = max(_LEAST_BAR, _LEAST_PART * len(kinds))
        height = least + (bar - least) * (len(events) - 1) / max(most - 1, 1)
        parts, y = [], float(bottom)
        for kind in _ORDER:
            if kinds[kind]:
                spare = height - _LEAST_PART * len(kinds)
                tall = _LEAST_PART + spare * kinds[kind] / len(events)
                y -= tall
                parts.append(Part(kind, round(y, 1), round(tall, 1)))
        link = next((links[row.place] for row in events if row.place in links), "")
        label = labels.get(number, "")
        from_ms, until_ms = (columns.begin_ms(n, count) for n in (number, number + 1))
        x, middle = (round(100 * n / count, 2) for n in (number, number + 0.5))
        says = _rebalances_text(events, columns, from_ms, until_ms)
        made.append(Column(number, x, middle, round(y, 1), tuple(parts), label, says, link))
    return tuple(made)


def _labels(counts: Mapping[int, int], columns: int) -> dict[int, str]:
    """Return the numbers of columns that have several events, the largest where not all fit."""
    labels: dict[int, str] = {}
    ends: list[tuple[float, float]] = []
    several = [(count, number) for number, count in counts.items() if count > 1]
    for count, number in sorted(several, key=lambda item: (-item[0], item[1])):
        label = f"{count}" if count < _THOUSAND else f"{count // _THOUSAND}k"
        half = len(label) * _DIGIT / 2
        middle = (number + 0.5) * _COLUMN[columns]
        if all(middle + half <= begin or middle - half >= end for begin, end in ends):
            labels[number] = label
            ends.append((middle - half, middle + half))
    return labels


def _rebalances_text(
    events: Sequence[Rebalance], columns: _Columns, from_ms: int, until_ms: int
) -> str:
    if len(events) == 1:
        row = events[0]
        took = "not finished" if row.duration_ms is None else short(row.duration_ms)
        return f"{at(row.start_ms)}: {row.cause.value} {row.who}".rstrip() + f", {took}"
    counts = Counter(row.cause for row in events)
    causes = ", ".join(f"{cause.value} {counts[cause]:,}" for cause in Cause if counts[cause])
    span = f"{columns.scale.clock(from_ms)} to {columns.scale.clock(until_ms)}"
    return f"{span}: {len(events):,} rebalances ({causes})"


def _marks(
    columns: _Columns,
    rows: Sequence[_Event],
    time: Callable[[_Event], int],
    says: Callable[[_Event], str],
    word: str,
) -> tuple[Mark, ...]:
    """Draw the events of each column as one mark, with their number."""
    marks = []
    for number, events in sorted(columns.grouped(rows, time, _MARKED).items()):
        lines = [f"{at(time(row))}: {says(row)}" for row in events[:_NAMED]]
        if len(events) > 1:
            lines.insert(0, f"{times(len(events), word)}{' expired' * (word == 'member')}")
        if len(events) > _NAMED:
            lines.append(f"and {len(events) - _NAMED:,} more")
        mean_ms = sum(map(time, events)) // len(events)
        inside = (columns.of(mean_ms, WIDE) + 0.5) * _MARKED / WIDE - number
        x = number + min(max(inside, _MARGIN), 1 - _MARGIN)
        wide, slim = (round(100 * each / _MARKED, 2) for each in (x, number + 0.5))
        marks.append(Mark(wide, slim, _number(len(events)), "\n".join(lines)))
    return tuple(marks)


def _number(count: int) -> str:
    return f"{count}" if count <= _MANY else f"{_MANY}+"


def _expired(row: Expiration) -> str:
    return f"{row.instance_id or row.process} of {row.group!r} expired"


def _taken(row: LifeLine) -> str:
    by = f" of {row.by}" if row.by is not None else ""
    return f"{row.instance_id} of {row.group!r} went to a new member{by}"


def _stretches(columns: _Columns, rows: Sequence[Rebalance]) -> tuple[Stretch, ...]:
    """Return the times of rebalances that took longer than a column, those that touch as one."""
    long = [
        (row.start_ms, row.stable_ms or row.completed_ms)
        for row in sorted(rows, key=_start)
        if (row.stable_ms or row.completed_ms) - row.start_ms >= columns.scale.span / WIDE
    ]
    merged: list[tuple[int, int]] = []
    for start, end in long:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(
        Stretch(
            columns.percent(start),
            round(columns.percent(end) - columns.percent(start), 2),
            f"{at(start)}: rebalancing for {short(end - start)}",
        )
        for start, end in merged
    )
