"""Members that join again under their own id, in every group state; superseded joins.

A rejoin starts a rebalance if the member is the leader of a stable group, or if what it offers has
changed.
"""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.group_set_up import subscription
from fencepost.conformance.cases.script import BOTH, RENEWED, ROUNDROBIN, Script
from fencepost.model.plans.plan import Ms

CASES = Registry()
case = CASES.case

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
