"""Rules that hold in any version, asked of by dynamic members alone, in versions before instances.

A coordinator that knows no group.instance.id is held to these rules, too.
"""

from __future__ import annotations

from fencepost.conformance.catalogue.limits import CLEANED
from fencepost.conformance.catalogue.registry import Registry
from fencepost.conformance.catalogue.script import NOBODY, Script
from fencepost.conformance.catalogue.sessions import LONGER, TEN_MINUTES
from fencepost.conformance.plans.plan import Ms

CASES = Registry()
case = CASES.case


@case("SYNC-GROUP-ABSENT")
def no_group_in_old_versions(s: Script) -> None:
    """In a group that doesn't exist nobody is a member, in versions without instances, too."""
    s.sync("a", member_id=NOBODY, generation=1, at_most=2, wait=True)


@case("HEARTBEAT-GROUP-ABSENT")
def no_group_for_old_heartbeats(s: Script) -> None:
    """The same for heartbeats."""
    s.beat("a", member_id=NOBODY, generation=1, at_most=2)


@case("JOIN-GROUP-FULL-PENDING", "JOIN-DYNAMIC-EMPTY", config={"group.max.size": 1})
def refused_id_of_a_dynamic_group(s: Script) -> None:
    """An id that was handed out is refused once the group is full."""
    s.join("m", member_id="", wait=True, at_most=4)
    s.stable("a")
    s.join("m", wait=True, at_most=4)
    s.beat("a")


@case("JOIN-PHASE-NOBODY-JOINED", "SESSION-EXPIRED", "HEARTBEAT-UNKNOWN-MEMBER")
def nobody_joined_after_a_session(s: Script) -> None:
    """If a session expires and no dynamic member rejoins the group is Empty, a generation on."""
    short = Ms("short rebalance")
    s.says("a", rebalance=short)
    s.says("b", rebalance=short, session=Ms("short session"))
    s.stable("a", "b")
    s.outlast("short session", beating=("a",))
    s.pause("short rebalance")
    s.beat("a")
    s.enter("c", wait=True)


@case("SESSION-EXPIRED-NEW", config=TEN_MINUTES, delayed=True, isolated=True)
def first_join_of_a_dynamic_member_waits_for_minutes(s: Script) -> None:
    """A member whose first join waits is removed after five minutes."""
    s.enter("a", rebalance=LONGER, wait=True)


@case("COMMIT-TOPICS-UNKNOWN", "HEARTBEAT-STABLE", features=("missing-topics",))
def missing_topic_of_dynamic_members(s: Script) -> None:
    """A topic that doesn't exist is refused before the member is looked at."""
    s.stable("a")
    s.commit("a", topic="missing-t", at_most=6)
    s.commit("x", topic="missing-t", member_id=NOBODY, generation=1, at_most=6)
    s.beat("a")


@case("COMMIT-GROUP-ABSENT-GENERATION", "FETCH-ANYBODY")
def generation_without_a_group_in_old_versions(s: Script) -> None:
    """A group that doesn't exist has no generation, whether an id is named or not."""
    s.commit("a", member_id=NOBODY, generation=3, at_most=6)
    s.commit("a", member_id="", generation=0, at_most=6)
    s.fetch("a")


@case("DESCRIBE-STABLE")
def stable_group_without_instances(s: Script) -> None:
    """A stable group is shown with its members, in versions that name no instances."""
    s.stable("a", "b")
    s.describe(at_most=3)


@case("FAILOVER-EMPTY", features=("restart",))
def empty_group_of_dynamic_members_survives(s: Script) -> None:
    """An Empty group is Empty after a failover, and its generation goes on."""
    s.stable("a")
    s.leave_legacy("a")
    s.restart()
    s.beat("a")
    s.enter("b", wait=True)


@case("CLEANUP-UNUSED", "DESCRIBE-ABSENT-LEGACY", config=CLEANED)
def unused_dynamic_group_is_removed(s: Script) -> None:
    """A group that everybody left is removed, with its generation."""
    s.stable("a")
    s.leave_legacy("a")
    s.pause("short rebalance")
    s.describe(at_most=3)
    s.stable("b")


@case("DESCRIBE-UNSTABLE")
def rebalances_without_instances(s: Script) -> None:
    """In a rebalance a group is shown with its state, in versions that name no instances."""
    s.completing("a", "b")
    s.describe(at_most=3)
    s.synced("a", "b")
    s.enter("n", settle=True)
    s.describe(at_most=3)
