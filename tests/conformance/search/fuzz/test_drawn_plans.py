"""The plans that are drawn: the same for the same seed, well-formed, and odd in every way."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import cast

import pytest
from support.message_samples import NEWER

from fencepost.conformance.cases.script import RANGE, ROUNDROBIN, Script
from fencepost.conformance.run.certify import Options, open_target
from fencepost.conformance.search.fuzz import drawn_plans
from fencepost.conformance.search.fuzz.drawn_plans import PlanContext, Planner
from fencepost.conformance.search.fuzz.fuzz_engine import plan_context_of
from fencepost.conformance.search.fuzz.generator import (
    BOUNDARY_VALUES,
    CLEANER,
    FAILING_OVER,
    LIMITED,
    REAL_SETTINGS,
    SETTINGS,
    is_risky,
)
from fencepost.conformance.targets.in_process import InProcessTarget, ModelCoordinator
from fencepost.conformance.targets.target import Hints, ScopeNeeds
from fencepost.model.coordinator import (
    CONFIG_DEFAULTS,
    MOVES,
    AsyncCoordinator,
    Config,
    Hello,
    Reset,
    UnsupportedError,
)
from fencepost.model.history.events import Sent
from fencepost.model.machine import Machine
from fencepost.model.plans.plan_order import DELAY
from fencepost.model.plans.spelling import plan_json, read_plan
from fencepost.model.plans.steps import (
    Await,
    DeleteTopics,
    Disconnect,
    Failover,
    MoveCoordinator,
    Plan,
    PlanStep,
    Request,
)
from fencepost.model.plans.times import blurred
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.departures.known_departures import (
    KFAKE,
    NEW,
    OLD,
    Departure,
    departed,
    families,
)
from fencepost.properties.judging.outcome import Outcome

HELLO = ModelCoordinator(KAFKA_4).hello()
REAL = replace(HELLO, clock="real", features=HELLO.features - {"restart"})


def planner(seed: int = 1, hello: Hello = HELLO) -> Planner:
    lag_ms = 0 if hello.clock == "virtual" else 300
    configs = [(s, Machine(KAFKA_4, s).config) for s in SETTINGS]
    return Planner(PlanContext(KAFKA_4, hello, Hints(), lag_ms, configs), seed)


@pytest.mark.slow
def test_only_a_target_that_lacks_topics_is_asked_for_one() -> None:
    def topics(hello: Hello) -> set[str]:
        made = planner(hello=hello)
        asked = [step for _ in range(400) for step in made.next().case.steps]
        commits = [s for s in asked if isinstance(s, Request) and s.api == "OffsetCommit"]
        return {topic.name for step in commits for topic in step.fields["topics"]}

    def without(feature: str) -> Hello:
        return replace(HELLO, features=HELLO.features - {feature})

    assert topics(HELLO) == {"t", "own", "missing"}
    assert topics(without("missing-topics")) == {"t", "own", "u"}
    assert topics(without("delete-topics")) == {"t", "missing"}


def test_the_same_seed_draws_the_same_plans() -> None:
    def ids(seed: int) -> list[str]:
        made = planner(seed)
        return [made.next().case.id for _ in range(25)]

    assert ids(1) == ids(1)
    assert ids(1) != ids(2)


@pytest.mark.parametrize("hello", [HELLO, REAL], ids=["virtual", "real"])
def test_plans_are_well_formed_and_survive_json(hello: Hello) -> None:
    made = planner(3, hello)
    for _ in range(30):
        plan = made.next()
        asked: set[str] = set()
        busy: set[str] = set()
        connections: dict[str, str] = {}
        for step in plan.case.steps:
            if isinstance(step, Request):
                connection = step.connection or step.who
                assert connection not in busy, plan.case.id
                asked.add(step.label)
                busy.add(connection)
                connections[step.label] = connection
            elif isinstance(step, Await):
                assert set(step.labels) <= asked
                busy -= {connections[label] for label in step.labels}
            elif isinstance(step, Disconnect):
                busy.discard(step.who)
            elif isinstance(step, Failover):
                busy.clear()
        assert len(asked) == plan.requests == len(plan.words)
        assert read_plan(plan_json(plan.case)) == plan.case


@pytest.mark.slow
def test_every_boundary_value_is_drawn() -> None:
    made = planner(1)
    words: Counter[str] = Counter()
    for _ in range(700):
        words.update(made.next().words)
    for boundary in BOUNDARY_VALUES:
        assert any(word.endswith(f" {boundary.id}") for word in words), boundary.id
    assert {word.split()[0] for word in words} == {
        "JoinGroup",
        "SyncGroup",
        "Heartbeat",
        "LeaveGroup",
        "OffsetCommit",
        "OffsetFetch",
        "DescribeGroups",
        "ListGroups",
        "DeleteGroups",
        "TxnOffsetCommit",
        "OffsetDelete",
    }


def test_every_version_and_all_kinds_of_fault_are_drawn() -> None:
    made = planner(2)
    steps = [step for _ in range(250) for step in made.next().case.steps]
    asks = [step for step in steps if isinstance(step, Request)]
    for api, (low, high) in HELLO.apis.items():
        if api in {ask.api for ask in asks}:
            assert {ask.version for ask in asks if ask.api == api} == set(range(low, high + 1))
    assert any(isinstance(step, Failover) for step in steps)
    assert any(isinstance(step, Disconnect) for step in steps)
    assert any(ask.connection for ask in asks)
    assert {ask.fields.get("group_id") for ask in asks} >= {"g", "h", ""}


@pytest.mark.parametrize("newer", sorted(NEWER))
def test_an_api_is_drawn_where_the_target_has_it(newer: str) -> None:
    def drawn(hello: Hello) -> int:
        made = planner(2, hello)
        steps = [step for _ in range(60) for step in made.next().case.steps]
        return sum(isinstance(step, Request) and step.api == newer for step in steps)

    assert drawn(HELLO) > 10
    older = {api: bounds for api, bounds in HELLO.apis.items() if api != newer}
    assert drawn(replace(HELLO, apis=older)) == 0


def test_on_a_shared_broker_no_offsets_are_deleted_that_a_subscription_may_name() -> None:
    hello = replace(HELLO, clock="real", features=frozenset({"disconnect", "missing-topics"}))
    made = planner(2, hello)
    steps = [step for _ in range(60) for step in made.next().case.steps]
    named = {
        topic.name
        for step in steps
        if isinstance(step, Request) and step.api == "OffsetDelete"
        for topic in step.fields["topics"]
    }
    assert named
    assert all(name.startswith("missing") for name in named)


def test_nobody_asks_a_shared_broker_what_the_group_of_no_name_holds() -> None:
    def asked(hello: Hello) -> bool:
        made = planner(1, hello)
        steps = [step for _ in range(150) for step in made.next().case.steps]
        return any(
            isinstance(step, Request) and step.api == "OffsetCommit" and not step.fields["group_id"]
            for step in steps
        )

    assert asked(HELLO)
    assert not asked(REAL)


def test_what_was_new_is_built_upon() -> None:
    made = planner(5)
    begun: set[str] = set()
    again = 0
    for _ in range(60):
        plan = made.next()
        start = repr(plan.case.steps[:4])
        again += start in begun
        if plan.is_novel:
            begun.add(start)
    assert again > 10


def test_plans_that_some_coordinators_die_of_are_run_alone() -> None:
    same, unlike = Script(delayed=False), Script(delayed=False)
    for script, offered in ((same, RANGE), (unlike, ROUNDROBIN)):
        script.join("a", protocols=RANGE)
        script.join("b", protocols=offered)
    assert not is_risky(same.steps)
    assert is_risky(unlike.steps)
    assert is_risky([Failover()])
    assert is_risky([MoveCoordinator()])


def test_on_a_real_clock_each_setting_has_its_share_and_some_plans_fail_over() -> None:
    hello = replace(HELLO, clock="real", features=frozenset({"disconnect", "restart"}))
    configs = [(dict(s), Machine(KAFKA_4, s).config) for s in REAL_SETTINGS]
    made = Planner(PlanContext(KAFKA_4, hello, Hints(), 300, configs), 2)
    drawn_plans = [made.next().case for _ in range(200)]
    shares = [
        sum(plan.needs.config == s for plan in drawn_plans) / len(drawn_plans)
        for s in REAL_SETTINGS
    ]
    assert min(shares) > 0.1
    failing_over = [p for p in drawn_plans if any(isinstance(step, Failover) for step in p.steps)]
    assert 0.03 < len(failing_over) / len(drawn_plans) < 0.2
    for settings in REAL_SETTINGS[:FAILING_OVER]:
        assert any(plan.needs.config == settings for plan in failing_over)
    assert all(plan.needs.config in REAL_SETTINGS[:FAILING_OVER] for plan in failing_over)
    assert any(is_parked_at_failover(plan.steps) for plan in failing_over)


def test_where_a_coordinator_can_move_some_plans_have_it_with_requests_that_wait() -> None:
    hello = replace(HELLO, clock="real", features=frozenset({"disconnect", "restart", MOVES}))
    configs = [(dict(s), Machine(KAFKA_4, s).config) for s in REAL_SETTINGS]
    made = Planner(PlanContext(KAFKA_4, hello, Hints(), 300, configs), 1)
    plans = [made.next().case for _ in range(200)]
    steps = [step for plan in plans for step in plan.steps]
    assert any(isinstance(step, MoveCoordinator) for step in steps)
    assert any(isinstance(step, Failover) for step in steps)
    assert all(plan.restarts for plan in plans if MoveCoordinator() in plan.steps)


def test_on_a_real_clock_topics_are_deleted_where_unused_groups_may_be_removed() -> None:
    configs = [(dict(s), Machine(KAFKA_4, s).config) for s in REAL_SETTINGS]
    made = Planner(PlanContext(KAFKA_4, REAL, Hints(), 300, configs), 1)
    drawn_plans = [made.next().case for _ in range(300)]
    deleting = [p for p in drawn_plans if any(isinstance(step, DeleteTopics) for step in p.steps)]
    assert deleting
    assert all(plan.needs.config.get(CLEANER) for plan in deleting)
    for plan in deleting:
        assert sum(isinstance(step, DeleteTopics) for step in plan.steps) == 1


def test_a_long_search_forgets_what_was_seldom_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn_plans, "_MOST_COUNTED", 60)
    made = planner()
    sizes = []
    for _ in range(40):
        made.next()
        sizes.append(len(made._counts))
    assert max(sizes) <= 60
    assert any(later < sooner for sooner, later in itertools.pairwise(sizes))
    assert (("absent",), "JoinGroup") in made._counts  # drawn again and again


def test_no_plan_is_drawn_that_could_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    least = {"group.min.session.timeout.ms": 100}
    configs = [(dict(s), Machine(KAFKA_4, {**least, **s}).config) for s in REAL_SETTINGS]
    of = {json.dumps(settings): config for settings, config in configs}

    def undecidable(*, judged: bool) -> list[Plan]:
        with monkeypatch.context() as patch:
            if not judged:
                patch.setattr(drawn_plans, "blurred", lambda *_: None)
            context = PlanContext(KAFKA_4, REAL, Hints(), 300, configs)
            made = Planner(context, 1)
            drawn = [made.next().case for _ in range(150)]
        return [
            case
            for case in drawn
            if blurred(case, context.times(of[json.dumps(dict(case.needs.config))]), 300)
        ]

    assert undecidable(judged=True) == []
    asked_for = undecidable(judged=False)
    assert asked_for
    context = PlanContext(KAFKA_4, REAL, Hints(), 300, configs)
    assert Planner(context, 1, known=asked_for[:1]).next().case.steps == asked_for[0].steps


def is_parked_at_failover(steps: Iterable[PlanStep]) -> bool:
    waiting: set[str] = set()
    for step in steps:
        if isinstance(step, Failover):
            return bool(waiting)
        if isinstance(step, Request):
            waiting.add(step.label)
        elif isinstance(step, Await):
            waiting -= set(step.labels)
    return False


class Brokers(InProcessTarget):
    """A target that can start brokers with any settings but a long initial delay."""

    def __init__(self) -> None:
        super().__init__("brokers", KAFKA_4, "0")
        self.prepared: list[ScopeNeeds] = []

    async def prepare(self, needs: Collection[ScopeNeeds]) -> None:
        self.prepared += needs

    @asynccontextmanager
    async def scope_with(self, label: str, needed: ScopeNeeds) -> AsyncIterator[AsyncCoordinator]:
        async with self.scope(label) as coordinator:
            refuses = needed.settings.get(DELAY)
            yield cast("AsyncCoordinator", Refusing()) if refuses else coordinator


class Refusing:
    async def reset(self, _: Config) -> Reset:
        raise UnsupportedError(DELAY)


async def test_brokers_are_started_for_settings_and_failovers() -> None:
    target = Brokers()
    hello = replace(HELLO, clock="real")
    async with open_target(InProcessTarget("model", KAFKA_4, "0"), KAFKA_4, Options()) as suite:
        suite.hello = hello
        context = await plan_context_of(target, suite)
    assert [wanted for wanted, _ in context.configs] == [
        settings
        for settings in (*REAL_SETTINGS, LIMITED)
        if not settings.get(DELAY) and settings.keys() <= CONFIG_DEFAULTS.keys()
    ]
    for wanted, config in context.configs:
        assert wanted.items() <= config.items()
    restarted = [needed.settings for needed in target.prepared if needed.restarts]
    assert restarted == list(REAL_SETTINGS[:FAILING_OVER])
    assert len(target.prepared) == len(REAL_SETTINGS) + 1 + FAILING_OVER


def test_limits_are_rare_and_change_nothing_where_there_are_none() -> None:
    configs = [(s, Machine(KAFKA_4, s).config) for s in (*SETTINGS, LIMITED)]
    plain, limited = (
        Planner(PlanContext(KAFKA_4, HELLO, Hints(), 0, known), 3)
        for known in (configs[:-1], configs)
    )
    first = 0
    while (plan := limited.next()).case.needs.config != LIMITED:
        assert plan == plain.next()
        first += 1
    assert 3 < first < 200


def test_with_limits_much_can_not_be_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn_plans, "_LIMITED", 1)
    context = PlanContext(KAFKA_4, HELLO, Hints(), 0, [(LIMITED, Machine(KAFKA_4, LIMITED).config)])
    planner = Planner(context, 4)
    used = {rule for _ in range(300) for rule in planner.next().reached.rules}
    assert {
        "SYNC-COMPLETING-LEADER-TOO-LARGE",
        "JOIN-STATIC-EMPTY-STABLE-TOO-LARGE",
        "COMMIT-TOO-LARGE",
        "COMMIT-METADATA",
        "TXN-COMMIT-TOO-LARGE",
    } <= used


async def failing(departures: tuple[Departure, ...], *, steers: bool) -> tuple[int, float]:
    """How many of 60 plans fail on a target with departures; how many requests were judged."""
    target = departed(KAFKA_4, departures)
    context = planner().context
    made = Planner(replace(context, departed=target) if steers else context, 1)
    drawn_plans = [made.next() for _ in range(60)]
    async with open_target(InProcessTarget("departed", target, "0"), KAFKA_4, Options()) as suite:
        results = await suite.try_cases([plan.case for plan in drawn_plans])
    sent = sum(plan.requests for plan in drawn_plans)
    judged = sum(
        isinstance(event, Sent) for r in results if r.recording for event in r.recording.history
    )
    return sum(result.outcome is Outcome.FAIL for result in results), judged / sent


@pytest.mark.slow
@pytest.mark.parametrize("departures", families(), ids=[NEW, OLD, KFAKE])
async def test_steps_in_which_a_known_departure_shows_are_rare(
    departures: tuple[Departure, ...],
) -> None:
    without, judged_without = await failing(departures, steers=False)
    steered, judged = await failing(departures, steers=True)
    assert steered < without / 2
    assert judged > max(0.8, judged_without)
