"""Mutants are found, the model is not; the same seed says the same; a dying target is a finding."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from msgspec import structs
from support.message_samples import NEWER
from support.runs import STOPPED, stopping_target, without_delay
from support.virtual_clock import at_once

import fencepost.conformance.search.fuzz.fuzz as fuzz_module
from fencepost.conformance.run.certify import OpenTarget
from fencepost.conformance.run.replay import replay_trace
from fencepost.conformance.runtime.event_loop import Turns
from fencepost.conformance.search.findings.findings import PlanFinding
from fencepost.conformance.search.fuzz import fuzz_engine
from fencepost.conformance.search.fuzz.drawn_plans import PlanContext, Planner
from fencepost.conformance.search.fuzz.fuzz import (
    FuzzListener,
    FuzzOptions,
    FuzzProgress,
    FuzzResult,
    fuzz,
    read_corpus,
    usual_jobs,
    write_corpus,
)
from fencepost.conformance.search.fuzz.fuzz_engine import Fuzzer
from fencepost.conformance.search.fuzz.fuzz_report import (
    finding_lines,
    fuzz_document,
    lines,
    write_fuzz,
)
from fencepost.conformance.search.fuzz.generator import LIMITED, SETTINGS, is_risky
from fencepost.conformance.search.fuzz.tally import Budget, Tally
from fencepost.conformance.targets.in_process import InProcessTarget, ModelCoordinator
from fencepost.conformance.targets.target import Hints, Target
from fencepost.conformance.targets.target_registry import TargetOptions, find_target
from fencepost.model.coordinator import (
    CONFIG_DEFAULTS,
    AsyncCoordinator,
    Config,
    CoordinatorFailure,
)
from fencepost.model.machine import Machine
from fencepost.model.messages.messages import JoinProtocol
from fencepost.model.plans.plan_order import DELAY
from fencepost.model.plans.spelling import PlanError
from fencepost.model.plans.steps import Plan, Request
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.table import Level
from fencepost.properties.departures.known_departures import DEPARTURES, departed
from fencepost.properties.judging.answer_diff import Recording
from fencepost.properties.judging.known_failures import KnownFailure
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.workers.processes import Stop
from fencepost.traces.files.trace_file import TraceFile


def run(target: str, requests: int, *, seed: int = 1, **options: Any) -> FuzzResult:
    wanted = FuzzOptions(KAFKA_4, Budget(requests), seed, **options)
    return asyncio.run(fuzz(lambda: find_target(target, TargetOptions()), wanted))


@pytest.fixture(scope="module")
def found() -> FuzzResult:
    """A mutant that was caught."""
    return run("mutant:kafka-8500", 700, corpus=())


def test_the_model_holds() -> None:
    fuzzed = run("model", 1500)
    assert fuzzed.exit_code() == 0
    assert fuzzed.findings.all == ()
    assert set(fuzzed.tally.outcomes) == {Outcome.PASS}
    assert "SYNC-STABLE" in fuzzed.tally.covered.rules
    assert len(fuzzed.never) < 25


def test_a_mutant_is_found(found: FuzzResult) -> None:
    assert found.exit_code() == 1
    assert all(finding.failed == finding.runs for finding in found.findings.findings)
    assert found.findings.findings


def test_findings_are_small_and_can_be_replayed(found: FuzzResult, tmp_path: Path) -> None:
    write_fuzz(found, tmp_path)
    shown = found.findings.findings[0]
    assert len(shown.steps(KAFKA_4)) <= 6
    (path,) = (tmp_path / "traces").glob(f"{shown.case.id.replace('/', '__')}.json")
    again = asyncio.run(
        replay_trace(TraceFile.read(path), find_target("mutant:kafka-8500", TargetOptions()))
    )
    assert again.same
    honest = asyncio.run(replay_trace(TraceFile.read(path), find_target("model", TargetOptions())))
    assert not honest.same


def test_the_same_seed_says_the_same(found: FuzzResult, tmp_path: Path) -> None:
    again = run("mutant:kafka-8500", 700, corpus=())
    assert list(lines(again)) == list(lines(found))
    assert fuzz_document(again).plain() == fuzz_document(found).plain()
    for name, fuzzed in (("one", found), ("two", again)):
        write_fuzz(fuzzed, tmp_path / name)
        write_corpus(fuzzed.tally.novel, tmp_path / name / "corpus")
    files = [
        {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*.json")}
        for folder in (tmp_path / "one", tmp_path / "two")
    ]
    assert files[0] == files[1] != {}


def test_a_corpus_is_begun_with_and_tells_what_it_covers(tmp_path: Path) -> None:
    first = run("model", 500, corpus=())
    write_corpus(first.tally.novel, tmp_path)
    plans = read_corpus(tmp_path)
    assert {plan.id for plan in plans} == {plan.id for plan in first.tally.novel}
    asks = sum(1 for plan in plans for step in plan.steps if hasattr(step, "api"))
    second = run("model", asks, seed=9, corpus=plans)
    assert second.tally.covered.rules >= first.tally.covered.rules
    both = second.tally.covered.pairs & first.tally.covered.pairs
    assert len(both) > 0.8 * len(first.tally.covered.pairs)


def test_a_file_that_is_no_plan_is_named(tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text("{}")
    with pytest.raises(PlanError, match=r"odd\.json.*fencepost fuzz --corpus"):
        read_corpus(tmp_path)
    assert read_corpus(tmp_path / "missing") == []


@pytest.mark.slow
def test_processes_share_the_work_and_say_the_same_each_time() -> None:
    mutant = "mutant:kafka-8500"
    options = FuzzOptions(KAFKA_4, Budget(400), 1, jobs=2, target=mutant)
    one, two = (
        asyncio.run(fuzz(lambda: find_target(mutant, TargetOptions()), options)) for _ in range(2)
    )
    assert fuzz_document(one).plain() == fuzz_document(two).plain()
    alone = run(mutant, 400)
    assert one.tally.requests >= 300
    assert fuzz_document(one).plain() != fuzz_document(alone).plain()


def test_a_real_target_has_a_fuzzer_for_each_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    for processors, jobs in ((None, 1), (1, 1), (2, 2), (64, 4)):
        monkeypatch.setattr("os.cpu_count", lambda known=processors: known)
        assert (usual_jobs("virtual"), usual_jobs("real")) == (1, jobs)
    mutant = "mutant:kafka-8500"
    options = FuzzOptions(KAFKA_4, Budget(200), 1, jobs=None, target=mutant)
    found = asyncio.run(fuzz(lambda: find_target(mutant, TargetOptions()), options))
    assert fuzz_document(found).plain() == fuzz_document(run(mutant, 200)).plain()


def test_what_is_counted_was_sent(found: FuzzResult) -> None:
    tally = found.tally
    assert sum(tally.words.values()) == tally.requests
    assert sum(tally.outcomes.values()) == sum(tally.settings.values()) == tally.plans
    assert len(tally.settings) >= len(SETTINGS)  # and some with limits of what can be stored
    assert set(tally.events) == {"failover", "move", "disconnect", "pause", "deletion"}
    assert max(tally.events.values()) <= tally.plans
    document, told = fuzz_document(found).plain(), "\n".join(lines(found))
    assert (document["settings"], document["events"]) == (tally.settings, tally.events)
    assert f"{tally.events['failover']} failover" in told


def test_a_finding_names_the_settings_that_are_no_defaults(found: FuzzResult) -> None:
    finding = found.findings.all[0]
    recording = finding.result.recording
    assert recording is not None
    for config, said in (
        (CONFIG_DEFAULTS, []),
        ({**CONFIG_DEFAULTS, DELAY: 0, "group.max.size": 2}, [f"{DELAY}=0, group.max.size=2"]),
    ):
        ran = replace(finding.result, recording=replace(recording, config=config))
        again = replace(finding, result=ran)  # type: ignore[arg-type]  # mypy wants `R`
        told = finding_lines(1, again, found.revision)
        assert [line for line in told if line.startswith("Settings: ")] == [
            f"Settings: {words}" for words in said
        ]


def test_a_shape_that_is_passed_over_is_only_counted(found: FuzzResult) -> None:
    first, *rest = found.findings.findings
    fuzzed = run("mutant:kafka-8500", 700, passed_over={str(first.fingerprint)})
    assert fuzzed.findings.known == {first.fingerprint: first.occurrences}
    assert [f.fingerprint for f in fuzzed.findings.findings] == [f.fingerprint for f in rest]


class _Departed(InProcessTarget):
    """A target that does what is known of Kafka."""

    def __init__(self) -> None:
        super().__init__("departed", departed(KAFKA_4, [DEPARTURES["pending-leave"]]), "0")


def test_a_known_failure_is_told_and_not_found() -> None:
    entry = KnownFailure("departed", "*", "any/case", "", "", "as meant", "-")

    def searched(*known: KnownFailure, **options: Any) -> FuzzResult:
        plan = without_delay("LEAVE-MEMBER-PENDING/pending-id")
        given = FuzzOptions(
            KAFKA_4, Budget(500), 1, known=lambda _: known, corpus=[plan], **options
        )
        return asyncio.run(fuzz(_Departed, given))

    fuzzed = searched(structs.replace(entry, cause="pending-leave"))
    assert fuzzed.exit_code() == 0
    assert fuzzed.known["as meant"] >= 1
    assert [finding.known for finding in fuzzed.listed] == ["as meant"]
    (shown,) = fuzzed.listed
    assert shown.failed == shown.runs > 0
    assert shown.case.id in fuzzed.traces
    assert fuzz_document(fuzzed).plain()["known_findings"][0]["known"] == "as meant"
    told = list(lines(fuzzed))
    assert any(line.startswith(f"known finding 1: {shown.fingerprint}") for line in told)
    assert told[0] == "departed: no new violation found, 1 known"
    raw = searched(structs.replace(entry, cause="pending-leave"), examines_listed=False)
    assert [(f.known, f.runs) for f in raw.listed] == [("as meant", 0)]
    assert (raw.known, raw.exit_code()) == (fuzzed.known, 0)
    # An entry that has no cause covers its kind, which is counted and not examined.
    rule, observed = shown.fingerprint.by_observed
    alike = structs.replace(entry, rule=rule, observed=f"a {observed}")
    counted = searched(alike)
    assert [(f.known, f.runs) for f in counted.listed] == [("as meant", 0)]
    assert counted.exit_code() == 0
    assert not any(line.startswith("known finding") for line in lines(counted))
    assert any(
        line.startswith("known, ") and line.endswith(": as meant") for line in lines(counted)
    )
    assert searched(structs.replace(alike, rule="SYNC-STABLE")).exit_code() == 1


class _Dead(InProcessTarget):
    """A target whose process is gone."""

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        del isolated, restarts
        if label:
            raise CoordinatorFailure("it is gone")
        async with super().scope(label) as coordinator:
            yield coordinator


class _Frail:
    """A suite on a real clock that holds for some plans, and then its target dies."""

    places = 4
    controls: Any = None
    revision = KAFKA_4
    hello = replace(ModelCoordinator(KAFKA_4).hello(), clock="real")
    config: Config = CONFIG_DEFAULTS

    def __init__(self, lives: int) -> None:
        self.lives = lives
        self.tried = 0
        self.turns = Turns()

    async def prepare(self, cases: Sequence[Plan]) -> None:
        """Nothing is needed."""

    async def try_case(
        self, case: Plan, *, known_lag_ms: int = 0, has_turn: bool = False
    ) -> CaseResult:
        """A case once."""
        assert known_lag_ms == 0
        assert has_turn is not case.restarts
        self.tried += 1
        outcome = Outcome.PASS if self.tried <= self.lives else Outcome.FAIL
        await asyncio.sleep(0)
        return CaseResult(case, outcome, Level.MUST)


def fuzzer(
    suite: _Frail,
    target: Target,
    tally: Tally,
    is_listed: Callable[[CaseResult], bool] = lambda _: False,
) -> Fuzzer:
    config = Machine(KAFKA_4, {}).config
    context = PlanContext(KAFKA_4, suite.hello, Hints(), 300, [({}, config)])
    planner = Planner(context, 1)
    opened = cast("OpenTarget", suite)
    return Fuzzer(target, opened, planner, tally, lambda _: None, is_listed=is_listed)


class _Slow(_Frail):
    """A suite whose target is on a real clock, with a control that says how late it is."""

    def __init__(self, *lags_ms: int) -> None:
        super().__init__(10**6)
        self.controls = self
        self.lags_ms = list(lags_ms)
        self.seen: list[tuple[bool, int]] = []

    def worst_ms(self) -> int:
        """The next lag; the last one for ever."""
        return self.lags_ms.pop(0) if len(self.lags_ms) > 1 else self.lags_ms[0]

    async def try_case(
        self, case: Plan, *, known_lag_ms: int = 0, has_turn: bool = False
    ) -> CaseResult:
        """A case once, in which the control saw 900 ms of lag, and more after a failover."""
        if not has_turn:
            await self.turns.turn()
        self.seen.append((case.restarts, known_lag_ms))
        measured_ms = 5000 if case.restarts else 900
        recording = Recording(case, {}, "real", 300, 0, measured_ms=measured_ms)
        return CaseResult(case, Outcome.PASS, Level.MUST, recording=recording)


@at_once
async def test_plans_bear_the_lag_that_others_met_and_fail_over_together() -> None:
    slow = _Slow(400, 400, 20)
    target = InProcessTarget("model", KAFKA_4, "0")
    tally = Tally()
    await fuzzer(slow, target, tally).run(Budget(6000))
    assert slow.seen[0] == (False, 0)
    assert {known_lag_ms for _, known_lag_ms in slow.seen[8:]} == {900}
    failing_over = [place for place, (restarts, _) in enumerate(slow.seen) if restarts]
    assert len(failing_over) > 2
    assert failing_over == list(range(len(slow.seen)))[-len(failing_over) :]


class _Closing(_Slow):
    """A suite whose connections are closed: at the first tries of each plan, and where."""

    def __init__(self, times: int, *places: str) -> None:
        super().__init__(20)
        self.times, self.places_closed = times, places
        self.tries: Counter[str] = Counter()

    async def try_case(
        self, case: Plan, *, known_lag_ms: int = 0, has_turn: bool = False
    ) -> CaseResult:
        """A case once."""
        result = await super().try_case(case, known_lag_ms=known_lag_ms, has_turn=has_turn)
        tried = self.tries[case.id]
        self.tries[case.id] += 1
        if tried >= self.times:
            return result
        where = self.places_closed[tried % len(self.places_closed)]
        return replace(result, outcome=Outcome.FAIL, message=f"closed at {where}")


@at_once
@pytest.mark.parametrize(
    ("closing", "outcome", "tries"),
    [
        (_Closing(2, "a"), Outcome.PASS, 3),
        (_Closing(9, "a", "b", "c"), Outcome.UNKNOWN, 5),
        (_Closing(9, "a"), Outcome.FAIL, 3),
        (_Closing(9, "a", "b"), Outcome.FAIL, 5),
    ],
    ids=["held later", "here and there", "each time at one place", "three times at one"],
)
async def test_what_a_bad_link_may_have_done_counts_once_it_was_seen_three_times(
    closing: _Closing, outcome: Outcome, tries: int
) -> None:
    tally = Tally()
    await fuzzer(closing, InProcessTarget("model", KAFKA_4, "0"), tally).run(Budget(300))
    assert set(tally.outcomes) == {outcome}
    assert set(closing.tries.values()) == {tries}


@at_once
async def test_what_is_listed_is_not_asked_for_again() -> None:
    closing, tally = _Closing(9, "a", "b", "c"), Tally()
    target = InProcessTarget("model", KAFKA_4, "0")
    await fuzzer(closing, target, tally, is_listed=lambda _: True).run(Budget(300))
    assert set(tally.outcomes) == {Outcome.FAIL}
    assert set(closing.tries.values()) == {1}


@at_once
async def test_a_target_that_is_never_quick_is_searched_all_the_same() -> None:
    far, tally = _Slow(200), Tally()
    target = InProcessTarget("model", KAFKA_4, "0")
    async with asyncio.timeout(600):
        await fuzzer(far, target, tally).run(Budget(600))
    assert len(far.seen) == tally.plans > 10


@at_once
async def test_in_a_short_search_plans_fail_over_when_half_of_it_is_over() -> None:
    slow = _Slow(20)
    target = InProcessTarget("model", KAFKA_4, "0")
    await fuzzer(slow, target, Tally()).run(Budget(seconds=2.0))
    failing_over = [place for place, (restarts, _) in enumerate(slow.seen) if restarts]
    assert len(failing_over) > 2
    assert len(slow.seen) // 4 < failing_over[0] < len(slow.seen) - len(failing_over)


@at_once
async def test_no_more_plans_fail_over_while_some_wait_for_a_failover(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Lasting(_Slow):
        under_way = 0
        met: ClassVar[list[str]] = []

        async def try_case(
            self, case: Plan, *, known_lag_ms: int = 0, has_turn: bool = False
        ) -> CaseResult:
            if not case.restarts:
                self.met.append("other, beside some" if self.under_way else "other")
                return await super().try_case(case, known_lag_ms=known_lag_ms, has_turn=has_turn)
            self.met.append("failover")
            self.under_way += 1
            await asyncio.sleep(0.2)
            self.under_way -= 1
            return await super().try_case(case, known_lag_ms=known_lag_ms, has_turn=has_turn)

    monkeypatch.setattr(fuzz_engine, "_FAILOVERS_APART_S", 0.0)
    slow = Lasting(20)
    await fuzzer(slow, InProcessTarget("model", KAFKA_4, "0"), Tally()).run(Budget(6000))
    while slow.met[-1] == "failover":
        slow.met.pop()  # the last ones are let go together, whoever still waits
    batches = list(itertools.pairwise(word for word, _ in itertools.groupby(slow.met)))
    assert batches.count(("other", "failover")) > 2
    assert ("other, beside some", "failover") not in batches
    assert {known_lag_ms for _, known_lag_ms in slow.seen} == {0, 900}


@at_once
async def test_who_waits_for_a_broker_takes_no_room_from_others() -> None:
    """Neither those that fail over together nor those that have a broker in turns."""

    class Waiting(_Slow):
        under_way: ClassVar[Counter[str]] = Counter()
        most: ClassVar[Counter[str]] = Counter()

        async def try_case(
            self, case: Plan, *, known_lag_ms: int = 0, has_turn: bool = False
        ) -> CaseResult:
            kind = "failing over" if case.restarts else "limited" if case.needs.config else "other"
            self.under_way[kind] += 1
            self.most[kind] = max(self.most[kind], self.under_way[kind])
            await asyncio.sleep(1 if kind == "other" else 100)
            self.under_way[kind] -= 1
            return await super().try_case(case, known_lag_ms=known_lag_ms, has_turn=has_turn)

    waiting = Waiting(20)
    config = Machine(KAFKA_4, {}).config
    apis = {a: v for a, v in waiting.hello.apis.items() if a not in NEWER}
    hello = replace(waiting.hello, apis=apis)
    settings = [({}, config), (LIMITED, {**config, **LIMITED})]
    context = PlanContext(KAFKA_4, hello, Hints(), 300, settings)
    target = InProcessTarget("model", KAFKA_4, "0")
    suite = cast("OpenTarget", waiting)
    made = Fuzzer(target, suite, Planner(context, 1), Tally(), lambda _: None)
    await made.run(Budget(seconds=100.0))
    assert waiting.most["limited"] == 2
    assert waiting.most["failing over"] > waiting.places
    assert waiting.most["other"] == waiting.places - 2
    assert len(waiting.seen) > 150


@at_once
async def test_what_was_held_does_not_begin_once_the_target_is_dead() -> None:
    class Dies(_Slow):
        async def try_case(
            self, case: Plan, *, known_lag_ms: int = 0, has_turn: bool = False
        ) -> CaseResult:
            result = await super().try_case(case, known_lag_ms=known_lag_ms, has_turn=has_turn)
            return replace(result, outcome=Outcome.FAIL) if len(self.seen) > 200 else result

    dies, tally = Dies(20), Tally()
    gone = cast("Target", _Dead("gone", KAFKA_4, "0"))
    assert await fuzzer(dies, gone, tally).run(Budget(20_000))
    assert tally.died == 1
    assert not any(restarts for restarts, _ in dies.seen)


def test_a_dead_target_ends_the_run_and_names_who_may_be_to_blame() -> None:
    tally = Tally()
    gone = cast("Target", _Dead("gone", KAFKA_4, "0"))
    to_blame = asyncio.run(fuzzer(_Frail(3), gone, tally).run(Budget(5000)))
    assert to_blame
    assert tally.died == 1
    assert tally.outcomes[Outcome.PASS] == 3


@pytest.mark.slow
def test_what_was_found_is_told_of_a_target_that_dies_too_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fuzz_module, "_DEATHS", 1)
    searched = FuzzProgress.searched

    async def dies(progress: FuzzProgress, *args: Any) -> list[Plan]:
        await searched(progress, *args)
        progress.tally.died += 1
        return []

    monkeypatch.setattr(FuzzProgress, "searched", dies)
    fuzzed = run("mutant:kafka-8500", 700)
    assert fuzzed.gave_up == "It died 1 times."
    assert fuzzed.findings.all
    assert fuzzed.exit_code() == 1


def test_what_was_met_is_told_of_a_search_that_is_ended() -> None:
    stop = Stop()

    def told(tally: Tally) -> None:
        if tally.failures:
            stop.ask()

    class Kept(FuzzListener):
        def __init__(self) -> None:
            self.kept: list[PlanFinding] = []

        def examined(self, finding: PlanFinding, trace: Any) -> None:
            assert (finding.known, stop.requested, trace is not None) == ("", True, True)
            self.kept.append(finding)

    listener = Kept()
    options = FuzzOptions(KAFKA_4, Budget(10_000), 1, on_tally=told, stop=stop)
    fuzzed = asyncio.run(
        fuzz(lambda: find_target("mutant:kafka-8500", TargetOptions()), options, listener)
    )
    assert fuzzed.stopped
    assert fuzzed.tally.requests < 1000
    assert fuzzed.exit_code() == 2
    (finding,) = fuzzed.findings.all
    assert listener.kept == [finding]
    assert (finding.runs, finding.is_minimal) == (0, False)
    assert finding.case.id in fuzzed.traces
    told_lines = list(lines(fuzzed))
    assert any(line.startswith("unconfirmed finding 1: ") for line in told_lines)
    assert told_lines[0] == "mutant:kafka-8500: 1 not confirmed"


def test_a_join_that_ends_some_coordinators_has_one_to_itself() -> None:
    def joins(*names: str) -> bool:
        offered = tuple(JoinProtocol(name=name, metadata=b"") for name in names)
        return is_risky([Request("a JoinGroup", "a", "JoinGroup", fields={"protocols": offered})])

    assert joins()
    assert joins("range", "range")
    assert not joins("range", "roundrobin")


def test_a_model_that_stops_is_a_finding() -> None:
    fuzzed = asyncio.run(fuzz(stopping_target, FuzzOptions(KAFKA_4, Budget(300), 1)))
    assert fuzzed.exit_code() == 1
    said = {finding.result.message for finding in fuzzed.findings.findings}
    assert any(STOPPED in message for message in said)


def test_a_target_that_only_fails_is_not_dead() -> None:
    tally = Tally()
    alive = cast("Target", InProcessTarget("model", KAFKA_4, "0"))
    assert asyncio.run(fuzzer(_Frail(3), alive, tally).run(Budget(300))) is None
    assert tally.died == 0
    assert tally.outcomes[Outcome.FAIL] > 0
