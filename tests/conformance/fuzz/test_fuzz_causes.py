"""What a known departure brings about is put down to it, whatever it looks like."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from fencepost.conformance.certify.known_failures import (
    SCHEMA_FILE,
    KnownFailure,
    KnownReasons,
    load,
)
from fencepost.conformance.certify.report import trace_name
from fencepost.conformance.findings.findings import Finding
from fencepost.conformance.fuzz.engine import Budget
from fencepost.conformance.fuzz.fuzz import SILENT, FuzzListener, FuzzResult, fuzz
from fencepost.conformance.fuzz.progress import FuzzOptions
from fencepost.conformance.fuzz.report import fuzz_index, fuzz_json, lines
from fencepost.conformance.targets.in_process import InProcessTarget
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.mutants.departures import DEPARTURES, departed
from fencepost.traces.files.trace_file import TraceFile

LEAVE = KnownFailure(
    "departed",
    "*",
    "LEAVE-MEMBER-PENDING/pending-id",
    "HEARTBEAT-STABLE",
    "a Heartbeat: REBALANCE_IN_PROGRESS",
    "a pending id may not leave quietly",
    "-",
    cause="pending-leave",
)


def searched(name: str, *known: KnownFailure, listener: FuzzListener = SILENT) -> FuzzResult:
    revision = departed(KAFKA_4, [DEPARTURES[name]])
    options = FuzzOptions(KAFKA_4, Budget(3000), 1, known=lambda _: known)
    return asyncio.run(fuzz(lambda: InProcessTarget("departed", revision, "0"), options, listener))


@pytest.mark.parametrize("name", ["protocol-twice", "pending-leave"])
def test_all_that_a_departure_brings_about_is_put_down_to_it(name: str) -> None:
    fuzzed = searched(name)
    assert fuzzed.exit_code() == 1  # explained is not excused
    document = fuzz_json(fuzzed)
    assert {row["cause"] for row in document["findings"]} == {name}
    told = f"Known cause: {DEPARTURES[name].about} (docs/findings/{name}.md)."
    assert list(lines(fuzzed)).count(told) == len(fuzzed.found)
    traces = {trace_name(case): trace for case, trace in fuzzed.traces.items()}
    assert told in fuzz_index(document, traces)


def test_what_has_the_cause_of_a_listed_failure_is_known_whatever_it_looks_like() -> None:
    class Heard(FuzzListener):
        def __init__(self) -> None:
            self.reasons: list[str] = []

        def found(self, finding: Finding, why: str, trace: TraceFile | None) -> None:
            assert finding.runs
            assert trace is not None
            self.reasons.append(why)

    listener = Heard()
    elsewhere = replace(LEAVE, rule="FETCH-DEAD", observed="nothing of the kind")
    fuzzed = searched("pending-leave", elsewhere, listener=listener)
    assert (fuzzed.found, fuzzed.exit_code()) == ((), 0)
    assert {why for why, _ in fuzzed.listed} == set(listener.reasons) == {LEAVE.why}
    assert sum(fuzzed.known.values()) == sum(finding.seen for _, finding in fuzzed.listed)
    assert list(lines(fuzzed))[-1] == f"no new violation found, {len(fuzzed.listed)} known"
    unnamed = searched("pending-leave", replace(elsewhere, cause=""))
    assert unnamed.exit_code() == 1
    assert searched("protocol-twice", elsewhere).exit_code() == 1


def test_a_fingerprint_that_two_entries_share_has_the_reason_of_its_cause() -> None:
    other = replace(LEAVE, why="another fault that looks like it", cause="")
    listed = KnownReasons.of([other, LEAVE])
    assert list(listed.by_observed.values()) == [f"{other.why}; or {LEAVE.why}"]
    assert listed.of_cause("pending-leave") == LEAVE.why
    assert listed.of_cause("pending-leave + parked-sync") == listed.of_cause("") == ""
    fuzzed = searched("pending-leave", other, LEAVE)
    assert {why for why, _ in fuzzed.listed} == {LEAVE.why}


def test_lists_name_departures_that_there_are() -> None:
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    assert schema["$defs"]["entry"]["properties"]["cause"]["enum"] == sorted(DEPARTURES)
    for target, not_its_own in (
        ("kafka+old", "pending-leave"),
        ("kafka+new", "restart-in-first-join"),
    ):
        entries = load("kafka:3.9.1", "3.9.1", aliases=frozenset({target}))
        assert set(DEPARTURES) - {entry.cause for entry in entries} == {not_its_own}
