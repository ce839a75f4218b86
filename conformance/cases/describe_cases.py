"""DescribeGroups, ListGroups and DeleteGroups: what administrators see and delete in each state."""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.offset_cases import commit_by_hand
from fencepost.conformance.cases.script import RANGE, Script
from fencepost.model.plans.steps import Ms

CASES = Registry()
case = CASES.case

_INSTANCES = (("DescribeGroups", 4),)
_LIST = (("ListGroups", 0),)
_DELETE = (("DeleteGroups", 0),)
_LEAVE = (("LeaveGroup", 3),)


@case("DESCRIBE-ABSENT-LEGACY", apis=(("DescribeGroups", 0),))
def no_group_legacy(s: Script) -> None:
    """DescribeGroups v5 or below names a group that doesn't exist: its state is Dead."""
    s.describe(at_most=5)
    s.describe(version=0)


@case("DESCRIBE-ABSENT", apis=(("DescribeGroups", 6),))
def no_group(s: Script) -> None:
    """DescribeGroups v6 names a group that doesn't exist: GROUP_ID_NOT_FOUND."""
    s.describe(version=6)


@case("DESCRIBE-STABLE", apis=_INSTANCES)
def stable_group(s: Script) -> None:
    """A stable group is described: members, instance ids, metadata and assignments."""
    s.stable("A1", "b", protocols=RANGE)
    s.describe()


@case("DESCRIBE-STABLE")
def stable_group_without_instances(s: Script) -> None:
    """A stable group is described in versions without instance ids: members and assignments."""
    s.stable("a", "b")
    s.describe(at_most=3)


@case("DESCRIBE-STABLE", "JOIN-STATIC-EMPTY-STABLE", apis=_INSTANCES)
def stable_group_after_a_restart(s: Script) -> None:
    """A static member has restarted: it is described once, with its new id and old assignment."""
    s.stable("A1", "B1")
    s.join("B2", wait=True)
    s.describe()
    s.join("A2", wait=True)
    s.describe()


@case("DESCRIBE-UNSTABLE", apis=_INSTANCES)
def empty_group(s: Script) -> None:
    """An Empty group is described: it has no members."""
    s.stable("a")
    s.leave("a")
    s.describe(at_most=5)


@case("DESCRIBE-UNSTABLE")
def rebalances_without_instances(s: Script) -> None:
    """A rebalancing group is described in versions without instance ids: its state and members."""
    s.completing("a", "b")
    s.describe(at_most=3)
    s.synced("a", "b")
    s.enter("n", settle=True)
    s.describe(at_most=3)


@case("DESCRIBE-UNSTABLE", "JOIN-PROTOCOLS-INCONSISTENT", apis=_INSTANCES, isolated=True)
def group_of_a_refused_member(s: Script) -> None:
    """The first member is refused for its protocols: the group is described as Empty."""
    s.join("A1", protocols=(), wait=True)
    s.describe()


@case("DESCRIBE-UNSTABLE", apis=_INSTANCES)
def group_that_prepares_a_rebalance(s: Script) -> None:
    """A group is described in the join phase: all members, new ones, too."""
    s.stable("A1", "b")
    s.join("N1", settle=True)
    s.describe()


@case("DESCRIBE-UNSTABLE", apis=_INSTANCES)
def group_that_awaits_its_assignment(s: Script) -> None:
    """A group is described in the sync phase: all members."""
    s.completing("A1", "b")
    s.describe()


@case("DESCRIBE-STABLE", "JOIN-DYNAMIC-EMPTY", apis=_INSTANCES)
def pending_ids_are_no_members(s: Script) -> None:
    """A group with a pending id is described: the id isn't among its members."""
    s.stable("A1")
    s.join("n", member_id="", wait=True)
    s.describe()


@case("DESCRIBE-STABLE", "LEAVE-MEMBER-BY-INSTANCE", apis=(*_INSTANCES, ("LeaveGroup", 3)))
def scale_down_seen_from_outside(s: Script) -> None:
    """An instance was removed, and the others have rejoined: it is no longer described."""
    s.stable("A1", "B1")
    s.leave("admin", ("", "B"))
    s.join("A1", wait=True)
    s.synced("A1")
    s.describe()


@case("LIST-GROUP", apis=_LIST)
def group_is_listed(s: Script) -> None:
    """Groups are listed: each group that exists is in the list, with or without members."""
    s.stable("a")
    s.list_groups()
    s.leave("a")
    s.list_groups()


@case("LIST-GROUP", "JOIN-DYNAMIC-EMPTY", apis=_LIST)
def groups_of_ids_that_were_handed_out(s: Script) -> None:
    """A process gets a pending id in a new group: the group is in the list."""
    s.join("a", member_id="", wait=True, settle=True)
    s.list_groups()
    s.join("b", member_id="", group="h", wait=True)
    s.list_groups()


@case("LIST-GROUP", apis=(("ListGroups", 4),))
def groups_by_state(s: Script) -> None:
    """Groups are listed in version 4: each has its state, and the list can be filtered by state."""
    s.stable("A1")
    s.list_groups(states=("Stable",))
    s.list_groups(states=("Empty", "PreparingRebalance"))
    s.join("B1", settle=True)
    s.list_groups(states=("PreparingRebalance",))


@case("LIST-NO-GROUP", apis=_LIST)
def no_group_is_listed(s: Script) -> None:
    """A group that doesn't exist is looked up: it isn't in the list."""
    s.beat("a", member_id="nobody", generation=1)
    s.list_groups()


# A group is deleted once nobody is a member, and an absent static member is one.


@case("DELETE-ABSENT", apis=_DELETE)
def no_group_to_delete(s: Script) -> None:
    """A group that doesn't exist is deleted: it is refused in each version."""
    s.delete_groups()
    s.delete_groups(at_most=1)


@case("DELETE-MEMBERS", "HEARTBEAT-STABLE", apis=_DELETE)
def stable_group_is_not_deleted(s: Script) -> None:
    """A stable group is deleted: it is refused, and the members go on."""
    s.stable("A1", "b")
    s.delete_groups()
    s.beat("A1", "b")


@case("DELETE-MEMBERS", "DELETE-EMPTY", "HEARTBEAT-STABLE", apis=_DELETE)
def deletions_in_every_version(s: Script) -> None:
    """Groups are deleted in each version: Empty ones are deleted, others are refused."""
    s.stable("a")
    for version, other in enumerate(("h", "i", "j")):
        commit_by_hand(s, group=other)
        s.delete_groups("g", other, at_most=version)
    s.beat("a")


@case("DELETE-MEMBERS", "JOIN-STATIC-EMPTY-STABLE", apis=_DELETE)
def group_of_an_absent_static_member_is_not_deleted(s: Script) -> None:
    """The group of an absent static member is deleted: it is refused, and the restart succeeds."""
    s.stable("A1")
    s.disconnect("A1")
    s.delete_groups()
    s.join("A2", wait=True)
    s.sync("A2", wait=True)


@case("DELETE-MEMBERS", "SESSION-EXPIRED", "DELETE-EMPTY", apis=_DELETE)
def group_is_deleted_when_the_session_of_a_static_member_ended(s: Script) -> None:
    """The group of an expired static member is deleted: it succeeds."""
    s.says("A1", session=Ms("short session"))
    s.stable("A1")
    s.disconnect("A1")
    s.delete_groups()
    s.pause("short session")
    s.delete_groups()
    s.join("A2", wait=True)


@case("DELETE-MEMBERS", "JOIN-MEMBER-PREPARING", apis=_DELETE)
def rebalancing_group_is_not_deleted(s: Script) -> None:
    """A group is deleted in the join phase: it is refused, and the rebalance ends as usual."""
    s.preparing("a", "B1")
    s.delete_groups()
    s.join("a", "B1", wait=("a", "B1", "n"))


@case("DELETE-MEMBERS", "SYNC-COMPLETING-LEADER", apis=_DELETE)
def group_that_waits_for_syncs_is_not_deleted(s: Script) -> None:
    """A group is deleted in the sync phase: it is refused."""
    s.completing("a", "B1")
    s.delete_groups()
    s.synced("a", "B1")


@case("DELETE-EMPTY", "HEARTBEAT-GROUP-ABSENT", "LIST-NO-GROUP", apis=(*_DELETE, *_LIST, *_LEAVE))
def empty_group_is_deleted(s: Script) -> None:
    """An Empty group is deleted: its generation is gone, and an instance can start a new group."""
    s.stable("A1", "B1")
    s.leave("A1")
    s.leave("B1")
    s.delete_groups()
    s.beat("A1")
    s.list_groups()
    s.join("B2", wait=True)


@case("DELETE-EMPTY", "FETCH-ANYBODY", "DELETE-ABSENT", apis=_DELETE)
def offsets_go_with_their_group(s: Script) -> None:
    """An Empty group is deleted twice: its offsets are gone, and the second request is refused."""
    commit_by_hand(s)
    s.delete_groups()
    s.fetch("admin")
    s.delete_groups()


@case("DELETE-EMPTY", "JOIN-GROUP-ABSENT", apis=(*_DELETE, ("JoinGroup", 4)))
def pending_id_goes_with_its_group(s: Script) -> None:
    """A group with a pending id is deleted: it succeeds, and the id is unknown."""
    commit_by_hand(s)
    s.join("n", member_id="", wait=True)
    s.delete_groups()
    s.join("n", wait=True)


@case("DELETE-EMPTY", "DELETE-MEMBERS", "DELETE-ABSENT", "HEARTBEAT-STABLE", apis=_DELETE)
def several_groups(s: Script) -> None:
    """Several groups are deleted in one request: each is answered on its own."""
    s.stable("A1")
    commit_by_hand(s, group="h")
    s.delete_groups("g", "h", "i")
    s.beat("A1")


@case(
    "DELETE-EMPTY",
    "LIST-NO-GROUP",
    "HEARTBEAT-GROUP-ABSENT",
    apis=(*_DELETE, *_LIST, *_LEAVE),
    features=("restart",),
)
def deleted_group_stays_away(s: Script) -> None:
    """A group is deleted before a failover: the new coordinator loads neither it nor instances."""
    s.stable("A1")
    s.leave("A1")
    s.delete_groups()
    s.restart()
    s.list_groups()
    s.beat("A1")
    s.join("A2", wait=True)
