"""LeaveGroup: removal by each kind of id, in every state; batches; effects on other members."""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.script import NOBODY, Script
from fencepost.model.plans.steps import IdOf

CASES = Registry()
case = CASES.case

_V3 = (("LeaveGroup", 3),)
_LEGACY = (("LeaveGroup", 2),)


@case("LEAVE-GROUP-ID-INVALID", apis=_V3)
def no_group_name(s: Script) -> None:
    """A LeaveGroup has the group id "": the error is on top, and no row is answered."""
    s.leave("a", (NOBODY, None), ("", "A"), group="")


@case("LEAVE-GROUP-ID-INVALID", apis=_LEGACY)
def no_group_name_legacy(s: Script) -> None:
    """A LeaveGroup in version 2 or below has the group id "": it is refused."""
    s.leave_legacy("a", member_id=NOBODY, group="")


@case("LEAVE-GROUP-ABSENT", apis=_V3)
def no_group(s: Script) -> None:
    """A LeaveGroup names a group that doesn't exist: each row fails on its own."""
    s.leave("a", (NOBODY, None), ("", "A"), (NOBODY, "A"))


@case("LEAVE-GROUP-ABSENT-LEGACY", apis=(("LeaveGroup", 0), ("LeaveGroup", 2)))
def no_group_legacy(s: Script) -> None:
    """A LeaveGroup in version 2 or below names a group that doesn't exist: the error is on top."""
    s.leave_legacy("a", member_id=NOBODY)
    s.leave_legacy("a", member_id=NOBODY, version=0)


@case("LEAVE-MEMBER-NOBODY", "HEARTBEAT-STABLE", apis=_V3)
def rows_that_name_nobody(s: Script) -> None:
    """A row has no id, or an unmapped instance alone: no member is removed."""
    s.stable("a", "B1")
    s.leave("a", ("", None))
    s.leave("a", ("", "X"))
    s.beat("a", "B1")


@case("LEAVE-MEMBER-BY-INSTANCE", "JOIN-PHASE-ALL-JOINED", apis=_V3)
def by_instance(s: Script) -> None:
    """An administrator removes a static member by its instance alone: the others rebalance."""
    s.stable("a", "B1")
    s.leave("admin", ("", "B"))
    s.beat("a", "B1")
    s.join("a", wait=True)
    s.synced("a")


@case("LEAVE-MEMBER-BY-INSTANCE", "SYNC-COMPLETING-FOLLOWER", apis=_V3)
def by_instance_between_join_and_sync(s: Script) -> None:
    """A static member is removed in the sync phase: parked syncs end, and a rebalance starts."""
    s.completing("a", "B1", "c")
    s.sync("B1", "c")
    s.pause()
    s.leave("admin", ("", "B"))
    s.wait("B1", "c")
    s.join("a", "c", wait=("a", "c"))


@case("LEAVE-MEMBER-BY-INSTANCE-PREPARING", "JOIN-PHASE-ALL-JOINED", apis=_V3)
def by_instance_while_a_rebalance_waits(s: Script) -> None:
    """A rebalance waits for a static member alone: it ends when the member is removed."""
    s.preparing("a", "B1")
    s.join("a")
    s.pause()
    s.leave("admin", ("", "B"))
    s.wait("a", "n")


@case("LEAVE-MEMBER-BY-INSTANCE-PREPARING", "JOIN-MEMBER-PREPARING", apis=_V3)
def by_instance_while_its_join_waits(s: Script) -> None:
    """A static member is removed while its JoinGroup is parked: the JoinGroup is answered."""
    s.preparing("a", "B1")
    s.join("B1", settle=True)
    s.leave("admin", ("", "B"))
    s.wait("B1")
    s.join("a", wait=("a", "n"))


@case("LEAVE-MEMBER-BY-INSTANCE", "JOIN-STATIC-EMPTY-NEW", apis=_V3)
def removed_instance_comes_back(s: Script) -> None:
    """A removed instance joins again: it is a new member, and its old id is unknown."""
    s.stable("a", "B1")
    s.leave("admin", ("", "B"))
    s.join("B1", wait=True)
    s.join("B2", settle=True)
    s.join("a", wait=("a", "B2"))


@case("LEAVE-MEMBER-PENDING", "JOIN-UNKNOWN-MEMBER", apis=_V3)
def pending_id(s: Script) -> None:
    """A pending id leaves: it is no longer pending, and can't join."""
    s.stable("A1")
    s.join("n", member_id="", wait=True)
    s.leave("n")
    s.leave("n")
    s.join("n", wait=True)
    s.beat("A1")


@case("LEAVE-MEMBER-INSTANCE-UNMAPPED", "HEARTBEAT-STABLE", apis=_V3)
def instance_that_nobody_holds(s: Script) -> None:
    """A row names an unmapped instance and any member id: no member is removed (PR 9958)."""
    s.stable("a", "B1")
    s.leave("a", (IdOf("a"), "X"))
    s.leave("a", (IdOf("B1"), "X"))
    s.leave("a", (NOBODY, "X"))
    s.beat("a", "B1")


@case("LEAVE-MEMBER-INSTANCE-FENCED", "HEARTBEAT-STABLE", apis=_V3)
def wrong_id_evicts_nobody(s: Script) -> None:
    """A row names a mapped instance and a wrong id: no member is removed (kfake, 2026)."""
    s.stable("a", "B1", "C1")
    s.leave("a", (NOBODY, "B"))
    s.leave("a", (IdOf("a"), "B"))
    s.leave("a", (IdOf("C1"), "B"))
    s.beat("a", "B1", "C1")


@case("LEAVE-MEMBER-UNKNOWN", "HEARTBEAT-STABLE", apis=_V3)
def unknown_id(s: Script) -> None:
    """A row names an unknown id: no member is removed."""
    s.stable("a")
    s.leave("a", (NOBODY, None))
    s.beat("a")


@case("LEAVE-MEMBER", "JOIN-PHASE-ALL-JOINED", apis=_V3)
def follower_leaves(s: Script) -> None:
    """A follower leaves a stable group: it is unknown, and the others rebalance."""
    s.stable("a", "b")
    s.leave("b")
    s.beat("a", "b")
    s.join("a", wait=True)


@case("LEAVE-MEMBER", "JOIN-PHASE-ALL-JOINED", apis=_V3)
def static_member_leaves_by_both_ids(s: Script) -> None:
    """A static member leaves by both ids: it is removed at once, and its instance is unmapped."""
    s.stable("a", "B1")
    s.leave("B1")
    s.beat("a", "B1")
    s.join("a", wait=True)
    s.join("B2", settle=True)
    s.join("a", wait=("a", "B2"))


@case("LEAVE-MEMBER", "HEARTBEAT-PREPARING", apis=_V3)
def static_member_leaves_by_its_id_alone(s: Script) -> None:
    """A static member leaves by its id alone: it is removed, and its instance is unmapped."""
    s.stable("a", "B1")
    s.leave("B1", (IdOf("B1"), None))
    s.beat("a", "B1")
    s.beat("B1", instance=None)


@case("LEAVE-MEMBER", "JOIN-PHASE-ALL-JOINED", apis=_V3)
def leader_leaves(s: Script) -> None:
    """The leader leaves a stable group: the others rebalance, and one of them leads."""
    s.stable("a", "b", "C1")
    s.leave("a")
    s.beat("b")
    s.join("b", "C1", wait=("b", "C1"))
    s.synced("b", "C1")
    s.beat("C1")


@case("LEAVE-MEMBER", "JOIN-STATIC-EMPTY-NEW", apis=_V3)
def somebody_new_when_the_leader_left(s: Script) -> None:
    """The leader leaves and a new member joins: a member that stayed leads."""
    s.stable("a", "b")
    s.leave("a")
    s.join("C1", settle=True)
    s.join("b", wait=("b", "C1"))
    s.synced("b", "C1")


@case("LEAVE-MEMBER", "JOIN-PHASE-ALL-LEFT", apis=_V3)
def last_member_leaves(s: Script) -> None:
    """The last member leaves: the group becomes Empty in the next generation, and can be joined."""
    s.stable("A1")
    s.leave("A1")
    s.beat("A1")
    s.join("B1", wait=True)
    s.synced("B1")


@case("LEAVE-MEMBER", "SYNC-COMPLETING-FOLLOWER", apis=_V3)
def member_leaves_between_join_and_sync(s: Script) -> None:
    """A member leaves while its sync is parked: it is answered; the others must rejoin."""
    s.completing("a", "b", "c")
    s.sync("b", "c")
    s.pause()
    s.leave("admin", (IdOf("b"), None))
    s.wait("b", "c")
    s.join("c", "a", wait=("a", "c"))


@case("LEAVE-MEMBER", "JOIN-PHASE-ALL-JOINED", apis=_V3)
def leader_leaves_between_join_and_sync(s: Script) -> None:
    """The leader leaves in the sync phase: a rebalance starts, and another member leads."""
    s.completing("a", "b", "c")
    s.sync("b", settle=True)
    s.leave("a")
    s.wait("b")
    s.join("b", "c", wait=("b", "c"))
    s.synced("b", "c")


@case("LEAVE-MEMBER-PREPARING", "JOIN-PHASE-ALL-JOINED", apis=_V3)
def absent_member_leaves(s: Script) -> None:
    """A member leaves in the join phase: the rebalance no longer waits for it."""
    s.preparing("a", "b")
    s.join("a")
    s.pause()
    s.leave("b")
    s.wait("a", "n")


@case("LEAVE-MEMBER-PREPARING", "JOIN-PHASE-ALL-JOINED", apis=_V3)
def waiting_member_leaves(s: Script) -> None:
    """A member leaves while its JoinGroup is parked: the JoinGroup gets UNKNOWN_MEMBER_ID."""
    s.preparing("a", "b")
    s.join("b", settle=True)
    s.leave("admin", (IdOf("b"), None))
    s.wait("b")
    s.join("a", wait=("a", "n"))


@case("JOIN-PHASE-ALL-LEFT", "LEAVE-MEMBER-PREPARING", apis=_V3)
def everybody_leaves_during_a_rebalance(s: Script) -> None:
    """All members leave in the join phase: the group becomes Empty in the next generation."""
    s.stable("a", "B1")
    s.join("n", member_id="", wait=True)
    s.join("n", settle=True)
    s.leave("a")
    s.leave("admin", (IdOf("n"), None))
    s.wait("n")
    s.leave("B1")
    s.join("C1", wait=True)


# Several rows in one request: each is handled on its own.


@case("LEAVE-MEMBER-BY-INSTANCE", "LEAVE-ROWS", apis=_V3)
def scale_down_by_instances(s: Script) -> None:
    """An administrator removes several instances in one request: all are removed."""
    s.stable("A1", "B1", "C1")
    s.leave("admin", ("", "B"), ("", "C"))
    s.beat("B1", "C1")
    s.join("A1", wait=True)
    s.synced("A1")


@case(
    "LEAVE-MEMBER-BY-INSTANCE",
    "JOIN-STATIC-EMPTY-NEW",
    "HEARTBEAT-INSTANCE-UNMAPPED",
    "HEARTBEAT-INSTANCE-FENCED",
    apis=_V3,
)
def one_of_two_removed_instances_returns(s: Script) -> None:
    """One request removes two instances, and the first returns: it is a new member."""
    s.stable("a", "B1", "C1")
    s.leave("admin", ("", "B"), ("", "C"))
    s.join("B2", settle=True)
    s.join("a", wait=("a", "B2"))
    s.synced("a", "B2")
    s.beat("B2", "B1", "C1")
    s.join("C2", settle=True)
    s.beat("a", "B2")


@case("LEAVE-MEMBER-BY-INSTANCE", "JOIN-STATIC-EMPTY-NEW", "SYNC-INSTANCE-UNMAPPED", apis=_V3)
def second_of_two_removed_instances_returns(s: Script) -> None:
    """One request removes two instances, and the second returns: it is a new member."""
    s.stable("a", "B1", "C1")
    s.leave("admin", ("", "B"), ("", "C"))
    s.join("C2", settle=True)
    s.join("a", wait=("a", "C2"))
    s.synced("a", "C2")
    s.sync("B1", "C1", wait=True)
    s.beat("C2")
    s.join("B2", settle=True)
    s.beat("a", "C2")


@case("LEAVE-MEMBER", "JOIN-STATIC-EMPTY-NEW", "HEARTBEAT-INSTANCE-FENCED", apis=_V3)
def one_of_two_members_that_left_returns(s: Script) -> None:
    """One request removes two members by both ids, and one returns: it is a new member."""
    s.stable("A1", "b", "C1")
    s.leave("admin", (IdOf("A1"), "A"), (IdOf("C1"), "C"))
    s.join("C2", settle=True)
    s.join("b", wait=("b", "C2"))
    s.synced("b", "C2")
    s.beat("A1", "C1", "C2")


@case(
    "LEAVE-MEMBER-BY-INSTANCE-PREPARING",
    "JOIN-STATIC-EMPTY-NEW",
    "JOIN-PHASE-ALL-JOINED",
    apis=_V3,
)
def one_of_two_removed_instances_returns_to_a_rebalance(s: Script) -> None:
    """Two instances with parked joins are removed, and one returns: the rebalance counts it."""
    s.preparing("a", "B1", "C1")
    s.join("B1", "C1", settle=True)
    s.leave("admin", ("", "B"), ("", "C"))
    s.wait("B1", "C1")
    s.join("B2", settle=True)
    s.join("a", wait=("a", "n", "B2"))
    s.synced("a", "n", "B2")


@case("LEAVE-MEMBER-BY-INSTANCE", "JOIN-PHASE-ALL-LEFT", apis=_V3)
def all_instances(s: Script) -> None:
    """An administrator removes all instances in one request: the group becomes Empty."""
    s.stable("A1", "B1")
    s.leave("admin", ("", "A"), ("", "B"))
    s.beat("A1")


@case(
    "LEAVE-MEMBER-NOBODY",
    "LEAVE-MEMBER-INSTANCE-UNMAPPED",
    "LEAVE-MEMBER-INSTANCE-FENCED",
    "LEAVE-MEMBER-UNKNOWN",
    "LEAVE-MEMBER-PENDING",
    apis=_V3,
)
def every_kind_of_row(s: Script) -> None:
    """One LeaveGroup has each kind of row: each row is answered on its own, in the order sent."""
    s.stable("a", "B1", "C1", "d")
    s.join("n", member_id="", wait=True)
    s.leave(
        "admin",
        ("", "X"),
        (NOBODY, "X"),
        (NOBODY, "B"),
        (NOBODY, None),
        (IdOf("n"), None),
        ("", "B"),
        (IdOf("C1"), "C"),
        (IdOf("d"), None),
    )
    s.beat("B1", "a")
    s.join("a", wait=True)


@case("LEAVE-MEMBER-NOBODY", "LEAVE-MEMBER-BY-INSTANCE", apis=_V3)
def same_instance_twice(s: Script) -> None:
    """Two rows name the same instance: the second removes no member."""
    s.stable("a", "B1")
    s.leave("admin", ("", "B"), ("", "B"))
    s.beat("a")


@case("LEAVE-MEMBER-UNKNOWN", "LEAVE-MEMBER", apis=_V3)
def same_member_twice(s: Script) -> None:
    """Two rows name the same member id: the second is unknown."""
    s.stable("a", "b")
    s.leave("b", (IdOf("b"), None), (IdOf("b"), None))
    s.join("a", wait=True)


@case("LEAVE-MEMBER-INSTANCE-UNMAPPED", "LEAVE-MEMBER-BY-INSTANCE", apis=_V3)
def same_static_member_by_different_ids(s: Script) -> None:
    """Two rows name the same static member by different ids: the second is unknown."""
    s.stable("a", "B1")
    s.leave("admin", ("", "B"), (IdOf("B1"), "B"), (IdOf("B1"), None))
    s.join("a", wait=True)


@case("LEAVE-MEMBER-INSTANCE-FENCED", "LEAVE-MEMBER", apis=_V3)
def one_bad_row_stops_nobody(s: Script) -> None:
    """One row of a LeaveGroup is fenced: the other rows are handled."""
    s.stable("a", "B1", "C1")
    s.leave("admin", (NOBODY, "B"), (IdOf("C1"), "C"))
    s.beat("B1", "C1")
    s.join("a", "B1", wait=("a", "B1"))


@case("LEAVE-MEMBER-BY-INSTANCE-PREPARING", "JOIN-PHASE-ALL-JOINED", apis=_V3)
def several_absent_members(s: Script) -> None:
    """A rebalance waits for several members: it ends when all of them are removed."""
    s.preparing("a", "B1", "C1", "d")
    s.join("a")
    s.pause()
    s.leave("admin", ("", "B"), ("", "C"), (IdOf("d"), None))
    s.wait("a", "n")


@case("LEAVE-ROWS", "HEARTBEAT-STABLE", apis=_V3)
def no_rows(s: Script) -> None:
    """A LeaveGroup has no rows: no member is removed."""
    s.stable("A1")
    s.ask("admin", "LeaveGroup", group_id="g", members=())
    s.beat("A1")


@case("LEAVE-MEMBER", "JOIN-PHASE-ALL-JOINED", apis=(("LeaveGroup", 0), ("LeaveGroup", 2)))
def legacy_leaves(s: Script) -> None:
    """A member, dynamic or static, leaves in version 2 or below: its member id alone is checked."""
    s.stable("a", "b", "C1")
    s.leave_legacy("b", version=0)
    s.leave_legacy("C1", version=2)
    s.beat("b")
    s.join("a", wait=True)


@case("LEAVE-MEMBER-UNKNOWN", "LEAVE-MEMBER-NOBODY", apis=(("LeaveGroup", 1),))
def legacy_unknown(s: Script) -> None:
    """An unknown or empty id leaves in version 2 or below: the error is on top."""
    s.stable("a")
    s.leave_legacy("a", member_id=NOBODY, version=1)
    s.leave_legacy("a", member_id="", version=1)
    s.beat("a")


@case("LEAVE-MEMBER-UNKNOWN", "JOIN-PHASE-ALL-LEFT", apis=(("LeaveGroup", 2),))
def legacy_twice(s: Script) -> None:
    """The last member leaves twice: the group becomes Empty, and the second leave is unknown."""
    s.stable("a")
    s.leave_legacy("a")
    s.leave_legacy("a")


@case("LEAVE-MEMBER-PENDING", "JOIN-UNKNOWN-MEMBER", apis=(("LeaveGroup", 2),))
def legacy_pending_id(s: Script) -> None:
    """A pending id leaves in version 2 or below: it is no longer pending."""
    s.stable("a")
    s.join("n", member_id="", wait=True)
    s.leave_legacy("n")
    s.join("n", wait=True)
