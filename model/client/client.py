"""One step of a client: what happens to it, and what it does then.  Pure.

The user polls without end, from `Start` on, until `StopPolling`.  An input changes what the client
knows; then each concern does what is due by that, in the same order, until nothing is.  So no
concern has to know which input made it due, and a client that is woken for nothing does nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.model.client import closing, committing, fetching, links, lookup, membership
from fencepost.model.client.client_interface import (
    AnswerRead,
    Asked,
    Close,
    Commit,
    ConnectionLost,
    Endpoint,
    HangUp,
    Input,
    PollOn,
    Role,
    Start,
    StopPolling,
    Subscribe,
    Unsubscribe,
    UserEvent,
    Woken,
)
from fencepost.model.client.client_state import ClientState, Flight, Life, Phase
from fencepost.model.client.client_work import ClientWork, is_fenced
from fencepost.model.client.consumer_settings import ClientSettings
from fencepost.model.messages.cluster_messages import (
    ApiVersionsResponse,
    FetchRequest,
    FetchResponse,
    FindCoordinatorResponse,
    ListOffsetsResponse,
    MetadataResponse,
)
from fencepost.model.messages.messages import (
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    OffsetCommitResponse,
    OffsetFetchResponse,
    SyncGroupResponse,
)

_CONCERNS = (
    closing.pursue,
    lookup.pursue,
    membership.pursue,
    committing.pursue,
    fetching.pursue,
)


@dataclass(frozen=True, slots=True)
class ClientStep:
    """The client afterwards, what it sends, what its user sees, and when to wake it.

    `requests` are in the order of sending.  `wake_at_ms` None: nothing is due by itself.
    """

    state: ClientState
    requests: tuple[Asked | HangUp, ...]
    events: tuple[UserEvent, ...]
    wake_at_ms: int | None


def step(settings: ClientSettings, state: ClientState, given: Input, now_ms: int) -> ClientStep:
    """Take an input at a time, in ms, that never goes back."""
    work = ClientWork(settings, state, now_ms)
    if state.life is not Life.CLOSED:
        _take(work, given)
        while (endpoint := links.overdue(work)) is not None:
            _connection_lost(work, endpoint, links.give_up(work, endpoint))
        _pursue(work)
    return ClientStep(work.state, tuple(work.requests), tuple(work.events), _wake_at_ms(work))


def _pursue(work: ClientWork) -> None:
    """Let each concern do what is due; what one did may make another's due."""
    before = None
    while before is not work.state and work.state.life is not Life.CLOSED:
        before = work.state
        for pursue in _CONCERNS:
            pursue(work)
        _tell_failure(work)


def _tell_failure(work: ClientWork) -> None:
    """The user, when it polls, is told the fatal error: each time that it polls on, once."""
    state = work.state
    if state.life is not Life.FAILED or state.was_told or not state.is_polling:
        return
    work.change(was_told=True)
    if state.failure is not None and (work.conduct.tells_fence or not is_fenced(state)):
        work.tell(state.failure)
    if not (work.conduct.reads_when_fenced or work.conduct.commits_when_fenced):
        work.tell_lost()


# Inputs.


def _take(work: ClientWork, given: Input) -> None:
    match given:
        case Start():
            work.change(life=Life.RUNNING, topics=work.settings.topics)
        case StopPolling():
            poll_by = work.now_ms + work.settings.max_poll_interval_ms
            work.change(is_polling=False, poll_by_ms=poll_by)
        case PollOn():
            work.change(is_polling=True, poll_by_ms=None, was_told=False)
        case Commit():
            committing.commit_for_user(work)
        case Subscribe():
            work.change(topics=given.topics)
            if work.state.membership.phase is not Phase.OUT:
                work.change_member(needs_join=True)
        case Unsubscribe():
            closing.unsubscribe(work)
        case Close():
            closing.begin(work, given.timeout_ms)
        case AnswerRead():
            if flight := links.answered(work, given.correlation_id, given.message):
                _answer_read(work, flight, given)
        case ConnectionLost():
            _connection_lost(work, given.endpoint, links.lost(work, given.endpoint))
        case Woken():
            pass


def _answer_read(work: ClientWork, flight: Flight, given: AnswerRead) -> None:
    match given.message:
        case ApiVersionsResponse() as answer:
            if not links.versions_read(work, flight, answer):
                _connection_lost(work, flight.endpoint, links.give_up(work, flight.endpoint))
            elif flight.endpoint.role is Role.COORDINATOR:
                lookup.coordinator_reached(work)
        case FindCoordinatorResponse() as answer:
            lookup.coordinator_read(work, answer)
        case MetadataResponse() as answer:
            lookup.metadata_read(work, answer)
        case JoinGroupResponse() as answer:
            membership.join_read(work, answer)
        case SyncGroupResponse() as answer:
            membership.sync_read(work, answer)
        case HeartbeatResponse() as answer:
            membership.heartbeat_read(work, answer)
        case OffsetCommitResponse() as answer:
            code = committing.read(work, flight, answer)
            if code is not None:
                membership.react(work, flight.api, code)
        case OffsetFetchResponse() as answer:
            fetching.offsets_read(work, answer)
        case ListOffsetsResponse() as answer:
            fetching.log_offsets_read(work, answer)
        case FetchResponse() as answer:
            assert isinstance(flight.message, FetchRequest)
            fetching.log_read(work, flight.message, answer)
        case LeaveGroupResponse():
            closing.left(work)
        case _:
            raise TypeError(f"{type(given.message).__name__} answers nothing that a client asks")


def _connection_lost(work: ClientWork, endpoint: Endpoint, flight: Flight | None) -> None:
    """What was open on a connection gets no answer; a coordinator that was lost is looked up."""
    if endpoint.role is Role.COORDINATOR and endpoint == work.state.cluster.coordinator:
        lookup.forget_coordinator(work)
    match flight and flight.api:
        case "FindCoordinator":
            lookup.coordinator_lost(work)
        case "Metadata":
            lookup.metadata_lost(work)
        case "JoinGroup" | "SyncGroup":
            membership.join_lost(work)
        case "OffsetCommit":
            committing.lost(work)
        case "OffsetFetch":
            fetching.offsets_lost(work)
        case "ListOffsets" | "Fetch":
            fetching.log_lost(work)
        case "LeaveGroup":
            closing.left(work)
        case _:
            if endpoint.role is Role.LEADER:
                fetching.log_lost(work)


# Time.


def _wake_at_ms(work: ClientWork) -> int | None:
    """When something is due that no input will announce.

    What was due before was done, or waits for an input.
    """
    state, member, reading = work.state, work.state.membership, work.state.reading
    if state.life not in {Life.RUNNING, Life.CLOSING} and not state.links:
        return None
    times = [
        state.poll_by_ms,
        state.auto_commit_ms,
        state.close_by_ms,
        lookup.metadata_due_ms(work),
        member.heartbeat_ms if member.phase is Phase.STABLE else None,
        *(
            backoff.not_before_ms
            for backoff in (
                state.cluster.backoff,
                state.cluster.coordinator_backoff,
                member.backoff,
                reading.backoff,
                reading.fetch_backoff,
            )
        ),
    ]
    if state.committing is not None:
        times += [state.committing.deadline_ms, state.committing.backoff.not_before_ms]
    for link in state.links:
        own = (link.backoff.not_before_ms, link.quiet_until_ms)
        times += [link.flight.deadline_ms] if link.flight else own
    return min((t for t in times if t is not None and t > work.now_ms), default=None)
