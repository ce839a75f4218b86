"""TxnOffsetCommit: who may commit offsets in a transaction, in each state of the group.

Each transaction holds one commit, and is committed right after it.  The other offsets of a commit
of which one is refused for its metadata have cases of their own: old coordinators of Kafka may lose
them, by the order of a hash table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.check_order import commits, in_an_empty_group, in_every_state
from fencepost.conformance.cases.script import NOBODY, Script
from fencepost.conformance.cases.storing import (
    METADATA_SETTING,
    PADDING,
    RECORD_SETTING,
    TOO_LONG,
)
from fencepost.model.plans.steps import GenerationOf, IdOf, Ms

CASES = Registry()
case = CASES.case

_TXN = (("TxnOffsetCommit", 3),)
_OLD = (("TxnOffsetCommit", 0),)


_NAMED: Mapping[str, dict[str, Any]] = {
    "h": {"member_id": NOBODY},
    "i": {"member_id": NOBODY, "instance": "X"},
    "j": {"member_id": "", "instance": "X"},
}
"""Others that commit without a generation: each to a group of its own, where there is none."""


def transact_by_hand(s: Script, offset: int = 1, **fields: Any) -> None:
    """Commit in a transaction without member, instance and generation, as before version 3."""
    s.transact("admin", offset=offset, member_id="", generation=-1, instance=None, **fields)


@case("TXN-COMMIT-TOPICS-UNKNOWN", "TXN-COMMIT-MEMBER", apis=_TXN, features=("missing-topics",))
def transaction_for_a_missing_topic(s: Script) -> None:
    """A zombie's transaction names a missing topic: the topic is checked before the group."""
    s.stable("A1")
    s.join("A2", wait=True)
    s.transact("A1", topic="missing-t")
    s.transact("A2", topic="missing-t")
    s.transact("A2", offset=5)


@case("TXN-COMMIT-TOPICS-UNKNOWN", "FETCH-ANYBODY", apis=_OLD, features=("missing-topics",))
def transaction_by_hand_for_a_missing_topic(s: Script) -> None:
    """A transaction names a missing topic: it is refused, with or without a group."""
    transact_by_hand(s, topic="missing-t")
    s.stable("a")
    transact_by_hand(s, 5)
    transact_by_hand(s, 6, topic="missing-t")
    s.fetch("a")


@case("TXN-COMMIT-GROUP-ID-INVALID", apis=_OLD)
def transaction_for_no_group_name(s: Script) -> None:
    """A transaction has the group id "": it is refused."""
    transact_by_hand(s, group="")
    transact_by_hand(s, group="", at_most=2)


@case("TXN-COMMIT-GROUP-ABSENT", "FETCH-ANYBODY", apis=_TXN)
def generation_without_a_group_in_a_transaction(s: Script) -> None:
    """A transaction names a generation of a group that doesn't exist: ILLEGAL_GENERATION."""
    s.transact("a", offset=5, member_id=NOBODY, generation=3)
    s.transact("A1", offset=6, member_id=NOBODY, generation=1)
    s.fetch("a")


@case("TXN-COMMIT-NO-MEMBERS", "FETCH-ANYBODY", apis=_OLD)
def transaction_without_a_group(s: Script) -> None:
    """A transaction names no generation, and no group exists: the offsets are stored."""
    transact_by_hand(s, 7)
    s.fetch("admin")
    s.describe(at_most=5)


@case("TXN-COMMIT-NO-MEMBERS", "FETCH-ANYBODY", apis=_TXN)
def transaction_for_an_empty_group(s: Script) -> None:
    """A producer outside the group commits to an Empty group: the offsets are stored."""
    s.stable("a")
    s.transact("a", offset=5)
    s.leave("a")
    transact_by_hand(s, 2)
    s.fetch("admin")


@case("TXN-COMMIT-UNKNOWN-MEMBER", "FETCH-ANYBODY", apis=_TXN)
def member_that_left_transacts(s: Script) -> None:
    """A member that left commits in a transaction: it is unknown, with or without other members."""
    s.stable("a", "B1")
    s.transact("a", offset=5)
    s.leave("a")
    s.transact("a", offset=6)
    s.leave("B1")
    s.transact("B1", offset=7)
    s.fetch("admin")


@case("TXN-COMMIT-ANONYMOUS", "FETCH-ANYBODY", "HEARTBEAT-STABLE", apis=_TXN)
def transaction_that_names_nobody(s: Script) -> None:
    """A transaction names no member: it is accepted in each state."""
    s.stable("a", "B1")
    transact_by_hand(s, 1)
    s.fetch("admin")
    s.enter("n", settle=True)
    transact_by_hand(s, 2)
    s.fetch("admin")
    s.join("a", "B1", wait=("a", "B1", "n"))
    transact_by_hand(s, 3)
    s.fetch("admin")
    s.synced("a", "B1", "n")
    s.beat("a", "B1", "n")


@case("TXN-COMMIT-ANONYMOUS", "TXN-COMMIT-NO-MEMBERS", "FETCH-ANYBODY", apis=_OLD)
def transactions_before_members_were_named(s: Script) -> None:
    """A transaction in version 2 or below can't name a member: it is accepted."""
    for version in range(3):
        transact_by_hand(s, version, at_most=version)
    s.fetch("admin")
    s.stable("a")
    for version in range(3):
        transact_by_hand(s, 5 + version, at_most=version)
    s.fetch("a")


@case("TXN-COMMIT-MEMBER", "FETCH-ANYBODY", apis=_TXN)
def members_transact(s: Script) -> None:
    """Members commit in transactions, static ones with or without their instance: accepted."""
    s.stable("A1", "b")
    s.transact("A1", offset=5)
    s.fetch("b")
    s.transact("b", offset=6)
    s.fetch("b")
    s.transact("A1", offset=7, instance=None)
    s.fetch("A1")


@case("TXN-COMMIT-MEMBER", "COMMIT-COMPLETING", "FETCH-ANYBODY", apis=_TXN)
def members_transact_in_a_rebalance(s: Script) -> None:
    """Members commit in transactions during a rebalance: accepted in the sync phase, too."""
    s.preparing("A1", "b")
    s.transact("A1", offset=5)
    s.fetch("b")
    s.join("A1", "b", wait=("A1", "b", "n"))
    s.commit("b", offset=6)
    s.transact("b", offset=7)
    s.fetch("b")
    s.synced("A1", "b", "n")


@case("TXN-COMMIT-INSTANCE-FENCED", "FETCH-ANYBODY", "TXN-COMMIT-MEMBER", apis=_TXN)
def zombie_transacts_in_every_state(s: Script) -> None:
    """A zombie commits in a transaction in each state: it is fenced."""
    s.stable("A1", "B1")
    s.transact("B1", offset=4)
    s.join("B2", wait=True)
    s.transact("B1", offset=5)
    s.fetch("B1")
    s.enter("n", settle=True)
    s.transact("B1", offset=6)
    s.join("A1", "B2", wait=("A1", "B2", "n"))
    s.transact("B1", offset=7)
    s.fetch("B1")
    s.transact("B2", offset=8)
    s.fetch("B1")


@case("TXN-COMMIT-INSTANCE-FENCED", "FETCH-ANYBODY", apis=_TXN)
def transaction_for_the_instance_of_another(s: Script) -> None:
    """A wrong id commits in a transaction with a mapped instance: fenced in any generation."""
    s.stable("A1", "b")
    s.transact("A1", offset=4)
    s.transact("b", offset=5, instance="A")
    s.transact("b", offset=6, instance="A", member_id=NOBODY)
    s.transact("b", offset=7, instance="A", member_id="", generation=-1)
    s.transact("b", offset=8, instance="A", generation=GenerationOf("b", plus=9))
    s.fetch("b")


@case("TXN-COMMIT-INSTANCE-UNMAPPED", "FETCH-ANYBODY", apis=_TXN)
def transaction_for_an_instance_that_nobody_holds(s: Script) -> None:
    """A member commits in a transaction with an unmapped instance: it is unknown."""
    s.stable("a")
    s.transact("a", offset=4)
    s.transact("a", offset=5, instance="X")
    s.transact("a", offset=6, instance="X", generation=-1, member_id="")
    s.fetch("a")


@case("TXN-COMMIT-UNKNOWN-MEMBER", "FETCH-ANYBODY", apis=_TXN)
def unknown_members_transact(s: Script) -> None:
    """Unknown and pending ids commit in a transaction: they are unknown in any generation."""
    s.stable("a")
    s.transact("a", offset=4)
    s.transact("a", offset=5, member_id=NOBODY)
    s.transact("a", offset=6, member_id=NOBODY, generation=-1)
    s.transact("a", offset=7, member_id=NOBODY, generation=GenerationOf("a", plus=1))
    s.join("n", member_id="", wait=True)
    s.transact("a", offset=8, member_id=IdOf("n"))
    s.fetch("a")


@case("TXN-COMMIT-UNKNOWN-MEMBER", "FETCH-ANYBODY", apis=_TXN)
def zombie_without_its_instance_transacts(s: Script) -> None:
    """A zombie commits in a transaction without its instance: it is unknown."""
    s.stable("A1", "B1")
    s.join("B2", wait=True)
    s.transact("B1", offset=5, instance=None)
    s.fetch("A1")


@case("TXN-COMMIT-ILLEGAL-GENERATION", "FETCH-ANYBODY", apis=_TXN)
def members_of_another_generation_transact(s: Script) -> None:
    """Members commit in a transaction with another generation: refused in each state."""
    s.stable("A1", "b")
    s.transact("A1", offset=4)
    for who in ("A1", "b"):
        s.transact(who, offset=5, generation=GenerationOf(who, plus=-1))
        s.transact(who, offset=6, generation=GenerationOf(who, plus=4))
    s.enter("n", settle=True)
    s.transact("A1", offset=7, generation=GenerationOf("A1", plus=1))
    s.join("A1", "b", wait=("A1", "b", "n"))
    s.transact("A1", offset=8, generation=GenerationOf("A1", plus=-1))
    s.fetch("b")


@case("TXN-COMMIT-ILLEGAL-GENERATION", "FETCH-ANYBODY", apis=_TXN)
def members_without_a_generation_transact(s: Script) -> None:
    """A member commits in a transaction without a generation: it is refused."""
    s.stable("A1", "b")
    s.transact("A1", offset=4)
    s.transact("A1", offset=5, generation=-1)
    s.transact("b", offset=6, generation=-1)
    s.transact("b", offset=7, generation=GenerationOf("b", plus=1))
    s.fetch("admin")


@case("TXN-COMMIT-INSTANCE-FENCED", "TXN-COMMIT-UNKNOWN-MEMBER", apis=_TXN)
def strangers_transact_in_every_state(s: Script) -> None:
    """Strangers commit in transactions in each state: they are refused, and nothing is stored."""
    in_every_state(s, commits(s, send=s.transact))
    s.fetch("b")


@case("TXN-COMMIT-INSTANCE-UNMAPPED", "TXN-COMMIT-UNKNOWN-MEMBER", apis=_TXN)
def strangers_transact_in_an_empty_group(s: Script) -> None:
    """Strangers commit in a transaction with a generation to an Empty group: they are refused."""
    in_an_empty_group(s, commits(s, send=s.transact))
    s.fetch("b")


@case("SESSION-EXPIRED", "TXN-COMMIT-MEMBER", "TXN-COMMIT-UNKNOWN-MEMBER", apis=_TXN)
def transactions_keep_nobody_alive(s: Script) -> None:
    """A member only commits in transactions: its session expires."""
    s.says("b", session=Ms("short session"))
    s.stable("A1", "b")
    s.pause("short session", minus=True)
    s.transact("b", offset=4)
    s.pause("short session", minus=True)
    s.transact("b", offset=5)
    s.beat("A1")
    s.fetch("A1")


@case("FAILOVER-STABLE", "FETCH-ANYBODY", apis=_TXN, features=("restart",))
def transactions_survive_a_failover(s: Script) -> None:
    """Offsets were committed in a transaction before a failover: they are kept."""
    s.stable("A1", "b")
    s.transact("A1", offset=5)
    s.restart()
    s.fetch("A1")
    s.transact("b", offset=6)
    s.fetch("A1")


@case("TXN-COMMIT-METADATA", "FETCH-ANYBODY", apis=_TXN, config=METADATA_SETTING)
def metadata_too_long_in_a_transaction(s: Script) -> None:
    """A transaction has too long metadata: only that offset is refused."""
    s.stable("A1")
    s.transact("A1", offset=3)
    s.transact("A1", offset=4, metadata=(TOO_LONG,))
    s.fetch("A1")
    s.join("A2", wait=True)
    s.transact("A1", offset=5, metadata=(TOO_LONG,))
    s.transact("A2", offset=6, metadata=("", TOO_LONG))


@case("TXN-COMMIT-METADATA", "FETCH-ANYBODY", apis=_TXN, config=METADATA_SETTING)
def metadata_too_long_in_one_of_two_partitions_of_a_transaction(s: Script) -> None:
    """A transaction has too long metadata for one of two partitions: the other is stored."""
    s.stable("A1")
    s.transact("A1", offset=3, metadata=("", TOO_LONG))
    s.fetch("A1", partitions=(0, 1))


@case("TXN-COMMIT-OUTSIDE-METADATA", "FETCH-ANYBODY", apis=_OLD, config=METADATA_SETTING)
def metadata_too_long_in_one_of_two_partitions_by_hand(s: Script) -> None:
    """A transaction from outside has too long metadata for one partition: the other is stored."""
    transact_by_hand(s, 3, metadata=("", TOO_LONG))
    s.fetch("admin", partitions=(0, 1))


@case("TXN-COMMIT-OUTSIDE-METADATA", "FETCH-ANYBODY", apis=_OLD, config=METADATA_SETTING)
def metadata_too_long_in_a_transaction_by_hand(s: Script) -> None:
    """A transaction from outside has too long metadata: refused, with or without a group."""
    transact_by_hand(s, 3)
    transact_by_hand(s, 4, metadata=(TOO_LONG,))
    s.fetch("admin")
    s.stable("a")
    transact_by_hand(s, 5, metadata=(TOO_LONG,))
    s.fetch("admin")
    for version in (0, 2):
        transact_by_hand(s, 6, metadata=(TOO_LONG,), at_most=version)
    transact_by_hand(s, 6, metadata=("", TOO_LONG))


@case("TXN-COMMIT-TOO-LARGE", "FETCH-ANYBODY", apis=_TXN, config=RECORD_SETTING)
def transaction_too_large(s: Script) -> None:
    """A transaction is too large to be stored: all of it is refused, and earlier offsets stay."""
    s.stable("A1")
    s.transact("A1", offset=3)
    s.transact("A1", offset=4, metadata=("", "m" * PADDING))
    s.fetch("A1", partitions=(0, 1))
    s.transact("A1", offset=5)
    s.fetch("A1")


@case("TXN-COMMIT-OUTSIDE-TOO-LARGE", "FETCH-ANYBODY", apis=_OLD, config=RECORD_SETTING)
def transaction_too_large_by_hand(s: Script) -> None:
    """A transaction from outside is too large to be stored: refused, with or without a group."""
    transact_by_hand(s, 4, metadata=("", "m" * PADDING))
    s.fetch("admin", partitions=(0, 1))
    s.stable("a")
    transact_by_hand(s, 5, metadata=("", "m" * PADDING))
    s.fetch("admin", partitions=(0, 1))


# Transactions of whoever is in no place to commit, in each state.


@case("TXN-COMMIT-NO-MEMBERS", "FETCH-ANYBODY", apis=_TXN)
def anybody_transacts_without_a_group(s: Script) -> None:
    """A transaction names ids and no generation, and no group exists: its ids aren't checked."""
    transact_by_hand(s, 4)
    for group, named in _NAMED.items():
        s.transact("a", offset=5, generation=-1, group=group, **named)
        s.fetch("a", group=group)


@case("TXN-COMMIT-NO-MEMBERS", "FETCH-ANYBODY", apis=_TXN)
def anybody_transacts_in_an_empty_group(s: Script) -> None:
    """Any sender commits in a transaction to an Empty group, a pending id, too: it is stored."""
    s.stable("a")
    s.leave("a")
    transact_by_hand(s, 4)
    for offset, named in enumerate(_NAMED.values(), start=5):
        s.transact("a", offset=offset, generation=-1, **named)
        s.fetch("a")
    s.join("n", member_id="", wait=True)
    s.transact("n", offset=8, generation=-1)
    s.transact("n", offset=9, generation=-1, instance="X")
    s.fetch("a")


@case("TXN-COMMIT-GROUP-ABSENT", "FETCH-ANYBODY", apis=_TXN)
def generation_of_nobody_without_a_group_in_a_transaction(s: Script) -> None:
    """A transaction names a generation alone, and no group exists: it is refused."""
    s.transact("a", offset=5, member_id=NOBODY, generation=3)
    s.transact("a", offset=6, member_id="", generation=3, group="h")
    s.transact("A1", offset=7, member_id="", generation=3, group="i")
    s.fetch("a")


@case("TXN-COMMIT-GROUP-ID-INVALID", apis=_TXN)
def member_transacts_for_no_group_name(s: Script) -> None:
    """A transaction of a member has the group id "": it is refused."""
    s.transact("a", group="", member_id=NOBODY, generation=3)
    s.transact("A1", group="", member_id=NOBODY, generation=-1)
    transact_by_hand(s, group="", at_most=0)


@case("TXN-COMMIT-INSTANCE-UNMAPPED", "FETCH-ANYBODY", apis=_TXN)
def transaction_of_a_later_generation_for_an_instance_that_nobody_holds(s: Script) -> None:
    """A member commits in a transaction with an unmapped instance: unknown in any generation."""
    s.stable("a")
    s.transact("a", offset=4)
    s.transact("a", offset=5, instance="X", generation=GenerationOf("a", plus=1))
    s.fetch("a")


@case("TXN-COMMIT-MEMBER", "FETCH-ANYBODY", apis=_TXN)
def dynamic_members_transact_while_a_rebalance_is_prepared(s: Script) -> None:
    """A dynamic member commits in a transaction in the join phase: the offsets are stored."""
    s.preparing("a", "b")
    s.pause()
    s.transact("a", offset=5)
    s.fetch("a")
    s.join("a", "b", wait=("a", "b", "n"))
    s.synced("a", "b", "n")
    s.fetch("a")


@case(
    "TXN-COMMIT-TOPICS-UNKNOWN",
    "TXN-COMMIT-MEMBER",
    "FETCH-ANYBODY",
    apis=_TXN,
    features=("missing-topics",),
)
def transactions_for_a_missing_topic_in_each_state(s: Script) -> None:
    """A transaction names a missing topic in each state: the topic is checked first."""
    missing: dict[str, Any] = {"topic": "missing-t"}
    s.stable("a", "B1")
    s.transact("a", offset=4)
    s.transact("a", generation=GenerationOf("a", plus=-1), **missing)
    s.transact("a", generation=GenerationOf("a", plus=1), instance="X", **missing)
    s.enter("c", settle=True)
    s.transact("a", **missing)
    s.join("a", "B1", wait=("a", "B1", "c"))
    s.transact("B1", **missing)
    s.fetch("a")
    for who in ("a", "B1", "c"):
        s.leave(who)
    s.join("n", member_id="", wait=True)
    s.transact("n", generation=-1, **missing)
    s.fetch("a")


@case("TXN-COMMIT-TOPICS-UNKNOWN", apis=_OLD, features=("missing-topics",))
def missing_topic_before_members_were_named(s: Script) -> None:
    """A transaction in an old version names a missing topic: refused, with group id "", too."""
    for version in range(3):
        transact_by_hand(s, topic="missing-t", at_most=version)
    transact_by_hand(s, topic="missing-t", group="")


@case(
    "TXN-COMMIT-METADATA",
    "TXN-COMMIT-MEMBER",
    "FETCH-ANYBODY",
    apis=_TXN,
    config=METADATA_SETTING,
)
def metadata_too_long_in_a_transaction_of_a_rebalance(s: Script) -> None:
    """A dynamic member's transaction has too long metadata in a rebalance: it is refused."""
    s.preparing("a", "b")
    s.pause()
    s.transact("a", offset=3)
    s.transact("a", offset=4, metadata=(TOO_LONG,))
    s.fetch("a")
    s.join("a", "b", wait=("a", "b", "n"))
    s.transact("b", offset=5, metadata=(TOO_LONG,))
    s.fetch("a")


@case(
    "TXN-COMMIT-TOO-LARGE",
    "TXN-COMMIT-MEMBER",
    "FETCH-ANYBODY",
    apis=_TXN,
    config=RECORD_SETTING,
)
def transaction_too_large_in_a_rebalance(s: Script) -> None:
    """A dynamic member's transaction is too large in a rebalance: it is refused."""
    s.preparing("a", "b")
    s.pause()
    s.transact("a", offset=3)
    s.transact("a", offset=4, metadata=("", "m" * PADDING))
    s.fetch("a", partitions=(0, 1))
    s.join("a", "b", wait=("a", "b", "n"))
    s.transact("b", offset=5, metadata=("", "m" * PADDING))
    s.fetch("a", partitions=(0, 1))


@case("TXN-COMMIT-OUTSIDE-TOO-LARGE", "FETCH-ANYBODY", apis=_OLD, config=RECORD_SETTING)
def transaction_too_large_before_members_were_named(s: Script) -> None:
    """A transaction in an old version is too large to be stored: it is refused."""
    for version in range(3):
        transact_by_hand(s, 4, metadata=("", "m" * PADDING), at_most=version)
    s.fetch("admin", partitions=(0, 1))
