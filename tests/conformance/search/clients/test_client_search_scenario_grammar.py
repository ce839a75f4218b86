from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

from fencepost.conformance.cases.clients.scenario import Scenario, read_scenario
from fencepost.conformance.search.clients.client_search import drawn, makes_sense
from fencepost.model.plans.steps import Commit, Failover, RemoveMember, Start, Step
from fencepost.properties.requirements.driver_messages import Introduction

ALL = ("static", "cooperative", "auto-commit", "manual-commit")


def introduction(*features: str) -> Introduction:
    return Introduction(1, 1, "lib", "1", "c", features, ("range", "cooperative-sticky"))


@dataclass(frozen=True)
class Drawn:
    scenarios: list[Scenario]

    @classmethod
    def of(cls, *features: str, seed: int = 0) -> Drawn:
        return cls([drawn(seed, number, introduction(*features)) for number in range(200)])

    def kinds(self) -> Counter[type[Step]]:
        return Counter(type(act) for one in self.scenarios for act in one.acts)


def test_the_same_seed_gives_the_same_scenarios() -> None:
    assert Drawn.of(*ALL) == Drawn.of(*ALL)
    others = Drawn.of(*ALL, seed=1).scenarios
    assert all(
        one.acts != other.acts
        for one, other in zip(Drawn.of(*ALL).scenarios, others, strict=True)
        if len(one.acts) > 8
    )


def test_each_makes_sense_and_can_be_read_again() -> None:
    for one in Drawn.of(*ALL).scenarios:
        assert makes_sense(one), one
        assert read_scenario(json.loads(json.dumps(one.to_json()))) == one


def test_every_kind_of_act_is_drawn() -> None:
    found = {kind.__name__ for kind in Drawn.of(*ALL).kinds()}
    assert found >= {
        "Close",
        "Crash",
        "InjectFaults",
        "RemoveMember",
        "ExpireSession",
        "Failover",
        "Loading",
        "Unsubscribe",
    }


def test_what_a_library_lacks_is_not_asked_for() -> None:
    plain = Drawn.of()
    assert not {RemoveMember, Commit} & set(plain.kinds())
    starts = [act for one in plain.scenarios for act in one.acts if isinstance(act, Start)]
    assert all(act.instance is None and act.settings.auto_commit_ms is None for act in starts)
    assert {one.assignor for one in plain.scenarios} == {"range", "cooperative"}


def test_only_several_nodes_have_a_coordinator_that_moves() -> None:
    moving = [
        one
        for one in Drawn.of(*ALL).scenarios
        if any(isinstance(act, Failover) for act in one.acts)
    ]
    assert moving
    assert all(one.broker.nodes > 1 for one in moving)
