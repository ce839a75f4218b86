"""A second protocol, made up here, runs through tables, soundness, machine and explorer."""

# ruff: noqa: ARG002, ARG005  (the functions of a protocol have one signature)

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, ClassVar

import msgspec
import pytest

from fencepost.model.machine import Machine
from fencepost.model.messages.errors import Error
from fencepost.model.messages.shapes import Message
from fencepost.model.protocol import Protocol
from fencepost.model.revision import DropRule, Revision, derive
from fencepost.model.revisions.revision_soundness import revision_faults
from fencepost.model.table.columns import Columns
from fencepost.model.table.expr import ALWAYS, Feature
from fencepost.model.table.step_soundness import Need, Steps
from fencepost.model.table.table import Rule, Table
from fencepost.model.work import Incoming, Outcome, Span, Timer, Work, hull, without_times
from fencepost.properties.explorer.explorer import explore

NOW = Span(0, 0)


class Step(Enum):
    TAKE = "the caller takes the lock"
    FREE = "the lock is free"


class Lock(msgspec.Struct, frozen=True):
    owner: str = ""
    timers: tuple[Timer, ...] = ()

    def with_timer(self, kind: str, subject: str, earliest: int, latest: int) -> Lock:
        return Lock(self.owner, (Timer(kind, subject, earliest, latest),))

    def without_timer(self, kind: str, subject: str = "") -> Lock:
        return Lock(self.owner)

    def outline(self) -> tuple[object, ...]:
        return self.owner, self.timers

    def timeless(self) -> Lock:
        return Lock(self.owner, without_times(self.timers))

    def widened(self, twin: Lock) -> Lock:
        return Lock(self.owner, hull(self.timers, twin.timers))

    def recounted(self, since: int, by: int) -> Lock:
        return self

    def renamed(self, names: Mapping[str, str]) -> Lock:
        return Lock(names.get(self.owner, self.owner), self.timers)


class LockWork(Work[Lock]):
    @staticmethod
    def new_group() -> Lock:
        return Lock()


class Take(Message, frozen=True):
    API: ClassVar[str] = "Take"


class Free(Message, frozen=True):
    API: ClassVar[str] = "Free"


class Place(msgspec.Struct, frozen=True):
    free: Any

    def after(self, do: Step) -> Place:
        return Place(free=do is Step.FREE)


IS_FREE = Feature("free", (False, True), "whether nobody has the lock")
COLUMNS = Columns({"free": IS_FREE}, (), lambda _: True, ("free",))
NEED = Need("the lock is free", "the lock is taken", "ask for free=True", lambda place: place.free)
STEPS = Steps(
    Step,
    {"Take": frozenset({Step.TAKE})},
    {Step.TAKE: (NEED,)},
    lambda at: Place(at(IS_FREE)),
    frozenset(),
    Step.TAKE,
    without_request=frozenset({"end"}),
)


def take(work: LockWork) -> None:
    work.group = Lock(work.caller)
    work.set_timer("lease", "", 10)


def free(work: LockWork) -> None:
    work.group = Lock()


def handle(
    machine: Machine, group: Lock | None, request: Incoming, message: Message, *_: object
) -> tuple[Outcome, ...]:
    work = LockWork(group, NOW, request)
    work.caller = request.client_id
    rule = machine.decide(request.api, (not work.group.owner,))
    done = machine.perform(work, rule)
    for one in done:
        one.emit(request.id, message if rule.answer is Error.NONE else None)
    return tuple(one.outcome() for one in done)


LOCKS: Protocol[Lock, LockWork] = Protocol(
    name="locks",
    apis=("Take", "Free"),
    columns=COLUMNS,
    steps=STEPS,
    work=LockWork,
    effects=lambda config, revision: {Step.TAKE: take, Step.FREE: free},
    handlers={Take: handle, Free: handle},
    timers={"lease": lambda m, group, work, timer: m.perform(work, m.decide("end", ()))},
    failover=lambda machine, group, work: [work],
    operations={},
    is_unused=lambda group: not group.owner,
)


def rule(name: str, guard: Any, *effect: Step, answer: Error | None = Error.NONE) -> Rule:
    return Rule(name, guard, effect, answer, source="made up", because="made up")


GRANT = rule("TAKE-FREE", COLUMNS.guard({"free": True}), Step.TAKE)
DENY = rule("TAKE-TAKEN", COLUMNS.guard({"free": False}), answer=Error.UNKNOWN_SERVER_ERROR)
TABLES = {
    "Take": Table("Take", (IS_FREE,), (), (GRANT, DENY)),
    "Free": Table("Free", (IS_FREE,), (), (rule("FREE", ALWAYS, Step.FREE),)),
    "end": Table("end", (), (), (rule("END", ALWAYS, Step.FREE, answer=None),)),
}
BASE = Revision("locks-1", "locks", LOCKS, TABLES, {"Take": (0, 0), "Free": (0, 0)})


def test_a_second_protocol_is_sound_or_told_why_not() -> None:
    assert revision_faults(BASE) == []
    (hole,) = revision_faults(derive(BASE, "own", "", (DropRule("Take", DENY.id, "tried"),)))
    assert hole.startswith("table Take: no rule decides: free False; add a rule")
    taken = Table("Take", (IS_FREE,), (), (rule("TAKE", ALWAYS, Step.TAKE),))
    (fault,) = revision_faults(_with(taken))
    assert "can't be done where the lock is taken" in fault


def _with(table: Table) -> Revision:
    return Revision("own", "", LOCKS, {**TABLES, table.name: table}, BASE.apis)


class Locks:
    """Two clients that take and free a lock, whose lease may end."""

    machine = Machine(BASE)

    def initial(self) -> list[Lock]:
        return [Lock()]

    def successors(self, lock: Lock) -> Iterator[tuple[str, Lock]]:
        for client in ("a", "b"):
            for message in (Take(), Free()):
                api = type(message).API
                request = Incoming("r", client, api, 0, message, "")
                for outcome in self.machine.handle(lock, request, NOW):
                    yield f"{client} {api}", outcome.group
        for timer in lock.timers:
            for outcome in self.machine.expire(lock, timer, Span(10, 10)):
                yield "end", outcome.group


def test_a_second_protocol_runs_and_is_explored() -> None:
    assert explore(Locks()).states == 3  # free, or taken by one of two


def test_a_message_of_no_api_is_refused() -> None:
    with pytest.raises(TypeError, match="Message is a message of no API"):
        Machine(BASE).handle(None, Incoming("r", "a", "", 0, Message(), ""), NOW)
