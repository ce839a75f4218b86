"""Draw random traces from the model.

A trace has ten to twenty-five acts of a few clients, on a virtual clock; each client may do
whatever its state allows.  A trace depends only on the seed, its number and its
model.  `state_words` names the state of a group without ids, generations, deadlines and bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from random import Random
from typing import Any

from fencepost.model.classic.group import Group, Member
from fencepost.properties.checking.random_walk import (
    KINDS,
    Walk,
    WalkChoice,
    WalkContext,
    walk_scopes,
)
from fencepost.properties.mutants.mutants import find_revision
from fencepost.properties.worlds.concretise import Run
from fencepost.traces.pipeline.storage.trace_rows import step_rows

_ACTS = tuple(kind for kind in KINDS if kind != "describe")
"""Worlds know no client ids, which DescribeGroups would tell."""
SCOPES = walk_scopes(_ACTS)
"""The scopes of traces; one is drawn for each trace."""

_FEWEST, _MOST = 10, 25
_WAYS = 1 << 12
_DISTURBING = tuple(k for k in _ACTS if k not in {"join", "sync", "tick", "heartbeat"})
"""Kinds that only some traces have: with all of them in each, few groups would ever be stable."""

_STRETCH = 20_000
"""After so many numbers the caches of a model are dropped, so that memory does not grow."""


@lru_cache(maxsize=len(SCOPES) * 2)
def ground(model: str, scope: int, stretch: int = 0) -> WalkContext:
    """Return the worlds of a model for traces of a scope; `stretch`: a range of numbers."""
    del stretch
    return WalkContext(find_revision(model), SCOPES[scope])


def drawn(model: str, seed: int, number: int) -> tuple[int, Walk]:
    """Return the scope and the walk of the trace of this number."""
    chance = Random(f"{seed}/{number}")  # noqa: S311  (it must be the same each time)
    scope = chance.randrange(len(SCOPES))
    bits = chance.getrandbits(len(_DISTURBING))
    without = frozenset(k for i, k in enumerate(_DISTURBING) if not bits >> i & 1)
    walk = Walk(ground(model, scope, number // _STRETCH))
    for _ in range(chance.randint(_FEWEST, _MOST)):
        walk.choose(chance.randrange(_WAYS), without)
    return scope, walk


def trace_row(model: str, seed: int, number: int) -> dict[str, Any]:
    """Return the trace of this number, as a row of `schema.TRACES`."""
    scope, walk = drawn(model, seed, number)
    return row_of(walk, scope, number)


def row_of(walk: Walk, scope: int, number: int = 0) -> dict[str, Any]:
    """Return a walk in a scope as a row of `schema.TRACES`."""
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
    """Return what was chosen, the rules used, and the group's state after it."""
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
    """Return the choices in these rows."""
    return tuple(WalkChoice(turn["act"], turn["client"], turn["outcome"]) for turn in turns)


@lru_cache(maxsize=20_000)
def _state(group: Group | None) -> str:
    return state_words(group)


ABSENT = "no group"


def state_words(group: Group | None) -> str:
    """Describe a state, such as `Stable: dynamic leading, many static owes; offsets`."""
    if group is None:
        return ABSENT
    kinds = Counter(_kind(member, group.leader) for member in group.members)
    members = ", ".join(f"many {k}" if n > 1 else k for k, n in sorted(kinds.items()))
    said = (
        f"{group.state.value}: {members or 'nobody'}",
        {0: "", 1: "pending"}.get(len(group.pending), "many pending"),
        "delay" if group.delay is not None else "",
        "offsets" if group.offsets else "",
    )
    return "; ".join(filter(None, said))


def _kind(member: Member, leader: str | None) -> str:
    said = (
        "static" if member.is_static else "dynamic",
        "leading" if member.member_id == leader else "",
        "joining" if member.joining is not None else "",
        "syncing" if member.syncing is not None else "",
        "new" if member.new else "",
        "owes" if member.owes_sync else "",
    )
    return " ".join(filter(None, said))
