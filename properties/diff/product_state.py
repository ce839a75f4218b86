"""States of two revisions in lockstep: sets of worlds, and what parts them.

A response of one revision is an act in a world, what it answers to whom, and by which rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fencepost.properties.diff.readable_answers import WAITS, Meaning, Seen, meaning
from fencepost.properties.worlds.canonical import NOW
from fencepost.properties.worlds.world import Act, World, Worlds

Links = tuple[tuple[str, str], ...]
Key = tuple[str, int]
Rules = tuple[str, ...]
NOBODYS: frozenset[str] = frozenset({"tick", "failover"})
"""Acts that are no client's."""


class Side(NamedTuple):
    """A world of one revision (its number), and the names that clients use for its ids."""

    world: int
    links: Links


class Pair(NamedTuple):
    """All worlds of both revisions that explain what the clients were told.

    `suspects`: the differing rules that were used since both were last the same.
    """

    one: frozenset[Side]
    other: frozenset[Side]
    suspects: frozenset[str]


class Parted(NamedTuple):
    """The state in which answers differ.

    `decided`: the rule that decided on each side, "" for none; `suspects`: the differing rules that
    had made the worlds differ before.
    """

    decided: tuple[str, str]
    suspects: frozenset[str]


class Cut(NamedTuple):
    """A state that is followed no further, though the answers may be the same.

    The protocol leaves an answer open that one revision gives; or the two say the same in forms of
    which clients remember different things.
    """


class Doing(NamedTuple):
    """An act, and what the clients saw of it."""

    kind: str
    client: int
    seen: Seen


class Response(NamedTuple):
    """What an act leads to in a world: answers by client, names of ids afterwards, rules used."""

    act: Act
    after: World
    answers: tuple[tuple[int, Meaning], ...]
    names: Mapping[str, str]
    rules: Rules


class Arrival(NamedTuple):
    """A world that an act leads to, from which side, and by which move."""

    side: Side
    source: Side
    move: Response


Outcomes = dict[Seen, list[Arrival]]
State = Pair | Parted | Cut
Trace = Sequence[tuple[Doing | None, State]]


def move_of(model: Worlds, world: World, act: Act, after: World) -> Response:
    """Return what comes of an act that leads from one world to another."""
    if act.kind in {"restart", "drop"}:
        return Response(act, after, (), model.places(world, act, None)[1], ())
    done = model.transitions(world, act.kind, act.client)[act.choice]
    answers = {} if act.client < 0 else {act.client: WAITS}
    for emission in done.emissions:
        if emission.request_id == NOW:
            answers[act.client] = meaning(emission.message)
            continue
        for index, client in enumerate(world.clients):
            if client.waits == emission.request_id and index != act.client:
                answers[index] = meaning(emission.message)
    rules = tuple(rule.id for view in done.views for rule in view.rules)
    names = model.places(world, act, done)[1]
    return Response(act, after, tuple(sorted(answers.items())), names, rules)
