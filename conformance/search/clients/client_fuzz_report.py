"""Tell what a search of a client came to: lines, JSON, and a folder with a page and traces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from fencepost.conformance.cases.clients.scenario import Scenario, read_scenario
from fencepost.conformance.search.clients.client_search import ClientFinding, ClientSearch
from fencepost.model.bad_input import BadInputError
from fencepost.model.coordinator import Provenance
from fencepost.model.history.words import plural
from fencepost.model.table.table import Level
from fencepost.properties.judging.known_failures import note_of
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.judging.report import EXIT_CODES, Overall
from fencepost.properties.requirements.requirements import find_requirement
from fencepost.traces.files.bounded import all_versions, read_json
from fencepost.traces.files.text_files import INDEX, trace_name, write_texts
from fencepost.traces.report.client_certificate import TRACE_FORMAT as FORMAT
from fencepost.traces.report.client_certificate import (
    ClientCertificate,
    ClientResult,
    trace_json,
)
from fencepost.traces.report.report_folder import certificate_json, client_index

FILE = "fuzz-client.json"


def verdict(search: ClientSearch) -> Overall:
    """Whether something new is certain, or was seen at least."""
    new = [one for one in search.findings if not one.known]
    if any(one.is_confirmed for one in new):
        return Overall.VIOLATED
    return Overall.UNKNOWN if new else Overall.HOLDS


def exit_code(search: ClientSearch) -> int:
    """0: nothing new; 1: something new, confirmed; 2: something new, not in each run."""
    return EXIT_CODES[verdict(search)]


def summary(search: ClientSearch) -> str:
    """What it came to, in a line."""
    new = [one for one in search.findings if not one.known]
    sure = sum(one.is_confirmed for one in new)
    parts = [plural(sure, "finding")]
    if shaky := len(new) - sure:
        parts.append(f"{shaky} not confirmed")
    if known := len(search.findings) - len(new):
        parts.append(f"{known} known")
    if search.excused:
        parts.append(f"{len(search.excused)} that the reference client shows, too")
    if search.broken:
        parts.append(f"{plural(search.broken, 'scenario')} broke off")
    made = f"{search.introduction.client} {search.introduction.version}".strip()
    return f"{made}: {plural(search.scenarios, 'scenario')}; {', '.join(parts)}"


def finding_lines(one: ClientFinding) -> Iterator[str]:
    """A finding for the terminal, with the acts that show it."""
    yield f"{_outcome(one).value.upper()}  {one.result.level.value}  {one.result.case.id}"
    yield f"  {one.result.message}"
    yield f"  {_seen(one)}"
    if one.known:
        yield f"  {note_of(one.known)}"
        return
    for act in one.smallest.to_json()["acts"]:
        name = act.pop("act")
        yield f"    {name} {msgspec.json.encode(act).decode() if act else ''}".rstrip()


def _outcome(one: ClientFinding) -> Outcome:
    if one.known:
        return Outcome.KNOWN_FAILURE
    return Outcome.FAIL if one.is_confirmed else Outcome.UNKNOWN


def _seen(one: ClientFinding) -> str:
    if one.known:
        return f"seen in scenario {one.number}"
    shorter = f"shrunk from {plural(len(one.first.acts), 'act')} to {len(one.smallest.acts)}"
    return f"seen in {one.failed} of {plural(one.runs, 'run')}; {shorter}"


def search_json(search: ClientSearch, client: str, seed: int, revision: str) -> dict[str, Any]:
    """The search as a JSON object."""
    made = search.introduction
    return {
        "format": "fencepost-client-search",
        "format_version": 1,
        "target": client,
        "implementation": made.client,
        "version": made.version,
        "revision": revision,
        "seed": seed,
        "scenarios": search.scenarios,
        "broken": search.broken,
        "verdict": verdict(search).value,
        "summary": summary(search),
        "findings": [
            {
                "id": one.result.case.id,
                "rule": one.result.obligation,
                "level": one.result.level.value,
                "outcome": _outcome(one).value,
                "observed": one.result.observed,
                "message": one.result.message,
                "number": one.number,
                "acts": [len(one.first.acts), len(one.smallest.acts)],
                "seen": [one.failed, one.runs] if one.runs else [1, 1],
                "why": one.known,
                "trace": trace_name(one.result.case.id),
                "scenario": one.smallest.to_json(),
            }
            for one in search.findings
        ],
        "excused": search.excused,
    }


def write_search(
    search: ClientSearch, client: str, seed: int, revision: str, directory: Path
) -> None:
    """Write fuzz-client.json, index.html and traces/ into a folder.  Raises ReportError."""
    results = [_result(one) for one in search.findings]
    traces = {trace_name(result.case.id): trace_json(result) for result in results}
    certificate = ClientCertificate(
        provenance=Provenance(client, search.introduction.client, search.introduction.version),
        introduction=search.introduction,
        broker="serve",
        revision=revision,
        results=tuple(results),
        level=Level.MAY,
        versions=all_versions(),
    )
    told = {"verdict": verdict(search).value, "summary": summary(search)}
    page = client_index(
        {**certificate_json(certificate), **told}, traces, title=f"{client}: search"
    )
    texts = {
        FILE: _text(search_json(search, client, seed, revision)),
        INDEX: page,
        **{name: _text(trace) for name, trace in traces.items()},
    }
    write_texts(texts, directory, "--report")


def _result(one: ClientFinding) -> ClientResult:
    notes = (_seen(one), *([note_of(one.known)] if one.known else []))
    return replace(one.result, outcome=_outcome(one), attempts=one.runs or 1, notes=notes)


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


class ClientTraceError(BadInputError):
    """A file holds no trace of a client.  `str()` names it and the remedy."""


def read_trace(path: Path) -> tuple[str, Scenario]:
    """The obligation and the scenario of a trace.

    Raises ClientTraceError, DocumentError, UnknownRequirementError.
    """
    document = read_json(path)
    try:
        if document["format"] != FORMAT:
            raise ClientTraceError(_no_trace(path, f"its format is {document['format']!r}"))
        obligation, scenario = document["case"].partition("/")[0], document["scenario"]
        found = read_scenario(scenario)
    except (KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise ClientTraceError(_no_trace(path, str(error))) from None
    return find_requirement(obligation).id, found


def _no_trace(path: Path, why: str) -> str:
    return (
        f"{path}: is no trace of a client ({why}); give a file from the folder traces/ that "
        "`certify-client --report` or `fuzz-client --report` wrote"
    )
