"""Look up the group's coordinator and the leaders of partitions, and assign as a leader.

Both are requested on the bootstrap connection, one after the other.  A leader makes each member's
assignment from the members in its join's answer.

Source: Kafka's protocol guide, also "Consumer embedded protocol"; Kafka's ConsumerCoordinator (a
lost coordinator is looked up again, and its connection ended); KIP-429; KIP-881 (racks).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from fencepost.model.assignors.assignor_input import Applicant, Assignment, Racks
from fencepost.model.assignors.assignors import ASSIGNORS, Assignor
from fencepost.model.assignors.sticky import assign_sticky, recalled
from fencepost.model.client import links
from fencepost.model.client.behaviour import Leading, Reaction
from fencepost.model.client.client_interface import BOOTSTRAP, Endpoint, Role
from fencepost.model.client.client_state import (
    Backoff,
    ClientState,
    ClientWork,
    Phase,
    Stage,
    TopicLayout,
)
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
    TopicPartition,
    encode_assignment,
    readable_subscription,
)

_STRANGER = "nobody"
_NO_USER_DATA = 4
"""Bytes at an assignment's end that say that there is none."""
_NOWHERE: frozenset[str] = frozenset()


def group_topics(members: Iterable[JoinMember]) -> frozenset[str]:
    """Return the topics that any member subscribes to."""
    return frozenset(
        topic for member in members for topic in readable_subscription(member.metadata).topics
    )


def topic_layouts(work: ClientWork, topics: Iterable[str]) -> tuple[TopicLayout, ...]:
    """Return the layouts of these topics, as far as this client knows.

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
    """Return the leader's assignments, in the order of the members."""
    assignor = ASSIGNORS[work.state.membership.protocol_name or work.settings.assignors[0]]
    applicants = tuple(_applicant(member, assignor) for member in members)
    layouts = topic_layouts(work, group_topics(members))
    counts = {layout.topic: len(layout.racks) for layout in layouts}
    racks = _racks(work.state)
    leading = work.conduct.leading
    if leading is Leading.PASSES_OVER and assignor.is_cooperative:
        applicants = _of_newest(applicants)
    if leading is Leading.HANDS_OVER_EARLY and assignor.is_cooperative:
        assignment = assign_sticky(applicants, counts, racks)
    else:
        generation = work.state.membership.generation_id
        assignment = _departed(leading, assignor.assign(applicants, counts, racks), generation)
    return tuple(
        SyncAssignment(member_id=member_id, assignment=_written(work, partitions))
        for member_id, partitions in assignment.items()
    )


def _of_newest(applicants: tuple[Applicant, ...]) -> tuple[Applicant, ...]:
    """Drop the claims of members that missed the newest generation."""
    newest = max(a.subscription.generation_id for a in applicants)
    return tuple(
        a
        if a.subscription.generation_id == newest
        else replace(a, subscription=replace(a.subscription, owned=()))
        for a in applicants
    )


def _written(work: ClientWork, partitions: tuple[TopicPartition, ...]) -> bytes:
    version = work.conduct.writes_version
    written = encode_assignment(partitions, *(() if version is None else (version,)))
    return written[:-_NO_USER_DATA] if work.conduct.omits_user_data else written


def _racks(state: ClientState) -> Racks:
    """Return the racks of partitions' replicas, as far as this client knows."""
    return {
        TopicPartition(row.topic, number): racks
        for row in state.cluster.topics
        for number, racks in enumerate(row.racks)
    }


def _departed(leading: Leading, assignment: Assignment, generation: int) -> Assignment:
    """Change an assignment as a faulty leader does."""
    first, *others = names = sorted(assignment)
    match leading:
        case Leading.FORGETS_MEMBER if others:
            return {m: partitions for m, partitions in assignment.items() if m != others[-1]}
        case Leading.NAMES_STRANGER:
            return {**assignment, _STRANGER: ()}
        case Leading.ASSIGNS_TWICE if others:
            everything = (*assignment[others[0]], *assignment[first][:1])
            return {**assignment, others[0]: everything}
        case Leading.LEAVES_OUT:
            return _without_last(assignment)
        case Leading.ROTATES:
            by = generation % len(names)
            others = names[by:] + names[:by]
            return {m: assignment[other] for m, other in zip(names, others, strict=True)}
        case _:
            return assignment


def _without_last(assignment: Mapping[str, tuple[TopicPartition, ...]]) -> Assignment:
    last = max((p for partitions in assignment.values() for p in partitions), default=None)
    return {m: tuple(p for p in partitions if p != last) for m, partitions in assignment.items()}


def _applicant(member: JoinMember, assignor: Assignor) -> Applicant:
    """Return a member with its partitions, or its last ones."""
    subscription = readable_subscription(member.metadata)
    if assignor.needs_memory:
        subscription = recalled(subscription)
    return Applicant(member.member_id, member.group_instance_id, subscription)


def forget_coordinator(work: ClientWork) -> None:
    """End the coordinator's connection, and look up another, at first at once.

    If it is the same, and again lost, the next look-up comes after a pause.
    """
    cluster = work.state.cluster
    if cluster.coordinator is not None:
        links.hang_up(work, cluster.coordinator)
        backoff = work.failed(cluster.coordinator_backoff, at_once=True)
        work.change_cluster(coordinator=None, coordinator_backoff=backoff)


def coordinator_reached(work: ClientWork) -> None:
    """Note that the coordinator answers."""
    work.change_cluster(coordinator_backoff=Backoff())


def leader_of(state: ClientState, topic: str, partition: int) -> Endpoint | None:
    """Return the endpoint of a partition's leader; None: it is unknown now."""
    row = next((row for row in state.cluster.topics if row.topic == topic), None)
    if row is None or not 0 <= partition < len(row.leaders):
        return None
    broker = next((b for b in state.cluster.brokers if b.node == row.leaders[partition]), None)
    return None if broker is None else Endpoint(Role.LEADER, *broker)


def topics_of_interest(state: ClientState) -> frozenset[str]:
    """Return the subscribed topics, and those for which this client leads."""
    return frozenset(state.topics) | group_topics(state.membership.to_lead or ())


def knows_topics(state: ClientState) -> bool:
    """Return True if all topics that matter are known: with a pattern, all that there are."""
    if state.pattern is not None:
        return state.cluster.read_ms is not None
    return topics_of_interest(state) <= {row.topic for row in state.cluster.topics}


def pursue(work: ClientWork) -> None:
    """Request missing or outdated facts."""
    state = work.state
    if state.stage not in {Stage.RUNNING, Stage.CLOSING}:
        return
    if _needs_coordinator(work):
        if link := links.idle(work, BOOTSTRAP):
            group_id = work.settings.group_id
            links.ask(work, link, "FindCoordinator", lambda _: FindCoordinatorRequest(group_id))
    elif _needs_metadata(work) and (link := links.idle(work, BOOTSTRAP)):
        topics = None if state.pattern else tuple(sorted(topics_of_interest(state)))
        links.ask(work, link, "Metadata", lambda _: MetadataRequest(topics))


def _needs_coordinator(work: ClientWork) -> bool:
    state, cluster = work.state, work.state.cluster
    is_needed = bool(state.topics) if state.stage is Stage.RUNNING else _waits_to_commit(work)
    return (
        is_needed
        and cluster.coordinator is None
        and work.now_ms >= cluster.coordinator_backoff.not_before_ms
    )


def _waits_to_commit(work: ClientWork) -> bool:
    return work.state.committing is not None


def _needs_metadata(work: ClientWork) -> bool:
    state, cluster = work.state, work.state.cluster
    if state.stage is not Stage.RUNNING or not (state.topics or state.pattern):
        return False
    if work.now_ms < cluster.backoff.not_before_ms:
        return False
    old_ms = metadata_due_ms(work)
    return cluster.is_stale or not knows_topics(state) or old_ms is None or work.now_ms >= old_ms


def metadata_due_ms(work: ClientWork) -> int | None:
    """Return the time at which the knowledge of topics is too old; None: there is none."""
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
    """Request the coordinator again after a pause."""
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
    _match_topics(work)
    nodes = set(answer.brokers)
    for link in work.state.links:
        endpoint = link.endpoint
        if endpoint.role is Role.LEADER and endpoint[1:] not in nodes and link.flight is None:
            links.hang_up(work, endpoint)


def _match_topics(work: ClientWork) -> None:
    """Subscribe to the topics that match the pattern now; a member joins again if they differ."""
    state = work.state
    if state.pattern is None or state.stage is not Stage.RUNNING:
        return
    if state.topics and not work.conduct.heeds_new_topics:
        return
    known = (row.topic for row in state.cluster.topics if row.leaders)
    topics = tuple(sorted(topic for topic in known if re.fullmatch(state.pattern, topic)))
    if topics == state.topics:
        return
    work.change(topics=topics)
    if state.membership.phase is not Phase.OUT:
        work.change_member(needs_join=True)


def metadata_lost(work: ClientWork) -> None:
    """Request topics after a pause: there was no answer, or it was wrong."""
    work.change_cluster(is_stale=True, backoff=work.failed(work.state.cluster.backoff))


def _better(row: TopicLeaders, before: TopicLeaders | None) -> TopicLeaders:
    """Return the better knowledge of a topic while a broker has a passing problem with it."""
    gone = row.error_code in {Error.NONE.value, Error.UNKNOWN_TOPIC_OR_PARTITION.value}
    return row if gone or before is None else before
