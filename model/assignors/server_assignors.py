"""Assign as a broker of the consumer protocol does: the target of a group, by the group's assignor.

The assignor is the one that most members ask for; `uniform` if nobody asks, or if they tie.
Uniform levels the loads and leaves partitions where the target has them; range cuts each topic into
ranges.  Both know no racks.

Source: Kafka's UniformAssignor and RangeAssignor of the broker, by their results.  Where Kafka's
choice depends on the order of a hash table, the order of members by place decides here.
"""

from __future__ import annotations

from collections.abc import Callable

from fencepost.model.assignors.assignor_input import Applicant
from fencepost.model.assignors.assignors import assign_range
from fencepost.model.assignors.sticky import assign_sticky
from fencepost.model.consumer.features import preferred
from fencepost.model.consumer.group import ConsumerGroup
from fencepost.model.consumer.topics import Target
from fencepost.model.messages.subscription import Subscription


def assign_at_broker(group: ConsumerGroup, count: Callable[[str], int]) -> Target:
    """Return the target of a group.  `count`: returns the partitions of a topic, 0 if missing."""
    members = tuple(
        Applicant(
            m.member_id,
            m.instance_id,
            Subscription(m.topics, owned=group.target_of(m.member_id), generation_id=0),
        )
        for m in group.members
    )
    counts = {topic: count(topic) for m in group.members for topic in m.topics}
    name = preferred(m.assignor for m in group.members)[0]
    assign = assign_range if name == "range" else assign_sticky
    return tuple(sorted((mid, part) for mid, part in assign(members, counts).items() if part))
