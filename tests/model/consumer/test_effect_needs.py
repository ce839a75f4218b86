"""What a step needs is what the machine needs: short orders of steps, done and compared."""

from __future__ import annotations

from itertools import product

import pytest
from support.consumer_world import CONFIG, ConsumerWorld

from fencepost.model.consumer.consumer_work import ConsumerWork
from fencepost.model.consumer.effect_needs import NEEDS, STEPS, TABLES
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.features import join_points, removal_point
from fencepost.model.consumer.vocabulary import JOIN_TABLE, REMOVAL_TABLE
from fencepost.model.machine import Machine
from fencepost.model.messages.consumer_messages import ConsumerGroupHeartbeatRequest
from fencepost.model.messages.messages import LeaveGroupRequest
from fencepost.model.messages.shapes import Message
from fencepost.model.revisions.consumer_releases import CONSUMER_4_3
from fencepost.model.table.expr import ALWAYS, Point
from fencepost.model.table.shared_features import Availability
from fencepost.model.table.step_soundness import unmet_needs
from fencepost.model.table.table import Rule, TableError
from fencepost.model.work import Incoming, Span

CALLERS = [("m1", "A"), ("m1", None), ("m2", "A"), ("x", "A"), ("x", "C"), ("x", None), ("m1", "C")]
ANYWHERE = {Do.REMOVE_MEMBER, Do.BUMP_EPOCH}
JOINS = [do for do in Do if do in TABLES[JOIN_TABLE] | ANYWHERE]
REMOVALS = [do for do in Do if do in TABLES[REMOVAL_TABLE] | ANYWHERE]


def is_done(machine: Machine, work: ConsumerWork, effect: tuple[Do, ...]) -> bool:
    try:
        machine.perform(work, Rule("TRIED", ALWAYS, effect))
    except TableError:
        return False
    return True


def compare(
    table: str, steps: list[Do], point: Point, request: Message, caller: tuple[str, str | None]
) -> None:
    world = ConsumerWorld("consumer-4.3")
    world.play("join m1 A; join m2 B; settle")
    machine = Machine(CONSUMER_4_3, {**CONFIG, "num.partitions": 1})
    features = CONSUMER_4_3.tables[table].features
    places = {id(feature): i for i, feature in enumerate(features)}
    incoming = Incoming("1", "c", request.API, 1, request, "fresh")
    for effect in product(steps, steps):
        work = ConsumerWork(world.there(), Span(0, 0), incoming)
        work.caller, work.instance = caller
        work.count = lambda _: 1
        unmet = list(unmet_needs(effect, point, places, STEPS))
        assert is_done(machine, work, effect) is not bool(unmet), (caller, effect, unmet)


@pytest.mark.parametrize("caller", CALLERS, ids=str)
def test_a_join_can_do_the_steps_whose_needs_are_met(caller: tuple[str, str | None]) -> None:
    world = ConsumerWorld("consumer-4.3")
    world.play("join m1 A; join m2 B; settle")
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=caller[0],
        member_epoch=0,
        instance_id=caller[1],
        rebalance_timeout_ms=1,
        subscribed_topic_names=("t",),
        topic_partitions=(),
    )
    (point,) = join_points(world.there(), request, 1, world.machine.config, Availability.HERE)
    compare(JOIN_TABLE, JOINS, point, request, caller)


@pytest.mark.parametrize("caller", [*CALLERS, ("", "A")], ids=str)
def test_a_removal_can_do_the_steps_whose_needs_are_met(caller: tuple[str, str | None]) -> None:
    world = ConsumerWorld("consumer-4.3")
    world.play("join m1 A; join m2 B; settle")
    point = removal_point(world.there(), *caller)
    compare(REMOVAL_TABLE, REMOVALS, point, LeaveGroupRequest(group_id="g"), caller)


def test_needs_are_of_steps_that_some_table_has() -> None:
    homes = set().union(*TABLES.values()) | {Do.REMOVE_MEMBER}
    assert set(NEEDS) <= homes
