"""What to set: each form of a group at each session timeout, by what a week of it costs."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from fencepost.conformance.advise.arithmetic import (
    EventCost,
    crash,
    death,
    deployment,
    detection_s,
    longest_detection_s,
    outlives,
)
from fencepost.conformance.advise.known import (
    BEATS,
    FORMS,
    SESSIONS_S,
    Form,
    KnownGroup,
)
from fencepost.conformance.simulator.durations import Spread
from fencepost.traces.audit.operations.restarts import LADDER_MS

SEEDS = 20
"""Of the lines that reproduce a figure."""
_LONGEST_WARMUP_S = 3600
FEW = 0.05
"""The part of restarts that may outlive a session which is long enough for static members."""
_EVENTS: dict[str, tuple[str, Callable[[KnownGroup, Form, float], EventCost]]] = {
    "deployment": ("rolling-bounce", deployment),
    "crash": ("crash", crash),
    "death": ("crash-for-good", death),
}


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A session timeout.  `why_not`: why it is not advised, else ""; `weekly`: lost by form.

    What is lost is in partition-seconds of a week, with the time to warm up.
    """

    session_s: float
    outlives: float
    detection_s: float
    longest_detection_s: float
    why_not: str
    weekly: dict[Form, float]

    def least_s(self, is_static: bool) -> float:
        """What is lost with the better strategy."""
        return min(lost for form, lost in self.weekly.items() if form.is_static is is_static)


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event, how often it happens in a week, its cost, and the line that simulates it."""

    event: str
    per_week: float
    cost: EventCost
    line: str


@dataclass(frozen=True, slots=True)
class SettingCost:
    """A form at a session timeout, and what its week costs."""

    form: Form
    session_s: float
    rows: tuple[EventRow, ...]
    warmup_s: float

    @property
    def week(self) -> EventCost:
        """All events of a week."""
        return sum((row.cost.times(row.per_week) for row in self.rows), EventCost())

    @property
    def lost_s(self) -> float:
        """What a week loses, in partition-seconds, with the time to warm up."""
        return self.week.lost_s(self.warmup_s)

    @property
    def is_static(self) -> bool:
        """Whether members are static."""
        return self.form.is_static


@dataclass(frozen=True, slots=True)
class Advice:
    """What to set.  `best` has every form at its best session timeout, the advised one first.

    `enough`: static members with a session that few restarts outlive, whatever gap is tolerated.
    `turn_s`: from which time to warm up on static members lose less; None: at any, or at none.
    `conflict`: which wishes no session timeout fulfils together, else "".
    """

    known: KnownGroup
    today: SettingCost
    best: tuple[SettingCost, ...]
    curve: tuple[CurvePoint, ...]
    turn_s: float | None
    conflict: str
    enough: SettingCost | None

    @property
    def advised(self) -> SettingCost:
        """What to set."""
        return self.best[0]


def advice_for(known: KnownGroup) -> Advice:
    """Find the form and the session timeout that lose least.

    Of those that lose the same the one with fewer rebalances, then the shorter session.
    """
    shortest_s, longest_s = known.shortest_s, known.longest_s
    bounds = [max(longest_s, shortest_s)]
    ladder = sorted(
        {ms / 1000 for ms in LADDER_MS}
        | {known.session_s}
        | {_whole_ms(each) for each in bounds if each <= SESSIONS_S[1]}
    )
    curve = tuple(_point(known, session_s) for session_s in ladder)
    fitting = [point.session_s for point in curve if not point.why_not]
    conflict = ""
    if not fitting:
        may_be = shortest_s <= SESSIONS_S[1]
        shortest_s = _whole_ms(shortest_s) if may_be else ladder[-1]
        fitting = [shortest_s]
        conflict = (
            f"no session timeout keeps a gap of {known.gap_s:g} s: the shortest that is safe is "
            f"{shortest_s:g} s, with which a death is noticed after up to "
            f"{longest_detection_s(known, shortest_s):g} s"
            if known.gap_s is not None and may_be
            else f"processes that are silent for {known.pause_s:g} s and live can be told from "
            f"dead ones by no session timeout that brokers allow, {ladder[-1]:g} s at most"
        )
    rows = {form: [_cost(known, form, s) for s in fitting] for form in known.forms}
    best = sorted((min(each, key=_order) for each in rows.values()), key=_order)
    today = _cost(known, known.form, known.session_s)
    turn_s = _turn_s([row for each in rows.values() for row in each])
    return Advice(known, today, tuple(best), curve, turn_s, conflict, _enough(known, curve))


def _enough(known: KnownGroup, curve: tuple[CurvePoint, ...]) -> SettingCost | None:
    """The shortest safe session that few restarts outlive, with the better static form."""
    long = (p for p in curve if p.outlives <= FEW and not _too_short(known, p.session_s))
    point = next(long, None)
    forms = [form for form in known.forms if form.is_static]
    if point is None or not forms:
        return None
    return min((_cost(known, form, point.session_s) for form in forms), key=_order)


def _whole_ms(seconds: float) -> float:
    """In whole ms, as a session is set, and not longer."""
    return math.floor(seconds * 1000 + 1e-6) / 1000


def _turn_s(rows: list[SettingCost]) -> float | None:
    """From which time to warm up on static members lose less than dynamic ones, in tenths."""
    weeks = [(row.is_static, row.week) for row in rows]
    if len({is_static for is_static, _ in weeks}) < 2:
        return None

    def static_loses_less(warmup_s: float) -> bool:
        lost = {
            static: min(week.lost_s(warmup_s) for is_static, week in weeks if is_static is static)
            for static in (False, True)
        }
        return lost[True] < lost[False]

    low, high = 0, 10 * _LONGEST_WARMUP_S
    if static_loses_less(low) or not static_loses_less(high / 10):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if static_loses_less(middle / 10) else (middle, high)
    return high / 10


def _order(row: SettingCost) -> tuple[float, float, float]:
    return round(row.lost_s, 3), round(row.week.rebalances, 3), row.session_s


def _point(known: KnownGroup, session_s: float) -> CurvePoint:
    longest_s = longest_detection_s(known, session_s)
    why_not = _too_short(known, session_s)
    if not why_not and known.gap_s is not None and longest_s > known.gap_s + 1e-9:
        why_not = f"longer than a gap of {known.gap_s:g} s"
    return CurvePoint(
        session_s,
        outlives(known, session_s),
        detection_s(known, session_s),
        longest_s,
        why_not,
        {form: _cost(known, form, session_s).lost_s for form in FORMS},
    )


def _too_short(known: KnownGroup, session_s: float) -> str:
    if session_s < BEATS * known.heartbeat_s:
        return f"shorter than {BEATS} heartbeats"
    if session_s < known.pause_s + known.heartbeat_s:
        return f"shorter than a silence of {known.pause_s:g} s"
    return ""


def _cost(known: KnownGroup, form: Form, session_s: float) -> SettingCost:
    rates = {"deployment": known.deployments, "crash": known.crashes, "death": known.deaths}
    rows = tuple(
        EventRow(
            event, rates[event], of(known, form, session_s), _line(known, form, session_s, name)
        )
        for event, (name, of) in _EVENTS.items()
    )
    return SettingCost(form, session_s, rows, known.warmup_s)


def _line(known: KnownGroup, form: Form, session_s: float, scenario: str) -> str:
    words = [
        "fencepost simulate",
        scenario,
        f"--members {known.members} --partitions {','.join(map(str, known.topics))}",
        f"--strategy {form.strategy}",
        "--static" if form.is_static else "--dynamic",
        restart_option(known.restart_s),
        f"--session-timeout-ms {round(session_s * 1000)}",
    ]
    if known.heartbeat_s != 3:
        words.append(f"--heartbeat-interval-ms {round(known.heartbeat_s * 1000)}")
    if known.at_a_time > 1 and scenario == "rolling-bounce":
        words.append(f"--at-a-time {known.at_a_time}")
    if known.processing_s:
        words.append(f"--processing-s {known.processing_s:g}")
    return " ".join([*words, f"--seeds {SEEDS}"])


def restart_option(restart_s: float | Spread) -> str:
    """A duration as the options of `simulate` and `advise` say it."""
    if not isinstance(restart_s, Spread):
        return f"--restart-s {restart_s:g}"
    if restart_s.values:
        return "--restart-s " + shlex.quote(",".join(f"{each:g}" for each in restart_s.values))
    return f"--restart-s {restart_s.median:g} --restart-p95-s {restart_s.p95:g}"
