"""Model a client of the consumer protocol: its knowledge, its requests, its use of answers.

A client makes its member id itself and remembers it, the epoch, and the partitions of the last
answer that had any.  It sends any request that its state allows, in any order, also one that a good
library would not send.  Two clients of one instance are how zombies arise.

The answer to a join or heartbeat may be lost: then the client repeats it, and knows no more than
before.  A heartbeat says nothing of what its sender owns; to acknowledge is to say that it owns
exactly what it was last assigned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fencepost.model.consumer.group import RELEASED_EPOCH, ConsumerGroup
from fencepost.model.consumer.topics import partitions_in, rows_of
from fencepost.model.messages.consumer_messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    BY_ID_SINCE,
    CommitPartition,
    CommitTopic,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.subscription import TopicPartition
from fencepost.properties.worlds.protocol_worlds import FRESH, GROUP, REBALANCE_MS, Ask, Seat

ACTS: Mapping[str, str] = {
    "join": "ConsumerGroupHeartbeat with epoch 0, under the client's id and with its instance",
    "lost-join": "the same, and its answer is lost",
    "bare-join": "ConsumerGroupHeartbeat with epoch 0, under the client's id and without instance",
    "swap": "ConsumerGroupHeartbeat with epoch 0, under the client's id and with another instance",
    "heartbeat": "ConsumerGroupHeartbeat that doesn't say what the client owns",
    "acknowledge": "ConsumerGroupHeartbeat: the client owns exactly what it was assigned",
    "lost-heartbeat": "the same, and its answer is lost",
    "change": "ConsumerGroupHeartbeat with another subscription",
    "release": "ConsumerGroupHeartbeat with epoch -2: the client goes for a while",
    "bare-release": "ConsumerGroupHeartbeat with epoch -2 and without instance",
    "leave": "ConsumerGroupHeartbeat with epoch -1: the client leaves for good",
    "remove": "LeaveGroup of an administrator for the client's instance",
    "commit": "OffsetCommit of one offset, with the epoch that the client knows",
    "describe": "ConsumerGroupDescribe",
    "restart": "the process ends, and a new one without any state replaces it",
    "tick": "time passes",
    "failover": "another coordinator takes over with the stored state",
}
UNHEARD = frozenset({"lost-join", "lost-heartbeat"})
"""Acts whose answer is lost."""
JOINS = frozenset({"join", "lost-join", "bare-join", "swap"})
_BEATS = frozenset({"heartbeat", "acknowledge", "lost-heartbeat", "change"})

OFFERS: tuple[tuple[str, ...], ...] = (("t",), ("t", "u"), ("u",))
"""Subscriptions that a client may have; the choice is part of its state."""
UNJOINED = -1
_ENDED = frozenset({Error.UNRELEASED_INSTANCE_ID.value, Error.FENCED_INSTANCE_ID.value})
TOPICS = frozenset(topic for offer in OFFERS for topic in offer)


class ConsumerClient(NamedTuple):
    """The knowledge of a client.

    `member_id`: "" if it has made none, or nobody knows the one that it made.  `epoch`: that of the
    last answer; 0 if it joined and got no answer, -1 if it must join, -2 if it was released.
    `instance`: its instance id, "" for a dynamic one.  `assigned`: the partitions of the last
    answer that had any.  `offers`: index into OFFERS.  `is_ended`: it was refused or fenced, and
    does nothing any more.  `waits`: always ""; each heartbeat is answered at once.
    """

    member_id: str = ""
    epoch: int = UNJOINED
    instance: str = ""
    assigned: tuple[TopicPartition, ...] = ()
    offers: int = 0
    is_ended: bool = False
    waits: str = ""

    @property
    def has_joined(self) -> bool:
        """True if it knows an epoch of its own."""
        return self.epoch > 0


def can(group: ConsumerGroup | None, client: ConsumerClient, kind: str, most: int) -> bool:
    """Return True if a client can do an act; `most`: the largest number of members."""
    if client.is_ended:
        return False
    if kind in {"join", "lost-join"}:
        return client.epoch <= 0 and _has_room(group, client, most)
    if kind in {"bare-join", "swap"}:
        return group is not None and group.member(client.member_id) is not None
    if kind in _BEATS:
        return client.has_joined
    if kind in {"release", "bare-release"}:
        return client.has_joined and bool(client.instance)
    if kind in {"leave", "commit"}:
        return bool(client.member_id) and client.epoch not in {0, UNJOINED}
    return kind == "describe" or (kind == "remove" and bool(client.instance))


def _has_room(group: ConsumerGroup | None, client: ConsumerClient, most: int) -> bool:
    if group is None or len(group.members) < most:
        return True
    if group.member(client.member_id) is not None:
        return True
    return bool(client.instance) and group.holder(client.instance) is not None


def ask(
    seat: Seat, client: ConsumerClient, kind: str, instances: tuple[str, ...], offers: int
) -> Ask:
    """Return the request that a client sends in an act.  Raises ValueError for no such act.

    `instances`: those of the scope, among which `swap` goes; `offers`: number of subscriptions.
    """
    match kind:
        case "join" | "lost-join":
            return _join(seat, client, client.instance or None)
        case "bare-join":
            return _join(seat, client, None)
        case "swap":
            return _join(seat, client, _next(client.instance, instances))
        case "heartbeat":
            return _beat(seat, client)
        case "acknowledge" | "lost-heartbeat":
            return _beat(seat, client, owned=client.assigned)
        case "change":
            topics = OFFERS[(client.offers + 1) % offers]
            return _beat(seat, client, owned=client.assigned, topics=topics)
        case "release":
            return _heartbeat(seat, client, RELEASED_EPOCH, client.instance or None)
        case "bare-release":
            return _heartbeat(seat, client, RELEASED_EPOCH, None)
        case "leave":
            return _heartbeat(seat, client, -1, client.instance or None)
        case "remove":
            row = LeavingMember(member_id="", group_instance_id=client.instance)
            leave = LeaveGroupRequest(group_id=GROUP, members=(row,))
            return Ask("LeaveGroup", seat.versions["LeaveGroup"], leave)
        case "commit":
            return _commit(seat, client)
        case "describe":
            describe = ConsumerGroupDescribeRequest(group_ids=(GROUP,))
            return Ask(describe.API, seat.versions[describe.API], describe)
        case _:
            raise ValueError(f"no act {kind!r}; there are {', '.join(ACTS)}")


def _next(instance: str, instances: tuple[str, ...]) -> str:
    """Return the instance after this one; after the last one, and after none, the first."""
    place = instances.index(instance) + 1 if instance in instances else 0
    return instances[place % len(instances)]


def makes_ids(seat: Seat) -> bool:
    """Return True if a client makes its member id itself, as from version 1 on."""
    return seat.versions["ConsumerGroupHeartbeat"] > 0


def _heartbeat(
    seat: Seat, client: ConsumerClient, epoch: int, instance: str | None, **fields: object
) -> Ask:
    message = ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id=client.member_id,
        member_epoch=epoch,
        instance_id=instance,
        **fields,  # type: ignore[arg-type]
    )
    return Ask(message.API, seat.versions[message.API], message)


def _join(seat: Seat, client: ConsumerClient, instance: str | None) -> Ask:
    is_new = not client.member_id and makes_ids(seat)
    return _heartbeat(
        seat,
        client._replace(member_id=FRESH) if is_new else client,
        0,
        instance,
        rebalance_timeout_ms=REBALANCE_MS * seat.patience,
        subscribed_topic_names=OFFERS[client.offers],
        topic_partitions=(),
    )


def _beat(
    seat: Seat,
    client: ConsumerClient,
    *,
    owned: tuple[TopicPartition, ...] | None = None,
    topics: tuple[str, ...] | None = None,
) -> Ask:
    rows = None if owned is None else rows_of(owned)
    return _heartbeat(
        seat,
        client,
        client.epoch,
        client.instance or None,
        topic_partitions=rows,
        subscribed_topic_names=topics,
    )


def _commit(seat: Seat, client: ConsumerClient) -> Ask:
    partition = CommitPartition(partition_index=0, committed_offset=1)
    message = OffsetCommitRequest(
        group_id=GROUP,
        generation_id=client.epoch,
        member_id=client.member_id,
        group_instance_id=client.instance or None,
        topics=(CommitTopic(name=OFFERS[0][0], partitions=(partition,)),),
    )
    by_name = min(seat.versions[message.API], BY_ID_SINCE - 1)
    return Ask(message.API, by_name, message)


def asking(
    client: ConsumerClient, kind: str, instances: tuple[str, ...], offers: int
) -> ConsumerClient:
    """Return the client after it sent a request, before any answer."""
    if kind == "change":
        return client._replace(offers=(client.offers + 1) % offers)
    if kind not in JOINS:
        return client
    known = client if client.member_id else client._replace(member_id=FRESH)
    known = known._replace(epoch=0 if kind == "lost-join" else UNJOINED, assigned=())
    return known._replace(instance=_next(client.instance, instances)) if kind == "swap" else known


def after_answer(client: ConsumerClient, message: Message | None, *, ends: bool) -> ConsumerClient:
    """Return a client after an answer to its heartbeat, join or leave.

    FENCED_MEMBER_EPOCH and UNKNOWN_MEMBER_ID make it give up all and join anew, under its id.
    `ends`: it stops for good when its instance is another's, as Java's and librdkafka's do;
    otherwise it goes on as if nothing had happened, as a zombie does.
    """
    if not isinstance(message, ConsumerGroupHeartbeatResponse):
        return client
    if message.error_code in _ENDED and ends:
        return client._replace(is_ended=True, assigned=())
    if message.error_code in {Error.FENCED_MEMBER_EPOCH.value, Error.UNKNOWN_MEMBER_ID.value}:
        return client._replace(epoch=UNJOINED, assigned=())
    if message.error_code != Error.NONE.value:
        return client
    if message.member_epoch < 0:
        return client._replace(epoch=message.member_epoch, assigned=())
    assigned = client.assigned
    if message.assignment is not None:
        assigned = tuple(sorted(partitions_in(message.assignment.topic_partitions, TOPICS)))
    return client._replace(
        member_id=message.member_id or client.member_id,
        epoch=message.member_epoch,
        assigned=assigned,
    )


def duty(client: ConsumerClient) -> str | None:
    """Return the next act of a client that keeps to the protocol; None: it has gone or stopped."""
    if client.is_ended or client.epoch == RELEASED_EPOCH:
        return None
    return "acknowledge" if client.has_joined else "join"
