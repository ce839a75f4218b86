"""Define state properties of a group and its clients: the answers agree with the state.

They need both sides.  Proofs leave them out, since a proof knows no clients; some have a
counterpart about answers alone in `fencepost.properties.claims.answer_properties`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fencepost.model.classic.group import JOIN, SESSION, SYNC, Group
from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.classic.vocabulary import GroupState
from fencepost.properties.claims.function_property import run_property
from fencepost.properties.claims.property_classes import class_of, harm_of
from fencepost.properties.logic.logic import Engine, Property, PropertyKind
from fencepost.properties.worlds.canonical import request_name
from fencepost.properties.worlds.protocol_worlds import Seat
from fencepost.properties.worlds.views import WorldView
from fencepost.properties.worlds.world_client import Client

_NO_CLIENTS = "a proof is about the coordinator alone, and this about the clients' knowledge"
_NO_TIME = "a proof knows no deadlines"
_property = partial(run_property, PropertyKind.STATE, proof=_NO_CLIENTS)
_INSIDE = "the group's state can't be seen from outside"


def _known(view: WorldView) -> list[tuple[int, Client]]:
    return [(i, client) for i, client in enumerate(view.clients) if client.member_id]


def _shared_id(view: WorldView) -> str | None:
    known = _known(view)
    for place, (i, client) in enumerate(known):
        for j, other in known[place + 1 :]:
            if client.member_id == other.member_id:
                return f"clients c{i + 1} and c{j + 1} both got the id {client.member_id}"
    return None


def _two_consumers(view: WorldView) -> str | None:
    users = [(i, c) for i, c in _known(view) if c.generation >= 0]
    for place, (i, client) in enumerate(users):
        for j, other in users[place + 1 :]:
            if client.member_id == other.member_id:
                return f"c{i + 1} and c{j + 1} both consume under the id {client.member_id}"
    return None


def _current(view: WorldView) -> list[tuple[Client, Seat]]:
    """Return the clients that have the present generation, if that is known after a failover."""
    group = view.group
    if group is None or view.fails_over:
        return []
    pairs = zip(view.clients, view.seats, strict=True)
    return [(c, s) for c, s in pairs if c.generation == group.generation_id]


def _seat(client: Client, seat: Seat) -> str:
    return seat.instance or client.member_id


def _leading_seats(view: WorldView) -> str | None:
    leading = sorted({_seat(c, s) for c, s in _current(view) if c.leads})
    if len(leading) > 1:
        return f"in one generation these seats got the leader's answer: {', '.join(leading)}"
    return None


def _protocols(view: WorldView) -> str | None:
    protocols = sorted({str(client.protocol) for client, _ in _current(view)})
    if len(protocols) > 1:
        return f"in one generation the answers have these protocols: {', '.join(protocols)}"
    return None


def _assignments(view: WorldView) -> str | None:
    by_seat: dict[str, bytes] = {}
    for client, seat in _current(view):
        if client.assignment is None:
            continue
        name = _seat(client, seat)
        if by_seat.setdefault(name, client.assignment) != client.assignment:
            return f"in one generation {name} got two assignments"
    return None


def _parked(group: Group | None) -> Iterator[str]:
    for member in () if group is None else group.members:
        if member.joining is not None:
            yield request_name("join", member.member_id)
        if member.syncing is not None:
            yield request_name("sync", member.member_id)


def _lost(view: WorldView) -> str | None:
    parked = set(_parked(view.group))
    for i, client in enumerate(view.clients):
        if client.waits and client.waits not in parked:
            return f"the request of c{i + 1} was neither answered nor parked"
    return None


def _leader_of_a_join(view: WorldView) -> Iterator[Client]:
    group = view.group
    if group is not None and group.state is GroupState.COMPLETING:
        for client, _ in _current(view):
            if client.member_id == group.leader and client.roster:
                yield client


def _roster(view: WorldView) -> str | None:
    for client in _leader_of_a_join(view):
        assert view.group is not None
        members = {m.member_id for m in view.group.members}
        if set(client.roster) != members:
            missing = sorted(members - set(client.roster)) or sorted(set(client.roster) - members)
            return f"the leader is about to assign to others than the members: {missing[0]} differs"
    return None


def _unguarded(view: WorldView) -> str | None:
    group = view.group
    if group is None:
        return None
    running = {(t.kind, t.subject) for t in group.timers}
    for member in group.members:
        idle = member.joining is None and member.syncing is None
        if idle and (SESSION, member.member_id) not in running:
            return f"member {member.member_id} waits for nothing and no session timer runs for it"
    for member_id in group.pending:
        if (SESSION, member_id) not in running:
            return f"no timer runs for the pending id {member_id}"
    if group.state is GroupState.PREPARING and (JOIN, "") not in running:
        return "a rebalance is prepared and no timer ends the wait for joins"
    return None


def _without_end(view: WorldView) -> str | None:
    group = view.group
    if group is None or group.state is not GroupState.COMPLETING:
        return None
    running = {t.kind for t in group.timers}
    if any(m.owes_sync for m in group.members) and SYNC not in running:
        return "a member owes its SyncGroup and no timer of the sync phase runs"
    return None


def _stray(view: WorldView) -> str | None:
    group = view.group
    if group is None:
        return None
    known = {m.member_id for m in group.members} | set(group.pending)
    for timer in group.timers:
        if timer.kind == SESSION and timer.subject not in known:
            return f"a session timer runs for {timer.subject}, which is gone"
    return None


def _overlong(view: WorldView) -> str | None:
    group = view.group
    if group is None:
        return None
    for timer in group.timers:
        member = group.member(timer.subject)
        if timer.kind != SESSION or member is None or member.new:
            continue
        if member.joining is not None or member.syncing is not None:
            continue  # what runs is the session from before; the answer starts a whole one
        if timer.latest > member.session_timeout_ms:
            left = f"the session of {member.member_id} ends in {timer.latest:,} ms"
            return f"{left}, and its timeout is {member.session_timeout_ms:,} ms"
    return None


def _overcrowded(view: WorldView) -> str | None:
    group = view.group
    if group is None or view.places is None or len(group.members) <= view.places:
        return None
    return f"there are {len(group.members)} members, and group.max.size is {view.places}"


def _several(view: WorldView) -> bool:
    return len(_known(view)) > 1


def _two_current(view: WorldView) -> bool:
    return len(_current(view)) > 1


def _has_members(view: WorldView) -> bool:
    return view.group is not None and bool(view.group.members)


def _never_alone(_: WorldView) -> str | None:
    return None  # the world doesn't say it: the machine stops at the next step


DECIDED = Property(
    "every-event-is-decided",
    "In each reachable group a rule decides each event, and its steps can be performed.",
    src.KIP_BACKGROUND,
    PropertyKind.STATE,
    "groups in reach; the machine stops where it is violated, and what follows is not seen",
    frozenset({Engine.EXPLORATION}),
    holds=_never_alone,
    premise=lambda _: True,
    not_by={
        Engine.HYPOTHESIS: "a run that can't go on ends with an error",
        Engine.PROOF: "its obligations about tables say it: total, unambiguous",
        Engine.ANSWERS: _INSIDE,
    },
    property_class=class_of("every-event-is-decided"),
    harm=harm_of("every-event-is-decided"),
)
_BELOW_V9 = (
    "a restarted leader that speaks JoinGroup below 9 gets the id from before, so it follows"
)
_ANEW = "without failover, after which a generation that was never stored is used again"
WORLD_PROPERTIES = (
    _property(
        "one-client-per-id",
        "No two clients get the same member id.",
        src.KIP_JOIN,
        "the ids that clients hold now; a process that ended has forgotten its id",
        _shared_id,
        _several,
    ),
    _property(
        "no-two-consumers-on-one-id",
        "No two clients get a generation under the same member id.",
        src.KIP_JOIN,
        "clients that were answered NONE under an id that they still hold",
        _two_consumers,
        lambda view: sum(client.generation >= 0 for _, client in _known(view)) > 1,
    ),
    _property(
        "one-leading-seat",
        "In one generation the answers name at most one leader.",
        f"{src.KIP_BACKGROUND}; {src.KIP_814}",
        "seats are instances where given, since ids change within a generation; "
        f"{_BELOW_V9}; {_ANEW}",
        _leading_seats,
        lambda view: any(client.leads for client, _ in _current(view)),
    ),
    _property(
        "one-protocol-per-generation",
        "In one generation all answers name the same protocol.",
        src.KIP_BACKGROUND,
        f"the group's present generation; {_ANEW}",
        _protocols,
        _two_current,
    ),
    _property(
        "one-assignment-per-seat",
        "In one generation an instance or a dynamic member always gets the same assignment.",
        src.KIP_NON_GOAL,
        f"the group's present generation; an instance keeps its seat when it restarts; {_ANEW}",
        _assignments,
        lambda view: any(client.assignment is not None for client, _ in _current(view)),
    ),
    _property(
        "waiting-request-is-parked",
        "A request without an answer is parked for the member that sent it.",
        src.KIP_BACKGROUND,
        "requests whose connection still stands",
        _lost,
        lambda view: any(client.waits for client in view.clients),
        answers="that a request is answered in bounded time is seen, not where it is kept",
    ),
    _property(
        "leader-assigns-to-the-members",
        "In CompletingRebalance the members are those that the leader got in its answer.",
        f"{src.KIP_JOIN}; {src.KAFKA_9801}",
        "CompletingRebalance, and the leader's own client; who joins or goes then starts anew",
        _roster,
        lambda view: any(True for _ in _leader_of_a_join(view)),
        answers=_INSIDE,
    ),
    _property(
        "silence-has-an-end",
        "Each idle member, each pending id and each wait for joins has a timer.",
        f"{src.KIP_ROLLING}; {src.KAFKA_TIMERS}",
        "a member whose request is parked counts as alive; the wait for joins has its own end",
        _unguarded,
        _has_members,
        proof=_NO_TIME,
        answers="its visible part is bounded time",
    ),
    _property(
        "wait-for-syncs-has-an-end",
        "While a member that got the generation has not sent its SyncGroup, a timer runs.",
        src.KAFKA_12890,
        "CompletingRebalance",
        _without_end,
        lambda view: view.group is not None and any(m.owes_sync for m in view.group.members),
        proof=_NO_TIME,
        answers="its visible part is bounded time",
        expected={
            f"kafka-2.{minor}": "before 2.8.1 only a session's end ends the wait for a SyncGroup"
            for minor in range(3, 8)
        }
        | {"kip-345": "the text lets a static member go for nothing but its session or a leave"},
    ),
    _property(
        "a-group-keeps-its-size",
        "A group never has more members than group.max.size.",
        src.KIP_389,
        "groups with a bound that was there from the beginning",
        _overcrowded,
        lambda view: view.places is not None and _has_members(view),
        answers=_INSIDE,
    ),
    _property(
        "no-timer-of-the-gone",
        "A session timer runs only for a member or a pending id.",
        src.KAFKA_TIMERS,
        "all states",
        _stray,
        _has_members,
        proof=_NO_TIME,
        answers=_INSIDE,
    ),
    _property(
        "session-within-its-timeout",
        "A member's session expires within its own session timeout from now.",
        f"{src.KIP_ROLLING}; {src.KAFKA_TIMERS}",
        "members that have completed a join and wait for nothing; a new one has five minutes for "
        "its first join, and a waiting member has a whole session when it is answered",
        _overlong,
        lambda view: view.group is not None and any(t.kind == SESSION for t in view.group.timers),
        proof=_NO_TIME,
        answers="a member that stays too long is covered by bounded time",
    ),
    DECIDED,
)
