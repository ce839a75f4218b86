from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from support.client_results import RUN

from fencepost.conformance.cases.clients.scenario_catalogue import SCENARIOS
from fencepost.conformance.cases.clients.scenario_parts import passed
from fencepost.conformance.search.clients.client_fuzz_report import (
    ClientTraceError,
    exit_code,
    finding_lines,
    read_trace,
    search_json,
    summary,
    write_search,
)
from fencepost.conformance.search.clients.client_search import ClientFinding, ClientSearch
from fencepost.model.table.table import Level
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.driver_messages import Introduction
from fencepost.traces.report.client_certificate import ClientCase, ClientResult

RESULT = ClientResult(
    ClientCase("CLIENT-CLOSE-STATIC-STAYS", SCENARIOS["unsubscribes"]),
    Outcome.FAIL,
    Level.MUST,
    "a, a static member, sent LeaveGroup v5 with member id m1",
    "LeaveGroup of a static member",
    evidence=RUN,
    at_ms=1050.0,
)
DRAWN = structs.replace(SCENARIOS["unsubscribes"], acts=(passed(500),) * 14)
SURE = ClientFinding(
    SCENARIOS["unsubscribes"],
    RESULT,
    (RESULT.obligation, RESULT.observed),
    DRAWN,
    number=7,
    failed=3,
    runs=3,
)
SHAKY = replace(SURE, failed=2)
KNOWN = replace(SURE, known="so it is (a page)", runs=0, failed=0)


def search(*findings: ClientFinding, broken: int = 0) -> ClientSearch:
    made = Introduction(1, 1, "lib", "1.2", "c", ("static",), ("range",))
    return ClientSearch(made, 50, broken, list(findings))


def test_only_what_is_new_and_certain_is_a_violation() -> None:
    found = [exit_code(search(*some)) for some in ((), (KNOWN,), (SHAKY,), (SHAKY, SURE))]
    assert found == [0, 0, 2, 1]


def test_the_summary_counts() -> None:
    result = search(SURE, SHAKY, KNOWN, broken=2)
    result.excused.append("CLIENT-X/drawn-0-1")
    assert summary(result) == (
        "lib 1.2: 50 scenarios; 1 finding, 1 not confirmed, 1 known, 1 excused, 2 broke off"
    )


def test_a_finding_is_told_with_its_acts() -> None:
    lines = list(finding_lines(SURE))
    assert lines[0] == "FAIL  MUST  CLIENT-CLOSE-STATIC-STAYS/unsubscribes"
    assert "seen in 3 of 3 runs; shrunk from 14 acts to 4" in lines[2]
    assert '    unsubscribe {"consumer":"a"}' in lines
    assert list(finding_lines(KNOWN))[-1] == "  known failure: so it is (a page)"


def test_a_report_has_a_page_and_traces_that_can_be_run_again(tmp_path: Path) -> None:
    result = search(SURE)
    write_search(result, "lib:1.2", 3, "kafka-4", tmp_path)
    told = json.loads((tmp_path / "fuzz-client.json").read_text("utf-8"))
    assert told == json.loads(json.dumps(search_json(result, "lib:1.2", 3, "kafka-4")))
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "lib:1.2: search" in page
    assert "LeaveGroup v5" in page
    trace = tmp_path / told["findings"][0]["trace"]
    assert read_trace(trace) == (RESULT.obligation, SURE.smallest)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "is no trace of a client"),
        ("{}", "is no trace of a client ('format')"),
        ('{"format": "fencepost-trace"}', "its format is 'fencepost-trace'"),
        (
            '{"format": "fencepost-client-trace", "case": "CLIENT-X/y", "scenario": {"id": 1}}',
            "Expected `str`",
        ),
        ("{", "t.json"),
    ],
)
def test_another_file_is_named(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "t.json"
    file.write_text(text, "utf-8")
    with pytest.raises((ClientTraceError, ValueError), match=r"t\.json") as caught:
        read_trace(file)
    assert why in str(caught.value)
