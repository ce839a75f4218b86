"""Generate the cover suites: walks over the explored graph, as cases for any target.

A client of the graph is a member of the plan with a connection of its own.  A process that starts
again is another member, since it knows nothing ("A1", "A2": the first and second process of
instance "A"; a name in small letters is a dynamic member).  A request refers to its sender's
knowledge (`fencepost.conformance.cases.walk_references`).  An answer that a client of the graph
loses is awaited, too: its next requests say what it knew before.  Time passes in ticks, two to a
session and three to a rebalance.  The suite is made from the revision that judges, so a walk
assumes what that revision requires; a target that departs from it has failed by then.

The id of a case is a digest of its steps, their senders, and the last rule that it reaches.  So it
stays as long as the walk does, at any place in the suite.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.cases.cover.cover import (
    ControllableGraph,
    Stride,
    Suite,
    Walk,
    controllable_graph,
    cover,
    pairs,
)
from fencepost.conformance.cases.script import Script
from fencepost.conformance.cases.walk_references import REFERENCES, References
from fencepost.model.plans.steps import Needs, Pause, PlanStep
from fencepost.model.revision import Revision
from fencepost.properties.worlds.protocol_worlds import CUT_OFFS
from fencepost.properties.worlds.scope import NamedScope
from fencepost.properties.worlds.world import Worlds
from fencepost.properties.worlds.worlds_by_protocol import worlds_of

_DIGEST = 10


@dataclass(frozen=True, slots=True)
class CoverSuite:
    """A suite over all scopes of a bound: its cases, and the figures of each scope."""

    name: str
    scopes: tuple[tuple[NamedScope, Suite], ...]
    entries: tuple[Entry, ...]

    @property
    def steps(self) -> int:
        """Return the number of acts of all walks."""
        return sum(suite.steps for _, suite in self.scopes)

    @property
    def bound(self) -> int:
        """Return a lower bound of the steps of any suite for this purpose."""
        return sum(suite.bound for _, suite in self.scopes)


SUITES: dict[str, Callable[[ControllableGraph], Suite]] = {"cover": cover, "pairs": pairs}


@cache
def generate_suite(name: str, revision: Revision) -> CoverSuite:
    """Generate the suite of this name for a revision.  Raises KeyError."""
    make = SUITES[name]
    scopes, entries = [], list[Entry]()
    for named in worlds_of(revision).cover_scopes:
        suite = make(_graph(revision, named))
        scopes.append((named, suite))
        entries += (_entry(name, named, suite.graph, walk) for walk in suite.walks)
    return CoverSuite(name, tuple(scopes), tuple(entries))


@cache
def _graph(revision: Revision, named: NamedScope) -> ControllableGraph:
    return controllable_graph(Worlds(revision, named.scope))


def _entry(suite: str, named: NamedScope, graph: ControllableGraph, walk: Walk) -> Entry:
    rules = tuple(dict.fromkeys(rule for stride in walk if stride.certain for rule in stride.rules))
    acts = " ".join((named.name, *(f"{act}:{who}" for act, who in named_acts(graph, walk))))
    digest = hashlib.sha256(acts.encode()).hexdigest()[:_DIGEST]
    last = next((s.rules[-1] for s in reversed(walk) if s.rules), "nothing-decided")
    open_end = ", and the end is the coordinator's choice" if walk[-1].is_open else ""
    features = frozenset({"disconnect"} if any(_is_cut_off(graph, s) for s in walk) else ())
    references = _references(graph)
    return Entry(
        f"{suite}/{digest}-{last}",
        f"{named.about}: {len(walk)} steps{open_end}",
        rules,
        Needs(features=features, config=references.needed(named.scope)),
        isolated=False,
        level=None,
        delayed=False,
        write=_Play(graph, walk).write,
        settings=references.settings(named.scope),
    )


def _references(graph: ControllableGraph) -> type[References]:
    return REFERENCES[graph.worlds.scope.protocol]


@dataclass(frozen=True)
class _Play:
    """A writer of a walk's steps, which takes time, so it is done once."""

    graph: ControllableGraph
    walk: Walk

    @cached_property
    def steps(self) -> tuple[PlanStep, ...]:
        """Return the steps of the plan."""
        script = Script(delayed=False)
        _write(self.graph, self.walk, script)
        return tuple(script.steps)

    def write(self, script: Script) -> None:
        """Add the steps to a script, as an entry of the registry does."""
        script.steps += self.steps


class _Names:
    """The member of the plan for each client of the present world.

    The worlds of a graph are stored up to symmetry, so clients of one kind may change places at
    each step.
    """

    def __init__(self, graph: ControllableGraph) -> None:
        self._worlds = graph.worlds
        self._instances = [seat.instance for seat in self._worlds.seats]
        self._count: dict[str, int] = {}
        self.members = [self._next(i) for i in range(len(self._instances))]

    def _next(self, client: int) -> str:
        kind = self._instances[client] or "d"
        self._count[kind] = self._count.get(kind, 0) + 1
        return f"{kind}{self._count[kind]}"

    def follow(self, graph: ControllableGraph, stride: Stride) -> tuple[int, ...]:
        """Take a forced transition; return the index before of each client of the next world."""
        world, act = graph.states[stride.source], stride.act
        transition = None
        if act.kind not in CUT_OFFS:
            transition = self._worlds.transitions(world, act.kind, act.client)[act.choice]
        elif act.kind == "restart":
            self.members[act.client] = self._next(act.client)
        places, _ = self._worlds.places(world, act, transition)
        self.members = [self.members[i] for i in places]
        return places


def named_acts(graph: ControllableGraph, walk: Walk) -> Iterator[tuple[str, str]]:
    """Yield the acts of a walk, each with its member of the plan, or ""."""
    names = _Names(graph)
    for stride in walk:
        client = stride.act.client
        yield stride.act.kind, names.members[client] if client >= 0 else ""
        if not stride.is_open:
            names.follow(graph, stride)


def _is_cut_off(graph: ControllableGraph, stride: Stride) -> bool:
    """Return True if a connection ends while a request waits on it."""
    if stride.act.kind not in CUT_OFFS:
        return False
    return bool(graph.states[stride.source].clients[stride.act.client].waits)


def _write(graph: ControllableGraph, walk: Walk, script: Script) -> None:
    names = _Names(graph)
    references = _references(graph)(graph)
    for stride in walk:
        members = list(names.members)
        act = stride.act
        who = members[act.client] if act.client >= 0 else ""
        ask = None
        if act.kind == "tick":
            script.steps.append(Pause((references.tick,), margins=0))
        elif _is_cut_off(graph, stride):
            script.disconnect(who)
        elif act.kind not in CUT_OFFS:
            ask = references.ask(stride)
            fields = dict(references.fields(stride, ask, who))
            script.ask(who, ask.api, version=ask.version, wait=False, **fields)
        if not stride.is_open:
            references.follow(stride, ask, who)
            places = names.follow(graph, stride)
            _wait(script, graph, stride, members, places)


def _wait(
    script: Script,
    graph: ControllableGraph,
    stride: Stride,
    members: Sequence[str],
    places: Sequence[int],
) -> None:
    """Wait for the answers of this step; without any, until it and the timers due are handled."""
    act, after = stride.act, graph.states[stride.target].clients
    if act.kind in CUT_OFFS:
        return
    senders = {i for i, c in enumerate(graph.states[stride.source].clients) if c.waits}
    senders |= {act.client} if act.client >= 0 else set()
    answered = sorted(before for now, before in enumerate(places) if not after[now].waits)
    if waiting := [members[i] for i in answered if i in senders]:
        script.wait(*waiting)
    elif act.client >= 0:
        script.settle()
    if len(stride.rules) > 1 and act.client >= 0:
        script.steps.append(Pause(margins=0))
