"""A trace becomes a run again: who took part, and what each did."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from support.places import ROOT

from fencepost.model import KAFKA_4
from fencepost.model.revisions import revisions
from fencepost.properties.checking.stepping import JudgedWorlds, Stepper
from fencepost.properties.worlds.scope import CHECK_SCOPES, NamedScope, Scope
from fencepost.traces.files.retrace import NotSteppableError, retrace
from fencepost.traces.files.run_trace import run_trace
from fencepost.traces.files.trace_file import TraceFile

VARIOUS = (
    *CHECK_SCOPES,
    NamedScope(
        "patience",
        "clients with old versions, different timeouts and an initial delay",
        Scope(clients=4, instances=2, dynamic=2, old=1, uneven=True, delay_ticks=1),
    ),
    NamedScope("offers", "three subscriptions", Scope(offers=3, acts=("join", "change", "sync"))),
)


def trace_of(stepper: Stepper) -> TraceFile:
    """The trace as its file has it."""
    trace = run_trace(stepper.worlds, stepper.run())
    return TraceFile.from_json(json.loads(trace.text()))


def walked(scope: Scope, steps: int, seed: int) -> Stepper:
    stepper, chance = Stepper(JudgedWorlds(KAFKA_4, scope, ())), random.Random(seed)
    for _ in range(steps):
        if stepper.choices():
            stepper.take(chance.randint(1, len(stepper.choices())))
    return stepper


@pytest.mark.parametrize("named", VARIOUS, ids=lambda named: named.name)
def test_the_run_of_any_world_is_found_again(named: NamedScope) -> None:
    walk = walked(named.scope, 14, seed=2)
    found = retrace(trace_of(walk), KAFKA_4, ())

    assert found.missing is None
    assert found.stepper.run().events == walk.run().events
    used = {turn.act.kind for turn in walk.run().turns}
    assert used <= set(found.scope.acts)
    assert "heartbeat" in found.scope.acts


def test_what_may_happen_next_can_be_named() -> None:
    found = retrace(trace_of(walked(Scope(clients=1), 1, seed=0)), KAFKA_4, (), ("leave",))
    assert found.scope.acts == ("join", "leave")


def test_another_revision_goes_on_where_its_answers_begin_to_differ() -> None:
    walk = Stepper(JudgedWorlds(KAFKA_4, Scope(clients=2), ()))
    walk.take(1)  # c1 joins
    walk.take(2)  # it syncs
    walk.take(6)  # c2 joins with its instance
    before = sum(len(turn.events) for turn in walk.run().turns[:2])
    found = retrace(trace_of(walk), revisions.find("comment-table-1"), ())

    assert found.missing == before + 1
    assert found.stepper.run().turns == walk.run().turns[:2]


def test_a_trace_that_is_no_run_of_worlds_is_refused_with_the_reason() -> None:
    recorded = TraceFile.read(ROOT / "docs" / "findings" / "parked-sync.json")
    with pytest.raises(NotSteppableError, match="no connection of a client of these worlds"):
        retrace(recorded, KAFKA_4, ())
    run = trace_of(walked(Scope(clients=1), 1, seed=0))
    late = replace(run, events=run.events[1:])
    with pytest.raises(NotSteppableError, match="its first step is none"):
        retrace(late, KAFKA_4, ())
