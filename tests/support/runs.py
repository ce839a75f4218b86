"""Cases run in this process: against revisions of the model, and against one that lies."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

import fencepost.conformance.cases
from fencepost.conformance.cases.case_registry import Entry, Registry
from fencepost.conformance.cases.script import Entering, Script, SetUp
from fencepost.conformance.run.runner import CaseRun
from fencepost.conformance.targets.in_process import (
    InProcessCoordinator,
    InProcessTarget,
    ModelCoordinator,
)
from fencepost.model.classic.effects import Do
from fencepost.model.coordinator import (
    Answer,
    Body,
    Config,
    Coordinator,
    Dropped,
    Hello,
    Provenance,
    Reset,
    Send,
    Topics,
)
from fencepost.model.plans.steps import Needs, OperatorStep, Plan
from fencepost.model.revision import SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.model.table.table import Level
from fencepost.properties.judging.answer_diff import Recording, signature
from fencepost.properties.judging.explain import explain
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.judging.report import Certificate, CertificateCoverage
from fencepost.properties.oracle.oracle import judge
from fencepost.properties.oracle.verdict import Verdict

KAFKA_4 = revisions.find("kafka-4")
LEVELS = {rule.id: rule.level for _, rule in KAFKA_4.rules()}
STOPPED = 'HEARTBEAT-UNKNOWN-MEMBER: the step "map the instance to the caller, which becomes'
"""The rule and the step at which `stopping_target` stops."""


def stopping_target() -> InProcessTarget:
    """Return a model that stops at a heartbeat of an unknown member."""
    rule = KAFKA_4.rule("HEARTBEAT-UNKNOWN-MEMBER").but(effect=(Do.MAP_CALLER,))
    change = SetRule("Heartbeat", rule, "a fault")
    return InProcessTarget("model:stops", derive(KAFKA_4, "stops", "a fault", (change,)), "0")


Lie = Callable[[Send, Answer], Answer | None]
"""What is said instead of an answer; None: nothing."""


def entries() -> Iterator[Entry]:
    """All cases of the catalogue."""
    for module in pkgutil.iter_modules(fencepost.conformance.cases.__path__):
        name = f"fencepost.conformance.cases.{module.name}"
        registry = getattr(importlib.import_module(name), "CASES", None)
        yield from registry.entries if registry is not None else ()


def without_delay(case_id: str) -> Plan:
    """A case of the catalogue as it is written for a coordinator without an initial delay."""
    (found,) = (entry for entry in entries() if entry.id == case_id)
    case = found.case(LEVELS, delayed=False, way=SetUp(Entering.ID_FIRST))
    return structs.replace(case, needs=Needs(config={"group.initial.rebalance.delay.ms": 0}))


STORIES = Registry()


def entry(case_id: str) -> Entry:
    """A story: a case whose steps these tests know."""
    (found,) = [e for e in STORIES.entries if e.id == case_id]
    return found


def two_in_generation_2(s: Script) -> None:
    """Steps 1 to 8."""
    s.join("A1", wait=True)
    s.sync("A1", assign=("A1",), wait=True)
    s.join("B1", settle=True)
    s.join("A1", wait=("B1", "A1"))
    s.sync("A1", assign=("A1", "B1"), wait=True)
    s.sync("B1", wait=True)


@STORIES.case("JOIN-STATIC-EMPTY-STABLE", "SYNC-STABLE")
def follower(s: Script) -> None:
    """A follower restarts."""
    two_in_generation_2(s)
    s.join("B2", wait=True)
    s.sync("B2", wait=True)
    s.beat("A1", "B2")


@STORIES.case("JOIN-STATIC-EMPTY-PREPARING")
def preparing(s: Script) -> None:
    """A follower restarts while a rebalance is prepared."""
    two_in_generation_2(s)
    s.join("n", member_id="", wait=True)
    s.join("n", settle=True)
    s.join("B1", settle=True)
    s.join("B2")
    s.wait("B1")
    s.join("A1", wait=("A1", "B2", "n"))


@STORIES.case("HEARTBEAT-INSTANCE-FENCED")
def zombie(s: Script) -> None:
    """The replaced process goes on to heartbeat."""
    two_in_generation_2(s)
    s.join("B2", wait=True)
    s.beat("B1")


@STORIES.case("COMMIT-INSTANCE-FENCED")
def commits(s: Script) -> None:
    """The replaced process commits."""
    two_in_generation_2(s)
    s.commit("B1", offset=5)
    s.join("B2", wait=True)
    s.commit("B1", offset=3)
    s.fetch("B2")


class Liar(Coordinator):
    """The model, with answers changed on their way."""

    def __init__(self, revision: str, lie: Lie) -> None:
        self._inner = ModelCoordinator(find_revision(revision))
        self._lie = lie
        self._sent: dict[str, Send] = {}

    def _told(self, answers: Any) -> list[Answer]:
        said = [self._lie(self._sent[a.id], a) for a in answers]
        return [answer for answer in said if answer is not None]

    def hello(self) -> Hello:
        return self._inner.hello()

    def reset(self, config: Config, topics: Topics | None = None) -> Reset:
        return self._inner.reset(config, topics)

    def send(self, request: Send) -> list[Answer]:
        self._sent[request.id] = request
        return self._told(self._inner.send(request))

    def advance(self, ms: int) -> list[Answer]:
        return self._told(self._inner.advance(ms))

    def disconnect(self, connection: str) -> Dropped:
        return self._inner.disconnect(connection)

    def restart(self) -> Dropped:
        return self._inner.restart()

    def move(self) -> Dropped:
        return self._inner.move()

    def operate(self, step: OperatorStep) -> Sequence[Answer]:
        return self._inner.operate(step)

    def close(self) -> None:
        self._inner.close()


def honest(_: Send, answer: Answer) -> Answer:
    return answer


def about(api: str, instance: str | None, change: Callable[[dict[str, Any]], Body | None]) -> Lie:
    """A lie in each answer to an API, to one instance: another body; None closes."""

    def lie(request: Send, answer: Answer) -> Answer:
        mine = instance is None or request.body.get("groupInstanceId") == instance
        if request.api != api or not mine or answer.body is None:
            return answer
        return structs.replace(answer, body=change(dict(answer.body)))

    return lie


def run(
    case: Plan | Entry, revision: str = "kafka-4", lie: Lie = honest, *, delay: int = 0
) -> tuple[Recording, Verdict]:
    """A case against a revision, judged by kafka-4."""
    if isinstance(case, Entry):
        case = case.case(LEVELS, delayed=delay > 0)

    async def played() -> Recording:
        coordinator = InProcessCoordinator(Liar(revision, lie))
        settings: dict[str, int | None] = dict(case.needs.config)
        settings.setdefault("group.initial.rebalance.delay.ms", delay)
        config = (await coordinator.reset(settings)).config
        return await CaseRun(case, coordinator, await coordinator.hello(), config, KAFKA_4, 0).run()

    recording = asyncio.run(played())
    judged = judge(KAFKA_4, recording.config, recording.history, lag_ms=0)
    return recording, judged.verdict()


def result_of(case_id: str, revision: str = "kafka-4", lie: Lie = honest) -> CaseResult:
    """The result of a case, as `certify` makes it."""
    recording, verdict = run(entry(case_id), revision, lie)
    failed = verdict.violation is not None
    return CaseResult(
        recording.case,
        Outcome.FAIL if failed else Outcome.PASS,
        recording.case.level,
        explain(verdict, recording, KAFKA_4).sentence if failed else "",
        signature(verdict, recording),
        verdict=verdict,
        recording=recording,
        seconds=1.25,
    )


def certificate(*results: CaseResult, **changes: Any) -> Certificate:
    """A certificate of these results."""
    apis: Mapping[str, tuple[int, int]] = {"JoinGroup": (0, 9), "SyncGroup": (0, 5)}
    made = Certificate(
        provenance=Provenance("model:comment-table-1", "fencepost-model:comment-table-1", "0.1.0"),
        revision="kafka-4",
        clock="virtual",
        config={"group.initial.rebalance.delay.ms": 0},
        settings_source={"group.initial.rebalance.delay.ms": "set"},
        advertised={**apis, "JoinGroup": (0, 11)},
        working={**apis, "JoinGroup": (0, 9)},
        results=results,
        coverage=CertificateCoverage(
            ("JOIN-STATIC-EMPTY-NEW",), ("SYNC-STABLE",), {"JOIN-GROUP-DEAD": "never"}
        ),
        seed=7,
        level=Level.SHOULD,
        versions={"fencepost": "0.1.0", "python": "3.12"},
        seconds=12.5,
    )
    return replace(made, **changes)
