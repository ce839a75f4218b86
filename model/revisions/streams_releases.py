"""Define the revision of streams groups: `streams-4.4`, with the tables of the consumer protocol.

Streams groups have static members since 4.4.0.  A rule that was measured there has the level of
its rule for consumer groups; any other is MAY.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.rules import beat, join, leave, timers
from fencepost.model.consumer.streams import STREAMS
from fencepost.model.revision import SetRule, derive
from fencepost.model.revisions.consumer_releases import CONSUMER_4_4
from fencepost.model.table.table import Level, Rule, replace_steps

_MEASURED = "KIP-1071 and KAFKA-20169 (static streams members), since 4.4; seen on 4.4.0"
_READ = "Kafka: streams groups, read as those of the consumer protocol"
_TABLES = (
    join.TABLE,
    beat.TABLE,
    leave.TABLE,
    timers.SESSION,
    timers.REBALANCE,
    timers.FAILOVER,
    timers.CLEANUP,
)
_MEASURED_RULES = frozenset(
    {
        "CG-JOIN-STATIC-NEW",
        "CG-JOIN-UNRELEASED",
        "CG-JOIN-AGAIN-UNRELEASED",
        "CG-JOIN-RETURN",
        "CG-JOIN-RETURN-CHANGED",
        "CG-JOIN-REJOIN",
        "CG-JOIN-CHANGE-INSTANCE",
        "CG-BEAT-ALIVE",
        "CG-BEAT-INSTANCE-FENCED",
        "CG-BEAT-INSTANCE-UNMAPPED",
        "CG-BEAT-EPOCH-NEWER",
        "CG-LEAVE-RELEASE-BARE",
        "CG-LEAVE-RELEASE",
        "CG-LEAVE-INSTANCE-FENCED",
        "CG-LEAVE-INSTANCE-UNMAPPED",
        "CG-SESSION-EXPIRED",
        "CG-SESSION-EXPIRED-RELEASED",
    }
)
"""Rules that raw requests have shown in streams groups, too."""

_CHANGED = "-CHANGED"


def _of_streams(rule: Rule) -> Rule:
    """Return a rule as streams groups have it."""
    new = (
        rule.but(source=_MEASURED)
        if rule.id in _MEASURED_RULES
        else rule.but(source=_READ, level=Level.MAY)
    )
    if rule.id.endswith(_CHANGED):
        same = CONSUMER_4_4.rule(rule.id.removesuffix(_CHANGED))
        return new.but(because=f"{same.because}; its process or its topology is another one")
    if Do.RELEASE in rule.effect:
        return replace_steps(new, {Do.RELEASE: (Do.RELEASE_SETTLED,)}).but(
            because=f"{rule.because}; it has nothing to wait for when it returns",
        )
    if rule.id == "CG-REBALANCE-EXPIRED-RELEASED":
        return new.but(defensive="a released streams member has nothing to give up")
    return new


def _differences() -> Iterator[SetRule]:
    for table in _TABLES:
        for rule in CONSUMER_4_4.tables[table.name].rules():
            new = _of_streams(rule)
            yield SetRule(table.name, new, new.source)


_DERIVED = derive(
    CONSUMER_4_4,
    "streams-4.4",
    "streams groups of Apache Kafka 4.4.0; a subscription is a process with its topology",
    tuple(_differences()),
    {"StreamsGroupHeartbeat": (0, 0)},
)
STREAMS_4_4 = replace(
    _DERIVED,
    protocol=STREAMS,
    tables={table.name: _DERIVED.tables[table.name] for table in _TABLES},
)
