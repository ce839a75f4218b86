from __future__ import annotations

import json

import msgspec
import pytest

from fencepost.conformance.cases.clients.scenario import (
    InjectFaults,
    Scenario,
    Until,
    read_scenario,
)
from fencepost.conformance.cases.clients.scenario_catalogue import (
    SCENARIOS,
    NoScenarioError,
    cases_of,
    matching_scenarios,
)
from fencepost.model.plans.steps import Close, ResumePolling, Settings, Start
from fencepost.properties.requirements.requirement import Members
from fencepost.properties.requirements.requirements import REQUIREMENTS


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda one: one.id)
def test_a_scenario_is_data_that_can_be_read_again(scenario: Scenario) -> None:
    text = json.dumps(scenario.to_json())
    assert read_scenario(json.loads(text)) == scenario
    assert scenario.about.endswith(".")
    assert len(set(scenario.obligations)) == len(scenario.obligations)


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda one: one.id)
def test_who_is_named_was_started(scenario: Scenario) -> None:
    started: set[str] = set()
    for act in scenario.acts:
        if isinstance(act, Start):
            started.add(act.consumer)
        named = getattr(act.condition if isinstance(act, Until) else act, "consumer", None)
        assert named is None or named in started
        if isinstance(act, Close):
            started.remove(act.consumer)


def test_a_process_has_its_consumers() -> None:
    assert SCENARIOS["streams-process"].processes() == {
        "other": ("other",),
        "streams": ("s-1", "s-2", "s-3"),
    }


def test_only_what_provokes_needs_a_served_broker() -> None:
    assert not SCENARIOS["static-life"].is_provoking
    assert SCENARIOS["fenced-in-sync"].is_provoking
    assert SCENARIOS["old-broker"].is_provoking


def test_patterns_choose_obligations_scenarios_and_cases() -> None:
    assert list(matching_scenarios(["static-life"])) == ["static-life"]
    by_obligation = matching_scenarios(["CLIENT-CLOSE-IN-TIME"])
    assert {name for one in by_obligation.values() for name in one.obligations} == {
        "CLIENT-CLOSE-IN-TIME"
    }
    one = matching_scenarios(["CLIENT-CLOSE-IN-TIME/static-life"])
    assert cases_of(one["static-life"]) == ("CLIENT-CLOSE-IN-TIME/static-life",)
    assert list(matching_scenarios([])) == list(SCENARIOS)


def test_an_unknown_pattern_names_what_is_near() -> None:
    with pytest.raises(NoScenarioError, match="did you mean static-life"):
        matching_scenarios(["static-live"])


def test_a_wrong_scenario_is_refused() -> None:
    document = SCENARIOS["static-life"].to_json()
    document["acts"][0]["act"] = "dance"
    with pytest.raises(msgspec.ValidationError, match="dance"):
        read_scenario(document)


def test_what_holds_for_all_members_is_shown_without_instance_ids() -> None:
    """A library without static members has no cooperative assignor, as far as we know."""
    static, dynamic = (
        {
            name
            for scenario in SCENARIOS.values()
            if ("static" in scenario.needs and scenario.assignor != "cooperative") == is_static
            for name in scenario.obligations
        }
        for is_static in (True, False)
    )
    assert static | dynamic == set(REQUIREMENTS)
    for row in REQUIREMENTS.values():
        assert row.members is Members.STATIC or row.id in dynamic, row.id
        assert row.members is not Members.DYNAMIC or row.id not in static, row.id


def test_a_twin_is_the_same_scenario_without_instance_ids() -> None:
    static, twin = SCENARIOS["removed"], SCENARIOS["removed-dynamic"]
    assert twin.about == "An administrator removes a dynamic member that reads and commits."
    assert len(twin.acts) == len(static.acts)
    differing = [two for one, two in zip(static.acts, twin.acts, strict=True) if one != two]
    assert differing == [Start("a", None, settings=Settings(auto_commit_ms=300))]
    assert SCENARIOS["coordinator-moves-dynamic"].about.endswith("node. Members are dynamic.")


def test_what_befalls_a_first_join_befalls_both_joins_of_a_dynamic_member() -> None:
    lost = SCENARIOS["join-answer-lost-dynamic"].acts[0]
    assert isinstance(lost, InjectFaults)
    assert (lost.provocations[0].first, lost.provocations[0].until) == (1, 2)
    later = SCENARIOS["closes-in-rebalance-dynamic"].acts
    assert later[2] == SCENARIOS["closes-in-rebalance"].acts[2]


def test_a_dynamic_member_that_meets_an_error_twice_has_a_user_that_polls_on_twice() -> None:
    def polls(name: str) -> int:
        return sum(isinstance(act, ResumePolling) for act in SCENARIOS[name].acts)

    assert (polls("join-answer-lost"), polls("join-answer-lost-dynamic")) == (1, 2)
    assert polls("unknown-member-in-heartbeat") == polls("unknown-member-in-heartbeat-dynamic")
