"""The tables of an audited log, version 1: their columns, meanings and units.

A column may be added within a version; removing one, or changing its meaning, makes a new version.
Times are ms since 1970 on the clock of the audit, durations ms; null: the log can't tell.  Bodies
are JSON as the log has them.
"""

from __future__ import annotations

from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import pyarrow as pa

from fencepost.traces.audit.audit_results import UnjudgedSegment
from fencepost.traces.operations import operator_rows as rows
from fencepost.traces.operations.problem_words import OperatorProblem

FORMAT = "fencepost-log-audit"
VERSION = 1

_WORDS = pa.list_(pa.string())
_COUNTS = pa.map_(pa.string(), pa.int64())
_COLUMNS = {int: pa.int64(), bool: pa.bool_()}


def table(*fields: tuple[str, pa.DataType]) -> pa.Schema:
    """Make a schema of this version."""
    return pa.schema(list(fields), metadata={FORMAT: str(VERSION)})


def _columns(row: Any) -> list[tuple[str, pa.DataType]]:
    """Return the columns of a row that is a struct."""
    hints = get_type_hints(row)
    return [(name, _column(hints[name])) for name in row.__struct_fields__]


def _column(hint: Any) -> pa.DataType:
    if parts := [part for part in get_args(hint) if part not in {NoneType, ...}]:
        return pa.list_(_column(parts[0])) if get_origin(hint) is tuple else _column(parts[0])
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return pa.struct(_columns(hint))
    return _COLUMNS.get(hint, pa.string())  # an Enum is its word


LINES = table(
    ("part", pa.int16()),  # of which a row group has one: where its group is audited
    ("line", pa.int64()),  # from 1
    ("until_ms", pa.int64()),  # the latest answer in the file up to here; dates may go back a bit
    ("arrived_ms", pa.int64()),
    ("answered_ms", pa.int64()),
    ("connection", pa.string()),
    ("client_id", pa.string()),
    ("api", pa.string()),
    ("version", pa.int16()),
    ("request", pa.binary()),
    ("response", pa.binary()),
)
"""The requests of a file that name a group; one about several groups is a row for each."""

EVENTS = table(
    ("part", pa.int16()),  # as in LINES; one that names no group is a row for each part
    ("line", pa.int64()),  # from 1
    ("place", pa.string()),  # FILE:LINE, with the folder where several files have one name
    ("at_ms", pa.int64()),
    ("until_ms", pa.int64()),  # the latest time in the file up to here
    ("words", pa.binary()),  # the message, as JSON
)
"""The messages of coordinators in a file of server.log."""

USES = table(("line", pa.int64()), ("answered_ms", pa.int64()), ("connection", pa.string()))
"""Every request of a file: that its connection was there."""

CONNECTIONS = table(("connection", pa.string()), ("first_ms", pa.int64()))
"""Time of the first use of each connection of a file."""

_AT = pa.struct([("line", pa.int64()), ("at_ms", pa.int64())])
_PAUSE = pa.struct([("line", pa.int64()), ("since_ms", pa.int64()), ("until_ms", pa.int64())])
_SKIPPED = pa.struct([("reason", pa.string()), ("lines", pa.int64()), ("first", pa.string())])

_OTHER = pa.struct([("group", pa.string()), ("protocol", pa.string())])

FILES = table(
    ("file", pa.string()),
    ("broker", pa.string()),
    ("lines", pa.int64()),
    ("exchanges", pa.int64()),
    ("from_ms", pa.int64()),
    ("until_ms", pa.int64()),
    ("skipped", pa.list_(_SKIPPED)),  # lines that were passed over
    ("damaged", pa.list_(_AT)),  # lines that may have been evidence, and can't be read
    ("first_ms", pa.int64()),  # of the first answer
    ("last_ms", pa.int64()),  # of the last one
    ("pauses", pa.list_(_PAUSE)),  # times in which the broker said nothing at all
    ("parts", pa.list_(pa.int64())),  # how many rows of `lines` or `events` are of each part
    ("others", pa.list_(_OTHER)),  # groups that are not classic
)
"""A file that was read; `lines` counts all of it, `exchanges` those that were read."""

_UNJUDGED = pa.struct(_columns(UnjudgedSegment))

GROUPS = table(
    ("group", pa.string()),
    ("outcome", pa.string()),  # explained, violated, unknown; of server.log unjudged
    ("reason", pa.string()),  # one sentence
    ("lines", pa.int64()),
    ("judged", pa.int64()),  # of these: held to a known state
    ("anchors", pa.int64()),  # how often its state became known
    ("first_ms", pa.int64()),
    ("last_ms", pa.int64()),
    ("brokers", _WORDS),
    ("violations", pa.int64()),
    ("undecided", pa.int64()),  # segments of which nothing can be said
    ("unjudged", pa.list_(_UNJUDGED)),  # the first of these
    ("assumed", _COUNTS),
    ("notes", _COUNTS),
)
"""A group's verdict."""

_ALLOWED = pa.struct([("rule", pa.string()), ("body", pa.string()), ("difference", pa.string())])

VIOLATIONS = table(
    ("group", pa.string()),
    ("place", pa.string()),  # FILE:LINE
    ("file", pa.string()),
    ("line", pa.int64()),
    ("broker", pa.string()),
    ("at_ms", pa.int64()),
    ("api", pa.string()),
    ("version", pa.int16()),
    ("client_id", pa.string()),
    ("member_id", pa.string()),
    ("group_instance_id", pa.string()),
    ("says", pa.string()),
    ("wrong", pa.string()),
    ("level", pa.string()),  # MUST, SHOULD, MAY
    ("rule", pa.string()),
    ("allowed", pa.list_(_ALLOWED)),
    ("observed", pa.string()),  # JSON
)
"""An answer that no state explains; the first twenty of a group."""

LIFE_LINES = table(*_columns(rows.LifeLine))
"""One member id that held an instance id."""

REBALANCES = table(*_columns(rows.Rebalance))
"""A rebalance, up to the generation that it led to."""

DEPLOYMENTS = table(*_columns(rows.Deployment))
"""Restarts of a group's members that follow each other closely."""

THROWN_OUT = table(*_columns(rows.ThrownOut))
"""A member's session expired, though its process was alive."""

NEAR_TIMEOUTS = THROWN_OUT
"""A member that stayed, but was once silent for much of its session timeout."""

PROBLEMS = table(*_columns(OperatorProblem))
"""Something that is wrong, in sentences."""

RESTARTS = table(*_columns(rows.Restart))
"""A process that went, and came back as a new member."""

EXPIRATIONS = table(*_columns(rows.Expiration))
"""A member whose session expired, or that did not join a rebalance in time."""

PENDING_IDS = table(*_columns(rows.PendingId))
"""A member id that was handed out, and not used."""

LOOPS = table(*_columns(rows.Loop))
"""One cause of rebalances, or of takeovers, again and again."""

EMPTY_SPANS = table(*_columns(rows.EmptySpan))
"""Times without a member; `until_ms` null: until the log ends."""

REMOVED_OFFSETS = table(*_columns(rows.OffsetsRemoved))
"""Offsets of a group that somebody deleted."""

FAILOVERS = table(*_columns(rows.Failover))
"""A coordinator that read a group."""

CHAINS = table(*_columns(rows.FencingChain))
"""Processes that took an instance id from each other, in turn."""

SELF_FENCINGS = table(*_columns(rows.SelfFencing))
"""A process that was fenced by its own later join."""

STATIC_LEAVES = table(*_columns(rows.StaticLeave))
"""A static member that a LeaveGroup removed."""

EXPIRED_TOGETHER = table(*_columns(rows.ExpiredTogether))
"""Members of any groups that expired at nearly the same time; of all parts in one table."""

COUNTS = (
    "rebalances",
    "rebalancing_total_ms",
    "failed_rebalances",
    "deployments",
    "deployment_restarts",
    "deployment_rebalances",
    "replacements",
    "fenced",
    "thrown_out",
    "expirations",
    "expirations_for_good",
    "restarts",
    "loops",
    "unused_member_ids",
    "failovers",
)
"""The figures that are counts, by the names that Prometheus gets."""

FIGURES = table(
    ("group", pa.string()),
    *((name, pa.int64()) for name in COUNTS),
    ("group_lost", pa.bool_()),  # its last member expired, and none came since
    ("last_expired_ms", pa.int64()),  # when, if so
    ("static", pa.int64()),  # members at the end
    ("dynamic", pa.int64()),
    ("rebalancing_ms", pa.int64()),  # start of a rebalance that was not over
    ("kind", pa.string()),  # consumers, Connect workers, Streams threads
    ("library", pa.string()),  # the client library, "" where it is not shown
    ("unshown", _WORDS),  # kinds of problems that the log can't show
)
"""The figures of a group; null: the log can't show it."""

TABLES = {
    "groups": GROUPS,
    "violations": VIOLATIONS,
    "rebalances": REBALANCES,
    "life_lines": LIFE_LINES,
    "deployments": DEPLOYMENTS,
    "thrown_out": THROWN_OUT,
    "near_timeouts": NEAR_TIMEOUTS,
    "problems": PROBLEMS,
    "restarts": RESTARTS,
    "expirations": EXPIRATIONS,
    "pending_ids": PENDING_IDS,
    "loops": LOOPS,
    "failovers": FAILOVERS,
    "empty_spans": EMPTY_SPANS,
    "removed_offsets": REMOVED_OFFSETS,
    "chains": CHAINS,
    "self_fencings": SELF_FENCINGS,
    "static_leaves": STATIC_LEAVES,
    "figures": FIGURES,
}
"""The tables of an audit, a file of each for every part."""
