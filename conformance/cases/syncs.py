"""SyncGroup: assignments from the leader to all members, and refusals."""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.script import NOBODY, Script
from fencepost.model.plans.steps import GenerationOf, IdOf

CASES = Registry()
case = CASES.case

_V5 = (("SyncGroup", 5),)


@case("SYNC-PROTOCOL-NULL", apis=_V5)
def protocol_must_be_named(s: Script) -> None:
    """A SyncGroup v5 lacks the protocol type or name: it is refused."""
    s.completing("a")
    s.sync("a", protocol_type=None, version=5, wait=True)
    s.sync("a", protocol_name=None, version=5, wait=True)
    s.synced("a")


@case("SYNC-PROTOCOL-NULL", apis=_V5)
def protocol_is_looked_at_before_the_group(s: Script) -> None:
    """A SyncGroup lacks protocol and group id: the protocol is checked first."""
    s.sync("a", group="", protocol_type=None, protocol_name=None, version=5, wait=True)


@case("SYNC-GROUP-ID-INVALID")
def no_group_name(s: Script) -> None:
    """A SyncGroup has the group id "": it is refused."""
    s.stable("a")
    s.sync("a", group="", wait=True)


@case("SYNC-GROUP-ABSENT")
def no_group(s: Script) -> None:
    """A SyncGroup names a group that doesn't exist: its sender is unknown, static or not."""
    s.sync("a", "A1", member_id=NOBODY, generation=1, at_most=4, wait=True)


@case("SYNC-GROUP-ABSENT")
def no_group_in_old_versions(s: Script) -> None:
    """A SyncGroup below version 3 names a group that doesn't exist: its sender is unknown."""
    s.sync("a", member_id=NOBODY, generation=1, at_most=2, wait=True)


@case("SYNC-INSTANCE-UNMAPPED")
def instance_that_nobody_holds(s: Script) -> None:
    """A member syncs with an unmapped instance: it is unknown (PR 9958)."""
    s.completing("a")
    s.sync("a", instance="X", wait=True)
    s.sync("a", instance="X", generation=GenerationOf("a", plus=3), wait=True)
    s.synced("a")


@case("SYNC-INSTANCE-FENCED", "SYNC-COMPLETING-LEADER")
def fenced_before_anything_else(s: Script) -> None:
    """A wrong id syncs with a mapped instance: it is fenced in any generation."""
    s.completing("A1", "b")
    s.sync("b", instance="A", wait=True)
    s.sync("b", instance="A", member_id=NOBODY, wait=True)
    s.sync("b", instance="A", generation=GenerationOf("b", plus=5), wait=True)
    s.synced("A1", "b")


@case("SYNC-UNKNOWN-MEMBER")
def unknown_members(s: Script) -> None:
    """An unknown, empty or pending id syncs: it is unknown in any generation."""
    s.stable("a")
    s.sync("a", member_id=NOBODY, wait=True)
    s.sync("a", member_id="", wait=True)
    s.sync("a", member_id=NOBODY, generation=GenerationOf("a", plus=1), wait=True)
    s.join("n", member_id="", wait=True)
    s.sync("a", member_id=IdOf("n"), wait=True)


@case("SYNC-UNKNOWN-MEMBER", "LEAVE-MEMBER")
def member_that_left(s: Script) -> None:
    """A member that left an Empty group syncs: it is unknown."""
    s.stable("a")
    s.leave("a")
    s.sync("a", wait=True)


@case("SYNC-ILLEGAL-GENERATION", "SYNC-COMPLETING-LEADER")
def wrong_generation_of_a_leader(s: Script) -> None:
    """The leader assigns for another generation: its SyncGroup is refused, and not stored."""
    s.completing("a", "b")
    s.sync("a", generation=GenerationOf("a", plus=1), assign=("a",), wait=True)
    s.sync("a", generation=GenerationOf("a", plus=-1), assign=("a",), wait=True)
    s.sync("a", generation=-1, wait=True)
    s.synced("a", "b")


@case("SYNC-ILLEGAL-GENERATION")
def wrong_generation_in_a_stable_group(s: Script) -> None:
    """A member of a stable group syncs for another generation: it is refused."""
    s.stable("A1")
    s.sync("A1", generation=GenerationOf("A1", plus=1), wait=True)
    s.sync("A1", generation=-1, wait=True)


@case("SYNC-PROTOCOL-MISMATCH", "SYNC-COMPLETING-LEADER", apis=_V5)
def another_protocol(s: Script) -> None:
    """A SyncGroup names another protocol type or name: it is refused."""
    s.completing("a", "b")
    s.sync("a", protocol_name="roundrobin", version=5, wait=True)
    s.sync("b", protocol_type="connect", version=5, wait=True)
    s.synced("a", "b")


@case("SYNC-PROTOCOL-MISMATCH", apis=_V5)
def another_protocol_in_a_stable_group(s: Script) -> None:
    """A SyncGroup names another protocol in a stable group: it is refused."""
    s.stable("a")
    s.sync("a", protocol_name="roundrobin", version=5, wait=True)
    s.sync("a", protocol_type="connect", version=5, wait=True)


@case("SYNC-PREPARING")
def sync_while_a_rebalance_is_prepared(s: Script) -> None:
    """A member syncs in the join phase: the answer is REBALANCE_IN_PROGRESS."""
    s.preparing("a", "B1")
    s.sync("a", "B1", wait=True)
    s.join("a", "B1", wait=("a", "B1", "n"))


@case("SYNC-COMPLETING-FOLLOWER", "SYNC-COMPLETING-LEADER")
def followers_wait_for_the_leader(s: Script) -> None:
    """The leader syncs: each parked follower gets its own assignment."""
    s.completing("a", "b", "C1")
    s.sync("b", "C1")
    s.pause()
    s.sync("a", assign=("a", "b", "C1"), wait=("a", "b", "C1"))


@case("SYNC-COMPLETING-FOLLOWER", "SYNC-COMPLETING-LEADER")
def follower_that_assigns(s: Script) -> None:
    """A follower sends an assignment: it is ignored, and the follower waits."""
    s.completing("a", "b")
    s.sync("b", assign=("b",), force=True)
    s.pause()
    s.sync("a", assign=("a",), wait=("a", "b"))


@case("SYNC-COMPLETING-LEADER", "SYNC-STABLE")
def members_that_are_left_out(s: Script) -> None:
    """The leader omits a member: it gets an empty assignment. Ids of strangers are ignored."""
    s.completing("a", "b", "C1")
    s.join("n", member_id="", wait=True)
    s.sync("b", settle=True)
    s.sync("a", assign=("a", "C1", "n"), wait=("a", "b"))
    s.sync("C1", "b", wait=True)


@case("SYNC-COMPLETING-LEADER", "SYNC-STABLE")
def nobody_is_assigned_anything(s: Script) -> None:
    """The leader assigns nothing: the group becomes stable."""
    s.completing("a", "b")
    s.sync("a", "b", wait=True)
    s.beat("b")


@case("SYNC-COMPLETING-FOLLOWER", "SYNC-COMPLETING-LEADER")
def follower_syncs_twice_at_once(s: Script) -> None:
    """A follower sends SyncGroup again on another connection: it is answered there."""
    s.completing("a", "b")
    s.sync("b", settle=True)
    s.sync("b", connection="b again")
    s.pause()
    s.sync("a", assign=("a", "b"), wait=("a", "b"))


@case("SYNC-STABLE")
def follower_comes_late(s: Script) -> None:
    """A follower syncs after the leader: it is answered at once."""
    s.completing("a", "b", "C1")
    s.sync("a", assign=("a", "b", "C1"), wait=True)
    s.sync("b", "C1", wait=True)


@case("SYNC-STABLE")
def assignment_is_made_once(s: Script) -> None:
    """The leader assigns again in a stable group: every member keeps its assignment."""
    s.stable("a", "b")
    s.sync("a", assign=("a",), wait=True)
    s.sync("b", wait=True)
    s.sync("b", assign=(), wait=True)


@case("SYNC-STABLE", "SYNC-COMPLETING-LEADER")
def static_member_without_its_instance(s: Script) -> None:
    """A static member syncs with its member id alone: it gets its assignment."""
    s.completing("A1", "B1")
    s.sync("A1", instance=None, assign=("A1", "B1"), wait=True)
    s.sync("B1", instance=None, wait=True)


@case("SYNC-STABLE", apis=(("SyncGroup", 4),))
def sync_below_5_names_no_protocol(s: Script) -> None:
    """A member syncs in version 4 or below: no protocol is required."""
    s.completing("A1", "b")
    s.sync("A1", version=4, assign=("A1", "b"), wait=True)
    s.sync("b", version=4, wait=True)


@case("SYNC-STABLE", apis=(("SyncGroup", 2),))
def sync_below_3_names_no_instance(s: Script) -> None:
    """A member syncs in version 2 or below: its member id alone is checked."""
    s.completing("a", "b")
    s.sync("a", version=0, assign=("a", "b"), wait=True)
    s.sync("b", version=2, wait=True)
