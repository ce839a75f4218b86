"""All scenarios, in order, and how they are chosen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import msgspec

from fencepost.conformance.cases.clients.error_scenarios import TROUBLE
from fencepost.conformance.cases.clients.ordinary import ORDINARY
from fencepost.conformance.cases.clients.restart_scenarios import RESTARTS
from fencepost.conformance.cases.clients.scenario import Scenario
from fencepost.model.bad_input import BadInputError
from fencepost.model.suggestions import did_you_mean

SCENARIOS = {one.id: one for one in (*ORDINARY, *RESTARTS, *TROUBLE)}
"""All scenarios by id."""


class NoScenarioError(BadInputError):
    """No obligation or scenario matches.  `str()` names the pattern, and one that is near."""


def cases_of(scenario: Scenario) -> tuple[str, ...]:
    """The ids of a scenario's cases: each of its obligations is one."""
    return tuple(f"{obligation}/{scenario.id}" for obligation in scenario.obligations)


def chosen(patterns: Sequence[str]) -> dict[str, Scenario]:
    """The scenarios of the cases that match, with these cases alone; all without a pattern.

    A pattern is of a case, an obligation or a scenario.  Raises NoScenarioError.
    """
    if not patterns:
        return dict(SCENARIOS)
    found: dict[str, Scenario] = {}
    for scenario in SCENARIOS.values():
        kept = tuple(
            obligation
            for obligation in scenario.obligations
            if _matches((f"{obligation}/{scenario.id}", obligation, scenario.id), patterns)
        )
        if kept:
            found[scenario.id] = msgspec.structs.replace(scenario, obligations=kept)
    if not found:
        names = [case for scenario in SCENARIOS.values() for case in cases_of(scenario)]
        raise NoScenarioError(
            f"no obligation or scenario matches {', '.join(patterns)}"
            f"{did_you_mean(patterns[0], [*SCENARIOS, *names])}"
        )
    return found


def _matches(names: Iterable[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
