"""JoinGroup, SyncGroup, Heartbeat and commits of classic members in a consumer group.

There is no join phase: a join is answered at once.  A member that must give partitions up, or can
have more, hears REBALANCE_IN_PROGRESS and joins again.  A join by instance alone replaces any
holder, also a live one of the consumer protocol.
"""

from __future__ import annotations

from enum import Enum

from fencepost.model.bridge.effects import (
    COMMIT_TABLE,
    FETCH_TABLE,
    HEARTBEAT_TABLE,
    JOIN_TABLE,
    JOIN_TIMEOUT_TABLE,
    SYNC_TABLE,
    SYNC_TIMEOUT_TABLE,
    Do,
)
from fencepost.model.bridge.rules import rule_sources as src
from fencepost.model.bridge.vocabulary import (
    NAMES_PROTOCOL,
    OFFER,
    POLICY,
    REJOIN,
    SAME_GENERATION,
    SAME_PROTOCOL,
    SENDER,
    Offer,
    Rejoin,
    Sender,
    when,
)
from fencepost.model.classic.rules.rule_sources import KIP_394
from fencepost.model.consumer.cells import (
    DANGLING,
    EMPTY,
    MEMBER,
    NONE,
    OTHER,
    OWN,
    UNKNOWN,
    UNMAPPED,
)
from fencepost.model.consumer.effects import Do as Common
from fencepost.model.consumer.rules.leave import GONE, SETTLED
from fencepost.model.consumer.rules.rule_sources import KAFKA_20601
from fencepost.model.consumer.vocabulary import INST, MID
from fencepost.model.messages.errors import Error
from fencepost.model.table.entry_checks import coordinator_checks
from fencepost.model.table.expr import ALWAYS, Expr
from fencepost.model.table.shared_features import (
    COORDINATOR,
    ROOM,
    Room,
    version_feature,
)
from fencepost.model.table.table import Echo, Level, Rule, Table

VERSION = version_feature(9)


def _rule(
    rule_id: str,
    guard: Expr,
    answer: Error | None,
    because: str,
    *effect: Enum,
    source: str = src.KAFKA_MIXED,
    level: Level = Level.SHOULD,
) -> Rule:
    return Rule(rule_id, guard, effect, answer, level, source, because)


def _stranger(prefix: str) -> tuple[Rule, ...]:
    """Make the checks of who sends a SyncGroup or Heartbeat: instance first, then the id alone."""
    return (
        *coordinator_checks(prefix),
        _rule(
            f"{prefix}-INSTANCE-UNMAPPED",
            when(inst=(UNMAPPED, DANGLING)),
            Error.UNKNOWN_MEMBER_ID,
            "no member has the instance",
        ),
        _rule(
            f"{prefix}-INSTANCE-FENCED",
            when(inst=OTHER),
            Error.FENCED_INSTANCE_ID,
            "the instance is mapped to another member id, so the caller is a zombie",
        ),
        _rule(
            f"{prefix}-UNKNOWN-MEMBER",
            when(sender=Sender.NOBODY),
            Error.UNKNOWN_MEMBER_ID,
            "no member has this id",
        ),
        _rule(
            f"{prefix}-CONSUMER-MEMBER",
            when(sender=Sender.CONSUMER),
            Error.UNKNOWN_MEMBER_ID,
            "the member of this id is of the consumer protocol",
        ),
        _rule(
            f"{prefix}-ILLEGAL-GENERATION",
            when(same_generation=False),
            Error.ILLEGAL_GENERATION,
            "the generation is not the member's epoch; a released member has epoch -2",
        ),
    )


_IN = (
    Do.BECOME_CLASSIC,
    Common.RECOMPUTE_TARGET,
    Common.RECONCILE,
    Common.RESTART_SESSION,
    Do.START_SYNC_TIMER,
    Do.ANSWER_JOIN,
)
_NEW = (Common.BUMP_EPOCH, *_IN)
_KNOWN = (Do.BUMP_FOR_SUBSCRIPTION, Common.UPDATE_MEMBER, *_IN)

JOIN = Table(
    JOIN_TABLE,
    (VERSION, COORDINATOR, POLICY, ROOM, OFFER, MID, INST),
    (
        *coordinator_checks("MG-JOIN"),
        _rule(
            "MG-JOIN-POLICY",
            when(policy=False),
            Error.INCONSISTENT_GROUP_PROTOCOL,
            "the migration policy is disabled, so consumer groups have no classic members",
            source=src.KAFKA_POLICY,
        ),
        _rule(
            "MG-JOIN-GROUP-FULL",
            when(room=Room.FULL, mid=(EMPTY, UNKNOWN), inst=(NONE, UNMAPPED, DANGLING)),
            Error.GROUP_MAX_SIZE_REACHED,
            "the group has its largest size, and neither id nor instance is a member's",
            source=KAFKA_20601,
        ),
        _rule(
            "MG-JOIN-PROTOCOLS-INCONSISTENT",
            when(offer=Offer.UNSUPPORTED),
            Error.INCONSISTENT_GROUP_PROTOCOL,
            "all classic members must share the type consumer and at least one protocol",
        ),
        _rule(
            "MG-JOIN-SUBSCRIPTION-BROKEN",
            when(offer=Offer.BROKEN),
            Error.INCONSISTENT_GROUP_PROTOCOL,
            "the coordinator assigns, so it must read the subscription",
            source="Kafka: subscriptions that can't be read; seen on 4.4.0",
        ),
    ),
    (
        Rule(
            "MG-JOIN-ID-REQUIRED",
            when(mid=EMPTY, inst=NONE, version=VERSION.at_least(4)),
            (Do.HAND_OUT_ID,),
            Error.MEMBER_ID_REQUIRED,
            level=Level.SHOULD,
            source=KIP_394,
            because="a dynamic member first gets an id, and then joins with it",
            echo=Echo.NEW,
        ),
        _rule(
            "MG-JOIN-DYNAMIC-LEGACY",
            when(mid=EMPTY, inst=NONE, version=VERSION.below(4)),
            None,
            "up to version 3 a dynamic process becomes a member at once",
            Common.ADD_DYNAMIC,
            *_NEW,
        ),
        _rule(
            "MG-JOIN-DYNAMIC",
            when(mid=UNKNOWN, inst=NONE),
            None,
            "an id without an instance becomes a dynamic member",
            Common.ADD_DYNAMIC,
            *_NEW,
        ),
        _rule(
            "MG-JOIN-STATIC",
            when(mid=EMPTY, inst=UNMAPPED),
            None,
            "an unmapped instance becomes a new static member",
            Common.ADD_STATIC,
            *_NEW,
        ),
        _rule(
            "MG-JOIN-REPLACE",
            when(mid=EMPTY, inst=OTHER),
            None,
            "a join by instance alone replaces the holder of either protocol, live or released",
            Common.REPLACE_HOLDER,
            *_KNOWN,
        ),
        _rule(
            "MG-JOIN-AGAIN",
            when(mid=MEMBER, inst=(NONE, OWN)),
            None,
            "a member joins again, with its instance or by its id alone, and keeps its place",
            *_KNOWN,
        ),
        _rule(
            "MG-JOIN-INSTANCE-UNMAPPED",
            when(mid=(MEMBER, UNKNOWN), inst=UNMAPPED),
            Error.UNKNOWN_MEMBER_ID,
            "the instance is unmapped, so no member has it",
        ),
        _rule(
            "MG-JOIN-INSTANCE-DANGLING",
            when(inst=DANGLING),
            Error.UNKNOWN_MEMBER_ID,
            "the instance is mapped to an id that is gone",
        ).but(defensive="no instance is mapped to an id that is gone"),
        _rule(
            "MG-JOIN-INSTANCE-FENCED",
            when(mid=(MEMBER, UNKNOWN), inst=OTHER),
            Error.FENCED_INSTANCE_ID,
            "the instance is mapped to another member id",
        ),
    ),
)

_SENDER = (COORDINATOR, MID, INST, SENDER, SAME_GENERATION)

SYNC = Table(
    SYNC_TABLE,
    (NAMES_PROTOCOL, *_SENDER, SAME_PROTOCOL, REJOIN),
    (
        _rule(
            "MG-SYNC-PROTOCOL-NULL",
            when(names_protocol=False),
            Error.INCONSISTENT_GROUP_PROTOCOL,
            "from version 5 on a sync must name the protocol type and name",
        ),
        *_stranger("MG-SYNC"),
        _rule(
            "MG-SYNC-PROTOCOL",
            when(same_protocol=False),
            Error.INCONSISTENT_GROUP_PROTOCOL,
            "the sync names another protocol than its member has",
        ),
    ),
    (
        _rule(
            "MG-SYNC-REJOIN",
            when(rejoin=Rejoin.TARGET),
            Error.REBALANCE_IN_PROGRESS,
            "there is a newer target, so the member must join again, within its R",
            Do.START_JOIN_TIMER,
        ),
        _rule(
            "MG-SYNC",
            when(rejoin=(Rejoin.NONE, Rejoin.REVOKE, Rejoin.FREE, Rejoin.EPOCH)),
            None,
            "the member gets its assignment, which is ready",
            Do.STOP_SYNC_TIMER,
            Common.RESTART_SESSION,
            Do.ANSWER_SYNC,
        ),
    ),
)

HEARTBEAT = Table(
    HEARTBEAT_TABLE,
    (*_SENDER, REJOIN),
    _stranger("MG-HEARTBEAT"),
    (
        _rule(
            "MG-HEARTBEAT",
            when(rejoin=(Rejoin.NONE, Rejoin.EPOCH)),
            Error.NONE,
            "the member is alive, and has what the target gives it",
            Common.RESTART_SESSION,
        ),
        _rule(
            "MG-HEARTBEAT-REJOIN",
            when(rejoin=(Rejoin.TARGET, Rejoin.REVOKE, Rejoin.FREE)),
            Error.REBALANCE_IN_PROGRESS,
            "the member must join again, within its R",
            Common.RESTART_SESSION,
            Do.START_JOIN_TIMER,
        ),
    ),
)

COMMIT = Table(
    COMMIT_TABLE,
    (SAME_GENERATION,),
    (),
    (
        _rule(
            "MG-COMMIT",
            when(same_generation=True),
            Error.NONE,
            "a classic member commits with its generation, in any version",
            Common.STORE_OFFSETS,
        ),
        _rule(
            "MG-COMMIT-ILLEGAL-GENERATION",
            when(same_generation=False),
            Error.ILLEGAL_GENERATION,
            "the generation is not the member's epoch",
        ),
    ),
)


FETCH = Table(
    FETCH_TABLE,
    (SAME_GENERATION,),
    (),
    (
        _rule(
            "MG-FETCH",
            when(same_generation=True),
            Error.NONE,
            "a classic member reads with its generation",
            Common.ANSWER_OFFSETS,
        ),
        _rule(
            "MG-FETCH-ILLEGAL-GENERATION",
            when(same_generation=False),
            Error.ILLEGAL_GENERATION,
            "the generation is not the member's epoch",
        ),
    ),
)


def _timeout(table: str, rule_id: str, because: str) -> Table:
    gone = (*GONE, Common.SETTLE_EMPTY)
    return Table(table, (), (), (_rule(rule_id, ALWAYS, None, because + SETTLED, *gone),))


JOIN_TIMEOUT = _timeout(
    JOIN_TIMEOUT_TABLE,
    "MG-JOIN-EXPIRED",
    "a member that was to join again and did not within its R is removed, also a static one, and "
    "one that became one of the consumer protocol meanwhile",
)
SYNC_TIMEOUT = _timeout(
    SYNC_TIMEOUT_TABLE,
    "MG-SYNC-EXPIRED",
    "a classic member that joined and sent no SyncGroup within R is removed, also a static one, "
    "and one that became one of the consumer protocol meanwhile",
)
