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
    """Metadata that are too long refuse their own offset; the other one is stored."""
    s.stable("a")
    s.commit("a", offset=3, metadata=(_LONGEST, TOO_LONG))
    s.fetch("a", partitions=(0, 1))
    s.commit("a", offset=4, metadata=(TOO_LONG,))
    s.fetch("a")
    s.beat("a")


@case("COMMIT-METADATA", "COMMIT-INSTANCE-FENCED", "HEARTBEAT-STABLE", config=METADATA_SETTING)
def fenced_before_metadata_are_looked_at(s: Script) -> None:
    """A process that was replaced is told so, however long its metadata are."""
    s.stable("A1", "b")
    s.join("A2", wait=True)
    s.beat("b")
    s.commit("A1", metadata=(TOO_LONG,))
    s.commit("A2", metadata=(TOO_LONG,))
    s.beat("A2")


@case("COMMIT-OUTSIDE-METADATA", "FETCH-ANYBODY", config=METADATA_SETTING)
def metadata_too_long_by_hand(s: Script) -> None:
    """Without a group, too, only the offset with metadata that are too long is refused."""
    commit_by_hand(s, 3, metadata=("", TOO_LONG))
    s.fetch("admin", partitions=(0, 1))
    s.describe(at_most=5)


@case("COMMIT-TOO-LARGE", "FETCH-ANYBODY", "HEARTBEAT-STABLE", config=RECORD_SETTING)
def offsets_too_large(s: Script) -> None:
    """Offsets that can't be written are refused, all of the commit, and those before stay."""
    s.stable("a")
    s.commit("a", offset=3)
    s.commit("a", offset=4, metadata=("", "m" * PADDING))
    s.fetch("a", partitions=(0, 1))
    s.commit("a", offset=5)
    s.fetch("a")
    s.beat("a")


@case("COMMIT-OUTSIDE-TOO-LARGE", "FETCH-ANYBODY", config=RECORD_SETTING)
def offsets_too_large_by_hand(s: Script) -> None:
    """The same by hand, without a group."""
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
    """Nobody is given an assignment that can't be stored; a smaller one of a new rebalance is."""
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
    """A leader that can't go on leaves; the group is Empty, and another member begins again."""
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
    """A process that can't be stored replaces nobody; another one does."""
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
    """The subscription of a process that can't be stored isn't kept: nothing changed for others."""
    s.stable("A1", "B1")
    s.join("B2", protocols=_LARGE, wait=True)
    s.settle()
    s.join("B1", settle=True)
    s.beat("A1")
    s.wait("B1")


@case("COMMIT-METADATA", "HEARTBEAT-STABLE", config=METADATA_SETTING)
def refused_metadata_keep_alive(s: Script) -> None:
    """A commit keeps a member also if its metadata are too long."""
    _commit_in_time(s, TOO_LONG)


@case("COMMIT-TOO-LARGE", "HEARTBEAT-STABLE", config=RECORD_SETTING)
def refused_offsets_keep_alive(s: Script) -> None:
    """A commit keeps a member also if it can't be written."""
    _commit_in_time(s, "m" * PADDING)


@case("COMMIT-METADATA", "COMMIT-OUTSIDE-METADATA", config=METADATA_SETTING)
def metadata_too_long_in_every_version(s: Script) -> None:
    """Metadata that are too long are refused in each version, also while the group rebalances."""
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
    """Offsets that can't be written are refused in each version, also in a rebalance."""
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
    """Each version of SyncGroup is told that the assignment can't be stored."""
    for version in range(6):
        who, group = f"a{version}", f"g{version}"
        s.completing(who, group=group)
        s.sync(who, assign=(who,), padding=PADDING, group=group, at_most=version, wait=True)
        s.settle()


@case("JOIN-STATIC-EMPTY-STABLE-TOO-LARGE", "HEARTBEAT-STABLE", config=RECORD_SETTING)
def replacement_of_the_leader_too_large(s: Script) -> None:
    """A process that can't be stored doesn't replace the leader, either."""
    s.stable("A1")
    s.join("A2", protocols=_LARGE, wait=True)
    s.settle()
    s.beat("A1")


@case("COMMIT-OUTSIDE-METADATA", "DESCRIBE-UNSTABLE", "LIST-GROUP", config=METADATA_SETTING)
def group_of_a_refused_commit(s: Script) -> None:
    """Once it has members, a group that began with a refused commit is seen as any other."""
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
    """An assignment that can't be stored leaves the members, whatever the group began with."""
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
