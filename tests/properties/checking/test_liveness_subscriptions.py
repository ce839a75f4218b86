"""Promises are followed from the world in which they are owed to the one that keeps them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fencepost.model.classic.effects import Do
from fencepost.model.messages.errors import Error
from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.checking.liveness import (
    ASSIGNED,
    Fair,
    Followed,
    Promise,
    Subscriptions,
    find_broken_promises,
)
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.mutants.mutant import EFFECT, but, mutant
from fencepost.properties.worlds.scope import ENDING_SCOPES, Scope
from fencepost.properties.worlds.views import WorldView
from fencepost.properties.worlds.world import Worlds

ALONE = Scope(
    clients=1, members=1, offers=2, acts=("join", "change", "sync", "heartbeat"), fold=False
)
DEAF = mutant("deaf", "deaf", EFFECT, but("JOIN-LEADER-STABLE", effect=(Do.ANSWER_CURRENT,)))


def followed(revision: Revision) -> list[Followed]:
    found = explore(Subscriptions(Worlds(revision, ALONE)), keep_graph=True)
    assert found.graph is not None
    return found.graph.states


def test_who_is_alone_waits_for_no_generation() -> None:
    assert {state.changed for state in followed(KAFKA_4)} == {frozenset()}


def test_a_change_that_nobody_takes_up_is_followed() -> None:
    waiting = [state for state in followed(DEAF.revision) if state.changed]
    assert waiting
    assert all(state.world.group is not None for state in waiting)


@pytest.mark.slow
def test_the_promise_is_broken_where_a_follower_is_told_what_it_has() -> None:
    (scope,) = [named.scope for named in ENDING_SCOPES if "change" in named.scope.acts]
    found = find_broken_promises(find_revision("mutant:changed-follower-answered"), scope)
    lasso = found.broken[ASSIGNED.id]
    assert [act.kind for act, _ in lasso.stem if act is not None][-2:] == ["change", "sync"]
    assert "change" not in {act.kind for act, _ in lasso.cycle}


def has_generation(world: WorldView, client: int) -> bool:
    return world.clients[client].generation >= 0 and world.clients[client].assignment is None


def has_assignment(world: WorldView, client: int) -> bool:
    return world.clients[client].assignment is not None


TOLD = Promise(
    "who-joined-is-assigned",
    "Who was given a generation is given its assignment.",
    "ours",
    when=has_generation,
    until=has_assignment,
    each_client=True,
)
ONE = Scope(clients=1, dynamic=1, members=1, acts=("join", "sync", "heartbeat", "tick"))
REFUSES = but("SYNC-COMPLETING-LEADER", effect=(), answer=Error.UNKNOWN_SERVER_ERROR)
LIAR = mutant("liar", "liar", EFFECT, REFUSES)


def test_a_promise_of_ones_own_is_kept_until_it_is_broken() -> None:
    kept = find_broken_promises(KAFKA_4, ONE, (TOLD,))
    assert kept.tested == {TOLD.id}
    assert kept.broken == {}
    # Who is refused again and again does not stop the clock.
    broken = find_broken_promises(LIAR.revision, ONE, (TOLD,)).broken
    assert {act.kind for act, _ in broken[TOLD.id].cycle} >= {"sync", "tick"}


def test_only_a_client_that_keeps_to_the_protocol_is_owed_what_asks_for_its_doing() -> None:
    anyhow = replace(TOLD, fair=Fair.TIME)
    assert find_broken_promises(KAFKA_4, ONE, (anyhow,)).broken.keys() == {TOLD.id}


def test_what_was_owed_stays_owed_though_its_case_is_over() -> None:
    """Its time is over and it is removed: who comes back has no generation, and is owed one."""
    in_between = replace(TOLD, fair=Fair.TIME, until=None, when=has_generation)
    alone = replace(ONE, acts=("join", "heartbeat", "tick"))
    owed = find_broken_promises(KAFKA_4, alone, (replace(TOLD, fair=Fair.TIME),))
    states = {world.clients[0].generation >= 0 for _, world in owed.broken[TOLD.id].cycle}
    assert False in states
    lasso = find_broken_promises(KAFKA_4, alone, (in_between,)).broken.get(TOLD.id)
    assert lasso is None or all(world.clients[0].generation >= 0 for _, world in lasso.cycle)


def test_what_is_owed_nowhere_is_not_put_to_the_test() -> None:
    never = replace(TOLD, when=lambda *_: False)
    assert find_broken_promises(KAFKA_4, ONE, (never,)).tested == frozenset()
