"""What a known departure brings about is put down to it, whatever it looks like."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace

import msgspec
import pytest
from msgspec import structs
from support.runs import without_delay

from fencepost.conformance.cases.script import Script
from fencepost.conformance.cases.suites import find_suite
from fencepost.conformance.run.certificate_run import certificate_of, matching_entries
from fencepost.conformance.run.certify import Options, open_target
from fencepost.conformance.run.replay import rejudge
from fencepost.conformance.search.findings.confirm import Examination
from fencepost.conformance.search.findings.findings import (
    PlanFinding,
    findings_from,
    trace_of_finding,
    unexamined,
)
from fencepost.conformance.search.findings.trace_causes import known_cause
from fencepost.conformance.search.fuzz.fuzz import (
    SILENT,
    FuzzListener,
    FuzzOptions,
    FuzzResult,
    fuzz,
)
from fencepost.conformance.search.fuzz.fuzz_report import fuzz_document, fuzz_page, lines
from fencepost.conformance.search.fuzz.tally import Budget
from fencepost.conformance.targets.in_process import InProcessTarget
from fencepost.model.classic.classic_work import ClassicWork
from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import Group
from fencepost.model.classic.perform import rebalance
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.plans.plan_order import asks_of
from fencepost.model.plans.spelling import read, written
from fencepost.model.plans.steps import Plan, PlanStep
from fencepost.model.revision import Revision, derive
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.table import Level
from fencepost.properties.departures.known_departures import (
    DEPARTURES,
    KFAKE,
    NEW,
    OLD,
    Departure,
    departed,
)
from fencepost.properties.departures.mutation_operators import afterwards
from fencepost.properties.judging.known_failures import KnownFailure, KnownReasons
from fencepost.properties.mutants.mutants import find_mutant
from fencepost.properties.oracle.verdict import Wrong
from fencepost.traces.files.known_failure_lists import SCHEMA, drafted_list, load
from fencepost.traces.files.text_files import trace_name
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.report.report_folder import certificate_document

_STEPS = re.compile(r"\(step (\d+)(?:, answered in (\d+))?\)")
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


TWICE = "JOIN-PHASE-ALL-JOINED/protocol-offered-twice"


def searched(name: str, *known: KnownFailure, listener: FuzzListener = SILENT) -> FuzzResult:
    revision = departed(KAFKA_4, [DEPARTURES[name]])
    # What leads into these failures is drawn rarely, so a plan of each is given.
    corpus = [without_delay(LEAVE.case), without_delay(TWICE)]
    options = FuzzOptions(KAFKA_4, Budget(1000), 1, known=lambda _: known, corpus=corpus)
    return asyncio.run(fuzz(lambda: InProcessTarget("departed", revision, "0"), options, listener))


@pytest.mark.parametrize("name", ["protocol-twice", "pending-leave"])
def test_all_that_a_departure_brings_about_is_put_down_to_it(name: str) -> None:
    fuzzed = searched(name)
    assert fuzzed.exit_code() == 1  # explained is not excused
    document = fuzz_document(fuzzed).plain()
    assert {row["cause"] for row in document["findings"]} == {name}
    told = f"Known cause: {DEPARTURES[name].about} (docs/findings/{name}.md)."
    assert list(lines(fuzzed)).count(told) == len(fuzzed.findings.all)
    traces = {trace_name(case): trace for case, trace in fuzzed.traces.items()}
    assert told in fuzz_page(document, traces).html()


def test_what_has_the_cause_of_a_listed_failure_is_known_whatever_it_looks_like() -> None:
    class Heard(FuzzListener):
        def __init__(self) -> None:
            self.reasons: list[str] = []

        def examined(self, finding: PlanFinding, trace: TraceFile | None) -> None:
            assert finding.runs
            assert trace is not None
            self.reasons.append(finding.known)

    listener = Heard()
    elsewhere = structs.replace(LEAVE, rule="FETCH-DEAD", observed="nothing of the kind")
    fuzzed = searched("pending-leave", elsewhere, listener=listener)
    assert (fuzzed.findings.all, fuzzed.exit_code()) == ((), 0)
    assert {finding.known for finding in fuzzed.listed} == set(listener.reasons) == {LEAVE.why}
    assert sum(fuzzed.known.values()) == sum(finding.occurrences for finding in fuzzed.listed)
    assert next(lines(fuzzed)).endswith(f": no new violation found, {len(fuzzed.listed)} known")
    unnamed = searched("pending-leave", structs.replace(elsewhere, cause=""))
    assert unnamed.exit_code() == 1
    assert searched("protocol-twice", elsewhere).exit_code() == 1


def test_an_entry_without_a_cause_covers_its_kind_and_no_other() -> None:
    other = structs.replace(LEAVE, why="a fault that looks like it", cause="")
    listed = KnownReasons.of([other, LEAVE])
    assert listed.of_cause("pending-leave") == LEAVE.why
    assert listed.of_cause("pending-leave + parked-sync") == listed.of_cause("") == ""
    kind = ("HEARTBEAT-STABLE", "B1 Heartbeat #4: REBALANCE_IN_PROGRESS")
    assert listed.of_failure("", *kind) == (other.why,)
    assert listed.of_failure("pending-leave", *kind) == (LEAVE.why,)
    for another in (
        ("HEARTBEAT-PREPARING", kind[1]),
        (kind[0], "B1 Heartbeat: NONE"),
        (kind[0], "B1 Heartbeat: no answer"),
        (kind[0], "B1 Heartbeat: REBALANCE_IN_PROGRESS, too late"),
        (kind[0], "B1 Heartbeat: malformed bytes: 2 bytes are left over"),
        (kind[0], "B1 JoinGroup: REBALANCE_IN_PROGRESS"),
    ):
        assert listed.of_failure("", *another) == ()
    fuzzed = searched("pending-leave", other, LEAVE)
    assert {finding.known for finding in fuzzed.listed} == {LEAVE.why}


def together(*names: str) -> Revision:
    """A coordinator with the faults of several mutants."""
    mutants = [find_mutant(name) for name in names]
    differences = tuple(difference for one in mutants for difference in one.differences)
    return derive(KAFKA_4, " + ".join(names), "several faults", differences)


async def listed_by_certify(revision: Revision, pattern: str) -> list[KnownFailure]:
    """What a list of a coordinator's failures has once its cases were run."""
    suite_of = find_suite("catalogue", KAFKA_4)
    target = InProcessTarget("flawed", revision, "0")
    certificate = await certificate_of(
        target, KAFKA_4, suite_of, matching_entries(suite_of, [pattern]), Options()
    )
    drafted = drafted_list(certificate_document(certificate), "flawed")
    return [msgspec.convert(entry, KnownFailure) for entry in drafted["entries"]]


async def test_listed_kinds_are_counted_apart_and_a_new_fault_beside_them_counts() -> None:
    listed_fault, new_fault = "zombie-heartbeats", "leave-by-instance-refused"
    known = await listed_by_certify(together(listed_fault), "HEARTBEAT-INSTANCE-FENCED/*")
    assert known
    assert not any(entry.cause for entry in known)
    options = FuzzOptions(KAFKA_4, Budget(2500), 1, known=lambda _: known)

    async def fuzzed(*names: str) -> FuzzResult:
        return await fuzz(lambda: InProcessTarget("flawed", together(*names), "0"), options)

    flawed = await fuzzed(listed_fault)
    assert (flawed.findings.all, flawed.exit_code()) == ((), 0)
    assert flawed.listed
    assert sum(flawed.known.values()) >= len(flawed.listed)
    assert next(lines(flawed)).endswith(f": no new violation found, {len(flawed.listed)} known")
    broken = await fuzzed(listed_fault, new_fault)
    assert broken.exit_code() == 1
    assert {finding.fingerprint.api for finding in broken.findings.all} == {"LeaveGroup"}
    assert {finding.fingerprint.api for finding in broken.listed} == {"Heartbeat"}
    earlier = replace(options, known=lambda _: ())
    unlisted_run = await fuzz(
        lambda: InProcessTarget("flawed", together(listed_fault), "0"), earlier
    )
    assert unlisted_run.exit_code() == 1


def _rebalances(_: Group, work: ClassicWork) -> None:
    if work.group.state is GroupState.STABLE:
        rebalance(work, 0)


def unlisted(*, beside: str) -> Revision:
    """A coordinator that has a departure, and a fault that nobody has listed.

    A commit starts a rebalance, as the leave of a pending id does by a known departure.
    """
    fault = Departure("unlisted", "", twists={Do.STORE_OFFSETS: afterwards(_rebalances)})
    return departed(KAFKA_4, [DEPARTURES[beside], fault])


def in_another_group(case: Plan) -> Plan:
    """The same with members of other names, in the group "h"."""

    def moved(step: PlanStep) -> PlanStep:
        text = re.sub(r'"(B1|B|a)(?=[ "])', r'"other \1', json.dumps(written(step)))
        return read(json.loads(text.replace('"g"', '"h"')))

    return msgspec.structs.replace(case, steps=tuple(map(moved, case.steps)))


@pytest.mark.slow
def test_a_fault_that_looks_like_a_listed_one_is_found_as_itself() -> None:
    revision = unlisted(beside="pending-leave")
    plans = [without_delay(LEAVE.case), without_delay("COMMIT-STABLE/commits-keep-alive")]
    options = FuzzOptions(KAFKA_4, Budget(700), 1, known=lambda _: [LEAVE], corpus=plans)
    fuzzed = asyncio.run(fuzz(lambda: InProcessTarget("departed", revision, "0"), options))
    assert fuzzed.known[LEAVE.why]
    assert fuzzed.exit_code() == 1
    alike = ("HEARTBEAT-STABLE", "Heartbeat: REBALANCE_IN_PROGRESS")
    assert alike in {finding.fingerprint.by_observed for finding in fuzzed.listed}
    assert alike in {finding.fingerprint.by_observed for finding in fuzzed.findings.all}
    for finding in fuzzed.findings.all:
        # Shrunk, it still has no cause: it is the fault, and there is no leave in it.
        assert finding.fingerprint.cause == known_cause(fuzzed.traces[finding.case.id]) == ""
        assert "OffsetCommit" in {ask.api for ask in asks_of(finding.case.steps)}
        assert "LeaveGroup" not in {ask.api for ask in asks_of(finding.case.steps)}
    for finding in fuzzed.listed:
        assert finding.fingerprint.cause == "pending-leave"
        assert "LeaveGroup" in {ask.api for ask in asks_of(finding.case.steps)}
    # Without a list each is shrunk to its own cause, too.
    plain = asyncio.run(
        fuzz(
            lambda: InProcessTarget("departed", revision, "0"), replace(options, known=lambda _: ())
        )
    )
    assert {finding.fingerprint.cause for finding in plain.findings.all} >= {"", "pending-leave"}


async def test_a_fault_behind_a_listed_one_is_found_as_itself() -> None:
    first, then = without_delay(LEAVE.case), without_delay("COMMIT-STABLE/commits-keep-alive")
    both = msgspec.structs.replace(first, steps=(*first.steps, *in_another_group(then).steps))
    target = InProcessTarget("departed", unlisted(beside="pending-leave"), "0")
    async with open_target(target, KAFKA_4, Options(follows=True)) as suite:
        (result,) = await suite.try_cases([both])
        found = result.attribution(KAFKA_4)
        assert (found.cause, found.behind) == ("", "pending-leave")
        findings = await findings_from([result], Examination(suite))
    (finding,) = findings.findings
    assert finding.fingerprint == result.fingerprint(KAFKA_4)
    assert "LeaveGroup" not in {ask.api for ask in asks_of(finding.case.steps)}
    assert len(finding.case.steps) < len(then.steps)


async def test_what_is_said_of_a_fault_behind_a_listed_one_names_the_same_steps() -> None:
    first, then = without_delay(LEAVE.case), without_delay("COMMIT-STABLE/commits-keep-alive")
    both = msgspec.structs.replace(first, steps=(*first.steps, *in_another_group(then).steps))
    target = InProcessTarget("departed", unlisted(beside="pending-leave"), "0")
    async with open_target(target, KAFKA_4, Options(follows=True)) as suite:
        (result,) = await suite.try_cases([both])
        (finding,) = unexamined([result], suite, Level.SHOULD).unconfirmed
        trace = trace_of_finding(finding, suite, seed=0)
    steps = {step.partition(".")[0]: step for step in finding.steps(KAFKA_4)}
    marked = [number for number, step in steps.items() if "←" in step]
    named = [found[2] or found[1] for found in _STEPS.finditer(finding.sentence)]
    assert marked == named
    assert [steps[number].partition("← ")[2] for number in marked] == ["wrong, known", "wrong"]
    assert "; that is pending-leave, which is known. Behind it " in finding.sentence
    assert trace is not None
    assert trace.verdict.message == finding.sentence
    assert rejudge(trace).same


async def test_a_wrong_field_is_not_put_down_to_what_makes_a_later_answer_wrong() -> None:
    script = Script(delayed=False)
    script.join("C1", wait=True)
    script.sync("C1", protocol_type=None, version=5, instance="A", generation=-1, wait=True)
    case = Plan("field", "A wrong field.", (), Level.MUST, tuple(script.steps))
    mutant = find_mutant("join-without-protocol-type").revision
    async with open_target(InProcessTarget("mutant", mutant, "0"), KAFKA_4, Options()) as suite:
        (result,) = await suite.try_cases([case])
    assert result.violation is not None
    assert result.violation.wrong is Wrong.DEVIATION
    found = result.attribution(KAFKA_4)
    assert (found.cause, found.behind) == ("", "")


def test_lists_name_departures_that_there_are() -> None:
    schema = SCHEMA.schema()
    assert schema["$defs"]["entry"]["properties"]["cause"]["enum"] == sorted(DEPARTURES)
    for target, version, coordinator in (
        ("kafka:3.9.1", "3.9.1", OLD),
        ("kafka:3.9.1", "3.9.1", NEW),
        ("kfake", "", KFAKE),
    ):
        entries = load(target, version, aliases=frozenset({coordinator}))
        its_own = {name for name, one in DEPARTURES.items() if coordinator in one.of}
        assert {entry.cause for entry in entries} - {""} == its_own
