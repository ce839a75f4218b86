"""State what must hold of each group of the consumer protocol, after each step.

Partitions, epochs, instances, the target and timers: most are the invariants that KIP-848 and
KIP-345 rest on.  Each is a property of steps that looks at the group after the step, so that the
rule of the step that breaks it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from fencepost.model.consumer.group import REBALANCE, SESSION, ConsumerGroup, Phase
from fencepost.model.consumer.rules import rule_sources as src
from fencepost.model.messages.subscription import TopicPartition
from fencepost.properties.claims.consumer_views import words_of
from fencepost.properties.claims.function_property import run_property
from fencepost.properties.claims.world_properties import DECIDED
from fencepost.properties.logic.logic import Property, PropertyKind
from fencepost.properties.worlds.consumer_client import ConsumerClient
from fencepost.properties.worlds.protocol_worlds import SESSION_MS
from fencepost.properties.worlds.views import StepView, WorldView

NO_PROOF = "its relations are of partitions and epochs, for which proofs have no sorts yet"
INSIDE = "the group's state can't be seen from outside"
"""The reasons why other engines don't check these."""
inside = partial(run_property, PropertyKind.STEP, proof=NO_PROOF, answers=INSIDE)
"""Make a property of steps that answers alone can't show."""
visible = partial(
    run_property,
    PropertyKind.STEP,
    proof=NO_PROOF,
    answers="the oracle compares answers; no property of histories says this yet",
)
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


def _shared_partition(group: ConsumerGroup) -> str | None:
    owners: dict[TopicPartition, str] = {}
    for member in group.members:
        for partition, _ in (*member.assigned, *member.revoking):
            first = owners.setdefault(partition, member.member_id)
            if first != member.member_id:
                return f"{words_of(partition)} is assigned to {first} and to {member.member_id}"
    return None


def _later_than_its_owner(group: ConsumerGroup) -> str | None:
    for member in group.members:
        for partition, since in (*member.assigned, *member.revoking):
            if since > max(member.epoch, 0):
                return (
                    f"{words_of(partition)} is {member.member_id}'s since epoch {since}, and its "
                    f"epoch is {member.epoch}"
                )
    return None


def _revoking_in_another_phase(group: ConsumerGroup) -> str | None:
    for member in group.members:
        if member.revoking and member.phase is not Phase.UNREVOKED:
            return f"{member.member_id} has partitions to give up, and is {member.phase.value}"
    return None


# Epochs and the target.


def _disordered_epochs(group: ConsumerGroup) -> str | None:
    if group.target_epoch > group.epoch:
        return f"the target is of epoch {group.target_epoch}, and the group of {group.epoch}"
    for member in group.members:
        if member.epoch > group.target_epoch:
            return (
                f"{member.member_id} has epoch {member.epoch}, and the target {group.target_epoch}"
            )
    return None


def _illegal_target(group: ConsumerGroup) -> str | None:
    owners: dict[TopicPartition, str] = {}
    for member_id, partitions in group.target:
        if group.member(member_id) is None:
            return f"the target gives partitions to {member_id}, which is no member"
        for partition in partitions:
            first = owners.setdefault(partition, member_id)
            if first != member_id:
                return f"the target gives {words_of(partition)} to {first} and to {member_id}"
    return None


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


def _lost_target(group: ConsumerGroup) -> str | None:
    for member in group.members:
        if not group.is_reconciled(member):
            continue
        target = group.target_of(member.member_id)
        if member.partitions() != target:
            listed = ", ".join(map(words_of, member.partitions())) or "nothing"
            expected = ", ".join(map(words_of, target)) or "nothing"
            return (
                f"{member.member_id} has taken over the target, and is assigned {listed} "
                f"instead of {expected}"
            )
    return None


# Instances.


def _wrong_entry(group: ConsumerGroup) -> str | None:
    for instance, member_id in group.static:
        member = group.member(member_id)
        if member is None:
            return f"instance {instance} is mapped to {member_id}, which is no member"
        if member.instance_id != instance:
            own = member.instance_id or "none"
            return f"instance {instance} is mapped to {member_id}, whose own instance is {own}"
    return None


def _unmapped_member(group: ConsumerGroup) -> str | None:
    for member in group.members:
        if member.instance_id is not None and group.holder(member.instance_id) != member.member_id:
            return f"{member.member_id} has instance {member.instance_id}, which isn't mapped to it"
    return None


# Timers.


def _unwatched(group: ConsumerGroup) -> str | None:
    for member in group.members:
        if group.timer(SESSION, member.member_id) is None:
            return f"no session timer runs for {member.member_id}"
    return None


def _overlong(group: ConsumerGroup) -> str | None:
    for timer in group.timers:
        if timer.kind == SESSION and timer.latest > SESSION_MS:
            return f"the session of {timer.subject} ends in {timer.latest:,} ms"
    return None


def _unhurried(group: ConsumerGroup) -> str | None:
    for member in group.members:
        waits = member.phase is Phase.UNREVOKED and not member.is_released
        if waits and group.timer(REBALANCE, member.member_id) is None:
            return f"{member.member_id} must give partitions up, and no rebalance timer runs for it"
    return None


def _strays(group: ConsumerGroup) -> str | None:
    for timer in group.timers:
        if timer.subject and group.member(timer.subject) is None:
            return f"a {timer.kind} timer runs for {timer.subject}, which is gone"
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
        "a-partition-has-one-owner",
        "A partition is assigned to one member at most, also while it is to be given up.",
        src.KIP_HEARTBEAT,
        _shared_partition,
        lambda group: sum(bool(m.assigned or m.revoking) for m in group.members) > 1,
    ),
    _property(
        "a-partition-is-no-newer-than-its-owner",
        "The epoch since which a partition is a member's is not newer than the member's.",
        src.KIP_HEARTBEAT,
        _later_than_its_owner,
        lambda group: any(since > 0 for m in group.members for _, since in m.assigned),
        "groups in which commits happen; elsewhere worlds don't keep these epochs",
    ),
    _property(
        "to-give-up-is-a-phase",
        "A member has partitions to give up only while it is in the phase for that.",
        src.KIP_HEARTBEAT,
        _revoking_in_another_phase,
        lambda group: any(m.revoking for m in group.members),
    ),
    _property(
        "epochs-are-in-order",
        "No member's epoch is above that of the target, which is not above that of the group.",
        src.KIP_HEARTBEAT,
        _disordered_epochs,
        _has_members,
    ),
    _property(
        "a-target-is-legal",
        "The target gives each partition to one member at most, and nothing to others.",
        src.KIP_HEARTBEAT,
        _illegal_target,
        lambda group: len(group.target) > 1,
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
        "a-target-is-taken-over",
        "A member that counts as reconciled is assigned what the target gives to it.",
        src.KIP_HEARTBEAT,
        _lost_target,
        lambda group: any(group.is_reconciled(m) for m in group.members),
    ),
    _property(
        "an-entry-names-its-member",
        "Each instance is mapped to a member whose own instance it is.",
        src.KIP_STATIC,
        _wrong_entry,
        lambda group: bool(group.static),
    ),
    _property(
        "a-static-member-is-found",
        "The instance of each static member is mapped to it.",
        src.KIP_STATIC,
        _unmapped_member,
        lambda group: any(m.is_static for m in group.members),
    ),
    _property(
        "a-member-is-watched",
        "A session timer runs for each member, released or not.",
        src.KIP_TIMERS,
        _unwatched,
        _has_members,
    ),
    _property(
        "a-session-has-its-length",
        "The session of each member ends within the group's session timeout.",
        src.KIP_TIMERS,
        _overlong,
        _has_members,
        _TIMES,
    ),
    _property(
        "who-must-give-up-is-hurried",
        "A rebalance timer runs for each live member that has partitions to give up.",
        src.KIP_TIMERS,
        _unhurried,
        lambda group: any(m.revoking for m in group.members),
    ),
    _property(
        "no-timer-of-the-removed",
        "A timer runs only for a member.",
        src.KIP_TIMERS,
        _strays,
        _has_members,
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
