"""An answer that came too early: until when it was to wait, and which rule was broken."""

from __future__ import annotations

from msgspec.structs import replace
from support.told import Told
from support.world import D

from fencepost.model.classic.group import Group
from fencepost.model.history.events import Answered, Event, Passed
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.table import Level
from fencepost.model.work import Timer
from fencepost.properties.oracle.fingerprint import broken_rule
from fencepost.properties.oracle.oracle import phase_timer
from fencepost.properties.oracle.verdict import Violation


def broken(world: Told, request_id: str, at_ms: int) -> Violation:
    """What is wrong if the answer to a request had come at another time."""
    before: list[Event] = []
    for event in world.history:
        if isinstance(event, Answered) and event.answer.id == request_id:
            break
        if isinstance(event, Passed) and event.at_ms >= at_ms:
            break
        before.append(event)
    right = next(e for e in world.history if isinstance(e, Answered) and e.answer.id == request_id)
    early = Answered(replace(right.answer, at_ms=at_ms))
    violation = world.judged([*before, early]).verdict().violation
    assert violation is not None
    return violation


def rule_of(violation: Violation) -> str:
    rule = broken_rule(violation, KAFKA_4)
    assert rule is not None
    return rule.id


def test_an_initial_delay_that_ends_too_soon() -> None:
    world = Told()
    reply = world.join("A")
    world.wait(D)
    found = broken(world, reply._id, D - 1)
    assert rule_of(found) == "JOIN-PHASE-WAIT"
    assert found.wait is not None
    assert (found.wait.until_ms, found.wait.unless) == (D, "")
    assert found.level is Level.MUST


def test_an_initial_delay_that_is_not_extended() -> None:
    world = Told()
    first = world.join("A")
    world.wait(1_000)
    world.join("B")
    world.wait(2 * D)
    found = broken(world, first._id, D)
    assert rule_of(found) == "JOIN-PHASE-DELAY-EXTENDED"
    assert found.wait is not None
    assert found.wait.until_ms == 2 * D
    assert found.level is Level.SHOULD


def test_a_group_without_a_phase_has_no_timer_of_one() -> None:
    assert phase_timer(Group(timers=(Timer("session", "a", 1, 1),))) is None


def test_what_began_a_timer_anew_is_forgotten_with_the_timer() -> None:
    """In a long search many delays are extended, and only the last one may still run."""
    world = Told()
    joins = []
    for _ in range(6):
        world.leave(("", "A"), ("", "B"))
        joins.append(world.join("A"))
        world.wait(1_000)
        world.join("B")
        world.wait(2 * D)
    oracle = world.judged()
    assert oracle.verdict().violation is None
    assert len(oracle._search.renewed) <= 1
    found = broken(world, joins[-1]._id, world.now - 1_000 - D)
    assert rule_of(found) == "JOIN-PHASE-DELAY-EXTENDED"
