"""The tables of a corpus, version 1: their columns, meanings and units.

A column may be added within a version; removing one, or changing its meaning, makes a new version.
Bodies of requests and answers are JSON, as in trace files, since their fields differ by API and
version.  Revision and mutant of a row are in the name of its folder (`revision=R/mutant=M`), as
Spark and Arrow read it.
"""

from __future__ import annotations

import pyarrow as pa

from fencepost.traces.pipeline.corpus.corpus import FORMAT, VERSION

_WORDS = pa.list_(pa.string())


def _table(*fields: tuple[str, pa.DataType]) -> pa.Schema:
    return pa.schema(list(fields), metadata={FORMAT: str(VERSION)})


STEP = pa.struct(
    [
        ("do", pa.string()),  # send, answer, disconnect, restart, handled, passed
        ("at_ms", pa.int64()),  # since the beginning; the earliest time
        ("by_ms", pa.int64()),  # the latest; the same on a virtual clock
        ("id", pa.string()),  # of a request; of an answer: of the request that it answers
        ("member", pa.string()),  # who sent it: c1, c2, …
        ("connection", pa.string()),
        ("client_id", pa.string()),
        ("api", pa.string()),
        ("version", pa.int16()),
        ("body", pa.string()),  # JSON; null for an answer: the connection was closed
        ("findings", _WORDS),  # what was odd about the bytes of an answer
        ("dropped", _WORDS),  # ids of requests that get no answer any more
    ]
)
"""An event of the history; what an event of its kind doesn't have is null."""

TURN = pa.struct(
    [
        ("act", pa.string()),
        ("client", pa.int32()),  # -1: nobody's doing
        ("outcome", pa.int32()),  # which of those that the protocol leaves open
        ("rules", _WORDS),  # by which the model decided, in order
        ("state", pa.string()),  # of the group afterwards, as rules can tell it apart
    ]
)
"""A step of the model that the trace was made with."""

TRACES = _table(
    ("trace", pa.int64()),  # its number in the corpus
    ("scope", pa.int16()),  # whose clients: an index into machines.SCOPES
    ("config", pa.map_(pa.string(), pa.int64())),
    ("clock", pa.string()),  # virtual or real
    ("lag_ms", pa.int32()),
    ("steps", pa.list_(STEP)),
    ("turns", pa.list_(TURN)),
)

VERDICTS = _table(
    ("trace", pa.int64()),
    ("outcome", pa.string()),  # holds, violated, unknown; error: the checker itself failed
    ("level", pa.string()),  # MUST, SHOULD, MAY
    ("rule", pa.string()),  # that was broken; "" where no rule can be named
    ("api", pa.string()),  # of the request whose answer is wrong
    ("wrong", pa.string()),  # ANSWER, EARLY, SILENCE, CLOSED, SHAPE, DEVIATION
    ("seen", pa.string()),  # what kind of answer came
    ("request", pa.string()),  # whose answer is wrong
    ("decided_by", _WORDS),  # the rules that took the request in
    ("broken", _WORDS),  # ids of properties that the answers, or the explanations, break
    ("message", pa.string()),  # one sentence; of an error: its class and text
    ("turns", pa.int32()),  # how long the trace is
)

ITEMS = _table(
    ("revision", pa.string()),
    ("mutant", pa.string()),
    ("kind", pa.string()),  # rule, pair, state
    ("item", pa.string()),
    ("traces", pa.int64()),  # how many show it
    ("first", pa.int64()),  # the lowest number of one
)
"""What a corpus covers."""

SHOWN = _table(("trace", pa.int64()), ("shard", pa.int64()), ("items", _WORDS))
"""A trace that is needed, and what it covers."""

GROUPS = _table(
    ("outcome", pa.string()),
    ("rule", pa.string()),
    ("api", pa.string()),
    ("wrong", pa.string()),
    ("seen", pa.string()),
    ("traces", pa.int64()),  # how many are like it
    ("smallest", pa.int64()),  # turns * 2^40 + number: of the shortest the first
    ("message", pa.string()),  # the first in the order of the alphabet
)
"""Violations that are one, by rule and shape."""

DONE = _table(("shard", pa.int64()), ("rows", pa.int64()))
"""A shard that is written, and its rows."""

OUTCOMES = _table(
    ("revision", pa.string()),
    ("mutant", pa.string()),
    ("outcome", pa.string()),
    ("traces", pa.int64()),
)
"""How many traces of a model came out how."""
