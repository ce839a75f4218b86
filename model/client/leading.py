"""A leader's work: from the members of its join's answer to what each is assigned.

Source: Kafka's protocol guide, "Consumer embedded protocol"; KIP-429; KIP-881 (racks).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fencepost.model.assignors.assignor_input import Applicant, Assignment, Racks
from fencepost.model.assignors.assignors import ASSIGNORS, Assignor
from fencepost.model.assignors.sticky import assign_sticky
from fencepost.model.assignors.sticky_memory import recalled
from fencepost.model.client.behaviour import Leading
from fencepost.model.client.client_state import ClientState, TopicLayout
from fencepost.model.client.client_work import ClientWork
from fencepost.model.messages.messages import JoinMember, SyncAssignment
from fencepost.model.messages.subscription import (
    Subscription,
    TopicPartition,
    decode_subscription,
    encode_assignment,
)

_STRANGER = "nobody"
_NOWHERE: frozenset[str] = frozenset()


def group_topics(members: Iterable[JoinMember]) -> frozenset[str]:
    """The topics that any member subscribes to."""
    return frozenset(topic for member in members for topic in _subscription(member).topics)


def topic_layouts(work: ClientWork, topics: Iterable[str]) -> tuple[TopicLayout, ...]:
    """What these topics' partitions are, as far as this client knows.

    A client that has no rack doesn't look at theirs, as Kafka's ConsumerCoordinator doesn't.
    """
    has_rack = work.settings.rack_id is not None
    known = {row.topic: row for row in work.state.cluster.topics}
    layouts = []
    for topic in sorted(topics):
        row = known.get(topic)
        count = 0 if row is None else len(row.leaders)
        racks = row.racks if row is not None and has_rack else ()
        layouts.append(TopicLayout(topic, (*racks, *[_NOWHERE] * (count - len(racks)))))
    return tuple(layouts)


def assignments(work: ClientWork, members: tuple[JoinMember, ...]) -> tuple[SyncAssignment, ...]:
    """What the leader sends: each member's assignment, in the order of the members."""
    assignor = ASSIGNORS[work.state.membership.protocol_name or work.settings.assignors[0]]
    applicants = tuple(_applicant(member, assignor) for member in members)
    layouts = topic_layouts(work, group_topics(members))
    counts = {layout.topic: len(layout.racks) for layout in layouts}
    racks = _racks(work.state)
    leading = work.conduct.leading
    if leading is Leading.HANDS_OVER_EARLY and assignor.is_cooperative:
        found = assign_sticky(applicants, counts, racks)
    else:
        generation = work.state.membership.generation_id
        found = _departed(leading, assignor.assign(applicants, counts, racks), generation)
    return tuple(
        SyncAssignment(member_id=member_id, assignment=encode_assignment(partitions))
        for member_id, partitions in found.items()
    )


def _racks(state: ClientState) -> Racks:
    """Where the replicas of partitions are, as far as this client knows."""
    return {
        TopicPartition(row.topic, number): racks
        for row in state.cluster.topics
        for number, racks in enumerate(row.racks)
    }


def _departed(leading: Leading, found: Assignment, generation: int) -> Assignment:
    """What a lying leader makes of an assignment."""
    first, *others = names = sorted(found)
    match leading:
        case Leading.FORGETS_MEMBER if others:
            return {m: partitions for m, partitions in found.items() if m != others[-1]}
        case Leading.NAMES_STRANGER:
            return {**found, _STRANGER: ()}
        case Leading.ASSIGNS_TWICE if others:
            everything = (*found[others[0]], *found[first][:1])
            return {**found, others[0]: everything}
        case Leading.LEAVES_OUT:
            return _without_last(found)
        case Leading.ROTATES:
            by = generation % len(names)
            others = names[by:] + names[:by]
            return {m: found[other] for m, other in zip(names, others, strict=True)}
        case _:
            return found


def _without_last(found: Mapping[str, tuple[TopicPartition, ...]]) -> Assignment:
    last = max((p for partitions in found.values() for p in partitions), default=None)
    return {m: tuple(p for p in partitions if p != last) for m, partitions in found.items()}


def _applicant(member: JoinMember, assignor: Assignor) -> Applicant:
    """A member, with what it has, or had last."""
    subscription = _subscription(member)
    if assignor.needs_memory:
        subscription = recalled(subscription)
    return Applicant(member.member_id, member.group_instance_id, subscription)


def _subscription(member: JoinMember) -> Subscription:
    """What a member wants; nothing, if nobody can read it."""
    try:
        return decode_subscription(member.metadata)
    except ValueError:
        return Subscription(())
