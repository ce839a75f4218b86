"""What a client has to know of the cluster: its group's coordinator, and who leads partitions.

Both are asked of the bootstrap connection, one after the other.

Source: Kafka's protocol guide; Kafka's ConsumerCoordinator (a coordinator that was lost is looked
up again, and its connection ended).
"""

from __future__ import annotations

from fencepost.model.client import links
from fencepost.model.client.behaviour import Reaction
from fencepost.model.client.client_interface import BOOTSTRAP, Endpoint, Role
from fencepost.model.client.client_state import Backoff, ClientState, Life
from fencepost.model.client.client_work import ClientWork
from fencepost.model.client.leading import group_topics
from fencepost.model.messages.cluster_messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
    TopicLeaders,
)
from fencepost.model.messages.errors import Error


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
