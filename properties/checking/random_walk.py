"""Walk randomly through worlds, act by act, and check each step.

By properties: each step and each world is checked, and at the end the answers of the whole run.  By
comparison: the oracle decides if another revision could have given the same answers; it is used
only for walks with a step that is not one of that revision's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fencepost.model.revision import Revision
from fencepost.properties.checking.evaluator import EXCUSED, Evaluator, broken, excused_rules
from fencepost.properties.claims.history_index import read
from fencepost.properties.logic.logic import Property, PropertyKind
from fencepost.properties.oracle.oracle import judge
from fencepost.properties.oracle.verdict import Violation
from fencepost.properties.worlds.concretise import Run, unfold
from fencepost.properties.worlds.scope import Scope
from fencepost.properties.worlds.world import Act, Transition, World, Worlds

_CARRIED_SINCE = {"pose": ("JoinGroup", 5), "claim": ("Heartbeat", 3), "batch": ("LeaveGroup", 3)}
"""Odd acts that name an instance, or several members."""


_FOLLOWED = 2_000
"""The most states that the oracle follows: it gives up walks with many lost answers."""


class WalkChoice(NamedTuple):
    """An act as it is drawn: its kind, its client (-1: of no client), its outcome."""

    kind: str
    client: int = -1
    outcome: int = 0


@dataclass(frozen=True, slots=True)
class Fault:
    """A broken property, in one sentence; its id is "" where only the comparison fails."""

    property_id: str
    sentence: str
    violation: Violation | None = None


class WalkContext:
    """The worlds of random walks, and the checks of each step.

    `properties`: those that have to hold, of any kind, where the revision doesn't expect otherwise;
    `reference`: a revision that has to be able to give the same answers, or None.
    """

    def __init__(
        self,
        revision: Revision,
        scope: Scope,
        properties: Iterable[Property] = (),
        reference: Revision | None = None,
    ) -> None:
        listed = tuple(properties)
        acts = tuple(kind for kind in scope.acts if _can_say(kind, scope, revision))
        # Folded, an act's client would be another one each time.
        self.scope = replace(scope, acts=acts, fold=False)
        self.judging = Evaluator(listed, revision)
        held = [p for p in listed if excused_rules(p, revision) is not None]
        self.states = [p for p in self.judging.of_worlds if p in held]
        self.histories = [p for p in held if p.kind is PropertyKind.HISTORY]
        self.worlds = Worlds(revision, self.scope, self.judging.judge if listed else None)
        self.drawing = self.worlds.protocol.drawing
        self.reference = reference
        self._theirs = None if reference is None else Worlds(reference, self.scope)
        self._faults: dict[World, Fault | None] = {}
        self._known: dict[tuple[object, ...], bool] = {}
        self._enabled: dict[World, dict[str, list[int]]] = {}

    @property
    def config(self) -> dict[str, int | None]:
        """The settings that the scope stands for."""
        return self.scope.config()

    def enabled(self, world: World) -> dict[str, list[int]]:
        """Kind → the clients that can do it, the simplest kinds first."""
        if world not in self._enabled:
            clients: dict[str, list[int]] = {}
            for kind, index in self.worlds.enabled(world):
                clients.setdefault(kind, []).append(index)
            kinds = self.drawing.kinds
            self._enabled[world] = {kind: clients[kind] for kind in kinds if kind in clients}
        return self._enabled[world]

    def of_world(self, world: World) -> Fault | None:
        """Return the fault of a world, or None."""
        if self.states and world not in self._faults:
            view = self.worlds.look(world)
            verdicts = ((claim.id, broken(claim, view)) for claim in self.states)
            self._faults[world] = next((Fault(i, s) for i, s in verdicts if s is not None), None)
        return self._faults.get(world)

    def is_theirs(self, world: World, act: Act, done: Transition | None) -> bool:
        """Return True if the reference could do the same from the same world."""
        if self._theirs is None or done is None:
            return True
        ask = () if act.client < 0 else self.worlds.ask(world.clients[act.client], *act[:2])
        key = (world.group, act.kind, ask, act.choice)
        if key not in self._known:
            theirs = self._theirs.transitions(world, act.kind, act.client)
            self._known[key] = _essence(done) in map(_essence, theirs)
        return self._known[key]

    def judged(self, run: Run) -> Fault | None:
        """Return the fault in the answers of a run, or None."""
        if self.reference is not None:
            history = list(run.events)
            verdict = judge(
                self.reference, self.config, history, lag_ms=0, limit=_FOLLOWED
            ).verdict()
            if verdict.violation is not None:
                return Fault("", verdict.violation.detail, verdict.violation)
        reading = read(run.events)
        for claim in self.histories:
            if claim.holds is not None and (sentence := claim.holds(reading)) is not None:
                return Fault(claim.id, sentence)
        return None


def _can_say(kind: str, scope: Scope, revision: Revision) -> bool:
    """Return True if the versions of all clients can carry an act."""
    api, least = _CARRIED_SINCE.get(kind, ("", 0))
    return all(seat.versions.get(api, 0) >= least for seat in scope.seats(revision))


def _essence(done: Transition) -> tuple[object, ...]:
    answers = tuple((e.request_id, e.message) for e in done.emissions)
    return done.naming.group, tuple(sorted(done.naming.ids.items())), done.naming.shift, answers


@dataclass(slots=True)
class Walk:
    """A walk: its acts so far, the rules that were used, and the first fault."""

    context: WalkContext
    path: list[tuple[Act | None, World]] = field(default_factory=list)
    choices: list[WalkChoice] = field(default_factory=list)
    rules: set[str] = field(default_factory=set)
    finding: Fault | None = None
    strayed: bool = False

    def __post_init__(self) -> None:
        """Begin at the first of the initial worlds."""
        world = next(iter(self.context.worlds.initial()))
        self.path.append((None, world))
        self.finding = self.context.of_world(world)

    @property
    def world(self) -> World:
        """The world where it is."""
        return self.path[-1][1]

    def enabled(self) -> dict[str, list[int]]:
        """Kind → the clients that can do it, the simplest kinds first."""
        return self.context.enabled(self.world)

    def choose(self, number: int, without: frozenset[str] = frozenset()) -> None:
        """Take one of the enabled acts, chosen by a number.  0 is a simple one.

        `without`: kinds that don't happen in this walk, unless nothing else can.
        """
        enabled = self.enabled()
        often = self.context.drawing.often
        kinds = [k for kind in enabled if kind not in without for k in (kind,) * often.get(kind, 1)]
        kinds = kinds or list(enabled)
        if not kinds:
            return  # all wait, and no timer will end it
        number, which = divmod(number, len(kinds))
        clients = enabled[kinds[which]]
        outcome, whose = divmod(number, len(clients))
        self._go(WalkChoice(kinds[which], clients[whose], outcome))

    def take(self, choice: WalkChoice) -> bool:
        """Do this act if it is enabled, and return whether it was."""
        return choice.client in self.enabled().get(choice.kind, ()) and self._go(choice)

    def _go(self, choice: WalkChoice) -> bool:
        before = self.world
        taken = self.context.worlds.taken(before, *choice)
        if taken is None:
            return False
        act, world, done = taken
        self.path.append((act, world))
        self.choices.append(WalkChoice(*act[:3]))
        self.strayed = self.strayed or not self.context.is_theirs(before, act, done)
        if done is not None:
            self.rules.update(rule.id for view in done.views for rule in view.rules)
        if self.finding is None:
            self.finding = _against(act.faults) or self.context.of_world(world)
        return True

    def end(self) -> Fault | None:
        """Check the whole run, and return the first fault."""
        context = self.context
        if self.finding is None and (context.histories or self.strayed):
            self.finding = context.judged(self.run())
        return self.finding

    def run(self) -> Run:
        """Return the run that it stands for."""
        return unfold(self.context.worlds, self.path)


def _against(faults: Sequence[str]) -> Fault | None:
    """Return the first fault that nothing excuses."""
    for fault in faults:
        if not fault.startswith(EXCUSED):
            property_id, _, sentence = fault.partition(": ")
            return Fault(property_id, sentence)
    return None


def walked(context: WalkContext, choices: Iterable[WalkChoice]) -> Walk:
    """Return the walk of these acts, up to the first that breaks a property.

    Acts that aren't enabled are left out.
    """
    walk = Walk(context)
    for choice in choices:
        walk.take(choice)
        if walk.finding is not None:
            break
    walk.end()
    return walk


def simpler(choice: WalkChoice, kinds: Sequence[str], clients: int) -> Iterator[WalkChoice]:
    """Yield simpler choices that may replace one, the simplest first; `kinds`: in this order."""
    for kind in kinds[: kinds.index(choice.kind)]:
        for client in (-1,) if kind in {"tick", "failover"} else range(clients):
            yield WalkChoice(kind, client)
    yield from (choice._replace(client=c) for c in range(choice.client))
    yield from (choice._replace(outcome=o) for o in range(choice.outcome))
