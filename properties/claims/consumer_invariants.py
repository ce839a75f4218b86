"""State what must hold of each group of the consumer protocol, and no formula says.

Times, complete targets, commit epochs, clients.  Each but those of clients is a property of steps
that looks at the group after the step, so that the rule of the step that breaks it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from fencepost.model.consumer.group import SESSION, ConsumerGroup
from fencepost.model.consumer.rules import rule_sources as src
from fencepost.model.messages.subscription import TopicPartition
from fencepost.properties.claims.consumer_views import words_of
from fencepost.properties.claims.function_property import run_property
from fencepost.properties.claims.world_properties import DECIDED
from fencepost.properties.logic.logic import Property, PropertyKind
from fencepost.properties.worlds.consumer_client import ConsumerClient
from fencepost.properties.worlds.protocol_worlds import SESSION_MS
from fencepost.properties.worlds.views import StepView, WorldView

NO_PROOF = "it is about times, topics, numbers or contents of answers, which proofs leave out"
INSIDE = "the group's state can't be seen from outside"
"""The reasons why other engines don't check these."""
inside = partial(run_property, PropertyKind.STEP, proof=NO_PROOF, answers=INSIDE)
"""Make a property of steps that answers alone can't show."""
UNSAID = "the oracle compares answers; no property of histories says this yet"
visible = partial(run_property, PropertyKind.STEP, proof=NO_PROOF, answers=UNSAID)
"""Make a property of steps that answers show."""
ALL_STEPS = "all steps"
_state = partial(run_property, PropertyKind.STATE, proof=NO_PROOF, answers=INSIDE)
_TIMES = "groups that the scopes reach, where a session lasts two ticks"
_ALL = "all groups"


def _property(
    name: str,
    meaning: str,
    source: str,
    holds: Callable[[ConsumerGroup], str | None],
    premise: Callable[[ConsumerGroup], bool],
    scope: str = _ALL,
) -> Property:
    """Make a property of the group after a step."""

    def judged(view: StepView) -> str | None:
        fault = None if view.after is None else holds(view.after)
        if fault is not None and view.before is not None and holds(view.before) is not None:
            return None  # it is an earlier step's
        return fault

    def reached(view: StepView) -> bool:
        return view.after is not None and premise(view.after)

    return inside(name, meaning, source, scope, judged, reached)


# Partitions.


def _later_than_its_owner(group: ConsumerGroup) -> str | None:
    for member in group.members:
        for partition, since in (*member.assigned, *member.revoking):
            if since > max(member.epoch, 0):
                return (
                    f"{words_of(partition)} is {member.member_id}'s since epoch {since}, and its "
                    f"epoch is {member.epoch}"
                )
    return None


# Epochs and the target.


def _unread_topics(group: ConsumerGroup) -> Iterator[str]:
    """Yield the topics that somebody subscribes to, and of which the target has nothing."""
    topics = {partition.topic for _, partitions in group.target for partition in partitions}
    read = {topic for member in group.members for topic in member.topics}
    yield from sorted(read - topics)


def _incomplete_target(group: ConsumerGroup) -> str | None:
    """Say which partition has no target; partitions are known from what anybody has of a topic."""
    if group.target_epoch != group.epoch:
        return None
    for topic in _unread_topics(group):
        return f"members subscribe to {topic}, and the target gives no partition of it to anybody"
    aimed = {partition for _, partitions in group.target for partition in partitions}
    most: dict[str, int] = {}
    for partition in (*aimed, *group.owned()):
        most[partition.topic] = max(most.get(partition.topic, 0), partition.partition)
    read = {topic for member in group.members for topic in member.topics}
    for topic in sorted(read):
        for number in range(most.get(topic, -1) + 1):
            if TopicPartition(topic, number) not in aimed:
                return f"the target gives {topic}-{number} to nobody"
    return None


# Timers.


def _overlong(group: ConsumerGroup) -> str | None:
    for timer in group.timers:
        if timer.kind == SESSION and timer.latest > SESSION_MS:
            return f"the session of {timer.subject} ends in {timer.latest:,} ms"
    return None


def _has_members(group: ConsumerGroup) -> bool:
    return bool(group.members)


# Clients.


def _client_members(view: WorldView) -> Iterator[tuple[int, ConsumerClient]]:
    for index, client in enumerate(view.clients, start=1):
        if client.epoch > 0 and client.assigned:
            yield index, client


def _owns_more(view: WorldView) -> str | None:
    for index, client in _client_members(view):
        member = None if view.group is None else view.group.member(client.member_id)
        if member is None:
            continue
        held = {partition for partition, _ in (*member.assigned, *member.revoking)}
        for partition in client.assigned:
            if partition not in held:
                return (
                    f"c{index} was assigned {words_of(partition)} in its last answer, and "
                    f"{client.member_id} has it no more"
                )
    return None


def _overcrowded(view: WorldView) -> str | None:
    if view.group is None or view.places is None or len(view.group.members) <= view.places:
        return None
    return f"there are {len(view.group.members)} members, and the largest size is {view.places}"


CONSUMER_INVARIANTS: tuple[Property, ...] = (
    _property(
        "a-partition-is-no-newer-than-its-owner",
        "The epoch since which a partition is a member's is not newer than the member's.",
        src.KIP_HEARTBEAT,
        _later_than_its_owner,
        lambda group: any(since > 0 for m in group.members for _, since in m.assigned),
        "groups in which commits happen; elsewhere worlds don't keep these epochs",
    ),
    _property(
        "a-target-is-complete",
        "A target of the group's epoch gives each subscribed partition to a member.",
        src.KIP_HEARTBEAT,
        _incomplete_target,
        lambda group: bool(group.target) and group.target_epoch == group.epoch,
        "partitions that anybody has, and those below them",
    ),
    _property(
        "a-session-has-its-length",
        "The session of each member ends within the group's session timeout.",
        src.KIP_TIMERS,
        _overlong,
        _has_members,
        _TIMES,
    ),
    _state(
        "a-client-owns-what-is-its",
        "A client's last assignment is its own until an answer has another one.",
        src.KIP_HEARTBEAT,
        "clients whose id is a member's; a client that is no member any more hears of it later",
        _owns_more,
        lambda view: any(True for _ in _client_members(view)),
    ),
    _state(
        "a-consumer-group-keeps-its-size",
        "A group never has more members than group.consumer.max.size.",
        src.KAFKA_SIZE,
        "groups with a bound that was there from the beginning",
        _overcrowded,
        lambda view: view.places is not None and bool(view.group and view.group.members),
    ),
    DECIDED,
)
