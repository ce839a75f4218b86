"""Define the revisions of mixed groups: releases of Kafka whose groups have members of both kinds.

Each has the tables of mixed groups, and two parts: `kafka-4` for classic groups, and a release of
the consumer protocol.  The base is 4.4.0.
"""

from __future__ import annotations

from dataclasses import replace

from fencepost.model.bridge.effects import Do
from fencepost.model.bridge.mixed_protocol import MIXED
from fencepost.model.bridge.rules import classic_requests, conversions, rule_sources
from fencepost.model.bridge.vocabulary import when
from fencepost.model.consumer.cells import EMPTY, UNKNOWN
from fencepost.model.consumer.effects import Do as Common
from fencepost.model.messages.errors import Error
from fencepost.model.revision import Difference, DropRule, Revision, SetRule, derive
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.revisions.consumer_releases import (
    CONSUMER_4_0,
    CONSUMER_4_1,
    CONSUMER_4_2,
    CONSUMER_4_3,
    CONSUMER_4_3_1,
    CONSUMER_4_4,
)
from fencepost.model.table.shared_features import Room
from fencepost.model.table.table import Rule, Table

_TABLES = {
    table.name: table
    for table in (
        classic_requests.JOIN,
        classic_requests.SYNC,
        classic_requests.HEARTBEAT,
        classic_requests.COMMIT,
        classic_requests.FETCH,
        conversions.UPGRADE,
        conversions.DOWNGRADE,
        classic_requests.JOIN_TIMEOUT,
        classic_requests.SYNC_TIMEOUT,
    )
}
"""The tables of mixed groups alone; a revision has parts of both protocols beside them."""

_JOIN = classic_requests.JOIN.name
_RULES = {rule.id: rule for table in _TABLES.values() for rule in table.rules()}


def _versions(consumer: Revision) -> dict[str, tuple[int, int]]:
    versions = {**KAFKA_4.apis, **consumer.apis}
    return {api: versions[api] for api in MIXED.apis}


_4_4 = Revision(
    "mixed-4.4",
    "groups of Apache Kafka 4.4.0 with members of both protocols",
    MIXED,
    _TABLES,
    _versions(CONSUMER_4_4),
    parts=(KAFKA_4, CONSUMER_4_4),
)


def _without_settling(table: Table, rule: Rule) -> SetRule:
    effect = tuple(do for do in rule.effect if do is not Common.SETTLE_EMPTY)
    passage = "KAFKA-20442 (the target of an empty group), since 4.4; seen on 4.4.0"
    because = rule.because.removesuffix(classic_requests.SETTLED)
    return SetRule(table.name, rule.but(effect=effect, because=because), passage)


_UP_TO_4_3_1: tuple[Difference, ...] = (
    SetRule(
        _JOIN,
        _RULES["MG-JOIN-GROUP-FULL"].but(
            guard=when(room=Room.FULL, mid=(EMPTY, UNKNOWN)),
            source=rule_sources.KAFKA_SIZE,
            because="the group has its largest size, and the member id is none of its members",
        ),
        "KAFKA-20601 (full groups), since 4.4; seen on 4.4.0",
    ),
    SetRule(
        _JOIN,
        _RULES["MG-JOIN-SUBSCRIPTION-BROKEN"].but(
            answer=Error.UNKNOWN_SERVER_ERROR,
            source=rule_sources.KAFKA_BROKEN,
            because="the coordinator fails at a subscription that it can't read",
        ),
        rule_sources.KAFKA_BROKEN,
    ),
    *(
        _without_settling(table, _RULES[rule_id])
        for table, rule_id in (
            (classic_requests.JOIN_TIMEOUT, "MG-JOIN-EXPIRED"),
            (classic_requests.SYNC_TIMEOUT, "MG-SYNC-EXPIRED"),
        )
    ),
)
_4_3_1 = replace(
    derive(
        _4_4,
        "mixed-4.3.1",
        "groups of Apache Kafka 4.3.1 with members of both protocols",
        _UP_TO_4_3_1,
    ),
    apis=_versions(CONSUMER_4_3_1),
    parts=(KAFKA_4, CONSUMER_4_3_1),
)

_4_3 = replace(
    derive(
        _4_3_1,
        "mixed-4.3",
        "groups of Apache Kafka 4.3.0 with members of both protocols",
        (DropRule(_JOIN, "MG-JOIN-POLICY", rule_sources.KAFKA_POLICY),),
    ),
    apis=_versions(CONSUMER_4_3),
    parts=(KAFKA_4, CONSUMER_4_3),
)

_BEFORE_BATCHES = "Kafka: group.consumer.assignment.interval.ms, since 4.3; seen on 4.0.1 and 4.2.0"


_BEFORE_4_1 = (
    "Kafka: partitions that a member gives up and is to have again; seen on 4.0.1, and otherwise "
    "on 4.1.2"
)


def _swapped(base: Revision, old: Common, new: Common, words: str, passage: str) -> list[SetRule]:
    """Return the rules of joins that have a step, with another step instead."""
    return [
        SetRule(
            _JOIN,
            rule.but(
                effect=tuple(new if do is old else do for do in rule.effect),
                because=f"{rule.because}; {words}",
            ),
            passage,
        )
        for rule in base.tables[_JOIN].rules()
        if old in rule.effect
    ]


def _older(base: Revision, number: str, consumer: Revision, differences: list[SetRule]) -> Revision:
    """Return the revision of an older release."""
    about = f"groups of Apache Kafka {number} with members of both protocols"
    derived = derive(base, f"mixed-{number}", about, tuple(differences))
    return replace(derived, apis=_versions(consumer), parts=(KAFKA_4, consumer))


_4_2 = _older(
    _4_3,
    "4.2",
    CONSUMER_4_2,
    _swapped(
        _4_3,
        Common.RECOMPUTE_TARGET,
        Common.RECOMPUTE_TARGET_AT_ONCE,
        "the target is made anew at once",
        _BEFORE_BATCHES,
    ),
)
_BEFORE_19546 = "KAFKA-19546, since 4.2; seen on 4.0.1"
_4_1 = _older(
    _4_2,
    "4.1",
    CONSUMER_4_1,
    [
        SetRule(
            conversions.DOWNGRADE.name,
            _RULES["MG-DOWNGRADE-CHANGED"].but(
                effect=(Do.DOWNGRADE,),
                source=_BEFORE_19546,
                because=(
                    "a classic member with another subscription replaced the last one of the "
                    "consumer protocol, and hears of a generation that the group doesn't have"
                ),
            ),
            _BEFORE_19546,
        )
    ],
)
_4_0 = _older(
    _4_1,
    "4.0",
    CONSUMER_4_0,
    _swapped(
        _4_1,
        Common.RECONCILE,
        Common.RECONCILE_LATER,
        "what it gives up is free from the next request on",
        _BEFORE_4_1,
    ),
)

MIXED_REVISIONS = (_4_4, _4_3_1, _4_3, _4_2, _4_1, _4_0)
"""All revisions of mixed groups, the base first."""
