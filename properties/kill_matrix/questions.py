"""The small worlds in which mutants are looked for, each with what it is there for.

Decides where all engines look, the same for each, so that what they find can be compared.  To the
questions by which revisions are checked come those that some mutant needs.
"""

from __future__ import annotations

from dataclasses import replace

from fencepost.properties.checking import checking
from fencepost.properties.checking.checking import Question
from fencepost.properties.worlds.scope import Scope

MORE = (
    Question(
        "initial delay",
        "two static members come during the initial delay",
        Scope(
            clients=2,
            instances=2,
            members=2,
            delay_ticks=1,
            acts=("join", "sync", "restart", "drop", "tick"),
        ),
    ),
    Question(
        "dynamic members",
        "two dynamic members that change what they subscribe to and lose connections",
        Scope(
            clients=2,
            dynamic=2,
            members=2,
            offers=2,
            acts=("join", "change", "sync", "heartbeat", "commit", "leave", "drop", "tick"),
        ),
    ),
    Question(
        "strangers",
        "somebody joins under an id that was never handed out, and an operator removes instances",
        Scope(
            clients=2,
            dynamic=1,
            members=2,
            acts=("join", "stranger", "sync", "remove", "restart", "tick"),
        ),
    ),
    Question(
        "old versions",
        "a static and a dynamic member that speak JoinGroup 5 and 3",
        Scope(
            clients=2,
            dynamic=1,
            old=2,
            members=2,
            acts=("join", "sync", "heartbeat", "leave", "restart", "tick"),
        ),
    ),
    Question(
        "three clients",
        "two processes of one instance beside another instance",
        Scope(
            clients=3,
            instances=2,
            members=2,
            acts=("join", "sync", "leave", "remove", "restart", "tick"),
        ),
    ),
    Question(
        "protocols",
        "two static members that offer one protocol or two",
        Scope(
            clients=2, instances=2, members=2, offers=3, acts=("join", "change", "sync", "restart")
        ),
    ),
    Question(
        "borrowed instances",
        "a dynamic member names an instance that nobody has",
        Scope(clients=1, dynamic=1, members=2, acts=("join", "pose", "claim", "sync", "tick")),
    ),
    Question(
        "patience",
        "two processes of one instance with different timeouts, beside a dynamic member",
        Scope(
            clients=3,
            dynamic=1,
            members=2,
            uneven=True,
            acts=("join", "sync", "heartbeat", "restart", "tick"),
        ),
    ),
    Question(
        "operators",
        "somebody asks about the group and its offsets, and sets them",
        Scope(
            clients=1,
            members=1,
            generations=2,
            acts=(
                "join",
                "sync",
                "commit",
                "save",
                "fetch",
                "describe",
                "list",
                "leave",
                "failover",
            ),
        ),
    ),
    Question(
        "bad manners",
        "a dynamic and a static member that say what isn't theirs to say",
        Scope(
            clients=2,
            dynamic=1,
            members=2,
            acts=("join", "sync", "mislead", "assign", "batch", "overlong", "tick"),
        ),
    ),
    Question(
        "no room",
        "two static members where there is room for one",
        Scope(clients=2, instances=2, members=2, places=1, acts=("join", "sync", "leave", "tick")),
    ),
)
QUESTIONS = (*checking.QUESTIONS, *MORE)
"""Where properties are held against a mutant."""

COMPARED = tuple(replace(question.scope, zombies=0) for question in QUESTIONS)
"""Where its answers are held against kafka-4's; comparison begins before any id is known."""

LASTING = (
    Question(
        "in the end",
        "two members, one static and one dynamic, that are there, silent or gone",
        Scope(clients=2, dynamic=1, members=2, acts=("join", "sync", "heartbeat", "tick")),
    ),
)
"""Where runs are looked for that never get there."""
