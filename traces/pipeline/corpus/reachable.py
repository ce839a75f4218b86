"""What could be covered: all that the bound `small` can reach, by exhaustive search.

What is called missing is counted from this: in the worlds of COVER_SCOPES
(`fencepost.properties.worlds.scopes`) every run is possible, whoever chooses; a corpus that shows
less than these has something to learn.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import pairwise

from fencepost.properties.explorer.explorer import explore
from fencepost.properties.mutants.catalogue import find_revision
from fencepost.properties.worlds.scopes import COVER_SCOPES
from fencepost.properties.worlds.world import Worlds
from fencepost.traces.pipeline.corpus.model_state import state_words

_NOTHING = ""
_CUT_OFF = frozenset({"restart", "drop"})


@cache
def reachable(revision: str) -> Mapping[str, frozenset[str]]:
    """By kind: `rule`, `pair`, `state`.  Raises KeyError for a revision that there isn't."""
    found: dict[str, set[str]] = {"rule": set(), "pair": set(), "state": set()}
    for named in COVER_SCOPES:
        _reach(Worlds(find_revision(revision), named.scope), found)
    return {kind: frozenset(items) for kind, items in found.items()}


def _reach(worlds: Worlds, found: dict[str, set[str]]) -> None:
    graph = explore(worlds, keep_graph=True).graph
    assert graph is not None  # noqa: S101  (it was asked for)
    leaving: dict[int, list[tuple[tuple[str, ...], int]]] = {}
    for source, act, target in graph.edges:
        rules: tuple[str, ...] = ()
        if act.kind not in _CUT_OFF:
            world = graph.states[source]
            done = worlds.transitions(world, act.kind, act.client)[act.choice]
            rules = tuple(rule.id for view in done.views for rule in view.rules)
        leaving.setdefault(source, []).append((rules, target))
        found["rule"].update(rules)
    found["state"].update(state_words(world.group) for world in graph.states)
    seen = {(0, _NOTHING)}
    queue = list(seen)
    for place, last in queue:
        for rules, target in leaving.get(place, ()):
            decided = (last, *rules) if last else rules
            found["pair"].update(" → ".join(pair) for pair in pairwise(decided))
            after = target, decided[-1] if decided else _NOTHING
            if after not in seen:
                seen.add(after)
                queue.append(after)
