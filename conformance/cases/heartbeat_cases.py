"""Heartbeat: members that are alive, fenced, or in a rebalance, in every state."""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.script import NOBODY, Script
from fencepost.model.plans.steps import GenerationOf, IdOf

CASES = Registry()
case = CASES.case


@case("HEARTBEAT-GROUP-ID-INVALID")
def no_group_name(s: Script) -> None:
    """A Heartbeat has the group id "": it is refused."""
    s.beat("a", group="", member_id=NOBODY, generation=1)


@case("HEARTBEAT-GROUP-ABSENT")
def no_group(s: Script) -> None:
    """A Heartbeat names a group that doesn't exist: its sender is unknown, static or not."""
    s.beat("a", "A1", member_id=NOBODY, generation=1)


@case("HEARTBEAT-GROUP-ABSENT")
def no_group_for_old_heartbeats(s: Script) -> None:
    """A Heartbeat below version 3 names a group that doesn't exist: its sender is unknown."""
    s.beat("a", member_id=NOBODY, generation=1, at_most=2)


@case("HEARTBEAT-INSTANCE-UNMAPPED", "HEARTBEAT-STABLE")
def instance_that_nobody_holds(s: Script) -> None:
    """A member sends Heartbeat with an unmapped instance: it is unknown (PR 9958)."""
    s.stable("a", "B1")
    s.beat("a", "B1", instance="X")
    s.beat("a", instance="X", generation=GenerationOf("a", plus=4))
    s.beat("a")


@case("HEARTBEAT-INSTANCE-FENCED", "HEARTBEAT-STABLE")
def instance_of_another(s: Script) -> None:
    """A wrong id sends Heartbeat with a mapped instance: it is fenced in any generation."""
    s.stable("A1", "b")
    s.beat("b", instance="A")
    s.beat("b", instance="A", member_id=NOBODY)
    s.beat("b", instance="A", member_id="")
    s.beat("b", instance="A", generation=GenerationOf("b", plus=4))
    s.beat("A1", "b")


@case("HEARTBEAT-INSTANCE-FENCED", "HEARTBEAT-PREPARING")
def zombie_in_every_state(s: Script) -> None:
    """A zombie sends Heartbeat in a stable group, a join phase and a sync phase: it is fenced."""
    s.stable("A1", "B1")
    s.join("B2", wait=True)
    s.beat("B1")
    s.enter("n", settle=True)
    s.beat("B1", "B2")
    s.join("A1", "B2", wait=("A1", "B2", "n"))
    s.beat("B1", "B2")


@case("HEARTBEAT-UNKNOWN-MEMBER", "HEARTBEAT-STABLE", "JOIN-DYNAMIC-EMPTY")
def unknown_members(s: Script) -> None:
    """An unknown, empty or pending id sends Heartbeat: it is unknown in any generation."""
    s.stable("a")
    s.beat("a", member_id=NOBODY)
    s.beat("a", member_id="")
    s.beat("a", member_id=NOBODY, generation=GenerationOf("a", plus=1))
    s.join("n", member_id="", wait=True)
    s.beat("a", member_id=IdOf("n"))
    s.beat("n", generation=-1)
    s.beat("a")


@case("HEARTBEAT-UNKNOWN-MEMBER")
def empty_group_has_no_members(s: Script) -> None:
    """A former member sends Heartbeat to an Empty group: it is unknown."""
    s.stable("A1", "b")
    s.leave("A1")
    s.leave("b")
    s.beat("b")
    s.beat("A1", instance=None)


@case("HEARTBEAT-ILLEGAL-GENERATION", "HEARTBEAT-STABLE")
def wrong_generation(s: Script) -> None:
    """A member sends Heartbeat with another generation: it is refused, and stays a member."""
    s.stable("a", "B1")
    s.beat("a", generation=GenerationOf("a", plus=-1))
    s.beat("a", generation=GenerationOf("a", plus=1))
    s.beat("a", generation=-1)
    s.beat("B1", generation=GenerationOf("B1", plus=1))
    s.beat("a", "B1")


@case("HEARTBEAT-ILLEGAL-GENERATION", "HEARTBEAT-PREPARING")
def wrong_generation_while_rebalancing(s: Script) -> None:
    """A member sends Heartbeat with another generation in the join phase: ILLEGAL_GENERATION."""
    s.preparing("a")
    s.beat("a", generation=GenerationOf("a", plus=1))
    s.beat("a", generation=-1)
    s.beat("a")


@case("HEARTBEAT-PREPARING")
def rebalance_is_announced(s: Script) -> None:
    """Members send Heartbeat in the join phase: each answer is REBALANCE_IN_PROGRESS."""
    s.preparing("a", "B1")
    s.beat("a", "B1", "B1")
    s.join("a", "B1", wait=("a", "B1", "n"))


@case("HEARTBEAT-COMPLETING")
def between_join_and_sync(s: Script) -> None:
    """Members send Heartbeat in the sync phase: each answer is NONE."""
    s.completing("a", "b", "C1")
    s.beat("a", "b", "C1")
    s.beat("b", generation=GenerationOf("b", plus=-1))


@case("HEARTBEAT-STABLE")
def in_a_stable_group(s: Script) -> None:
    """Members send Heartbeat in a stable group: each answer is NONE."""
    s.stable("a", "B1")
    s.beat("a", "B1", "a")


@case("HEARTBEAT-STABLE")
def static_member_without_its_instance(s: Script) -> None:
    """A static member sends Heartbeat with its member id alone: NONE, and it stays static."""
    s.stable("A1", "B1")
    s.beat("B1", instance=None)
    s.join("B2", wait=True)
    s.beat("B1", instance=None)
    s.beat("B1")


@case("HEARTBEAT-STABLE", "HEARTBEAT-PREPARING", apis=(("Heartbeat", 2),))
def legacy_heartbeats(s: Script) -> None:
    """A member sends Heartbeat in version 2 or below: its member id alone is checked."""
    s.stable("a", "b")
    s.beat("a", version=0)
    s.beat("b", version=2)
    s.enter("n", settle=True)
    s.beat("a", version=1)
