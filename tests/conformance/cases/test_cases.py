"""The catalogue: its cases hold for the model, reach every rule, and bite where a rule is wrong."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

import pytest

from fencepost.conformance.cases import ENTRIES, collect, entry, matching
from fencepost.conformance.cases.case_registry import Entry, Registry
from fencepost.conformance.run.runner import CaseRun, CaseUnsupportedError
from fencepost.conformance.targets import model_coordinator
from fencepost.conformance.targets.in_process import InProcessCoordinator, ModelCoordinator
from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import Group
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.coordinator import Config, Coordinator, Reset, Topics
from fencepost.model.machine import Machine
from fencepost.model.messages.errors import Error
from fencepost.model.revision import Revision, SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.model.table.table import Echo, Rule, Table
from fencepost.model.work import CLEANUP, Timer
from fencepost.properties.oracle.verdict import Verdict

KAFKA_4 = revisions.find("kafka-4")
LEVELS = {rule.id: rule.level for _, rule in KAFKA_4.rules()}
AVAILABILITY = ("-COORDINATOR-LOADING", "-COORDINATOR-ELSEWHERE")
REACHABLE = {
    rule.id: (table, rule)
    for table, rule in KAFKA_4.rules()
    if rule.defensive is None and not rule.id.endswith(AVAILABILITY)
}
DELAYS = (0, 3000)
RUNS = [
    (case, delay)
    for case in ENTRIES
    for delay in DELAYS
    if case.delayed is None or case.delayed is (delay > 0)
]


@dataclass(frozen=True)
class Call:
    """A call of the coordinator, and what it returned."""

    method: str
    arguments: tuple[Any, ...]
    returned: Any


class Recorder:
    """A coordinator that keeps the calls of it."""

    def __init__(self, inner: ModelCoordinator) -> None:
        self._inner = inner
        self.calls: list[Call] = []

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            returned = getattr(self._inner, method)(*arguments)
            self.calls.append(Call(method, arguments, returned))
            return returned

        return call


@dataclass(frozen=True)
class Ran:
    """What came of a case: why it did not pass (None: it did), and what the oracle said."""

    why: str | None
    verdict: Verdict | None
    calls: list[Call] = field(default_factory=list)


async def _play(case: Entry, target: Revision, delay: int) -> Ran:
    written = case.case(LEVELS, delayed=delay > 0)
    recorder = Recorder(ModelCoordinator(target))
    coordinator = InProcessCoordinator(cast("Coordinator", recorder))
    settings = {"group.initial.rebalance.delay.ms": delay, **case.needs.config}
    config = (await coordinator.reset(settings)).config
    run = CaseRun(written, coordinator, await coordinator.hello(), config, KAFKA_4, 0)
    try:
        recording = await run.run()
    except CaseUnsupportedError as error:
        return Ran(f"unsupported: {error}", None)
    verdict = run._oracle.verdict()
    if verdict.violation is not None:
        return Ran(verdict.violation.detail, verdict)
    missing = sorted(set(case.rules) - verdict.used)
    if missing:
        return Ran(f"the history can also be explained without {', '.join(missing)}", verdict)
    return Ran(verdict.unknown or recording.stopped, verdict, recorder.calls)


def play(case: Entry, target: Revision, delay: int) -> Ran:
    """Run a case against a revision, judged by kafka-4."""
    return asyncio.run(_play(case, target, delay))


@cache
def played(case_id: str, delay: int) -> Ran:
    """The same against kafka-4 itself."""
    return play(entry(case_id), KAFKA_4, delay)


@pytest.mark.parametrize(
    ("case", "delay"), RUNS, ids=[f"{case.id}-delay-{delay}" for case, delay in RUNS]
)
def test_a_case_holds_for_the_model(case: Entry, delay: int) -> None:
    assert played(case.id, delay).why is None


def test_an_id_that_is_there_twice_is_refused() -> None:
    with pytest.raises(ValueError, match=ENTRIES[0].id):
        collect((_registry(ENTRIES[0]), _registry(ENTRIES[0])))


def _registry(case: Entry) -> Registry:
    registry = Registry()
    registry.entries.append(case)
    return registry


def test_cases_are_found_by_id_and_by_glob() -> None:
    assert entry(ENTRIES[3].id) is ENTRIES[3]
    assert {case.rules[0] for case in matching("FAILOVER-LOST/*")} == {"FAILOVER-LOST"}
    with pytest.raises(KeyError, match="NO-SUCH/case"):
        entry("NO-SUCH/case")


@pytest.mark.parametrize("rule_id", sorted(REACHABLE))
def test_every_reachable_rule_is_covered(rule_id: str) -> None:
    assert any(rule_id in case.rules and played(case.id, d).why is None for case, d in RUNS)


@pytest.mark.parametrize("draft", ["comment-table-1", "comment-table-2"])
def test_a_draft_is_told_from_the_standard(draft: str) -> None:
    assert any(_caught(case, revisions.find(draft), delay) for case, delay in RUNS)


# Teeth: a rule that is wrong in one thing must be noticed by some case that uses it.


@dataclass(frozen=True)
class Mutant:
    """A rule with one thing wrong."""

    name: str
    table: Table
    rule: Rule

    def revision(self) -> Revision:
        change = SetRule(self.table.name, self.rule, self.name)
        return derive(KAFKA_4, self.name, "one rule is wrong", (change,))


def _other(error: Error) -> tuple[Error, ...]:
    if error is Error.NONE:
        return (Error.UNKNOWN_MEMBER_ID,)
    wrong = Error.UNKNOWN_MEMBER_ID
    return (Error.NONE, Error.ILLEGAL_GENERATION if error is wrong else wrong)


_INSTEAD = {
    Do.ADD_STATIC: Do.ADD_DYNAMIC,
    Do.ADMIT_PENDING: Do.ADD_DYNAMIC,
    Do.REPLACE_HOLDER: Do.ADD_STATIC,
}
"""Without these the effects behind them have no member to work on; so something else is done."""


def mutants() -> Iterator[Mutant]:
    """Every reachable rule with another answer, and without each of its effects."""
    for table, rule in REACHABLE.values():
        for error in _other(rule.answer) if rule.answer is not None else ():
            yield Mutant(f"{rule.id} answers {error.name}", table, rule.but(answer=error))
        for do in rule.effect:
            assert isinstance(do, Do)
            if do is Do.ADD_DYNAMIC:
                asks = {"effect": (Do.HAND_OUT_PENDING,), "answer": Error.MEMBER_ID_REQUIRED}
                yield Mutant(f"{rule.id} asks for an id", table, rule.but(**asks, echo=Echo.NEW))
                continue
            instead = _INSTEAD.get(do)
            changed = [instead if other is do else other for other in rule.effect]
            effect = tuple(other for other in changed if other is not None)
            name = f"without {do.name}" if instead is None else f"does {instead.name}"
            yield Mutant(f"{rule.id} {name}", table, rule.but(effect=effect))


def _answers_alike(calls: list[Call], target: Revision) -> bool:
    """True if a revision answers each recorded call as recorded, and so has the same run."""
    coordinator = ModelCoordinator(target)
    return all(
        getattr(coordinator, call.method)(*call.arguments) == call.returned
        for call in calls
        if call.method != "hello"  # which has the name of the revision
    )


def _caught(case: Entry, target: Revision, delay: int) -> bool:
    try:
        if _answers_alike(played(case.id, delay).calls, target):
            return False
        ran = play(case, target, delay)
    except (AssertionError, AttributeError, KeyError, ValueError):
        return False  # the mutant is no coordinator any more; that proves nothing
    return ran.verdict is not None and ran.verdict.violation is not None


_MISSING = "partitions of a missing topic are answered apart from all rules about the group"
_WORD = "says in words what the answer is; the answer follows from the state alone"
_LATER = "the rule is a MAY: it may come later, or never"
UNSEEN = {
    "JOIN-PENDING-INSTANCE answers UNKNOWN_MEMBER_ID": "the rule is a MAY: any error will do",
    "JOIN-MEMBER-PREPARING without REBALANCE": "one is being prepared already",
    "SYNC-STABLE without MAYBE_RESTART_SESSION": "both are allowed",
    "COMMIT-OUTSIDE-TOO-LARGE without CREATE_GROUP": "both are allowed",
    "TXN-COMMIT-OUTSIDE-TOO-LARGE without CREATE_GROUP": "both are allowed",
    "CLEANUP-UNUSED without FORGET": _LATER,
    "RETENTION-EMPTY without REMOVE_EXPIRED_OFFSETS": _LATER,
    "RETENTION-UNSUBSCRIBED without REMOVE_EXPIRED_OFFSETS": _LATER,
    "LEAVE-ROWS answers UNKNOWN_MEMBER_ID": "the rows answer, each for itself",
    "COMMIT-TOPICS-UNKNOWN answers NONE": _MISSING,
    "COMMIT-TOPICS-UNKNOWN answers UNKNOWN_MEMBER_ID": _MISSING,
    "TXN-COMMIT-TOPICS-UNKNOWN answers NONE": _MISSING,
    "TXN-COMMIT-TOPICS-UNKNOWN answers UNKNOWN_MEMBER_ID": _MISSING,
    "FETCH-ANYBODY without ANSWER_OFFSETS": _WORD,
    "DESCRIBE-ABSENT-LEGACY without ANSWER_DESCRIPTION": _WORD,
    "DESCRIBE-ABSENT without ANSWER_DESCRIPTION": _WORD,
    "LIST-NO-GROUP without ANSWER_UNLISTED": _WORD,
    "JOIN-PHASE-DELAY-OVER without REMOVE_ABSENT_DYNAMIC": (
        "during the initial delay there are new members only, and their joins all wait"
    ),
}
"""Mutants that behave as the rule does, as far as anybody can see, and why."""


@pytest.mark.parametrize("mutant", list(mutants()), ids=lambda mutant: mutant.name)
def test_a_wrong_rule_is_noticed(mutant: Mutant) -> None:
    revision = mutant.revision()
    using = [
        (case, delay)
        for case, delay in RUNS
        if (verdict := played(case.id, delay).verdict) and mutant.rule.id in verdict.used
    ]
    using.sort(key=lambda run: mutant.rule.id not in run[0].rules)
    assert using
    noticed = any(_caught(case, revision, delay) for case, delay in using)
    assert noticed is (mutant.name not in UNSEEN), UNSEEN.get(mutant.name)


def test_what_is_not_noticed_is_a_mutant() -> None:
    assert set(UNSEEN) <= {mutant.name for mutant in mutants()}


@pytest.mark.parametrize(
    "forgets",
    [
        lambda group: group.state is GroupState.EMPTY,
        lambda group: group.state is GroupState.STABLE,
    ],
    ids=["groups with offsets", "groups with members"],
)
def test_who_forgets_a_group_in_use_is_caught(
    monkeypatch: pytest.MonkeyPatch, forgets: Callable[[Group], bool]
) -> None:
    class Forgetful(Machine):
        def cleaned(self, group: Group) -> tuple[Timer, ...]:
            return (Timer(CLEANUP, "", 0, 0),) if forgets(group) else ()

    monkeypatch.setattr(model_coordinator, "Machine", Forgetful)
    for delay in DELAYS:
        ran = play(entry("DESCRIBE-UNSTABLE/groups-in-use-are-kept"), KAFKA_4, delay)
        assert ran.verdict is not None
        assert ran.verdict.violation is not None


def test_who_never_cleans_must_keep_unused_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    class Cleans(Machine):
        def __init__(self, *arguments: Any, **others: Any) -> None:
            super().__init__(*arguments, **others)
            self.config["offsets.retention.check.interval.ms"] = 1

    class Silent(ModelCoordinator):
        def reset(self, config: Config, topics: Topics | None = None) -> Reset:
            told = super().reset(config, topics)
            return Reset({**told.config, "offsets.retention.check.interval.ms": None})

    monkeypatch.setattr(model_coordinator, "Machine", Cleans)
    monkeypatch.setattr(sys.modules[__name__], "ModelCoordinator", Silent)
    ran = play(entry("CLEANUP-UNUSED/unused-group-is-removed"), KAFKA_4, 0)
    assert ran.verdict is not None
    assert ran.verdict.violation is not None
