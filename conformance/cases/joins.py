"""JoinGroup: refusals, ids of dynamic members, two processes of one instance, and rejoins.

The cases cover the checks that come first, MEMBER_ID_REQUIRED in every group state, and the effect
of a pending id; for two processes of one instance the duplicate in every group state, the restart
and the zombie; then members that join again under their own id, and superseded joins.  A rejoin
starts a rebalance if the member is the leader of a stable group, or if its protocols changed.
"""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.script import (
    BOTH,
    NOBODY,
    RANGE,
    RENEWED,
    ROUNDROBIN,
    STICKY,
    TOO_LONG_MS,
    Script,
    subscription,
)
from fencepost.model.plans.steps import GenerationOf, IdOf, Ms
from fencepost.model.table.table import Level

CASES = Registry()
case = CASES.case


@case("JOIN-STATIC-EMPTY-NEW", "JOIN-PHASE-DELAY-OVER")
def first_member(s: Script) -> None:
    """A static process joins alone: it makes the first generation, and gets no pending id."""
    s.join("A1", wait=True)
    s.synced("A1")
    s.beat("A1")


@case("JOIN-STATIC-EMPTY-PREPARING")
def second_process_while_first_waits(s: Script) -> None:
    """A second process joins in the join phase: the first is replaced and fenced."""
    s.stable("A1", "B1")
    s.enter("n", settle=True)
    s.beat("A1")
    s.join("B1", settle=True)
    s.join("B2")
    s.wait("B1")
    s.join("A1", wait=("A1", "B2", "n"))


@case("JOIN-STATIC-EMPTY-PREPARING")
def second_process_before_first_generation(s: Script) -> None:
    """A second process joins before the first generation: the first is replaced and fenced."""
    s.stable("x")
    s.join("A1", settle=True)
    s.join("A2")
    s.wait("A1")
    s.join("x", wait=("A2", "x"))


@case("JOIN-STATIC-EMPTY-COMPLETING")
def second_process_while_assignment_is_awaited(s: Script) -> None:
    """A second process joins in the sync phase: the first is replaced, and a rebalance starts."""
    s.completing("A1", "B1")
    s.sync("B1", settle=True)
    s.join("B2")
    s.wait("B1")
    s.join("A1", wait=("A1", "B2"))
    s.synced("A1", "B2")


@case("JOIN-STATIC-EMPTY-STABLE", "SYNC-STABLE")
def restart_of_a_follower(s: Script) -> None:
    """A follower restarts in a stable group: new id, same generation, same assignment."""
    s.stable("A1", "B1")
    s.join("B2", wait=True)
    s.sync("B2", wait=True)
    s.beat("A1", "B2")


@case("JOIN-STATIC-EMPTY-STABLE", apis=(("JoinGroup", 9),))
def restart_of_the_leader(s: Script) -> None:
    """The leader restarts in a stable group: it stays leader, and skips the assignment (v9)."""
    s.stable("A1", "B1")
    s.join("A2", version=9, wait=True)
    s.sync("A2", wait=True)
    s.beat("B1")


@case("JOIN-STATIC-EMPTY-STABLE")
def restart_of_the_leader_below_9(s: Script) -> None:
    """The leader restarts below version 9: the answer names its old id, so it doesn't assign."""
    s.stable("A1", "B1")
    s.join("A2", at_most=8, wait=True)
    s.sync("A2", wait=True)


@case("JOIN-STATIC-EMPTY-STABLE-SELECTION", isolated=True)
def restart_with_another_choice(s: Script) -> None:
    """A restart changes the selected protocol: a rebalance starts."""
    s.stable("A1", "B1", protocols=BOTH)
    s.join("B2", protocols=ROUNDROBIN, settle=True)
    s.beat("A1")
    s.join("A1", protocols=BOTH, wait=("A1", "B2"))


@case("JOIN-INSTANCE-FENCED")
def zombie_joins(s: Script) -> None:
    """A zombie joins with its old id: it is fenced, and the group doesn't change."""
    s.stable("A1", "B1")
    s.join("B2", "B1", wait=True)
    s.beat("B2")


@case("HEARTBEAT-INSTANCE-FENCED")
def zombie_beats(s: Script) -> None:
    """A zombie sends Heartbeat: it is fenced."""
    s.stable("A1", "B1")
    s.join("B2", wait=True)
    s.beat("B1")
    s.beat("B1", generation=GenerationOf("B1", plus=7))


@case("SYNC-INSTANCE-FENCED")
def zombie_syncs(s: Script) -> None:
    """A zombie sends SyncGroup: it is fenced."""
    s.stable("A1", "B1")
    s.join("B2", wait=True)
    s.sync("B1", wait=True)


@case("COMMIT-INSTANCE-FENCED")
def zombie_commits(s: Script) -> None:
    """A zombie commits an offset: it is fenced, and nothing is stored."""
    s.stable("A1", "B1")
    s.commit("B1", offset=5)
    s.join("B2", wait=True)
    s.commit("B1", offset=3)
    s.fetch("B2")


@case("LEAVE-MEMBER-INSTANCE-FENCED", apis=(("LeaveGroup", 3),))
def zombie_leaves(s: Script) -> None:
    """A zombie leaves by both ids: it is fenced, and no member is removed."""
    s.stable("A1", "B1")
    s.join("B2", wait=True)
    s.leave("B1", (IdOf("B1"), "B"))
    s.beat("B2")


_BELOW_ANY_MINIMUM = -1


@case("JOIN-GROUP-ID-INVALID")
def no_group_name(s: Script) -> None:
    """A JoinGroup has the group id "": it is refused before any other check."""
    s.join("A1", group="", wait=True)
    s.join("a", group="", member_id=NOBODY, session=TOO_LONG_MS, wait=True)


@case("JOIN-SESSION-TIMEOUT-INVALID")
def session_timeout_above_the_maximum(s: Script) -> None:
    """A session timeout is above group.max.session.timeout.ms: the JoinGroup is refused."""
    s.join("A1", session=TOO_LONG_MS, wait=True)
    s.join("a", session=TOO_LONG_MS, member_id=NOBODY, wait=True)


@case("JOIN-SESSION-TIMEOUT-INVALID")
def session_timeout_below_the_minimum(s: Script) -> None:
    """A session timeout is below group.min.session.timeout.ms: the JoinGroup is refused."""
    s.join("A1", session=_BELOW_ANY_MINIMUM, wait=True)


@case("JOIN-SESSION-TIMEOUT-INVALID", "HEARTBEAT-STABLE")
def restart_with_a_bad_session_timeout(s: Script) -> None:
    """A restart has a session timeout out of bounds: it is refused, and the holder isn't fenced."""
    s.stable("A1", "b")
    s.join("A2", session=TOO_LONG_MS, wait=True)
    s.beat("A1", "b")


@case("JOIN-GROUP-ABSENT")
def member_id_without_a_group(s: Script) -> None:
    """A member id joins a group that doesn't exist: it is unknown, with an instance id, too."""
    s.join("a", "A1", member_id=NOBODY, wait=True)
    s.stable("A1")


@case("JOIN-PROTOCOLS-INCONSISTENT", "HEARTBEAT-STABLE", isolated=True)
def another_protocol_type(s: Script) -> None:
    """A process joins with another protocol type: it is refused, dynamic or static."""
    s.stable("A1")
    s.join("b", member_id="", protocol_type="connect", wait=True)
    s.join("B1", protocol_type="connect", wait=True)
    s.beat("A1")


@case("JOIN-PROTOCOLS-INCONSISTENT", "HEARTBEAT-STABLE", isolated=True)
def no_protocol_in_common(s: Script) -> None:
    """A process shares no protocol with the members: it is refused, dynamic or static."""
    s.stable("a", "b", protocols=BOTH)
    s.join("c", member_id="", protocols=STICKY, wait=True)
    s.join("C1", protocols=STICKY, wait=True)
    s.beat("a")


@case("JOIN-PROTOCOLS-INCONSISTENT", "HEARTBEAT-STABLE", isolated=True)
def restart_with_no_protocol_in_common(s: Script) -> None:
    """A restart shares no protocol with the group: it is refused, and the holder isn't fenced."""
    s.stable("A1", "B1")
    s.join("B2", protocols=ROUNDROBIN, wait=True)
    s.beat("B1")


@case("JOIN-PROTOCOLS-INCONSISTENT", "HEARTBEAT-STABLE", isolated=True)
def change_to_no_protocol_in_common(s: Script) -> None:
    """A member rejoins with protocols that no other supports: it is refused, and doesn't change."""
    s.stable("A1", "B1")
    s.join("A1", protocols=ROUNDROBIN, wait=True)
    s.beat("A1", "B1")


@case("JOIN-PHASE-ALL-JOINED", "JOIN-MEMBER-PREPARING", isolated=True, level=Level.SHOULD)
def protocol_offered_twice(s: Script) -> None:
    """A member offers a protocol twice: it counts once, and all members can join."""
    s.stable("a")
    s.enter("B1", protocols=(*RANGE, *RANGE), settle=True)
    s.join("a", wait=("a", "B1"))


@case("JOIN-PROTOCOLS-INCONSISTENT", isolated=True)
def a_type_is_needed(s: Script) -> None:
    """The first member names no protocol type: it is refused."""
    s.join("A1", protocol_type="", wait=True)


@case("JOIN-PROTOCOLS-INCONSISTENT", isolated=True)
def a_protocol_is_needed(s: Script) -> None:
    """The first member offers no protocol: it is refused."""
    s.join("A1", protocols=(), wait=True)


@case("JOIN-DYNAMIC-EMPTY", "JOIN-PENDING")
def id_before_membership(s: Script) -> None:
    """A dynamic process joins without a member id: it gets a pending id, and joins with that."""
    s.join("a", member_id="", wait=True)
    s.beat("a")
    s.join("a", wait=True)
    s.synced("a")
    s.beat("a")


@case("JOIN-DYNAMIC-EMPTY", "HEARTBEAT-STABLE", "JOIN-PENDING")
def id_in_a_stable_group(s: Script) -> None:
    """A process gets a pending id in a stable group: nothing changes until it joins with the id."""
    s.stable("A1")
    s.join("n", member_id="", wait=True)
    s.beat("A1")
    s.join("n", settle=True)
    s.beat("A1")
    s.join("A1", wait=("A1", "n"))


@case("JOIN-DYNAMIC-EMPTY", "HEARTBEAT-COMPLETING")
def id_while_an_assignment_is_awaited(s: Script) -> None:
    """A process gets a pending id in the sync phase: no member is affected."""
    s.completing("a", "b")
    s.sync("b", settle=True)
    s.join("n", member_id="", wait=True)
    s.beat("a")
    s.sync("a", assign=("a", "b"), wait=("a", "b"))


@case("JOIN-PENDING", "JOIN-PHASE-ALL-JOINED")
def id_used_while_an_assignment_is_awaited(s: Script) -> None:
    """A pending id joins in the sync phase: a rebalance starts, and parked syncs must rejoin."""
    s.completing("a", "b")
    s.join("n", member_id="", wait=True)
    s.sync("b", settle=True)
    s.join("n")
    s.wait("b")
    s.join("a", "b", wait=("a", "b", "n"))
    s.synced("a", "b", "n")


@case("JOIN-DYNAMIC-EMPTY", "JOIN-PHASE-WAIT", "JOIN-PHASE-ALL-JOINED")
def pending_id_holds_up_a_rebalance(s: Script) -> None:
    """A process gets a pending id in the join phase: the rebalance waits for it."""
    s.preparing("A1")
    s.join("m", member_id="", wait=True)
    s.join("A1")
    s.pause()
    s.join("m", wait=("A1", "m", "n"))


@case("SESSION-PENDING", "JOIN-PHASE-ALL-JOINED")
def pending_id_holds_up_a_rebalance_until_it_expires(s: Script) -> None:
    """A rebalance waits for a pending id: it ends when the session timeout of the id is over."""
    s.preparing("A1")
    s.join("m", member_id="", session=Ms("short session"), wait=True)
    s.join("A1", wait=("A1", "n"))
    s.join("m", wait=True)


@case("LEAVE-MEMBER-PENDING", "JOIN-PHASE-ALL-JOINED")
def pending_id_holds_up_a_rebalance_until_it_leaves(s: Script) -> None:
    """A rebalance waits for a pending id alone: it ends when the id leaves."""
    s.preparing("A1")
    s.join("m", member_id="", wait=True)
    s.join("A1", settle=True)
    s.leave("m")
    s.wait("A1", "n")


@case("JOIN-PENDING-INSTANCE", "JOIN-PENDING")
def pending_id_with_an_instance(s: Script) -> None:
    """A pending id joins with an instance id: it is refused, and stays pending."""
    s.stable("A1")
    s.join("n", member_id="", wait=True)
    s.join("n", instance="N", wait=True)
    s.join("n", instance="A", wait=True)
    s.beat("A1")
    s.join("n", "A1", wait=("A1", "n"))


@case("JOIN-DYNAMIC-EMPTY")
def every_request_gets_an_id_of_its_own(s: Script) -> None:
    """Two processes join without a member id: each gets a pending id of its own, and can use it."""
    s.stable("A1")
    s.join("m", "n", member_id="", wait=True)
    s.join("m", "n", "A1", wait=("A1", "m", "n"))


@case("JOIN-DYNAMIC-EMPTY-LEGACY", apis=(("JoinGroup", 3),))
def legacy_member_is_added_at_once(s: Script) -> None:
    """A dynamic process joins in version 3 or below: it becomes a member without a pending id."""
    s.says("a", "b", version=3)
    s.stable("a", "b")
    s.beat("a")


@case("JOIN-DYNAMIC-EMPTY-LEGACY", "JOIN-STATIC-EMPTY-NEW", apis=(("JoinGroup", 2),))
def legacy_and_static_members(s: Script) -> None:
    """A legacy process joins the group of a static member: it becomes a member at once."""
    s.says("a", version=2)
    s.stable("A1", "a")
    s.join("A2", wait=True)
    s.beat("a")


@case("JOIN-DYNAMIC-EMPTY-LEGACY", "JOIN-PHASE-EXPIRED", apis=(("JoinGroup", 0), ("JoinGroup", 5)))
def version_0_rebalances_within_its_session_timeout(s: Script) -> None:
    """A member joins in version 0: its session timeout is its rebalance timeout, too."""
    s.says("a", version=0, session=Ms("short session"))
    s.stable("a")
    s.enter("n", rebalance=Ms("short rebalance"))
    s.pause("short session", minus=True)
    s.beat("a")
    s.wait("n")
    s.join("a", version=None, wait=True)


@case("JOIN-UNKNOWN-MEMBER", "HEARTBEAT-STABLE")
def unknown_member_id(s: Script) -> None:
    """An id that the coordinator never handed out joins: it is unknown."""
    s.stable("a")
    s.join("b", member_id=NOBODY, wait=True)
    s.beat("a")


@case("JOIN-UNKNOWN-MEMBER")
def id_of_a_member_that_left(s: Script) -> None:
    """A member that left joins with its old id: it is unknown, in an Empty group, too."""
    s.stable("a")
    s.leave("a")
    s.join("a", wait=True)


@case("JOIN-INSTANCE-UNMAPPED", "HEARTBEAT-STABLE")
def dynamic_member_never_becomes_static(s: Script) -> None:
    """A dynamic member rejoins with an instance id: it is refused, and stays dynamic."""
    s.stable("a")
    s.join("a", instance="X", wait=True)
    s.beat("a")
    s.join("X1", protocols=RANGE, settle=True)
    s.join("a", wait=("a", "X1"))


@case("JOIN-INSTANCE-UNMAPPED")
def unknown_member_id_with_a_new_instance(s: Script) -> None:
    """An unknown id joins with an unmapped instance: it is refused, and no member is added."""
    s.stable("a")
    s.join("X1", member_id=NOBODY, wait=True)
    s.beat("a")


@case("JOIN-INSTANCE-FENCED", "HEARTBEAT-STABLE")
def unknown_member_id_with_a_held_instance(s: Script) -> None:
    """An unknown id joins with a mapped instance: it is fenced, and replaces no member."""
    s.stable("A1", "b")
    s.join("A2", member_id=NOBODY, wait=True)
    s.beat("A1")


@case("JOIN-INSTANCE-FENCED", "HEARTBEAT-STABLE")
def member_with_the_instance_of_another(s: Script) -> None:
    """A member rejoins with the instance id of another: it is fenced, and both stay members."""
    s.stable("A1", "b", "C1")
    s.join("b", "C1", instance="A", wait=True)
    s.beat("A1", "b", "C1")


_SWAPPED = tuple(reversed(BOTH))
_THREE = (("sticky", subscription("t")), *_SWAPPED)


@case("JOIN-MEMBER-PREPARING", "JOIN-PHASE-ALL-JOINED")
def everybody_rejoins(s: Script) -> None:
    """All members have rejoined: the next generation begins at once."""
    s.preparing("a", "B1")
    s.join("a", "B1", wait=("a", "B1", "n"))
    s.synced("a", "B1", "n")


@case("JOIN-MEMBER-PREPARING")
def leader_learns_a_renewed_subscription(s: Script) -> None:
    """A member changes its subscription in the join phase: the leader gets the new one."""
    s.preparing("a", "b", "C1")
    s.join("b", "C1", protocols=RENEWED, settle=True)
    s.join("a", wait=("a", "b", "C1", "n"))


@case("JOIN-MEMBER-PREPARING")
def vote_follows_the_latest_offers(s: Script) -> None:
    """Members change their protocols in the join phase: only their last offers count."""
    s.stable("a", "B1", protocols=BOTH)
    s.enter("n", protocols=_SWAPPED, settle=True)
    s.join("a", protocols=_SWAPPED)
    s.join("B1", protocols=ROUNDROBIN, wait=("a", "B1", "n"))
    s.synced("a", "B1", "n")


@case("JOIN-PHASE-ALL-JOINED", "JOIN-MEMBER-PREPARING", isolated=True)
def majority_of_first_choices(s: Script) -> None:
    """All members support several protocols: the one that most members prefer is selected."""
    s.stable("a", "B1", protocols=BOTH)
    s.enter("c", protocols=_SWAPPED, settle=True)
    s.join("a", protocols=BOTH)
    s.join("B1", protocols=_SWAPPED, wait=("a", "B1", "c"))
    s.synced("a", "B1", "c")


@case("JOIN-PHASE-ALL-JOINED", "JOIN-MEMBER-PREPARING", isolated=True)
def first_choice_that_all_support(s: Script) -> None:
    """A member prefers a protocol that another lacks: its vote goes to the next one."""
    s.stable("a", "B1", protocols=_THREE)
    s.enter("c", protocols=BOTH, settle=True)
    s.join("a", protocols=_THREE)
    s.join("B1", protocols=_THREE, wait=("a", "B1", "c"))
    s.synced("a", "B1", "c")


@case("JOIN-STATIC-EMPTY-PREPARING", "JOIN-PHASE-ALL-JOINED", isolated=True)
def replaced_joins_have_no_vote(s: Script) -> None:
    """A process is replaced while its join is parked: only the new process votes."""
    s.stable("a", "B1", protocols=BOTH)
    s.enter("n", protocols=_SWAPPED, settle=True)
    s.beat("a")
    s.join("B1", protocols=BOTH, settle=True)
    s.join("B2", protocols=BOTH, settle=True)
    s.join("B3", protocols=_SWAPPED, settle=True)
    s.join("a", protocols=BOTH, wait=("a", "B3", "n"))
    s.synced("a", "B3", "n")


@case("JOIN-STATIC-EMPTY-STABLE", "JOIN-PHASE-ALL-JOINED", isolated=True)
def replaced_members_have_no_vote(s: Script) -> None:
    """Processes are replaced in a stable group: only the new ones vote in the next rebalance."""
    s.stable("a", "B1", protocols=BOTH)
    s.join("B2", "B3", protocols=BOTH, wait=True)
    s.enter("n", protocols=_SWAPPED, settle=True)
    s.join("B3", protocols=_SWAPPED, settle=True)
    s.join("a", protocols=BOTH, wait=("a", "B3", "n"))
    s.synced("a", "B3", "n")


@case("JOIN-STATIC-EMPTY-COMPLETING", "JOIN-PHASE-ALL-JOINED", isolated=True)
def replaced_before_their_sync_have_no_vote(s: Script) -> None:
    """Processes are replaced in the sync phase: only the new ones vote in the next rebalance."""
    s.completing("a", "B1", protocols=BOTH)
    s.join("B2", protocols=BOTH, settle=True)
    s.join("B3", protocols=_SWAPPED, settle=True)
    s.enter("n", protocols=_SWAPPED, settle=True)
    s.join("a", protocols=BOTH, wait=("a", "B3", "n"))
    s.synced("a", "B3", "n")


@case("JOIN-STATIC-EMPTY-STABLE-SELECTION", "JOIN-PHASE-ALL-JOINED", isolated=True)
def leader_restarts_with_another_choice(s: Script) -> None:
    """A restart of the leader changes the selected protocol: it leads the next generation."""
    s.stable("A1", "b", protocols=BOTH)
    s.join("A2", protocols=ROUNDROBIN, settle=True)
    s.beat("b")
    s.join("b", protocols=BOTH, wait=("A2", "b"))
    s.synced("A2", "b")


@case("JOIN-MEMBER-PREPARING", "JOIN-PHASE-WAIT")
def member_joins_twice_at_once(s: Script) -> None:
    """A member sends JoinGroup again on another connection: it is answered there."""
    s.preparing("a", "b")
    s.join("a", settle=True)
    s.join("a", connection="a again", settle=True)
    s.join("b", wait=("a", "b", "n"))
    s.beat("a", connection="a again")


@case("JOIN-MEMBER-PREPARING", "JOIN-PHASE-WAIT")
def static_member_joins_twice_at_once(s: Script) -> None:
    """A static member sends JoinGroup again under its own id: no process is fenced."""
    s.preparing("a", "B1")
    s.join("B1", settle=True)
    s.join("B1", connection="B1 again", settle=True)
    s.join("a", wait=("a", "B1", "n"))
    s.beat("B1", connection="B1 again")


@case("JOIN-MEMBER-PREPARING")
def static_member_rejoins_without_its_instance(s: Script) -> None:
    """A static member rejoins with its member id alone: it stays static."""
    s.preparing("a", "B1")
    s.join("B1", instance=None)
    s.join("a", wait=("a", "B1", "n"))
    s.synced("a", "B1", "n")
    s.join("B2", wait=True)
    s.beat("B1")


@case("JOIN-MEMBER-COMPLETING-SAME")
def rejoin_between_join_and_sync(s: Script) -> None:
    """A member rejoins unchanged in the sync phase: it gets the same generation again."""
    s.completing("a", "b", "C1")
    s.join("b", "C1", wait=True)
    s.synced("a", "b", "C1")


@case("JOIN-MEMBER-COMPLETING-SAME")
def leader_rejoins_between_join_and_sync(s: Script) -> None:
    """The leader rejoins unchanged in the sync phase: it gets the members again."""
    s.completing("A1", "b")
    s.join("A1", wait=True)
    s.synced("A1", "b")


@case("JOIN-MEMBER-COMPLETING-CHANGED", "JOIN-PHASE-ALL-JOINED")
def changed_rejoin_between_join_and_sync(s: Script) -> None:
    """A member changes its subscription in the sync phase: a rebalance starts."""
    s.completing("a", "b", "c")
    s.sync("c", settle=True)
    s.join("b", protocols=RENEWED)
    s.wait("c")
    s.beat("a")
    s.join("c", "a", wait=("a", "b", "c"))


@case("JOIN-MEMBER-COMPLETING-CHANGED")
def changed_leader_between_join_and_sync(s: Script) -> None:
    """The leader changes its subscription in the sync phase: a rebalance starts."""
    s.completing("A1", "b")
    s.join("A1", protocols=RENEWED, settle=True)
    s.join("b", wait=("A1", "b"))


@case("JOIN-MEMBER-COMPLETING-CHANGED", "JOIN-PHASE-ALL-JOINED")
def changed_dynamic_leader_between_join_and_sync(s: Script) -> None:
    """A dynamic leader changes its subscription in the sync phase: a rebalance starts."""
    s.completing("a", "b")
    s.join("a", protocols=RENEWED, settle=True)
    s.join("b", wait=("a", "b"))


@case("JOIN-MEMBER-COMPLETING-CHANGED")
def changed_order_between_join_and_sync(s: Script) -> None:
    """A member changes the order of its protocols in the sync phase: a rebalance starts."""
    s.completing("a", "b", protocols=BOTH)
    s.join("b", protocols=_SWAPPED, settle=True)
    s.join("a", protocols=_SWAPPED, wait=("a", "b"))


@case("JOIN-LEADER-STABLE", "JOIN-PHASE-ALL-JOINED")
def leader_rejoins(s: Script) -> None:
    """The leader of a stable group rejoins unchanged: a rebalance starts."""
    s.stable("a", "b")
    s.join("a", settle=True)
    s.beat("b")
    s.join("b", wait=("a", "b"))
    s.synced("a", "b")


@case("JOIN-LEADER-STABLE", "JOIN-PHASE-ALL-JOINED")
def static_leader_rejoins(s: Script) -> None:
    """A static leader rejoins under its own id: a rebalance starts, and it keeps its id."""
    s.stable("A1", "B1")
    s.join("A1", protocols=RENEWED, settle=True)
    s.beat("B1")
    s.join("B1", wait=("A1", "B1"))
    s.synced("A1", "B1")
    s.beat("A1")


@case("JOIN-FOLLOWER-STABLE-SAME", "HEARTBEAT-STABLE")
def unchanged_follower_rejoins(s: Script) -> None:
    """A follower of a stable group rejoins unchanged: it gets the generation; no rebalance."""
    s.stable("a", "b", "C1")
    s.join("b", "C1", wait=True)
    s.sync("b", "C1", wait=True)
    s.beat("a")


@case("JOIN-FOLLOWER-STABLE-CHANGED", "JOIN-PHASE-ALL-JOINED")
def changed_follower_rejoins(s: Script) -> None:
    """A follower changes its subscription: a rebalance starts, and the leader gets the new one."""
    s.stable("a", "b")
    s.join("b", protocols=RENEWED, settle=True)
    s.beat("a")
    s.join("a", wait=("a", "b"))
    s.synced("a", "b")


@case("JOIN-FOLLOWER-STABLE-CHANGED", "JOIN-PHASE-ALL-JOINED")
def changed_static_follower_rejoins(s: Script) -> None:
    """A static follower changes its subscription: a rebalance starts, and it keeps its id."""
    s.stable("A1", "B1")
    s.join("B1", protocols=RENEWED, settle=True)
    s.beat("A1")
    s.join("A1", wait=("A1", "B1"))
    s.beat("B1")


@case("JOIN-STATIC-EMPTY-STABLE", "JOIN-PHASE-ALL-JOINED")
def renewed_subscription_of_a_restart_waits(s: Script) -> None:
    """A restart has new metadata: no rebalance; the next rebalance gives them to the leader."""
    s.stable("a", "B1")
    s.join("B2", protocols=RENEWED, wait=True)
    s.beat("a")
    s.enter("n", settle=True)
    s.join("a")
    s.join("B2", protocols=RENEWED, wait=("a", "B2", "n"))


@case("JOIN-STATIC-EMPTY-STABLE", "JOIN-PHASE-EXPIRED")
def renewed_subscription_of_a_restart_is_kept(s: Script) -> None:
    """A restart has new metadata: they stay the member's while it is absent."""
    s.says("a", "B1", "B2", "n", rebalance=Ms("short rebalance"))
    s.stable("a", "B1")
    s.join("B2", protocols=RENEWED, wait=True)
    s.enter("n")
    s.join("a", wait=("a", "n"))
