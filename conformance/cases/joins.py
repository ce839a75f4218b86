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
    """A static member alone makes the first generation, without being asked for an id."""
    s.join("A1", wait=True)
    s.synced("A1")
    s.beat("A1")


@case("JOIN-STATIC-EMPTY-PREPARING")
def second_process_while_first_waits(s: Script) -> None:
    """Two processes of one instance join while a rebalance is prepared: the first is fenced."""
    s.stable("A1", "B1")
    s.enter("n", settle=True)
    s.beat("A1")
    s.join("B1", settle=True)
    s.join("B2")
    s.wait("B1")
    s.join("A1", wait=("A1", "B2", "n"))


@case("JOIN-STATIC-EMPTY-PREPARING")
def second_process_before_first_generation(s: Script) -> None:
    """The second process comes before there is any generation."""
    s.stable("x")
    s.join("A1", settle=True)
    s.join("A2")
    s.wait("A1")
    s.join("x", wait=("A2", "x"))


@case("JOIN-STATIC-EMPTY-COMPLETING")
def second_process_while_assignment_is_awaited(s: Script) -> None:
    """The second process comes between the leader's join and its sync: a rebalance starts."""
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
    """The leader restarts in a stable group: it leads on and skips the assignment (v9)."""
    s.stable("A1", "B1")
    s.join("A2", version=9, wait=True)
    s.sync("A2", wait=True)
    s.beat("B1")


@case("JOIN-STATIC-EMPTY-STABLE")
def restart_of_the_leader_below_9(s: Script) -> None:
    """Below version 9 a restarted leader is told the old leader's id, so that it doesn't assign."""
    s.stable("A1", "B1")
    s.join("A2", at_most=8, wait=True)
    s.sync("A2", wait=True)


@case("JOIN-STATIC-EMPTY-STABLE-SELECTION", isolated=True)
def restart_with_another_choice(s: Script) -> None:
    """A restart that changes which protocol all would select starts a rebalance."""
    s.stable("A1", "B1", protocols=BOTH)
    s.join("B2", protocols=ROUNDROBIN, settle=True)
    s.beat("A1")
    s.join("A1", protocols=BOTH, wait=("A1", "B2"))


@case("JOIN-INSTANCE-FENCED")
def zombie_joins(s: Script) -> None:
    """The replaced process joins with its old id: fenced, and the group is as before."""
    s.stable("A1", "B1")
    s.join("B2", "B1", wait=True)
    s.beat("B2")


@case("HEARTBEAT-INSTANCE-FENCED")
def zombie_beats(s: Script) -> None:
    """The replaced process goes on to heartbeat."""
    s.stable("A1", "B1")
    s.join("B2", wait=True)
    s.beat("B1")
    s.beat("B1", generation=GenerationOf("B1", plus=7))


@case("SYNC-INSTANCE-FENCED")
def zombie_syncs(s: Script) -> None:
    """The replaced process asks for its assignment."""
    s.stable("A1", "B1")
    s.join("B2", wait=True)
    s.sync("B1", wait=True)


@case("COMMIT-INSTANCE-FENCED")
def zombie_commits(s: Script) -> None:
    """The replaced process commits an offset, which must not be stored."""
    s.stable("A1", "B1")
    s.commit("B1", offset=5)
    s.join("B2", wait=True)
    s.commit("B1", offset=3)
    s.fetch("B2")


@case("LEAVE-MEMBER-INSTANCE-FENCED", apis=(("LeaveGroup", 3),))
def zombie_leaves(s: Script) -> None:
    """The replaced process leaves by both ids: it evicts nobody."""
    s.stable("A1", "B1")
    s.join("B2", wait=True)
    s.leave("B1", (IdOf("B1"), "B"))
    s.beat("B2")


_BELOW_ANY_MINIMUM = -1


@case("JOIN-GROUP-ID-INVALID")
def no_group_name(s: Script) -> None:
    """A group id of "" is refused before anything else is looked at."""
    s.join("A1", group="", wait=True)
    s.join("a", group="", member_id=NOBODY, session=TOO_LONG_MS, wait=True)


@case("JOIN-SESSION-TIMEOUT-INVALID")
def session_timeout_above_the_maximum(s: Script) -> None:
    """A session timeout above group.max.session.timeout.ms is refused."""
    s.join("A1", session=TOO_LONG_MS, wait=True)
    s.join("a", session=TOO_LONG_MS, member_id=NOBODY, wait=True)


@case("JOIN-SESSION-TIMEOUT-INVALID")
def session_timeout_below_the_minimum(s: Script) -> None:
    """A session timeout below group.min.session.timeout.ms is refused."""
    s.join("A1", session=_BELOW_ANY_MINIMUM, wait=True)


@case("JOIN-SESSION-TIMEOUT-INVALID", "HEARTBEAT-STABLE")
def restart_with_a_bad_session_timeout(s: Script) -> None:
    """A restart with a session timeout out of bounds is refused and fences nobody."""
    s.stable("A1", "b")
    s.join("A2", session=TOO_LONG_MS, wait=True)
    s.beat("A1", "b")


@case("JOIN-GROUP-ABSENT")
def member_id_without_a_group(s: Script) -> None:
    """A member id that is given to a group that doesn't exist is unknown, with an instance too."""
    s.join("a", "A1", member_id=NOBODY, wait=True)
    s.stable("A1")


@case("JOIN-PROTOCOLS-INCONSISTENT", "HEARTBEAT-STABLE", isolated=True)
def another_protocol_type(s: Script) -> None:
    """A member of another protocol type can't join, dynamic or static."""
    s.stable("A1")
    s.join("b", member_id="", protocol_type="connect", wait=True)
    s.join("B1", protocol_type="connect", wait=True)
    s.beat("A1")


@case("JOIN-PROTOCOLS-INCONSISTENT", "HEARTBEAT-STABLE", isolated=True)
def no_protocol_in_common(s: Script) -> None:
    """A member that shares no protocol with the others can't join, dynamic or static."""
    s.stable("a", "b", protocols=BOTH)
    s.join("c", member_id="", protocols=STICKY, wait=True)
    s.join("C1", protocols=STICKY, wait=True)
    s.beat("a")


@case("JOIN-PROTOCOLS-INCONSISTENT", "HEARTBEAT-STABLE", isolated=True)
def restart_with_no_protocol_in_common(s: Script) -> None:
    """A restart that shares no protocol with the group is refused and fences nobody."""
    s.stable("A1", "B1")
    s.join("B2", protocols=ROUNDROBIN, wait=True)
    s.beat("B1")


@case("JOIN-PROTOCOLS-INCONSISTENT", "HEARTBEAT-STABLE", isolated=True)
def change_to_no_protocol_in_common(s: Script) -> None:
    """A member that changes to what the others don't support is refused, and stays as it was."""
    s.stable("A1", "B1")
    s.join("A1", protocols=ROUNDROBIN, wait=True)
    s.beat("A1", "B1")


@case("JOIN-PHASE-ALL-JOINED", "JOIN-MEMBER-PREPARING", isolated=True, level=Level.SHOULD)
def protocol_offered_twice(s: Script) -> None:
    """A member that names a protocol twice supports it as others do, and shuts nobody out."""
    s.stable("a")
    s.enter("B1", protocols=(*RANGE, *RANGE), settle=True)
    s.join("a", wait=("a", "B1"))


@case("JOIN-PROTOCOLS-INCONSISTENT", isolated=True)
def a_type_is_needed(s: Script) -> None:
    """The first member must name a protocol type."""
    s.join("A1", protocol_type="", wait=True)


@case("JOIN-PROTOCOLS-INCONSISTENT", isolated=True)
def a_protocol_is_needed(s: Script) -> None:
    """The first member must offer a protocol."""
    s.join("A1", protocols=(), wait=True)


@case("JOIN-DYNAMIC-EMPTY", "JOIN-PENDING")
def id_before_membership(s: Script) -> None:
    """A dynamic member is given an id first and joins with it; its group is then like any other."""
    s.join("a", member_id="", wait=True)
    s.beat("a")
    s.join("a", wait=True)
    s.synced("a")
    s.beat("a")


@case("JOIN-DYNAMIC-EMPTY", "HEARTBEAT-STABLE", "JOIN-PENDING")
def id_in_a_stable_group(s: Script) -> None:
    """Handing out an id doesn't disturb a stable group; using it does."""
    s.stable("A1")
    s.join("n", member_id="", wait=True)
    s.beat("A1")
    s.join("n", settle=True)
    s.beat("A1")
    s.join("A1", wait=("A1", "n"))


@case("JOIN-DYNAMIC-EMPTY", "HEARTBEAT-COMPLETING")
def id_while_an_assignment_is_awaited(s: Script) -> None:
    """Handing out an id between join and sync disturbs nobody."""
    s.completing("a", "b")
    s.sync("b", settle=True)
    s.join("n", member_id="", wait=True)
    s.beat("a")
    s.sync("a", assign=("a", "b"), wait=("a", "b"))


@case("JOIN-PENDING", "JOIN-PHASE-ALL-JOINED")
def id_used_while_an_assignment_is_awaited(s: Script) -> None:
    """A new member that joins between join and sync starts a rebalance; syncs are sent away."""
    s.completing("a", "b")
    s.join("n", member_id="", wait=True)
    s.sync("b", settle=True)
    s.join("n")
    s.wait("b")
    s.join("a", "b", wait=("a", "b", "n"))
    s.synced("a", "b", "n")


@case("JOIN-DYNAMIC-EMPTY", "JOIN-PHASE-WAIT", "JOIN-PHASE-ALL-JOINED")
def pending_id_holds_up_a_rebalance(s: Script) -> None:
    """A rebalance waits for whoever was handed an id."""
    s.preparing("A1")
    s.join("m", member_id="", wait=True)
    s.join("A1")
    s.pause()
    s.join("m", wait=("A1", "m", "n"))


@case("SESSION-PENDING", "JOIN-PHASE-ALL-JOINED")
def pending_id_holds_up_a_rebalance_until_it_expires(s: Script) -> None:
    """A rebalance waits for a pending id no longer than that id's session timeout."""
    s.preparing("A1")
    s.join("m", member_id="", session=Ms("short session"), wait=True)
    s.join("A1", wait=("A1", "n"))
    s.join("m", wait=True)


@case("LEAVE-MEMBER-PENDING", "JOIN-PHASE-ALL-JOINED")
def pending_id_holds_up_a_rebalance_until_it_leaves(s: Script) -> None:
    """A rebalance that waited for a pending id alone is completed when that id is given back."""
    s.preparing("A1")
    s.join("m", member_id="", wait=True)
    s.join("A1", settle=True)
    s.leave("m")
    s.wait("A1", "n")


@case("JOIN-PENDING-INSTANCE", "JOIN-PENDING")
def pending_id_with_an_instance(s: Script) -> None:
    """A pending id is a dynamic member's: with an instance it is refused, and stays pending."""
    s.stable("A1")
    s.join("n", member_id="", wait=True)
    s.join("n", instance="N", wait=True)
    s.join("n", instance="A", wait=True)
    s.beat("A1")
    s.join("n", "A1", wait=("A1", "n"))


@case("JOIN-DYNAMIC-EMPTY")
def every_request_gets_an_id_of_its_own(s: Script) -> None:
    """Two requests for an id are given two ids; each of them can be used."""
    s.stable("A1")
    s.join("m", "n", member_id="", wait=True)
    s.join("m", "n", "A1", wait=("A1", "m", "n"))


@case("JOIN-DYNAMIC-EMPTY-LEGACY", apis=(("JoinGroup", 3),))
def legacy_member_is_added_at_once(s: Script) -> None:
    """Up to version 3 a dynamic member joins with an empty id and is not sent away for one."""
    s.says("a", "b", version=3)
    s.stable("a", "b")
    s.beat("a")


@case("JOIN-DYNAMIC-EMPTY-LEGACY", "JOIN-STATIC-EMPTY-NEW", apis=(("JoinGroup", 2),))
def legacy_and_static_members(s: Script) -> None:
    """A legacy member joins a static member's group."""
    s.says("a", version=2)
    s.stable("A1", "a")
    s.join("A2", wait=True)
    s.beat("a")


@case("JOIN-DYNAMIC-EMPTY-LEGACY", "JOIN-PHASE-EXPIRED", apis=(("JoinGroup", 0), ("JoinGroup", 5)))
def version_0_rebalances_within_its_session_timeout(s: Script) -> None:
    """Version 0 has no rebalance timeout; the session timeout stands for it."""
    s.says("a", version=0, session=Ms("short session"))
    s.stable("a")
    s.enter("n", rebalance=Ms("short rebalance"))
    s.pause("short session", minus=True)
    s.beat("a")
    s.wait("n")
    s.join("a", version=None, wait=True)


@case("JOIN-UNKNOWN-MEMBER", "HEARTBEAT-STABLE")
def unknown_member_id(s: Script) -> None:
    """An id that nobody handed out is refused."""
    s.stable("a")
    s.join("b", member_id=NOBODY, wait=True)
    s.beat("a")


@case("JOIN-UNKNOWN-MEMBER")
def id_of_a_member_that_left(s: Script) -> None:
    """The id of a member that left is unknown, also to an Empty group."""
    s.stable("a")
    s.leave("a")
    s.join("a", wait=True)


@case("JOIN-INSTANCE-UNMAPPED", "HEARTBEAT-STABLE")
def dynamic_member_never_becomes_static(s: Script) -> None:
    """A dynamic member that joins again with an instance is refused and stays dynamic."""
    s.stable("a")
    s.join("a", instance="X", wait=True)
    s.beat("a")
    s.join("X1", protocols=RANGE, settle=True)
    s.join("a", wait=("a", "X1"))


@case("JOIN-INSTANCE-UNMAPPED")
def unknown_member_id_with_a_new_instance(s: Script) -> None:
    """An unknown id with an instance that nobody holds is refused; it adds no member."""
    s.stable("a")
    s.join("X1", member_id=NOBODY, wait=True)
    s.beat("a")


@case("JOIN-INSTANCE-FENCED", "HEARTBEAT-STABLE")
def unknown_member_id_with_a_held_instance(s: Script) -> None:
    """An unknown id with a mapped instance is fenced; it replaces nobody."""
    s.stable("A1", "b")
    s.join("A2", member_id=NOBODY, wait=True)
    s.beat("A1")


@case("JOIN-INSTANCE-FENCED", "HEARTBEAT-STABLE")
def member_with_the_instance_of_another(s: Script) -> None:
    """A member that claims the instance of another is fenced; both stay members."""
    s.stable("A1", "b", "C1")
    s.join("b", "C1", instance="A", wait=True)
    s.beat("A1", "b", "C1")


_SWAPPED = tuple(reversed(BOTH))
_THREE = (("sticky", subscription("t")), *_SWAPPED)


@case("JOIN-MEMBER-PREPARING", "JOIN-PHASE-ALL-JOINED")
def everybody_rejoins(s: Script) -> None:
    """When all members have joined again the next generation begins, at once."""
    s.preparing("a", "B1")
    s.join("a", "B1", wait=("a", "B1", "n"))
    s.synced("a", "B1", "n")


@case("JOIN-MEMBER-PREPARING")
def leader_learns_a_renewed_subscription(s: Script) -> None:
    """What a member offers while a rebalance is prepared is what the leader is told."""
    s.preparing("a", "b", "C1")
    s.join("b", "C1", protocols=RENEWED, settle=True)
    s.join("a", wait=("a", "b", "C1", "n"))


@case("JOIN-MEMBER-PREPARING")
def vote_follows_the_latest_offers(s: Script) -> None:
    """The protocol is chosen by what members offer now, not by what they offered before."""
    s.stable("a", "B1", protocols=BOTH)
    s.enter("n", protocols=_SWAPPED, settle=True)
    s.join("a", protocols=_SWAPPED)
    s.join("B1", protocols=ROUNDROBIN, wait=("a", "B1", "n"))
    s.synced("a", "B1", "n")


@case("JOIN-PHASE-ALL-JOINED", "JOIN-MEMBER-PREPARING", isolated=True)
def majority_of_first_choices(s: Script) -> None:
    """Where all support several protocols the one that most prefer is chosen, not the leader's."""
    s.stable("a", "B1", protocols=BOTH)
    s.enter("c", protocols=_SWAPPED, settle=True)
    s.join("a", protocols=BOTH)
    s.join("B1", protocols=_SWAPPED, wait=("a", "B1", "c"))
    s.synced("a", "B1", "c")


@case("JOIN-PHASE-ALL-JOINED", "JOIN-MEMBER-PREPARING", isolated=True)
def first_choice_that_all_support(s: Script) -> None:
    """A vote goes to the first protocol that all support; what one lacks is passed over."""
    s.stable("a", "B1", protocols=_THREE)
    s.enter("c", protocols=BOTH, settle=True)
    s.join("a", protocols=_THREE)
    s.join("B1", protocols=_THREE, wait=("a", "B1", "c"))
    s.synced("a", "B1", "c")


@case("JOIN-STATIC-EMPTY-PREPARING", "JOIN-PHASE-ALL-JOINED", isolated=True)
def replaced_joins_have_no_vote(s: Script) -> None:
    """A process that was replaced while its join waited has no vote: its successor has the one."""
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
    """Processes that were replaced in a stable group have no vote in the next rebalance."""
    s.stable("a", "B1", protocols=BOTH)
    s.join("B2", "B3", protocols=BOTH, wait=True)
    s.enter("n", protocols=_SWAPPED, settle=True)
    s.join("B3", protocols=_SWAPPED, settle=True)
    s.join("a", protocols=BOTH, wait=("a", "B3", "n"))
    s.synced("a", "B3", "n")


@case("JOIN-STATIC-EMPTY-COMPLETING", "JOIN-PHASE-ALL-JOINED", isolated=True)
def replaced_before_their_sync_have_no_vote(s: Script) -> None:
    """Processes that were replaced between join and sync have no vote in the next rebalance."""
    s.completing("a", "B1", protocols=BOTH)
    s.join("B2", protocols=BOTH, settle=True)
    s.join("B3", protocols=_SWAPPED, settle=True)
    s.enter("n", protocols=_SWAPPED, settle=True)
    s.join("a", protocols=BOTH, wait=("a", "B3", "n"))
    s.synced("a", "B3", "n")


@case("JOIN-STATIC-EMPTY-STABLE-SELECTION", "JOIN-PHASE-ALL-JOINED", isolated=True)
def leader_restarts_with_another_choice(s: Script) -> None:
    """A leader whose restart changes what is selected leads the rebalance that this starts."""
    s.stable("A1", "b", protocols=BOTH)
    s.join("A2", protocols=ROUNDROBIN, settle=True)
    s.beat("b")
    s.join("b", protocols=BOTH, wait=("A2", "b"))
    s.synced("A2", "b")


@case("JOIN-MEMBER-PREPARING", "JOIN-PHASE-WAIT")
def member_joins_twice_at_once(s: Script) -> None:
    """A member that sends its join anew, from another connection, is answered there."""
    s.preparing("a", "b")
    s.join("a", settle=True)
    s.join("a", connection="a again", settle=True)
    s.join("b", wait=("a", "b", "n"))
    s.beat("a", connection="a again")


@case("JOIN-MEMBER-PREPARING", "JOIN-PHASE-WAIT")
def static_member_joins_twice_at_once(s: Script) -> None:
    """A static member that sends its join anew under its own id fences nobody."""
    s.preparing("a", "B1")
    s.join("B1", settle=True)
    s.join("B1", connection="B1 again", settle=True)
    s.join("a", wait=("a", "B1", "n"))
    s.beat("B1", connection="B1 again")


@case("JOIN-MEMBER-PREPARING")
def static_member_rejoins_without_its_instance(s: Script) -> None:
    """A static member that rejoins by its id alone stays static."""
    s.preparing("a", "B1")
    s.join("B1", instance=None)
    s.join("a", wait=("a", "B1", "n"))
    s.synced("a", "B1", "n")
    s.join("B2", wait=True)
    s.beat("B1")


@case("JOIN-MEMBER-COMPLETING-SAME")
def rejoin_between_join_and_sync(s: Script) -> None:
    """A member that missed the answer joins again, unchanged: it is told the same generation."""
    s.completing("a", "b", "C1")
    s.join("b", "C1", wait=True)
    s.synced("a", "b", "C1")


@case("JOIN-MEMBER-COMPLETING-SAME")
def leader_rejoins_between_join_and_sync(s: Script) -> None:
    """A leader that missed the answer is given the members again."""
    s.completing("A1", "b")
    s.join("A1", wait=True)
    s.synced("A1", "b")


@case("JOIN-MEMBER-COMPLETING-CHANGED", "JOIN-PHASE-ALL-JOINED")
def changed_rejoin_between_join_and_sync(s: Script) -> None:
    """A changed subscription between join and sync starts a rebalance; syncs are sent away."""
    s.completing("a", "b", "c")
    s.sync("c", settle=True)
    s.join("b", protocols=RENEWED)
    s.wait("c")
    s.beat("a")
    s.join("c", "a", wait=("a", "b", "c"))


@case("JOIN-MEMBER-COMPLETING-CHANGED")
def changed_leader_between_join_and_sync(s: Script) -> None:
    """A leader whose subscription changed before it assigned starts a rebalance."""
    s.completing("A1", "b")
    s.join("A1", protocols=RENEWED, settle=True)
    s.join("b", wait=("A1", "b"))


@case("JOIN-MEMBER-COMPLETING-CHANGED", "JOIN-PHASE-ALL-JOINED")
def changed_dynamic_leader_between_join_and_sync(s: Script) -> None:
    """The same for a leader that is no static member: in the KIP's text that alone counts."""
    s.completing("a", "b")
    s.join("a", protocols=RENEWED, settle=True)
    s.join("b", wait=("a", "b"))


@case("JOIN-MEMBER-COMPLETING-CHANGED")
def changed_order_between_join_and_sync(s: Script) -> None:
    """The same protocols in another order are a change, for they are another vote."""
    s.completing("a", "b", protocols=BOTH)
    s.join("b", protocols=_SWAPPED, settle=True)
    s.join("a", protocols=_SWAPPED, wait=("a", "b"))


@case("JOIN-LEADER-STABLE", "JOIN-PHASE-ALL-JOINED")
def leader_rejoins(s: Script) -> None:
    """A leader that joins again, though unchanged, starts a rebalance."""
    s.stable("a", "b")
    s.join("a", settle=True)
    s.beat("b")
    s.join("b", wait=("a", "b"))
    s.synced("a", "b")


@case("JOIN-LEADER-STABLE", "JOIN-PHASE-ALL-JOINED")
def static_leader_rejoins(s: Script) -> None:
    """A static leader that joins again under its own id starts a rebalance and keeps its id."""
    s.stable("A1", "B1")
    s.join("A1", protocols=RENEWED, settle=True)
    s.beat("B1")
    s.join("B1", wait=("A1", "B1"))
    s.synced("A1", "B1")
    s.beat("A1")


@case("JOIN-FOLLOWER-STABLE-SAME", "HEARTBEAT-STABLE")
def unchanged_follower_rejoins(s: Script) -> None:
    """A follower that joins again unchanged is told the generation and disturbs nobody."""
    s.stable("a", "b", "C1")
    s.join("b", "C1", wait=True)
    s.sync("b", "C1", wait=True)
    s.beat("a")


@case("JOIN-FOLLOWER-STABLE-CHANGED", "JOIN-PHASE-ALL-JOINED")
def changed_follower_rejoins(s: Script) -> None:
    """A follower whose subscription changed starts a rebalance; the leader learns what is new."""
    s.stable("a", "b")
    s.join("b", protocols=RENEWED, settle=True)
    s.beat("a")
    s.join("a", wait=("a", "b"))
    s.synced("a", "b")


@case("JOIN-FOLLOWER-STABLE-CHANGED", "JOIN-PHASE-ALL-JOINED")
def changed_static_follower_rejoins(s: Script) -> None:
    """A static follower whose subscription changed starts a rebalance and keeps its id."""
    s.stable("A1", "B1")
    s.join("B1", protocols=RENEWED, settle=True)
    s.beat("A1")
    s.join("A1", wait=("A1", "B1"))
    s.beat("B1")


@case("JOIN-STATIC-EMPTY-STABLE", "JOIN-PHASE-ALL-JOINED")
def renewed_subscription_of_a_restart_waits(s: Script) -> None:
    """A restart with new metadata starts no rebalance; the next one tells the leader of it."""
    s.stable("a", "B1")
    s.join("B2", protocols=RENEWED, wait=True)
    s.beat("a")
    s.enter("n", settle=True)
    s.join("a")
    s.join("B2", protocols=RENEWED, wait=("a", "B2", "n"))


@case("JOIN-STATIC-EMPTY-STABLE", "JOIN-PHASE-EXPIRED")
def renewed_subscription_of_a_restart_is_kept(s: Script) -> None:
    """Metadata that came with a restart is the member's, also while it is absent."""
    s.says("a", "B1", "B2", "n", rebalance=Ms("short rebalance"))
    s.stable("a", "B1")
    s.join("B2", protocols=RENEWED, wait=True)
    s.enter("n")
    s.join("a", wait=("a", "n"))
