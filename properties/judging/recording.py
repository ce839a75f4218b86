"""The recording of a case: all that is left of a run, by which it is judged and explained."""

from __future__ import annotations

from dataclasses import dataclass, field

from fencepost.model.coordinator import Config
from fencepost.model.history.events import (
    Disconnected,
    Event,
    Handled,
    Restarted,
    Sent,
    TopicsDeleted,
)
from fencepost.model.plans.plan import Case, Times
from fencepost.properties.departures.attribution import Attribution


@dataclass(slots=True)
class Recording:
    """All that is left of a run of a case: the evidence, and the names that make it readable."""

    case: Case
    config: Config
    clock: str
    lag_ms: int
    patience_ms: int
    history: list[Event] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    senders: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    stopped: str | None = None
    moved: bool = False
    times: Times | None = None
    """What the named times of the plan were."""
    completed: bool = False
    """Whether each step of the plan was taken, and what comes after the last was waited for."""
    began: float = 0.0
    ended: float = 0.0
    written_for_ms: int = 0
    measured_ms: int = 0
    """The lag that the control showed while it was recorded."""
    coordinator: str = ""
    """Which one was tested, as in a departure's `of`; "": unknown."""
    calm_ms: int = 0
    """The lag of the target before the cases began, or of a server that was just restarted."""
    settled: list[int] = field(default_factory=list)
    """How many requests had been sent whenever the plan let them be handled before it went on."""
    step_ends: list[int] = field(default_factory=list)
    """When each step of the plan that was begun was over."""
    attribution: Attribution | None = field(default=None, init=False, repr=False, compare=False)
    """What is known of its failure, once it was looked for."""

    def in_order(self) -> list[Event]:
        """The history, if each request was handled when the plan relies on it."""
        found: list[Event] = []
        left, sent = list(self.settled), 0
        for event in self.history:
            is_told = isinstance(event, Sent | Restarted | Disconnected | TopicsDeleted)
            if is_told and left and left[0] == sent:
                left = [count for count in left if count > sent]
                at_ms = event.begun_ms if isinstance(event, Restarted) else event.at_ms
                found.append(Handled(at_ms))
            sent += isinstance(event, Sent)
            found.append(event)
        return found

    def gap(self) -> str | None:
        """What is missing from the plan in this recording; None if it is complete."""
        if self.completed:
            return None
        if self.stopped is not None:
            return self.stopped
        steps, begun = len(self.case.steps), len(self.step_ends)
        return f"the run broke off in step {begun} of {steps}, so it shows nothing of the rest"
