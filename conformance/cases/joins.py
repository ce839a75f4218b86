"""Joins that are refused, and how a dynamic member gets its id.

The cases cover the checks that come before anything else, MEMBER_ID_REQUIRED in every group state,
and what a pending id delays.
"""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.group_set_up import subscription
from fencepost.conformance.cases.script import BOTH, NOBODY, RANGE, ROUNDROBIN, Script
from fencepost.model.plans.plan import Ms
from fencepost.model.table.table import Level

STICKY = (("sticky", subscription("t")),)
CASES = Registry()
case = CASES.case

_ABOVE_ANY_MAXIMUM = 2**31 - 1
_BELOW_ANY_MINIMUM = -1


@case("JOIN-GROUP-ID-INVALID")
def no_group_name(s: Script) -> None:
    """A group id of "" is refused before anything else is looked at."""
    s.join("A1", group="", wait=True)
    s.join("a", group="", member_id=NOBODY, session=_ABOVE_ANY_MAXIMUM, wait=True)


@case("JOIN-SESSION-TIMEOUT-INVALID")
def session_timeout_above_the_maximum(s: Script) -> None:
    """A session timeout above group.max.session.timeout.ms is refused."""
    s.join("A1", session=_ABOVE_ANY_MAXIMUM, wait=True)
    s.join("a", session=_ABOVE_ANY_MAXIMUM, member_id=NOBODY, wait=True)


@case("JOIN-SESSION-TIMEOUT-INVALID")
def session_timeout_below_the_minimum(s: Script) -> None:
    """A session timeout below group.min.session.timeout.ms is refused."""
    s.join("A1", session=_BELOW_ANY_MINIMUM, wait=True)


@case("JOIN-SESSION-TIMEOUT-INVALID", "HEARTBEAT-STABLE")
def restart_with_a_bad_session_timeout(s: Script) -> None:
    """A restart with a session timeout out of bounds is refused and fences nobody."""
    s.stable("A1", "b")
    s.join("A2", session=_ABOVE_ANY_MAXIMUM, wait=True)
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
    s.join("X1", protocols=RANGE)
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
