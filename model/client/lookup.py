"""What a client has to know of the cluster: its group's coordinator, and who leads partitions.

Both are asked of the bootstrap connection, one after the other.

Source: Kafka's protocol guide; Kafka's ConsumerCoordinator (a coordinator that was lost is looked
up again, and its connection ended).

A leader's work: from the members of its join's answer to what each is assigned.

Source: Kafka's protocol guide, "Consumer embedded protocol"; KIP-429; KIP-881 (racks).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fencepost.model.assignors.assignor_input import Applicant, Assignment, Racks
from fencepost.model.assignors.assignors import ASSIGNORS, Assignor
from fencepost.model.assignors.sticky import assign_sticky
from fencepost.model.assignors.sticky_memory import recalled
from fencepost.model.client import links
from fencepost.model.client.behaviour import Leading, Reaction
from fencepost.model.client.client_interface import BOOTSTRAP, Endpoint, Role
from fencepost.model.client.client_state import Backoff, ClientState, ClientWork, Life, TopicLayout
from fencepost.model.messages.cluster_messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
    TopicLeaders,
)
from fencepost.model.messages.errors import Error
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


def forget_coordinator(work: ClientWork) -> None:
    """The coordinator is no more: its connection is ended, another is looked up, at first at once.

    If that is the same, and as little there, the next look-up comes after a pause.
    """
    cluster = work.state.cluster
    if cluster.coordinator is not None:
        links.hang_up(work, cluster.coordinator)
        backoff = work.failed(cluster.coordinator_backoff, at_once=True)
        work.change_cluster(coordinator=None, coordinator_backoff=backoff)


def coordinator_reached(work: ClientWork) -> None:
    """The coordinator that was told answers."""
    work.change_cluster(coordinator_backoff=Backoff())


def leader_of(state: ClientState, topic: str, partition: int) -> Endpoint | None:
    """Where a partition's leader is; None: nobody knows now."""
    row = next((row for row in state.cluster.topics if row.topic == topic), None)
    if row is None or partition >= len(row.leaders):
        return None
    broker = next((b for b in state.cluster.brokers if b.node == row.leaders[partition]), None)
    return None if broker is None else Endpoint(Role.LEADER, *broker)


def wanted_topics(state: ClientState) -> frozenset[str]:
    """The topics that are subscribed to, and those for which this client leads."""
    return frozenset(state.topics) | group_topics(state.membership.to_lead or ())


def knows_topics(state: ClientState) -> bool:
    """Whether all topics that matter were answered about."""
    return wanted_topics(state) <= {row.topic for row in state.cluster.topics}


def pursue(work: ClientWork) -> None:
    """Ask for what isn't known, or no longer."""
    state = work.state
    if state.life not in {Life.RUNNING, Life.CLOSING}:
        return
    if _needs_coordinator(work):
        if link := links.idle(work, BOOTSTRAP):
            group_id = work.settings.group_id
            links.ask(work, link, "FindCoordinator", lambda _: FindCoordinatorRequest(group_id))
    elif _needs_metadata(work) and (link := links.idle(work, BOOTSTRAP)):
        topics = tuple(sorted(wanted_topics(state)))
        links.ask(work, link, "Metadata", lambda _: MetadataRequest(topics))


def _needs_coordinator(work: ClientWork) -> bool:
    state, cluster = work.state, work.state.cluster
    wanted = bool(state.topics) if state.life is Life.RUNNING else _waits_to_commit(work)
    return (
        wanted
        and cluster.coordinator is None
        and work.now_ms >= cluster.coordinator_backoff.not_before_ms
    )


def _waits_to_commit(work: ClientWork) -> bool:
    return work.state.committing is not None


def _needs_metadata(work: ClientWork) -> bool:
    state, cluster = work.state, work.state.cluster
    if state.life is not Life.RUNNING or not state.topics:
        return False
    if work.now_ms < cluster.backoff.not_before_ms:
        return False
    old_ms = metadata_due_ms(work)
    return cluster.is_stale or not knows_topics(state) or old_ms is None or work.now_ms >= old_ms


def metadata_due_ms(work: ClientWork) -> int | None:
    """When what is known of topics is too old; None: nothing is known."""
    read_ms = work.state.cluster.read_ms
    return None if read_ms is None else read_ms + work.settings.metadata_max_age_ms


def coordinator_read(work: ClientWork, answer: FindCoordinatorResponse) -> None:
    """Take the coordinator, or ask again after a pause."""
    if answer.error_code == Error.NONE.value and answer.coordinator is not None:
        endpoint = Endpoint(Role.COORDINATOR, *answer.coordinator)
        work.change_cluster(coordinator=endpoint)
        return
    coordinator_lost(work)
    match work.conduct.reaction("FindCoordinator", answer.error_code):
        case Reaction.FAIL:
            work.fail(answer.error_code, "FindCoordinator")
        case Reaction.TELL:
            work.tell_error(answer.error_code, "FindCoordinator")
        case _:
            pass


def coordinator_lost(work: ClientWork) -> None:
    """Nobody told the coordinator: ask again after a pause."""
    work.change_cluster(coordinator_backoff=work.failed(work.state.cluster.coordinator_backoff))


def metadata_read(work: ClientWork, answer: MetadataResponse) -> None:
    """Take brokers and leaders; where a leader is missing, ask again after a pause."""
    cluster = work.state.cluster
    before = {row.topic: row for row in cluster.topics}
    topics = tuple(_better(row, before.get(row.topic)) for row in answer.topics)
    is_whole = all(row.error_code == 0 and -1 not in row.leaders for row in answer.topics)
    work.change_cluster(
        brokers=answer.brokers,
        topics=topics,
        read_ms=work.now_ms,
        is_stale=not is_whole,
        backoff=Backoff() if is_whole else work.failed(cluster.backoff),
    )
    nodes = set(answer.brokers)
    for link in work.state.links:
        endpoint = link.endpoint
        if endpoint.role is Role.LEADER and endpoint[1:] not in nodes and link.flight is None:
            links.hang_up(work, endpoint)


def metadata_lost(work: ClientWork) -> None:
    """Nobody told of topics, or what was told is wrong: ask after a pause."""
    work.change_cluster(is_stale=True, backoff=work.failed(work.state.cluster.backoff))


def _better(row: TopicLeaders, before: TopicLeaders | None) -> TopicLeaders:
    """What is known of a topic while a broker has a passing problem with it."""
    gone = row.error_code in {Error.NONE.value, Error.UNKNOWN_TOPIC_OR_PARTITION.value}
    return row if gone or before is None else before
