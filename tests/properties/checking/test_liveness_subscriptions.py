"""Changed subscriptions are followed until a generation begins in which they are known."""

from __future__ import annotations

import pytest

from fencepost.model.classic.effects import Do
from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.checking.liveness import (
    ASSIGNED,
    Followed,
    Subscriptions,
    find_broken_promises,
)
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.mutants.mutant import EFFECT, but, mutant
from fencepost.properties.worlds.scope import ENDING_SCOPES, Scope
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
