"""Define the revisions of the consumer protocol: `consumer-4.3`, other releases, KIP, proposal.

The base is 4.3.0.  Each other one is a list of differences to a neighbour, with the ticket or the
passage that asks for it.  Mixed groups, with classic members, are in none of them yet: 4.3.1
differs from 4.3.0 there alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from fencepost.model.consumer.cells import (
    ANOTHER,
    CHANGED,
    DANGLING,
    EMPTY,
    LIVE,
    NONE,
    OTHER,
    OWN,
    RELEASED,
    UNCHANGED,
    UNKNOWN,
    UNMAPPED,
    when,
)
from fencepost.model.consumer.consumer_protocol import CONSUMER
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.rules import beat, describe, join, leave, offsets, timers
from fencepost.model.consumer.rules import rule_sources as src
from fencepost.model.consumer.vocabulary import FIRST_EPOCH
from fencepost.model.messages.errors import Error
from fencepost.model.revision import Difference, DropRule, Revision, SetRule, derive
from fencepost.model.table.expr import all_of, any_of, negate
from fencepost.model.table.shared_features import Room
from fencepost.model.table.table import Rule, Table, replace_steps

_TABLES = (
    join.TABLE,
    beat.TABLE,
    leave.TABLE,
    leave.REMOVAL,
    leave.MEMBER_REMOVAL,
    describe.DESCRIBE,
    describe.CLASSIC_DESCRIBE,
    describe.LIST,
    describe.DELETE,
    offsets.COMMIT,
    offsets.COMMIT_PARTITION,
    offsets.FETCH,
    offsets.TXN_COMMIT,
    offsets.TXN_COMMIT_PARTITION,
    offsets.DELETE_OFFSETS,
    timers.SESSION,
    timers.REBALANCE,
    timers.FAILOVER,
    timers.CLEANUP,
)

_VERSIONS = ((0, 1), (0, 1), (0, 5), (0, 6), (0, 5), (0, 2), (2, 10), (1, 10), (0, 5), (0, 0))

CONSUMER_4_3 = Revision(
    "consumer-4.3",
    "the consumer protocol of Apache Kafka 4.3.0, groups without classic members",
    CONSUMER,
    {table.name: table for table in _TABLES},
    dict(zip(CONSUMER.apis, _VERSIONS, strict=True)),
    binding=src.BINDING,
)

_JOIN = join.TABLE.name
_RULES = {rule.id: rule for _, rule in CONSUMER_4_3.rules()}
_TABLE_OF = {rule.id: table for table, rule in CONSUMER_4_3.rules()}


def _set(rule: Rule, table: Table, passage: str) -> SetRule:
    return SetRule(table.name, rule, passage)


def _merged(*differences: Iterable[Difference]) -> tuple[Difference, ...]:
    """Return all differences; of two about one rule the later counts."""
    return tuple({d.rule_id: d for group in differences for d in group}.values())


# Releases before 4.3.

_BEFORE_E1 = (
    "Kafka: the first epoch of a group is 1; seen on 4.0.1 and 4.2.0, and otherwise on 4.3.0"
)
_BEFORE_BATCHES = "Kafka: group.consumer.assignment.interval.ms, since 4.3; seen on 4.0.1 and 4.2.0"
_BEFORE_20431 = "KAFKA-20431, since 4.3; seen on 4.0.1 and 4.2.0"
_BEFORE_19233 = "KAFKA-19233, since 4.2; seen on 4.0.1"
_OLD_STEPS: dict[Enum, tuple[Enum, ...]] = {
    Do.CREATE_GROUP: (Do.CREATE_GROUP_AT_ZERO,),
    Do.RECOMPUTE_TARGET: (Do.RECOMPUTE_TARGET_AT_ONCE,),
}
_OLD_TARGETS: dict[Enum, tuple[Enum, ...]] = {Do.RECOMPUTE_TARGET: _OLD_STEPS[Do.RECOMPUTE_TARGET]}
_AT_ONCE = "; the target is made anew at once"


def without_batches(revision: Revision) -> Iterator[SetRule]:
    """Yield rules that make the target at once; a new group begins at epoch 0."""
    for table, rule in revision.own_rules():
        if Do.RECOMPUTE_TARGET in rule.effect:
            passage = _BEFORE_E1 if Do.CREATE_GROUP in rule.effect else _BEFORE_BATCHES
            # A join that bumps nothing makes a group of epoch 1 in these releases, too.
            steps = _OLD_STEPS if Do.BUMP_EPOCH in rule.effect else _OLD_TARGETS
            changed = replace_steps(rule, steps).but(because=f"{rule.because}{_AT_ONCE}")
            yield _set(changed, table, passage)


_DESCRIBED = _set(
    _RULES["CG-DESCRIBE-GROUP"].but(
        effect=(Do.ANSWER_DESCRIPTION_KEPT,),
        source=_BEFORE_20431,
        because="partitions that a member must give up are not its own any more",
    ),
    describe.DESCRIBE,
    _BEFORE_20431,
)

_BEFORE_1251 = "KIP-1251, since 4.3; seen on 4.0.1 and 4.2.0"


def _stale_when_older(passage: str) -> Iterator[Difference]:
    """Yield the rules of commits with an older epoch, all of which are refused."""
    for prefix, table, partition, error in (
        ("CG-COMMIT", offsets.COMMIT, offsets.COMMIT_PARTITION, Error.STALE_MEMBER_EPOCH),
        (
            "CG-TXN-COMMIT",
            offsets.TXN_COMMIT,
            offsets.TXN_COMMIT_PARTITION,
            Error.ILLEGAL_GENERATION,
        ),
    ):
        refused = _RULES[f"{prefix}-EPOCH-OLDER"].but(
            effect=(),
            answer=error,
            source=passage,
            because="the commit has another epoch than the member",
        )
        yield _set(refused, table, passage)
        for rule in partition.rules():
            unused = rule.but(defensive="no commit with an older epoch comes so far")
            yield _set(unused, partition, passage)


CONSUMER_4_2 = derive(
    CONSUMER_4_3,
    "consumer-4.2",
    "the consumer protocol of Apache Kafka 4.2.0: targets at once, first epoch 1",
    (*without_batches(CONSUMER_4_3), _DESCRIBED, *_stale_when_older(_BEFORE_1251)),
)


def _epoch_of_a_join_counts() -> Iterator[SetRule]:
    """Yield the rules of a join by a known id alone, whose epoch 0 is compared as any other."""
    for rule_id in ("CG-JOIN-REJOIN", "CG-JOIN-REJOIN-CHANGED"):
        rule = CONSUMER_4_2.rule(rule_id)
        narrowed = rule.but(
            guard=all_of(rule.guard, FIRST_EPOCH.among(True)),
            source=_BEFORE_19233,
            because="epoch 0 is the caller's previous one, so its first join is sent again",
        )
        yield SetRule(_JOIN, narrowed, _BEFORE_19233)
    both = (_RULES["CG-JOIN-REJOIN"].guard, _RULES["CG-JOIN-REJOIN-CHANGED"].guard)
    fenced = Rule(
        "CG-JOIN-REJOIN-FENCED",
        all_of(any_of(*both), FIRST_EPOCH.among(False)),
        answer=Error.FENCED_MEMBER_EPOCH,
        level=_RULES["CG-JOIN-REJOIN"].level,
        source=_BEFORE_19233,
        because="epoch 0 is older than the caller's previous one",
    )
    yield SetRule(_JOIN, fenced, _BEFORE_19233)
    for rule_id in ("CG-JOIN-RESUME", "CG-JOIN-RESUME-CHANGED"):
        refused = _RULES[rule_id].but(
            effect=(),
            answer=Error.FENCED_MEMBER_EPOCH,
            source=_BEFORE_19233,
            because="epoch 0 is newer than -2, which the caller has while it is released",
        )
        yield SetRule(_JOIN, refused, _BEFORE_19233)


_BEFORE_19431 = "KAFKA-19431 (assignments follow subscriptions), since 4.2; seen on 4.0.1 and 4.1.2"


def heeds_no_subscription(
    revision: Revision, differences: Iterable[SetRule] = ()
) -> Iterator[SetRule]:
    """Yield these rules and all others by which a member takes what its target says."""
    different = {difference.rule_id: difference for difference in differences}
    for table, rule in revision.own_rules():
        own = different[rule.id].rule if rule.id in different else rule
        if Do.RECONCILE in own.effect:
            steps: dict[Enum, tuple[Enum, ...]] = {Do.RECONCILE: (Do.RECONCILE_UNHEEDING,)}
            unheeding = replace_steps(own, steps)
            because = f"{own.because}, whatever it subscribes to"
            different[rule.id] = _set(unheeding.but(because=because), table, _BEFORE_19431)
    yield from different.values()


_BEFORE_IDS = "Kafka: OffsetCommit and OffsetFetch version 10, since 4.2; not on 4.0.1 and 4.1.2"
_WITHOUT_IDS = _set(
    _RULES["CG-COMMIT-TOPIC-IDS-UNKNOWN"].but(defensive="no commit names topics by ids yet"),
    offsets.COMMIT,
    _BEFORE_IDS,
)

CONSUMER_4_1 = derive(
    CONSUMER_4_2,
    "consumer-4.1",
    "the consumer protocol of Apache Kafka 4.1.2: a member can't join again by its id alone",
    (*heeds_no_subscription(CONSUMER_4_2, _epoch_of_a_join_counts()), _WITHOUT_IDS),
    {**CONSUMER_4_2.apis, "OffsetCommit": (2, 9), "OffsetFetch": (1, 9)},
)

_BEFORE_4_1 = (
    "Kafka: partitions that a member gives up and is to have again; seen on 4.0.1, and otherwise "
    "on 4.1.2"
)
_LATER: dict[Enum, tuple[Enum, ...]] = {
    Do.RECONCILE: (Do.RECONCILE_LATER,),
    Do.RECONCILE_UNHEEDING: (Do.RECONCILE_LATER,),
    Do.RECONCILE_UNMAPPED: (Do.RECONCILE_UNMAPPED_LATER,),
}


def frees_later(revision: Revision) -> Iterator[SetRule]:
    """Yield the rules by which a member that gives partitions up gets none of them at once."""
    for table, rule in revision.own_rules():
        if _LATER.keys() & set(rule.effect):
            changed = replace_steps(rule, _LATER)
            because = f"{rule.because}; what it gives up is free from the next request on"
            yield _set(changed.but(because=because), table, _BEFORE_4_1)


CONSUMER_4_0 = derive(
    CONSUMER_4_1,
    "consumer-4.0",
    "the consumer protocol of Apache Kafka 4.0.1: what a member gives up is free a request later",
    tuple(frees_later(CONSUMER_4_1)),
)

# Releases after 4.3.0.

CONSUMER_4_3_1 = derive(
    CONSUMER_4_3,
    "consumer-4.3.1",
    "the consumer protocol of Apache Kafka 4.3.1: as 4.3.0 where all members are of this protocol",
    (),
)

_SINCE_4_4 = "seen on 4.4.0"
_20434 = f"KAFKA-20434 (a changed assignor), since 4.4; {_SINCE_4_4}"
_20747 = f"KAFKA-20747 (entries of old instances), since 4.4; {_SINCE_4_4}"

_BUMPED = tuple(rule_id for rule_id in _RULES if f"{rule_id}-CHANGED" in _RULES)
"""Rules that have a twin with a bump, for another subscription."""
_FREEING = frozenset(
    {
        *(f"CG-JOIN-{name}" for name in ("COPY", "COPY-CLASSIC", "CHANGE-INSTANCE", "TARGET-LOST")),
        *(
            f"CG-JOIN-{name}-CHANGED"
            for name in ("COPY", "COPY-CLASSIC", "CHANGE-INSTANCE", "TARGET-LOST")
        ),
    }
)


def _freed(rule: Rule) -> Rule:
    """Return a rule of 4.4: a caller that changes its instance frees the one that it had."""
    if rule.id not in _FREEING:
        return rule
    return rule.but(
        effect=(Do.FREE_INSTANCE, *rule.effect),
        source=f"{rule.source}; KAFKA-20747",
        because=f"{rule.because}; its old instance is free",
    )


def _bumps_for_assignor() -> Iterator[SetRule]:
    """Yield the pairs of rules with and without a bump: another preferred assignor counts, too."""
    for rule_id in _BUMPED:
        rule, changed = _RULES[rule_id], _RULES[f"{rule_id}-CHANGED"]
        another = when(assignor=ANOTHER)
        kept = rule.but(guard=all_of(rule.guard, negate(another)))
        bumped = changed.but(
            guard=any_of(changed.guard, all_of(rule.guard, another)),
            because=(
                f"{rule.because}; its subscription is another one, or the group's preferred "
                "assignor, so the target is made anew"
            ),
        )
        for new in (kept, bumped):
            passage = _20747 if rule_id in _FREEING else _20434
            yield _set(_freed(new), _TABLE_OF[rule_id], passage)
    for rule_id in ("CG-JOIN-DYNAMIC-NEW", "CG-JOIN-STATIC-NEW"):
        new, idle = _RULES[rule_id], _RULES[f"{rule_id}-IDLE"]
        bumping = new.but(
            guard=any_of(new.guard, all_of(idle.guard, when(assignor=ANOTHER))),
            because=f"{new.because}, also one that only changes the group's preferred assignor",
        )
        quiet = idle.but(guard=all_of(idle.guard, negate(when(assignor=ANOTHER))))
        yield _set(bumping, join.TABLE, _20434)
        yield _set(quiet, join.TABLE, _20434)


def _settles_empty() -> Iterator[SetRule]:
    """Yield the rules that remove members: a group that is left empty has a target of its epoch."""
    for table, rule in CONSUMER_4_3.rules():
        if {Do.REMOVE_MEMBER, Do.REMOVE_HOLDER} & set(rule.effect):
            settled = replace_steps(rule, {Do.BUMP_EPOCH: (Do.BUMP_EPOCH, Do.SETTLE_EMPTY)})
            because = f"{rule.because}{leave.SETTLED}"
            yield _set(settled.but(because=because), table, src.KAFKA_20442)


def _unreachable(passage: str) -> Iterator[SetRule]:
    """Yield the rules of instances that are mapped to an id that is gone: there are none."""
    for table, rule in CONSUMER_4_3.rules():
        if rule.id.endswith("-INSTANCE-DANGLING"):
            unused = rule.but(defensive="no instance is mapped to an id that is gone")
            yield _set(unused, table, passage)


_ROOM_BY_INSTANCE = (
    SetRule(
        _JOIN,
        _RULES["CG-JOIN-GROUP-FULL"].but(
            guard=when(room=Room.FULL, mid=(EMPTY, UNKNOWN), inst=(NONE, UNMAPPED, DANGLING)),
            source=src.KAFKA_20601,
            because="the group has its largest size, and neither id nor instance is a member's",
        ),
        src.KAFKA_20601,
    ),
    SetRule(
        beat.TABLE.name,
        _RULES["CG-BEAT-GROUP-FULL"].but(
            guard=when(room=Room.FULL, mid=UNKNOWN, inst=(NONE, UNMAPPED, DANGLING)),
            source=src.KAFKA_20601,
            because="the group has its largest size, and neither id nor instance is a member's",
        ),
        src.KAFKA_20601,
    ),
)

CONSUMER_4_4 = derive(
    CONSUMER_4_3,
    "consumer-4.4",
    "the consumer protocol of Apache Kafka 4.4.0: old instances are free, returns in full groups",
    _merged(_bumps_for_assignor(), _settles_empty(), _ROOM_BY_INSTANCE, _unreachable(_20747)),
)

# The future.

_23542 = "KIP-848 and apache/kafka#23542 (open): a join that is sent again"
_REFUSED = tuple(
    f"CG-JOIN-{name}{twin}"
    for name in ("COPY", "COPY-CLASSIC", "BECOME-STATIC", "CHANGE-INSTANCE", "TARGET-LOST")
    for twin in ("", "-CHANGED")
)


def _joins_in_place() -> Iterator[Difference]:
    """Yield the rules of a holder that joins again: it keeps its place, live or released."""
    returns = CONSUMER_4_4.rule("CG-JOIN-RETURN-SELF")
    bumped = CONSUMER_4_4.rule("CG-JOIN-RETURN-SELF-CHANGED")
    live, released = when(inst=OWN, holder=LIVE), when(inst=OWN, holder=RELEASED)
    change, another = when(change=CHANGED), when(assignor=ANOTHER)
    yield DropRule(_JOIN, "CG-JOIN-AGAIN-UNRELEASED", _23542)
    for prefix, where, because in (
        ("CG-JOIN-AGAIN", live, "the holder itself joins again, and gets its current state"),
        ("CG-JOIN-RETURN-SELF", released, "the holder itself returns, and keeps its place"),
    ):
        bumps = any_of(change, another)
        for rule, suffix, guard in (
            (returns, "", all_of(where, negate(bumps))),
            (bumped, "-CHANGED", all_of(where, bumps)),
        ):
            new = replace_steps(rule, {Do.REPLACE_HOLDER: ()}).but(
                id=f"{prefix}{suffix}",
                guard=guard,
                source=_23542,
                because=because + ("; the target is made anew" if suffix else ""),
            )
            yield SetRule(_JOIN, new, _23542)


def _keeps_instances() -> Iterator[SetRule]:
    """Yield the refusals of members that bring another instance."""
    for rule_id in _REFUSED:
        rule = CONSUMER_4_4.rule(rule_id)
        refused = rule.but(
            effect=(),
            answer=Error.INVALID_REQUEST,
            source=_23542,
            because="a member id keeps its instance, or has none",
        )
        yield SetRule(_JOIN, refused, _23542)


PR_23542 = derive(
    CONSUMER_4_4,
    "pr-23542",
    "a proposal to Apache Kafka after 4.4: a join may be sent again, an id keeps its instance",
    (*_joins_in_place(), *_keeps_instances()),
)

# The text.

_KIP_STATIC = "KIP-848 (static members)"
_KIP_ENDS = f"{_KIP_STATIC}: only while a member with the instance is there, a newcomer is refused"
_KIP_RETURN = (
    f"{_KIP_STATIC}: a member that returns replaces the old one, so the group doesn't grow"
)
_KIP_LATE = f"{_KIP_STATIC}: only who doesn't return within the session timeout is removed"
_KIP_AGAIN = "KIP-848 (fencing): a fenced member joins again with the same id and epoch 0"
_KIP_UNKNOWN = "KIP-848 (fencing): every request of an unknown member id is UNKNOWN_MEMBER_ID"
_KIP_MEMBER = "KIP-848 (data model): the member id identifies a member, its target and assignment"
_KIP_STALE = "KIP-848 (OffsetCommit): a commit has the epoch of its member"
_KIP_BEFORE = "KIP-848 (leaving): a member commits its offsets before it leaves"
_KIP_345 = "KIP-345, which KIP-848 keeps: a commit by another member's instance is fenced"
_BY_CHANGE = {"": "", "-CHANGED": "; the target is made anew for another subscription"}


def _kip_joins() -> Iterator[Difference]:
    """Yield the rules of joins: a live holder joins again, and targets are found by member id."""
    yield DropRule(_JOIN, "CG-JOIN-AGAIN-UNRELEASED", _KIP_AGAIN)
    for twin, change in (("", UNCHANGED), ("-CHANGED", CHANGED)):
        again = _RULES[f"CG-JOIN-REJOIN{twin}"].but(
            id=f"CG-JOIN-AGAIN{twin}",
            guard=when(inst=OWN, holder=LIVE, change=change),
            source=_KIP_AGAIN,
            because=f"the holder itself joins again, and keeps its place{_BY_CHANGE[twin]}",
        )
        yield SetRule(_JOIN, again, _KIP_AGAIN)
        lost = f"CG-JOIN-TARGET-LOST{twin}"
        kept = replace_steps(_freed(_RULES[lost]), {Do.RECONCILE_UNMAPPED: (Do.RECONCILE,)}).but(
            source=_KIP_MEMBER,
            because=(
                "the target is the member's, whatever instance it brings; its old instance is free"
                + _BY_CHANGE[twin]
            ),
        )
        yield SetRule(_JOIN, kept, _KIP_MEMBER)
        for name in ("COPY", "COPY-CLASSIC", "CHANGE-INSTANCE"):
            yield SetRule(_JOIN, _freed(_RULES[f"CG-JOIN-{name}{twin}"]), _KIP_ENDS)


def _kip_checks() -> Iterator[Difference]:
    """Yield the checks: no error but UNKNOWN_MEMBER_ID for strangers, room for who returns."""
    full = CONSUMER_4_4.rule("CG-JOIN-GROUP-FULL").but(source=_KIP_RETURN)
    yield SetRule(_JOIN, full, _KIP_RETURN)
    yield DropRule(beat.TABLE.name, "CG-BEAT-GROUP-FULL", _KIP_UNKNOWN)
    for prefix, table in (("CG-BEAT", beat.TABLE), ("CG-LEAVE", leave.TABLE)):
        absent = _RULES[f"{prefix}-GROUP-ABSENT"].but(
            answer=Error.UNKNOWN_MEMBER_ID,
            source=_KIP_UNKNOWN,
            because="a group that doesn't exist has no members",
        )
        yield _set(absent, table, _KIP_UNKNOWN)


def _kip_commits() -> Iterator[Difference]:
    """Yield the rules of commits: by the present epoch and instance alone."""
    yield from _stale_when_older(_KIP_STALE)
    for prefix, table, stale in (
        ("CG-COMMIT", offsets.COMMIT, Error.STALE_MEMBER_EPOCH),
        ("CG-TXN-COMMIT", offsets.TXN_COMMIT, Error.ILLEGAL_GENERATION),
    ):
        ignored = _RULES[f"{prefix}-INSTANCE-IGNORED"]
        fenced = ignored.but(
            id=f"{prefix}-INSTANCE-FENCED",
            guard=all_of(ignored.guard, when(inst=OTHER)),
            effect=(),
            answer=Error.FENCED_INSTANCE_ID,
            source=_KIP_345,
            because="the instance is mapped to another member id",
        )
        others = ignored.but(guard=all_of(ignored.guard, negate(when(inst=OTHER))))
        released = _RULES[f"{prefix}-RELEASED"].but(
            effect=(),
            answer=stale,
            source=_KIP_BEFORE,
            because="a released member has left, and -2 is no epoch to commit with",
        )
        yield _set(fenced, table, _KIP_345)
        yield _set(others, table, _KIP_345)
        yield _set(released, table, _KIP_BEFORE)


_KIP_TIMERS = _set(
    _RULES["CG-REBALANCE-EXPIRED-RELEASED"].but(
        effect=(),
        source=_KIP_LATE,
        because="a released member has nothing to give up, and only its session removes it",
    ),
    timers.REBALANCE,
    _KIP_LATE,
)

KIP_848 = derive(
    CONSUMER_4_3,
    "kip-848",
    "the text of KIP-848, strictly: where Kafka 4.3.0 answers otherwise, the text rules",
    (*_kip_joins(), *_unreachable(_KIP_ENDS), *_kip_checks(), *_kip_commits(), _KIP_TIMERS),
)

CONSUMER_REVISIONS = (
    CONSUMER_4_3,
    KIP_848,
    CONSUMER_4_0,
    CONSUMER_4_1,
    CONSUMER_4_2,
    CONSUMER_4_3_1,
    CONSUMER_4_4,
    PR_23542,
)
"""All revisions of this protocol, the base first."""
