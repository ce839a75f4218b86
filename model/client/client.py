"""Step a client: take an input, and do what is due.  Pure.

The user polls without end, from `Start` on, until `StopPolling`.  An input changes the client's
knowledge; then each concern does what is due by that, in the same order, until nothing is.  So no
concern has to know the input that made it due, and a client that is woken for nothing does nothing.

At the end the read records are committed, partitions are given back, a dynamic member leaves.  A
static member sends nothing, unless it owes a join: its place is kept until its session ends.
Whatever the brokers do, the end comes in time; it doesn't wait longer for missing answers.

KIP-345 doesn't specify these situations:

- A fenced client is polled: it raises the error again, and sends nothing.
- The poll interval is exceeded: at the next poll the partitions are lost, and the client joins with
  an empty member id.
- A join or sync gets no answer: after the rebalance timeout and 5 s, the client reconnects and
  joins again under its member id.
- Another request to the coordinator gets no answer: after two thirds of the session timeout, the
  client reconnects and looks the coordinator up, while a third of the session is left.
- Errors repeat: the client waits from `retry_backoff_ms` to `retry_backoff_max_ms`; the first retry
  that the protocol asks for is immediate.
- The client is closed while its join is parked: it disconnects, and a dynamic member leaves on a
  new connection.
- The user commits during a rebalance: the client answers REBALANCE_IN_PROGRESS itself, or
  UNKNOWN_MEMBER_ID without a member id.
- The user commits in a transaction: the client uses a producer of its own, and aborts if the
  offsets are refused.

Source: KIP-345, "Client behavior changes"; KIP-102 (close with a timeout); KIP-800 (reasons).
"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.model.client import (
    committing,
    fetching,
    links,
    lookup,
    membership,
    transacting,
)
from fencepost.model.client.behaviour import ClientSettings, Occasion
from fencepost.model.client.client_interface import (
    AnswerRead,
    Closed,
    ConnectionLost,
    Endpoint,
    HangUp,
    Input,
    Outgoing,
    Revoked,
    Role,
    UserEvent,
    Woken,
)
from fencepost.model.client.client_state import (
    ClientState,
    ClientWork,
    Flight,
    Phase,
    Reading,
    Stage,
    is_fenced,
)
from fencepost.model.client.membership import step_out
from fencepost.model.messages.cluster_messages import (
    ApiVersionsResponse,
    FetchRequest,
    FetchResponse,
    FindCoordinatorResponse,
    FindTransactionCoordinatorRequest,
    ListOffsetsResponse,
    MetadataResponse,
    TransactionResponse,
)
from fencepost.model.messages.messages import (
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    OffsetCommitResponse,
    OffsetFetchResponse,
    SyncGroupResponse,
    TxnOffsetCommitResponse,
)
from fencepost.model.plans.steps import (
    Close,
    Commit,
    CommitInTransaction,
    PausePartitions,
    ResumePartitions,
    ResumePolling,
    Start,
    StopPolling,
    Subscribe,
    Unsubscribe,
)

_API = "LeaveGroup"
_BATCH_SINCE = 3


def begin(work: ClientWork, timeout_ms: int) -> None:
    """Begin to close the consumer, as the user asks."""
    transacting.give_up(work)
    state = work.state
    if state.stage is Stage.FAILED and work.conduct.evicts_when_fenced:
        work.change(
            stage=Stage.CLOSING, close_by_ms=work.now_ms + timeout_ms, topics=(), leaving=""
        )
        return
    if state.stage in {Stage.NEW, Stage.FAILED, Stage.CLOSED}:
        _end(work)
        return
    if state.stage is Stage.CLOSING:
        return
    close_by = work.now_ms + timeout_ms + work.conduct.close_lingers_ms
    work.change(stage=Stage.CLOSING, close_by_ms=close_by, poll_by_ms=None)
    if state.membership.phase in {Phase.JOINING, Phase.SYNCING}:
        _give_back(work)
    elif work.settings.auto_commit_ms is not None:
        committing.start(work, close_by)


def unsubscribe(work: ClientWork) -> None:
    """Subscribe to nothing any more."""
    if work.state.stage is not Stage.RUNNING:
        return
    before = work.state
    _revoke(work)
    work.change(topics=(), pattern=None)
    step_out(work, Occasion.UNSUBSCRIBE)
    committing.unsubscribed(work, before)


def _revoke(work: ClientWork) -> None:
    """Give back all partitions of the user; lost ones are lost."""
    if work.state.membership.generation_id < 0:
        work.tell_lost()
    elif owned := work.state.reading.owned:
        work.tell(Revoked(owned))
    work.change(reading=Reading())


def _give_back(work: ClientWork) -> None:
    _revoke(work)
    step_out(work, Occasion.CLOSE)
    work.change(topics=())


def pursue_close(work: ClientWork) -> None:
    """Leave, if that is to be done; come to the end, once it is, or the time is over."""
    if work.state.stage is Stage.CLOSING:
        _close(work)
    elif work.state.stage is Stage.RUNNING:
        _leave(work)


def _close(work: ClientWork) -> None:
    close_by = work.state.close_by_ms
    is_over = close_by is not None and work.now_ms >= close_by
    if is_over and work.conduct.close_has_deadline:
        work.end_commit("REQUEST_TIMED_OUT")
        _give_back(work)
        _end(work)
        return
    if work.state.committing is not None:
        if work.state.cluster.coordinator is not None:
            return
        work.end_commit("COORDINATOR_NOT_AVAILABLE")
    if work.state.topics:
        _give_back(work)
    _leave(work)
    if work.state.leaving is None and not work.conduct.close_lingers_ms:
        _end(work)


def _end(work: ClientWork) -> None:
    work.hang_up_all()
    work.change(stage=Stage.CLOSED)
    work.tell(Closed())


def _leave(work: ClientWork) -> None:
    """Send LeaveGroup, once; without a coordinator the session's end does it."""
    state = work.state
    if state.leaving is None:
        return
    coordinator = state.cluster.coordinator
    link = None if coordinator is None else links.find(state, coordinator)
    if coordinator is None or (link is not None and not link.is_up):
        work.change(leaving=None)
        return
    if link is not None and link.flight is not None and link.flight.api == _API:
        return
    if free := links.idle(work, coordinator):
        links.ask(work, free, _API, lambda version: _request(work, version))


def _request(work: ClientWork, version: int) -> LeaveGroupRequest:
    group_id, member_id = work.settings.group_id, work.state.leaving or ""
    if version < _BATCH_SINCE:
        return LeaveGroupRequest(group_id=group_id, member_id=member_id)
    instance = work.settings.group_instance_id if work.is_static else None
    row = LeavingMember(member_id=member_id, group_instance_id=instance)
    return LeaveGroupRequest(group_id=group_id, members=(row,))


def left(work: ClientWork) -> None:
    """End after LeaveGroup was answered, or never will be."""
    work.change(leaving=None)


_CONCERNS = (
    pursue_close,
    lookup.pursue,
    membership.pursue,
    committing.pursue,
    transacting.pursue,
    fetching.pursue,
)


@dataclass(frozen=True, slots=True)
class ClientStep:
    """The client after a step, its requests, its user's events, and the time to wake it.

    `requests` are in the order of sending.  `wake_at_ms` None: nothing is due by itself.
    """

    state: ClientState
    requests: tuple[Outgoing | HangUp, ...]
    events: tuple[UserEvent, ...]
    wake_at_ms: int | None


def step(settings: ClientSettings, state: ClientState, event_in: Input, now_ms: int) -> ClientStep:
    """Take an input at a time, in ms, that never goes back."""
    work = ClientWork(settings, state, now_ms)
    if state.stage is not Stage.CLOSED:
        _take(work, event_in)
        while (endpoint := links.overdue(work)) is not None:
            _connection_lost(work, endpoint, links.give_up(work, endpoint))
        _pursue(work)
    elif isinstance(event_in, Close) and work.conduct.closes_again:
        work.tell(Closed())
    return ClientStep(work.state, tuple(work.requests), tuple(work.events), _wake_at_ms(work))


def _pursue(work: ClientWork) -> None:
    """Let each concern do what is due; what one did may make another's due."""
    before = None
    while before is not work.state and work.state.stage is not Stage.CLOSED:
        before = work.state
        for pursue in _CONCERNS:
            pursue(work)
        _tell_failure(work)


def _tell_failure(work: ClientWork) -> None:
    """Report the fatal error to the user when it polls: each time that it polls on, once."""
    state = work.state
    if state.stage is not Stage.FAILED or state.is_reported or not state.is_polling:
        return
    work.change(is_reported=True)
    if state.failure is not None and (work.conduct.tells_fence or not is_fenced(state)):
        work.tell(state.failure)
    if not (work.conduct.reads_when_fenced or work.conduct.commits_when_fenced):
        work.tell_lost()


# Inputs.


def _take(work: ClientWork, event_in: Input) -> None:
    match event_in:
        case Start():
            pattern = work.settings.pattern
            topics = work.settings.topics if pattern is None else ()
            work.change(stage=Stage.RUNNING, topics=topics, pattern=pattern)
        case StopPolling():
            poll_by = work.now_ms + work.settings.max_poll_interval_ms
            work.change(is_polling=False, poll_by_ms=poll_by)
        case ResumePolling():
            work.change(is_polling=True, poll_by_ms=None, is_reported=False)
        case PausePartitions(partitions=partitions):
            fetching.pause(work, partitions)
        case ResumePartitions(partitions=partitions):
            fetching.resume(work, partitions)
        case Commit():
            committing.commit_for_user(work)
        case CommitInTransaction():
            transacting.transact_for_user(work)
        case Subscribe() if work.state.topics or work.conduct.subscribes_again:
            work.change(topics=event_in.topics, pattern=None)
            if work.state.membership.phase is not Phase.OUT:
                work.change_member(needs_join=True)
        case Unsubscribe():
            unsubscribe(work)
        case Close():
            begin(work, event_in.timeout_ms)
        case AnswerRead():
            if flight := links.answered(work, event_in.correlation_id, event_in.message):
                _answer_read(work, flight, event_in)
        case ConnectionLost():
            _connection_lost(work, event_in.endpoint, links.lost(work, event_in.endpoint))
        case Subscribe() | Woken():
            pass


def _answer_read(work: ClientWork, flight: Flight, event_in: AnswerRead) -> None:
    match event_in.message:
        case ApiVersionsResponse() as answer:
            if not links.versions_read(work, flight, answer):
                _connection_lost(work, flight.endpoint, links.give_up(work, flight.endpoint))
            elif flight.endpoint.role is Role.COORDINATOR:
                lookup.coordinator_reached(work)
        case FindCoordinatorResponse() as answer if _is_of_transaction(flight):
            transacting.coordinator_read(work, flight, answer)
        case FindCoordinatorResponse() as answer:
            lookup.coordinator_read(work, answer)
        case MetadataResponse() as answer:
            lookup.metadata_read(work, answer)
        case JoinGroupResponse() as answer:
            membership.join_read(work, answer)
        case SyncGroupResponse() as answer:
            membership.sync_read(work, flight, answer)
        case HeartbeatResponse() as answer:
            membership.heartbeat_read(work, answer)
        case OffsetCommitResponse() as answer:
            code = committing.read(work, flight, answer)
            if code is not None:
                membership.react(work, flight.api, code)
        case TxnOffsetCommitResponse() as answer:
            transacting.offsets_read(work, flight, answer)
        case TransactionResponse() as answer:
            transacting.answer_read(work, flight, answer)
        case OffsetFetchResponse() as answer:
            fetching.offsets_read(work, answer)
        case ListOffsetsResponse() as answer:
            fetching.log_offsets_read(work, answer)
        case FetchResponse() as answer:
            assert isinstance(flight.message, FetchRequest)
            fetching.log_read(work, flight.message, answer)
        case LeaveGroupResponse():
            left(work)
        case _:
            raise TypeError(f"{type(event_in.message).__name__} answers nothing that a client asks")


def _is_of_transaction(flight: Flight | None) -> bool:
    """Return True for the look-up of a transaction's coordinator."""
    return flight is not None and isinstance(flight.message, FindTransactionCoordinatorRequest)


def _connection_lost(work: ClientWork, endpoint: Endpoint, flight: Flight | None) -> None:
    """Give up the requests of a lost connection; a lost coordinator is looked up."""
    if endpoint.role is Role.COORDINATOR and endpoint == work.state.cluster.coordinator:
        lookup.forget_coordinator(work)
    if flight is not None:
        transacting.lost(work, flight)
    match flight and flight.api:
        case "FindCoordinator" if not _is_of_transaction(flight):
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
            left(work)
        case _:
            if endpoint.role is Role.LEADER:
                fetching.log_lost(work)


# Time.


def _wake_at_ms(work: ClientWork) -> int | None:
    """Return the time at which something is due that no input will announce.

    Earlier work is done, or waits for an input.
    """
    state, member, reading = work.state, work.state.membership, work.state.reading
    if state.stage not in {Stage.RUNNING, Stage.CLOSING} and not state.links:
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
    if state.transacting is not None:
        times += [state.transacting.deadline_ms, state.transacting.backoff.not_before_ms]
    for link in state.links:
        own = (link.backoff.not_before_ms, link.quiet_until_ms)
        times += [link.flight.deadline_ms] if link.flight else own
    return min((t for t in times if t is not None and t > work.now_ms), default=None)
