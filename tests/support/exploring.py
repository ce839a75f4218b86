"""Explorations to hold a pipeline's against."""

from __future__ import annotations

from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.checking.evaluator import Evaluator
from fencepost.properties.claims.property_registry import PROPERTIES
from fencepost.properties.explorer.exploration import Exploration
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.worlds.scope import COVER_SCOPES, Scope
from fencepost.properties.worlds.world import Act, World, Worlds

SCOPES = (Scope(clients=2, members=2), COVER_SCOPES[0].scope, COVER_SCOPES[1].scope)


def on_one_machine(scope: Scope) -> Exploration[World, Act]:
    """Judged, since two outcomes of which different things are to be said are two."""
    judging = Evaluator(PROPERTIES.values(), KAFKA_4)
    worlds = Worlds(KAFKA_4, scope, judging.judge)
    return explore(worlds, judging.checks(worlds))
