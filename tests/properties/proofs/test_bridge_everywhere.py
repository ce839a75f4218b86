"""What proofs speak of is what happens: in exhaustive runs, and in every recorded trace.

Each step that the model takes there is one of the abstract steps that the proofs are about.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from fencepost.conformance.cases import ENTRIES
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.targets.target_registry import TargetOptions, find_target
from fencepost.model.classic.group import Group
from fencepost.model.machine import Machine
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.model.work import Incoming, Outcome, Span, Timer
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.proofs.bridge import abstract_step_of
from fencepost.properties.worlds.scope import find_check_scope
from fencepost.properties.worlds.views import Event, Failover, StepView
from fencepost.properties.worlds.world import Worlds


class Bridge:
    """Looks at steps; `wrong`: what was said against one."""

    def __init__(self) -> None:
        self.steps = 0
        self.wrong: list[str] = []

    def judge(self, view: StepView) -> tuple[Iterable[str], Iterable[str]]:
        self.steps += 1
        said = abstract_step_of(view)
        if said is not None:
            self.wrong.append(said)
        return (), ()


@pytest.mark.parametrize("revision", ["kafka-4", "kip-345"])
@pytest.mark.parametrize("question", ["zombie", "two processes", "failover"])
def test_every_step_of_an_exhaustive_run_is_spoken_of(revision: str, question: str) -> None:
    bridge = Bridge()
    worlds = Worlds(find_revision(revision), find_check_scope(question).scope, bridge.judge)

    found = explore(worlds)

    assert found.complete
    assert bridge.steps > 100
    assert bridge.wrong == []


def test_a_model_that_does_otherwise_is_seen() -> None:
    bridge = Bridge()
    mutant = find_revision("mutant:kafka-8715")  # hands out another id than the table says

    explore(Worlds(mutant, find_check_scope("two processes").scope, bridge.judge))

    assert bridge.wrong


async def test_every_step_behind_a_recorded_trace_is_spoken_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The target is the model, and the judge follows it: both take their steps here."""
    bridge = Bridge()
    rules = {rule.id: rule for _, rule in KAFKA_4.rules()}

    def look(before: Group | None, event: Event, outcomes: tuple[Outcome, ...]) -> None:
        for outcome in outcomes:
            fired = tuple(rules[r] for r in outcome.rules)
            bridge.judge(StepView(before, event, outcome.group, outcome.emissions, fired))

    handle, expire, failover = Machine.handle, Machine.expire, Machine.failover

    def handling(
        self: Machine, group: Group | None, request: Incoming, span: Span, *more: Any, **named: Any
    ) -> tuple[Outcome, ...]:
        outcomes = handle(self, group, request, span, *more, **named)
        look(group, request, outcomes)
        return outcomes

    def expiring(self: Machine, group: Group, timer: Timer, span: Span) -> tuple[Outcome, ...]:
        outcomes = expire(self, group, timer, span)
        look(group, timer, outcomes)
        return outcomes

    def failing(self: Machine, group: Group | None, span: Span) -> tuple[Outcome, ...]:
        outcomes = failover(self, group, span)
        look(group, Failover(), outcomes)
        return outcomes

    monkeypatch.setattr(Machine, "handle", handling)
    monkeypatch.setattr(Machine, "expire", expiring)
    monkeypatch.setattr(Machine, "failover", failing)
    certificate = await certify(
        find_target("model:kafka-4", TargetOptions()), KAFKA_4, ENTRIES, Options()
    )

    assert certificate.results
    assert bridge.steps > 4000
    assert bridge.wrong == []
