"""A simulation read directly, and from the logs that it would have written: one story."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.logs.agreement import agreement
from support.logs.simulated_logs import ThreeStories, play

from fencepost.conformance.simulate.deployment_scenario import (
    DeploymentScenario,
    checked_scenario,
    find_scenario,
    scenario_names,
)
from fencepost.conformance.simulate.simulate import SimulationRun, simulate
from fencepost.conformance.simulate.simulated_events import SimulatedEvents
from fencepost.conformance.simulate.sweep import variants_of
from fencepost.traces.operations.group_events import GroupEvent, Left
from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import Cause, Rebalance, Remedy

UNSEEN = {"crash-loop"}
"""Scenarios whose processes die while their joins wait: a request log has no line of those."""


def different(one: OperatorReport, other: OperatorReport) -> dict[str, list[str]]:
    return {name: row.different for name, row in agreement(one, other).items() if row.different}


def in_form(name: str, form: str) -> DeploymentScenario:
    return variants_of(find_scenario(name), form)[form] if form else find_scenario(name)


def by_generation(report: OperatorReport) -> dict[int, Rebalance]:
    return {row.generation: row for row in report.rebalances.rows}


@pytest.fixture(scope="module")
def stories_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ThreeStories]:
    """The stories of a scenario, played once."""

    @cache
    def stories_of(name: str) -> ThreeStories:
        return play(in_form(name, ""), 0, tmp_path_factory.mktemp(name))

    return stories_of


@pytest.mark.parametrize("name", scenario_names())
def test_its_logs_tell_the_same_story(name: str, stories_of: Callable[[str], ThreeStories]) -> None:
    stories = stories_of(name)
    assert different(stories.direct, stories.server) == {}
    if name not in UNSEEN:
        assert different(stories.requests, stories.direct) == {}


@pytest.mark.parametrize("form", ["static+cooperative", "cooperative"])
@pytest.mark.parametrize("name", ["rolling-bounce", "failover"])
def test_so_they_do_of_cooperative_members(name: str, form: str, tmp_path: Path) -> None:
    stories = play(in_form(name, form), 0, tmp_path)
    assert different(stories.direct, stories.server) == {}
    requests, direct = by_generation(stories.requests), by_generation(stories.direct)
    assert requests.keys() == direct.keys()
    for generation, row in requests.items():
        # Of two joins in one millisecond a request log doesn't show which was first.
        assert direct[generation].cause in {row.cause, *row.also}
        assert direct[generation].remedy is row.remedy


def test_what_a_request_log_lacks_is_unknown_in_it_and_nothing_else(
    stories_of: Callable[[str], ThreeStories],
) -> None:
    stories = stories_of("crash-loop")
    requests, direct = by_generation(stories.requests), by_generation(stories.direct)
    unseen = {n for n, row in requests.items() if row.cause is not direct[n].cause}
    assert unseen
    assert {requests[n].cause for n in unseen} == {Cause.UNKNOWN}
    assert {requests[n].remedy for n in unseen} == {Remedy.UNKNOWN}


def test_a_reader_that_misses_leaves_is_caught(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read = SimulatedEvents.read

    def without_leaves(self: SimulatedEvents, *about: Any) -> Iterator[GroupEvent]:
        return (event for event in read(self, *about) if not isinstance(event, Left))

    monkeypatch.setattr(SimulatedEvents, "read", without_leaves)
    stories = play(in_form("rolling-bounce", ""), 0, tmp_path)
    assert different(stories.requests, stories.direct)


def of(step: list[dict[str, Any]], **fields: Any) -> list[tuple[str, str, tuple[str, ...], str]]:
    """Cause, member, others and note of each rebalance of three members."""
    scenario = checked_scenario({"members": 3, "step": step, **fields}, "a test")
    rows = simulate(SimulationRun(scenario)).each_rebalance
    return [(row.cause, row.who, row.also, row.note) for row in rows]


def test_of_members_that_expire_together_one_is_the_cause_and_the_others_are_named() -> None:
    static = {"membership": "static"}
    step: list[dict[str, Any]] = [{"do": "scale", "to": 1}, {"do": "wait"}]
    assert of(step, settings=static) == [("expiry", "app-2", ("app-3",), "")]


def test_who_is_removed_by_an_administrator_is_noted() -> None:
    rows = of([{"do": "remove", "who": ["app-2"]}], settings={"membership": "static"})
    assert rows[0] == ("leave", "app-2", (), "removed by an administrator")


def test_a_rebalance_that_a_failover_cuts_off_is_there_without_a_generation() -> None:
    rows = simulate(SimulationRun(find_scenario("failover"))).each_rebalance
    (lost,) = [row for row in rows if row.generation is None]
    assert (lost.members, lost.took_s) == (None, None)
    assert lost.who
    assert [row.at_s for row in rows] == sorted(row.at_s for row in rows)


@pytest.mark.parametrize("name", ["rolling-bounce", "crash", "streams"])
def test_a_remedy_is_what_the_other_form_of_the_members_shows(name: str) -> None:
    """Static membership would have avoided those that a group of static members doesn't have."""
    dynamic, static = (simulate(SimulationRun(in_form(name, f))) for f in ("eager", "static"))
    assert dynamic.remedies == {"static membership": dynamic.rebalances - static.rebalances}


def test_so_it_is_of_a_session_that_is_too_short() -> None:
    short, right = (
        simulate(SimulationRun(find_scenario(name)))
        for name in ("to-static-short-session", "to-static")
    )
    assert short.remedies["a longer session timeout"] == short.rebalances - right.rebalances


def test_nothing_would_have_avoided_a_member_that_does_not_come_back() -> None:
    assert simulate(SimulationRun(find_scenario("crash-for-good"))).remedies == {"none": 1}
