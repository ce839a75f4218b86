"""Define history properties: a restart of a static member in a stable group has no rebalance.

A history shows that a group is Stable if a SyncGroup or Heartbeat of its generation was answered
NONE after the generation was assigned, no request that may start a rebalance was sent since or was
still under way, no session can have ended, and there was no failover.  So a rebalance after that
has a cause in the history.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.messages.errors import Error, error_name
from fencepost.model.messages.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from fencepost.properties.claims.function_property import history_property
from fencepost.properties.claims.history_index import NEVER, NONE, Joined, PlacedExchange, Reading

_REBALANCE = Error.REBALANCE_IN_PROGRESS.value


@dataclass(slots=True)
class _Calm:
    """A group that is known to be Stable, from `since` on: a place in the history."""

    group: str
    generation: int
    since: PlacedExchange
    restarts: list[PlacedExchange] = field(default_factory=list)


def _calms(reading: Reading) -> Iterator[tuple[_Calm, PlacedExchange]]:
    """Yield each request that was sent while its group was known to be Stable, in that order."""
    if reading.takeovers:
        return  # of each member's protocols the selected one alone was stored
    calm: dict[str, _Calm] = {}
    for request in reading.exchanges:
        group = request.group
        now = calm.get(group)
        if now is None or not now.since.before(request):
            now = _evidence(reading, request)
        if now is None or not _in_time(reading, now, request):
            calm.pop(group, None)
            continue
        yield now, request
        if _restarts(reading, now, request):
            now.restarts.append(request)
        elif _disturbs(request):
            calm.pop(group, None)
            continue
        calm[group] = now


def _evidence(reading: Reading, request: PlacedExchange) -> _Calm | None:
    """Return the evidence that the group was Stable when this request was sent."""
    group = request.group
    earlier = [e for e in reading.exchanges if e.group == group and e.sent < request.sent]
    for sync, message, _ in reversed(reading.synced):
        if message.group_id != group or not sync.before(request):
            continue
        calm = all(e.sent < sync.sent and e.before(sync) for e in earlier if _disturbs(e))
        return _Calm(group, message.generation_id, sync) if calm else None
    return None


def _disturbs(e: PlacedExchange) -> bool:
    """Return True if a request may start a rebalance once it is handled, even without an answer."""
    known = isinstance(e.request, JoinGroupRequest | LeaveGroupRequest)
    return known or e.join is not None or "/" in e.api


def _in_time(reading: Reading, calm: _Calm, request: PlacedExchange) -> bool:
    """Return True if no timer can have fired since the group was founded.

    No more time has passed than the shortest timeout of any member.
    """
    if reading.virtual and request.at_ms == calm.since.answered_ms:
        return True
    joins = [
        (e.at_ms, join)
        for e in reading.exchanges
        if e.group == calm.group and (join := e.join) is not None
    ]
    timeouts = [t for _, a in joins for t in (a.session_timeout_ms, a.rebalance_timeout_ms)]
    shortest = min((t for t in timeouts if t > 0), default=0)
    return request.end_ms - min(at for at, _ in joins) < shortest


def _restarts(reading: Reading, calm: _Calm, request: PlacedExchange) -> bool:
    """Return True for the join of a restarted static member with its subscription of before."""
    join = request.join
    if join is None or join.member_id or join.group_instance_id is None:
        return False
    last = _last_join(reading, request, join.group_instance_id)
    if last is None or last.answer.generation_id != calm.generation:
        return False
    if _subscription(last.message) != _subscription(join):
        return False
    selected = last.answer.protocol_name
    votes = {
        t.message.protocols[0].name for t in reading.joined if t.message.group_id == calm.group
    }
    return votes == {selected} and last.message.session_timeout_ms == join.session_timeout_ms


def _last_join(reading: Reading, request: PlacedExchange, instance: str) -> Joined | None:
    """Return the last join of an instance, if it was answered NONE before this one was sent."""
    own = {mid for (g, mid), i in reading.instances.items() if (g, i) == (request.group, instance)}
    joins = [
        e
        for e in reading.exchanges
        if e.sent < request.sent
        and e.group == request.group
        and (join := e.join) is not None
        and (join.group_instance_id == instance or join.member_id in own)
    ]
    last = joins[-1] if joins else None
    if last is None or not last.before(request):
        return None
    return next((t for t in reading.joined if t.exchange is last and t.instance == instance), None)


def _subscription(join: JoinGroupRequest) -> tuple[object, ...]:
    return join.protocol_type, join.protocols


def _loud(reading: Reading) -> str | None:
    for calm, request in _calms(reading):
        if _restarts(reading, calm, request):
            answer = request.answer
            if answer is None:
                if request.dropped == NEVER and reading.virtual:
                    return f"{request} restarts in a stable group, and was not answered at once"
                continue
            assert isinstance(answer, JoinGroupResponse)
            if answer.error_code != NONE or answer.generation_id != calm.generation:
                error = error_name(answer.error_code)
                return (
                    f"{request} restarts in generation {calm.generation}, which was stable, and "
                    f"was answered {error}, generation {answer.generation_id}"
                )
        elif calm.restarts and _rebalance_answered(calm, request):
            return (
                f"{request} was answered REBALANCE_IN_PROGRESS in generation {calm.generation} "
                f"after {len(calm.restarts)} restarts of static members and nothing else"
            )
    return None


def _rebalance_answered(calm: _Calm, request: PlacedExchange) -> bool:
    if not isinstance(request.request, HeartbeatRequest | SyncGroupRequest):
        return False
    current = request.request.generation_id == calm.generation
    return current and getattr(request.answer, "error_code", NONE) == _REBALANCE


def _restarted_in_calm(reading: Reading) -> bool:
    return any(_restarts(reading, calm, request) for calm, request in _calms(reading))


def _causeless(reading: Reading) -> str | None:
    for calm, request in _calms(reading):
        if not calm.restarts and _rebalance_answered(calm, request):
            return (
                f"{request} was answered REBALANCE_IN_PROGRESS in generation {calm.generation}, "
                f"and nothing had happened since {calm.since} showed it to be stable"
            )
    return None


def _request_in_calm(reading: Reading) -> bool:
    return any(
        isinstance(request.request, HeartbeatRequest | SyncGroupRequest)
        for _, request in _calms(reading)
    )


_SCOPE = (
    "a group that a SyncGroup showed to be stable, with no request since that may start a "
    "rebalance, before any session can end, and no failover in the history"
)

QUIET_PROPERTIES = (
    history_property(
        "restart-in-a-stable-group-is-quiet",
        "A static member that restarts in a stable group with the same subscription is answered "
        "NONE in the same generation, and no answer announces a rebalance.",
        src.KIP_ROLLING,
        _SCOPE + "; all members' first protocol is the selected one, so that no tie is voted anew",
        _loud,
        _restarted_in_calm,
        expected={
            "member-name-draft": "a leader that restarts causes a rebalance in this draft",
            "comment-table-1": "the stored id is returned with MEMBER_ID_REQUIRED; no answer yet",
        },
    ),
    history_property(
        "rebalance-has-a-visible-cause",
        "In a stable group without an event no answer announces a rebalance.",
        src.KIP_BACKGROUND,
        _SCOPE,
        _causeless,
        _request_in_calm,
    ),
)
