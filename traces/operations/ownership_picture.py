"""Draw the holders of instance ids over time: a lane for each id, a bar for each holder.

The holder's name is in its bar, or behind it where the bar is too short and there is room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import LifeLine
from fencepost.traces.operations.problem_words import at

_DRAWN = 40
WIDTH, _ROW, LEFT, TOP = 1000, 26, 220, 22
_TICKS = 5
_LETTER = 6.6
_LEAST = 3
"""Least number of letters of a name."""
LONG_NAME = 30
_SHORT_MS = 20_000
"""Length of a log, in ms, below which its times have ms."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One holder of an instance id; `x` and `width` of the picture.

    `name`: clipped to the room for it; `beside`: True if it stands behind the bar.
    """

    x: float
    width: float
    kind: str
    """`a` or `b`, in turn."""
    fenced: bool
    says: str
    name: str
    beside: bool


@dataclass(frozen=True, slots=True)
class Lane:
    """One instance id."""

    name: str
    y: int
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Tick:
    """A moment on the axis; `anchor`: the end of its text that stands there."""

    x: float
    says: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Life lines of the instance ids with the most holders; `count`: of all instance ids."""

    width: int
    height: int
    left: int
    top: int
    ticks: tuple[Tick, ...]
    lanes: tuple[Lane, ...]
    count: int


def life_picture(report: OperatorReport) -> Picture | None:
    """Draw the instance ids that were replaced most often; None if there are none."""
    if report.from_ms is None or report.until_ms is None:
        return None
    by_instance: dict[tuple[str, str], list[LifeLine]] = {}
    for line in report.life_lines.rows:
        by_instance.setdefault((line.group, line.instance_id), []).append(line)
    if not by_instance:
        return None
    busiest = sorted(by_instance, key=lambda key: (-len(by_instance[key]), key))[:_DRAWN]
    scale = Scale(report.from_ms, report.until_ms)
    lanes = []
    for number, key in enumerate(busiest):
        name = clipped(f"{key[1]} in {key[0]}", LONG_NAME)
        lanes.append(Lane(name, TOP + number * _ROW, _bars(by_instance[key], scale)))
    height = TOP + len(lanes) * _ROW
    return Picture(WIDTH, height, LEFT, TOP, scale.ticks(), tuple(lanes), len(by_instance))


@dataclass(frozen=True, slots=True)
class Scale:
    """The axis of a log, from left to right."""

    from_ms: int
    until_ms: int

    @property
    def span(self) -> int:
        """Its length in ms, at least 1."""
        return max(self.until_ms - self.from_ms, 1)

    def x(self, ms: int) -> float:
        """Return the place of a time."""
        return LEFT + (WIDTH - LEFT) * (ms - self.from_ms) / self.span

    def ticks(self) -> tuple[Tick, ...]:
        """Return the moments on the axis."""
        anchors = ["start", *["middle"] * (_TICKS - 2), "end"]
        moments = [self.from_ms + self.span * n // (_TICKS - 1) for n in range(_TICKS)]
        return tuple(
            Tick(round(self.x(ms), 1), self.clock(ms), anchor)
            for ms, anchor in zip(moments, anchors, strict=True)
        )

    def clock(self, ms: int) -> str:
        """Format a time as the axis has it."""
        moment = datetime.fromtimestamp(ms / 1000, UTC)
        if self.span < _SHORT_MS:
            return f"{moment:%H:%M:%S}.{ms % 1000:03}"
        return f"{moment:%m-%d %H:%M}" if self.span > 2 * 86_400_000 else f"{moment:%H:%M:%S}"


def _bars(held: Sequence[LifeLine], scale: Scale) -> tuple[Bar, ...]:
    held = sorted(held, key=lambda line: (line.from_ms, line.until_ms or scale.until_ms))
    places = [(scale.x(line.from_ms), scale.x(line.until_ms or scale.until_ms)) for line in held]
    nexts = [after for _, (after, _) in pairwise(places)] + [float(WIDTH)]
    bars = []
    for turn, (line, (x, end), after) in enumerate(zip(held, places, nexts, strict=True)):
        width = max(round(end - x, 1), 1.0)
        who = line.process.client_id or str(line.process)
        inside, behind = (int((room - 8) / _LETTER) for room in (width, after - x - width))
        beside = inside < len(who) and behind > inside
        room = max(inside, behind)
        name = clipped(who, room) if room >= min(_LEAST, len(who)) else ""
        fenced = line.fenced_ms is not None
        bars.append(Bar(round(x, 1), width, "ab"[turn % 2], fenced, _says(line), name, beside))
    return tuple(bars)


def clipped(text: str, letters: int) -> str:
    """Cut a text to a number of letters."""
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def _says(line: LifeLine) -> str:
    until = "" if line.until_ms is None else f" to {at(line.until_ms)}"
    by = "" if line.by is None else f" by {line.by}"
    return f"{line.process}, {at(line.from_ms)}{until}: {line.end.value}{by}"
