"""Stepping by hand: the explorer's choices, a concrete run, what it violates, where it stops."""

from __future__ import annotations

import random

import pytest

from fencepost.model import KAFKA_4, Revision, derive
from fencepost.model.classic.effects import Do
from fencepost.model.revision import SetRule
from fencepost.model.revisions import revisions
from fencepost.properties.checking.stepping import JudgedWorlds, Stepper, follow
from fencepost.properties.claims.property_registry import PROPERTIES, applies, find_property
from fencepost.properties.worlds.concretise import unfold
from fencepost.properties.worlds.scope import ACTS, Scope
from fencepost.properties.worlds.world import Act, World

SCOPE = Scope(clients=2, members=2)


def stepper(revision: Revision = KAFKA_4, scope: Scope = SCOPE) -> Stepper:
    return Stepper(JudgedWorlds(revision, scope, PROPERTIES.values()))


def at_random(steps: int, seed: int, scope: Scope = SCOPE) -> Stepper:
    walk, chance = stepper(scope=scope), random.Random(seed)
    for _ in range(steps):
        walk.take(chance.randint(1, len(walk.choices())))
    return walk


def number_of(walk: Stepper, kind: str, client: int = 0) -> int:
    return next(
        number
        for number, choice in enumerate(walk.choices(), start=1)
        if choice.act[:2] == (kind, client)
    )


def test_the_choices_are_what_the_explorer_visits_next() -> None:
    walk = stepper()
    for _ in range(12):
        visited = [*walk.worlds.successors(walk.world)]
        offered = [(c.act, c.turn.world) for c in walk.choices() if c.turn is not None]
        assert [(act, world) for act, world in visited] == offered
        walk.take(len(offered) // 2 + 1)


def test_the_run_is_that_of_its_path() -> None:
    walk = stepper(scope=Scope(clients=3, dynamic=1, acts=tuple(ACTS), offers=2))
    path: list[tuple[Act | None, World]] = [(None, walk.world)]
    chance = random.Random(3)
    for _ in range(40):
        chosen = walk.take(chance.randint(1, len(walk.choices())))
        path.append((chosen.act, walk.world))

    assert walk.run() == unfold(walk.worlds, path)


def test_going_back_undoes_steps_and_nothing_else() -> None:
    walk = at_random(8, seed=1)
    numbers, run = walk.numbers, walk.run()
    before = [choice.act for choice in walk.choices()]

    walk.go(numbers[:3])
    assert walk.numbers == numbers[:3]
    assert walk.run().turns == run.turns[:3]
    walk.go(numbers)
    assert walk.run() == run
    assert [choice.act for choice in walk.choices()] == before


def test_the_group_has_real_ids_generations_and_times() -> None:
    walk = stepper()
    for kind, client in (("join", 0), ("sync", 0), ("tick", -1), ("join", 0), ("sync", 0)):
        walk.take(number_of(walk, kind, client))
    walk.take(number_of(walk, "join", 1))

    group = walk.names.group(walk.world.group)
    assert group is not None
    assert group.generation_id == 2
    assert [member.member_id for member in group.members] == ["A-2"]
    assert group.static == (("A", "A-2"),)
    assert [(t.kind, t.subject, t.earliest) for t in group.timers] == [("session", "A-2", 9000)]


def test_a_state_that_comes_again_is_known_by_all_but_its_names_and_times() -> None:
    walk = stepper()
    for kind in ("join", "sync", "tick"):
        walk.take(number_of(walk, kind, -1 if kind == "tick" else 0))
        assert walk.repeated == 0
    for kind in ("join", "sync"):
        walk.take(number_of(walk, kind))
    walk.take(number_of(walk, "tick", -1))
    assert walk.repeated == 3
    walk.take(number_of(walk, "restart", 0))
    assert walk.repeated == 0


def test_a_wrong_number_says_what_there_is() -> None:
    walk = stepper()
    with pytest.raises(ValueError, match="no choice 9; choose 1 to 2"):
        walk.take(9)
    with pytest.raises(ValueError, match="no choice 0; choose 1 to 2"):
        walk.take(0)


def test_what_a_step_violates_is_named_once_and_with_real_ids() -> None:
    walk = stepper(revisions.find("comment-table-1"))
    for kind, client in (("join", 0), ("sync", 0), ("join", 1)):
        walk.take(number_of(walk, kind, client))
    broken = {fault.id: fault for fault in walk.taken[-1].faults}

    assert broken["one-client-per-id"].sentence == "clients c1 and c2 both got the id A-1"
    assert not broken["one-client-per-id"].is_expected
    assert broken["fresh-id-for-one"].is_expected
    after = {fault.id for choice in walk.choices() for fault in choice.faults}
    assert "one-client-per-id" not in after  # it was so before
    assert "no-two-consumers-on-one-id" in after


def test_a_right_revision_violates_nothing() -> None:
    for seed in range(3):
        walk = at_random(15, seed)
        assert not [f for choice in walk.taken for f in choice.faults if not f.is_expected]


def test_where_the_machine_stops_is_a_choice_that_cant_be_taken() -> None:
    rule = KAFKA_4.rule("SYNC-PHASE-EXPIRED").but(effect=(Do.BECOME_EMPTY,), because="a test")
    walk = stepper(derive(KAFKA_4, "stops", "", (SetRule("sync phase", rule, "a test"),)))
    for kind in ("join", "tick", "heartbeat", "tick", "heartbeat", "tick"):
        walk.take(number_of(walk, kind, -1 if kind == "tick" else 0))
    number = number_of(walk, "tick", -1)

    assert walk.choices()[number - 1].stop.startswith("session timeout: no rule")
    with pytest.raises(ValueError, match=f"the machine stops in choice {number}"):
        walk.take(number)
    assert any(choice.turn is not None for choice in walk.choices())


def test_events_are_followed_as_far_as_they_go() -> None:
    walk = at_random(20, seed=4)
    events = walk.run().events
    again = stepper()

    assert follow(again, events) == len(events)
    assert again.run().events == events
    other = stepper()
    cut = [*events[:10], *events[:3]]
    made = follow(other, cut)
    assert 0 < made <= 10
    assert other.run().events == events[:made]


@pytest.mark.parametrize("name", ["kafka-2.3", "kafka-2.4", "kafka-2.8"])
def test_an_act_is_offered_where_the_release_has_its_fields(name: str) -> None:
    """SyncGroup names a protocol from version 5 on."""
    revision = revisions.find(name)
    scope = Scope(clients=1, members=1, acts=("join", "sync", "mislead", "tick"))
    walk, kinds = stepper(revision, scope), set()
    for _ in range(4):
        kinds |= {choice.act.kind for choice in walk.choices()}
        walk.take(number_of(walk, "join") if "sync" not in kinds else 1)

    assert "sync" in kinds
    assert ("mislead" in kinds) is (revision.apis["SyncGroup"][1] >= 5)
    told = find_property("another-protocol-is-told-so")
    assert applies(told, revision) is ("mislead" in kinds)
