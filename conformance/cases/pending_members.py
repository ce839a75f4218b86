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
    """The last member leaves while an id is pending: the group waits for the id."""
    s.stable("a")
    s.join("m", member_id="", wait=True)
    s.leave("a")
    s.beat("a")
    s.join("m", wait=True)
    s.synced("m")


@case("SESSION-PENDING", "JOIN-UNKNOWN-MEMBER")
def last_member_leaves_an_id_that_expires(s: Script) -> None:
    """The last pending id that a group without members waits for expires: it becomes Empty."""
    s.stable("a")
    s.join("m", member_id="", session=SHORT, wait=True)
    s.leave("a")
    s.pause("short session")
    s.describe()
    s.join("m", wait=True)
    s.join("B1", wait=True)


@case("SESSION-PENDING", "JOIN-UNKNOWN-MEMBER")
def pending_id_of_an_empty_group_expires(s: Script) -> None:
    """A pending id of an Empty group expires: the id is unknown."""
    s.stable("a")
    s.leave("a")
    s.join("m", member_id="", session=SHORT, wait=True)
    s.pause("short session")
    s.join("m", wait=True)


@case("SESSION-PENDING", "JOIN-UNKNOWN-MEMBER", "HEARTBEAT-COMPLETING")
def pending_id_expires_between_join_and_sync(s: Script) -> None:
    """A pending id expires in the sync phase: no member is affected."""
    s.completing("a", "b", rebalance=Ms("rebalance"))
    s.join("m", member_id="", session=SHORT, wait=True)
    s.outlast("short session", beating=("a", "b"))
    s.join("m", wait=True)
    s.beat("a", "b")
    s.synced("a", "b")


@case("JOIN-DYNAMIC-EMPTY-LEGACY", "JOIN-PHASE-ALL-JOINED")
def legacy_member_joins_between_join_and_sync(s: Script) -> None:
    """A legacy process joins in the sync phase: a rebalance starts."""
    s.completing("a", "b")
    s.sync("b", settle=True)
    s.join("n", member_id="", at_most=3)
    s.wait("b")
    s.join("a", "b", wait=("a", "b", "n"))


@case("JOIN-PHASE-DELAY-OVER", "JOIN-PENDING", delayed=True)
def delay_ends_without_a_pending_id(s: Script) -> None:
    """The initial delay ends while an id is pending: the id joins the next generation."""
    s.join("A1", settle=True)
    s.join("m", member_id="", wait=True)
    s.wait("A1")
    s.synced("A1")
    s.join("m", settle=True)
    s.join("A1", wait=("A1", "m"))


@case("JOIN-PHASE-DELAY-EXTENDED", "JOIN-PHASE-DELAY-OVER", delayed=True)
def pending_id_extends_no_delay(s: Script) -> None:
    """A new member and a pending id come in the initial delay: only the member extends it."""
    s.join("A1", settle=True)
    s.join("B1", settle=True)
    s.join("m", member_id="", wait=True)
    s.wait("A1", "B1")
    s.synced("A1", "B1")
    s.beat("A1", "B1")


@case("JOIN-PHASE-NOBODY-JOINED", "JOIN-PENDING", delayed=True)
def everybody_leaves_a_pending_id_during_the_delay(s: Script) -> None:
    """All members leave in the initial delay while an id is pending: the id can still join."""
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
    """New members extended the initial delay and leave: the delay goes on."""
    _let_newcomers_leave(s)
    s.pause("delay")
    s.pause("delay")
    s.join("A1", wait=True)


@case("JOIN-PHASE-DELAY-EXTENDED", "JOIN-PHASE-NOBODY-JOINED", delayed=True)
def newcomers_leave_a_pending_id_during_the_delay(s: Script) -> None:
    """New members extended the initial delay and leave a pending id: the delay goes on."""
    s.join("m", member_id="", wait=True)
    _let_newcomers_leave(s)
    s.pause("delay")
    s.leave("m")
    s.pause("delay")
    s.join("A1", wait=True)
