from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.client_results import FAILED, LACKS, UNDECIDED, certificate, listed, result
from support.client_story import call, evidence, heartbeat, leave, read, revoked, run

from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.table import Level
from fencepost.properties.judging.known_failures import KnownFailure
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.judging.report import apply
from fencepost.traces.report.certificate_data import CertificateFileError
from fencepost.traces.report.certificate_schema import CLIENT_SCHEMA
from fencepost.traces.report.client_certificate import (
    ClientResult,
    checked,
    client_trace,
    is_client_certificate,
    kept,
)
from fencepost.traces.report.report_folder import certificate_document, checked_document

PASSED = result()
KNOWN = result(Outcome.KNOWN_FAILURE, known=listed("a reason", "link"))

SMALL = result(Outcome.KNOWN_FAILURE, "CLIENT-CLOSE-IN-TIME", known=KNOWN.known)


@pytest.mark.parametrize(
    ("results", "code", "said"),
    [
        ([PASSED], 0, "holds; certified"),
        ([PASSED, LACKS], 0, "holds; not certified"),
        ([PASSED, KNOWN], 0, "passes 1 of 2, holds apart from 1 known failure"),
        ([PASSED, SMALL], 0, "holds apart from 1 known failure"),
        ([PASSED, FAILED], 1, "violated by 1 case"),
        ([FAILED, UNDECIDED], 1, "violated by 1 case"),
        ([PASSED, UNDECIDED], 2, "unknown: 1 case could not be decided"),
        ([LACKS], 2, "unknown: no case could be tested"),
    ],
)
def test_a_verdict_and_its_line(results: list[ClientResult], code: int, said: str) -> None:
    made = certificate(*results)
    assert made.exit_code() == code
    assert made.summary() == f"lib:1.2.3 (lib 1.2.3) on serve: {said}"


def test_a_failure_that_is_known_in_all_cases_is_known_where_it_comes_once_too() -> None:
    case, rule, observed = "CLIENT-CLOSE-STATIC-STAYS/x", FAILED.obligation, FAILED.observed
    entry = KnownFailure("lib", "*", case, rule, observed, "why", "", anywhere=True)
    once = result(Outcome.UNKNOWN, message="one of 3 runs", observed=observed)
    other = replace(FAILED, observed="something else")
    results = apply([FAILED, once, other, UNDECIDED], [entry], KAFKA_4)
    assert [one.outcome for one in results] == [
        Outcome.KNOWN_FAILURE,
        Outcome.KNOWN_FAILURE,
        Outcome.FAIL,
        Outcome.UNKNOWN,
    ]
    intermittent = KnownFailure("lib", "*", once.case.id, rule, "another", "y", "", True)
    assert apply([once], [intermittent], KAFKA_4)[0].outcome is Outcome.UNKNOWN


def test_what_is_below_the_level_is_not_counted() -> None:
    below = result(Outcome.FAIL, "CLIENT-CLOSE-IN-TIME", observed="late")
    made = certificate(PASSED, below, level=Level.MUST)
    assert made.exit_code() == 0
    assert made.details() == ("1 failure below MUST (not counted)",)


def test_its_json_fits_the_schema() -> None:
    document = checked_document(certificate(PASSED, FAILED, LACKS, UNDECIDED, KNOWN))
    Draft202012Validator.check_schema(CLIENT_SCHEMA.schema())
    assert is_client_certificate(document)
    assert document["counts"]["MUST"]["fail"] == 1
    assert [case["trace"] is not None for case in document["cases"]] == [
        False,
        True,
        False,
        True,
        False,
    ]


def test_a_case_says_what_was_seen() -> None:
    case = certificate_document(certificate(FAILED))["cases"][0]
    assert case["id"] == "CLIENT-CLOSE-STATIC-STAYS/static-life"
    assert case["observed"] == "LeaveGroup of a static member"
    assert case["attempts"] == 2


def test_results_by_obligation_are_in_the_tables_order() -> None:
    found = certificate(LACKS, FAILED, UNDECIDED).by_obligation()
    assert found == [FAILED, UNDECIDED, LACKS]


WHOLE = certificate_document(certificate(PASSED, UNDECIDED))


@pytest.mark.parametrize("document", [WHOLE, kept(WHOLE)])
def test_both_forms_are_read_alike_and_what_is_missing_is_named(document: dict[str, Any]) -> None:
    path = Path("old.json")
    assert [case["id"] for case in checked(document, path)["cases"]] == [
        PASSED.case.id,
        UNDECIDED.case.id,
    ]
    for key in document.keys() - {"format", "format_version", "cases", "details"}:
        rest = {name: value for name, value in document.items() if name != key}
        with pytest.raises(CertificateFileError, match=rf"^old\.json: is no .*{key}.*; give a "):
            checked(rest, path)


@pytest.mark.parametrize(
    "cases", [{"NONE-SUCH/x": {"outcome": "pass"}}, {"NONE-SUCH/x": {}}, {"NONE-SUCH/x": 7}]
)
def test_cases_that_make_no_sense_are_refused(cases: Any) -> None:
    said = "no obligation NONE-SUCH|`outcome`|got `int`"
    with pytest.raises(CertificateFileError, match=said):
        checked({**kept(WHOLE), "cases": cases}, Path("old.json"))


def test_another_document_is_no_certificate() -> None:
    assert not is_client_certificate({"format": "fencepost-certificate"})
    assert not is_client_certificate([])


def rows_of(*pieces: Any, **fields: Any) -> list[tuple[int, str, str]]:
    """Return the rows of a trace with these pieces: time, kind, text."""
    trace = client_trace(result(evidence=evidence(*pieces, **fields)))
    return [(row.at_ms, row.kind, row.text) for row in trace.rows]


def test_records_before_a_revocation_and_after_it_are_rows_of_their_own() -> None:
    one = run()
    apart = rows_of(one, read(one, 100), revoked(one, 110, 0), read(one, 120, first=1))
    assert [text for _, _, text in apart] == [
        "1 record of t-0 from 0",
        "revoked t-0",
        "1 record of t-0 from 1",
    ]
    back = rows_of(one, read(one, 100, first=9), read(one, 110, first=0))
    assert [text for _, _, text in back] == ["1 record of t-0 from 9", "1 record of t-0 from 0"]
    other = run("b")
    both = rows_of(one, other, read(one, 100), revoked(other, 110, 0), read(one, 120, first=1))
    assert (100, "delivered", "2 records of t-0 from 0") in both


def test_requests_that_met_trouble_are_shown_until_one_goes_well() -> None:
    one = run()

    def fetch(at: float, code: int = 0, fault: str = "") -> Any:
        return call(one, "OffsetFetch", at, None, None, 5, code=code, fault=fault)

    shown = rows_of(one, fetch(10), fetch(20, 16, "error"), fetch(400), fetch(800))
    assert shown == [
        (20, "sent", "OffsetFetch v5 → NOT_COORDINATOR, provoked: error"),
        (400, "sent", "OffsetFetch v5 → NONE"),
    ]
    loop = rows_of(one, [fetch(20 + n, 16, "error") for n in range(300)])
    assert [(at, text.rpartition(", ")[2]) for at, _, text in loop] == [
        (20, "250 times"),
        (270, "50 times"),
    ]
    gone = call(one, "ListOffsets", 10, None, None, 0)
    versions = ((0.0, {"ListOffsets": (1, 11)}),)
    assert rows_of(one, gone, versions=versions) == [(10, "sent", "ListOffsets v0 → no answer")]
    assert rows_of(one, call(one, "ListOffsets", 10, None, None, 2), versions=versions) == []


def test_a_static_member_is_not_called_dynamic_where_a_request_has_no_instance_id() -> None:
    static, dynamic = run(), run("b", instance=None)
    left = rows_of(static, leave(static, 10), heartbeat(static, 20))
    assert [text for _, _, text in left] == [
        "LeaveGroup v5, member m1, no instance id → NONE",
        "Heartbeat v4, member m1, instance i-1, generation 1 → NONE",
    ]
    ((_, _, text),) = rows_of(dynamic, leave(dynamic, 10))
    assert text == "LeaveGroup v5, member m1, dynamic → NONE"
