"""Name what a group of the consumer protocol holds, so that a step can show what it changed."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.model.consumer.group import ConsumerGroup, Held, Member, Partitions
from fencepost.model.history.words import Names, member
from fencepost.properties.worlds.consumer_client import ConsumerClient


def consumer_fields(group: ConsumerGroup, names: Names) -> Iterator[tuple[str, str]]:
    """Yield the fields of a group; its timers are left out."""
    yield "state", group.state.value
    yield "epoch", str(group.epoch)
    yield "target epoch", str(group.target_epoch)
    for instance, holder in group.static:
        yield f"instance {instance}", f"held by {member(holder, names)}"
    for each in group.members:
        yield from _member(each, names)
    for member_id, partitions in group.target:
        yield f"target of {member(member_id, names)}", _places(partitions)
    for partition, ids in group.open:
        owners = " or ".join(member(i, names) if i else "nobody" for i in ids)
        yield f"target of {partition.topic}-{partition.partition}", owners
    for offset in group.offsets:
        yield f"offset {offset.topic}-{offset.partition}", str(offset.offset)


def consumer_knowledge(client: ConsumerClient) -> str:
    """Return what a client of a world knows."""
    parts = [client.member_id or "knows no member id"]
    if client.instance:
        parts.append(f"instance {client.instance}")
    if client.epoch > 0:
        parts.append(f"epoch {client.epoch}, assigned {_places(client.assigned)}")
    elif client.epoch == 0:
        parts.append("joined without an answer")
    elif client.member_id:
        parts.append("must join" if client.epoch == -1 else "released")
    if client.is_ended:
        parts.append("stopped for good")
    return ", ".join(parts)


def _member(each: Member, names: Names) -> Iterator[tuple[str, str]]:
    name = f"member {member(each.member_id, names)}"
    yield name, f"instance {each.instance_id}" if each.is_static else "dynamic"
    yield f"{name}: epoch", f"{each.epoch}, before {each.previous_epoch}; {each.phase.value}"
    yield f"{name}: assigned", _held(each.assigned)
    if each.revoking:
        yield f"{name}: to give up", _held(each.revoking)
    yield f"{name}: topics", ", ".join(each.topics) or "none"
    yield f"{name}: R", f"{each.rebalance_timeout_ms:,} ms"


def _places(partitions: Partitions) -> str:
    return ", ".join(f"{p.topic}-{p.partition}" for p in partitions) or "nothing"


def _held(rows: Held) -> str:
    return _places(tuple(partition for partition, _ in rows))
