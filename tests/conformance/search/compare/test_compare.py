"""Two targets compared: what tells them apart, who is right, and what is no difference."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.real_clock import RealClockTarget
from support.runs import KAFKA_4, STOPPED, Liar, Lie, about, stopping_target
from support.virtual_clock import run_at_once

from fencepost.conformance.cases import entry
from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.script import Script
from fencepost.conformance.cli.cli import main
from fencepost.conformance.search.compare.compare import TargetComparison, compare
from fencepost.conformance.search.compare.compare_report import compare_json, text
from fencepost.conformance.search.compare.compare_search import (
    CompareOptions,
    CompareStage,
    plans_stage,
    stage_of,
)
from fencepost.conformance.search.compare.difference import Known, Origin, Taken
from fencepost.conformance.targets.in_process import (
    InProcessCoordinator,
    InProcessTarget,
    ModelCoordinator,
)
from fencepost.conformance.targets.model_coordinator import RunningModel
from fencepost.conformance.targets.target import Target
from fencepost.conformance.targets.target_registry import (
    TargetOptions,
    find_target,
    judge_for_both,
    revision_for_both,
)
from fencepost.model.coordinator import (
    Answer,
    AsyncCoordinator,
    Config,
    Provenance,
    Reset,
    Send,
    Topics,
)
from fencepost.model.plans.plan_order import asks_of
from fencepost.model.plans.steps import Request

FOLLOWER = "JOIN-STATIC-EMPTY-STABLE/restart-of-a-follower"
ZOMBIE = "HEARTBEAT-INSTANCE-FENCED/zombie-beats"
LATE = "SYNC-PHASE-EXPIRED/nobody-syncs-in-the-first-generation"


def of(*cases: str) -> CompareStage:
    return stage_of("catalogue", [entry(case) for case in cases])


def compared(
    one: Target | str, other: Target | str, *stages: CompareStage, **options: Any
) -> TargetComparison:
    sides = [find_target(t, TargetOptions()) if isinstance(t, str) else t for t in (one, other)]
    return run_at_once(compare(sides[0], sides[1], CompareOptions(KAFKA_4, stages, **options)))


class Lying(InProcessTarget):
    """The model, with answers changed in the scopes that `when` says, by number."""

    def __init__(self, lie: Lie, when: Callable[[int], bool] = lambda _: True) -> None:
        super().__init__("lying", KAFKA_4, "0")
        self._lie = lie
        self._when = when
        self._scopes = 0

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        del isolated, restarts
        self._scopes += label != "hello"
        honest = not self._when(self._scopes)
        coordinator = Liar("kafka-4", (lambda _, answer: answer) if honest else self._lie)
        yield InProcessCoordinator(coordinator)


REFUSED = about("Heartbeat", None, lambda body: {**body, "errorCode": 25})


def test_the_difference_of_two_releases_and_who_is_right() -> None:
    found = compared("model:kafka-2.6", "model", of(FOLLOWER, LATE))
    assert found.exit_code() == 1
    (told,) = found.differences
    assert (told.failed, told.runs, told.is_minimal) == (3, 3, True)
    assert told.result.taken is Taken.RIGHT
    assert told.result.fingerprint.api == "Heartbeat"
    said = "\n".join(text(found))
    assert "The model (kafka-4) agrees with model. model:kafka-2.6: A1's Heartbeat" in said
    assert "(rule HEARTBEAT-INSTANCE-UNMAPPED, MUST)" in said
    assert said.count("← they differ") == 1
    asks = [step for step in told.result.both.case.steps if isinstance(step, Request)]
    assert [ask.api for ask in asks] == ["JoinGroup", "Heartbeat"]


def test_a_side_that_stops_is_a_difference() -> None:
    case = "HEARTBEAT-UNKNOWN-MEMBER/empty-group-has-no-members"
    found = compared(stopping_target(), "model", of(case))
    assert found.exit_code() == 1
    assert STOPPED in "\n".join(text(found))


def test_the_side_is_told_whichever_comes_first() -> None:
    case = "JOIN-STATIC-EMPTY-COMPLETING/leader-restarts-before-it-assigns"
    found = compared("model", "mutant:kafka-9801", of(case))
    (told,) = found.differences
    assert told.result.taken is Taken.LEFT
    assert "agrees with model. mutant:kafka-9801" in "\n".join(text(found))


@pytest.mark.parametrize("name", ["model", "mutant:kafka-8500"])
def test_equal_targets_do_not_differ(name: str) -> None:
    found = compared(name, name, of(FOLLOWER, ZOMBIE, LATE))
    assert found.exit_code() == 0
    assert found.tally.same == 3
    assert found.tally.choices == 0


def test_two_that_are_wrong_alike_differ_only_where_they_do() -> None:
    wrong = about("SyncGroup", None, lambda body: {**body, "errorCode": 99})

    def both(request: Send, answer: Answer) -> Answer | None:
        return REFUSED(request, wrong(request, answer) or answer)

    found = compared(Lying(wrong), Lying(both), of(ZOMBIE))
    (told,) = found.differences
    assert told.result.taken is Taken.NEITHER
    assert told.result.fingerprint.api == "Heartbeat"


class Otherwise(ModelCoordinator):
    """The model, that chooses the last of what it may where others choose the first."""

    def reset(self, config: Config, topics: Topics | None = None) -> Reset:
        done = super().reset(config, topics)
        self._running = RunningModel(self._running.machine, choose=lambda outcomes: outcomes[-1])
        return done


class Choosing(InProcessTarget):
    """A target of those."""

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        del label, isolated, restarts
        yield InProcessCoordinator(Otherwise(KAFKA_4))


def test_another_leader_is_no_difference() -> None:
    cases = Registry()

    @cases.case("LEAVE-MEMBER")
    def new_leader(s: Script) -> None:
        """The leader leaves; who leads then is the coordinator's choice."""
        s.stable("A1", "B1", "C1")
        s.leave("A1")
        s.join("B1")
        s.join("C1")
        s.wait("B1", "C1")

    found = compared("model", Choosing("choosing", KAFKA_4, "0"), stage_of("mine", cases.entries))
    assert (found.tally.choices, found.tally.same, found.exit_code()) == (1, 0, 0)


def test_what_does_not_come_again_is_no_difference() -> None:
    found = compared("model", Lying(REFUSED, lambda scope: scope == 1), of(ZOMBIE))
    assert found.differences == ()
    (once,) = found.unsteady
    assert (once.failed, once.runs) == (0, 3)
    assert found.exit_code() == 2


def test_what_one_lacks_is_counted() -> None:
    cases = (FOLLOWER, "LEAVE-MEMBER-INSTANCE-FENCED/wrong-id-evicts-nobody")
    found = compared("model:kafka-2.3", "model", of(*cases))
    assert found.tally.lacking == {"LeaveGroup v3": 1}
    assert found.tally.same == 1
    assert found.exit_code() == 0


def test_made_up_plans_find_what_is_broken() -> None:
    found = compared("model", "mutant:librdkafka-mock-never-fences", plans_stage(0), requests=2000)
    assert found.exit_code() == 1
    assert {told.result.taken for told in found.differences} == {Taken.LEFT}
    lengths = [len(told.result.both.case.steps) for told in found.differences]
    assert lengths == sorted(lengths)
    assert lengths[0] <= 6


@pytest.mark.parametrize(
    ("mutant", "stage", "requests"),
    [
        (
            "cg-return-bumps",
            of("CG-JOIN-RETURN/restart", "CG-JOIN-RETURN/restart-of-a-lone-member"),
            3,
        ),
        ("cg-static-join-no-epoch", plans_stage(1), 2),
    ],
    ids=["catalogue", "made up"],
)
def test_targets_of_the_consumer_protocol_are_compared(
    mutant: str, stage: CompareStage, requests: int
) -> None:
    judge = judge_for_both(None, f"mutant:{mutant}", "model:consumer-4.4")

    def found_in(one: str) -> TargetComparison:
        sides = [find_target(name, TargetOptions()) for name in (one, "model:consumer-4.4")]
        options = CompareOptions(judge, [stage], requests=200)
        return run_at_once(compare(sides[0], sides[1], options))

    assert judge.name == "consumer-4.4"
    found = found_in(f"mutant:{mutant}")
    assert found.exit_code() == 1
    told = next(told for told in found.differences if told.result.taken is Taken.RIGHT)
    assert told.result.fingerprint.field in {"memberEpoch", "assignment.topicPartitions"}
    assert len(asks_of(told.smallest.steps)) <= requests
    equal = found_in("model:consumer-4.4")
    assert equal.exit_code() == 0
    assert equal.tally.requests > 8


def test_where_nothing_was_compared_it_is_unknown_whether_two_differ() -> None:
    found = compared(
        "model:kafka-2.3", "model", of("LEAVE-MEMBER-INSTANCE-FENCED/wrong-id-evicts-nobody")
    )
    assert found.tally.requests == 0
    assert found.exit_code() == 2
    said = list(text(found))
    assert said[0] == "Whether model:kafka-2.3 and model differ is unknown."
    assert "No plan could be run on both, and compared." in said


@pytest.mark.slow
def test_the_same_seed_the_same_bytes() -> None:
    def said() -> str:
        found = compared("model", "mutant:tansu-same-id", plans_stage(3), requests=600)
        return json.dumps(compare_json(found))

    once, again = said(), said()
    assert once == again


def test_a_real_clock_against_the_model() -> None:
    found = compared(RealClockTarget(), "model", of(FOLLOWER, ZOMBIE))
    assert (found.exit_code(), found.tally.same) == (0, 2)
    cases = Registry()

    @cases.case("HEARTBEAT-STABLE")
    def beats(s: Script) -> None:
        """A member, alone."""
        s.stable("A1")
        s.beat("A1")

    mine = stage_of("mine", cases.entries)
    (told,) = compared(RealClockTarget(lie=REFUSED), "model", mine).differences
    assert told.result.taken is Taken.RIGHT
    assert told.result.fingerprint.api == "Heartbeat"
    assert told.is_minimal


@pytest.mark.slow
def test_the_command_writes_what_replays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> int:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        assert isinstance(ended.value.code, int)
        return ended.value.code

    report = tmp_path / "report"
    asked = ("compare", "mutant:kafka-8500", "model", "--case", "JOIN-STATIC-EMPTY-PREPARING/*")
    assert run(*asked, "--report", str(report), "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads((report / "compare.json").read_text(encoding="utf-8"))
    assert document["differences"][0]["taken"] == "other"
    for side, target in (("one", "mutant:kafka-8500"), ("other", "model")):
        assert run("replay", str(report / "traces" / f"01-{side}.json"), target) == 0
    assert run("compare", "model", "model", "--case", ZOMBIE) == 0
    assert run("compare", "model", "nothing") == 64
    assert run("compare", "model", "model", "--case", "NO-SUCH/*") == 64
    assert "no case matches" in capsys.readouterr().err


class Released(Lying):
    """What calls itself a Kafka, so that it is held to that release and its list, too."""

    aliases = frozenset({"kafka+old"})

    def __init__(self, version: str, revision: str, lie: Lie = lambda _, answer: answer) -> None:
        super().__init__(lie)
        self.name = f"kafka:{version}"
        self._release, self._follows = version, revision

    def provenance(self) -> Provenance:
        return Provenance(self.name, "a pretender", self._release)

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        del label, isolated, restarts
        yield InProcessCoordinator(Liar(self._follows, self._lie))


NOBODYS = "HEARTBEAT-INSTANCE-UNMAPPED/known-member-with-an-unmapped-instance"
SERVED = about("Heartbeat", None, lambda body: {**body, "errorCode": 0})


def origin_of(one: Target, other: Target, *cases: str) -> tuple[str, Origin]:
    found = compared(one, other, of(*cases))
    (told,) = found.differences
    (origin,) = (origin for origin in told.origins if origin is not None)
    assert compare_json(found)["differences"][0]["origins"] != [None, None]
    return "\n".join(text(found)), origin


def test_a_change_that_a_release_made_is_known() -> None:
    said, origin = origin_of(Released("2.7.0", "kafka-2.7.0"), Released("2.8.1", "kafka-4"), LATE)
    assert (origin.known, origin.since, origin.profile) == (Known.RELEASE, "2.8.1", "kafka-2.7.0")
    assert "KAFKA-12890" in origin.about
    assert "a commit of version 9" not in origin.about  # that came later, and has no part in it
    assert "A known change: since 2.8.1 a member that never syncs" in said


def test_a_failure_that_is_listed_is_known() -> None:
    served = Released("2.8.2", "kafka-2.8.2", SERVED)
    said, origin = origin_of(served, Released("3.0.0", "kafka-3.0.0"), NOBODYS)
    assert origin.known is Known.LISTED
    assert "A known failure of kafka:2.8.2" in said
    assert "pull/9958" in said


def test_what_nobody_knows_is_new() -> None:
    refused = Released("3.0.0", "kafka-3.0.0", REFUSED)
    said, origin = origin_of(refused, Released("3.0.1", "kafka-3.0.1"), ZOMBIE)
    assert origin.known is Known.NEW
    assert "This is new" in said


def test_of_two_old_kafkas_the_newer_profile_judges() -> None:
    assert revision_for_both("kafka:2.4.1", "kafka:2.10.0") == "kafka-2.10.0"
    assert revision_for_both("kafka:3.9.1", "kafka:3.1.2") == "kafka-3.9.1"
    assert revision_for_both("model:streams-4.4", "model:streams-4.2") == "streams-4.4"
    for other in ("kafka:4.0.0", "kafka:3.9.1+new", "model", "tcp://localhost:9092"):
        assert revision_for_both("kafka:3.1.2", other) == "kafka-4"


def test_enough_kinds_end_the_search() -> None:
    beats = about("Heartbeat", None, lambda body: {**body, "errorCode": 99})
    syncs = about("SyncGroup", None, lambda body: {**body, "errorCode": 98})

    def both(request: Send, answer: Answer) -> Answer | None:
        return beats(request, syncs(request, answer) or answer)

    cases = of(FOLLOWER, ZOMBIE, LATE)
    everything = compared("model", Lying(both), cases, kinds=100)
    assert everything.tally.ended == ""
    assert (len(everything.differences), everything.more) > (1, 0)
    one = compared("model", Lying(both), cases, kinds=1)
    assert one.tally.ended == "1 kind of difference is enough (--kinds)"
    assert len(one.differences) == 1
    assert "The search ended early: 1 kind " in "\n".join(text(one))


def test_on_a_real_clock_what_was_found_ends_the_search() -> None:
    """What takes longer is given up as soon as the short case is known to differ."""
    cases = of("HEARTBEAT-STABLE/in-a-stable-group", "SESSION-EXPIRED/silent-at-once")
    found = compared(RealClockTarget(lie=REFUSED), "model", cases, lingers_s=0.0)
    assert found.tally.ended.startswith("0 s were over since the first difference")
    assert found.tally.stages == {"catalogue": 1}
    assert found.exit_code() == 1


def test_requests_bound_the_catalogue_too() -> None:
    found = compared("model", "model", of(FOLLOWER, ZOMBIE, LATE), requests=8)
    assert found.tally.ended == "8 requests were sent to each (--requests)"
    assert found.tally.stages["catalogue"] < 3
