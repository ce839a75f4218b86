"""Find the known cause of a failure.

A trace has a known departure as its cause if the trace's own revision can't explain the trace, and
the same revision with that departure can explain all of it.  A trace that only two departures
together explain has both as its cause.
"""

from __future__ import annotations

import json
from functools import lru_cache

from fencepost.properties.mutants.catalogue import find_revision
from fencepost.properties.mutants.departures import DEPARTURES, causes, departed
from fencepost.traces.files.trace_file import TraceFile

_AND = " + "
_LIMIT = 2_000
"""The most states for one event; a trace that needs more has no known cause."""


def known_cause(trace: TraceFile) -> str:
    """Return the departures that explain a violated trace, `NAME` or `NAME + NAME`; "" if none.

    Raises TraceFileError for a revision that there isn't.
    """
    return cause_of_text(trace.text())


def departures_in(cause: str) -> tuple[str, ...]:
    """Return the names of the departures that a cause is made of."""
    return tuple(cause.split(_AND)) if cause else ()


def cause_sentence(cause: str) -> str:
    """Describe a cause: what coordinators do, and the page that documents it."""
    names = departures_in(cause)
    told = (f"{DEPARTURES[name].about} (docs/findings/{name}.md)" for name in names)
    return f"Known cause: {'; and '.join(told)}."


@lru_cache(maxsize=1_000)
def cause_of_text(text: str) -> str:
    """Do the same from the text of the trace's file."""
    trace = TraceFile.from_json(json.loads(text), where="the trace")
    if trace.judge(limit=_LIMIT).violation is None:
        return ""
    base = find_revision(trace.revision)
    for together in causes():
        verdict = trace.judge(limit=_LIMIT, revision=departed(base, together))
        if verdict.violation is None and verdict.unknown is None:
            return _AND.join(departure.name for departure in together)
    return ""
