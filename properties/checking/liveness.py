"""Check promises of liveness: requests are answered, groups settle, changes are known.

The search is for a run that meets the assumptions and never reaches the goal: a lasso, which ends
in a cycle that can go on for ever.  Clients are not folded here, since an assumption about one
client means nothing where two may change places.

Two assumptions are made.  Time passes.  And, for all but the answers, clients keep to the protocol
from some moment on, whatever they did before: a client that needs to join joins, one with a
generation syncs, one with its assignment sends heartbeats in time, a fenced one stops; nobody
restarts, leaves or is cut off.

A world has the present subscription of a client, but not the time of its last change.  So each
world is followed together with the clients whose change waits for a generation, and a promise about
changes can be tested.  A user's own promise is owed from a world on, until it is kept; so each
world is followed together with what is owed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple

from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.revision import Revision
from fencepost.properties.claims.property_classes import class_of, harm_of
from fencepost.properties.explorer.exploration import Exploration, Graph
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.explorer.lasso import Component, Lasso, find_lasso, unless_over
from fencepost.properties.logic.logic import PropertyClass
from fencepost.properties.worlds.protocol_worlds import CUT_OFFS
from fencepost.properties.worlds.scope import Scope
from fencepost.properties.worlds.views import WorldView
from fencepost.properties.worlds.world import Act, World, Worlds


class Followed(NamedTuple):
    """A world, and the clients (by index) that changed their subscription and wait for it."""

    world: World
    changed: frozenset[int]


class Subscriptions:
    """Worlds, each with the changes of subscriptions that wait for a generation."""

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds

    def initial(self) -> Iterable[Followed]:
        """Return the initial worlds, without changes."""
        return [Followed(world, frozenset()) for world in self._worlds.initial()]

    def successors(self, state: Followed) -> Iterator[tuple[Act, Followed]]:
        """Yield every enabled act and its next state."""
        for act, after in self._worlds.successors(state.world):
            yield act, Followed(after, self._changed(state, act, after))

    def _changed(self, state: Followed, act: Act, after: World) -> frozenset[int]:
        """Return the clients whose change waits after an act; only members wait."""
        group, changed = after.group, state.changed
        if group is None:
            return frozenset()
        if act.kind == "change" and self._is_member(state.world, act.client):
            changed |= {act.client}
        begun = self._begins(state.world, act)
        members = ((i, group.member(after.clients[i].member_id)) for i in changed)
        return frozenset(i for i, m in members if m is not None and not (begun and m.owes_sync))

    @staticmethod
    def _is_member(world: World, index: int) -> bool:
        """Return True if a client is a member; the first subscription of another is no change."""
        group = world.group
        return group is not None and group.member(world.clients[index].member_id) is not None

    def _begins(self, world: World, act: Act) -> bool:
        """Return True if a generation begins in an act."""
        if act.kind in CUT_OFFS:
            return False
        done = self._worlds.transitions(world, act.kind, act.client)[act.choice]
        return any(
            view.after is not None
            and view.after.generation_id > (view.before.generation_id if view.before else 0)
            for view in done.views
        )


class Owing(NamedTuple):
    """A world, and whether a promise is owed there: its case came, and it is not yet kept."""

    world: World
    is_owed: bool


def _world_of(state: World | Followed | Owing) -> World:
    return state if isinstance(state, World) else state.world


def of_worlds(lasso: Lasso[Any, Act]) -> Lasso[World, Act]:
    """Return the lasso among the worlds alone."""
    component = lasso.component
    worlds = [_world_of(state) for state in component.graph.states]
    graph = Graph(worlds, component.graph.edges, component.graph.initial)
    return Lasso(
        tuple((act, _world_of(state)) for act, state in lasso.stem),
        tuple((act, _world_of(state)) for act, state in lasso.cycle),
        Component(graph, component.states, component.edges),
    )


class Fair(Enum):
    """Assumptions about an endless run.

    `TIME`: time passes, and clients do anything.  `CONDUCT`: time passes, and from some moment on
    clients keep to the protocol: they join when they must, sync, send heartbeats in time, and after
    a refusal retry later.
    """

    TIME = "time passes"
    CONDUCT = "time passes and, from some moment on, clients keep to the protocol"


class PromiseError(ValueError):
    """A promise that makes no sense; `str()` names the value and the remedy."""


@dataclass(frozen=True, slots=True)
class Promise:
    """Something that must happen in the end.

    `PROMISES`, a tuple of them in the file of a revision, adds promises to `check`.  It searches
    them in four worlds of two clients, and in those of `WORLDS` in which time passes (`tick`).

    `id`, `meaning`, `source`, `property_class`, `harm`: like this field of a property.

    `when`: function that returns True for a `WorldView` in which the promise becomes due.  `until`:
    function that returns True for one in which it is kept; None: it is kept when `when` is false.
    `fair`: the assumptions about the run.  `each_client`: True if the promise is made to each
    client; both functions then take its index, too, as in `lambda world, i:
    bool(world.clients[i].waits)`.  `expected`: revision → the reason why it doesn't happen there.

    A shipped promise without `when` is checked by other means.
    """

    id: str
    meaning: str
    source: str
    when: Callable[..., bool] | None
    until: Callable[..., bool] | None = None
    fair: Fair = Fair.CONDUCT
    each_client: bool = False
    expected: Mapping[str, str] = field(default_factory=dict)
    property_class: PropertyClass = PropertyClass.SAFETY
    harm: str = ""

    def __post_init__(self) -> None:
        """Check the fields, which may come from an untyped file; raises PromiseError."""
        kinds: dict[str, type[Enum]] = {"fair": Fair, "property_class": PropertyClass}
        for name in ("when", "until", *kinds):
            value = getattr(self, name)
            if name not in kinds and value is not None and not callable(value):
                wrong = "give a function of a WorldView"
            elif name in kinds and not isinstance(value, kinds[name]):
                wrong = f"it is one of {', '.join(map(str, kinds[name]))}"
            else:
                continue
            raise PromiseError(f"{self.id}: {name} is {value!r}; {wrong}")


def _waits(world: WorldView, client: int) -> bool:
    return bool(world.clients[client].waits)


def _is_unsettled(world: WorldView) -> bool:
    group = world.group
    return group is not None and group.state not in {GroupState.STABLE, GroupState.EMPTY}


def _known(name: str) -> dict[str, Any]:
    return {"id": name, "property_class": class_of(name), "harm": harm_of(name)}


ANSWERED = Promise(
    **_known("every-request-is-answered"),
    meaning="A request whose connection stands is answered in bounded time.",
    source=f"{src.KIP_BACKGROUND}; {src.KAFKA_12890}",
    when=_waits,
    fair=Fair.TIME,
    each_client=True,
    expected={
        "kip-345": "a static leader that heartbeats and never syncs stays, and so all others wait",
        **{
            f"kafka-2.{minor}": "2.6.1 to 2.8.0: a leader that heartbeats and never syncs stays"
            for minor in (6, 7)
        },
    },
)
SETTLED = Promise(
    **_known("every-group-settles"),
    meaning="When its clients keep to the protocol, a group becomes Stable, or Empty if nobody is "
    "left.",
    source=src.KIP_BACKGROUND,
    when=_is_unsettled,
)
_STATIC_CHANGES = "a known static member gets its old assignment, with any subscription"
ASSIGNED = Promise(
    **_known("a-changed-subscription-is-assigned"),
    meaning="When a member changes what it subscribes to, a generation begins in which that is "
    "known.",
    source=f"{src.KIP_BACKGROUND}; {src.KAFKA_JOIN}",
    when=None,
    expected={
        "kip-345": f"{_STATIC_CHANGES}: the text has four causes of a rebalance, and not this",
        "comment-table-1": f"row 4: {_STATIC_CHANGES}",
        "comment-table-2": f"row 4.1: {_STATIC_CHANGES}",
    },
)
PROMISES = (ANSWERED, SETTLED, ASSIGNED)
PROMISES_BY_ID: Mapping[str, Promise] = {promise.id: promise for promise in PROMISES}


@dataclass(frozen=True, slots=True)
class LivenessResult:
    """The broken promises, each with its lasso, and the exploration that found them.

    `tested`: the ids of the promises that were put to the test.  `cut`: a limit ended the search.
    """

    tested: frozenset[str]
    broken: dict[str, Lasso[World, Act]]
    exploration: Exploration[Any, Act]
    worlds: Worlds
    cut: bool


def find_broken_promises(
    revision: Revision,
    scope: Scope,
    promises: Iterable[Promise] = PROMISES,
    *,
    max_states: int | None = None,
    is_over: Callable[[], bool] | None = None,
    ends: Callable[[], bool] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> LivenessResult:
    """Explore a scope, unfolded, and look for runs that break a promise.

    The exploration says whether it was complete.  Where subscriptions change, the promise about
    them is put to the test, and elsewhere the other shipped ones; a user's own in every scope.

    `is_over`: returns True when the search must end.  `ends`: the same of the exploration alone,
    which leaves time to look for runs in what was explored.  `progress`: called with what is done.
    """
    worlds = Worlds(revision, replace(scope, fold=False))
    changes = "change" in scope.acts
    mine = [p for p in promises if p.id not in PROMISES_BY_ID or changes == (p is ASSIGNED)]
    system: Any = Subscriptions(worlds) if ASSIGNED in mine else worlds
    exploration = explore(
        system,
        keep_graph=True,
        max_states=max_states,
        is_over=ends or is_over,
        progress=lambda done: progress(f"{done.states:,} states, {done.frontier:,} to go"),
    )
    assert exploration.graph is not None
    cut = exploration.cut
    looked: dict[str, tuple[Lasso[Any, Act] | None, bool]] = {}
    try:
        search = _Search(worlds, exploration.graph, is_over or _never)
        for promise in mine:
            progress(f"a run that breaks {promise.id}?")
            looked[promise.id] = search.run_without(promise)
    except TimeoutError:
        cut = True
    tested = frozenset(name for name, (_, was_owed) in looked.items() if was_owed)
    broken = {name: of_worlds(lasso) for name, (lasso, _) in looked.items() if lasso is not None}
    return LivenessResult(tested, broken, exploration, worlds, cut)


def _never() -> bool:
    return False


class _Search:
    """Looks in one graph for runs that break promises.  Raises TimeoutError when it is over."""

    def __init__(self, worlds: Worlds, graph: Graph[Any, Act], is_over: Callable[[], bool]) -> None:
        self._worlds = worlds
        self._graph = graph
        self._is_over = is_over
        states = unless_over(graph.states, is_over)
        self._views = [worlds.look(_world_of(state)) for state in states]

    def run_without(self, promise: Promise) -> tuple[Lasso[Any, Act] | None, bool]:
        """Return a run in which a promise is owed for ever, and whether it was owed anywhere."""
        allowed = self._is_kept_to if promise.fair is Fair.CONDUCT else None
        was_owed = False
        for graph in self._graphs(promise):
            was_owed = was_owed or any(state.is_owed for state in graph.states)
            lasso = find_lasso(
                graph, _is_kept, _time_passes, allowed=allowed, is_over=self._is_over
            )
            if lasso is not None:
                return lasso, True
        return None, was_owed

    def _graphs(self, promise: Promise) -> Iterator[Graph[Owing, Act]]:
        """Yield a graph whose states know if the promise is owed.

        A promise that is made to each client has a graph for each client.
        """
        clients = range(len(self._worlds.seats))
        if promise.when is None:
            for index in clients:
                yield self._marked([index in state.changed for state in self._graph.states])
            return
        for whose in [(index,) for index in clients] if promise.each_client else [()]:
            begins = [bool(promise.when(view, *whose)) for view in self._views]
            if promise.until is None:
                yield self._marked(begins)
            else:
                ends = [bool(promise.until(view, *whose)) for view in self._views]
                yield self._followed(begins, ends)

    def _marked(self, owed: Sequence[bool]) -> Graph[Owing, Act]:
        """Return the graph where each state alone shows whether the promise is owed."""
        states = map(_world_of, self._graph.states)
        marked = [Owing(*pair) for pair in zip(states, owed, strict=True)]
        return Graph(marked, self._graph.edges, self._graph.initial)

    def _followed(self, begins: Sequence[bool], ends: Sequence[bool]) -> Graph[Owing, Act]:
        """Return the graph where a promise is owed from its beginning to its end."""
        out: dict[int, list[tuple[Act, int]]] = defaultdict(list)
        for source, act, target in self._graph.edges:
            out[source].append((act, target))
        initial = [(i, begins[i] and not ends[i]) for i in range(self._graph.initial)]
        places = {point: place for place, point in enumerate(initial)}
        points, edges = list(initial), []
        for place, (index, was_owed) in enumerate(points):  # grows while it is read
            for act, target in out[index]:
                point = (target, (was_owed or begins[target]) and not ends[target])
                if point not in places:
                    places[point] = len(points)
                    points.append(point)
                edges.append((place, act, places[point]))
        states = [Owing(_world_of(self._graph.states[i]), is_owed) for i, is_owed in points]
        return Graph(states, edges, len(initial))

    def _is_kept_to(self, state: Owing, act: Act, _after: Owing) -> bool:
        return keeps_to_the_protocol(self._worlds, state.world, act)


def _is_kept(state: Owing) -> bool:
    return not state.is_owed


def _time_passes(component: Component[Any, Act]) -> bool:
    return any(act.kind == "tick" for act in component.actions)


def keeps_to_the_protocol(worlds: Worlds, world: World, act: Act) -> bool:
    """Return True if a good client may do this act next.

    Time passes only when no client has something to do, but what changes nothing: who is refused
    tries again later.
    """
    duties = [
        worlds.protocol.duty(world.group, client, seat)
        for client, seat in zip(world.clients, worlds.seats, strict=True)
    ]
    if act.kind == "tick":
        return all(
            kind is None or _can_rest(worlds, world, kind, index)
            for index, kind in enumerate(duties)
        )
    return act.client >= 0 and act.kind == duties[act.client]


def _can_rest(worlds: Worlds, world: World, kind: str, index: int) -> bool:
    """Return True if a client's duty can wait, since doing it now may lead back to its world."""
    rests = worlds.protocol.can_rest(world.group, world.clients[index], kind)
    if rests is not None:
        return rests
    if kind not in worlds.scope.acts:
        return False
    return any(after == world for _, after in worlds.results(world, kind, index))
