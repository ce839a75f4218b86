"""Drawing traces from the model: which walk the trace of a number is.

Decides what a generated trace looks like: ten to twenty-five acts of a few clients, each of which
may do whatever its state allows, on a virtual clock.  A trace depends on the seed, its number and
its model; numbers come from a generator of its own, so no trace knows of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from random import Random
from typing import Any

from fencepost.model.state.group import Group
from fencepost.properties.checking.random_walk import KINDS, Walk, WalkChoice, WalkContext
from fencepost.properties.mutants.catalogue import find_revision
from fencepost.properties.worlds.concretise import Run
from fencepost.properties.worlds.scopes import walk_scopes
from fencepost.traces.pipeline.corpus.model_state import state_words
from fencepost.traces.pipeline.storage.rows import step_rows

_ACTS = tuple(kind for kind in KINDS if kind != "describe")
"""Worlds know no client ids, which DescribeGroups would tell."""
SCOPES = walk_scopes(_ACTS)
"""Whose clients a trace may be about; drawn for each."""

_FEWEST, _MOST = 10, 25
_WAYS = 1 << 12
_DISTURBING = tuple(k for k in _ACTS if k not in {"join", "sync", "tick", "heartbeat"})
"""Kinds that only some traces have: with all of them in each, few groups would ever be stable."""

_STRETCH = 20_000
"""What a model learnt of its worlds is forgotten after so many numbers, or memory would grow."""


@lru_cache(maxsize=len(SCOPES) * 2)
def ground(model: str, scope: int, stretch: int = 0) -> WalkContext:
    """The worlds of a model that traces of a scope walk through; `stretch`: of numbers."""
    del stretch
    return WalkContext(find_revision(model), SCOPES[scope])


def drawn(model: str, seed: int, number: int) -> tuple[int, Walk]:
    """The scope and the walk of the trace of this number."""
    chance = Random(f"{seed}/{number}")  # noqa: S311  (it must be the same each time)
    scope = chance.randrange(len(SCOPES))
    bits = chance.getrandbits(len(_DISTURBING))
    without = frozenset(k for i, k in enumerate(_DISTURBING) if not bits >> i & 1)
    walk = Walk(ground(model, scope, number // _STRETCH))
    for _ in range(chance.randint(_FEWEST, _MOST)):
        walk.choose(chance.randrange(_WAYS), without)
    return scope, walk


def trace_row(model: str, seed: int, number: int) -> dict[str, Any]:
    """The trace of this number, as a row of `schema.TRACES`."""
    scope, walk = drawn(model, seed, number)
    return row_of(walk, scope, number)


def row_of(walk: Walk, scope: int, number: int = 0) -> dict[str, Any]:
    """A walk in a scope as a row of `schema.TRACES`."""
    run = walk.run()
    return {
        "trace": number,
        "scope": scope,
        "config": list(walk.context.config.items()),
        "clock": "virtual",
        "lag_ms": 0,
        "steps": step_rows(run.events, run.senders),
        "turns": turn_rows(walk.choices, run),
    }


def turn_rows(choices: Sequence[WalkChoice], run: Run) -> list[dict[str, Any]]:
    """What was chosen, by which rules it went, and what the group was then."""
    return [
        {
            "act": choice.kind,
            "client": choice.client,
            "outcome": choice.outcome,
            "rules": list(turn.rules),
            "state": _state(turn.world.group),
        }
        for choice, turn in zip(choices, run.turns, strict=True)
    ]


def choices_of(turns: Iterable[dict[str, Any]]) -> tuple[WalkChoice, ...]:
    """What was chosen, from the rows."""
    return tuple(WalkChoice(turn["act"], turn["client"], turn["outcome"]) for turn in turns)


@lru_cache(maxsize=20_000)
def _state(group: Group | None) -> str:
    return state_words(group)
