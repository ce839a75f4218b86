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

USES = table(("line", pa.int64()), ("answered_ms", pa.int64()), ("connection", pa.string()))
"""Every request of a file: that its connection was there."""

CONNECTIONS = table(("connection", pa.string()), ("first_ms", pa.int64()))
"""Time of the first use of each connection of a file."""

_AT = pa.struct([("line", pa.int64()), ("at_ms", pa.int64())])
_PAUSE = pa.struct([("line", pa.int64()), ("since_ms", pa.int64()), ("until_ms", pa.int64())])
_SKIPPED = pa.struct([("reason", pa.string()), ("lines", pa.int64()), ("first", pa.string())])

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
    ("parts", pa.list_(pa.int64())),  # how many rows of `lines` are of each part
)
"""A file that was read; `lines` counts all of it, `exchanges` those that were read."""

_UNJUDGED = pa.struct(_columns(UnjudgedSegment))

GROUPS = table(
    ("group", pa.string()),
    ("outcome", pa.string()),  # explained, violated, unknown
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

TABLES = {
    "groups": GROUPS,
    "violations": VIOLATIONS,
    "rebalances": REBALANCES,
    "life_lines": LIFE_LINES,
    "deployments": DEPLOYMENTS,
    "thrown_out": THROWN_OUT,
    "near_timeouts": NEAR_TIMEOUTS,
    "problems": PROBLEMS,
}
"""The tables of an audit, a file of each for every part."""
