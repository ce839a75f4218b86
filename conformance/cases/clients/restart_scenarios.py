"""Scenarios of restarts, and of what leaders assign, for each assignor."""

from __future__ import annotations

from fencepost.conformance.cases.clients.ordinary import passed, settled
from fencepost.conformance.cases.clients.provocation import Action, Provocation
from fencepost.conformance.cases.clients.scenario import Scenario, Setting, client_id
from fencepost.conformance.cases.clients.scenario_steps import (
    AnyAct,
    Await,
    Calls,
    Close,
    Crash,
    Provoke,
    Start,
)

ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative")
"""What restarts are tried with; `cooperative` is whichever cooperative one a library has."""

_A, _B, _C = (("a", "i-1"), ("b", "i-2"), ("c", "i-3"))
_LEADER = ("CLIENT-LEADER-MEMBERS", "CLIENT-LEADER-ONCE", "CLIENT-LEADER-WHOLE")


def _group(*members: tuple[str, str]) -> tuple[AnyAct, ...]:
    """Members that come one after the other; the first one leads."""
    acts: list[AnyAct] = []
    for index, (name, instance) in enumerate(members):
        acts += [Start(name, instance), settled(*(m for m, _ in members[: index + 1]))]
    return tuple(acts)


def _restarted(name: str, instance: str, *group: tuple[str, str]) -> tuple[AnyAct, ...]:
    return (
        Close(name),
        Start(name, instance),
        settled(*(member for member, _ in group), needed=False),
    )


def _named(base: str, assignor: str) -> str:
    return base if assignor == "range" else f"{base}-{assignor}"


def _follower(assignor: str) -> Scenario:
    judged: tuple[str, ...] = ("CLIENT-RESTART-FOLLOWER",)
    if assignor == "cooperative":
        judged += ("CLIENT-RESTART-COOPERATIVE",)
    return Scenario(
        _named("follower-restarts", assignor),
        f"A follower is closed and started again, with the assignor {assignor}.",
        judged,
        (*_group(_A, _B), *_restarted(*_B, _A, _B), passed(1000)),
        assignor=assignor,
    )


def _rolled(assignor: str) -> Scenario:
    judged: tuple[str, ...] = ("CLIENT-RESTART-ALL", *_LEADER)
    if assignor == "cooperative":
        judged += ("CLIENT-LEADER-COOPERATIVE",)
    acts = [act for member in (_B, _A, _C) for act in _restarted(*member, _A, _B, _C)]
    return Scenario(
        _named("all-restart", assignor),
        f"Three members are restarted one after the other, with the assignor {assignor}.",
        judged,
        (
            *_group(_A, _B, _C),
            *acts,
            passed(500),
        ),
        assignor=assignor,
    )


def _rebalanced(assignor: str) -> Scenario:
    again = Provocation("Heartbeat", Action.ERROR, client_id("a", 1), code="REBALANCE_IN_PROGRESS")
    return Scenario(
        _named("rebalance-after-restart", assignor),
        "A follower is restarted; then the leader is made to join again, with the assignor "
        f"{assignor}.",
        (*_LEADER, "CLIENT-LEADER-INSTANCES"),
        (
            *_group(_A, _B, _C),
            *_restarted(*_B, _A, _B, _C),
            Provoke((again,)),
            Await(Calls("a", "JoinGroup"), needed=True),
            settled("a", "b", "c", needed=False),
        ),
        assignor=assignor,
    )


RESTARTS = (
    *(_follower(assignor) for assignor in ASSIGNORS),
    Scenario(
        "follower-crashes",
        "The process of a follower is killed and started again.",
        ("CLIENT-RESTART-CRASHED",),
        (*_group(_A, _B), Crash("b"), Start(*_B), settled("a", "b", needed=False), passed(500)),
    ),
    Scenario(
        "leader-restarts",
        "The leader is closed and started again, with the newest versions.",
        ("CLIENT-RESTART-LEADER", "CLIENT-RESTART-SKIPPED"),
        (*_group(_A, _B), *_restarted(*_A, _A, _B), passed(1000)),
    ),
    Scenario(
        "leader-restarts-below-join-9",
        "The leader is closed and started again at a broker of Kafka 3.1.",
        ("CLIENT-RESTART-LEADER-OLD",),
        (*_group(_A, _B), *_restarted(*_A, _A, _B), passed(1000)),
        broker=Setting(as_of="3.1"),
    ),
    *(_rolled(assignor) for assignor in ASSIGNORS),
    *(_rebalanced(assignor) for assignor in ASSIGNORS),
)
