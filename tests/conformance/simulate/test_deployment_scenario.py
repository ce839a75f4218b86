"""Scenarios are read from TOML; what can't be is refused with the value and the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import msgspec
import pytest
from support.places import ROOT

from fencepost.conformance.simulate.deployment_scenario import (
    BounceStep,
    DeploymentScenario,
    MemberSettings,
    ScenarioError,
    Step,
    checked_scenario,
    find_scenario,
    read_scenario,
    scenario_names,
)

EXAMPLES = sorted((ROOT / "examples" / "deployments").glob("*.toml"))


@pytest.mark.parametrize("name", scenario_names())
def test_a_scenario_of_ours_is_described(name: str) -> None:
    scenario = find_scenario(name)
    assert scenario.name == name
    assert scenario.about.endswith(".")
    assert scenario.step


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_can_be_read(path: Path) -> None:
    assert read_scenario(path).step


def missing_fields(text: str) -> set[str]:
    """The fields and steps that a scenario's text doesn't show, also in comments."""
    kinds = (DeploymentScenario, MemberSettings, *get_args(Step))
    fields = {field.encode_name for kind in kinds for field in msgspec.structs.fields(kind)}
    steps = {f'do = "{kind.__struct_config__.tag}"' for kind in get_args(Step)}
    shown = {f"{name} =" for name in fields - {"settings", "step"}} | steps
    return {each for each in shown if each not in text}


def test_an_example_shows_every_field() -> None:
    text = (ROOT / "examples" / "deployments" / "every-field.toml").read_text("utf-8")
    assert missing_fields(text) == set()
    assert missing_fields(text.replace("overlap_s", "x").replace('"wait"', '"y"')) == {
        "overlap_s =",
        'do = "wait"',
    }


def test_what_is_left_out_is_as_in_the_java_client() -> None:
    scenario = find_scenario("rolling-bounce")
    assert scenario.counts == {"topic": 24}
    assert scenario.step == (BounceStep(),)
    assert scenario.initial_delay_ms == 3000


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"membrs": 3}, "`membrs` (did you mean members"),
        ({"members": 0}, "`members` is 0: give 1 or more"),
        ({"topics": {"a": 0}}, "`topics[...]` is {'a': 0}"),
        ({"step": [{"do": "bonce"}]}, "`step[0].do` is 'bonce'"),
        ({"step": [{"do": "bounce", "at_a_time": 0}]}, "`step[0].at_a_time` is 0"),
        ({"settings": {"membership": "sttic"}}, "did you mean static"),
        ({"settings": {"session_timeout_ms": 10}}, "`settings.session_timeout_ms` is 10"),
        ({"settings": {"assignors": ["rnge"]}}, "'rnge' (did you mean range?)"),
        ({"settings": {"assignors": []}}, "`assignors` is empty"),
        ({"settings": {"instance_id": ""}}, "`instance_id` is empty"),
        (
            {"settings": {"strategy": "eager", "assignors": ["cooperative-sticky"]}},
            "leave one out",
        ),
        ({"settings": {"heartbeat_interval_ms": 45_000}}, "is not less than"),
        ({"partitions": 3, "topics": {"a": 1}}, "not both"),
        ({"processing_s": 400}, "longer than `max_poll_interval_ms` 300000"),
        ({"latency_ms": [3, 1]}, "give the shorter one first"),
        ({"racks": ["a", "a"], "replicas": 2}, "`replicas` is 2, and `racks` names 1"),
        ({"replicas": 1}, "and `racks` names 0"),
    ],
)
def test_what_can_not_be_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        checked_scenario(given, "some.toml")
    assert said in str(refused.value)
    assert str(refused.value).startswith("some.toml: ")


def test_names_and_files_that_are_not_there_are_told(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="did you mean rolling-bounce"):
        find_scenario("rollingbounce")
    with pytest.raises(ScenarioError, match="there is crash, "):
        find_scenario("nothing-near-it")
    with pytest.raises(ScenarioError, match=r"none\.toml: file: can't be read .No such file"):
        find_scenario(str(tmp_path / "none.toml"))
    broken = tmp_path / "broken.toml"
    broken.write_text("members =", encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"broken\.toml is no TOML: "):
        read_scenario(broken)


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ({}, None),
        ({"target_size": 9}, None),
        ({"revision": "experiment-preregistered"}, 6),
        ({"revision": "experiment-preregistered", "threads": 2}, 12),
        ({"revision": "experiment-standby", "target_size": 9}, 9),
    ],
)
def test_an_experiment_is_told_how_many_there_will_be(
    given: dict[str, object], size: int | None
) -> None:
    assert checked_scenario(given, "a test").coordinator.target_size == size


def test_replicas_are_in_racks_that_follow_each_other_and_move_to_the_next() -> None:
    scenario = checked_scenario(
        {"topics": {"t": 4}, "racks": ["a", "b", "c", "a"], "replicas": 2}, "a test"
    )
    first, second = ([*scenario.partition_racks(moved).values()] for moved in (0, 1))
    assert list(map(sorted, first)) == [["a", "b"], ["b", "c"], ["a", "c"], ["a", "b"]]
    assert second == [*first[1:], first[1]]
    everywhere = checked_scenario({"partitions": 2, "racks": ["a", "b"]}, "a test")
    assert set(everywhere.partition_racks(0).values()) == {frozenset("ab")}
    assert checked_scenario({}, "a test").partition_racks(0) == {}
