"""Limits of a broker: full groups, what is too large to be stored, and which groups are removed.

KIP-345 says nothing of a group's size, so that a restart needs no place is a SHOULD.
"""

from __future__ import annotations

from fencepost.conformance.catalogue.offsets import by_hand
from fencepost.conformance.catalogue.registry import Registry
from fencepost.conformance.catalogue.script import RENEWED, ROUNDROBIN, Script
from fencepost.conformance.catalogue.set_up import subscription
from fencepost.conformance.plans.plan import Ms
from fencepost.model.table.table import Level

CASES = Registry()
case = CASES.case

_TWO = {"group.max.size": 2}
_CLEANED = {"offsets.retention.check.interval.ms": 50}
_METADATA = {"offset.metadata.max.bytes": 4096}
"""Kafka's default, so that no broker is started for it."""
_LONGEST, _TOO_LONG = "m" * 4096, "m" * 4097
_RECORDS = {"message.max.bytes": 2000}
_PADDING = 2000
_LARGE = (("range", subscription("t") + bytes(_PADDING)),)


@case("JOIN-GROUP-FULL", "HEARTBEAT-STABLE", config=_TWO)
def full_stable_group(s: Script) -> None:
    """Nobody new gets into a full group: no static member, and no id for a dynamic one."""
    s.stable("A1", "b")
    s.join("C1", wait=True)
    s.join("d", member_id="", wait=True)
    s.beat("A1", "b")


@case("JOIN-GROUP-FULL", "HEARTBEAT-COMPLETING", config=_TWO)
def full_group_between_join_and_sync(s: Script) -> None:
    """Between join and sync nobody new gets in, either."""
    s.completing("A1", "b")
    s.join("C1", wait=True)
    s.beat("A1")
    s.synced("A1", "b")


@case("JOIN-STATIC-EMPTY-STABLE", "JOIN-GROUP-FULL", config=_TWO, level=Level.SHOULD)
def restart_in_a_full_group(s: Script) -> None:
    """A restart of a static member adds nobody; it is let in."""
    s.stable("A1", "B1")
    s.join("B2", "C1", wait=True)
    s.beat("B2")


@case("JOIN-STATIC-EMPTY-COMPLETING", config=_TWO, level=Level.SHOULD)
def restart_in_a_full_group_between_join_and_sync(s: Script) -> None:
    """A restart between join and sync is let in, too."""
    s.completing("A1", "B1")
    s.join("B2", settle=True)
    s.join("A1", wait=("A1", "B2"))


@case("JOIN-STATIC-EMPTY-PREPARING", config=_TWO, level=Level.SHOULD)
def restart_in_a_full_group_that_rebalances(s: Script) -> None:
    """A process that replaces one whose join waits takes that one's place."""
    s.stable("A1")
    s.join("B1", settle=True)
    s.join("B2")
    s.wait("B1")
    s.join("A1", wait=("A1", "B2"))


@case("JOIN-LEADER-STABLE", "JOIN-FOLLOWER-STABLE-CHANGED", config=_TWO)
def members_of_a_full_group_rejoin(s: Script) -> None:
    """Who is a member of a full group may join again."""
    s.stable("a", "b")
    s.join("a", settle=True)
    s.join("b", wait=("a", "b"))
    s.synced("a", "b")
    s.join("b", protocols=RENEWED)
    s.pause()
    s.join("a", wait=("a", "b"))


@case("JOIN-GROUP-FULL", "JOIN-PHASE-ALL-JOINED", config=_TWO)
def places_are_taken_while_rebalancing(s: Script) -> None:
    """While a rebalance is prepared places go to whoever joins first; a late member is removed."""
    s.stable("A1")
    s.join("B1", settle=True)
    s.join("C1", settle=True)
    s.join("A1", wait=True)
    s.wait("B1", "C1")
    s.beat("A1")


@case("JOIN-GROUP-FULL-PENDING", "JOIN-PHASE-ALL-JOINED", config=_TWO)
def refused_id_is_waited_for_no_more(s: Script) -> None:
    """All members have joined and an id is pending; once it is refused, the rebalance is over."""
    s.stable("A1")
    s.join("m", member_id="", wait=True)
    s.join("B1", settle=True)
    s.join("A1", settle=True)
    s.join("m", wait=True)
    s.wait("A1", "B1")


@case(
    "JOIN-GROUP-FULL-PENDING",
    "LEAVE-MEMBER-UNKNOWN",
    "HEARTBEAT-STABLE",
    config={"group.max.size": 1},
)
def refused_id_is_forgotten(s: Script) -> None:
    """An id that was handed out and then refused is nobody's: it can't be given back."""
    s.join("m", member_id="", wait=True)
    s.stable("A1")
    s.join("m", wait=True)
    s.leave("m")
    s.beat("A1")


@case("JOIN-GROUP-FULL-PENDING", "JOIN-DYNAMIC-EMPTY", config={"group.max.size": 1})
def refused_id_of_a_dynamic_group(s: Script) -> None:
    """An id that was handed out is refused once the group is full."""
    s.join("m", member_id="", wait=True, at_most=4)
    s.stable("a")
    s.join("m", wait=True, at_most=4)
    s.beat("a")


@case("JOIN-GROUP-FULL-PENDING", "JOIN-PHASE-EXPIRED", "LEAVE-MEMBER-UNKNOWN", config=_TWO)
def refused_ids_in_every_state(s: Script) -> None:
    """In no state of a full group does an instance, a version or a protocol help a pending id."""
    s.says("A1", "B1", rebalance=Ms("short rebalance"))
    s.stable("A1")
    ids = "cdefhijk"
    s.join(*ids, member_id="", wait=True)
    s.join("B1", settle=True)
    s.join("A1", settle=True)
    s.join("c", instance="X", wait=True)
    s.join("d", instance="A", wait=True)
    s.wait("A1", "B1")  # the other ids hold up the rebalance until its timeout
    s.join("e", wait=True)
    s.join("f", instance="X", wait=True)
    s.join("h", instance="A", wait=True)
    s.synced("A1", "B1")
    s.join("i", instance="X", wait=True)
    s.join("j", instance="A", protocols=ROUNDROBIN, wait=True)
    s.join("k", version=3, wait=True)
    for refused in ids:
        s.leave(refused)
    s.beat("A1", "B1")


@case("JOIN-DYNAMIC-EMPTY", "JOIN-PENDING", "LEAVE-MEMBER-PENDING", config=_TWO)
def pending_ids_take_no_place(s: Script) -> None:
    """Ids that were handed out and not used don't count."""
    s.stable("A1")
    s.join("m", "n", member_id="", wait=True)
    s.join("n", "A1", settle=True)
    s.leave("m")
    s.wait("A1", "n")


@case("JOIN-GROUP-FULL", "JOIN-PHASE-DELAY-OVER", config=_TWO, delayed=True)
def first_generation_is_limited(s: Script) -> None:
    """During the initial delay no more get in than there are places."""
    s.join("A1", settle=True)
    s.join("B1", settle=True)
    s.join("C1", wait=True)
    s.wait("A1", "B1")


@case("JOIN-GROUP-FULL", "JOIN-STATIC-EMPTY-NEW", config={"group.max.size": 1})
def place_becomes_free(s: Script) -> None:
    """When a member left its place is free."""
    s.stable("A1")
    s.join("B1", wait=True)
    s.leave("A1")
    s.join("B1", wait=True)


@case("CLEANUP-UNUSED", "JOIN-GROUP-ABSENT", "DESCRIBE-ABSENT-LEGACY", config=_CLEANED)
def unused_group_is_removed(s: Script) -> None:
    """A group that everybody left is removed, with its ids and its generation."""
    s.stable("A1")
    s.leave("A1")
    s.join("m", member_id="", wait=True)
    s.pause("short rebalance")
    s.describe(at_most=5)
    s.join("m", wait=True)
    s.stable("B1")


@case("CLEANUP-UNUSED", "DESCRIBE-ABSENT-LEGACY", config=_CLEANED)
def unused_dynamic_group_is_removed(s: Script) -> None:
    """A group that everybody left is removed, with its generation."""
    s.stable("a")
    s.leave_legacy("a")
    s.pause("short rebalance")
    s.describe(at_most=3)
    s.stable("b")


@case("DESCRIBE-UNSTABLE", "FETCH-ANYBODY", "HEARTBEAT-STABLE", config=_CLEANED)
def groups_in_use_are_kept(s: Script) -> None:
    """Neither a group with members is removed, nor one with offsets that everybody left."""
    s.stable("A1")
    s.pause("short rebalance")
    s.beat("A1")
    s.commit("A1", offset=3)
    s.leave("A1")
    s.pause("short rebalance")
    s.describe()
    s.fetch("A1")


@case("COMMIT-METADATA", "FETCH-ANYBODY", "HEARTBEAT-STABLE", config=_METADATA)
def metadata_too_long_in_one_of_two_partitions(s: Script) -> None:
    """Metadata that are too long refuse their own offset; the other one is stored."""
    s.stable("a")
    s.commit("a", offset=3, metadata=(_LONGEST, _TOO_LONG))
    s.fetch("a", partitions=(0, 1))
    s.commit("a", offset=4, metadata=(_TOO_LONG,))
    s.fetch("a")
    s.beat("a")


@case("COMMIT-METADATA", "COMMIT-INSTANCE-FENCED", "HEARTBEAT-STABLE", config=_METADATA)
def fenced_before_metadata_are_looked_at(s: Script) -> None:
    """A process that was replaced is told so, however long its metadata are."""
    s.stable("A1", "b")
    s.join("A2", wait=True)
    s.beat("b")
    s.commit("A1", metadata=(_TOO_LONG,))
    s.commit("A2", metadata=(_TOO_LONG,))
    s.beat("A2")


@case("COMMIT-OUTSIDE-METADATA", "FETCH-ANYBODY", config=_METADATA)
def metadata_too_long_by_hand(s: Script) -> None:
    """Without a group, too, only the offset with metadata that are too long is refused."""
    by_hand(s, 3, metadata=("", _TOO_LONG))
    s.fetch("admin", partitions=(0, 1))
    s.describe(at_most=5)


@case("COMMIT-TOO-LARGE", "FETCH-ANYBODY", "HEARTBEAT-STABLE", config=_RECORDS)
def offsets_too_large(s: Script) -> None:
    """Offsets that can't be written are refused, all of the commit, and those before stay."""
    s.stable("a")
    s.commit("a", offset=3)
    s.commit("a", offset=4, metadata=("", "m" * _PADDING))
    s.fetch("a", partitions=(0, 1))
    s.commit("a", offset=5)
    s.fetch("a")
    s.beat("a")


@case("COMMIT-OUTSIDE-TOO-LARGE", "FETCH-ANYBODY", config=_RECORDS)
def offsets_too_large_by_hand(s: Script) -> None:
    """The same by hand, without a group."""
    by_hand(s, 4, metadata=("m" * _PADDING,))
    s.fetch("admin")


@case(
    "SYNC-COMPLETING-LEADER-TOO-LARGE",
    "SYNC-PREPARING",
    "HEARTBEAT-PREPARING",
    "SYNC-COMPLETING-LEADER",
    config=_RECORDS,
)
def assignment_too_large(s: Script) -> None:
    """Nobody is given an assignment that can't be stored; a smaller one of a new rebalance is."""
    names = ("A1", "B1", "c")
    s.completing(*names)
    s.sync("B1", settle=True)
    s.sync("A1", assign=names, padding=_PADDING, wait=("A1", "B1"))
    s.settle()
    s.sync("c", wait=True)
    s.beat(*names)
    s.describe(at_most=5)
    s.join("B1", "c", settle=True)
    s.join("A1", wait=names)
    s.synced(*names)
    s.beat(*names)


@case("SYNC-COMPLETING-LEADER-TOO-LARGE", "LEAVE-MEMBER-PREPARING", config=_RECORDS)
def last_leave_after_an_assignment_too_large(s: Script) -> None:
    """A leader that can't go on leaves; the group is Empty, and another member begins again."""
    s.completing("a")
    s.sync("a", assign=("a",), padding=_PADDING, wait=True)
    s.settle()
    s.leave_legacy("a")
    s.describe(at_most=3)
    s.stable("b")


@case(
    "JOIN-STATIC-EMPTY-STABLE-TOO-LARGE",
    "HEARTBEAT-STABLE",
    "SYNC-STABLE",
    "HEARTBEAT-INSTANCE-FENCED",
    config=_RECORDS,
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
    config=_RECORDS,
)
def subscription_of_a_replacement_too_large(s: Script) -> None:
    """The subscription of a process that can't be stored isn't kept: nothing changed for others."""
    s.stable("A1", "B1")
    s.join("B2", protocols=_LARGE, wait=True)
    s.settle()
    s.join("B1", settle=True)
    s.beat("A1")
    s.wait("B1")


@case("COMMIT-METADATA", "HEARTBEAT-STABLE", config=_METADATA)
def refused_metadata_keep_alive(s: Script) -> None:
    """A commit keeps a member also if its metadata are too long."""
    _keeps_alive(s, _TOO_LONG)


@case("COMMIT-TOO-LARGE", "HEARTBEAT-STABLE", config=_RECORDS)
def refused_offsets_keep_alive(s: Script) -> None:
    """A commit keeps a member also if it can't be written."""
    _keeps_alive(s, "m" * _PADDING)


@case("COMMIT-METADATA", "COMMIT-OUTSIDE-METADATA", config=_METADATA)
def metadata_too_long_in_every_version(s: Script) -> None:
    """Metadata that are too long are refused in each version, also while the group rebalances."""
    for version in range(2, 9):
        by_hand(s, version, metadata=(_TOO_LONG,), version=version)
    s.stable("a", "B1")
    for version in range(2, 9):
        s.commit("a", offset=version, metadata=(_TOO_LONG,), at_most=version, instance=None)
    s.join("C1", settle=True)
    s.commit("a", metadata=(_TOO_LONG,))
    s.commit("B1", metadata=(_TOO_LONG,))


@case("COMMIT-TOO-LARGE", "COMMIT-OUTSIDE-TOO-LARGE", config=_RECORDS)
def offsets_too_large_in_every_version(s: Script) -> None:
    """Offsets that can't be written are refused in each version, also in a rebalance."""
    large = ("m" * _PADDING,)
    for version in range(2, 9):
        by_hand(s, version, metadata=large, version=version)
    s.settle()
    s.stable("a", "B1")
    for version in range(2, 9):
        s.commit("a", offset=version, metadata=large, at_most=version, instance=None)
    s.settle()
    s.join("C1", settle=True)
    s.commit("a", metadata=large)
    s.commit("B1", metadata=large)


@case("SYNC-COMPLETING-LEADER-TOO-LARGE", config=_RECORDS)
def assignment_too_large_in_every_version(s: Script) -> None:
    """Each version of SyncGroup is told that the assignment can't be stored."""
    for version in range(6):
        who, group = f"a{version}", f"g{version}"
        s.completing(who, group=group)
        s.sync(who, assign=(who,), padding=_PADDING, group=group, at_most=version, wait=True)
        s.settle()


@case("JOIN-STATIC-EMPTY-STABLE-TOO-LARGE", "HEARTBEAT-STABLE", config=_RECORDS)
def replacement_of_the_leader_too_large(s: Script) -> None:
    """A process that can't be stored doesn't replace the leader, either."""
    s.stable("A1")
    s.join("A2", protocols=_LARGE, wait=True)
    s.settle()
    s.beat("A1")


def _keeps_alive(s: Script, metadata: str) -> None:
    s.says("B1", session=Ms("short session"))
    s.stable("a", "B1")
    s.pause("short session", minus=True)
    s.commit("B1", metadata=(metadata,))
    s.pause("short session", minus=True)
    s.beat("B1")
