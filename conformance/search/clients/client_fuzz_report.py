"""Tell what a search of a client came to: lines, JSON, and a folder with a page and traces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from fencepost.conformance.cases.clients.scenario import Scenario, read_scenario
from fencepost.conformance.search.clients.client_search import ClientFinding, ClientSearch
from fencepost.model.bad_input import BadInputError
from fencepost.model.coordinator import Provenance
from fencepost.model.history.words import plural, verdict_line
from fencepost.model.table.table import Level
from fencepost.properties.judging.known_failures import note_of
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.judging.report import EXIT_CODES, Overall
from fencepost.properties.requirements.requirements import find_requirement
from fencepost.traces.files.bounded import all_versions, read_json
from fencepost.traces.files.text_files import trace_name
from fencepost.traces.report.client_certificate import TRACE_FORMAT as FORMAT
from fencepost.traces.report.client_certificate import ClientCertificate, ClientResult
from fencepost.traces.report.report_writer import client_document, write_report

FILE = "fuzz-client.json"


def verdict(search: ClientSearch) -> Overall:
    """Judge a search: violated if a new finding is confirmed, unknown if one is not."""
    new = [finding for finding in search.findings if not finding.known]
    if any(finding.is_confirmed for finding in new):
        return Overall.VIOLATED
    return Overall.UNKNOWN if new else Overall.HOLDS


def exit_code(search: ClientSearch) -> int:
    """0: nothing new; 1: something new, confirmed; 2: something new, not in each run."""
    return EXIT_CODES[verdict(search)]


def summary(search: ClientSearch) -> str:
    """Return the verdict on one line, with its counts."""
    new = [finding for finding in search.findings if not finding.known]
    sure = sum(finding.is_confirmed for finding in new)
    parts = [plural(sure, "finding")]
    if shaky := len(new) - sure:
        parts.append(f"{shaky} not confirmed")
    if known := len(search.findings) - len(new):
        parts.append(f"{known} known")
    if search.excused:
        parts.append(f"{len(search.excused)} excused")
    if search.broken:
        parts.append(f"{search.broken} broke off")
    if search.is_cut_short:
        parts.append("ended early")
    made = f"{search.introduction.client} {search.introduction.version}".strip()
    scenarios = plural(search.scenarios, "scenario")
    return verdict_line(
        (made,), (f"{scenarios}; {', '.join(parts)}", f"{scenarios}; {', '.join(parts[:2])}")
    )


def violation_line(finding: ClientFinding) -> str:
    """Describe what a scenario just showed, in a line."""
    result = finding.result
    where = f"scenario {finding.number}"
    return f"seen  {result.level.value}  {result.case.obligation} in {where}: {result.message}"


def finding_lines(finding: ClientFinding) -> Iterator[str]:
    """Describe a finding for the terminal, with the acts that show it."""
    result = finding.result
    yield f"{_outcome(finding).value.upper()}  {result.level.value}  {result.case.id}"
    yield f"  {result.message}"
    yield f"  {_runs_text(finding)}"
    if finding.known:
        yield f"  {note_of(finding.known)}"
        return
    for act in finding.smallest.to_json()["acts"]:
        name = act.pop("act")
        yield f"    {name} {msgspec.json.encode(act).decode() if act else ''}".rstrip()


def _outcome(finding: ClientFinding) -> Outcome:
    if finding.known:
        return Outcome.KNOWN_FAILURE
    return Outcome.FAIL if finding.is_confirmed else Outcome.UNKNOWN


def _runs_text(finding: ClientFinding) -> str:
    if finding.known:
        return f"seen in scenario {finding.number}"
    if not finding.runs:
        return f"seen in scenario {finding.number}; not run again"
    shorter = (
        f"shrunk from {plural(len(finding.first.acts), 'act')} to {len(finding.smallest.acts)}"
    )
    return f"seen in {finding.failed} of {plural(finding.runs, 'run')}; {shorter}"


def search_json(search: ClientSearch, client: str, seed: int, revision: str) -> dict[str, Any]:
    """Write the search as a JSON object."""
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
        "ended_early": search.is_cut_short,
        "verdict": verdict(search).value,
        "summary": summary(search),
        "findings": [
            {
                "id": finding.result.case.id,
                "rule": finding.result.obligation,
                "level": finding.result.level.value,
                "outcome": _outcome(finding).value,
                "observed": finding.result.observed,
                "message": finding.result.message,
                "number": finding.number,
                "acts": [len(finding.first.acts), len(finding.smallest.acts)],
                "seen": [finding.failed, finding.runs] if finding.runs else [1, 1],
                "why": finding.known,
                "trace": trace_name(finding.result.case.id),
                "scenario": finding.smallest.to_json(),
            }
            for finding in search.findings
        ],
        "excused": search.excused,
    }


def write_search(
    search: ClientSearch, client: str, seed: int, revision: str, directory: Path
) -> None:
    """Write fuzz-client.json, index.html and traces/ into a folder.  Raises ReportError."""
    certificate = ClientCertificate(
        provenance=Provenance(client, search.introduction.client, search.introduction.version),
        introduction=search.introduction,
        broker="serve",
        revision=revision,
        results=tuple(map(_result, search.findings)),
        level=Level.MAY,
        versions=all_versions(),
    )
    outcome = {"verdict": verdict(search).value, "summary": summary(search)}
    content = search_json(search, client, seed, revision)
    title = f"{client}: search"
    write_report(client_document(FILE, content, certificate, title, **outcome), directory)


def _result(finding: ClientFinding) -> ClientResult:
    notes = (_runs_text(finding), *([note_of(finding.known)] if finding.known else []))
    return replace(
        finding.result, outcome=_outcome(finding), attempts=finding.runs or 1, notes=notes
    )


class ClientTraceError(BadInputError):
    """A file holds no trace of a client.  `str()` names it and the remedy."""


def read_trace(path: Path) -> tuple[str, Scenario]:
    """Read the requirement and the scenario of a trace.

    Raises ClientTraceError, DocumentError, UnknownRequirementError.
    """
    document = read_json(path)
    try:
        if document["format"] != FORMAT:
            raise ClientTraceError(_no_trace(path, f"its format is {document['format']!r}"))
        obligation = document["case"].partition("/")[0]
        scenario = read_scenario(document["scenario"])
    except (KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise ClientTraceError(_no_trace(path, str(error))) from None
    return find_requirement(obligation).id, scenario


def _no_trace(path: Path, why: str) -> str:
    return (
        f"{path}: is no trace of a client ({why}); give a file from the folder traces/ that "
        "`certify-client --report` or `fuzz-client --report` wrote"
    )
