"""What to set: each form of a group at each session timeout, by what a week of it costs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fencepost.conformance.advise.arithmetic import detection_s, longest_detection_s, outlives
from fencepost.conformance.advise.conflict import conflict_of
from fencepost.conformance.advise.known import (
    BEATS,
    FORMS,
    SESSIONS_S,
    Form,
    KnownGroup,
)
from fencepost.conformance.advise.setting_cost import SettingCost, setting_cost
from fencepost.conformance.advise.turns import Turn, turns_of
from fencepost.traces.audit.operations.restarts import LADDER_MS

FEW = 0.05
"""The part of restarts that may outlive a session which is long enough for static members."""
MARGIN = 0.1
"""What loses so much more is as good: the arithmetic is no nearer to the simulator."""

_HARDLY = 0.02
"""A longer session that loses less by no more than this isn't worth it."""


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
class Advice:
    """What to set.  `best` has every form at its best session timeout, the advised one first.

    `enough`: static members with a session that few restarts outlive, whatever gap is tolerated.
    `turns`: with which other values another form would lose least.
    `conflict`: which wishes no session timeout fulfils together, else "".
    """

    known: KnownGroup
    today: SettingCost
    best: tuple[SettingCost, ...]
    curve: tuple[CurvePoint, ...]
    turns: tuple[Turn, ...]
    conflict: str
    enough: SettingCost | None

    @property
    def advised(self) -> SettingCost:
        """What to set."""
        return self.best[0]

    @property
    def as_good(self) -> list[SettingCost]:
        """The other forms that are too close to call."""
        lost_s = self.advised.lost_s
        return [row for row in self.best[1:] if is_as_good(row.lost_s, lost_s)]


def is_as_good(lost_s: float, other_s: float) -> bool:
    """Whether two sums are too close to say which is less."""
    return max(lost_s, other_s) <= min(lost_s, other_s) * (1 + MARGIN) + 1e-3


def advice_for(known: KnownGroup) -> Advice:
    """Find the form and the session timeout that lose least, or are as good and less of a change.

    Of sessions that lose hardly more than the best the shortest.
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
        fitting = [_whole_ms(shortest_s) if shortest_s <= SESSIONS_S[1] else ladder[-1]]
        conflict = conflict_of(known, fitting[0])
    rows = {form: [setting_cost(known, form, s) for s in fitting] for form in known.forms}
    best = {form: _shortest(each) for form, each in rows.items()}
    today = setting_cost(known, known.form, known.session_s)
    is_possible = known.form in best and known.session_s in fitting
    chosen = _least_change(known, list(best.values()), today if is_possible else None)
    others = sorted((row for row in best.values() if row.form != chosen.form), key=_order)
    sessions = {form: _near(fitting, row.session_s) for form, row in best.items()}
    enough = _enough(known, curve)
    return Advice(
        known, today, (chosen, *others), curve, turns_of(known, sessions), conflict, enough
    )


def _shortest(rows: list[SettingCost]) -> SettingCost:
    """The shortest session, in order of which they are, that loses hardly more than the best."""
    least = min(rows, key=_order)
    return next(row for row in rows if row.lost_s <= least.lost_s * (1 + _HARDLY) + 1e-3)


def _least_change(
    known: KnownGroup, best: list[SettingCost], today: SettingCost | None
) -> SettingCost:
    """Of those that are as good as the best what is set today, or has today's strategy.

    Another assignor takes two bounces.
    """
    least = min(best, key=_order)
    good = [row for row in best if is_as_good(row.lost_s, least.lost_s)]
    if today is not None and is_as_good(today.lost_s, least.lost_s):
        return today
    return min(good, key=lambda row: (row.form.strategy != known.strategy, _order(row)))


def _near(sessions: list[float], session_s: float) -> list[float]:
    """A session and its neighbours."""
    place = sessions.index(session_s)
    return sessions[max(place - 1, 0) : place + 2]


def _enough(known: KnownGroup, curve: tuple[CurvePoint, ...]) -> SettingCost | None:
    """The shortest safe session that few restarts outlive, with the better static form."""
    long = (p for p in curve if p.outlives <= FEW and not _too_short(known, p.session_s))
    point = next(long, None)
    forms = [form for form in known.forms if form.is_static]
    if point is None or not forms:
        return None
    return min((setting_cost(known, form, point.session_s) for form in forms), key=_order)


def _whole_ms(seconds: float) -> float:
    """In whole ms, as a session is set, and not longer."""
    return math.floor(seconds * 1000 + 1e-6) / 1000


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
        {form: setting_cost(known, form, session_s).lost_s for form in FORMS},
    )


def _too_short(known: KnownGroup, session_s: float) -> str:
    if session_s < BEATS * known.heartbeat_s:
        return f"shorter than {BEATS} heartbeats"
    if session_s < known.pause_s + known.heartbeat_s:
        return f"shorter than a silence of {known.pause_s:g} s (--longest-pause-s)"
    return ""
