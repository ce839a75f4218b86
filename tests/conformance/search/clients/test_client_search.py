from __future__ import annotations

from collections.abc import Callable

import pytest
from support.client_story import action, evidence, heartbeat, run, settled

from fencepost.conformance.cases.clients.scenario import InjectFaults, Scenario
from fencepost.conformance.clients.driver_programs import find_client
from fencepost.conformance.clients.stage import ServedStage
from fencepost.conformance.search.clients.client_search import JUDGED, ClientFuzzer, ClientSearch
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.properties.judging.known_failures import KnownFailure
from fencepost.properties.requirements.driver_messages import Introduction
from fencepost.properties.requirements.evidence import Evidence
from fencepost.properties.requirements.requirements import REQUIREMENTS

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
    assert result.excused == [f"{EVERY}/drawn-0-0"]


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
    assert len(fuzzer.ran) == 8


async def test_what_comes_and_goes_is_not_confirmed() -> None:
    def story(client: str, scenario: Scenario) -> Evidence:
        return liar(client, scenario) if len(fuzzer.ran) != 11 else RIGHT

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
