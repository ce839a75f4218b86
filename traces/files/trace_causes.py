"""Find the known cause of a failure in a trace; see `departures.attribution`."""

from __future__ import annotations

import json
from functools import lru_cache

from fencepost.properties.departures.attribution import Attribution, attributed, departures_in
from fencepost.properties.departures.known_departures import DEPARTURES
from fencepost.properties.mutants.mutants import find_revision
from fencepost.traces.files.trace_file import TraceFile, UnknownRevisionError

__all__ = ["attribution_of", "cause_of_text", "cause_sentence", "departures_in", "known_cause"]


def known_cause(trace: TraceFile) -> str:
    """Return the departures that explain a violated trace, `NAME` or `NAME + NAME`; "" if none.

    Raises TraceFileError for a revision that there isn't.
    """
    return attribution_of(trace).cause


def attribution_of(trace: TraceFile) -> Attribution:
    """Attribute the failure of a trace.  Raises TraceFileError for a revision that there isn't."""
    return _attribution_of_text(trace.text())


def cause_of_text(text: str) -> str:
    """Return the known cause of a trace, from the text of its file."""
    return _attribution_of_text(text).cause


def cause_sentence(cause: str) -> str:
    """Describe a cause: what coordinators do, and the page that documents it."""
    names = departures_in(cause)
    told = (f"{DEPARTURES[name].about} ({DEPARTURES[name].described})" for name in names)
    return f"Known cause: {'; and '.join(told)}."


@lru_cache(maxsize=1_000)
def _attribution_of_text(text: str) -> Attribution:
    trace = TraceFile.from_json(json.loads(text), where="the trace")
    try:
        base = find_revision(trace.revision)
    except KeyError as error:
        raise UnknownRevisionError("trace", trace.revision, error) from error
    return attributed(
        base, trace.config, trace.events, lag_ms=trace.lag_ms, coordinator=trace.coordinator
    )
