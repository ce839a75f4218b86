"""The cause of a failure, where it is one that is known.

Decides when a trace is put down to a known departure: the trace's own revision can't explain it,
and the same revision with the departure built in can, whole.  What only two departures together
explain has both as its cause; what none explains has none.
"""

from __future__ import annotations

import json
from functools import lru_cache

from fencepost.properties.mutants.catalogue import find_revision
from fencepost.properties.mutants.departures import DEPARTURES, causes, departed
from fencepost.traces.files.trace_file import TraceFile

_AND = " + "
_LIMIT = 2_000
"""So many states are looked at for one event; what takes more is not put down to anything."""


def known_cause(trace: TraceFile) -> str:
    """The departures that explain a violated trace, `NAME` or `NAME + NAME`; "" where none do.

    Raises TraceFileError for a revision that there isn't.
    """
    return cause_of_text(trace.text())


def departures_in(cause: str) -> tuple[str, ...]:
    """The names of the departures that a cause is made of."""
    return tuple(cause.split(_AND)) if cause else ()


def cause_sentence(cause: str) -> str:
    """A cause in words: what coordinators do that brings it about, and where it is written up."""
    names = departures_in(cause)
    told = (f"{DEPARTURES[name].about} (docs/findings/{name}.md)" for name in names)
    return f"Known cause: {'; and '.join(told)}."


@lru_cache(maxsize=1_000)
def cause_of_text(text: str) -> str:
    """As `known_cause`, from the text of its file."""
    trace = TraceFile.from_json(json.loads(text), where="the trace")
    if trace.judge(limit=_LIMIT).violation is None:
        return ""
    base = find_revision(trace.revision)
    for together in causes():
        verdict = trace.judge(limit=_LIMIT, revision=departed(base, together))
        if verdict.violation is None and verdict.unknown is None:
            return _AND.join(departure.name for departure in together)
    return ""
