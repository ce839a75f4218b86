"""DescribeGroups and ListGroups: the view of a group in each state."""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.script import RANGE, Script

CASES = Registry()
case = CASES.case

_INSTANCES = (("DescribeGroups", 4),)
_LIST = (("ListGroups", 0),)


@case("DESCRIBE-ABSENT-LEGACY", apis=(("DescribeGroups", 0),))
def no_group_legacy(s: Script) -> None:
    """Up to version 5 a group that doesn't exist is described as Dead."""
    s.describe(at_most=5)
    s.describe(version=0)


@case("DESCRIBE-ABSENT", apis=(("DescribeGroups", 6),))
def no_group(s: Script) -> None:
    """From version 6 on a group that doesn't exist is an error."""
    s.describe(version=6)


@case("DESCRIBE-STABLE", apis=_INSTANCES)
def stable_group(s: Script) -> None:
    """A stable group is shown with its members, their instances, metadata and assignments."""
    s.stable("A1", "b", protocols=RANGE)
    s.describe()


@case("DESCRIBE-STABLE")
def stable_group_without_instances(s: Script) -> None:
    """A stable group is shown with its members, in versions that name no instances."""
    s.stable("a", "b")
    s.describe(at_most=3)


@case("DESCRIBE-STABLE", "JOIN-STATIC-EMPTY-STABLE", apis=_INSTANCES)
def stable_group_after_a_restart(s: Script) -> None:
    """A restarted static member is shown once, under its new id, with its old assignment."""
    s.stable("A1", "B1")
    s.join("B2", wait=True)
    s.describe()
    s.join("A2", wait=True)
    s.describe()


@case("DESCRIBE-UNSTABLE", apis=_INSTANCES)
def empty_group(s: Script) -> None:
    """An Empty group has no members."""
    s.stable("a")
    s.leave("a")
    s.describe(at_most=5)


@case("DESCRIBE-UNSTABLE")
def rebalances_without_instances(s: Script) -> None:
    """In a rebalance a group is shown with its state, in versions that name no instances."""
    s.completing("a", "b")
    s.describe(at_most=3)
    s.synced("a", "b")
    s.enter("n", settle=True)
    s.describe(at_most=3)


@case("DESCRIBE-UNSTABLE", "JOIN-PROTOCOLS-INCONSISTENT", apis=_INSTANCES, isolated=True)
def group_of_a_refused_member(s: Script) -> None:
    """A first member that is refused for its protocols leaves an Empty group."""
    s.join("A1", protocols=(), wait=True)
    s.describe()


@case("DESCRIBE-UNSTABLE", apis=_INSTANCES)
def group_that_prepares_a_rebalance(s: Script) -> None:
    """While a rebalance is prepared all members are shown, the new ones, too."""
    s.stable("A1", "b")
    s.join("N1", settle=True)
    s.describe()


@case("DESCRIBE-UNSTABLE", apis=_INSTANCES)
def group_that_awaits_its_assignment(s: Script) -> None:
    """Between join and sync all members are shown."""
    s.completing("A1", "b")
    s.describe()


@case("DESCRIBE-STABLE", "JOIN-DYNAMIC-EMPTY", apis=_INSTANCES)
def pending_ids_are_no_members(s: Script) -> None:
    """An id that was handed out and not used is no member."""
    s.stable("A1")
    s.join("n", member_id="", wait=True)
    s.describe()


@case("DESCRIBE-STABLE", "LEAVE-MEMBER-BY-INSTANCE", apis=(*_INSTANCES, ("LeaveGroup", 3)))
def scale_down_seen_from_outside(s: Script) -> None:
    """After an instance was removed and the others joined again it is shown no more."""
    s.stable("A1", "B1")
    s.leave("admin", ("", "B"))
    s.join("A1", wait=True)
    s.synced("A1")
    s.describe()


@case("LIST-GROUP", apis=_LIST)
def group_is_listed(s: Script) -> None:
    """A group that exists is listed, with members and without."""
    s.stable("a")
    s.list_groups()
    s.leave("a")
    s.list_groups()


@case("LIST-GROUP", "JOIN-DYNAMIC-EMPTY", apis=_LIST)
def groups_of_ids_that_were_handed_out(s: Script) -> None:
    """Who is only given an id has made the group: it is listed later on, and at once."""
    s.join("a", member_id="", wait=True, settle=True)
    s.list_groups()
    s.join("b", member_id="", group="h", wait=True)
    s.list_groups()


@case("LIST-GROUP", apis=(("ListGroups", 4),))
def groups_by_state(s: Script) -> None:
    """From version 4 on groups are listed with their state and can be chosen by it."""
    s.stable("A1")
    s.list_groups(states=("Stable",))
    s.list_groups(states=("Empty", "PreparingRebalance"))
    s.join("B1", settle=True)
    s.list_groups(states=("PreparingRebalance",))


@case("LIST-NO-GROUP", apis=_LIST)
def no_group_is_listed(s: Script) -> None:
    """A group that doesn't exist is not listed, though somebody asked for it."""
    s.beat("a", member_id="nobody", generation=1)
    s.list_groups()
