"""Offsets and groups that can't be stored: metadata too long, records too large."""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.offset_cases import commit_by_hand
from fencepost.conformance.cases.script import Script, subscription
from fencepost.model.plans.steps import Ms

CASES = Registry()
case = CASES.case

METADATA_SETTING = {"offset.metadata.max.bytes": 4096}
"""Kafka's default, so that no broker is started for it."""
_LONGEST, TOO_LONG = "m" * 4096, "m" * 4097
RECORD_SETTING = {"message.max.bytes": 2000}
PADDING = 2000
_LARGE = (("range", subscription("t") + bytes(PADDING)),)


@case("COMMIT-METADATA", "FETCH-ANYBODY", "HEARTBEAT-STABLE", config=METADATA_SETTING)
def metadata_too_long_in_one_of_two_partitions(s: Script) -> None:
    """A commit has too long metadata for one of two partitions: the other offset is stored."""
    s.stable("a")
    s.commit("a", offset=3, metadata=(_LONGEST, TOO_LONG))
    s.fetch("a", partitions=(0, 1))
    s.commit("a", offset=4, metadata=(TOO_LONG,))
    s.fetch("a")
    s.beat("a")


@case("COMMIT-METADATA", "COMMIT-INSTANCE-FENCED", "HEARTBEAT-STABLE", config=METADATA_SETTING)
def fenced_before_metadata_are_looked_at(s: Script) -> None:
    """A zombie commits too long metadata: it is fenced."""
    s.stable("A1", "b")
    s.join("A2", wait=True)
    s.beat("b")
    s.commit("A1", metadata=(TOO_LONG,))
    s.commit("A2", metadata=(TOO_LONG,))
    s.beat("A2")


@case("COMMIT-OUTSIDE-METADATA", "FETCH-ANYBODY", config=METADATA_SETTING)
def metadata_too_long_by_hand(s: Script) -> None:
    """A commit from outside has too long metadata: only that offset is refused."""
    commit_by_hand(s, 3, metadata=("", TOO_LONG))
    s.fetch("admin", partitions=(0, 1))
    s.describe(at_most=5)


@case("COMMIT-TOO-LARGE", "FETCH-ANYBODY", "HEARTBEAT-STABLE", config=RECORD_SETTING)
def offsets_too_large(s: Script) -> None:
    """A commit is too large to be stored: all of it is refused, and earlier offsets stay."""
    s.stable("a")
    s.commit("a", offset=3)
    s.commit("a", offset=4, metadata=("", "m" * PADDING))
    s.fetch("a", partitions=(0, 1))
    s.commit("a", offset=5)
    s.fetch("a")
    s.beat("a")


@case("COMMIT-OUTSIDE-TOO-LARGE", "FETCH-ANYBODY", config=RECORD_SETTING)
def offsets_too_large_by_hand(s: Script) -> None:
    """A commit from outside is too large to be stored: all of it is refused."""
    commit_by_hand(s, 4, metadata=("m" * PADDING,))
    s.fetch("admin")


@case(
    "SYNC-COMPLETING-LEADER-TOO-LARGE",
    "SYNC-PREPARING",
    "HEARTBEAT-PREPARING",
    "SYNC-COMPLETING-LEADER",
    config=RECORD_SETTING,
)
def assignment_too_large(s: Script) -> None:
    """An assignment is too large to be stored: no member gets it, and a rebalance starts."""
    names = ("A1", "B1", "c")
    s.completing(*names)
    s.sync("B1", settle=True)
    s.sync("A1", assign=names, padding=PADDING, wait=("A1", "B1"))
    s.settle()
    s.sync("c", wait=True)
    s.beat(*names)
    s.describe(at_most=5)
    s.join("B1", "c", settle=True)
    s.join("A1", wait=names)
    s.synced(*names)
    s.beat(*names)


@case("SYNC-COMPLETING-LEADER-TOO-LARGE", "LEAVE-MEMBER-PREPARING", config=RECORD_SETTING)
def last_leave_after_an_assignment_too_large(s: Script) -> None:
    """An assignment is too large, and the last member leaves: the group becomes Empty."""
    s.completing("a")
    s.sync("a", assign=("a",), padding=PADDING, wait=True)
    s.settle()
    s.leave_legacy("a")
    s.describe(at_most=3)
    s.stable("b")


@case(
    "JOIN-STATIC-EMPTY-STABLE-TOO-LARGE",
    "HEARTBEAT-STABLE",
    "SYNC-STABLE",
    "HEARTBEAT-INSTANCE-FENCED",
    config=RECORD_SETTING,
)
def replacement_too_large(s: Script) -> None:
    """A replacement is too large to be stored: the holder stays, and a smaller one replaces it."""
    s.stable("A1", "B1")
    s.join("B2", protocols=_LARGE, wait=True)
    s.beat("A1", "B1")
    s.sync("B1", wait=True)
    s.commit("B1")
    s.join("B3", wait=True)
    s.beat("B1", "B3")


@case(
    "JOIN-STATIC-EMPTY-STABLE-TOO-LARGE",
    "JOIN-FOLLOWER-STABLE-SAME",
    "HEARTBEAT-STABLE",
    config=RECORD_SETTING,
)
def subscription_of_a_replacement_too_large(s: Script) -> None:
    """A replacement is too large to be stored: its subscription is dropped."""
    s.stable("A1", "B1")
    s.join("B2", protocols=_LARGE, wait=True)
    s.settle()
    s.join("B1", settle=True)
    s.beat("A1")
    s.wait("B1")


@case("COMMIT-METADATA", "HEARTBEAT-STABLE", config=METADATA_SETTING)
def refused_metadata_keep_alive(s: Script) -> None:
    """A member commits too long metadata: its session restarts."""
    _commit_in_time(s, TOO_LONG)


@case("COMMIT-TOO-LARGE", "HEARTBEAT-STABLE", config=RECORD_SETTING)
def refused_offsets_keep_alive(s: Script) -> None:
    """A member's commit is too large to be stored: its session restarts."""
    _commit_in_time(s, "m" * PADDING)


@case("COMMIT-METADATA", "COMMIT-OUTSIDE-METADATA", config=METADATA_SETTING)
def metadata_too_long_in_every_version(s: Script) -> None:
    """Members commit too long metadata in each version: refused, in a rebalance, too."""
    for version in range(2, 9):
        commit_by_hand(s, version, metadata=(TOO_LONG,), version=version)
    s.stable("a", "B1")
    for version in range(2, 9):
        s.commit("a", offset=version, metadata=(TOO_LONG,), at_most=version, instance=None)
    s.join("C1", settle=True)
    s.commit("a", metadata=(TOO_LONG,))
    s.commit("B1", metadata=(TOO_LONG,))


@case("COMMIT-TOO-LARGE", "COMMIT-OUTSIDE-TOO-LARGE", config=RECORD_SETTING)
def offsets_too_large_in_every_version(s: Script) -> None:
    """Members' commits are too large to be stored in each version: refused, in a rebalance, too."""
    large = ("m" * PADDING,)
    for version in range(2, 9):
        commit_by_hand(s, version, metadata=large, version=version)
    s.settle()
    s.stable("a", "B1")
    for version in range(2, 9):
        s.commit("a", offset=version, metadata=large, at_most=version, instance=None)
    s.settle()
    s.join("C1", settle=True)
    s.commit("a", metadata=large)
    s.commit("B1", metadata=large)


@case("SYNC-COMPLETING-LEADER-TOO-LARGE", config=RECORD_SETTING)
def assignment_too_large_in_every_version(s: Script) -> None:
    """An assignment is too large to be stored: SyncGroup is refused in each version."""
    for version in range(6):
        who, group = f"a{version}", f"g{version}"
        s.completing(who, group=group)
        s.sync(who, assign=(who,), padding=PADDING, group=group, at_most=version, wait=True)
        s.settle()


@case("JOIN-STATIC-EMPTY-STABLE-TOO-LARGE", "HEARTBEAT-STABLE", config=RECORD_SETTING)
def replacement_of_the_leader_too_large(s: Script) -> None:
    """A replacement of the leader is too large to be stored: the leader stays."""
    s.stable("A1")
    s.join("A2", protocols=_LARGE, wait=True)
    s.settle()
    s.beat("A1")


@case("COMMIT-OUTSIDE-METADATA", "DESCRIBE-UNSTABLE", "LIST-GROUP", config=METADATA_SETTING)
def group_of_a_refused_commit(s: Script) -> None:
    """A group began with a refused commit and has members now: it is described as usual."""
    commit_by_hand(s, 3, group="h")
    commit_by_hand(s, 3, metadata=(TOO_LONG,))
    s.completing("A1")
    s.describe()
    s.list_groups()
    s.synced("A1")


@case(
    "COMMIT-OUTSIDE-METADATA",
    "SYNC-COMPLETING-LEADER-TOO-LARGE",
    "HEARTBEAT-PREPARING",
    config={**METADATA_SETTING, **RECORD_SETTING},
)
def assignment_too_large_after_a_refused_commit(s: Script) -> None:
    """A group began with a refused commit, and its assignment is too large: its members stay."""
    commit_by_hand(s, 3, group="h")
    commit_by_hand(s, 3, metadata=(TOO_LONG,))
    s.completing("A1")
    s.sync("A1", assign=("A1",), padding=PADDING, wait=True)
    s.settle()
    s.beat("A1")


def _commit_in_time(s: Script, metadata: str) -> None:
    """Let a member commit, and send a heartbeat when a session after the commit is almost over."""
    s.says("B1", session=Ms("short session"))
    s.stable("a", "B1")
    s.pause("short session", minus=True)
    s.commit("B1", metadata=(metadata,))
    s.pause("short session", minus=True)
    s.beat("B1")
