"""LeaveGroup with several rows, and up to version 2 with one: rows are handled on their own."""

from __future__ import annotations

from fencepost.conformance.catalogue.registry import Registry
from fencepost.conformance.catalogue.script import NOBODY, Script
from fencepost.conformance.plans.plan import IdOf

CASES = Registry()
case = CASES.case

_V3 = (("LeaveGroup", 3),)


@case("LEAVE-MEMBER-BY-INSTANCE", "LEAVE-ROWS", apis=_V3)
def scale_down_by_instances(s: Script) -> None:
    """Several instances are removed in one request, as an administrator scales down."""
    s.stable("A1", "B1", "C1")
    s.leave("admin", ("", "B"), ("", "C"))
    s.beat("B1", "C1")
    s.join("A1", wait=True)
    s.synced("A1")


@case("LEAVE-MEMBER-BY-INSTANCE", "JOIN-PHASE-ALL-LEFT", apis=_V3)
def all_instances(s: Script) -> None:
    """All members are removed in one request; the group is Empty."""
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
    """One request with every kind of row: each is answered on its own, in the order sent."""
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
    """The second row of the same instance finds nobody."""
    s.stable("a", "B1")
    s.leave("admin", ("", "B"), ("", "B"))
    s.beat("a")


@case("LEAVE-MEMBER-UNKNOWN", "LEAVE-MEMBER", apis=_V3)
def same_member_twice(s: Script) -> None:
    """The second row of the same id finds nobody."""
    s.stable("a", "b")
    s.leave("b", (IdOf("b"), None), (IdOf("b"), None))
    s.join("a", wait=True)


@case("LEAVE-MEMBER-INSTANCE-UNMAPPED", "LEAVE-MEMBER-BY-INSTANCE", apis=_V3)
def same_static_member_by_different_ids(s: Script) -> None:
    """A member that an earlier row removed is unknown to a later row by its other id."""
    s.stable("a", "B1")
    s.leave("admin", ("", "B"), (IdOf("B1"), "B"), (IdOf("B1"), None))
    s.join("a", wait=True)


@case("LEAVE-MEMBER-INSTANCE-FENCED", "LEAVE-MEMBER", apis=_V3)
def one_bad_row_stops_nobody(s: Script) -> None:
    """A fenced row doesn't keep the others of its request from being done."""
    s.stable("a", "B1", "C1")
    s.leave("admin", (NOBODY, "B"), (IdOf("C1"), "C"))
    s.beat("B1", "C1")
    s.join("a", "B1", wait=("a", "B1"))


@case("LEAVE-MEMBER-BY-INSTANCE-PREPARING", "JOIN-PHASE-ALL-JOINED", apis=_V3)
def several_absent_members(s: Script) -> None:
    """A rebalance that waits for several members is completed when all of them are removed."""
    s.preparing("a", "B1", "C1", "d")
    s.join("a")
    s.pause()
    s.leave("admin", ("", "B"), ("", "C"), (IdOf("d"), None))
    s.wait("a", "n")


@case("LEAVE-ROWS", "HEARTBEAT-STABLE", apis=_V3)
def no_rows(s: Script) -> None:
    """A request without rows removes nobody."""
    s.stable("A1")
    s.ask("admin", "LeaveGroup", group_id="g", members=())
    s.beat("A1")


@case("LEAVE-MEMBER", "JOIN-PHASE-ALL-JOINED", apis=(("LeaveGroup", 0), ("LeaveGroup", 2)))
def legacy_leaves(s: Script) -> None:
    """Up to version 2 one member leaves by its id alone, a static one, too."""
    s.stable("a", "b", "C1")
    s.leave_legacy("b", version=0)
    s.leave_legacy("C1", version=2)
    s.beat("b")
    s.join("a", wait=True)


@case("LEAVE-MEMBER-UNKNOWN", "LEAVE-MEMBER-NOBODY", apis=(("LeaveGroup", 1),))
def legacy_unknown(s: Script) -> None:
    """Up to version 2 an unknown or an empty id is refused at top level."""
    s.stable("a")
    s.leave_legacy("a", member_id=NOBODY, version=1)
    s.leave_legacy("a", member_id="", version=1)
    s.beat("a")


@case("LEAVE-MEMBER-UNKNOWN", "JOIN-PHASE-ALL-LEFT", apis=(("LeaveGroup", 2),))
def legacy_twice(s: Script) -> None:
    """The last member leaves, and again; then the group is Empty and knows nobody."""
    s.stable("a")
    s.leave_legacy("a")
    s.leave_legacy("a")


@case("LEAVE-MEMBER-PENDING", "JOIN-UNKNOWN-MEMBER", apis=(("LeaveGroup", 2),))
def legacy_pending_id(s: Script) -> None:
    """Up to version 2 a pending id can be given back, too."""
    s.stable("a")
    s.join("n", member_id="", wait=True)
    s.leave_legacy("n")
    s.join("n", wait=True)
