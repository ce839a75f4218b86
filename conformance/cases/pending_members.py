"""Pending member ids: the rebalances that wait for them, and their timeout."""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.script import Script
from fencepost.model.plans.steps import Ms

CASES = Registry()
case = CASES.case

SHORT = Ms("short session")


@case("JOIN-PHASE-WAIT", "JOIN-PENDING", "HEARTBEAT-UNKNOWN-MEMBER")
def last_member_leaves_a_pending_id(s: Script) -> None:
    """A group that its last member left waits for an id that is pending."""
    s.stable("a")
    s.join("m", member_id="", wait=True)
    s.leave("a")
    s.beat("a")
    s.join("m", wait=True)
    s.synced("m")


@case("SESSION-PENDING", "JOIN-UNKNOWN-MEMBER")
def last_member_leaves_an_id_that_expires(s: Script) -> None:
    """When that id expires the group is Empty, and can be joined."""
    s.stable("a")
    s.join("m", member_id="", session=SHORT, wait=True)
    s.leave("a")
    s.pause("short session")
    s.describe()
    s.join("m", wait=True)
    s.join("B1", wait=True)


@case("SESSION-PENDING", "JOIN-UNKNOWN-MEMBER")
def pending_id_of_an_empty_group_expires(s: Script) -> None:
    """An Empty group forgets an id that is not used in time."""
    s.stable("a")
    s.leave("a")
    s.join("m", member_id="", session=SHORT, wait=True)
    s.pause("short session")
    s.join("m", wait=True)


@case("SESSION-PENDING", "JOIN-UNKNOWN-MEMBER", "HEARTBEAT-COMPLETING")
def pending_id_expires_between_join_and_sync(s: Script) -> None:
    """An id that expires between join and sync disturbs nobody."""
    s.completing("a", "b", rebalance=Ms("rebalance"))
    s.join("m", member_id="", session=SHORT, wait=True)
    s.outlast("short session", beating=("a", "b"))
    s.join("m", wait=True)
    s.beat("a", "b")
    s.synced("a", "b")


@case("JOIN-DYNAMIC-EMPTY-LEGACY", "JOIN-PHASE-ALL-JOINED")
def legacy_member_joins_between_join_and_sync(s: Script) -> None:
    """A member that is added at once starts a rebalance between join and sync; syncs are told."""
    s.completing("a", "b")
    s.sync("b", settle=True)
    s.join("n", member_id="", at_most=3)
    s.wait("b")
    s.join("a", "b", wait=("a", "b", "n"))


@case("JOIN-PHASE-DELAY-OVER", "JOIN-PENDING", delayed=True)
def delay_ends_without_a_pending_id(s: Script) -> None:
    """The initial delay waits for no id that is pending; whoever has it joins the next time."""
    s.join("A1", settle=True)
    s.join("m", member_id="", wait=True)
    s.wait("A1")
    s.synced("A1")
    s.join("m", settle=True)
    s.join("A1", wait=("A1", "m"))


@case("JOIN-PHASE-DELAY-EXTENDED", "JOIN-PHASE-DELAY-OVER", delayed=True)
def pending_id_extends_no_delay(s: Script) -> None:
    """A new member extends the delay, an id that is handed out meanwhile doesn't."""
    s.join("A1", settle=True)
    s.join("B1", settle=True)
    s.join("m", member_id="", wait=True)
    s.wait("A1", "B1")
    s.synced("A1", "B1")
    s.beat("A1", "B1")


@case("JOIN-PHASE-NOBODY-JOINED", "JOIN-PENDING", delayed=True)
def everybody_leaves_a_pending_id_during_the_delay(s: Script) -> None:
    """If all leave during the initial delay an id that is pending is still good."""
    s.join("a", member_id="", wait=True)
    s.join("m", member_id="", wait=True)
    s.join("a", settle=True)
    s.leave("a", connection="a again")
    s.wait("a")
    s.pause("delay")
    s.join("m", wait=True)


def _let_newcomers_leave(s: Script) -> None:
    """Let two new members join, and leave before they are answered."""
    for name in ("a", "b"):
        s.join(name, member_id="", wait=True)
        s.join(name, settle=True)
    for name in ("a", "b"):
        s.leave(name, connection=f"{name} again")
        s.wait(name)


@case("JOIN-PHASE-DELAY-EXTENDED", "JOIN-PHASE-NOBODY-JOINED", delayed=True)
def newcomers_leave_during_the_delay(s: Script) -> None:
    """The delay that a newcomer extended goes on when all have left."""
    _let_newcomers_leave(s)
    s.pause("delay")
    s.pause("delay")
    s.join("A1", wait=True)


@case("JOIN-PHASE-DELAY-EXTENDED", "JOIN-PHASE-NOBODY-JOINED", delayed=True)
def newcomers_leave_a_pending_id_during_the_delay(s: Script) -> None:
    """So it does where an id is pending."""
    s.join("m", member_id="", wait=True)
    _let_newcomers_leave(s)
    s.pause("delay")
    s.leave("m")
    s.pause("delay")
    s.join("A1", wait=True)
