"""Give worlds what the classic protocol has: acts, clients, names, scopes."""

# ruff: noqa: ARG002  (the methods of all protocols have one signature)

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from fencepost.model.classic.group import SESSION, Group
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.messages.messages import (
    DescribeGroupsResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.work import Emission
from fencepost.properties.worlds import canonical
from fencepost.properties.worlds import world_client as asks
from fencepost.properties.worlds.abstraction import CLASSIC
from fencepost.properties.worlds.protocol_worlds import (
    Ask,
    Drawing,
    Naming,
    ProtocolWorlds,
    Seat,
)
from fencepost.properties.worlds.scope import (
    ACTS,
    ALL_ACTS,
    CHECK_SCOPES,
    COVER_SCOPES,
    DIFF_SCOPES,
    PROMISE_SCOPES,
    RARE_SCOPES,
    Scope,
)
from fencepost.properties.worlds.world_client import ODD_ACTS, STRANGE, Client

_SIMPLEST_FIRST = (
    "join",
    "sync",
    "tick",
    "heartbeat",
    "restart",
    "leave",
    "commit",
    "change",
    "drop",
    "remove",
    "failover",
    "stranger",
)
UNDRAWN = frozenset({"quit", "transact", "produce", "delete", "erase"})
"""Acts for exhaustive searches alone: drawn too, they would change what each seed draws."""
_KINDS = (
    *_SIMPLEST_FIRST,
    *(k for k in ALL_ACTS if k not in _SIMPLEST_FIRST and k not in UNDRAWN),
)


def walk_scopes(acts: Sequence[str]) -> tuple[Scope, ...]:
    """Return scopes for random walks, few clients first: too wide to be explored to the end."""
    wide: dict[str, Any] = {"acts": tuple(acts), "offers": 3, "generations": 9}
    return (
        Scope(clients=2, members=3, **wide),
        Scope(clients=3, instances=2, zombies=1, members=3, **wide),
        Scope(clients=3, dynamic=2, members=4, old=2, delay_ticks=1, uneven=True, **wide),
    )


class ClassicWorlds(ProtocolWorlds):
    """The classic protocol's part of worlds."""

    acts = ALL_ACTS
    client = Client
    default_scope = Scope(clients=2, members=2)
    abstraction = CLASSIC
    check_scopes = CHECK_SCOPES
    rare_scopes = RARE_SCOPES
    promise_scopes = PROMISE_SCOPES
    cover_scopes = COVER_SCOPES
    diff_scopes = DIFF_SCOPES
    drawing = Drawing(
        kinds=_KINDS,
        often={"join": 4, "sync": 4, "tick": 2},
        steady=frozenset({"join", "sync", "tick", "heartbeat"}),
        scopes=walk_scopes(_KINDS),
    )

    def can(self, scope: Scope, group: Group | None, client: Client, kind: str, seat: Seat) -> bool:
        """Return True if a client can do an act."""
        match kind:
            case "drop":
                return bool(client.waits)
            case "restart":
                stays = scope.leaves_on_close and _is_known(group, client.member_id)
                return client != Client(offers=client.offers) and not stays
        if client.waits:
            return False
        match kind:
            case "join" | "change":
                return bool(client.member_id) or _has_room(scope, group, seat)
            case "stranger":
                return not client.member_id
            case "leave":
                return bool(client.member_id)
            case "remove":
                return seat.instance is not None
            case odd if odd in ODD_ACTS:
                return ODD_ACTS[odd].can(seat, client)
            case _:
                return bool(client.member_id) and client.generation >= 0

    def ask(self, scope: Scope, seat: Seat, client: Client, kind: str) -> Ask:
        """Return the request that a client sends in an act.  Raises ValueError for no such act."""
        match kind:
            case "join":
                return asks.join(seat, client)
            case "change":
                offers = (client.offers + 1) % scope.offers
                return asks.join(seat, client._replace(offers=offers))
            case "stranger":
                return asks.join(seat, client, STRANGE)
            case "sync":
                return asks.sync(seat, client)
            case "heartbeat":
                return asks.heartbeat(seat, client)
            case "commit":
                return asks.commit(seat, client)
            case "leave":
                return asks.leave(seat, client)
            case "remove":
                return asks.leave(seat, client, by_instance=True)
            case odd if odd in ODD_ACTS:
                return ODD_ACTS[odd].ask(seat, client)
            case _:
                raise ValueError(f"no act {kind!r}; there are {', '.join(ACTS)}")

    def asking(self, scope: Scope, client: Client, kind: str) -> Client:
        """Return the client after it sent this request, before any answer."""
        if kind == "change":
            client = client._replace(offers=(client.offers + 1) % scope.offers)
        if kind in {"join", "change", "stranger"} or (kind in ODD_ACTS and ODD_ACTS[kind].joins):
            return client._replace(leads=False, roster=(), instances=(), assignment=None)
        if kind in {"leave", "quit"} and not scope.keeps_id:
            return Client(offers=client.offers)
        return client

    def answered(
        self, scope: Scope, client: Client, kind: str, answer: Message | None, waits: str
    ) -> Client:
        """Return the client whose request was handled: it waits by this name, or was answered."""
        return asks.after_request(client, answer, waits)

    def overheard(self, client: Client, emissions: Iterable[Emission]) -> Client:
        """Return a client after a step of another: its own request was answered."""
        after = client
        for emission in emissions:
            if client.waits and client.waits == emission.request_id:
                after = asks.after_answer(client, emission.message)
        return after

    def cut_off(self, client: Client, kind: str) -> Client:
        """Return a client after it starts again, or loses its connection."""
        return Client(offers=client.offers) if kind == "restart" else client._replace(waits="")

    def order(self, client: Client) -> tuple[object, ...]:
        """Return a total order of clients."""
        return canonical.order(client)

    def number(self, client: Client) -> int:
        """Return the generation that a client knows; -1 if it knows none."""
        return client.generation

    def counted(self, group: Group) -> str:
        """Return the generation of a group in words."""
        return f"generation {group.generation_id}"

    def knowledge(self, client: Client, called: Mapping[str, str]) -> tuple[object, ...]:
        """Return what a client knows, with other names of ids; its generation only as a bool."""
        return (
            called.get(client.member_id),
            client.generation >= 0,
            client.leads,
            frozenset(map(called.get, client.roster)),
            client.assignment,
            bool(client.waits),
        )

    def can_rest(self, group: Group | None, client: Client, kind: str) -> bool | None:
        """Return True if a duty can wait for the next tick; None: it can if it changes nothing."""
        return _is_fresh(group, client) if kind == "heartbeat" else None

    def duty(self, group: Group | None, client: Client, seat: Seat) -> str | None:
        """Return the next act of a client that keeps to the protocol; None: it waits or stopped."""
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

    def named(self, scope: Scope, group: Group | None) -> Naming:
        """Return the canonical form of a group."""
        return canonical.named(group, keep_generations=scope.ends_groups)

    def unchanged(self, group: Group | None) -> Naming:
        """Return the names of a group that is in canonical form, as they are."""
        return canonical.unchanged(group)

    def known_as(self, client: Client, naming: Naming) -> Client:
        """Rename a client's ids and generation to those of its group; mark ids it doesn't know."""
        return canonical.known_as(client, naming)

    def settled(self, client: Client, others: dict[str, str]) -> Client:
        """Give names to ids that the group doesn't know, in the order in which they come."""
        return canonical.settled(client, others)

    def numbers(self, before: int | None, shift: int) -> int:
        """Return the number to add to a generation of the world after a step."""
        return 0 if before is None else before - shift

    def real_group(self, group: Group, ids: Mapping[str, str], numbers: int, now_ms: int) -> Group:
        """Return a group of a world in real ids, generations and times."""
        real = group.renamed(ids).shifted(now_ms)
        return replace(real, generation_id=real.generation_id + numbers)

    def real_answer(
        self, message: Message, ids: Mapping[str, str], numbers: int, makers: Mapping[str, str]
    ) -> Message:
        """Return an answer in real ids and generations; `makers`: real id → its client."""

        def real_id(name: str) -> str:
            return ids.get(name, name)

        match message:
            case JoinGroupResponse():
                generation = message.generation_id
                return replace(
                    message,
                    generation_id=generation + numbers if generation >= 0 else generation,
                    member_id=real_id(message.member_id),
                    leader=real_id(message.leader),
                    members=tuple(
                        replace(m, member_id=real_id(m.member_id)) for m in message.members
                    ),
                )
            case DescribeGroupsResponse():
                groups = tuple(
                    replace(
                        group,
                        members=tuple(
                            replace(m, member_id=real, client_id=makers.get(real, m.client_id))
                            for m in group.members
                            for real in [real_id(m.member_id)]
                        ),
                    )
                    for group in message.groups
                )
                return replace(message, groups=groups)
            case LeaveGroupResponse():
                rows = tuple(replace(r, member_id=real_id(r.member_id)) for r in message.members)
                return replace(message, members=rows)
            case _:
                return message


CLASSIC_WORLDS = ClassicWorlds()


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


def _is_known(group: Group | None, member_id: str) -> bool:
    """Return True if a group has an id, as a member's or a pending one."""
    if group is None or not member_id:
        return False
    return group.member(member_id) is not None or member_id in group.pending


def _has_room(scope: Scope, group: Group | None, seat: Seat) -> bool:
    if group is None:
        return True
    if seat.instance is not None and group.holder(seat.instance) is not None:
        return True
    return len(group.members) + len(group.pending) < scope.members
