"""The end: what was read is committed, partitions are given back, a dynamic member leaves.

A static member says nothing: its place is kept until its session ends.  Whatever the brokers do,
the end comes in time; what they don't answer is not waited for longer.

Source: KIP-345, "Client behavior changes"; KIP-102 (close with a timeout); KIP-800 (reasons).
"""

from __future__ import annotations

from fencepost.model.client import committing, links
from fencepost.model.client.behaviour import Occasion
from fencepost.model.client.client_interface import Closed, Revoked
from fencepost.model.client.client_state import Life, Phase, Reading
from fencepost.model.client.client_work import ClientWork
from fencepost.model.client.membership import step_out
from fencepost.model.messages.messages import LeaveGroupRequest, LeavingMember

_API = "LeaveGroup"
_BATCH_SINCE = 3


def begin(work: ClientWork, timeout_ms: int) -> None:
    """The user closes the consumer."""
    state = work.state
    if state.life is Life.FAILED and work.conduct.evicts_when_fenced:
        work.change(life=Life.CLOSING, close_by_ms=work.now_ms + timeout_ms, topics=(), leaving="")
        return
    if state.life in {Life.NEW, Life.FAILED, Life.CLOSED}:
        _end(work)
        return
    if state.life is Life.CLOSING:
        return
    close_by = work.now_ms + timeout_ms + work.conduct.close_lingers_ms
    work.change(life=Life.CLOSING, close_by_ms=close_by, poll_by_ms=None)
    if state.membership.phase in {Phase.JOINING, Phase.SYNCING}:
        _give_back(work)
    elif work.settings.auto_commit_ms is not None:
        committing.start(work, close_by)


def unsubscribe(work: ClientWork) -> None:
    """The user subscribes to nothing any more."""
    if work.state.life is not Life.RUNNING:
        return
    _revoke(work)
    work.change(topics=())
    step_out(work, Occasion.UNSUBSCRIBE)


def _revoke(work: ClientWork) -> None:
    """The user gives everything back; what was lost meanwhile is lost."""
    if work.state.membership.generation_id < 0:
        work.tell_lost()
    elif owned := work.state.reading.owned:
        work.tell(Revoked(owned))
    work.change(reading=Reading())


def _give_back(work: ClientWork) -> None:
    _revoke(work)
    step_out(work, Occasion.CLOSE)
    work.change(topics=())


def pursue(work: ClientWork) -> None:
    """Leave, if that is to be done; come to the end, once it is, or the time is over."""
    if work.state.life is Life.CLOSING:
        _close(work)
    elif work.state.life is Life.RUNNING:
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
    work.change(life=Life.CLOSED)
    work.tell(Closed())


def _leave(work: ClientWork) -> None:
    """Send LeaveGroup, once; nobody to send it to: then the session's end does it."""
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
    """LeaveGroup was answered, or never will be: both are an end."""
    work.change(leaving=None)
