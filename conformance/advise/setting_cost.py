"""What a week costs a group that is set so: each event, and the line that simulates it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fencepost.conformance.advise.arithmetic import EventCost, crash, death, deployment
from fencepost.conformance.advise.known_facts import BOTH, HEARTBEAT_S, SESSIONS_S, Form, KnownGroup
from fencepost.conformance.simulate.deployment_scenario import RESUME_S
from fencepost.conformance.simulate.durations import Spread

_EVENTS: dict[str, tuple[str, int, Callable[[KnownGroup, Form, float], EventCost]]] = {
    "deployment": ("rolling-bounce", 20, deployment),
    "crash": ("crash", 100, crash),
    "death": ("crash-for-good", 100, death),
}
"""The scenario of each, how many seeds bring it near the figure, and the arithmetic."""


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event, how often it happens in a week, its cost, and the line that simulates it."""

    event: str
    per_week: float
    cost: EventCost
    line: str


@dataclass(frozen=True, slots=True)
class SettingCost:
    """A form at a session timeout, and what its week costs; `known`: with its heartbeats."""

    known: KnownGroup
    form: Form
    session_s: float
    rows: tuple[EventRow, ...]

    @property
    def week(self) -> EventCost:
        """All events of a week."""
        return sum((row.cost.times(row.per_week) for row in self.rows), EventCost())

    @property
    def lost_s(self) -> float:
        """What a week loses, in partition-seconds, with the time to warm up."""
        return self.week.lost_s(self.known.warmup_s)

    @property
    def heartbeat_s(self) -> float:
        """The heartbeat interval."""
        return self.known.heartbeat_s

    def is_set_as(self, other: SettingCost) -> bool:
        """Whether nothing is set in another way."""
        return (self.form, self.session_s, self.heartbeat_s) == (
            other.form,
            other.session_s,
            other.heartbeat_s,
        )

    @property
    def is_static(self) -> bool:
        """Whether members are static."""
        return self.form.is_static


def setting_cost(known: KnownGroup, form: Form, session_s: float) -> SettingCost:
    """What a form costs at a session timeout."""
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
    """The line that simulates an event; "" where brokers don't allow the session by default.

    `changes`: what the processes are set to that are started, such as "strategy=cooperative".
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
    """A duration as the options of `simulate` and `advise` say it."""
    if not isinstance(restart_s, Spread):
        return f"--restart-s {restart_s:g}"
    if restart_s.values:
        return "--restart-s " + shlex.quote(",".join(f"{each:g}" for each in restart_s.values))
    return f"--restart-s {restart_s.median:g} --restart-p95-s {restart_s.p95:g}"
