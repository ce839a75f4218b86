"""Walks find broken models, shrink them to next to nothing, and leave the right ones alone."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.stateful import run_state_machine_as_test

from fencepost.model.messages.messages import APIS
from fencepost.model.revisions import revisions
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.checking.evaluator import Coverage
from fencepost.properties.checking.random_walk import (
    WalkChoice,
    WalkContext,
    simpler,
    walked,
)
from fencepost.properties.claims.answer_properties import HISTORY_PROPERTIES
from fencepost.properties.claims.property_registry import PROPERTIES
from fencepost.properties.explorer.explorer import Check, explore
from fencepost.properties.logic.logic import PropertyKind
from fencepost.properties.oracle.oracle import judge
from fencepost.properties.stateful.machines import (
    PROFILES,
    find_violation,
    load_profile,
    world_machine,
)
from fencepost.properties.stateful.strategies import (
    ACTIONS,
    VARIANTS,
    Move,
    Program,
    plainer,
    programs,
    requests,
)
from fencepost.properties.worlds.classic_worlds import CLASSIC_WORLDS, UNDRAWN
from fencepost.properties.worlds.protocol_worlds import Ask
from fencepost.properties.worlds.scope import ACTS, Scope
from fencepost.properties.worlds.world import Act, World, Worlds
from fencepost.properties.worlds.world_client import ODD_ACTS

KAFKA_4 = revisions.find("kafka-4")
SCOPES = CLASSIC_WORLDS.drawing.scopes
KINDS = CLASSIC_WORLDS.drawing.kinds
STATES_AND_STEPS = [p for p in PROPERTIES.values() if p.kind is not PropertyKind.HISTORY]
SMALL = Scope(clients=2, members=2, acts=("join", "sync", "heartbeat", "restart", "tick", "drop"))
FEW = settings(max_examples=20, stateful_step_count=15, deadline=None, database=None)
QUIET = settings(FEW, derandomize=True, suppress_health_check=list(HealthCheck))

BY_PROPERTIES = (
    "kafka-8500",
    "kafka-8715",
    "kafka-9752",
    "kafka-13435",
    "kfake-leave-evicts-holder",
    "tansu-same-id",
    "crabka-static-never-expires",
)
BY_COMPARISON = ("kafka-9801", "kafka-8500", "zombie-heartbeats")


@pytest.mark.parametrize("name", BY_PROPERTIES)
def test_a_broken_model_is_found_by_properties_alone(name: str) -> None:
    found = find_violation(find_revision(f"mutant:{name}"), STATES_AND_STEPS, max_examples=60)

    assert found is not None
    assert found.finding.property_id in PROPERTIES
    assert len(found) <= 4


@pytest.mark.parametrize("name", BY_COMPARISON)
def test_a_broken_model_is_found_by_comparison(name: str) -> None:
    mutant = find_revision(f"mutant:{name}")
    found = find_violation(mutant, reference=KAFKA_4, max_examples=150)

    assert found is not None
    assert found.finding.property_id == ""
    verdict = judge(KAFKA_4, config_of(found.scope), list(found.run.events), lag_ms=0).verdict()
    assert verdict.violation == found.finding.violation is not None


def config_of(scope: Scope) -> dict[str, int | None]:
    return WalkContext(KAFKA_4, scope).config


def test_answers_alone_show_a_model_that_forgets_a_restart() -> None:
    mutant = find_revision("mutant:kafka-10284")
    found = find_violation(mutant, HISTORY_PROPERTIES, max_examples=1500, scopes=SCOPES[:1])

    assert found is not None
    assert found.finding.property_id == "a-replaced-id-stays-out"
    assert [act.kind for act in found.acts] == ["join", "sync", "join", "failover", "join"]


@pytest.mark.parametrize("name", ["kafka-4", "kip-345"])
def test_a_right_model_is_left_alone(name: str) -> None:
    revision = revisions.find(name)
    held = [p for p in HISTORY_PROPERTIES if name not in p.expected]

    assert find_violation(revision, held, reference=revision, max_examples=20) is None


def test_the_same_seed_finds_the_same() -> None:
    mutant = find_revision("mutant:kafka-9801")
    one, two = (find_violation(mutant, reference=KAFKA_4, seed=3) for _ in range(2))
    other = find_violation(mutant, reference=KAFKA_4, seed=4)

    assert one == two
    assert one is not None
    assert other is not None
    assert len(one) == len(other) == 2


def shortest(name: str, scope: Scope) -> int:
    """By breadth-first exploration, of all walks that some property is broken by."""
    ground = WalkContext(find_revision(f"mutant:{name}"), scope, STATES_AND_STEPS)

    def wrong(_before: World, act: Act, after: World) -> str | None:
        finding = ground.of_world(after)
        faults = [fault for fault in act.faults if not fault.startswith("~")]
        if faults:
            return faults[0]
        return None if finding is None else finding.sentence

    folded: Worlds = Worlds(ground.worlds.revision, scope, ground.judging.judge)
    result = explore(folded, [Check("any", step=wrong)], stop_at_first=True, max_depth=8)
    return result.violations["any"].depth


@pytest.mark.parametrize("name", ["kafka-8500", "kafka-9752", "kafka-13435", "tansu-same-id"])
def test_what_shrinking_leaves_is_next_to_the_shortest(name: str) -> None:
    mutant = find_revision(f"mutant:{name}")
    found = find_violation(mutant, STATES_AND_STEPS, scopes=(SMALL,), max_examples=100)

    assert found is not None
    assert shortest(name, SMALL) <= len(found) <= shortest(name, SMALL) + 2


# Walks.


def test_who_cannot_act_does_not() -> None:
    walk = walked(
        WalkContext(KAFKA_4, SMALL),
        [WalkChoice("sync", 0), WalkChoice("join", 0), WalkChoice("drop", 1)],
    )

    assert walk.choices == [WalkChoice("join", 0)]
    assert len(walk.path) == 2


def test_an_act_gives_way_to_simpler_ones_only() -> None:
    for kind in KINDS:
        for plain in simpler(WalkChoice(kind, 1, 1), KINDS, clients=2):
            place = (KINDS.index(plain.kind), plain.client, plain.outcome)
            assert place < (KINDS.index(kind), 1, 1)


def test_a_machine_of_rules_fails_too() -> None:
    machine = world_machine(
        find_revision("mutant:kafka-8500"), STATES_AND_STEPS, scope=SMALL, coverage=Coverage()
    )
    with pytest.raises(AssertionError, match="one-live-member-per-instance"):
        run_state_machine_as_test(machine, settings=QUIET)


def test_a_machine_of_rules_passes_and_says_what_it_did_not_use() -> None:
    coverage = Coverage()
    machine = world_machine(
        KAFKA_4, HISTORY_PROPERTIES, reference=KAFKA_4, scope=SMALL, coverage=coverage
    )

    run_state_machine_as_test(machine, settings=settings(QUIET, phases=[Phase.generate]))

    assert "JOIN-STATIC-EMPTY-NEW" in coverage.fired
    assert "COMMIT-MEMBER-STABLE" not in coverage.fired
    unfired = coverage.unfired(KAFKA_4)
    assert "LEAVE-MEMBER" in unfired
    assert "JOIN-STATIC-EMPTY-NEW" not in unfired
    assert "never: " in coverage.text(KAFKA_4)


def test_rules_that_cannot_be_reached_are_not_asked_for() -> None:
    reachable = {rule.id for _, rule in KAFKA_4.rules() if rule.defensive is None}
    unfired = set(Coverage().unfired(KAFKA_4))

    assert unfired < reachable
    assert not [rule for rule in unfired if rule.endswith("-LOADING")]
    coverage = Coverage()
    coverage.add(unfired)
    assert coverage.unfired(KAFKA_4) == ()
    assert coverage.text(KAFKA_4).endswith("all that can be reached.")


# Strategies and profiles.


@QUIET
@given(requests(known_ids=("A-1",)))
def test_every_drawn_request_can_be_sent(ask: Ask) -> None:
    body = ask.message.to_body(ask.version)

    assert APIS[ask.api].request.from_body(body, ask.version) == ask.message


def test_an_unknown_api_is_refused() -> None:
    with pytest.raises(ValueError, match="no requests of Produce"):
        requests("Produce")


@QUIET
@given(programs(actions=("join", "sync"), processes=(0, 2), max_moves=4))
def test_programs_keep_to_what_was_asked_for(program: Program) -> None:
    assert {move.do for move in program.moves} <= {"join", "sync"}
    assert {move.who for move in program.moves} <= {0, 2}
    assert 1 <= len(program.moves) <= 4
    assert eval(program.text, {"Program": Program, "Move": Move}) == program


def test_a_move_gives_way_to_plainer_ones_only() -> None:
    for do in ACTIONS:
        for odd in VARIANTS:
            for plain in plainer(Move(do, 2, odd)):
                assert (bool(plain.odd), list(ACTIONS).index(plain.do), plain.who) < (
                    bool(odd),
                    list(ACTIONS).index(do) + 1,
                    3,
                )


def test_the_environment_chooses_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    before = settings()
    try:
        monkeypatch.delenv("HYPOTHESIS_PROFILE", raising=False)
        assert load_profile("ci") == "ci"
        assert settings().derandomize
        monkeypatch.setenv("HYPOTHESIS_PROFILE", "nightly")
        assert load_profile("ci") == "nightly"
        assert settings().max_examples == PROFILES["nightly"]["max_examples"]
    finally:
        settings.register_profile("before", before)
        settings.load_profile("before")


def test_all_kinds_of_acts_are_searched() -> None:
    assert set(KINDS) == {*ACTS, *ODD_ACTS} - UNDRAWN
    assert set(KINDS) == {act for scope in SCOPES for act in scope.acts}
