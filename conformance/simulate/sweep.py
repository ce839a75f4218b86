"""Run a scenario many times: in several forms, with other values, with many seeds.

A job of the pipeline may run them, too: see `sweep_job`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, get_args

import msgspec

from fencepost.conformance.simulate.deployment_scenario import (
    DEFAULTS,
    DeploymentScenario,
    MemberSettings,
    ScenarioError,
    Step,
    checked_scenario,
)
from fencepost.conformance.simulate.simulate import Cost, SimulationRun, Variant, simulate
from fencepost.model.revisions.revisions import NAMES, is_in_a_file
from fencepost.model.suggestions import did_you_mean
from fencepost.properties.workers.processes import run_side_by_side

Runner = Callable[[Sequence[SimulationRun]], Sequence[Cost]]
"""Runs each, and returns the costs in the same order.  Raises ScenarioError."""
_WORDS = {
    "eager": MemberSettings(strategy="eager"),
    "cooperative": MemberSettings(strategy="cooperative"),
    "static": MemberSettings(membership="static"),
    "dynamic": MemberSettings(membership="dynamic"),
}
_EAGER_DYNAMIC = MemberSettings(membership="dynamic", strategy="eager")
_STEPS = {kind.__struct_config__.tag: kind.__struct_fields__ for kind in get_args(Step)}
_NO_VALUES = {"name", "about", "settings", "step"}
_SETTINGS = MemberSettings.__struct_fields__
_FIELDS = set(DeploymentScenario.__struct_fields__) - _NO_VALUES


def variants_of(scenario: DeploymentScenario, compared: str) -> dict[str, DeploymentScenario]:
    """Return the scenario in each of these forms, such as `eager,static+cooperative`, by name.

    A form without membership is dynamic, one without a strategy eager.  It may also name a revision
    for the coordinator.  Raises ScenarioError.
    """
    known = (*_WORDS, *NAMES)
    forms: dict[str, DeploymentScenario] = {}
    for form in compared.split(","):
        settings, revision = _EAGER_DYNAMIC.over(scenario.settings), scenario.revision
        for word in form.strip().split("+"):
            if word not in known and not is_in_a_file(word):
                near = did_you_mean(word, known) or f"; there is {', '.join(_WORDS)}, or a revision"
                raise ScenarioError(f"nothing to compare is called {word!r}{near}; join with +")
            if word in _WORDS:
                settings = _WORDS[word].over(settings)
            else:
                revision = word
        forms[form.strip()] = msgspec.structs.replace(
            scenario, settings=settings, revision=revision
        )
    return forms


def own_revisions(compared: str | None, vary: Sequence[str]) -> list[str]:
    """Return the revisions in files that forms to compare, or values to vary, name."""
    forms = [] if compared is None else re.split(r"[,+]", compared)
    values = [str(value) for text in vary for name, value in _axis(text) if name == "revision"]
    return [word.strip() for word in (*forms, *values) if is_in_a_file(word)]


def variant_name(settings: MemberSettings) -> str:
    """Name settings by membership and strategy."""
    settings = settings.over(DEFAULTS)
    strategy = "+".join(settings.assignors) if settings.assignors else settings.strategy
    return f"{settings.membership}+{strategy}"


def with_values(
    scenario: DeploymentScenario, values: Mapping[str, Any], place: str
) -> DeploymentScenario:
    """Return a scenario with other values of its fields, its settings, or its steps.

    Raises ScenarioError, which names the place.
    """
    document = msgspec.to_builtins(scenario)
    members = document.setdefault("settings", {})
    steps = document.get("step", ())
    if not {"strategy", "assignors"}.isdisjoint(values):
        members.pop("strategy", None)
        members.pop("assignors", None)
    for name, value in values.items():
        having = [step for step in steps if name in _STEPS[step["do"]]]
        if name in _FIELDS:
            document[name] = value
        elif name in _SETTINGS:
            members[name] = value
        elif having and name != "set":
            for step in having:
                step[name] = value
        else:
            known = (*_FIELDS, *_SETTINGS, *(n for step in steps for n in _STEPS[step["do"]]))
            near = (
                did_you_mean(name, known) or f"; it has {', '.join(sorted(set(known) - {'set'}))}"
            )
            raise ScenarioError(f"{place}: {scenario.name or 'the scenario'} has no {name!r}{near}")
    if "partitions" in values:
        document["topics"] = {}
    elif "topics" in values:
        document["partitions"] = None
    return checked_scenario(document, place)


def with_changes(scenario: DeploymentScenario, texts: Sequence[str]) -> DeploymentScenario:
    """Return the scenario with deployments of other settings, such as `strategy=cooperative`.

    Raises ScenarioError.
    """
    changes = {}
    for text in texts:
        name, _, value = text.partition("=")
        changes[name.strip()] = _value(value.strip())
    document = msgspec.to_builtins(scenario)
    document["step"] = [*document.get("step", ())]
    bounces = [step for step in document["step"] if step["do"] == "bounce"]
    if texts and not bounces:
        raise ScenarioError(
            f'--set: {scenario.name or "the scenario"} has no deployment, a step `do = "bounce"`'
        )
    for step in bounces:
        step["set"] = {**step.get("set", {}), **changes}
    return checked_scenario(document, "--set")


def varied(
    forms: Mapping[str, DeploymentScenario], texts: Sequence[str]
) -> dict[str, DeploymentScenario]:
    """Combine each form with each combination of values, such as `restart_s=5,20`.

    Raises ScenarioError.
    """
    axes = [_axis(text) for text in texts]
    return {
        ", ".join([form, *(f"{name}={_word(value)}" for name, value in values)]): with_values(
            scenario, dict(values), "--vary"
        )
        for form, scenario in forms.items()
        for values in product(*axes)
    }


def _word(value: object) -> str:
    """Return a value as the options write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _axis(text: str) -> list[tuple[str, Any]]:
    name, _, values = text.partition("=")
    parts = [part.strip() for part in values.split(",")]
    if not all(parts):
        raise ScenarioError(
            f"--vary {text!r} names no value, or an empty one: give --vary restart_s=5,20"
        )
    return [(name.strip(), _value(part)) for part in dict.fromkeys(parts)]


_TRUTH = {"true": True, "false": False}


def _value(text: str) -> float | str | bool:
    if text in _TRUTH:
        return _TRUTH[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def simulate_all(
    scenarios: Mapping[str, DeploymentScenario], seeds: Sequence[int], run_each: Runner
) -> list[Variant]:
    """Run each scenario with each seed; rows of rebalances are kept of the first seed.

    Raises ScenarioError.
    """
    runs = [
        SimulationRun(scenario, name, seed, is_brief=seed != seeds[0])
        for name, scenario in scenarios.items()
        for seed in seeds
    ]
    costs = run_each(runs)
    width = len(seeds)
    return [Variant(tuple(costs[at : at + width])) for at in range(0, len(costs), width)]


def in_processes(jobs: int) -> Runner:
    """Make a runner on this machine, in up to `jobs` processes."""
    return partial(_run_here, jobs=jobs)


def _run_here(runs: Sequence[SimulationRun], jobs: int) -> Sequence[Cost]:
    if jobs == 1 or len(runs) == 1:
        return [simulate(run) for run in runs]
    done = {(run.variant, run.seed): cost for run, cost in run_side_by_side(simulate, runs, jobs)}
    return [done[run.variant, run.seed] for run in runs]
