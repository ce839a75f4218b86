"""Model a client of a mixed group: a process of either protocol, and its change to the other.

A process of the consumer protocol is as `fencepost.properties.worlds.consumer_client` has it.  One
of the classic protocol joins, syncs and heartbeats; if it leads, it gives each member a share.  It
is static: a mixed group keeps no id of a dynamic one that has not joined yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fencepost.model.classic.group import Group
from fencepost.model.consumer.group import ConsumerGroup
from fencepost.model.messages.consumer_messages import ConsumerGroupHeartbeatResponse
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
    LeaveGroupRequest,
    LeavingMember,
    SyncAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.subscription import (
    PROTOCOL_TYPE,
    Subscription,
    TopicPartition,
    encode_assignment,
    encode_subscription,
    readable_assignment,
)
from fencepost.properties.worlds import consumer_client
from fencepost.properties.worlds.consumer_client import OFFERS, UNJOINED
from fencepost.properties.worlds.protocol_worlds import (
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    Ask,
    Seat,
)

_CLASSIC_ACTS: Mapping[str, str] = {
    "join": "JoinGroup under the id that the client knows; it owns nothing",
    "keep-join": "JoinGroup: the client owns what it was assigned",
    "sync": "SyncGroup in the generation that the client knows",
    "heartbeat": "Heartbeat",
    "leave": "LeaveGroup of itself",
}
_BOTH = "; of the consumer protocol: "
ACTS: Mapping[str, str] = {
    **consumer_client.ACTS,
    **{
        act: words + (_BOTH + consumer_client.ACTS[act] if act in consumer_client.ACTS else "")
        for act, words in _CLASSIC_ACTS.items()
    },
    "convert": "ConsumerGroupHeartbeat under the id and generation of a classic member; it doesn't "
    "say what the client owns",
    "cross-join": "a join of the other protocol under the client's id",
    "switch": "the process ends, and a new one of the other protocol replaces it",
}
PROTOCOL = "range"
_PAIR = 2


class MixedClient(NamedTuple):
    """The knowledge of a client.

    The fields before `is_classic` are those of a `ConsumerClient`.  `epoch`: the generation of a
    classic client.  `waits`: the name of a parked request.  `is_classic`: it is of the classic
    protocol.  `has_synced`: it has its assignment in this generation.  `is_called`: it heard that
    it must join again.  `roster`: the member ids that a leader must give their shares, in the order
    of their instances.
    """

    member_id: str = ""
    epoch: int = UNJOINED
    instance: str = ""
    assigned: tuple[TopicPartition, ...] = ()
    offers: int = 0
    is_ended: bool = False
    waits: str = ""
    is_classic: bool = False
    has_synced: bool = False
    is_called: bool = False
    roster: tuple[str, ...] = ()

    @property
    def has_joined(self) -> bool:
        """True if it knows an epoch or generation of its own."""
        return self.epoch > 0


def can(group: Group | ConsumerGroup | None, client: MixedClient, kind: str, most: int) -> bool:
    """Return True if a client can do an act; `most`: the largest number of members."""
    if client.waits or client.is_ended:
        return False
    if kind == "cross-join":
        return group is not None and group.member(client.member_id) is not None
    if not client.is_classic:
        if kind in {"keep-join", "sync", "convert"}:
            return False
        known: Any = client
        here: Any = group
        return consumer_client.can(here, known, kind, most)
    match kind:
        case "join":
            return group is None or _has_place(group, client, most)
        case "keep-join":
            return client.has_joined and bool(client.assigned)
        case "sync":
            return client.has_joined and not client.has_synced
        case "heartbeat":
            return client.has_joined
        case "convert":
            return client.has_synced and isinstance(group, ConsumerGroup)
        case "leave":
            return bool(client.member_id)
        case _:
            return kind == "remove"


def _has_place(group: Group | ConsumerGroup, client: MixedClient, most: int) -> bool:
    return len(group.members) < most or group.holder(client.instance) is not None


def ask(seat: Seat, client: MixedClient, kind: str) -> Ask:
    """Return the request that a client sends in an act.  Raises ValueError for no such act."""
    if kind == "cross-join":
        kind, client = "join", client._replace(is_classic=not client.is_classic)
    if not client.is_classic or kind in {"convert", "remove"}:
        known: Any = client
        act = "heartbeat" if kind == "convert" else kind
        return consumer_client.ask(seat, known, act, (), 1)
    match kind:
        case "join":
            return _join(seat, client, ())
        case "keep-join":
            return _join(seat, client, client.assigned)
        case "sync":
            return _ask(seat, _sync(client))
        case "heartbeat":
            return _ask(seat, HeartbeatRequest(**_sender(client)))
        case "leave":
            row = LeavingMember(member_id=client.member_id, group_instance_id=client.instance)
            return _ask(seat, LeaveGroupRequest(group_id=GROUP, members=(row,)))
        case _:
            raise ValueError(f"no act {kind!r}; there are {', '.join(ACTS)}")


def _ask(seat: Seat, message: Message) -> Ask:
    return Ask(message.API, seat.versions[message.API], message)


def _sender(client: MixedClient) -> dict[str, Any]:
    return {
        "group_id": GROUP,
        "generation_id": client.epoch,
        "member_id": client.member_id,
        "group_instance_id": client.instance,
    }


def _join(seat: Seat, client: MixedClient, owned: tuple[TopicPartition, ...]) -> Ask:
    metadata = encode_subscription(Subscription(OFFERS[0], owned), version=1)
    message = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS * seat.patience,
        member_id=client.member_id,
        group_instance_id=client.instance,
        protocol_type=PROTOCOL_TYPE,
        protocols=(JoinProtocol(name=PROTOCOL, metadata=metadata),),
    )
    return _ask(seat, message)


def _sync(client: MixedClient) -> SyncGroupRequest:
    """Make a SyncGroup; a leader gives its two members a partition each, one alone both."""
    rows = tuple(
        SyncAssignment(member_id=member_id, assignment=encode_assignment(share, 1))
        for member_id, share in zip(client.roster, _shares(len(client.roster)), strict=True)
    )
    return SyncGroupRequest(
        **_sender(client), protocol_type=PROTOCOL_TYPE, protocol_name=PROTOCOL, assignments=rows
    )


def _shares(count: int) -> list[list[TopicPartition]]:
    both = [TopicPartition(OFFERS[0][0], number) for number in range(_PAIR)]
    return [both[place::count] for place in range(count)]


def asking(client: MixedClient, kind: str) -> MixedClient:
    """Return the client after it sent a request, before any answer."""
    if kind == "cross-join":
        client = client._replace(is_classic=not client.is_classic, has_synced=False, roster=())
        kind = "join"
    if not client.is_classic:
        known: Any = client
        after: MixedClient = consumer_client.asking(known, kind, (), 1)  # type: ignore[assignment]
        return after
    if kind == "join":
        client = client._replace(assigned=())
    if kind in {"join", "keep-join"}:
        return client._replace(has_synced=False, is_called=False, roster=())
    return client


def after_answer(client: MixedClient, kind: str, message: Message | None) -> MixedClient:
    """Return a client after an answer.

    A classic one that is fenced goes on as if nothing had happened, as a zombie does.  `kind`: the
    act; after `convert` that is answered NONE the client is of the consumer protocol.
    """
    if isinstance(message, ConsumerGroupHeartbeatResponse):
        if client.is_classic and message.error_code != Error.NONE.value:
            return client
        known: Any = client
        after: Any = consumer_client.after_answer(known, message, ends=False)
        return _of_consumer(after) if kind == "convert" else after
    error = getattr(message, "error_code", None)
    if not client.is_classic or error is None:
        return client._replace(waits="")
    if error == Error.UNKNOWN_MEMBER_ID.value:
        return MixedClient(instance=client.instance, is_classic=True)
    if error in {Error.REBALANCE_IN_PROGRESS.value, Error.ILLEGAL_GENERATION.value}:
        return client._replace(waits="", is_called=True)
    match message:
        case JoinGroupResponse(error_code=Error.NONE.value):
            rows = sorted((m.group_instance_id or "", m.member_id) for m in message.members)
            return client._replace(
                member_id=message.member_id,
                epoch=message.generation_id,
                roster=tuple(member_id for _, member_id in rows),
                waits="",
            )
        case SyncGroupResponse(error_code=Error.NONE.value):
            assigned = tuple(sorted(readable_assignment(message.assignment)))
            return client._replace(assigned=assigned, has_synced=True, roster=(), waits="")
        case _:
            return client._replace(waits="")


def _of_consumer(client: MixedClient) -> MixedClient:
    return client._replace(is_classic=False, has_synced=False, is_called=False, roster=())


def duty(client: MixedClient) -> str | None:
    """Return the next act of a client that keeps to the protocol; None: it waits or stopped."""
    if client.waits:
        return None
    if not client.is_classic:
        known: Any = client
        return consumer_client.duty(known)
    if client.is_called or not client.has_joined:
        return "join"
    return "heartbeat" if client.has_synced else "sync"
