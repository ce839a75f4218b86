"""What a week costs a group that is set so: each event, and the line that simulates it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass

from fencepost.conformance.advise.arithmetic import (
    EventCost,
    crash,
    death,
    deployment,
)
from fencepost.conformance.advise.known import Form, KnownGroup
from fencepost.conformance.simulator.durations import Spread
from fencepost.conformance.simulator.scenario import RESUME_S

SEEDS = 20
"""Of the lines that reproduce a figure."""
_EVENTS: dict[str, tuple[str, Callable[[KnownGroup, Form, float], EventCost]]] = {
    "deployment": ("rolling-bounce", deployment),
    "crash": ("crash", crash),
    "death": ("crash-for-good", death),
}


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


def setting_cost(known: KnownGroup, form: Form, session_s: float) -> SettingCost:
    """What a form costs at a session timeout."""
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
    if known.resume_s != RESUME_S:
        words.append(f"--resume-s {known.resume_s:g}")
    return " ".join([*words, f"--seeds {SEEDS}"])


def restart_option(restart_s: float | Spread) -> str:
    """A duration as the options of `simulate` and `advise` say it."""
    if not isinstance(restart_s, Spread):
        return f"--restart-s {restart_s:g}"
    if restart_s.values:
        return "--restart-s " + shlex.quote(",".join(f"{each:g}" for each in restart_s.values))
    return f"--restart-s {restart_s.median:g} --restart-p95-s {restart_s.p95:g}"
