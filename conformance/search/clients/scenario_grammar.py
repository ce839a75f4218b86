"""Draw scenarios at random: what may follow what, so that each makes sense.

A few consumers are started and settle; then things go wrong or are done to them; at the end all is
left in peace, and they have the time to come back.  The same seed and number give the same scenario
for the same library.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fencepost.conformance.cases.clients.ordinary import passed
from fencepost.conformance.cases.clients.provocation import Action, Provocation
from fencepost.conformance.cases.clients.restart_scenarios import ASSIGNORS
from fencepost.conformance.cases.clients.scenario import Scenario, Setting, client_id
from fencepost.conformance.cases.clients.scenario_steps import (
    AnyAct,
    Await,
    Close,
    Commit,
    Crash,
    Expire,
    Load,
    Move,
    NotAvailable,
    PollOn,
    Produce,
    Provoke,
    Relent,
    Remove,
    Settings,
    Settled,
    Start,
    StopPolling,
    Subscribe,
    Unsubscribe,
)
from fencepost.conformance.clients.scenario_run import assignor_in
from fencepost.properties.requirements.driver_messages import Introduction

_NAMES = ("a", "b", "c")
_RIVAL = "rival"
_BEGIN_MS, _LEAST_MS, _END_MS = 12_000, 4000, 10_000
_STEPS = range(2, 7)
_PAUSES_MS = (300, 800, 1500)
_OUTAGES_MS = (500, 1500)
_LATE_MS = (200, 1000, 3000)

_MOVING = ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS")
_LOST = ("UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID")
_ERRORS = {
    "JoinGroup": (*_LOST, *_MOVING),
    "SyncGroup": (*_LOST, "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", *_MOVING),
    "Heartbeat": (*_LOST, "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", *_MOVING),
    "OffsetCommit": (*_LOST, "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", *_MOVING),
}
"""What a broker may answer to each."""


@dataclass(slots=True)
class _Draft:
    """A scenario so far: its acts, who runs, and what the library can do."""

    dice: random.Random
    features: frozenset[str]
    nodes: int
    instances: dict[str, str | None] = field(default_factory=dict)
    lives: dict[str, int] = field(default_factory=dict)
    running: list[str] = field(default_factory=list)
    settings: Settings = field(default_factory=Settings)
    acts: list[AnyAct] = field(default_factory=list)

    def start(self, name: str) -> None:
        self.lives[name] = self.lives.get(name, 0) + 1
        self.running.append(name)
        self.acts.append(Start(name, self.instances[name], settings=self.settings))

    def anyone(self) -> str:
        return self.dice.choice(self.running)

    def settled(self, within_ms: int, *, needed: bool = False) -> None:
        self.acts.append(Await(Settled(tuple(self.running)), within_ms, needed))


def drawn(seed: int, number: int, introduction: Introduction) -> Scenario:
    """Draw the scenario of this number, for a library with these features and assignors."""
    dice = random.Random(f"{seed}/{number}")  # noqa: S311  (no secret)
    features = frozenset(introduction.features)
    assignors = [name for name in ASSIGNORS if assignor_in(introduction, name) is not None]
    nodes = dice.choice((1, 1, 2))
    draft = _Draft(dice, features, nodes)
    if "auto-commit" in features and dice.random() < 0.5:
        draft.settings = Settings(auto_commit_ms=300)
    is_static = "static" in features
    names = _NAMES[: dice.choice((1, 2, 2, 3))]
    for name in names:
        draft.instances[name] = f"i-{name}" if is_static and dice.random() < 0.85 else None
    draft.acts.append(Produce())
    for name in names:
        draft.start(name)
    draft.settled(_BEGIN_MS, needed=True)
    for _ in range(dice.choice(_STEPS)):
        steps = _possible(draft)
        dice.choices([step for step, _ in steps], [weight for _, weight in steps])[0](draft)
    draft.acts.append(Relent())
    draft.acts += [PollOn(name) for name in draft.running]
    draft.settled(_END_MS)
    draft.acts.append(passed(500))
    return Scenario(
        f"drawn-{seed}-{number}",
        f"Drawn with seed {seed}, number {number}.",
        (),
        tuple(draft.acts),
        needs=(),
        assignor=dice.choice(assignors) if assignors else None,
        broker=Setting(as_of=dice.choice((None, None, None, "3.1")), nodes=nodes),
    )


_Step = Callable[[_Draft], None]


def _possible(draft: _Draft) -> Sequence[tuple[_Step, int]]:
    """The steps that make sense now, with their weights."""
    steps: list[tuple[_Step, int]] = [
        (_error, 6),
        (_trouble, 3),
        (_restart, 2),
        (_crash, 1),
        (_outage, 1),
        (_produce, 1),
        (_pause, 2),
        (_settle, 2),
        (_stop_polling, 1),
        (_unsubscribe, 1),
    ]
    if "manual-commit" in draft.features:
        steps.append((_commit, 2))
    if draft.nodes > 1:
        steps.append((_move, 2))
    if any(draft.instances[name] is not None for name in draft.running):
        steps += [(_remove, 2)]
        if _RIVAL not in draft.lives:
            steps.append((_rival, 1))
    return steps


def _error(draft: _Draft) -> None:
    api = draft.dice.choice(list(_ERRORS))
    code = draft.dice.choice(_ERRORS[api])
    last = draft.dice.choice((1, 1, 3))
    draft.acts.append(Provoke((Provocation(api, Action.ERROR, _who(draft), last=last, code=code),)))


def _trouble(draft: _Draft) -> None:
    api = draft.dice.choice(list(_ERRORS))
    action = draft.dice.choice((Action.LOSE, Action.CUT, Action.DELAY, Action.THROTTLE))
    ms = 0 if action is Action.LOSE else draft.dice.choice(_LATE_MS)
    draft.acts.append(Provoke((Provocation(api, action, _who(draft), ms=ms),)))


def _who(draft: _Draft) -> str:
    name = draft.anyone()
    return client_id(name, draft.lives[name])


def _restart(draft: _Draft) -> None:
    name = draft.anyone()
    draft.acts.append(Close(name))
    draft.running.remove(name)
    draft.start(name)


def _crash(draft: _Draft) -> None:
    name = draft.anyone()
    draft.acts.append(Crash(name))
    draft.running.remove(name)
    draft.start(name)


def _rival(draft: _Draft) -> None:
    """Start another process with the instance id of one that runs."""
    static = [name for name in draft.running if draft.instances[name] is not None]
    draft.instances[_RIVAL] = draft.instances[draft.dice.choice(static)]
    draft.start(_RIVAL)
    _pause(draft)


def _remove(draft: _Draft) -> None:
    static = [name for name in draft.running if draft.instances[name] is not None]
    draft.acts.append(draft.dice.choice((Remove, Expire))(draft.dice.choice(static)))


def _move(draft: _Draft) -> None:
    draft.acts.append(Move())


def _outage(draft: _Draft) -> None:
    kind = draft.dice.choice((Load, NotAvailable))
    draft.acts.append(kind(draft.dice.choice(_OUTAGES_MS)))


def _produce(draft: _Draft) -> None:
    draft.acts.append(Produce())


def _commit(draft: _Draft) -> None:
    draft.acts.append(Commit(draft.anyone()))


def _stop_polling(draft: _Draft) -> None:
    name = draft.anyone()
    draft.acts += [StopPolling(name), passed(draft.dice.choice(_PAUSES_MS)), PollOn(name)]


def _unsubscribe(draft: _Draft) -> None:
    name = draft.anyone()
    draft.acts += [Unsubscribe(name), passed(draft.dice.choice(_PAUSES_MS)), Subscribe(name)]


def _pause(draft: _Draft) -> None:
    draft.acts.append(passed(draft.dice.choice(_PAUSES_MS)))


def _settle(draft: _Draft) -> None:
    draft.settled(_LEAST_MS)
