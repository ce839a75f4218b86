"""Build worlds: the real model with its clients as a system to explore, within a scope.

A world is a group in canonical form (`fencepost.properties.worlds.canonical`) and the knowledge of
each client.  Time passes in ticks: a session lasts two, a rebalance timeout three; all timers that
are due in a tick fire, each at its deadline, in every order that their deadlines allow, so each
path is a run that a clock could have.  A timer that is due at once (an initial delay of 0) fires
before anything else happens.

A world is bounded by its `Scope` alone: the numbers of clients, of members and pending ids at once,
and the kinds of acts.  Generations, ids and restarts are not bounded, since worlds that differ in
names alone are one.  Clients of one kind are folded: worlds that differ only in the assignment of
knowledge to equal clients are one world.  That would be unsound for a property of one client along
a path (fairness), so lassos are searched for without folding.

Outcomes of an event are judged, and in canonical form.  Two outcomes are one if they have the same
group, names and answers, and no different notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from fencepost.model.coordinator import PARTITIONS
from fencepost.model.machine import Machine
from fencepost.model.messages.shapes import Message
from fencepost.model.revision import Revision
from fencepost.model.work import Emission, Incoming, Outcome, Span
from fencepost.properties.worlds.compact_worlds import CompactWorlds, Note
from fencepost.properties.worlds.protocol_worlds import (
    CUT_OFFS,
    FRESH,
    GROUP,
    NOW,
    TICK_MS,
    Ask,
    Naming,
    Seat,
    own_answer,
)
from fencepost.properties.worlds.scope import ActKind, Scope, ScopeError
from fencepost.properties.worlds.views import Event, Failover, StepView, WorldView
from fencepost.properties.worlds.worlds_by_protocol import worlds_of

_INSTANT = Span(0, 0)
_OF_NOBODY = frozenset({"tick", "failover"})
"""Acts that no client does."""


class Transition(NamedTuple):
    """An outcome for the group: its steps, its answers, and the names afterwards."""

    naming: Naming
    emissions: tuple[Emission, ...]
    views: tuple[StepView, ...]
    faults: tuple[str, ...]
    about: tuple[str, ...]


_Raw = tuple[Any, tuple[Emission, ...], tuple[StepView, ...]]
Judge = Callable[[StepView], tuple[Iterable[str], Iterable[str]]]


class Outcomes:
    """Computes the outcomes for one group at a time; `judge` makes the notes."""

    def __init__(self, revision: Revision, scope: Scope, judge: Judge | None) -> None:
        self.machine = Machine(revision, scope.config())
        self._protocol = worlds_of(revision)
        self._rules = {rule.id: rule for _, rule in revision.rules()}
        self._judge = judge
        self._same: Naming | None = None
        self._scope = scope
        self._keeps_stored = scope.ends_groups
        self._allows = scope.allows

    def request(self, group: Any, incoming: Incoming) -> tuple[Transition, ...]:
        """Return the outcomes of a request."""
        outcomes = self.machine.handle(group, incoming, _INSTANT, group_id=GROUP)
        return self._made(
            group,
            (
                after
                for outcome in outcomes
                for after in self._fired(
                    outcome.group, outcome.emissions, (self.view(group, incoming, outcome),), 0
                )
            ),
        )

    def failover(self, group: Any) -> tuple[Transition, ...]:
        """Return the outcomes of another coordinator taking over."""
        outcomes = self.machine.failover(group, _INSTANT)
        return self._made(
            group,
            (
                (outcome.group, outcome.emissions, (self.view(group, Failover(), outcome),))
                for outcome in outcomes
            ),
        )

    def tick(self, group: Any) -> tuple[Transition, ...]:
        """Return the outcomes of a tick of time."""
        return self._made(
            group,
            (
                (None if after is None else after.shifted(-TICK_MS), emissions, views)
                for after, emissions, views in self._fired(group, (), (), TICK_MS)
            ),
        )

    def _fired(
        self,
        group: Any,
        emissions: tuple[Emission, ...],
        views: tuple[StepView, ...],
        until: int,
    ) -> Iterator[_Raw]:
        """Fire the timers that are due, each at its deadline, those due together in every order."""
        timers = () if group is None else group.timers
        first = min((t.earliest for t in timers), default=until + 1)
        if first > until:
            yield group, emissions, views
            return
        assert group is not None
        for timer in timers:
            if timer.earliest == first:
                for outcome in self.machine.expire(group, timer, Span(first, first)):
                    view = self.view(group, timer, outcome)
                    answers = (*emissions, *outcome.emissions)
                    yield from self._fired(outcome.group, answers, (*views, view), until)

    def view(self, group: Any, event: Event, outcome: Outcome) -> StepView:
        """Return a step as properties see it."""
        rules = tuple(self._rules[r] for r in outcome.rules)
        return StepView(group, event, outcome.group, outcome.emissions, rules, self._keeps_stored)

    def _made(self, before: Any, outcomes: Iterable[_Raw]) -> tuple[Transition, ...]:
        """Judge outcomes and give them canonical form, each once.  `before` has it already."""
        every = tuple(self._judged(before, *transition) for transition in outcomes)
        if len(every) == 1:
            return every
        made: dict[tuple[object, ...], Transition] = {}
        for transition in every:
            ids = tuple(sorted(transition.naming.ids.items()))
            notes = transition.faults, transition.about
            key = (transition.naming.group, ids, transition.emissions, *notes)
            made.setdefault(key, transition)
        return tuple(made.values())

    def _judged(
        self,
        before: Any,
        group: Any,
        emissions: tuple[Emission, ...],
        views: tuple[StepView, ...],
    ) -> Transition:
        if group is before:
            naming = self.unchanged(group)
        else:
            naming = self._protocol.named(self._scope, group)
        if self._judge is None or not self._allows(group):
            return Transition(naming, emissions, views, (), ())  # beyond the scope: not judged
        faults: set[str] = set()
        about: set[str] = set()
        for view in views:
            against, reached = self._judge(view)
            faults.update(against)
            about.update(reached)
        return Transition(naming, emissions, views, tuple(sorted(faults)), tuple(sorted(about)))

    def unchanged(self, group: Any) -> Naming:
        """Return the names of a group that stays as it is."""
        if self._same is None or self._same.group is not group:
            self._same = self._protocol.unchanged(group)
        return self._same


__all__ = ["Act", "Transition", "World", "Worlds"]


class World(NamedTuple):
    """A group, None if there is none, and the knowledge of its clients."""

    group: Any
    clients: tuple[Any, ...]


class Act(NamedTuple):
    """An act: its kind, the client that does it (-1: no client), and its outcome.

    The evaluator's notes (`fencepost.properties.checking.evaluator`): `faults`, and the properties
    that the act was `about`.
    """

    kind: str
    client: int = -1
    choice: int = 0
    faults: tuple[str, ...] = ()
    about: tuple[str, ...] = ()


class Worlds:
    """A revision within a scope; `judge` makes the notes on each step."""

    def __init__(self, revision: Revision, scope: Scope, judge: Judge | None = None) -> None:
        self.revision = revision
        self.protocol = worlds_of(revision)
        if scope.protocol != revision.protocol.name:
            raise ScopeError(
                f"the scope is of the {scope.protocol} protocol, and {revision.name} of the "
                f"{revision.protocol.name} protocol; give a scope of that one"
            )
        self.scope = scope
        self.seats = scope.seats(revision)
        self._outcomes = Outcomes(revision, scope, judge)
        self.machine = self._outcomes.machine
        self._known: dict[tuple[object, ...], tuple[Transition, ...]] = {}
        self._kinds = _alike(self.seats, scope.newcomers())
        self._acts_of_clients = tuple(act for act in scope.acts if act not in _OF_NOBODY)
        self._partitions = self.machine.config.get(PARTITIONS) or 1

    # The system, as the explorer wants it.

    def initial(self) -> Iterable[World]:
        """Yield the world without a group; clients know nothing (zombies: an unknown id)."""
        yield World(None, self.scope.newcomers())

    def successors(self, world: World) -> Iterator[tuple[Act, World]]:
        """Yield every enabled act and its next world."""
        for kind, index in self.enabled(world):
            yield from self.results(world, kind, index)

    def results(self, world: World, kind: str, index: int) -> Iterator[tuple[Act, World]]:
        """Yield every outcome of an enabled act, and its world, if it is within the scope."""
        if kind in CUT_OFFS:
            yield Act(kind, index), self._placed(*self._cut_off(world, kind, index))[0]
            return
        for choice, transition in enumerate(self.transitions(world, kind, index)):
            after = self._after(world, kind, index, transition)
            if self.scope.allows(after.group):
                yield Act(kind, index, choice, transition.faults, transition.about), after

    def taken(
        self, world: World, kind: str, index: int, choice: int
    ) -> tuple[Act, World, Transition | None] | None:
        """Take one enabled act; the number of an outcome counts round.

        None where it leads out of the scope.
        """
        if kind in CUT_OFFS:
            return Act(kind, index), self._placed(*self._cut_off(world, kind, index))[0], None
        transitions = self.transitions(world, kind, index)
        choice %= len(transitions)
        done = transitions[choice]
        after = self._after(world, kind, index, done)
        if not self.scope.allows(after.group):
            return None
        return Act(kind, index, choice, done.faults, done.about), after, done

    def look(self, world: World) -> WorldView:
        """Return a world as properties see it."""
        scope = self.scope
        return WorldView(
            world.group,
            world.clients,
            self.seats,
            scope.fails_over,
            scope.places,
            self._partitions,
        )

    def enabled(self, world: World) -> Iterator[tuple[ActKind, int]]:
        """Yield the kinds of acts that can happen now, and their clients."""
        for index, client in enumerate(world.clients):
            for kind in self.acts_of(world.group, client, index):
                yield kind, index
        for kind in self._nobodys(world.group):
            yield kind, -1

    def _nobodys(self, group: Any) -> Iterator[ActKind]:
        if group is not None:
            if "tick" in self.scope.acts and self.scope.can_pass(group):
                yield "tick"
            if self.scope.fails_over:
                yield "failover"

    # The same for the explorer, which keeps worlds as numbers.

    def compact(self) -> CompactWorlds:
        """Return these worlds as integers."""
        return CompactWorlds(self)

    def world(self, group: Any, clients: tuple[Any, ...]) -> World:
        """Return a world."""
        return World(group, clients)

    def act(self, note: Note, index: int) -> Act:
        """Return an act of the client of this index (-1: of no client)."""
        return Act(note.kind, index, note.choice, note.faults, note.about)

    def acts_of(self, group: Any, client: Any, index: int) -> Iterator[ActKind]:
        """Yield the acts of a client with this knowledge and seat; no other client matters."""
        seat, can = self.seats[index], self.protocol.can
        for kind in self._acts_of_clients:
            if can(self.scope, group, client, kind, seat):
                yield kind

    def answers(self, group: Any, kind: str, ask: Ask) -> Iterator[tuple[Note, Transition]]:
        """Yield the outcomes of a client's request that the scope allows, whoever sends it."""
        for choice, done in enumerate(self._outcomes.request(group, _incoming(ask))):
            if self.scope.allows(done.naming.group):
                yield Note(kind, choice, done.faults, done.about), done

    def moves_of_nobody(self, group: Any) -> Iterator[tuple[Note, Transition]]:
        """Yield the acts of no client (time, failover) on a group."""
        for kind in self._nobodys(group):
            for choice, done in enumerate(self._outcomes_of(World(group, ()), kind, -1)):
                if self.scope.allows(done.naming.group):
                    yield Note(kind, choice, done.faults, done.about), done

    def transitions(self, world: World, kind: str, index: int) -> tuple[Transition, ...]:
        """Return the outcomes of an act for the group; cached, since many worlds share a group."""
        ask = () if index < 0 else self.ask(world.clients[index], kind, index)
        key = (world.group, kind, *ask)
        outcomes = self._known.get(key)
        if outcomes is None:
            outcomes = self._known[key] = self._outcomes_of(world, kind, index)
        return outcomes

    def _outcomes_of(self, world: World, kind: str, index: int) -> tuple[Transition, ...]:
        if kind == "tick":
            return self._outcomes.tick(world.group)
        if kind == "failover":
            return self._outcomes.failover(world.group)
        ask = self.ask(world.clients[index], kind, index)
        return self._outcomes.request(world.group, _incoming(ask))

    def ask(self, client: Any, kind: str, index: int) -> Ask:
        """Return the request that a client sends in this act."""
        return self.protocol.ask(self.scope, self.seats[index], client, kind)

    def asking(self, client: Any, kind: str) -> Any:
        """Return the client after it sent this request, before any answer."""
        return self.protocol.asking(self.scope, client, kind)

    def answered(self, client: Any, kind: str, answer: Message | None, waits: str) -> Any:
        """Return the client whose request was handled: it waits by this name, or was answered."""
        return self.protocol.answered(self.scope, client, kind, answer, waits)

    # What it means to the clients.

    def _after(self, world: World, kind: str, index: int, done: Transition) -> World:
        clients = self._clients_after(world, kind, index, done)
        return self._placed(done.naming, clients)[0]

    def _clients_after(self, world: World, kind: str, index: int, done: Transition) -> list[Any]:
        """Return the clients after an outcome, in the names of before."""
        clients = list(world.clients)
        if index >= 0:
            client = self.asking(clients[index], kind)
            own = own_answer(done.emissions, done.naming)
            clients[index] = self.answered(client, kind, *own)
        for i, client in enumerate(world.clients):
            if i != index:
                clients[i] = self.protocol.overheard(client, done.emissions)
        return clients

    def _cut_off(self, world: World, kind: str, index: int) -> tuple[Naming, list[Any]]:
        clients = list(world.clients)
        clients[index] = self.protocol.cut_off(clients[index], kind)
        return self.unchanged(world.group), clients

    def unchanged(self, group: Any) -> Naming:
        """Return the names of a group that stays as it is."""
        return self._outcomes.unchanged(group)

    def places(
        self, world: World, act: Act, done: Transition | None
    ) -> tuple[tuple[int, ...], dict[str, str]]:
        """Return the new places of clients and ids after a step.

        For each client of the next world its index in this one; each id of this world (and FRESH,
        where one was handed out) with its name in the next.
        """
        if done is None:
            naming, clients = self._cut_off(world, act.kind, act.client)
        else:
            naming, clients = done.naming, self._clients_after(world, act.kind, act.client, done)
        _, who, others = self._placed(naming, clients)
        return who, {**naming.ids, **others}

    def _placed(
        self, naming: Naming, clients: Sequence[Any]
    ) -> tuple[World, tuple[int, ...], dict[str, str]]:
        """Return the world of a renamed group and clients that still use the old names."""
        placed, who, others = self.arranged(
            [self.protocol.known_as(client, naming) for client in clients]
        )
        return World(naming.group, placed), who, others

    def arranged(
        self, renamed: Sequence[Any]
    ) -> tuple[tuple[Any, ...], tuple[int, ...], dict[str, str]]:
        """Return clients in canonical order, their places before, and names of unknown ids."""
        who = list(range(len(renamed)))
        if self.scope.fold:
            for kind in self._kinds:
                alike = sorted(kind, key=lambda i: self.protocol.order(renamed[i]))
                for place, i in zip(kind, alike, strict=True):
                    who[place] = i
        others: dict[str, str] = {}
        settled_clients = tuple(self.protocol.settled(renamed[i], others) for i in who)
        return settled_clients, tuple(who), others


def _incoming(ask: Ask) -> Incoming:
    return Incoming(NOW, "", ask.api, ask.version, ask.message, FRESH)


def _alike(seats: Sequence[Seat], clients: Sequence[Any]) -> tuple[tuple[int, ...], ...]:
    """Group clients of one kind, by index; those alone in their kind are left out."""
    kinds: dict[tuple[object, ...], list[int]] = {}
    for index, (seat, client) in enumerate(zip(seats, clients, strict=True)):
        versions = tuple(sorted(seat.versions.items()))
        key = (seat.instance, versions, seat.patience, bool(client.member_id))
        kinds.setdefault(key, []).append(index)
    return tuple(tuple(kind) for kind in kinds.values() if len(kind) > 1)
