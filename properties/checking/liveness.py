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
changes can be tested.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from fencepost.model.classic.group import SESSION, Group
from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.revision import Revision
from fencepost.properties.claims.property_classes import class_of, harm_of
from fencepost.properties.explorer.exploration import Exploration, Graph
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.explorer.lasso import Component, Lasso, find_lasso
from fencepost.properties.logic.logic import PropertyClass
from fencepost.properties.worlds.scope import Scope
from fencepost.properties.worlds.world import Act, World, Worlds
from fencepost.properties.worlds.world_client import Client, Seat


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
        if act.kind in {"restart", "drop"}:
            return False
        done = self._worlds.transitions(world, act.kind, act.client)[act.choice]
        return any(
            view.after is not None
            and view.after.generation_id > (view.before.generation_id if view.before else 0)
            for view in done.views
        )


def of_worlds(lasso: Lasso[Followed, Act]) -> Lasso[World, Act]:
    """Return the lasso among the worlds alone."""
    component = lasso.component
    worlds = [followed.world for followed in component.graph.states]
    graph = Graph(worlds, component.graph.edges, component.graph.initial)
    return Lasso(
        tuple((act, followed.world) for act, followed in lasso.stem),
        tuple((act, followed.world) for act, followed in lasso.cycle),
        Component(graph, component.states, component.edges),
    )


@dataclass(frozen=True, slots=True)
class Promise:
    """Something that must happen in the end.

    `assumes`: of the environment; `expected`: revision → why it does not happen there.
    """

    id: str
    meaning: str
    source: str
    assumes: str
    expected: Mapping[str, str] = field(default_factory=dict)

    @property
    def property_class(self) -> PropertyClass:
        """The class, as that of a property."""
        return class_of(self.id)

    @property
    def harm(self) -> str:
        """The harm where it is broken, in words."""
        return harm_of(self.id)


ANSWERED = Promise(
    "every-request-is-answered",
    "A request whose connection stands is answered in bounded time, whatever others do.",
    f"{src.KIP_BACKGROUND}; {src.KAFKA_12890}",
    "time passes",
    {
        "kip-345": "a static leader that heartbeats and never syncs stays, and so all others wait",
        **{
            f"kafka-2.{minor}": "2.6.1 to 2.8.0: a leader that heartbeats and never syncs stays"
            for minor in (6, 7)
        },
    },
)
SETTLED = Promise(
    "every-group-settles",
    "When its clients keep to the protocol, a group becomes Stable, or Empty if nobody is left.",
    src.KIP_BACKGROUND,
    "time passes and, from some moment on, clients keep to the protocol",
)
_STATIC_CHANGES = "a known static member is given what it has, whatever it subscribes to"
ASSIGNED = Promise(
    "a-changed-subscription-is-assigned",
    "When a member changes what it subscribes to, a generation begins in which that is known.",
    f"{src.KIP_BACKGROUND}; {src.KAFKA_JOIN}",
    "time passes and, from some moment on, clients keep to the protocol",
    {
        "kip-345": f"{_STATIC_CHANGES}: the text has four causes of a rebalance, and not this",
        "comment-table-1": f"row 4: {_STATIC_CHANGES}",
        "comment-table-2": f"row 4.1: {_STATIC_CHANGES}",
    },
)
PROMISES = (ANSWERED, SETTLED, ASSIGNED)
PROMISES_BY_ID: Mapping[str, Promise] = {promise.id: promise for promise in PROMISES}
_ALL_OTHERS = frozenset({ANSWERED.id, SETTLED.id})
_ONLY_ASSIGNED = frozenset({ASSIGNED.id})


@dataclass(frozen=True, slots=True)
class LivenessResult:
    """The broken promises, each with its lasso, and the exploration that found them.

    `tested`: the ids of the promises that were put to the test.
    """

    tested: frozenset[str]
    broken: dict[str, Lasso[World, Act]]
    exploration: Exploration[Any, Act]
    worlds: Worlds


def find_broken_promises(
    revision: Revision,
    scope: Scope,
    *,
    max_states: int | None = None,
    seconds: float | None = None,
) -> LivenessResult:
    """Explore a scope, unfolded, and look for runs that break a promise.

    The exploration says whether it was complete.  Where subscriptions change, the promise about
    them is put to the test, and elsewhere the others.
    """
    worlds = Worlds(revision, replace(scope, fold=False))
    if "change" in scope.acts:
        return _never_assigned(worlds, max_states, seconds)
    exploration = explore(worlds, keep_graph=True, max_states=max_states, seconds=seconds)
    graph = exploration.graph
    assert graph is not None
    broken: dict[str, Lasso[World, Act]] = {}
    for index in range(len(worlds.seats)):
        lasso = find_lasso(graph, partial(_is_answered, index), _time_passes)
        if lasso is not None:
            broken.setdefault(ANSWERED.id, lasso)

    def kept_to(world: World, act: Act, _after: World) -> bool:
        return keeps_to_the_protocol(worlds, world, act)

    lasso = find_lasso(graph, _is_settled, _time_passes, allowed=kept_to)
    if lasso is not None:
        broken[SETTLED.id] = lasso
    return LivenessResult(_ALL_OTHERS, broken, exploration, worlds)


def _never_assigned(
    worlds: Worlds, max_states: int | None, seconds: float | None
) -> LivenessResult:
    """Look for a run in which a changed subscription stays unknown."""
    exploration = explore(
        Subscriptions(worlds), keep_graph=True, max_states=max_states, seconds=seconds
    )
    graph = exploration.graph
    assert graph is not None

    def kept_to(state: Followed, act: Act, _after: Followed) -> bool:
        return keeps_to_the_protocol(worlds, state.world, act)

    for index in range(len(worlds.seats)):
        lasso = find_lasso(graph, partial(_is_known, index), _time_passes, allowed=kept_to)
        if lasso is not None:
            broken = {ASSIGNED.id: of_worlds(lasso)}
            return LivenessResult(_ONLY_ASSIGNED, broken, exploration, worlds)
    return LivenessResult(_ONLY_ASSIGNED, {}, exploration, worlds)


def _is_known(index: int, state: Followed) -> bool:
    return index not in state.changed


def _is_answered(index: int, world: World) -> bool:
    return not world.clients[index].waits


def _time_passes(component: Component[Any, Act]) -> bool:
    return any(act.kind == "tick" for act in component.actions)


def _is_settled(world: World) -> bool:
    return world.group is None or world.group.state in {GroupState.STABLE, GroupState.EMPTY}


def keeps_to_the_protocol(worlds: Worlds, world: World, act: Act) -> bool:
    """Return True if a good client may do this act next.

    Time passes only when no client has something to do.
    """
    duties = [
        duty(world.group, client, seat)
        for client, seat in zip(world.clients, worlds.seats, strict=True)
    ]
    if act.kind == "tick":
        return all(
            act_kind is None or (act_kind == "heartbeat" and _is_fresh(world.group, client))
            for act_kind, client in zip(duties, world.clients, strict=True)
        )
    return act.client >= 0 and act.kind == duties[act.client]


def duty(group: Group | None, client: Client, seat: Seat) -> str | None:
    """Return the next act of a client that keeps to the protocol; None: it waits, or it stopped."""
    if client.waits:
        return None
    if client.member_id and seat.instance is not None and group is not None:
        holder = group.holder(seat.instance)
        if holder is not None and holder != client.member_id:
            return None  # fenced
    if group is None or group.member(client.member_id) is None:
        return "join"
    must_join = group.state is GroupState.PREPARING or client.generation != group.generation_id
    if must_join:
        return "join"
    return "sync" if client.assignment is None else "heartbeat"


def _is_fresh(group: Group | None, client: Client) -> bool:
    """Return True if a heartbeat now would change nothing."""
    if group is None:
        return True
    member = group.member(client.member_id)
    return member is None or any(
        t.kind == SESSION
        and t.subject == client.member_id
        and t.earliest >= member.session_timeout_ms
        for t in group.timers
    )
