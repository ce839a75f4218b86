"""Heartbeat: members that are alive, fenced, or in a rebalance, in every state."""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.script import NOBODY, Script
from fencepost.model.plans.steps import GenerationOf, IdOf

CASES = Registry()
case = CASES.case


@case("HEARTBEAT-GROUP-ID-INVALID")
def no_group_name(s: Script) -> None:
    """A group id of "" is refused."""
    s.beat("a", group="", member_id=NOBODY, generation=1)


@case("HEARTBEAT-GROUP-ABSENT")
def no_group(s: Script) -> None:
    """In a group that doesn't exist nobody is a member, with an instance or without."""
    s.beat("a", "A1", member_id=NOBODY, generation=1)


@case("HEARTBEAT-GROUP-ABSENT")
def no_group_for_old_heartbeats(s: Script) -> None:
    """The same for heartbeats."""
    s.beat("a", member_id=NOBODY, generation=1, at_most=2)


@case("HEARTBEAT-INSTANCE-UNMAPPED", "HEARTBEAT-STABLE")
def instance_that_nobody_holds(s: Script) -> None:
    """A member that speaks for an instance without a holder is unknown (PR 9958)."""
    s.stable("a", "B1")
    s.beat("a", "B1", instance="X")
    s.beat("a", instance="X", generation=GenerationOf("a", plus=4))
    s.beat("a")


@case("HEARTBEAT-INSTANCE-FENCED", "HEARTBEAT-STABLE")
def instance_of_another(s: Script) -> None:
    """A wrong or unknown id with a held instance is fenced, whatever generation it names."""
    s.stable("A1", "b")
    s.beat("b", instance="A")
    s.beat("b", instance="A", member_id=NOBODY)
    s.beat("b", instance="A", member_id="")
    s.beat("b", instance="A", generation=GenerationOf("b", plus=4))
    s.beat("A1", "b")


@case("HEARTBEAT-INSTANCE-FENCED", "HEARTBEAT-PREPARING")
def zombie_in_every_state(s: Script) -> None:
    """A replaced process is fenced in a stable group, while it rebalances and before it syncs."""
    s.stable("A1", "B1")
    s.join("B2", wait=True)
    s.beat("B1")
    s.enter("n", settle=True)
    s.beat("B1", "B2")
    s.join("A1", "B2", wait=("A1", "B2", "n"))
    s.beat("B1", "B2")


@case("HEARTBEAT-UNKNOWN-MEMBER", "HEARTBEAT-STABLE", "JOIN-DYNAMIC-EMPTY")
def unknown_members(s: Script) -> None:
    """Unknown, empty and pending ids are of no member, whatever generation they name."""
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
    """In an Empty group nobody is a member."""
    s.stable("A1", "b")
    s.leave("A1")
    s.leave("b")
    s.beat("b")
    s.beat("A1", instance=None)


@case("HEARTBEAT-ILLEGAL-GENERATION", "HEARTBEAT-STABLE")
def wrong_generation(s: Script) -> None:
    """A member that speaks of another generation is refused, but stays a member."""
    s.stable("a", "B1")
    s.beat("a", generation=GenerationOf("a", plus=-1))
    s.beat("a", generation=GenerationOf("a", plus=1))
    s.beat("a", generation=-1)
    s.beat("B1", generation=GenerationOf("B1", plus=1))
    s.beat("a", "B1")


@case("HEARTBEAT-ILLEGAL-GENERATION", "HEARTBEAT-PREPARING")
def wrong_generation_while_rebalancing(s: Script) -> None:
    """While a rebalance is prepared a wrong generation still comes first."""
    s.preparing("a")
    s.beat("a", generation=GenerationOf("a", plus=1))
    s.beat("a", generation=-1)
    s.beat("a")


@case("HEARTBEAT-PREPARING")
def rebalance_is_announced(s: Script) -> None:
    """While a rebalance is prepared every member is told so, static or not, each time it asks."""
    s.preparing("a", "B1")
    s.beat("a", "B1", "B1")
    s.join("a", "B1", wait=("a", "B1", "n"))


@case("HEARTBEAT-COMPLETING")
def between_join_and_sync(s: Script) -> None:
    """Between join and sync a member of the generation is alive: leader, follower, static."""
    s.completing("a", "b", "C1")
    s.beat("a", "b", "C1")
    s.beat("b", generation=GenerationOf("b", plus=-1))


@case("HEARTBEAT-STABLE")
def in_a_stable_group(s: Script) -> None:
    """In a stable group everybody's heartbeat is answered, and again."""
    s.stable("a", "B1")
    s.beat("a", "B1", "a")


@case("HEARTBEAT-STABLE")
def static_member_without_its_instance(s: Script) -> None:
    """A static member may heartbeat by its id alone, and stays static."""
    s.stable("A1", "B1")
    s.beat("B1", instance=None)
    s.join("B2", wait=True)
    s.beat("B1", instance=None)
    s.beat("B1")


@case("HEARTBEAT-STABLE", "HEARTBEAT-PREPARING", apis=(("Heartbeat", 2),))
def legacy_heartbeats(s: Script) -> None:
    """Up to version 2 a heartbeat has no instance; the id decides alone."""
    s.stable("a", "b")
    s.beat("a", version=0)
    s.beat("b", version=2)
    s.enter("n", settle=True)
    s.beat("a", version=1)
