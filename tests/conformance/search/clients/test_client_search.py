from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

import pytest
from support.client_story import action, evidence, heartbeat, run, settled

from fencepost.conformance.cases.clients.scenario import InjectFaults, Scenario
from fencepost.conformance.cases.clients.scenario_parts import settled as settled_all
from fencepost.conformance.clients.driver_programs import find_client
from fencepost.conformance.clients.stage import ServedStage
from fencepost.conformance.search.clients.client_fuzz_report import exit_code, summary
from fencepost.conformance.search.clients.client_search import (
    CALM,
    JUDGED,
    ClientFinding,
    ClientFuzzer,
    ClientSearch,
    SearchListener,
    drawn,
    is_calm,
)
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.plans.steps import Close, Crash, RemoveMember, Start, Unavailable
from fencepost.properties.judging.known_failures import KnownFailure
from fencepost.properties.requirements.driver_messages import Introduction
from fencepost.properties.requirements.evidence import Evidence
from fencepost.properties.requirements.requirements import REQUIREMENTS
from fencepost.properties.workers.processes import Stop

A = run()
RIGHT = evidence(A, settled(A, 10, 0, 1))
WRONG = evidence(A, settled(A, 10, 0, 1), heartbeat(A, 60, instance=None))
EVERY, OBSERVED = "CLIENT-IDENTITY-EVERY-REQUEST", "Heartbeat without an instance id"

Story = Callable[[str, Scenario], Evidence]


class ToldFuzzer(ClientFuzzer):
    """A search whose runs are told by a function of client and scenario."""

    def __init__(self, story: Story, tries: int = 60) -> None:
        client = find_client("mutant:no-instance-in-heartbeat")
        super().__init__(client, ServedStage(find_revision("kafka-4")), jobs=2, tries=tries)
        self.name = client.name
        self.story = story
        self.ran: list[tuple[str, Scenario]] = []

    async def introduction(self) -> Introduction:
        return Introduction(1, 1, "liar", "1", "c", ("static",), ("range",))

    async def _run(self, client: str, scenario: Scenario) -> Evidence:
        self.ran.append((client, scenario))
        return self.story(client, scenario)


def provokes(scenario: Scenario) -> bool:
    return any(isinstance(act, InjectFaults) for act in scenario.acts)


def liar(client: str, scenario: Scenario) -> Evidence:
    """The client does wrong when something is provoked; the reference client never."""
    return WRONG if client != "reference" and provokes(scenario) else RIGHT


async def searched(fuzzer: ClientFuzzer, count: int = 8) -> ClientSearch:
    return await fuzzer.search(0, range(count))


async def test_a_violation_is_shrunk_and_confirmed() -> None:
    fuzzer = ToldFuzzer(liar)
    result = await searched(fuzzer)
    assert result.scenarios == 8
    (found,) = result.findings
    assert found.fingerprint == (EVERY, OBSERVED)
    assert (found.failed, found.runs, found.is_confirmed) == (3, 3, True)
    kinds = [type(act).__name__ for act in found.smallest.acts]
    assert sorted(kinds) == ["InjectFaults", "Start"]
    assert len(found.first.acts) > 2
    assert {client for client, _ in fuzzer.ran} == {"reference", "mutant:no-instance-in-heartbeat"}


async def test_what_the_reference_client_does_is_held_against_nobody() -> None:
    result = await searched(ToldFuzzer(lambda _, __: WRONG))
    assert result.findings == []
    assert f"{EVERY}/drawn-0-0" in result.excused


async def test_nothing_is_shrunk_to_what_the_reference_client_does_too() -> None:
    def story(client: str, scenario: Scenario) -> Evidence:
        if client == "reference":
            return WRONG if len(scenario.acts) < 4 else RIGHT
        return liar(client, scenario)

    (found,) = (await searched(ToldFuzzer(story))).findings
    assert len(found.smallest.acts) == len(found.first.acts)


async def test_what_is_listed_is_neither_shrunk_nor_confirmed() -> None:
    fuzzer = ToldFuzzer(liar)
    fuzzer.known = [KnownFailure("liar", "*", f"{EVERY}/x", EVERY, OBSERVED, "so it is", "a page")]
    (found,) = (await searched(fuzzer)).findings
    assert found.known == "so it is (a page)"
    assert [client for client, _ in fuzzer.ran].count(fuzzer.name) == 8


async def test_what_comes_and_goes_is_not_confirmed() -> None:
    def story(client: str, scenario: Scenario) -> Evidence:
        times = fuzzer.ran.count((client, scenario))
        return liar(client, scenario) if times != 3 else RIGHT

    fuzzer = ToldFuzzer(story, tries=0)
    (found,) = (await searched(fuzzer)).findings
    assert (found.failed, found.runs, found.is_confirmed) == (2, 3, False)


async def test_nothing_is_waited_for_while_something_else_is_done() -> None:
    expired = [A, *settled(A, 10, 0, 1), action("expire", A, 100, 101)]
    away, crashed = evidence(expired), evidence(expired, action("crash", at=500))
    fuzzer = ToldFuzzer(lambda client, _: RIGHT if client == "reference" else away, tries=0)
    assert "CLIENT-REMOVED-EXPIRED" in {
        found.result.obligation for found in (await searched(fuzzer)).findings
    }
    fuzzer = ToldFuzzer(lambda client, _: RIGHT if client == "reference" else crashed, tries=0)
    assert (await searched(fuzzer)).findings == []


async def test_a_replay_counts_its_runs() -> None:
    scenario = (await searched(ToldFuzzer(liar))).findings[0].smallest
    (found,) = (await ToldFuzzer(liar).replayed(EVERY, scenario)).findings
    assert found.is_confirmed
    assert (await ToldFuzzer(lambda _, __: RIGHT).replayed(EVERY, scenario)).findings == []


@pytest.mark.parametrize("name", JUDGED)
def test_what_is_judged_is_an_obligation(name: str) -> None:
    assert REQUIREMENTS[name].area != "RESTART"


class Listener(SearchListener):
    """Keep all reports of a search, in order."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, int]] = []

    def violated(self, finding: ClientFinding) -> None:
        self.lines.append(("violated", finding.result.obligation, finding.runs))

    def examined(self, finding: ClientFinding) -> None:
        self.lines.append(("examined", finding.result.obligation, finding.runs))


async def test_a_violation_is_told_as_it_comes_and_again_when_it_was_examined() -> None:
    listener = Listener()
    await ToldFuzzer(liar).search(0, range(8), listener=listener)
    assert [line for line in listener.lines if line[1] == EVERY] == [
        ("violated", EVERY, 0),
        ("examined", EVERY, 3),
    ]


async def test_a_search_that_is_stopped_reports_what_there_is() -> None:
    stop = Stop()

    class Stopped(ToldFuzzer):
        async def _run(self, client: str, scenario: Scenario) -> Evidence:
            if client == "reference":  # while a finding is examined
                stop.ask()
                await asyncio.Event().wait()
            return await super()._run(client, scenario)

    search = await Stopped(liar).search(0, itertools.count(), stop=stop)
    found = next(one for one in search.findings if one.result.obligation == EVERY)
    assert search.is_cut_short
    assert (found.failed, found.runs, found.is_confirmed) == (0, 0, False)
    assert exit_code(search) == 2
    assert "not confirmed" in summary(search)
    assert "ended early" in summary(search)


async def test_a_search_ends_when_its_time_is_up() -> None:
    search = await ToldFuzzer(liar).search(0, itertools.count(), seconds=0)
    assert (search.scenarios, search.is_cut_short) == (0, False)


@pytest.mark.parametrize(
    ("observed", "is_known"),
    [
        ("SyncGroup without an instance id", True),
        ("SyncGroup in a version without room for one", False),
        ("OffsetCommit with another instance id", False),
    ],
)
async def test_a_known_failure_may_show_by_another_request(observed: str, is_known: bool) -> None:
    fuzzer = ToldFuzzer(liar)
    fuzzer.known = [KnownFailure("liar", "*", f"{EVERY}/x", EVERY, observed, "so it is", "a page")]
    (found,) = (await searched(fuzzer)).findings
    assert bool(found.known) == is_known


def calm_of(*features: str) -> list[Scenario]:
    library = Introduction(1, 1, "lib", "1", "c", features, ("range", "cooperative-sticky"))
    return [s for s in (drawn(3, number, library) for number in range(80)) if is_calm(s)]


def test_some_scenarios_are_about_restarts_and_leaders_alone() -> None:
    calm = calm_of("static", "manual-commit")
    assert 10 < len(calm) < 40
    assert any(isinstance(act, Crash) for one in calm for act in one.acts)
    assert not any(isinstance(act, RemoveMember | Unavailable) for one in calm for act in one.acts)
    assert not [one for one in calm_of("manual-commit") if len(one.acts) > 12]


def test_a_restart_is_judged_only_where_nothing_else_goes_wrong() -> None:
    group = (Start("a", "i-a"), Start("b", "i-b"), settled_all("a", "b"))
    again = (Close("b"), Start("b", "i-b"), settled_all("a", "b"))
    assert is_calm(Scenario("x", "", (), (*group, *again)))
    for acts in (
        (*group, *again[:2]),
        (*group, *again[:1], settled_all("a"), *again[1:]),
        (*group[:2], *again),
        (*group, RemoveMember("a"), settled_all("a", "b"), *again),
        (Start("a", "i-a"), Start("b"), group[2], Close("b"), Start("b"), group[2]),
    ):
        assert not is_calm(Scenario("x", "", (), acts))


async def test_a_rebalance_at_a_restart_is_found() -> None:
    again = run(number=2, began=1000)
    story = evidence(
        run(ended=900, how="closed"), again, settled(run(), 10, 0, 1), settled(again, 1100, 0)
    )
    fuzzer = ToldFuzzer(lambda client, _: RIGHT if client == "reference" else story, tries=0)
    names = {one.result.obligation for one in (await searched(fuzzer, 30)).findings}
    assert names & set(CALM)
