"""Long sequences: the guarantees for which users choose static membership."""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.script import Script
from fencepost.model.plans.steps import GenerationOf, IdOf, Ms

CASES = Registry()
case = CASES.case

_V3 = (("LeaveGroup", 3),)


@case("JOIN-STATIC-EMPTY-STABLE", "SYNC-STABLE", "HEARTBEAT-STABLE")
def rolling_restart_without_a_rebalance(s: Script) -> None:
    """All static members restart, one after the other: same generation, same assignments."""
    s.stable("A1", "B1", "C1")
    for old, new in (("C1", "C2"), ("B1", "B2"), ("A1", "A2"), ("C2", "C3")):
        s.join(new, wait=True)
        s.sync(new, wait=True)
        s.beat(old)
        s.beat(new)
    s.beat("A2", "B2", "C3")


@case("JOIN-DYNAMIC-EMPTY", "LEAVE-MEMBER", "JOIN-PHASE-ALL-JOINED", apis=_V3)
def restart_of_a_dynamic_member(s: Script) -> None:
    """A dynamic member restarts: one rebalance when it leaves, one when it comes back."""
    s.stable("a", "b")
    s.leave("b")
    s.beat("a")
    s.join("a", wait=True)
    s.synced("a")
    s.join("c", member_id="", wait=True)
    s.join("c", settle=True)
    s.beat("a")
    s.join("a", wait=("a", "c"))
    s.synced("a", "c")


@case(
    "HEARTBEAT-INSTANCE-FENCED",
    "SYNC-INSTANCE-FENCED",
    "COMMIT-INSTANCE-FENCED",
    "JOIN-INSTANCE-FENCED",
    "LEAVE-MEMBER-INSTANCE-FENCED",
    apis=_V3,
)
def replaced_ids_are_never_valid_again(s: Script) -> None:
    """A static member restarts twice: both old ids stay fenced."""
    s.stable("A1", "B1")
    s.join("B2", "B3", wait=True)
    for old in ("B1", "B2"):
        s.beat(old)
        s.sync(old, wait=True)
        s.commit(old)
        s.join(old, wait=True)
        s.leave(old)
    for api in (s.beat, s.commit):
        api("B1", instance=None)
    s.leave("B1", (IdOf("B1"), None))
    s.beat("B3", "A1")


@case("JOIN-STATIC-EMPTY-STABLE", "JOIN-INSTANCE-FENCED", "HEARTBEAT-STABLE")
def ping_pong_of_two_processes(s: Script) -> None:
    """Two processes of one instance join in turn: each gets a new id and fences the other."""
    s.stable("A1", "B1")
    for new, old in (("B2", "B1"), ("B1", "B2"), ("B2", "B1")):
        s.join(new, member_id="", wait=True)
        s.beat(old)
        s.join(old, wait=True)
        s.beat(new)
    s.beat("B2", member_id=IdOf("B2", back=1))
    s.beat("B1", member_id=IdOf("B1", back=1))


@case("JOIN-STATIC-EMPTY-PREPARING", "HEARTBEAT-INSTANCE-FENCED", "HEARTBEAT-COMPLETING")
def ping_pong_during_a_rebalance(s: Script) -> None:
    """Processes replace each other in the join phase: the last one is the member."""
    s.stable("x")
    s.join("A1", settle=True)
    s.join("A2")
    s.wait("A1")
    s.join("A3")
    s.wait("A2")
    s.join("x", wait=("A3", "x"))
    s.beat("A3", "A2")


@case("JOIN-STATIC-EMPTY-STABLE", "LEAVE-MEMBER", "JOIN-PHASE-ALL-JOINED", apis=_V3)
def leader_restarts_and_leaves(s: Script) -> None:
    """A leader restarts and leaves: it led until then, and another member leads."""
    s.stable("A1", "b", "C1")
    s.join("A2", wait=True)
    s.leave("A1")
    s.beat("b")
    s.leave("A2")
    s.join("b", "C1", wait=("b", "C1"))
    s.synced("b", "C1")


@case("JOIN-STATIC-EMPTY-STABLE", "JOIN-LEADER-STABLE", "SYNC-COMPLETING-LEADER")
def restarted_leader_leads_the_next_generation(s: Script) -> None:
    """A leader restarts: it leads the next generation under its new id."""
    s.stable("A1", "b")
    s.join("A2", wait=True)
    s.join("A2", settle=True)
    s.join("b", wait=("A2", "b"))
    s.sync("b", settle=True)
    s.sync("A2", assign=("A2", "b"), wait=("A2", "b"))


@case("JOIN-STATIC-EMPTY-COMPLETING", "JOIN-PHASE-ALL-JOINED", "SYNC-COMPLETING-LEADER")
def leader_restarts_before_it_assigns(s: Script) -> None:
    """A leader restarts in the sync phase: it leads the rebalance that follows."""
    s.completing("A1", "b")
    s.sync("b", settle=True)
    s.join("A2")
    s.wait("b")
    s.sync("A1", wait=True)
    s.join("b", wait=("A2", "b"))
    s.synced("A2", "b")


@case("JOIN-STATIC-EMPTY-COMPLETING", "SYNC-INSTANCE-FENCED", "SYNC-COMPLETING-FOLLOWER")
def waiting_sync_of_a_replaced_process(s: Script) -> None:
    """A process with a parked sync is replaced: the sync is fenced."""
    s.completing("a", "B1")
    s.sync("B1")
    s.pause()
    s.join("B2")
    s.wait("B1")
    s.sync("B1", wait=True)
    s.join("a", wait=("a", "B2"))


@case(
    "JOIN-STATIC-EMPTY-STABLE",
    "JOIN-PHASE-EXPIRED",
    "HEARTBEAT-PREPARING",
    "JOIN-MEMBER-COMPLETING-SAME",
)
def static_and_dynamic_side_by_side(s: Script) -> None:
    """A static and a dynamic member miss a rebalance: the dynamic one is removed."""
    s.says("a", "b", "C1", "C2", "n", rebalance=Ms("short rebalance"))
    s.stable("a", "b", "C1")
    s.join("C2", wait=True)
    s.beat("b")
    s.enter("n", settle=True)
    s.beat("b", "C2")
    s.join("a", wait=("a", "n"))
    s.beat("b")
    s.join("C2", wait=True)
    s.synced("a", "C2", "n")
    s.beat("C2")


@case("LEAVE-MEMBER-BY-INSTANCE", "JOIN-STATIC-EMPTY-NEW", "JOIN-STATIC-EMPTY-STABLE", apis=_V3)
def life_of_a_static_member(s: Script) -> None:
    """A static member joins, commits, restarts, is removed, and joins again as a new member."""
    s.stable("a", "B1")
    s.commit("B1", offset=4)
    s.join("B2", wait=True)
    s.sync("B2", wait=True)
    s.commit("B2", offset=5)
    s.leave("admin", ("", "B"))
    s.commit("B2", offset=6)
    s.join("a", wait=True)
    s.synced("a")
    s.join("B3", settle=True)
    s.join("a", wait=("a", "B3"))
    s.synced("a", "B3")
    s.fetch("B3")


@case("JOIN-STATIC-EMPTY-NEW", "JOIN-PHASE-ALL-JOINED", "JOIN-STATIC-EMPTY-STABLE")
def scale_up(s: Script) -> None:
    """A new instance joins: one rebalance. It restarts in the stable group: none."""
    s.stable("A1", "B1")
    s.rebalanced("A1", "B1", joining=("C1",))
    s.synced("A1", "B1", "C1")
    s.join("C2", wait=True)
    s.sync("C2", wait=True)
    s.beat("A1", "B1")


@case("JOIN-STATIC-EMPTY-PREPARING", "JOIN-PHASE-ALL-JOINED")
def restart_completes_a_rebalance(s: Script) -> None:
    """A rebalance waits for an absent instance: its restart ends the wait."""
    s.preparing("a", "B1")
    s.beat("a")
    s.join("a", settle=True)
    s.join("B2", wait=("a", "B2", "n"))
    s.synced("a", "B2", "n")


@case("HEARTBEAT-ILLEGAL-GENERATION", "JOIN-FOLLOWER-STABLE-SAME")
def generations_only_grow(s: Script) -> None:
    """A group rebalances: the generation grows by one, and older generations are refused."""
    s.stable("a", "b")
    for _ in range(3):
        s.join("a", settle=True)
        s.join("b", wait=("a", "b"))
        s.synced("a", "b")
        s.beat("b", generation=GenerationOf("b", plus=-1))
    s.join("b", wait=True)


@case("JOIN-STATIC-EMPTY-PREPARING", "JOIN-PHASE-ALL-JOINED", features=("disconnect",))
def connection_drops_while_a_join_waits(s: Script) -> None:
    """A process dies while its join is parked: the next process of its instance replaces it."""
    s.preparing("a", "B1")
    s.beat("a")
    s.join("B1", settle=True)
    s.disconnect("B1")
    s.join("B2", settle=True)
    s.join("a", wait=("a", "B2", "n"))
    s.synced("a", "B2", "n")


@case("JOIN-STATIC-EMPTY-NEW", "JOIN-GROUP-ABSENT", "HEARTBEAT-STABLE")
def groups_know_nothing_of_each_other(s: Script) -> None:
    """One instance id joins two groups: it has a member in each, with separate ids."""
    s.stable("A1")
    s.join("A1", group="h", wait=True)
    s.join("A2", group="h", member_id="", wait=True)
    s.beat("A1")


@case("SYNC-COMPLETING-LEADER", "SYNC-STABLE", features=("disconnect",))
def connection_drops_while_a_sync_waits(s: Script) -> None:
    """A follower's connection drops while its sync is parked: it syncs again."""
    s.completing("a", "b", "C1")
    s.sync("b", "C1", settle=True)
    s.disconnect("b")
    s.sync("b", connection="b again", settle=True)
    s.disconnect("C1")
    s.sync("a", assign=("a", "b", "C1"), wait=("a", "b"))
    s.sync("C1", connection="C1 again", wait=True)
