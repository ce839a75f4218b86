"""List the scenarios of clients, and explain an obligation, a scenario or a case of theirs."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from fencepost.conformance.cases.clients.scenario import Scenario, in_words
from fencepost.conformance.cases.clients.scenario_catalogue import (
    SCENARIOS,
    count_cases,
    matching_scenarios,
)
from fencepost.conformance.cli.options.common_options import console, echo_json, print_lines
from fencepost.model.history.words import enumerated, plural
from fencepost.properties.mutants.client_mutants import CLIENT_MUTANTS
from fencepost.properties.requirements.requirement import CLIENT_PREFIX
from fencepost.properties.requirements.requirements import REQUIREMENTS, find_requirement


def list_scenarios(pattern: str, *, as_json: bool) -> None:
    """Print the scenarios that match.  Raises NoScenarioError."""
    chosen = matching_scenarios(() if pattern == "*" else (pattern,))
    if as_json:
        echo_json(
            [
                {
                    "id": scenario.id,
                    "about": scenario.about,
                    "obligations": list(scenario.obligations),
                    "needs": list(scenario.needs),
                    "assignor": scenario.assignor,
                    "provokes": scenario.is_provoking,
                }
                for scenario in chosen.values()
            ]
        )
        return
    screen = console()
    for scenario in chosen.values():
        screen.print(Text(f"{scenario.id}  [{_needs(scenario)}]", style="bold"), soft_wrap=True)
        screen.print(Text(f"    {scenario.about}"), soft_wrap=True)
        screen.print(Text(f"    {', '.join(scenario.obligations)}", style="dim"), soft_wrap=True)
    cases = count_cases(chosen)
    scenarios = f"{len(chosen)} of {plural(len(SCENARIOS), 'scenario')}"
    screen.print(Text(f"{scenarios}, with {plural(cases, 'case')}"))


def _needs(scenario: Scenario) -> str:
    """Name what a scenario needs of a library and of a broker."""
    needs = [*scenario.needs]
    if scenario.assignor is not None:
        needs.append(f"assignor {scenario.assignor}")
    if scenario.is_provoking:
        needs.append("served broker")
    return f"needs {enumerated(needs)}" if needs else "needs nothing special"


def explain_of_clients(screen: Console, name: str) -> bool:
    """Print an obligation of clients, a scenario, or both of a case; False: it is none of these.

    Raises UnknownRequirementError, NoScenarioError.
    """
    if name in SCENARIOS:
        _explain_scenario(screen, SCENARIOS[name])
        return True
    if not name.startswith(CLIENT_PREFIX):
        return False
    obligation, _, scenario = name.partition("/")
    row = find_requirement(obligation)
    if scenario:
        _explain_scenario(screen, matching_scenarios((name,))[scenario])
        screen.print()
    scenarios = [each.id for each in SCENARIOS.values() if row.id in each.obligations]
    faulty = [mutant for mutant in CLIENT_MUTANTS.values() if row.id in mutant.breaks]
    lines = [
        (row.id, row.level.value),
        ("obligation", row.sentence),
        ("source", row.source),
        ("provoked", row.provoked),
        ("judged", row.judged),
        *([(f"why {row.level.value}", row.dispute)] if row.dispute else []),
        ("tested by", ", ".join(scenarios) or "no scenario"),
        *(("broken by", f"mutant:{each.name}: {each.sentence}") for each in faulty),
    ]
    if scenarios:
        lines.append(("try it", f"fencepost certify-client CLIENT --case {row.id}"))
    print_lines(screen, lines)
    return True


def _explain_scenario(screen: Console, scenario: Scenario) -> None:
    screen.print(Text(f"{scenario.id}  [{_needs(scenario)}]", style="bold"), soft_wrap=True)
    screen.print(Text(scenario.about), soft_wrap=True)
    setting = scenario.broker
    if setting.as_of is not None:
        screen.print(Text(f"The broker has the versions of Kafka {setting.as_of}."))
    if setting.nodes > 1:
        screen.print(Text(f"The broker has {setting.nodes} nodes."))
    for number, act in enumerate(scenario.acts, start=1):
        screen.print(Text(f"{number:>3}. {in_words(act)}"), soft_wrap=True)
    for obligation in scenario.obligations:
        screen.print(Text(f"judged: {obligation}: {REQUIREMENTS[obligation].sentence}"))
