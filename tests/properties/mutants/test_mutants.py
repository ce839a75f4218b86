"""The mutants: enough of them, whole, and each really behaves otherwise than kafka-4."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from support.world import DELAY, PARKED, D, Reply, World, offers

from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.model.classic.effects import Do
from fencepost.model.classic.perform import rebalances
from fencepost.model.classic.vocabulary import feasible
from fencepost.model.coordinator import Config
from fencepost.model.history.events import Answered, Event, Handled, Passed, Sent
from fencepost.model.machine import Machine
from fencepost.model.revisions.base import KAFKA_4, RULES
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.model.table.expr import Point
from fencepost.model.table.shared_features import Availability, GroupId
from fencepost.properties.mutants import mutants
from fencepost.properties.mutants.mutant import Mutant
from fencepost.properties.mutants.mutants import MUTANTS, find_mutant
from fencepost.properties.oracle.oracle import judge

HISTORY = {
    "KAFKA-8500": 1,
    "KAFKA-8715": 1,
    "KAFKA-8487": 1,
    "KAFKA-9752": 1,
    "KAFKA-9801": 1,
    "KAFKA-10284": 1,
    "KAFKA-12890": 1,
    "PR 9958": 1,
    "KAFKA-13435": 1,
    "kfake": 2,
    "librdkafka mock": 1,
    "tansu / nisshi": 1,
    "crabka": 1,
    "seaweedfs": 1,
    "Redpanda": 1,
}
"""Whose bugs there must be a mutant of, and of how many."""

_KILLS = Path(__file__).with_name("mutant_kills.txt").read_text(encoding="utf-8").splitlines()
KILLS = dict(line.split(" ", 1) for line in _KILLS)
"""Mutant → a case of the catalogue that notices it."""

ALL = list(MUTANTS.values())
each = pytest.mark.parametrize("mutant", ALL, ids=[m.name for m in ALL])


def test_there_are_enough_and_every_real_bug_is_one() -> None:
    assert len(MUTANTS) >= 60
    sources = [m.source for m in ALL]
    assert {s: sources.count(s) for s in HISTORY} == HISTORY
    assert all(s.startswith("systematic: ") for s in sources if s not in HISTORY)


@each
def test_a_mutant_is_well_formed(mutant: Mutant) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", mutant.name)
    assert not mutant.about.endswith(".")
    assert mutant.revision.name == f"mutant:{mutant.name}"
    assert mutant.revision.base == "kafka-4"
    assert find_revision(f"mutant:{mutant.name}") is find_mutant(mutant.name).revision
    differs = (mutant.differences, mutant.twists, mutant.distort, mutant.answer_versions)
    assert any(differs)


def test_no_two_say_the_same() -> None:
    assert len({m.about for m in ALL}) == len(ALL)


def test_a_name_is_used_once() -> None:
    with pytest.raises(ValueError, match=r"two mutants .*another name"):
        mutants._collected((ALL[0],), (ALL[0],))


@each
def test_its_tables_are_total_and_unambiguous(mutant: Mutant) -> None:
    for name in {d.table for d in mutant.differences}:
        table = mutant.revision.tables[name]
        for point in _points(name):
            assert len(table.applicable(point)) == 1, table.describe(point)


_ASKED = {
    "group id": (GroupId.GIVEN,),
    "coordinator": (Availability.HERE,),
    "version": (2, 4, 5, 9),
}
"""What no mutant changes is asked once, to save time; of the versions, one beside each gate."""


@cache
def _points(name: str) -> list[Point]:
    features = KAFKA_4.tables[name].features
    asked = [[v for v in _ASKED.get(f.name, f.domain) if v in f.domain] for f in features]
    ids = [id(f) for f in features]
    found = product(*asked)
    return [p for p in found if feasible(dict(zip(ids, p, strict=True)))]


# Each is told from kafka-4.


class Recorded(World):
    """A world that writes down what can be seen of it."""

    def __init__(self, revision: str, config: Config) -> None:
        self.events: list[Event] = []
        super().__init__(config=config)
        self.coordinator = ModelCoordinator(find_revision(revision))
        self.coordinator.reset(config)

    def send(self, who: str, api: str, version: int, body: dict[str, Any]) -> Reply:
        at = len(self.events)
        reply = super().send(who, api, version, body)
        self.events.insert(at, Sent(self.now, self.requests[reply._id]))
        self.events.append(Handled(self.now))
        return reply

    def wait(self, ms: int) -> None:
        super().wait(ms)
        self.events.append(Passed(self.now))

    def _take(self, answers: Any) -> None:
        self.events += [Answered(answer) for answer in answers]
        super()._take(answers)


def _leader_offers_another_protocol(world: World) -> str:
    seats = world.stable("A", "B")
    return world.join("A", seats["A"].mid, protocols=offers("roundrobin")).error


def _others_come_during_the_delay(world: World) -> int:
    first = world.join("A", r=5_000)
    for who in "BCDE":
        world.wait(1_500)
        world.join(who, r=5_000)
    world.wait(20_000)
    return first.at_ms


def _somebody_new_comes_when_the_leader_left(world: World) -> bool:
    seats = world.stable("A", "B")
    world.leave((seats["A"].mid, "A"))
    new = world.join("C")
    world.join("B", seats["B"].mid)
    return new.leader == new.mid


def _first_join_waits_for_a_session(world: World) -> str:
    reply = world.join("A", s=6_000)
    world.wait(7_000)
    return reply.error


def _first_join_waits_for_minutes(world: World) -> str:
    reply = world.join("A", r=1_000_000)
    world.wait(300_000)
    return reply.error


SCRIPTS: dict[str, tuple[Callable[[World], object], Config, object, object]] = {
    "member-protocols-unchecked": (
        _leader_offers_another_protocol,
        {},
        "INCONSISTENT_GROUP_PROTOCOL",
        PARKED,
    ),
    "initial-delay-without-end": (_others_come_during_the_delay, {}, 5_000, 9_000),
    "newcomer-leads": (_somebody_new_comes_when_the_leader_left, {}, False, True),
    "new-member-expires-early": (
        _first_join_waits_for_a_session,
        {DELAY: 20_000},
        PARKED,
        "UNKNOWN_MEMBER_ID",
    ),
    "new-member-never-expires": (
        _first_join_waits_for_minutes,
        {DELAY: 600_000},
        "UNKNOWN_MEMBER_ID",
        PARKED,
    ),
}
"""Mutant → what is done, under which settings, what comes of it in kafka-4, and in the mutant."""


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_tells_it_from_the_right_one_and_the_oracle_notices(name: str) -> None:
    script, config, right, wrong = SCRIPTS[name]
    for revision, expected in (("kafka-4", right), (f"mutant:{name}", wrong)):
        world = Recorded(revision, config)
        assert script(world) == expected
        verdict = judge(KAFKA_4, config, world.events, lag_ms=0).verdict()
        assert (verdict.violation is not None) is (expected == wrong)


def test_every_mutant_is_told_from_the_right_one() -> None:
    assert KILLS.keys() == MUTANTS.keys()


# The hooks.


def test_the_model_itself_has_no_hooks() -> None:
    assert not KAFKA_4.twists
    assert KAFKA_4.distort is None
    assert not KAFKA_4.answer_versions


def test_a_twist_touches_its_step_alone() -> None:
    plain = Machine(KAFKA_4).effects
    for mutant in ALL:
        twisted = Machine(mutant.revision).effects
        assert twisted.keys() == plain.keys()
        own = set(rebalances(0, None))  # made anew by each machine, with its settings
        changed = {do for do, effect in twisted.items() if effect is not plain[do]} - own
        assert changed == set(mutant.twists) - own, mutant.name


def test_another_machine_is_not_touched_by_a_mutants() -> None:
    before = Machine(KAFKA_4).effects
    Machine(find_mutant("kafka-8715").revision)
    assert Machine(KAFKA_4).effects[Do.ADD_STATIC] is before[Do.ADD_STATIC]


def test_answers_are_distorted_at_once_and_when_they_waited() -> None:
    world = Recorded("mutant:members-without-instance", {DELAY: 0})
    parked = world.join("A")
    world.wait(0)
    assert parked.body["members"][0]["groupInstanceId"] is None
    described = Recorded("mutant:described-without-instance", {DELAY: 0})
    described.stable("A")
    assert described.describe()["members"][0]["groupInstanceId"] is None
    waited = Recorded("mutant:refused-join-with-generation", {DELAY: D})
    old = waited.join("A")
    waited.join("A")
    assert (old.error, old.gen) == ("FENCED_INSTANCE_ID", 0)


def test_an_answer_may_have_another_versions_shape() -> None:
    world = Recorded("mutant:join-in-old-shape", {DELAY: 0})
    replies = {v: world.join("A", version=v, group=f"g{v}") for v in (6, 7, 8, 9)}
    world.wait(0)
    assert {v for v, reply in replies.items() if "protocolType" in reply.body} == {9}


# Names.


def test_a_mutant_is_found_with_and_without_its_prefix() -> None:
    assert find_mutant("mutant:kafka-8500") is find_mutant("kafka-8500")
    assert find_revision("kafka-4") is KAFKA_4


@pytest.mark.parametrize("name", ["mutant:kafka-850", "mutant:", "mutant:nothing-like-it"])
def test_an_unknown_name_is_told_with_the_remedy(name: str) -> None:
    with pytest.raises(KeyError) as caught:
        find_revision(name)
    said = str(caught.value.args[0])
    assert repr(name.removeprefix("mutant:")) in said
    assert "fencepost mutants" in said
    assert ("did you mean kafka-8500" in said) is ("850" in name)


def test_changed_rules_are_those_of_the_table() -> None:
    for mutant in ALL:
        for change, rule_id in mutant.changed_rules():
            assert (rule_id in RULES) is (change != "adds")
