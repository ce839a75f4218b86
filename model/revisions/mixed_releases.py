"""Define the revisions of mixed groups: releases of Kafka whose groups have members of both kinds.

Each has the tables of mixed groups, and two parts: `kafka-4` for classic groups, and a release of
the consumer protocol.  The base is 4.4.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from fencepost.model.bridge.effects import Do
from fencepost.model.bridge.mixed_protocol import MIXED
from fencepost.model.bridge.rules import classic_requests, conversions, rule_sources
from fencepost.model.bridge.vocabulary import Rejoin, when
from fencepost.model.consumer.cells import EMPTY, UNKNOWN
from fencepost.model.consumer.effects import Do as Common
from fencepost.model.consumer.rules import rule_sources as src
from fencepost.model.consumer.rules.leave import SETTLED
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
    frees_later,
    heeds_no_subscription,
    without_batches,
)
from fencepost.model.table.shared_features import Room
from fencepost.model.table.table import Table, replace_steps

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


def _without_settling(table: Table) -> SetRule:
    """Return the rule of a timeout that leaves the target of an empty group as it is."""
    (rule,) = table.rows
    because = rule.because.removesuffix(SETTLED)
    settled = replace_steps(rule, {Common.SETTLE_EMPTY: ()}).but(because=because)
    return SetRule(table.name, settled, src.KAFKA_20442)


_UP_TO_4_3_1: tuple[Difference, ...] = (
    SetRule(
        _JOIN,
        _RULES["MG-JOIN-GROUP-FULL"].but(
            guard=when(room=Room.FULL, mid=(EMPTY, UNKNOWN)),
            source=src.KAFKA_SIZE,
            because="the group has its largest size, and the member id is none of its members",
        ),
        src.KAFKA_20601,
    ),
    SetRule(_JOIN, _RULES["MG-JOIN-INSTANCE-DANGLING"].but(defensive=None), src.KAFKA_DANGLING),
    SetRule(
        _JOIN,
        _RULES["MG-JOIN-SUBSCRIPTION-BROKEN"].but(
            answer=Error.UNKNOWN_SERVER_ERROR,
            source=rule_sources.KAFKA_BROKEN,
            because="the coordinator fails at a subscription that it can't read",
        ),
        rule_sources.KAFKA_BROKEN,
    ),
    _without_settling(classic_requests.JOIN_TIMEOUT),
    _without_settling(classic_requests.SYNC_TIMEOUT),
)


def _older(
    base: Revision,
    number: str,
    consumer: Revision,
    differences: Iterable[Difference],
    *,
    release: str = "",
) -> Revision:
    """Return the revision of an older release.  `release`: its whole number, if it is another."""
    about = f"groups of Apache Kafka {release or number} with members of both protocols"
    derived = derive(base, f"mixed-{number}", about, tuple(differences))
    return replace(derived, apis=_versions(consumer), parts=(KAFKA_4, consumer))


_4_3_1 = _older(_4_4, "4.3.1", CONSUMER_4_3_1, _UP_TO_4_3_1)
_4_3 = _older(
    _4_3_1,
    "4.3",
    CONSUMER_4_3,
    (DropRule(_JOIN, "MG-JOIN-POLICY", rule_sources.KAFKA_POLICY),),
    release="4.3.0",
)


def _called_by_the_epoch() -> Iterator[SetRule]:
    """Yield the rules that call a classic member in a newer epoch, also without a target of it."""
    calls = (Rejoin.TARGET, Rejoin.EPOCH)
    ready = (Rejoin.NONE, Rejoin.REVOKE, Rejoin.FREE)
    sync, heartbeat = classic_requests.SYNC.name, classic_requests.HEARTBEAT.name
    for table, rule_id, reasons in (
        (sync, "MG-SYNC-REJOIN", calls),
        (sync, "MG-SYNC", ready),
        (heartbeat, "MG-HEARTBEAT-REJOIN", (*calls, Rejoin.REVOKE, Rejoin.FREE)),
        (heartbeat, "MG-HEARTBEAT", Rejoin.NONE),
    ):
        rule = _RULES[rule_id].but(guard=when(rejoin=reasons))
        yield SetRule(table, rule, rule_sources.KAFKA_EPOCH)


_4_2 = _older(
    _4_3,
    "4.2",
    CONSUMER_4_2,
    (*without_batches(_4_3), *_called_by_the_epoch()),
)
_BEFORE_19546 = "KAFKA-19546, since 4.1.1; seen on 4.0.1"
_4_1 = _older(_4_2, "4.1", CONSUMER_4_1, tuple(heeds_no_subscription(_4_2)))
_4_0 = _older(
    _4_1,
    "4.0",
    CONSUMER_4_0,
    (
        *frees_later(_4_1),
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
        ),
    ),
)

MIXED_REVISIONS = (_4_4, _4_3_1, _4_3, _4_2, _4_1, _4_0)
"""All revisions of mixed groups, the base first."""
