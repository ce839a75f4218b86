"""What is made of failures: minimal plans, confirmed, told once; of targets that are broken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
import pytest
from support.runs import KAFKA_4, Liar

from fencepost.conformance.cases import ENTRIES, entry
from fencepost.conformance.cases.case_registry import Entry, Registry
from fencepost.conformance.cases.script import Script
from fencepost.conformance.cli.cli import main
from fencepost.conformance.run.certify import OpenTarget, Options, open_target
from fencepost.conformance.search.findings.confirm import Examination, beginnings
from fencepost.conformance.search.findings.findings import (
    Findings,
    PlanFinding,
    findings_from,
    trace_of_finding,
)
from fencepost.conformance.search.shrink.shrink_plan import shrinking_plan, single_steps
from fencepost.conformance.targets.in_process import (
    InProcessCoordinator,
    InProcessTarget,
    ModelCoordinator,
)
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.coordinator import Answer, AsyncCoordinator, Send
from fencepost.model.plans.plan_order import (
    asks_of,
    groups_of_plan,
    instances_of,
    members_of_plan,
    overlaps,
    races,
    tidied,
    version_of,
)
from fencepost.model.plans.steps import Await, Plan, Settle
from fencepost.properties.checking.shrinking import GivenUpError, Minimal, Reproducer, Run, shrink
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.oracle.fingerprint import Fingerprint
from fencepost.properties.workers.processes import Stop

T = TypeVar("T")
NOISY = Registry()


@NOISY.case("JOIN-STATIC-EMPTY-PREPARING")
def in_the_thick_of_it(s: Script) -> None:
    """A restart while a rebalance is prepared, among much else."""
    s.stable("A1", "B1", "C1", "x")
    s.beat("A1")
    s.commit("B1", offset=4)
    s.join("D1", group="h")
    s.describe()
    s.fetch("B1")
    s.pause("short rebalance")
    s.beat("C1")
    s.list_groups()
    s.join("n", member_id="", wait=True)
    s.join("n")
    s.settle()
    s.beat("A1")
    s.join("B1")
    s.settle()
    s.join("B2")
    s.wait("B1")
    s.join("A1")
    s.join("C1")
    s.join("x")
    s.wait("A1", "B2", "C1", "x", "n")


(THICK,) = NOISY.entries


def with_suite(target: InProcessTarget, work: Callable[[OpenTarget], Coroutine[Any, Any, T]]) -> T:
    """Work with a target that is open."""

    async def run() -> T:
        async with open_target(target, KAFKA_4, Options()) as suite:
            return await work(suite)

    return asyncio.run(run())


def mutant(name: str) -> InProcessTarget:
    return InProcessTarget(f"mutant:{name}", find_revision(f"mutant:{name}"), "0")


@cache
def failed(name: str, every: int = 1) -> tuple[CaseResult, ...]:
    """The cases of the catalogue, or one in so many of them, that a mutant fails."""

    async def work(suite: OpenTarget) -> tuple[CaseResult, ...]:
        return tuple(await failures(suite, ENTRIES[::every]))

    return with_suite(mutant(name), work)


async def failures(suite: OpenTarget, entries: tuple[Entry, ...]) -> list[CaseResult]:
    return [r for r in await suite.run(entries) if r.outcome is Outcome.FAIL]


def found(target: InProcessTarget, entries: tuple[Entry, ...], **options: Any) -> Findings:
    async def work(suite: OpenTarget) -> Findings:
        return await findings_from(await failures(suite, entries), Examination(suite), **options)

    return with_suite(target, work)


def test_a_long_noisy_plan_becomes_as_short_as_the_catalogues_case() -> None:
    (finding,) = found(mutant("kafka-8500"), (THICK,)).findings
    assert finding.fingerprint.rule == "JOIN-STATIC-EMPTY-PREPARING"
    written = entry("JOIN-PHASE-DELAY-OVER/restart-does-not-extend-the-delay")
    shortest = written.case({}, delayed=True)
    assert len(finding.case.steps) <= len(shortest.steps)
    assert (finding.failed, finding.runs) == (3, 3)
    assert groups_of_plan(finding.case.steps) == ["g"]
    assert "A1's JoinGroup" in finding.sentence


@dataclass(frozen=True)
class Examined:
    """What is made of the failures of a mutant, and the traces as they are written."""

    findings: tuple[PlanFinding, ...]
    traces: tuple[str, ...]


def examined_anew(name: str) -> Examined:
    results = failed(name)

    async def work(suite: OpenTarget) -> Examined:
        findings = (await findings_from(results, Examination(suite))).findings
        traces = [trace_of_finding(f, suite, seed=1) for f in findings]
        return Examined(findings, tuple(trace.text() for trace in traces if trace is not None))

    return with_suite(mutant(name), work)


examined = cache(examined_anew)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kafka-9801", "kafka-10284"])
def test_no_step_of_a_finding_can_be_left_out(name: str) -> None:
    findings = examined(name).findings
    assert findings

    async def work(suite: OpenTarget) -> list[tuple[Fingerprint, list[Fingerprint | None]]]:
        return [
            (f.fingerprint, [r.fingerprint(KAFKA_4) for r in await suite.try_cases(smaller(f))])
            for f in findings
        ]

    def smaller(finding: PlanFinding) -> list[Plan]:
        return list(single_steps(finding.case))

    for fingerprint, without_one in with_suite(mutant(name), work):
        assert without_one
        assert fingerprint not in without_one


@pytest.mark.slow
def test_failures_of_one_shape_are_one_finding() -> None:
    results = failed("tansu-same-id", every=3)

    async def work(suite: OpenTarget) -> Findings:
        return await findings_from([*results, *results], Examination(suite))

    count, findings = len(results), with_suite(mutant("tansu-same-id"), work)
    fingerprints = [finding.fingerprint for finding in findings.findings]
    assert len(set(fingerprints)) == len(fingerprints) < count
    assert sum(finding.occurrences for finding in findings.findings) == 2 * count
    lengths = [len(finding.case.steps) for finding in findings.findings]
    assert lengths == sorted(lengths)


def test_a_known_shape_is_only_counted() -> None:
    target = mutant("kafka-8500")
    (first, *_) = found(target, (THICK,)).findings
    again = found(target, (THICK,), known={first.fingerprint})
    assert again.findings == ()
    assert again.known == {first.fingerprint: 1}


@pytest.mark.slow
def test_the_same_plan_shrinks_to_the_same_bytes() -> None:
    once = examined("kafka-9801").traces
    assert once
    assert once == examined_anew("kafka-9801").traces


def test_a_trace_of_a_finding_replays(tmp_path: Path) -> None:
    async def work(suite: OpenTarget) -> None:
        results = await failures(suite, (THICK,))
        (finding,) = (await findings_from(results, Examination(suite))).findings
        trace = trace_of_finding(finding, suite, seed=0)
        assert trace is not None
        trace.write(tmp_path / "found.json")

    with_suite(mutant("kafka-8500"), work)
    for target, code in ((("mutant:kafka-8500",), 0), ((), 0), (("model",), 1)):
        with pytest.raises(SystemExit) as ended:
            main(["replay", str(tmp_path / "found.json"), *target])
        assert ended.value.code == code


class Sometimes(InProcessTarget):
    """Lies in every third scope: a first heartbeat is refused."""

    def __init__(self) -> None:
        super().__init__("sometimes", KAFKA_4, "0")
        self.scopes = 0

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        del isolated, restarts
        self.scopes += label != "hello"
        lies = self.scopes % 3 == 1

        def lie(request: Send, answer: Answer) -> Answer:
            if request.api != "Heartbeat" or not lies or answer.body is None:
                return answer
            return Answer(answer.id, answer.at_ms, {**answer.body, "errorCode": 25})

        yield InProcessCoordinator(Liar("kafka-4", lie))


def test_what_fails_one_time_in_three_is_flaky_with_its_rate() -> None:
    beats = Registry()

    @beats.case("HEARTBEAT-STABLE")
    def beating(s: Script) -> None:
        """A heartbeat."""
        s.stable("A1")
        s.beat("A1")

    findings = found(Sometimes(), tuple(beats.entries))
    assert findings.findings == ()
    (flaky,) = findings.flaky
    assert (flaky.failed, flaky.runs) == (3, 9)
    assert flaky.fingerprint.api == "Heartbeat"


def test_versions_and_bodies_are_plain() -> None:
    (finding,) = found(mutant("kafka-8500"), (THICK,)).findings
    apis = KAFKA_4.apis
    assert instances_of(finding.case.steps) == ["A"]
    assert members_of_plan(finding.case.steps) == ["A1", "A2"]
    for ask in asks_of(finding.case.steps):
        assert version_of(ask, apis) == 5
        assert all(offered.metadata == b"" for offered in ask.fields["protocols"])


def test_a_smaller_plan_can_be_run() -> None:
    case = THICK.case({}, delayed=False)
    before = overlaps(case.steps)
    for smaller in single_steps(case):
        labels = {ask.label for ask in asks_of(smaller.steps)}
        awaited = [n for s in smaller.steps if isinstance(s, Await) for n in s.labels]
        assert set(awaited) <= labels
        assert tidied(smaller.steps) == smaller.steps
    assert before == frozenset()


def test_a_request_that_waits_behind_another_is_found() -> None:
    case = THICK.case({}, delayed=False)
    without = tuple(s for s in case.steps if not isinstance(s, Await))
    assert overlaps(without)


def test_what_is_not_waited_for_is_left_to_chance() -> None:
    case = THICK.case({}, delayed=False)
    a, b, *_ = asks_of(case.steps)
    both = (a.label, b.label)
    assert races((a, b)) == {both}
    assert races((a, Await((a.label,)), b)) == frozenset()
    assert races((a, Settle(), b)) == frozenset()
    assert races((a, Await((b.label,)), b)) == {both}


def test_what_passed_has_no_shape() -> None:
    async def work(suite: OpenTarget) -> list[Fingerprint | None]:
        results = await suite.run((THICK,))
        with pytest.raises(ValueError, match="did not fail"):
            await Examination(suite).minimised(results[0])
        return [result.fingerprint(KAFKA_4) for result in results]

    assert with_suite(InProcessTarget("model", KAFKA_4, "0"), work) == [None]


def test_what_was_given_up_is_asked_about_again_with_patience() -> None:
    whole = THICK.case({}, delayed=False)
    case = msgspec.structs.replace(whole, steps=whole.steps[:16])
    first, *_ = steps = asks_of(case.steps)
    asked: list[int] = []

    def judge(*, gives_up: bool) -> Run[Plan, str]:
        async def judged(smaller: Plan) -> str | None:
            if first not in smaller.steps:
                return None
            if gives_up and len(smaller.steps) < len(case.steps) - 2:
                raise GivenUpError
            asked.append(len(smaller.steps))
            return "shown"

        return judged

    async def run(patient: Run[Plan, str] | None) -> Minimal[Plan, str]:
        work = shrinking_plan(Reproducer(case, "shown"), KAFKA_4.apis)
        return await shrink(work, judge(gives_up=True), patient=patient)

    hasty = asyncio.run(run(None))
    assert len(hasty.smallest.value.steps) > 1
    assert not hasty.is_minimal
    minimal = asyncio.run(run(judge(gives_up=False)))
    assert minimal.is_minimal
    assert [ask.api for ask in asks_of(minimal.smallest.value.steps)] == [steps[0].api]
    assert len(minimal.smallest.value.steps) == 1


class RealClock:
    """A suite on a real clock: what each plan comes to."""

    places = 4
    revision, options, chooses_settings = KAFKA_4, Options(), False
    hello = replace(ModelCoordinator(KAFKA_4).hello(), clock="real")

    def __init__(self, result: Callable[[Plan], CaseResult]) -> None:
        self._result = result

    def with_options(self, _: Options) -> RealClock:
        return self

    async def try_cases(self, cases: Sequence[Plan]) -> list[CaseResult]:
        return [self._result(case) for case in cases]

    def minimised(self, failure: CaseResult) -> Minimal[Plan, CaseResult]:
        return asyncio.run(Examination(cast("OpenTarget", self)).minimised(failure))


@pytest.mark.parametrize("outcome", [Outcome.PASS, Outcome.UNKNOWN])
def test_on_a_real_clock_what_stays_undecided_is_not_called_minimal(outcome: Outcome) -> None:
    failure, *_ = failed("kafka-9801", 3)
    minimal = RealClock(lambda case: CaseResult(case, outcome, case.level)).minimised(failure)
    assert minimal.smallest.run is failure
    assert minimal.is_minimal is (outcome is Outcome.PASS)


@pytest.mark.parametrize("loose", [True, False])
def test_a_plan_that_leaves_an_order_open_is_tried_again_before_it_is_called_minimal(
    loose: bool,
) -> None:
    failure, *_ = failed("kafka-9801", 3)
    asks = asks_of(failure.case.steps)
    steps = [step for ask in asks for step in ((ask,) if loose else (ask, Settle()))]
    failure = replace(failure, case=msgspec.structs.replace(failure.case, steps=tuple(steps)))
    asked: list[Plan] = []

    def fails_at_second(case: Plan) -> CaseResult:
        if case in asked:
            return replace(failure, case=case)
        asked.append(case)
        return CaseResult(case, Outcome.PASS, case.level)

    minimal = RealClock(fails_at_second).minimised(failure)
    assert (minimal.smallest.run is not failure) is loose
    assert minimal.is_minimal


def test_an_end_that_is_wished_for_keeps_what_there_is() -> None:
    case, stop = THICK.case({}, delayed=False), Stop()

    async def judge(smaller: Plan) -> str:
        if len(smaller.steps) < len(case.steps) // 2:
            stop.ask()
        return "shown"

    async def run() -> Minimal[Plan, str]:
        return await shrink(
            shrinking_plan(Reproducer(case, "shown"), KAFKA_4.apis), judge, stop=stop
        )

    minimal = asyncio.run(run())
    assert not minimal.is_minimal
    assert 1 < len(minimal.smallest.value.steps) < len(case.steps)


def test_a_plan_is_made_smaller_from_its_head_on() -> None:
    for failure in failed("kafka-9801"):
        violation = failure.verdict and failure.verdict.violation
        assert violation
        assert failure.recording is not None
        name = failure.recording.labels[violation.request_id]
        head = next(iter(beginnings(failure.case, failure)), failure.case)
        assert name in [ask.label for ask in asks_of(head.steps)]
        assert len(head.steps) <= len(failure.case.steps) + 1
