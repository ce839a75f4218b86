"""A scenario in several forms, with other values, with many seeds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator
from support.places import ROOT

from fencepost.conformance.simulate.deployment_scenario import (
    BounceStep,
    DeploymentScenario,
    ScenarioError,
    checked_scenario,
    find_scenario,
    read_scenario,
)
from fencepost.conformance.simulate.simulate import SCHEMA, costs_json
from fencepost.conformance.simulate.sweep import (
    in_processes,
    simulate_all,
    variant_name,
    variants_of,
    varied,
    with_values,
)


def changed(name: str, **changes: Any) -> DeploymentScenario:
    return checked_scenario(msgspec.to_builtins(find_scenario(name)) | changes, "a test")


def test_several_seeds_in_several_processes_are_as_in_one() -> None:
    forms = variants_of(changed("rolling-bounce", members=2, partitions=4), "static,cooperative")
    several = simulate_all(forms, range(2), in_processes(2))
    assert several == simulate_all(forms, range(2), in_processes(1))
    assert [variant.first.variant for variant in several] == ["static", "cooperative"]
    assert several[0].costs[1].each_partition == ()
    schema = Draft202012Validator(SCHEMA.schema())
    schema.validate(costs_json(several))
    schema.validate(costs_json(several[:1]))


def test_forms_are_told_by_their_words() -> None:
    scenario = find_scenario("host-replacement")
    forms = variants_of(scenario, "eager, static+cooperative")
    assert {name: variant_name(form.settings) for name, form in forms.items()} == {
        "eager": "dynamic+eager",
        "static+cooperative": "static+cooperative",
    }
    with pytest.raises(ScenarioError, match=r"'eeger' \(did you mean eager\?\)"):
        variants_of(scenario, "eeger")


def test_revisions_are_compared_side_by_side() -> None:
    grow = read_scenario(ROOT / "examples" / "deployments" / "grow.toml")
    forms = "static+kafka-4,static+experiment-preregistered"
    today, then = simulate_all(variants_of(grow, forms), range(1), in_processes(1))
    assert (today.first.rebalances, then.first.rebalances) == (6, 1)
    assert then.first.partitions_moved < today.first.partitions_moved


def test_by_the_kips_words_a_spare_is_never_used() -> None:
    spare = read_scenario(ROOT / "examples" / "deployments" / "standby.toml")
    forms = "static+experiment-standby,static+experiment-target-size"
    swapped, idle = simulate_all(variants_of(spare, forms), range(1), in_processes(1))
    assert swapped.first.balanced_after_s is not None
    assert idle.first.balanced_after_s is None


def test_a_revision_that_there_isnt_is_refused() -> None:
    with pytest.raises(ScenarioError, match="did you mean experiment-standby"):
        variants_of(find_scenario("crash"), "static+experiment-standbi")


def test_values_are_those_of_the_scenario_its_settings_and_its_steps() -> None:
    bounce = find_scenario("rolling-bounce")
    found = varied({"a": bounce}, ["restart_s=3,9.5", "session_timeout_ms=6000", "at_a_time=1,2"])
    assert list(found) == [
        f"a, restart_s={restart}, session_timeout_ms=6000, at_a_time={wave}"
        for restart in (3, 9.5)
        for wave in (1, 2)
    ]
    last = list(found.values())[-1]
    assert (last.restart_s, last.settings.session_timeout_ms) == (9.5, 6000)
    assert [step.at_a_time for step in last.step if isinstance(step, BounceStep)] == [2]
    assert varied({"a": bounce}, []) == {"a": bounce}


def test_a_value_takes_the_place_of_what_it_excludes() -> None:
    ring = changed("crash", settings={"assignors": ["roundrobin"]}, topics={"a": 3, "b": 2})
    found = with_values(ring, {"strategy": "cooperative", "partitions": 7}, "a test")
    assert found.settings.offered == ("cooperative-sticky",)
    assert found.counts == {"topic": 7}


def test_settings_are_checked_as_they_are_together() -> None:
    slow = changed("crash", settings={"session_timeout_ms": 60_000})
    changed_both = with_values(slow, {"heartbeat_interval_ms": 50_000}, "a test")
    assert changed_both.settings.session_timeout_ms == 60_000
    with pytest.raises(ScenarioError, match="50000 is not less than `session_timeout_ms` 45000"):
        with_values(find_scenario("crash"), {"heartbeat_interval_ms": 50_000}, "a test")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("restrt_s=3", r"--vary: crash has no 'restrt_s' \(did you mean restart_s"),
        ("at_a_time=2", "crash has no 'at_a_time'; it has assignors, at_s, count"),
        ("set=3", "crash has no 'set'"),
        ("restart_s", "'restart_s' names no value"),
        ("restart_s=3,,5", "names no value, or an empty one"),
        ("members=x", "`members` is 'x'"),
        ("members=0", "`members` is 0"),
    ],
)
def test_values_that_can_not_be_are_told(given: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        varied({"a": find_scenario("crash")}, [given])
