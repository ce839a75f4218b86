"""Find the form of a group and the session timeout whose week costs least.

Times are seconds.  docs/deployments/advise.md states how long partitions wait at most, and how long
a rollout takes.  A maximum holds as long as no rebalance begins while another one goes on.

A setting is costed by the events of a week, each with the line that simulates it.  An advice turns
at a value of a fact from which another form is advised.  A conflict names the wishes that no
session timeout fulfils together.  A migration is a list of deployments, with their costs and the
way back.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from msgspec.structs import replace

from fencepost.conformance.advise.arithmetic import (
    EventCost,
    crash,
    death,
    deployment,
    detection_s,
    is_apart,
    outlives,
    outlives_of,
    restarts_of,
    slowest_s,
    stopped_s,
)
from fencepost.conformance.advise.known_facts import (
    BEATS,
    BOTH,
    FORMS,
    HEARTBEAT_S,
    SESSIONS_S,
    AdviceError,
    Form,
    KnownGroup,
)
from fencepost.conformance.simulate.deployment_scenario import (
    RESUME_S,
    Spread,
    longest_s,
    scaled,
)
from fencepost.model.history.words import plural
from fencepost.traces.operations.client_libraries import ClientLibrary
from fencepost.traces.operations.restarts import LADDER_MS

_CHECK_S = 0.1
"""Seconds between two health checks of the simulator."""


def longest_death_s(known: KnownGroup, session_s: float) -> float:
    """Return the longest wait for partitions of a host that died.

    Its session ends; the others notice, join, and read.
    """
    return session_s + known.heartbeat_s + known.processing_s + known.reading_s


def longest_restart_s(known: KnownGroup, form: Form, session_s: float) -> float:
    """Return the longest wait for partitions of a process that is stopped and started again."""
    if not form.is_static:
        return known.heartbeat_s + known.processing_s + known.reading_s
    restart_s = math.inf if is_unbounded(known) else longest_s(known.restart_s)
    return min(restart_s + known.reading_s, longest_death_s(known, session_s))


def longest_crash_s(known: KnownGroup, form: Form, session_s: float) -> float:
    """Return the longest wait after a crash: the group doesn't know a dynamic one's successor."""
    if not form.is_static:
        return longest_death_s(known, session_s)
    return longest_restart_s(known, form, session_s)


def is_unbounded(known: KnownGroup) -> bool:
    """Tell if no restart is the longest: their times are a distribution without an end."""
    return isinstance(known.restart_s, Spread) and known.restart_s.median is not None


def deployment_s(known: KnownGroup, form: Form, session_s: float) -> float:
    """Return how long a deployment takes on average, until the group is balanced again.

    A wave takes as long as its longest restart, and until all others have noticed that it ended.
    """
    restarts, size = sorted(restarts_of(known.restart_s)), known.at_a_time
    notice_s = session_s - known.heartbeat_s / 2 if form.is_static else known.heartbeat_s
    joined_s = known.heartbeat_s / 2 + slowest_s(known)
    if form.strategy == "cooperative":
        joined_s += known.heartbeat_s + slowest_s(known)
    wave_s = 0.0
    for place, restart_s in enumerate(restarts):
        part = ((place + 1) / len(restarts)) ** size - (place / len(restarts)) ** size
        late = outlives_of(known, restart_s, session_s) if form.is_static else 1.0
        apart = is_apart(known, restart_s - notice_s, size)
        merged_s = max(restart_s, notice_s + slowest_s(known))
        comes_s = apart * (restart_s + joined_s) + (1 - apart) * merged_s
        wave_s += part * (late * comes_s + (1 - late) * restart_s)
    return known.waves * (wave_s + _CHECK_S)


_PROBES = {
    "resume_s": (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0),
    "processing_s": (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0),
    "warmup_s": (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0),
}
"""Values in s at which facts that are hard to know are tried."""
_STEPS = 7
"""Halvings between two of them."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A value of a fact from which on, upwards or downwards, `form` replaces `instead_of`."""

    name: str
    value: float
    is_upwards: bool
    form: Form
    instead_of: Form


def turns_of(known: KnownGroup, advised: Callable[[KnownGroup], Form]) -> tuple[Turn, ...]:
    """Find the nearest turns of each fact; `advised`: returns the form that a group is advised."""
    if len(known.forms) < 2:
        return ()
    form = advised(known)
    turns = []
    for name, probes in _PROBES.items():

        def form_at(value: float, name: str = name) -> Form:
            return advised(replace(known, **{name: value}))

        now = getattr(known, name)
        ways = (
            [each for each in probes if each > now],
            [each for each in probes if each < now][::-1],
        )
        for is_upwards, way in zip((True, False), ways, strict=True):
            same = now
            for probe in way:
                if form_at(probe) != form:
                    value = _between(form_at, same, probe, form)
                    turns.append(Turn(name, value, is_upwards, form_at(value), form))
                    break
                same = probe
    return tuple(turns)


def _between(form_at: Callable[[float], Form], same: float, other: float, form: Form) -> float:
    """Find the value at which the form changes, nearly, on the side of the other form."""
    for _ in range(_STEPS):
        middle = (same + other) / 2
        same, other = (middle, other) if form_at(middle) == form else (same, middle)
    return other


def conflict_of(known: KnownGroup, shortest_s: float) -> str:
    """Describe the conflict in a sentence; `shortest_s`: the shortest session that is safe."""
    if known.gap_s is None or known.shortest_s > SESSIONS_S[1]:
        return (
            f"no session timeout that brokers allow (at most {shortest_s:g} s) distinguishes live "
            f"processes that are silent for {known.pause_s:g} s from dead ones"
        )
    why = f"a session shorter than {BEATS} heartbeats ends when two of them are lost"
    if known.shortest_s == SESSIONS_S[0]:
        why = "brokers allow no shorter one by default"
    if known.shortest_s == known.pause_s + known.heartbeat_s:
        why = f"a live process may be silent for {known.pause_s:g} s (--longest-pause-s)"
    outs = list(_ways_out(known, known.gap_s))
    remedy = f": give {', or '.join(outs)}" if outs else ""
    return (
        f"no session timeout keeps a gap of {known.gap_s:g} s. The shortest safe one is "
        f"{shortest_s:g} s, since {why}. With it the group notices a death after up to "
        f"{longest_death_s(known, shortest_s):.1f} s{remedy}"
    )


def _ways_out(known: KnownGroup, gap_s: float) -> list[str]:
    """List the changes each of which alone would let a session keep the gap."""
    left_s = gap_s - known.processing_s - known.reading_s
    outs = []
    pause_s = math.floor(10 * (left_s - 2 * known.heartbeat_s) + 1e-6) / 10
    if pause_s > 0 and max(BEATS * known.heartbeat_s, SESSIONS_S[0]) <= left_s - known.heartbeat_s:
        outs.append(f"--longest-pause-s {pause_s:g} or less, if that is so")
    beat_s = min((left_s - known.pause_s) / 2, left_s / (BEATS + 1), left_s - SESSIONS_S[0])
    beat_ms = 100 * math.floor(10 * beat_s + 1e-6)
    if beat_ms > 0:
        outs.append(f"--heartbeat-interval-ms {beat_ms} or less, and set it in the consumers")
    return outs


_EVENTS: dict[str, tuple[str, int, Callable[[KnownGroup, Form, float], EventCost]]] = {
    "deployment": ("rolling-bounce", 20, deployment),
    "crash": ("crash", 100, crash),
    "death": ("crash-for-good", 100, death),
}
"""The scenario of each, the number of seeds that bring it near the figure, and the arithmetic."""


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event, its times in a week, its cost, and the line that simulates it."""

    event: str
    per_week: float
    cost: EventCost
    line: str


@dataclass(frozen=True, slots=True)
class SettingCost:
    """A form at a session timeout, and the cost of its week; `known`: with its heartbeats."""

    known: KnownGroup
    form: Form
    session_s: float
    rows: tuple[EventRow, ...]

    @property
    def week(self) -> EventCost:
        """Add up all events of a week."""
        return sum((row.cost.times(row.per_week) for row in self.rows), EventCost())

    def of(self, event: str) -> EventCost:
        """Return the cost of one event, such as "deployment"."""
        return next(row.cost for row in self.rows if row.event == event)

    @property
    def lost_s(self) -> float:
        """Return the loss of a week, in partition-seconds, with the time to warm up."""
        return self.week.lost_s(self.known.warmup_s)

    @property
    def heartbeat_s(self) -> float:
        """Return the heartbeat interval."""
        return self.known.heartbeat_s

    def is_set_as(self, other: SettingCost) -> bool:
        """Tell if all settings are equal."""
        return (self.form, self.session_s, self.heartbeat_s) == (
            other.form,
            other.session_s,
            other.heartbeat_s,
        )

    @property
    def is_static(self) -> bool:
        """Tell if members are static."""
        return self.form.is_static


def setting_cost(known: KnownGroup, form: Form, session_s: float) -> SettingCost:
    """Cost a form at a session timeout."""
    rates = {"deployment": known.deployments, "crash": known.crashes, "death": known.deaths}
    rows = tuple(
        EventRow(
            event,
            rates[event],
            of(known, form, session_s),
            simulate_line(known, form, session_s, scenario, seeds),
        )
        for event, (scenario, seeds, of) in _EVENTS.items()
    )
    return SettingCost(known, form, session_s, rows)


def simulate_line(
    known: KnownGroup,
    form: Form,
    session_s: float,
    scenario: str,
    seeds: int,
    changes: Sequence[str] = (),
    *,
    offers_both: bool = False,
) -> str:
    """Write the line that simulates an event; "" if brokers don't allow the session by default.

    `changes`: the settings of the processes that are started, such as "strategy=cooperative".
    """
    if session_s < SESSIONS_S[0]:
        return ""
    words = [
        "fencepost simulate",
        scenario,
        f"--members {known.members} --partitions {','.join(map(str, known.topics))}",
        f"--strategy {BOTH if offers_both else form.strategy}",
        "--static" if form.is_static else "--dynamic",
        restart_option(known.restart_s),
        f"--session-timeout-ms {round(session_s * 1000)}",
    ]
    if known.heartbeat_s != HEARTBEAT_S:
        words.append(f"--heartbeat-interval-ms {round(known.heartbeat_s * 1000)}")
    if known.at_a_time > 1 and scenario == "rolling-bounce":
        words.append(f"--at-a-time {known.at_a_time}")
    if known.processing_s:
        words.append(f"--processing-s {known.processing_s:g}")
    if known.resume_s != RESUME_S:
        words.append(f"--resume-s {known.resume_s:g}")
    words += [f"--set {change}" for change in changes]
    return " ".join([*words, f"--seeds {seeds}"])


def restart_option(restart_s: float | Spread) -> str:
    """Write a duration as the options of `simulate` and `advise`."""
    if not isinstance(restart_s, Spread):
        return f"--restart-s {restart_s:g}"
    if restart_s.values:
        return "--restart-s " + shlex.quote(",".join(f"{each:g}" for each in restart_s.values))
    return f"--restart-s {restart_s.median:g} --restart-p95-s {restart_s.p95:g}"


FEW = 0.05
"""The part of restarts that may outlive a session which is long enough for static members."""
MARGIN = 0.1
"""The excess loss that is as good: the arithmetic is no nearer to the simulator."""
SHORTEST_BEAT_S = 1.0
"""No shorter heartbeat interval is advised: none was tried on real Kafkas."""

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
        """Return the loss with the better strategy."""
        return min(lost for form, lost in self.weekly.items() if form.is_static is is_static)


@dataclass(frozen=True, slots=True)
class Choice:
    """The settings that lose least with one heartbeat interval.

    `best` has every form at its best session timeout, the chosen one first; `curve`: every session;
    `conflict`: the wishes that none fulfils together, else "".
    """

    known: KnownGroup
    best: tuple[SettingCost, ...]
    curve: tuple[float, ...]
    conflict: str


@dataclass(frozen=True)
class Advice:
    """The advised settings; `best`: each form at its best session timeout, the advised first.

    `request`: the group as it was described; `known`: the same with the advised heartbeat interval.
    `enough`: static members with a session that few restarts outlive, whatever gap is tolerated.
    `other_beat`: the best with the other heartbeat interval, where that makes a difference.
    `conflict`: the wishes that no session timeout fulfils together, else "".
    """

    request: KnownGroup
    known: KnownGroup
    today: SettingCost
    best: tuple[SettingCost, ...]
    curve: tuple[CurvePoint, ...]
    conflict: str
    enough: SettingCost | None
    other_beat: SettingCost | None

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """Find the values with which another form would be advised: most of the work, if used."""
        return turns_of(self.request, lambda changed: chosen_for(changed)[0].best[0].form)

    @cached_property
    def with_slow_restarts(self) -> tuple[SettingCost, SettingCost, SettingCost] | None:
        """Cost the advised and today's setting with restarts that take twice as long.

        The third is the setting to advise then.  None where the deployments of a week would last
        longer than a week.
        """
        slow_s = scaled(self.request.restart_s, 2)
        try:
            advised, today = (
                setting_cost(replace(of.known, restart_s=slow_s), of.form, of.session_s)
                for of in (self.advised, self.today)
            )
            chosen, _ = chosen_for(replace(self.request, restart_s=slow_s))
        except AdviceError:
            return None
        return advised, today, chosen.best[0]

    @property
    def advised(self) -> SettingCost:
        """Return the settings to use."""
        return self.best[0]

    def best_of(self, *, is_static: bool) -> SettingCost | None:
        """Return the best settings with this membership, None where it may not be advised."""
        return next((each for each in self.best if each.is_static is is_static), None)

    @property
    def as_good(self) -> list[SettingCost]:
        """List the other forms that are too close to call."""
        lost_s = self.advised.lost_s
        return [row for row in self.best[1:] if is_as_good(row.lost_s, lost_s)]


def is_as_good(lost_s: float, other_s: float) -> bool:
    """Tell if two sums are too close to say which is less."""
    return max(lost_s, other_s) <= min(lost_s, other_s) * (1 + MARGIN) + 1e-3


def advice_for(known: KnownGroup) -> Advice:
    """Find the form and the session timeout that lose least, or are as good and less of a change.

    Of sessions that lose hardly more than the best the shortest; a shorter heartbeat interval where
    that loses less by more than a tenth, unless the interval is kept.
    """
    chosen, other = chosen_for(known)
    curve = tuple(_point(chosen.known, session_s) for session_s in chosen.curve)
    return Advice(
        request=known,
        known=chosen.known,
        today=_today(known),
        best=chosen.best,
        curve=curve,
        conflict=chosen.conflict,
        enough=_enough(chosen.known, curve),
        other_beat=None if other is None else other.best[0],
    )


def chosen_for(known: KnownGroup) -> tuple[Choice, Choice | None]:
    """Choose settings, and those with the other heartbeat interval, if that makes a difference."""
    slow = _choice(known)
    if known.heartbeat_s <= SHORTEST_BEAT_S:
        return slow, None
    quick = _choice(replace(known, heartbeat_s=SHORTEST_BEAT_S))
    lost_s, quick_s = slow.best[0].lost_s, quick.best[0].lost_s
    is_better = quick_s < lost_s and not is_as_good(quick_s, lost_s)
    if bool(slow.conflict) != bool(quick.conflict):
        is_better = not quick.conflict
    if not is_better:
        return slow, None
    return (slow, quick) if known.keeps_heartbeat else (quick, slow)


def _choice(known: KnownGroup) -> Choice:
    """Choose the settings that lose least with the heartbeat interval of the group."""
    shortest_s = known.shortest_s
    bound_s = max(math.floor(10 * known.longest_s + 1e-6) / 10, shortest_s)
    ladder = tuple(
        sorted(
            {ms / 1000 for ms in LADDER_MS}
            | {known.session_s}
            | ({_whole_ms(bound_s)} if bound_s <= SESSIONS_S[1] else set())
        )
    )
    fitting = tuple(each for each in ladder if not _why_not(known, each))
    conflict = ""
    if not fitting:
        fitting = (_whole_ms(shortest_s) if shortest_s <= SESSIONS_S[1] else ladder[-1],)
        conflict = conflict_of(known, fitting[0])
    best = [_shortest([setting_cost(known, form, s) for s in fitting]) for form in known.forms]
    today = None
    if known.form in known.forms and known.session_s in fitting:
        today = setting_cost(known, known.form, known.session_s)
    chosen = _least_change(known, best, today)
    others = sorted((row for row in best if row.form != chosen.form), key=_order)
    return Choice(known, (chosen, *others), ladder, conflict)


def _today(known: KnownGroup) -> SettingCost:
    """Cost today's settings, or Kafka's defaults, whatever heartbeats are wished."""
    if known.is_new:
        known = replace(known, heartbeat_s=HEARTBEAT_S)
    return setting_cost(known, known.form, known.session_s)


def _shortest(rows: list[SettingCost]) -> SettingCost:
    """Find the shortest session, as `rows` are sorted, that loses hardly more than the best."""
    least = min(rows, key=_order)
    return next(row for row in rows if row.lost_s <= least.lost_s * (1 + _HARDLY) + 1e-3)


def _least_change(
    known: KnownGroup, best: list[SettingCost], today: SettingCost | None
) -> SettingCost:
    """Prefer, of those as good as the best, today's settings, or today's strategy."""
    least = min(best, key=_order)
    good = [row for row in best if is_as_good(row.lost_s, least.lost_s)]
    if today is not None and is_as_good(today.lost_s, least.lost_s):
        return today
    return min(good, key=lambda row: (row.form.strategy != known.strategy, _order(row)))


def _enough(known: KnownGroup, curve: tuple[CurvePoint, ...]) -> SettingCost | None:
    """Find the shortest safe session that few restarts outlive, with the better static form."""
    long = (p for p in curve if p.outlives <= FEW and not _too_short(known, p.session_s))
    point = next(long, None)
    forms = [form for form in known.forms if form.is_static]
    if point is None or not forms:
        return None
    return min((setting_cost(known, form, point.session_s) for form in forms), key=_order)


def _whole_ms(seconds: float) -> float:
    """Round down to whole ms, as a session is set."""
    return math.floor(seconds * 1000 + 1e-6) / 1000


def _order(row: SettingCost) -> tuple[float, float, float]:
    return round(row.lost_s, 3), round(row.week.rebalances, 3), row.session_s


def _point(known: KnownGroup, session_s: float) -> CurvePoint:
    return CurvePoint(
        session_s,
        outlives(known, session_s),
        detection_s(known, session_s) + known.resume_s,
        longest_death_s(known, session_s),
        _why_not(known, session_s),
        {form: setting_cost(known, form, session_s).lost_s for form in FORMS},
    )


def _why_not(known: KnownGroup, session_s: float) -> str:
    why_not = _too_short(known, session_s)
    longest_s = longest_death_s(known, session_s)
    if not why_not and known.gap_s is not None and longest_s > known.gap_s + 1e-9:
        why_not = f"longer than a gap of {known.gap_s:g} s"
    return why_not


def _too_short(known: KnownGroup, session_s: float) -> str:
    if session_s < SESSIONS_S[0]:
        return f"brokers allow {SESSIONS_S[0]:g} s or more by default"
    if session_s < BEATS * known.heartbeat_s:
        return f"shorter than {BEATS} heartbeats"
    silent_s = known.pause_s + known.heartbeat_s
    if session_s < silent_s:
        return f"shorter than the longest pause and a heartbeat, {silent_s:g} s (--longest-pause-s)"
    return ""


CLASS_NAMES = {"eager": "RangeAssignor", "cooperative": "CooperativeStickyAssignor"}
_SEEDS = 20


@dataclass(frozen=True, slots=True)
class Stand:
    """Settings of all members.  `offers`: "eager", "cooperative", or "both", which is eager."""

    is_static: bool
    offers: str
    session_s: float
    heartbeat_s: float

    @property
    def strategy(self) -> str:
        """Return the strategy by which such a group rebalances."""
        return "eager" if self.offers == BOTH else self.offers


@dataclass(frozen=True, slots=True)
class Bounce:
    """A deployment that gives all processes other settings; `cost`: an estimate."""

    old: Stand
    new: Stand
    cost: EventCost
    line: str


def stand_of(known: KnownGroup, setting: SettingCost) -> Stand:
    """Return the settings of members; eager ones offer both assignors where they do so today."""
    strategy = setting.form.strategy
    offers = BOTH if strategy == "eager" and known.offers_both else strategy
    return Stand(setting.is_static, offers, setting.session_s, setting.heartbeat_s)


def assignors_of(offers: str, library: ClientLibrary) -> str:
    """Return the line that sets the assignors; "" where the library's name of it is not known."""
    return library.assignors.get(offers, "")


def bounces(known: KnownGroup, old: Stand, new: Stand, short_s: float) -> list[Bounce]:
    """List the deployments from one to the other; `short_s`: the shortest session that is safe.

    From one assignor to another it takes two.  Where static members become dynamic, each restart
    waits for a session: that is made short before, if it pays.
    """
    stands = [old]
    if {old.offers, new.offers} == set(CLASS_NAMES):
        stands.append(_with(new, offers=BOTH))
    if new != stands[-1]:
        stands.append(new)
    way = [_bounce(known, *each) for each in pairwise(stands)]
    if old.is_static and not new.is_static and short_s < old.session_s:
        shorter = [old, _with(old, session_s=short_s), *stands[1:]]
        other = [_bounce(known, *each) for each in pairwise(shorter)]
        if lost_s(known, other) < lost_s(known, way):
            return other
    return way


def lost_s(known: KnownGroup, way: Sequence[Bounce]) -> float:
    """Add up the costs of deployments, in partition-seconds."""
    return sum(bounce.cost.lost_s(known.warmup_s) for bounce in way)


def _with(stand: Stand, offers: str | None = None, session_s: float | None = None) -> Stand:
    return Stand(
        stand.is_static,
        offers or stand.offers,
        session_s or stand.session_s,
        stand.heartbeat_s,
    )


def _bounce(known: KnownGroup, old: Stand, new: Stand) -> Bounce:
    known = replace(known, heartbeat_s=old.heartbeat_s)
    line = simulate_line(
        known,
        Form(old.is_static, old.strategy),
        old.session_s,
        "rolling-bounce",
        _SEEDS,
        _changes(old, new),
        offers_both=old.offers == BOTH,
    )
    return Bounce(old, new, _cost(known, old, new), line)


def _changes(old: Stand, new: Stand) -> list[str]:
    """List the differences as `fencepost simulate --set` takes them."""
    changes = []
    if new.is_static != old.is_static:
        changes.append(f"membership={'static' if new.is_static else 'dynamic'}")
    if new.offers != old.offers:
        changes.append(f"strategy={new.offers}")
    if new.session_s != old.session_s:
        changes.append(f"session_timeout_ms={1000 * new.session_s:.0f}")
    if new.heartbeat_s != old.heartbeat_s:
        changes.append(f"heartbeat_interval_ms={1000 * new.heartbeat_s:.0f}")
    return changes


def _cost(known: KnownGroup, old: Stand, new: Stand) -> EventCost:
    """Cost a deployment, half way through which the group has as many old as new processes."""
    of, times, is_static = deployment, 1, old.is_static
    if old.is_static and not new.is_static:  # the group knows nothing of the new ones: as crashes
        of, times, is_static = crash, known.waves, False
        known = replace(known, members=known.waves, at_a_time=1)
    both = [
        of(known, Form(is_static, strategy), old.session_s).times(times)
        for strategy in (old.strategy, new.strategy)
    ]
    cost = (both[0] + both[1]).times(0.5)
    if is_static and old.strategy != new.strategy:  # the first that offers one assignor alone
        cost += EventCost(1, 0, known.partitions * stopped_s(known))
    return cost


def way_there(advice: Advice) -> list[Bounce]:
    """List the deployments from today's settings to the advised; none if nothing changes."""
    return _way(advice, advice.today, advice.advised)


def way_back(advice: Advice) -> list[Bounce]:
    """List the deployments from the advised settings to those of comparison."""
    return _way(advice, advice.advised, advice.today)


def _way(advice: Advice, old: SettingCost, new: SettingCost) -> list[Bounce]:
    known = advice.request
    shortest_s = min(
        (point.session_s for point in advice.curve if not point.why_not),
        default=advice.advised.session_s,
    )
    return bounces(known, stand_of(known, old), stand_of(known, new), shortest_s)


def migration(advice: Advice) -> list[str]:
    """Describe the steps in order, their cost, and the way back; none where nothing changes."""
    there, back, known = way_there(advice), way_back(advice), advice.request
    words = []
    for number, bounce in enumerate(there, 1):
        which = f"Deployment {number} of {len(there)}" if len(there) > 1 else "One deployment"
        words.append(
            f"{which}: {bounce_words(bounce, known.client_library)}. It costs about "
            f"{bounce.cost.lost_s(known.warmup_s):,.0f} partition-seconds and "
            f"{bounce.cost.rebalances:.0f} rebalances."
        )
        if bounce.line:
            words.append(f"To see it: {bounce.line}")
    if there:
        words += _warnings(there)
        steps = "; then ".join(bounce_words(bounce, known.client_library) for bounce in back)
        words.append(
            f"Back, by {plural(len(back), 'deployment')}: {steps}. That costs about "
            f"{lost_s(known, back):,.0f} partition-seconds."
        )
    return words


def bounce_words(bounce: Bounce, library: ClientLibrary) -> str:
    """Describe the settings with which processes are started."""
    old, new = bounce.old, bounce.new
    changes = []
    if new.offers == BOTH != old.offers:
        changes.append(f"offer both assignors, {assignors_of(BOTH, library)}")
    elif new.offers != old.offers:
        gone = next(name for name in CLASS_NAMES if name != new.offers)
        changes.append(f"leave {CLASS_NAMES[gone]} out")
    if new.is_static != old.is_static:
        name = library.instance
        changes.append(f"set {name}" if new.is_static else f"remove {name}")
    if new.session_s != old.session_s:
        changes.append(f"set {library.session.format(f'{1000 * new.session_s:.0f}')}")
    if new.heartbeat_s != old.heartbeat_s:
        changes.append(f"set {library.heartbeat.format(f'{1000 * new.heartbeat_s:.0f}')}")
    return ", ".join(changes)


def _warnings(there: Sequence[Bounce]) -> list[str]:
    """List the warnings about steps that must not be left out."""
    old, new = there[0].old, there[-1].new
    words = []
    fails = "the first new process would fail with INCONSISTENT_GROUP_PROTOCOL"
    if (old.offers, new.offers) == (BOTH, "cooperative"):
        words.append(
            "Members that offer both assignors, as Java's consumer does by default since 3.0, "
            "leave RangeAssignor out in one deployment. Members with RangeAssignor alone need two, "
            f"and the first offers both: in one {fails} (--strategy eager)."
        )
    elif {old.offers, new.offers} == set(CLASS_NAMES):
        words.append(
            f"Start the second deployment when the first is over: in one {fails}. Java's consumer "
            "offers both by default since 3.0: if yours do, the second is enough (--strategy both)."
        )
    if old.is_static and not new.is_static:
        words.append(
            "An old static process sends no LeaveGroup when it stops: each restart of that "
            "deployment waits for its session, unless an administrator removes its member "
            "(removeMembersFromConsumerGroup)."
        )
    return words
