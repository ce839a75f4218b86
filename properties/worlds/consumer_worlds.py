"""Give worlds what the consumer protocol has: acts, clients, and canonical names of groups.

Member ids are renamed by their place in the group, and deadlines count from now.  An epoch is
compared, and grows beyond all others, but nothing depends on its number: so the epochs of a group
become ranks, 2, 4, 6 and so on, and an epoch that a client knows and the group doesn't gets an odd
number in between, where it stays older than the same epochs as before.  This makes the worlds of a
scope finite.
"""

# ruff: noqa: ARG002  (the methods of all protocols have one signature)

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from fencepost.model.consumer.group import ConsumerGroup, Member
from fencepost.model.consumer.topics import topic_id
from fencepost.model.messages.consumer_messages import (
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatResponse,
)
from fencepost.model.messages.messages import LeaveGroupResponse
from fencepost.model.messages.shapes import Message
from fencepost.model.work import Timer
from fencepost.properties.worlds import consumer_client as asks
from fencepost.properties.worlds.consumer_abstraction import CONSUMER
from fencepost.properties.worlds.consumer_client import ConsumerClient
from fencepost.properties.worlds.consumer_scope import (
    CHECK_SCOPES,
    COVER_SCOPES,
    DIFF_SCOPES,
    DRAWING,
    PROMISE_SCOPES,
    RARE_SCOPES,
    ConsumerScope,
)
from fencepost.properties.worlds.protocol_worlds import (
    UNKNOWN,
    Ask,
    Naming,
    ProtocolWorlds,
    Seat,
)

Ranks = tuple[tuple[int, int], ...]
"""Each epoch of a group with its rank, ascending."""


_TOPIC_IDS = MappingProxyType({topic_id(name): name for name in asks.TOPICS})


class ConsumerWorlds(ProtocolWorlds):
    """The consumer protocol's part of worlds."""

    acts = asks.ACTS
    unheard = asks.UNHEARD
    client: type[Any] = ConsumerClient
    topic_ids = _TOPIC_IDS
    default_scope = ConsumerScope(clients=2, members=2)
    abstraction = CONSUMER
    check_scopes = CHECK_SCOPES
    rare_scopes = RARE_SCOPES
    promise_scopes = PROMISE_SCOPES
    cover_scopes = COVER_SCOPES
    diff_scopes = DIFF_SCOPES
    drawing = DRAWING

    def can(
        self, scope: Any, group: ConsumerGroup | None, client: ConsumerClient, kind: str, seat: Seat
    ) -> bool:
        """Return True if a client can do an act."""
        if kind == "restart":
            return client != self.cut_off(client, kind)
        if kind == "lost-join" and not asks.makes_ids(seat):
            return False  # it knows no id, so it is as if it had started again
        return asks.can(group, client, kind, scope.members)

    def ask(self, scope: Any, seat: Seat, client: ConsumerClient, kind: str) -> Ask:
        """Return the request that a client sends in an act.  Raises ValueError for no such act."""
        return asks.ask(seat, client, kind, scope.instance_ids, scope.offers)

    def asking(self, scope: Any, client: ConsumerClient, kind: str) -> ConsumerClient:
        """Return the client after it sent this request, before any answer."""
        return asks.asking(client, kind, scope.instance_ids, scope.offers)

    def answered(
        self, scope: Any, client: ConsumerClient, kind: str, answer: Message | None, waits: str
    ) -> ConsumerClient:
        """Return the client after the answer, unless that is lost."""
        if kind in self.unheard:
            return client
        return asks.after_answer(client, answer, ends=scope.ends_clients)

    def cut_off(self, client: ConsumerClient, kind: str) -> ConsumerClient:
        """Return the new process in place of a client: it has the same instance."""
        return ConsumerClient(instance=client.instance, offers=client.offers)

    def order(self, client: ConsumerClient) -> tuple[object, ...]:
        """Return a total order of clients."""
        return client

    def number(self, client: ConsumerClient) -> int:
        """Return the epoch that a client knows; negative if it knows none."""
        return client.epoch or asks.UNJOINED

    def counted(self, group: ConsumerGroup) -> str:
        """Return the epoch of a group in words."""
        return f"epoch {group.epoch}"

    def knowledge(self, client: ConsumerClient, called: Mapping[str, str]) -> tuple[object, ...]:
        """Return what a client knows, with other names of ids; of its epoch only the kind."""
        return (called.get(client.member_id), min(client.epoch, 1), *client[2:])

    def duty(self, group: ConsumerGroup | None, client: ConsumerClient, seat: Seat) -> str | None:
        """Return the next act of a client that keeps to the protocol; None: it stopped."""
        return asks.duty(client)

    # Names.

    def named(self, scope: Any, group: ConsumerGroup | None) -> Naming:
        """Return the canonical form of a group."""
        if group is None:
            return Naming(None, {}, ())
        if not scope.keeps_commit_epochs:
            group = _without_commit_epochs(group)
        ids = _ids(group)
        ranks = _ranks(group)
        return Naming(_renamed(group, ids, dict(ranks).__getitem__), ids, ranks)

    def unchanged(self, group: ConsumerGroup | None) -> Naming:
        """Return the names of a group that is in canonical form, as they are."""
        if group is None:
            return Naming(None, {}, ())
        ids = [m.member_id for m in group.members] + [mid for _, mid in group.static]
        ranks = _ranks(group)
        return Naming(group, {i: i for i in ids}, tuple((rank, rank) for rank, _ in ranks))

    def known_as(self, client: ConsumerClient, naming: Naming) -> ConsumerClient:
        """Rename a client's id and epoch to those of its group.

        An id that the group doesn't know is as good as none, unless the client thinks that it is a
        member: then it is marked.
        """
        if not client.member_id:
            return client
        member_id = naming.ids.get(client.member_id)
        if member_id is not None:
            return client._replace(member_id=member_id, epoch=_rank(client.epoch, naming.shift))
        if client.epoch > 0:
            return client._replace(member_id=UNKNOWN + client.member_id, epoch=1)
        return client._replace(member_id="", epoch=min(client.epoch, asks.UNJOINED))

    def settled(self, client: ConsumerClient, others: dict[str, str]) -> ConsumerClient:
        """Give names to ids that the group doesn't know, in the order in which they come."""
        member_id = client.member_id
        if not member_id.startswith(UNKNOWN):
            return client
        new = others.setdefault(member_id.removeprefix(UNKNOWN), f"other.{len(others) + 1}")
        return client._replace(member_id=new)

    # Real runs.

    def numbers(self, before: Mapping[int, int] | None, shift: Ranks) -> Mapping[int, int]:
        """Return rank → real epoch after a step."""
        if before is None:
            return {}
        return {rank: real_epoch(epoch, before) for epoch, rank in shift}

    def real_group(
        self, group: ConsumerGroup, ids: Mapping[str, str], numbers: Mapping[int, int], now_ms: int
    ) -> ConsumerGroup:
        """Return a group of a world in real ids, epochs and times."""
        return _renamed(group, ids, lambda epoch: real_epoch(epoch, numbers)).shifted(now_ms)

    def real_answer(
        self,
        message: Message,
        ids: Mapping[str, str],
        numbers: Mapping[int, int],
        makers: Mapping[str, str],
    ) -> Message:
        """Return an answer in real ids and epochs; `makers`: real id → its client."""
        match message:
            case ConsumerGroupHeartbeatResponse(member_id=member_id) if member_id is not None:
                return replace(
                    message,
                    member_id=ids.get(member_id, member_id),
                    member_epoch=real_epoch(message.member_epoch, numbers),
                )
            case LeaveGroupResponse():
                rows = tuple(
                    replace(r, member_id=ids.get(r.member_id, r.member_id)) for r in message.members
                )
                return replace(message, members=rows)
            case ConsumerGroupDescribeResponse():
                groups = tuple(
                    replace(
                        group,
                        group_epoch=real_epoch(group.group_epoch, numbers),
                        assignment_epoch=real_epoch(group.assignment_epoch, numbers),
                        members=tuple(
                            replace(
                                m,
                                member_id=real,
                                client_id=makers.get(real, m.client_id),
                                member_epoch=real_epoch(m.member_epoch, numbers),
                            )
                            for m in group.members
                            for real in [ids.get(m.member_id, m.member_id)]
                        ),
                    )
                    for group in message.groups
                )
                return replace(message, groups=groups)
            case _:
                return message


CONSUMER_WORLDS = ConsumerWorlds()


def real_epoch(epoch: int, numbers: Mapping[int, int]) -> int:
    """Return the real epoch of one of a world; one that a step made is above one that was there."""
    if epoch <= 0 or epoch in numbers:
        return numbers.get(epoch, epoch)
    below = max((known for known in numbers if known < epoch), default=0)
    return numbers.get(below, 0) + epoch - below


def _without_commit_epochs(group: ConsumerGroup) -> ConsumerGroup:
    """Return a group without the epochs since which partitions are a member's: no commit comes."""

    def plain(member: Member) -> Member:
        assigned = tuple((partition, 0) for partition, _ in member.assigned)
        revoking = tuple((partition, 0) for partition, _ in member.revoking)
        if (assigned, revoking) == (member.assigned, member.revoking):
            return member
        return replace(member, assigned=assigned, revoking=revoking)

    return replace(group, members=tuple(map(plain, group.members)))


def _ranks(group: ConsumerGroup) -> Ranks:
    """Return the rank of each epoch of a group above 0."""
    epochs = {group.epoch, group.target_epoch}
    for member in group.members:
        epochs |= {member.epoch, member.previous_epoch}
        epochs.update(since for _, since in (*member.assigned, *member.revoking))
    above = sorted(epoch for epoch in epochs if epoch > 0)
    return tuple((epoch, 2 * place) for place, epoch in enumerate(above, start=1))


def _rank(epoch: int, ranks: Ranks) -> int:
    """Return the rank of an epoch; of one that the group doesn't know a number in between."""
    if epoch <= 0:
        return epoch
    rank = 0
    for known, its_rank in ranks:
        if known == epoch:
            return its_rank
        if known > epoch:
            break
        rank = its_rank
    return rank + 1


def _ids(group: ConsumerGroup) -> dict[str, str]:
    """Return the canonical name of each id of a group: by its instance, and its place there."""
    timers = {(t.kind, t.subject): (t.earliest, t.latest) for t in group.timers}
    mapped = {member_id: instance for instance, member_id in reversed(group.static)}
    ids: dict[str, str] = {}
    counts: dict[str, int] = {}

    def name(member_id: str, prefix: str) -> None:
        if member_id not in ids:
            counts[prefix] = counts.get(prefix, 0) + 1
            ids[member_id] = f"{prefix}.{counts[prefix]}"

    def place(member: Member) -> tuple[object, ...]:
        return (
            mapped.get(member.member_id, ""),
            member.epoch,
            member.previous_epoch,
            member.phase.value,
            member.assigned,
            member.revoking,
            group.target_of(member.member_id),
            member.topics,
            timers.get(("session", member.member_id), (0, 0)),
            timers.get(("rebalance", member.member_id), (0, 0)),
            member.member_id,
        )

    for member in sorted(group.members, key=place):
        name(member.member_id, member.instance_id or "dynamic")
    for _, member_id in group.static:
        name(member_id, "gone")
    return ids


def _renamed(
    group: ConsumerGroup, ids: Mapping[str, str], rank: Callable[[int], int]
) -> ConsumerGroup:
    """Return a group with other names of its ids, and other numbers for its epochs above 0."""

    def number(epoch: int) -> int:
        return rank(epoch) if epoch > 0 else epoch

    def member(old: Member) -> Member:
        return replace(
            old,
            member_id=ids.get(old.member_id, old.member_id),
            client_id="",
            epoch=number(old.epoch),
            previous_epoch=number(old.previous_epoch),
            assigned=tuple((partition, number(since)) for partition, since in old.assigned),
            revoking=tuple((partition, number(since)) for partition, since in old.revoking),
        )

    return replace(
        group,
        epoch=number(group.epoch),
        target_epoch=number(group.target_epoch),
        target=tuple(sorted((ids.get(i, i), partitions) for i, partitions in group.target)),
        members=tuple(sorted(map(member, group.members), key=lambda m: m.member_id)),
        static=tuple(sorted((instance, ids.get(i, i)) for instance, i in group.static)),
        timers=tuple(sorted(Timer(t[0], ids.get(t[1], t[1]), t[2], t[3]) for t in group.timers)),
    )
