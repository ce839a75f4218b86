"""Define the revisions of streams groups, with the tables of the consumer protocol.

Streams groups have static members since 4.4.0.  A rule that was measured there has the level of
its rule for consumer groups; any other is MAY.  The topology and the tasks of a request have checks
of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fencepost.model.consumer.cells import DANGLING, LIVE, OTHER, OWN, UNMAPPED, when
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.rules import beat, describe, join, leave, timers
from fencepost.model.consumer.rules.rule_sources import KAFKA_20442
from fencepost.model.consumer.streams import OTHER_TOPOLOGY, STREAMS, TASKS, Tasks
from fencepost.model.messages.errors import Error
from fencepost.model.revision import Difference, DropRule, SetRule, derive
from fencepost.model.revisions.consumer_releases import CONSUMER_4_4
from fencepost.model.table.expr import Expr, all_of, negate
from fencepost.model.table.table import Level, Rule, Table, replace_steps

_MEASURED = "KIP-1071 and KAFKA-20169 (static streams members), since 4.4; seen on 4.4.0"
_READ = "Kafka: streams groups, read as those of the consumer protocol"
_TABLES = (
    join.TABLE,
    beat.TABLE,
    leave.TABLE,
    describe.DESCRIBE,
    describe.LIST,
    timers.SESSION,
    timers.REBALANCE,
    timers.FAILOVER,
    timers.CLEANUP,
)
_UNMEASURED = ("COORDINATOR", "CG-FAILOVER-NOTHING", "CG-CLEANUP-UNUSED")
"""Words in the ids of rules that no request has shown in streams groups."""
_IMPOSSIBLE = {
    "ASSIGNOR": "a streams heartbeat asks for no assignor",
    "IDLE": "each thread has a process",
    "-CLASSIC": "a streams group has no classic members",
    "EXPRESSION": "a streams heartbeat has no expression",
    "SIMPLE": "no commit makes a streams group",
    "LEGACY": "only an older version of another request lacks the member id",
    "CG-REBALANCE-EXPIRED-RELEASED": "a released streams member has nothing to give up",
}
"""Words in the ids of rules for which no streams group has an occasion, and the reasons."""

_NO_CHECK_OF_SIZE = "CG-BEAT-GROUP-FULL"
"""A rule that streams groups lack: only a join is compared with the group's largest size."""
_CHANGED = "-CHANGED"


def _refusal(rule_id: str, guard: Expr, because: str, source: str = _MEASURED) -> Rule:
    """Make a check that refuses a request as invalid."""
    return Rule(
        rule_id,
        guard,
        answer=Error.INVALID_REQUEST,
        level=Level.SHOULD,
        source=source,
        because=because,
    )


_TOPOLOGY_CHANGED = _refusal(
    "CG-JOIN-TOPOLOGY-CHANGED",
    all_of(OTHER_TOPOLOGY.among(True), negate(when(inst=(OTHER, OWN), holder=LIVE))),
    "the topology is the group's, also when it is empty, and no join may bring another one",
)
_TASKS_PARTIAL = _refusal(
    "CG-BEAT-TASKS-PARTIAL",
    TASKS.among(Tasks.PARTIAL),
    "a heartbeat names the tasks of all kinds or of none, and only a join has a topology",
)
_TASKS_FOREIGN = _refusal(
    "CG-BEAT-TASKS-FOREIGN", TASKS.among(Tasks.FOREIGN), "the topology has no such task"
)


def _table_of_streams(table: Table) -> Table:
    """Return a table with the features and checks that streams groups have besides."""
    if table.name == join.TABLE.name:
        features = (*table.features, OTHER_TOPOLOGY)
        return Table(table.name, features, (*table.checks, _TOPOLOGY_CHANGED), table.rows)
    if table.name == beat.TABLE.name:
        checks = (*table.checks[:1], _TASKS_PARTIAL, *table.checks[1:], _TASKS_FOREIGN)
        return Table(table.name, (*table.features, TASKS), checks, table.rows)
    return table


def _of_streams(rule: Rule) -> Rule:
    """Return a rule as streams groups have it."""
    is_measured = not any(word in rule.id for word in (*_UNMEASURED, *_IMPOSSIBLE))
    new = rule.but(source=_MEASURED) if is_measured else rule.but(source=_READ, level=Level.MAY)
    if rule.id.startswith("CG-JOIN-TARGET-LOST"):
        new = replace_steps(new, {Do.RECONCILE_UNMAPPED: (Do.RECONCILE,)}).but(
            because="a member that is not reconciled keeps its target under its new instance"
        )
    if rule.id.endswith(_CHANGED):
        same = CONSUMER_4_4.rule(rule.id.removesuffix(_CHANGED))
        why = same.because if "TARGET-LOST" not in rule.id else new.because
        new = new.but(because=f"{why}; its process, its rack or its tags are others")
    if Do.ANSWER_CHANGES in rule.effect:
        new = replace_steps(new, {Do.ANSWER_CHANGES: (Do.ANSWER_CHANGED_TASKS,)}).but(
            because=f"{new.because}; the answer has only changed tasks"
        )
    if Do.ANSWER_DESCRIPTION in rule.effect:
        new = replace_steps(new, {Do.ANSWER_DESCRIPTION: (Do.ANSWER_DESCRIPTION_KEPT,)}).but(
            because="tasks that a member must give up are not its own any more"
        )
    if Do.RELEASE in rule.effect:
        return replace_steps(new, {Do.RELEASE: (Do.RELEASE_SETTLED,)}).but(
            because=f"{rule.because}; it has nothing to wait for when it returns",
        )
    reasons = [why for word, why in _IMPOSSIBLE.items() if word in rule.id]
    return new.but(defensive=reasons[0]) if reasons else new


_BASE = replace(
    CONSUMER_4_4,
    tables={name: _table_of_streams(table) for name, table in CONSUMER_4_4.tables.items()},
)


def _differences() -> Iterator[Difference]:
    own = {_TOPOLOGY_CHANGED.id, _TASKS_PARTIAL.id, _TASKS_FOREIGN.id}
    for table in _TABLES:
        for rule in _BASE.tables[table.name].rules():
            if rule.id == _NO_CHECK_OF_SIZE:
                yield DropRule(table.name, rule.id, _MEASURED)
                continue
            new = rule if rule.id in own else _of_streams(rule)
            yield SetRule(table.name, new, new.source)


_DERIVED = derive(
    _BASE,
    "streams-4.4",
    "streams groups of Apache Kafka 4.4.0; a subscription is a process with its rack and tags",
    tuple(_differences()),
    {"StreamsGroupHeartbeat": (0, 0), "StreamsGroupDescribe": (0, 0), "ListGroups": (0, 5)},
)
STREAMS_4_4 = replace(
    _DERIVED,
    protocol=STREAMS,
    tables={table.name: _DERIVED.tables[table.name] for table in _TABLES},
)

_UNSUPPORTED = "Kafka before KAFKA-20169 (static streams members); seen on 4.2.0 to 4.3.1"
_STATIC = (
    "STATIC",
    "INSTANCE-UNMAPPED",
    "INSTANCE-FENCED",
    "UNRELEASED",
    "RETURN",
    "COPY",
    "RESUME",
    "CHANGE-INSTANCE",
    "TARGET-LOST",
    "CG-LEAVE-RELEASE",
    "EXPIRED-RELEASED",
)
"""Words in the ids of rules about instances."""


_REFUSED = {
    table.name: _refusal(
        f"{prefix}-INSTANCE-REFUSED",
        when(inst=(UNMAPPED, OWN, OTHER, DANGLING)),
        "streams groups have no static members yet",
        _UNSUPPORTED,
    )
    for prefix, table in (
        ("CG-JOIN", join.TABLE),
        ("CG-BEAT", beat.TABLE),
        ("CG-LEAVE", leave.TABLE),
    )
}
"""Name of a table → its check that no request names an instance."""


def _refusing(table: Table) -> Table:
    """Return a table with its check of the instance, behind those of the request's ids."""
    if table.name not in _REFUSED:
        return table
    checks = (*table.checks[:3], _REFUSED[table.name], *table.checks[3:])
    return Table(table.name, table.features, checks, table.rows)


def _without_instances() -> Iterator[SetRule]:
    for name, refused in _REFUSED.items():
        yield SetRule(name, refused, _UNSUPPORTED)
    for table, rule in STREAMS_4_4.rules():
        if any(w in rule.id for w in _STATIC) and rule.id != "CG-LEAVE-RELEASE-BARE":
            new = rule.but(defensive="no request may name an instance")
            yield SetRule(table.name, new, _UNSUPPORTED)


def _without_settling() -> Iterator[SetRule]:
    """Yield the rules that leave the target of a group without members as it is."""
    for table, rule in STREAMS_4_4.rules():
        if Do.SETTLE_EMPTY in rule.effect:
            because = rule.because.removesuffix(leave.SETTLED)
            new = replace_steps(rule, {Do.SETTLE_EMPTY: ()}).but(because=because)
            yield SetRule(table.name, new, KAFKA_20442)


def _older() -> tuple[Difference, ...]:
    """Return all differences of older streams groups; of two about one rule, one rule of both."""
    unsettled = {d.rule_id: d for d in _without_settling()}
    for difference in _without_instances():
        if (other := unsettled.get(difference.rule_id)) is not None:
            rule = other.rule.but(defensive=difference.rule.defensive)
            unsettled[difference.rule_id] = SetRule(difference.table, rule, difference.passage)
        else:
            unsettled[difference.rule_id] = difference
    return tuple(unsettled.values())


STREAMS_4_2 = derive(
    replace(STREAMS_4_4, tables={n: _refusing(table) for n, table in STREAMS_4_4.tables.items()}),
    "streams-4.2",
    "streams groups of Apache Kafka 4.2.0 to 4.3.1, without static members",
    _older(),
)
STREAMS_REVISIONS = (STREAMS_4_4, STREAMS_4_2)
