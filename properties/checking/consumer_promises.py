"""State what must happen in the end in the consumer protocol: partitions are owned, joins succeed.

Clients keep to the protocol from some moment on: they join, say what they own, and stay.  One that
hears that its instance is another's stops for good, where the scope says so: Java's and
librdkafka's do.
"""

from __future__ import annotations

from typing import Any

from fencepost.model.consumer.rules import rule_sources as src
from fencepost.properties.checking.liveness import PROMISES, Promise
from fencepost.properties.claims.property_classes import class_of, harm_of
from fencepost.properties.claims.waivers import reasons
from fencepost.properties.worlds.mixed_abstraction import as_consumer_group
from fencepost.properties.worlds.views import WorldView


def _known(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "property_class": class_of(name),
        "harm": harm_of(name),
        "expected": reasons(name),
    }


def _has_ownerless_partition(view: WorldView) -> bool:
    """Return True if a member subscribes to a topic, a partition of which is nobody's."""
    group = as_consumer_group(view.group)
    if group is None:
        return False
    owned = set(group.owned())
    topics = {topic for member in group.members for topic in member.topics}
    return sum(partition.topic in topics for partition in owned) < len(topics) * view.partitions


def _waits_for_its_join(view: WorldView, client: int) -> bool:
    """Return True if a client's join made it a member, and it doesn't know that."""
    known = view.clients[client]
    is_member = view.group is not None and view.group.member(known.member_id) is not None
    return known.epoch == 0 and is_member


def _knows_its_join(view: WorldView, client: int) -> bool:
    """Return True if a client has an epoch, or joins anew, since it is no member any more."""
    known = view.clients[client]
    return not known.is_ended and (known.epoch > 0 or not known.member_id)


PARTITION_OWNED = Promise(
    **_known("every-partition-gets-an-owner"),
    meaning="When all clients send heartbeats, or are removed, each subscribed partition gets an "
    "owner.",
    source=src.KIP_HEARTBEAT,
    when=_has_ownerless_partition,
)
JOIN_SUCCEEDS = Promise(
    **_known("a-repeated-join-comes-through"),
    meaning="A client that joined, lost the answer and joins again becomes a member.",
    source="KIP-848 (joining with epoch 0); apache/kafka#23542",
    when=_waits_for_its_join,
    until=_knows_its_join,
    each_client=True,
)
CONSUMER_PROMISES = (PARTITION_OWNED, JOIN_SUCCEEDS)
ALL_PROMISES = (*PROMISES, *CONSUMER_PROMISES)
"""Those of both protocols."""
PROMISES_BY_PROTOCOL = {
    "classic": PROMISES,
    "consumer": CONSUMER_PROMISES,
    "mixed": (PARTITION_OWNED,),
}
"""Name of a protocol → its promises."""
