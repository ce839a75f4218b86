"""The bound `small`, at which the cover suites are made: few clients, many scopes.

Decides what "small groups" are.  Everything at once is too much even for two clients: a static and
a dynamic member with all that can happen to them have fifty thousand transitions, which take two
hundred thousand steps to walk.  So the bound is a list of casts, each with a question of its own;
together they are walked in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.properties.worlds.scope import ActKind, Scope


@dataclass(frozen=True, slots=True)
class Cast:
    """One scope of a bound, by name; `about`: who its clients are, and what they do."""

    name: str
    about: str
    scope: Scope


_ALONE: tuple[ActKind, ...] = (
    "join",
    "stranger",
    "sync",
    "heartbeat",
    "commit",
    "leave",
    "drop",
    "restart",
    "tick",
)

SMALL: tuple[Cast, ...] = (
    Cast(
        "zombies",
        "two processes of one static member, with all that can happen to them",
        Scope(clients=2, members=2, acts=(*_ALONE, "remove")),
    ),
    Cast(
        "loner",
        "a dynamic member and what it leaves behind, with all that can happen to it",
        Scope(clients=1, dynamic=1, members=2, acts=_ALONE),
    ),
    Cast(
        "neighbours",
        "a static and a dynamic member that start again",
        Scope(clients=2, dynamic=1, members=2, acts=("join", "sync", "heartbeat", "restart")),
    ),
    Cast(
        "veterans",
        "the same, in versions from before MEMBER_ID_REQUIRED and skipAssignment",
        Scope(clients=2, dynamic=1, members=2, old=2, acts=("join", "sync", "restart")),
    ),
    Cast(
        "trio",
        "two processes of one static member beside a dynamic one",
        Scope(clients=3, dynamic=1, members=2, acts=("join", "sync", "heartbeat")),
    ),
    Cast(
        "subscribers",
        "a static and a dynamic member that change what they offer",
        Scope(clients=2, dynamic=1, members=2, offers=3, acts=("join", "change", "sync")),
    ),
    Cast(
        "leavers",
        "a static and a dynamic member that leave or fall silent",
        Scope(clients=2, dynamic=1, members=2, acts=("join", "sync", "leave", "tick")),
    ),
    Cast(
        "absentees",
        "a static and a dynamic member that stay alive without joining again",
        Scope(clients=2, dynamic=1, members=2, acts=("join", "heartbeat", "tick")),
    ),
)
