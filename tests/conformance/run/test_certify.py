"""Certify: what a case is worth on a virtual clock, and above all on one that runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from support.control import meter_of
from support.real_clock import QUICK, RealClockTarget
from support.runs import KAFKA_4, Liar, Lie, about, honest
from support.runs import LEVELS as OF_RULES
from support.virtual_clock import at_once

from fencepost.conformance.cases import entry
from fencepost.conformance.cases.case_registry import Entry, Registry
from fencepost.conformance.cases.script import Script
from fencepost.conformance.cases.suites import find_suite
from fencepost.conformance.run import certify as certifying
from fencepost.conformance.run.certify import (
    OpenTarget,
    Options,
    certify,
    open_target,
)
from fencepost.conformance.run.controls import RunningControl
from fencepost.conformance.run.latency_monitor import verdict_of
from fencepost.conformance.run.link_faults import REQUIRED_REPEATS
from fencepost.conformance.runtime.lag_meter import LagMeter, Samples
from fencepost.conformance.targets.in_process import InProcessCoordinator, InProcessTarget
from fencepost.conformance.targets.target import ScopeNeeds
from fencepost.model.consumer.settings import ALL_SETTINGS
from fencepost.model.coordinator import Answer, AsyncCoordinator, CoordinatorFailure, Hello, Send
from fencepost.model.history.events import Answered, Event, Passed, Sent
from fencepost.model.messages.errors import Error
from fencepost.model.plans.times import LEAST_LAG_MS
from fencepost.model.revision import Revision, SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.judging.answer_diff import TOO_LATE, Recording
from fencepost.properties.judging.known_failures import KnownFailure
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.judging.report import Certificate, Overall

FIRST = "JOIN-STATIC-EMPTY-NEW/first-member"
ZOMBIE = "HEARTBEAT-INSTANCE-FENCED/zombie-beats"
FOLLOWER = "JOIN-STATIC-EMPTY-STABLE/restart-of-a-follower"
NO_GROUP = "HEARTBEAT-GROUP-ABSENT/no-group"
NO_GROUP_JOIN = "JOIN-GROUP-ABSENT/member-id-without-a-group"
SILENT = "SESSION-EXPIRED/silent-member"

CASES = (
    FIRST,
    FOLLOWER,
    ZOMBIE,
    "JOIN-STATIC-EMPTY-STABLE/restart-of-the-leader",
    "JOIN-INSTANCE-FENCED/zombie-joins",
    "COMMIT-INSTANCE-FENCED/zombie-commits",
    "LEAVE-MEMBER-INSTANCE-FENCED/wrong-id-evicts-nobody",
    "JOIN-STATIC-EMPTY-PREPARING/connection-drops-while-a-join-waits",
    "DESCRIBE-STABLE/stable-group",
    SILENT,
    "SESSION-EXPIRED/silent-static-member",
    "SESSION-PENDING/pending-id-expires",
    "JOIN-PHASE-EXPIRED/absent-member",
    "SYNC-PHASE-EXPIRED/follower-never-syncs",
)


async def certified(
    target: RealClockTarget | InProcessTarget, *cases: str | Entry, **options: Any
) -> Certificate:
    entries = [entry(case) if isinstance(case, str) else case for case in cases]
    return await certify(target, KAFKA_4, entries, Options(**options))


def outcomes(certificate: Certificate) -> dict[str, tuple[Outcome, str]]:
    return {r.case.id: (r.outcome, r.message) for r in certificate.results}


class LyingTarget(InProcessTarget):
    """The model, virtual clock, with answers changed."""

    def __init__(self, lie: Lie = honest) -> None:
        super().__init__("model:kafka-4", KAFKA_4, "0")
        self.lie = lie
        self.scopes: list[str] = []

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        del isolated, restarts
        self.scopes.append(label)
        yield InProcessCoordinator(Liar("kafka-4", self.lie))


# A clock that runs.


@at_once
async def test_cases_hold_on_a_clock_that_runs() -> None:
    # With an initial delay groups are formed with an R as short as that, 200 ms: where a rebalance
    # begins unseen, who beats every 800 ms is removed by it, and nothing is learnt.
    fewer = tuple(case for case in CASES if case != SILENT)
    quick, delayed = await asyncio.gather(
        certified(RealClockTarget(), *CASES), certified(RealClockTarget(delay_ms=200), *fewer)
    )
    for certificate, cases in ((quick, CASES), (delayed, fewer)):
        assert outcomes(certificate) == dict.fromkeys(cases, (Outcome.PASS, ""))
        assert list(outcomes(certificate)) == list(cases)
        assert certificate.clock == "real"
        assert certificate.lag_ms >= LEAST_LAG_MS
        assert certificate.overall() is Overall.HOLDS
        assert {"SESSION-EXPIRED", "JOIN-PHASE-EXPIRED"} <= set(certificate.coverage.covered)


def fences_nobody() -> Revision:
    changes = tuple(
        SetRule(table.name, rule.but(answer=Error.NONE), "zombies are welcome")
        for table, rule in KAFKA_4.rules()
        if rule.id in {"HEARTBEAT-INSTANCE-FENCED", "COMMIT-INSTANCE-FENCED"}
    )
    assert len(changes) == 2
    return derive(KAFKA_4, "fences-nobody", "zombies are welcome", changes)


@at_once
async def test_a_wrong_answer_does_not_rest_on_lateness() -> None:
    target = RealClockTarget(fences_nobody())
    certificate = await certified(target, ZOMBIE, FIRST, "COMMIT-INSTANCE-FENCED/zombie-commits")
    zombie, first, commits = certificate.results
    # A coordinator that loads answers NONE to any heartbeat, so that must be seen again.
    for result, attempts in ((zombie, REQUIRED_REPEATS), (commits, 1)):
        assert (result.outcome, result.level) == (Outcome.FAIL, Level.MUST)
        assert result.attempts == attempts
        assert result.verdict is not None
        assert result.verdict.violation is not None
        assert result.verdict.violation.late is False
        assert "FENCED_INSTANCE_ID" in result.message
    assert first.outcome is Outcome.PASS
    assert certificate.overall() is Overall.VIOLATED


@at_once
async def test_a_late_answer_that_is_right_is_no_breach_of_a_must() -> None:
    certificate = await certified(RealClockTarget(late_ms=1000), FIRST, NO_GROUP)
    for result in certificate.results:
        assert (result.outcome, result.level, result.attempts) == (Outcome.FAIL, Level.SHOULD, 3)
        assert result.verdict is not None
        assert result.verdict.violation is not None
        assert result.verdict.violation.late is True


@at_once
async def test_an_unknown_is_tried_three_times() -> None:
    moved = about("Heartbeat", None, lambda body: {**body, "errorCode": 16})
    target = RealClockTarget(lie=moved)
    certificate = await certified(target, NO_GROUP, NO_GROUP_JOIN)
    assert certificate.results[0].outcome is Outcome.UNKNOWN
    assert certificate.results[0].attempts == 3
    assert certificate.results[0].message == "the coordinator moved or was loading meanwhile"
    assert certificate.results[1].attempts == 1
    assert target.scopes.count(NO_GROUP) == 3
    assert target.scopes.count(NO_GROUP_JOIN) == 1
    assert certificate.overall() is Overall.UNKNOWN


@at_once
async def test_a_pass_with_lag_that_hides_a_listed_lateness_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lags = [LEAST_LAG_MS + 1, LEAST_LAG_MS + 1, LEAST_LAG_MS]
    monkeypatch.setattr(CaseResult, "lag_ms", property(lambda _: lags[0]))

    async def tried(*, is_intermittent: bool) -> CaseResult:
        late = f"a JoinGroup: NONE, {TOO_LATE}"
        entry = KnownFailure("t", "*", NO_GROUP, "R", late, "why", "", is_intermittent)
        certificate = await certified(RealClockTarget(), NO_GROUP, listed=lambda _: [entry])
        return certificate.results[0]

    hidden = await tried(is_intermittent=False)
    assert (hidden.outcome, hidden.attempts) == (Outcome.UNKNOWN, 3)
    assert hidden.message == "its listed lateness would not be seen with 301 ms of lag"
    often = await tried(is_intermittent=True)
    assert (often.outcome, often.attempts) == (Outcome.PASS, 1)
    monkeypatch.setattr(CaseResult, "lag_ms", property(lambda _: lags.pop(0)))
    calm = await tried(is_intermittent=False)
    assert calm.outcome is Outcome.PASS
    assert calm.attempts == 2


@at_once
async def test_repeats_of_a_long_case_begin_early_where_a_list_may_cover_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(certifying, "_LONG_MS", 1000)  # the target's sessions are short

    async def attempts(case: str, *, anywhere: bool) -> int:
        entry = KnownFailure("t", "*", case, "R", "b Heartbeat: NONE", "why", "", anywhere=anywhere)
        target = RealClockTarget()
        certificate = await certified(target, SILENT, NO_GROUP, listed=lambda _: [entry])
        assert [r.outcome for r in certificate.results] == [Outcome.PASS] * 2
        assert target.scopes.count(NO_GROUP) == 1  # it is over before they begin
        return target.scopes.count(SILENT)

    assert await attempts(SILENT, anywhere=False) > 1
    assert await attempts(NO_GROUP, anywhere=True) > 1
    assert await attempts(NO_GROUP, anywhere=False) == 1


async def test_cases_with_a_failover_begin_first() -> None:
    """All of them wait for each other, and longer than any timeout."""
    restart = "FAILOVER-STABLE/stable-group-survives"
    target = LyingTarget()
    await certified(target, NO_GROUP, SILENT, restart)
    assert target.scopes == ["hello", restart, SILENT, NO_GROUP]


@at_once
async def test_a_clock_that_runs_is_watched_in_scopes_of_its_own() -> None:
    target = RealClockTarget()
    await certified(target, NO_GROUP)
    assert sorted(target.scopes) == sorted(["hello", "control", "control timers", NO_GROUP])
    virtual = LyingTarget()
    await certified(virtual, NO_GROUP)
    assert virtual.scopes == ["hello", NO_GROUP]


# Lateness, with measures made by hand.


HEARTBEAT = Send(
    "r1", "a", "fencepost", "Heartbeat", 0, {"groupId": "g", "generationId": 1, "memberId": "m"}
)
RIGHT = {"errorCode": Error.UNKNOWN_MEMBER_ID.value}
WRONG = {"errorCode": Error.NONE.value}


def heard(answered_ms: int | None, body: dict[str, Any], passed_ms: int | None = None) -> Recording:
    """A heartbeat at 0 and its answer, between 10 s and 11 s of our own clock."""
    history: list[Event] = [Sent(0, HEARTBEAT, 0)]
    if answered_ms is not None:
        history.append(Answered(Answer("r1", answered_ms, body)))
    if passed_ms is not None:
        history.append(Passed(passed_ms))
    case = entry(NO_GROUP).case({}, delayed=False)
    return Recording(case, QUICK, "real", 300, 5000, history, began=10.0, ended=11.0)


def verdict_and_lag(
    recording: Recording,
    *,
    samples: Sequence[float] = (0.01,),
    fired: Sequence[bool] = (True,),
) -> tuple[Any, int]:
    return verdict_of(recording, KAFKA_4, meter_of(samples, fired)), recording.lag_ms


def suite_with(meter: LagMeter) -> OpenTarget:
    hello = Hello("a target", "0", "real", KAFKA_4.apis)
    return OpenTarget(RealClockTarget(), KAFKA_4, hello, QUICK, Options(), RunningControl(meter))


def test_in_time() -> None:
    verdict, lag_ms = verdict_and_lag(heard(500, RIGHT))
    assert (verdict.violation, verdict.unknown) == (None, None)
    assert lag_ms == 300


def test_late_while_the_control_is_quick() -> None:
    verdict, lag_ms = verdict_and_lag(heard(1000, RIGHT))
    assert verdict.violation.late is True
    assert verdict.violation.level is Level.SHOULD
    assert lag_ms == 300  # by which the evidence shows it


def test_late_while_the_control_is_late_too() -> None:
    verdict, lag_ms = verdict_and_lag(heard(1000, RIGHT), samples=(0.01, 0.2))
    assert (verdict.violation, verdict.unknown) == (None, None)
    assert lag_ms == 600


def test_what_is_late_by_itself_is_not_hidden_by_a_late_control() -> None:
    calm = replace(heard(1000, RIGHT), calm_ms=300)
    verdict, _ = verdict_and_lag(calm, samples=(0.01, 0.2))
    assert verdict.violation is None
    assert "could hide a late answer" in verdict.unknown
    for slow in (replace(calm, calm_ms=600), replace(heard(500, RIGHT), calm_ms=300)):
        verdict, _ = verdict_and_lag(slow, samples=(0.01, 0.2))
        assert (verdict.violation, verdict.unknown) == (None, None)


@pytest.mark.parametrize("answered_ms", [1000, 12_000])
def test_late_while_no_timer_of_the_control_fires(answered_ms: int) -> None:
    verdict, lag_ms = verdict_and_lag(heard(answered_ms, RIGHT), fired=(False, False))
    assert verdict.violation is None
    assert "the control group was late, too" in verdict.unknown
    assert verdict.used == frozenset()
    assert lag_ms == 30_000


def test_later_than_anybody_waits_is_as_bad_as_no_answer() -> None:
    verdict, lag_ms = verdict_and_lag(heard(12_000, RIGHT))
    level = KAFKA_4.rule("HEARTBEAT-GROUP-ABSENT").level
    assert (verdict.violation.late, verdict.violation.level) == (True, level)
    assert lag_ms == 5000


def test_minutes_of_lateness_are_held_against_no_target_whose_control_is_late_too() -> None:
    for control in ({"samples": (30.0,)}, {"fired": (False,)}, {"fired": ()}):
        verdict, _ = verdict_and_lag(heard(97_588, RIGHT), **control)
        assert (verdict.violation, verdict.unknown is None) == (None, False)
    verdict, _ = verdict_and_lag(heard(97_588, RIGHT))
    assert verdict.violation.late is True


def test_silence_rests_on_lateness() -> None:
    quick, _ = verdict_and_lag(heard(None, {}, passed_ms=11_000))
    assert quick.violation.late is True
    slow, _ = verdict_and_lag(heard(None, {}, passed_ms=11_000), samples=(2.0,))
    assert slow.violation is None
    stuck, _ = verdict_and_lag(heard(None, {}, passed_ms=11_000), fired=(False,))
    assert stuck.unknown is not None


def test_silence_while_the_control_waits_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 21.0)
    stalled = meter_of(ended=10.5, waiting=[10.5])
    silent = replace(heard(None, {}, passed_ms=11_000), ended=21.0)
    assert verdict_of(silent, KAFKA_4, stalled).violation is None


@pytest.mark.parametrize("fired", [(True,), (False,), ()])
@pytest.mark.parametrize("answered_ms", [10, 1000])
def test_a_wrong_answer_is_wrong_however_late_all_is(
    answered_ms: int, fired: tuple[bool, ...]
) -> None:
    verdict, _ = verdict_and_lag(heard(answered_ms, WRONG), samples=(0.01, 0.2), fired=fired)
    assert verdict.violation.late is False
    assert verdict.violation.level is KAFKA_4.rule("HEARTBEAT-GROUP-ABSENT").level
    assert verdict.unknown is None


@at_once
async def test_a_stall_does_not_make_the_next_case_last_for_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(certifying, "_SPIKE_MS", 400)
    meter = LagMeter(Samples([(time.monotonic(), 10.0)]))
    suite = suite_with(meter)
    (result,) = await suite.run([entry(FIRST)])
    assert result.recording is not None
    joins = [e.request.body for e in result.recording.history if isinstance(e, Sent)]
    assert joins[0]["sessionTimeoutMs"] == RealClockTarget.hints.session_ms
    assert result.attempts > 1  # a pass behind 30 s of lag is not believed, and tried again
    assert result.outcome is Outcome.PASS


@at_once
async def test_a_case_with_pauses_waits_until_a_spike_of_the_lag_is_over() -> None:
    begun = time.monotonic()
    meter = LagMeter(Samples([(begun, 0.4)]))
    suite = suite_with(meter)
    (result,) = await suite.run([entry("SESSION-EXPIRED/silent-member")])
    assert result.recording is not None
    assert result.recording.written_for_ms == LEAST_LAG_MS
    assert 4 < result.recording.began - begun < 7


@at_once
async def test_a_case_without_pauses_waits_for_no_calm() -> None:
    begun = time.monotonic()
    suite = suite_with(LagMeter(Samples([(begun, 0.4)])))
    (result,) = await suite.run([entry(FIRST)])
    assert result.recording is not None
    assert result.recording.began - begun < 1


# What a case is worth.


STORIES = Registry()


@STORIES.case("HEARTBEAT-STABLE")
def alone(s: Script) -> None:
    """A member joins, and that is all."""
    s.join("A1", wait=True)


@STORIES.case("HEARTBEAT-GROUP-ABSENT", apis=(("Heartbeat", 99),))
def newer(s: Script) -> None:
    """A version that nobody has."""
    s.beat("A1")


@STORIES.case("HEARTBEAT-GROUP-ABSENT", features=("levitate",))
def gifted(s: Script) -> None:
    """A feature that nobody has."""
    s.beat("A1")


@STORIES.case("HEARTBEAT-GROUP-ABSENT", config={"group.colour": 7})
def coloured(s: Script) -> None:
    """A setting that nobody has."""
    s.beat("A1")


@STORIES.case("HEARTBEAT-GROUP-ABSENT", config={"group.max.size": 2})
def small(s: Script) -> None:
    """A setting that some have."""
    s.beat("A1")


@STORIES.case("JOIN-PHASE-DELAY-EXTENDED", delayed=True)
def patient(s: Script) -> None:
    """Only with an initial delay."""
    s.join("A1", wait=True)


def story(name: str) -> Entry:
    (found,) = [case for case in STORIES.entries if case.id.endswith(f"/{name}")]
    return found


async def test_a_case_that_did_not_use_its_rule_is_unknown() -> None:
    certificate = await certified(LyingTarget(), story("alone"))
    (result,) = certificate.results
    assert result.outcome is Outcome.UNKNOWN
    assert result.message == "the history can also be explained without HEARTBEAT-STABLE"
    assert result.attempts == 1  # on a virtual clock it would be the same again
    assert certificate.exit_code() == 2
    assert "HEARTBEAT-STABLE" in certificate.coverage.missed


class StartedBrokers(LyingTarget):
    """A target that starts a coordinator for what a case needs."""

    def __init__(self) -> None:
        super().__init__()
        self.alone: list[str] = []

    async def prepare(self, needs: Collection[ScopeNeeds]) -> None:
        del needs

    @asynccontextmanager
    async def scope_with(self, label: str, needed: ScopeNeeds) -> AsyncIterator[AsyncCoordinator]:
        if needed.isolated:
            self.alone.append(label)
        async with self.scope(label) as coordinator:
            yield coordinator


async def test_a_drawn_case_about_the_nameless_group_has_a_coordinator_of_its_own() -> None:
    nameless = entry("JOIN-GROUP-ID-INVALID/no-group-name").case(OF_RULES, delayed=False)
    other = entry(NO_GROUP).case(OF_RULES, delayed=False)
    target = StartedBrokers()
    async with open_target(target, KAFKA_4, Options()) as suite:
        await suite.try_cases([nameless, other])
    assert target.alone == [nameless.id]


async def test_what_the_target_lacks_is_named() -> None:
    stories = [story(name) for name in ("newer", "gifted", "coloured", "small")]
    certificate = await certified(LyingTarget(), *stories)
    assert [(r.outcome, r.message) for r in certificate.results] == [
        (Outcome.UNSUPPORTED, "the target lacks Heartbeat v99"),
        (Outcome.UNSUPPORTED, "the target lacks feature levitate"),
        (Outcome.UNSUPPORTED, "the target lacks the setting group.colour"),
        (Outcome.PASS, ""),
    ]
    assert certificate.overall() is Overall.HOLDS


class WithoutInstances(InProcessCoordinator):
    """A coordinator whose joins can't name an instance."""

    async def hello(self) -> Hello:
        hello = await super().hello()
        return replace(hello, apis={**hello.apis, "JoinGroup": (0, 4)})


async def test_a_target_without_instances_says_that_fencing_is_not_judged() -> None:
    class Old(LyingTarget):
        @asynccontextmanager
        async def scope(
            self, label: str, *, isolated: bool = False, restarts: bool = False
        ) -> AsyncIterator[AsyncCoordinator]:
            del label, isolated, restarts
            yield WithoutInstances(Liar("kafka-4", self.lie))

    assert (await certified(LyingTarget(), story("newer"))).remarks == ()
    (remark,) = (await certified(Old(), story("newer"))).remarks
    assert remark == (
        "static membership and fencing are not judged: JoinGroup works up to version 4, and names "
        "an instance from version 5 on"
    )


class Silent(InProcessTarget):
    """A target that advertises OffsetCommit, and has no version of it that works."""

    def __init__(self, revision: Revision) -> None:
        apis = {api: v for api, v in revision.apis.items() if api != "OffsetCommit"}
        super().__init__("silent", replace(revision, apis=apis), "0")
        self.advertised = revision.apis


@pytest.mark.parametrize("name", ["consumer-4.4", "kafka-4"])
async def test_an_api_of_which_no_version_works_leaves_the_verdict_open(name: str) -> None:
    revision = revisions.find(name)
    entries = find_suite("catalogue", revision).entries
    commits = [each for each in entries if "COMMIT-UNKNOWN-MEMBER/" in each.id]
    others = [each for each in entries if "ABSENT/" in each.id and "COMMIT" not in each.id]
    without = await certify(Silent(revision), revision, others[:1], Options())
    assert without.overall() is Overall.HOLDS
    certificate = await certify(Silent(revision), revision, [*commits, *others[:1]], Options())
    assert certificate.never_working() == ("OffsetCommit",)
    assert certificate.exit_code() == 2
    assert "unknown: no advertised version of OffsetCommit works" in certificate.summary()


@at_once
async def test_the_settings_of_a_target_are_those_that_a_broker_takes() -> None:
    """Also those of the consumer protocol, without the number of partitions of our topics."""
    revision = revisions.find("consumer-4.4")
    target = InProcessTarget("model", revision, "0")
    async with open_target(target, revision, Options()) as opened:
        assert opened.config["group.consumer.session.timeout.ms"] == 45_000
        assert opened.config.keys() <= ALL_SETTINGS.keys()


@at_once
async def test_a_clock_that_runs_lacks_what_can_not_be_set() -> None:
    certificate = await certified(RealClockTarget(), story("small"), story("patient"))
    small_one, patient_one = certificate.results
    assert small_one.outcome is patient_one.outcome is Outcome.UNSUPPORTED
    assert small_one.message == "the target lacks group.max.size=2 (it is None)"
    assert "an initial delay" in patient_one.message
    reasons = certificate.coverage.unreachable
    assert "HEARTBEAT-GROUP-ABSENT" in certificate.coverage.missed  # another group reaches it
    assert reasons["JOIN-PHASE-DELAY-EXTENDED"] == patient_one.message


async def test_a_rule_that_another_case_tried_is_not_out_of_reach() -> None:
    certificate = await certified(LyingTarget(), story("newer"), NO_GROUP)
    assert "HEARTBEAT-GROUP-ABSENT" in certificate.coverage.covered
    assert "HEARTBEAT-GROUP-ABSENT" not in certificate.coverage.unreachable


async def test_a_covered_rule_is_one_that_a_passing_case_used() -> None:
    lie = about("Heartbeat", None, lambda body: {**body, "errorCode": 0})
    certificate = await certified(LyingTarget(lie), NO_GROUP, FIRST)
    assert [r.outcome for r in certificate.results] == [Outcome.FAIL, Outcome.PASS]
    assert "HEARTBEAT-GROUP-ABSENT" in certificate.coverage.missed
    assert "JOIN-STATIC-EMPTY-NEW" in certificate.coverage.covered
    reasons = certificate.coverage.unreachable
    assert "fencepost sends no request to a coordinator" in reasons["HEARTBEAT-COORDINATOR-LOADING"]
    everything = [rule.id for _, rule in KAFKA_4.rules()]
    coverage = certificate.coverage
    assert sorted([*coverage.covered, *coverage.missed, *reasons]) == sorted(everything)


async def test_what_the_user_skips_is_not_run() -> None:
    target = LyingTarget()
    certificate = await certified(target, NO_GROUP, FIRST, skip=(NO_GROUP,))
    assert outcomes(certificate)[NO_GROUP] == (Outcome.SKIPPED, "skipped by the user")
    assert NO_GROUP not in target.scopes
    assert FIRST in target.scopes


async def test_a_target_that_breaks_down_fails_that_case_alone() -> None:
    def breaks(request: Send, answer: Answer) -> Answer:
        if request.api == "Heartbeat":
            raise CoordinatorFailure("it fell over")
        return answer

    certificate = await certified(LyingTarget(breaks), NO_GROUP, NO_GROUP_JOIN, ZOMBIE)
    absent, other, zombie = certificate.results
    for result in (absent, zombie):
        assert (result.outcome, result.attempts) == (Outcome.FAIL, 1)
        assert result.message == "the target failed: it fell over"
        assert result.observed == "the target failed"
        assert result.level is result.case.level
    assert other.outcome is Outcome.PASS
    assert certificate.overall() is Overall.VIOLATED


@pytest.mark.parametrize("code", [14, 15, 16])
async def test_who_moved_meanwhile_is_not_judged(code: int) -> None:
    lie = about("SyncGroup", None, lambda body: {**body, "errorCode": code})
    (result,) = (await certified(LyingTarget(lie), ZOMBIE)).results
    assert result.outcome is Outcome.UNKNOWN
    assert result.message == "the coordinator moved or was loading meanwhile"


@pytest.mark.parametrize("code", [14, 16])
async def test_who_moved_may_say_so_in_a_row_alone(code: int) -> None:
    def moved(body: dict[str, Any]) -> dict[str, Any]:
        (topic,) = body["topics"]
        rows = [{**row, "errorCode": code} for row in topic["partitions"]]
        return {**body, "topics": [{**topic, "partitions": rows}]}

    lie = about("OffsetCommit", None, moved)
    target = LyingTarget(lie)
    (result,) = (await certified(target, "COMMIT-INSTANCE-FENCED/zombie-commits")).results
    assert result.outcome is Outcome.UNKNOWN
    assert result.message == "the coordinator moved or was loading meanwhile"


async def test_progress_is_told_of_each_case() -> None:
    told: list[CaseResult] = []
    certificate = await certified(LyingTarget(), NO_GROUP, FIRST, progress=told.append)
    assert sorted(r.case.id for r in told) == sorted(r.case.id for r in certificate.results)


async def test_a_level_below_the_users_does_not_decide() -> None:
    lie = about("Heartbeat", None, lambda body: {**body, "errorCode": 0})
    certificate = await certified(LyingTarget(lie), NO_GROUP)
    (failed,) = certificate.results
    for level in LEVELS:
        for asked in LEVELS:
            changed = replace(certificate, results=(replace(failed, level=level),), level=asked)
            decides = LEVELS.index(level) <= LEVELS.index(asked)
            assert changed.overall() is (Overall.VIOLATED if decides else Overall.HOLDS)
