from __future__ import annotations

import msgspec
import pytest

from fencepost.conformance.cases.clients.scenario import (
    InjectFaults,
    Scenario,
    ScenarioStep,
    Setting,
    Settled,
    Until,
)
from fencepost.conformance.search.clients.client_search import (
    makes_sense,
    shrinking_scenario,
    smaller,
)
from fencepost.conformance.wire.provocation import Action, Provocation
from fencepost.model.plans.steps import Close, Commit, Crash, Produce, Settings, Start
from fencepost.properties.checking.shrinking import Reproducer, Run, shrink

LOSE = Provocation("Heartbeat", Action.LOSE, last=3)
LONG = (
    Produce(),
    Start("a", "i-a", settings=Settings(auto_commit_ms=300)),
    Start("b", "i-b"),
    Until(Settled(("a", "b"))),
    InjectFaults((LOSE,)),
    Crash("b"),
    Start("b", "i-b"),
    Commit("b"),
    Close("a"),
    Until(Settled(("b",))),
)


def scenario(*acts: ScenarioStep) -> Scenario:
    return Scenario("drawn", "Drawn.", (), acts, (), "range", Setting(nodes=2))


def test_what_makes_sense() -> None:
    assert makes_sense(scenario(*LONG))
    assert not makes_sense(scenario(Produce()))


@pytest.mark.parametrize(
    "acts",
    [
        (Start("a"), Commit("b")),
        (Start("a"), Start("a")),
        (Start("a"), Close("a"), Commit("a")),
        (Start("a"), Crash("b")),
        (Start("a"), Crash("a"), Close("a")),
        (Start("a"), Until(Settled(("a", "b")))),
    ],
)
def test_what_makes_no_sense(acts: tuple[ScenarioStep, ...]) -> None:
    assert not makes_sense(scenario(*acts))


def test_a_consumer_goes_with_all_that_names_it() -> None:
    alone = next(smaller(scenario(*LONG)))
    assert alone.acts == (
        Produce(),
        Start("b", "i-b"),
        Until(Settled(("b",))),
        *LONG[4:8],
        Until(Settled(("b",))),
    )


async def shortest(first: Scenario, shows: Run[Scenario, str], tries: int) -> Scenario:
    work = shrinking_scenario(Reproducer(first, "shown"), tries=tries)
    return (await shrink(work, shows)).smallest.value


async def test_the_shortest_is_found() -> None:
    runs = []

    async def shows(one: Scenario) -> str | None:
        runs.append(one)
        assert makes_sense(one)
        kinds = [type(act) for act in one.acts]
        return "shown" if InjectFaults in kinds and Crash in kinds else None

    small = await shortest(scenario(*LONG), shows, 200)
    assert small.acts == (
        Start("b", "i-b"),
        InjectFaults((msgspec.structs.replace(LOSE, last=msgspec.UNSET),)),
        Crash("b"),
    )
    assert (small.assignor, small.broker) == (None, Setting())
    assert len(runs) == len(set(runs))


async def test_no_more_runs_than_are_allowed() -> None:
    runs = []

    async def shows(one: Scenario) -> str | None:
        runs.append(one)
        return None

    assert await shortest(scenario(*LONG), shows, 3) == scenario(*LONG)
    assert len(runs) == 3
