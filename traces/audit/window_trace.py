"""Write the segment around a violation as a trace file, to be replayed and viewed.

A trace begins without any group.  So the members first join, sync and send their last heartbeats;
then come the lines of the segment, up to the wrong answer.  The ids of the added requests begin
with `before` or `beat-before`.  The verdict in the file is the oracle's verdict on that trace.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from fencepost.model.classic.group import SESSION, Group, Member
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.coordinator import Answer, Send
from fencepost.model.history.events import Answered, Event, Sent
from fencepost.properties.oracle.oracle import judge
from fencepost.traces.audit.audit_results import AuditViolation
from fencepost.traces.audit.audit_settings import DELAY, AuditSettings
from fencepost.traces.audit.ordered_search import EFFORTS, history
from fencepost.traces.audit.segment import Segment
from fencepost.traces.files.run_trace import to_trace_verdict
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.logs.request_log import LoggedExchange

_DELAY_MS = 1_000
_SOON_MS = 50
_JOIN, _SYNC, _BEAT = 5, 3, 3


class _Prefix:
    """Events that create a group; times count from 0."""

    def __init__(self, group_id: str, name: str) -> None:
        self.group_id = group_id
        self.name = name
        self.events: list[tuple[int, Event]] = []
        self._number = 0

    def ask(self, member: Member, api: str, version: int, at_ms: int, body: dict[str, Any]) -> str:
        self._number += 1
        request_id = f"{self.name}-{self._number}"
        body = {"groupId": self.group_id, **body}
        connection = f"{member.member_id} {request_id}"
        send = Send(request_id, connection, member.client_id, api, version, body)
        self.events.append((at_ms, Sent(at_ms, send)))
        return request_id

    def answer(self, request_id: str, at_ms: int, body: dict[str, Any]) -> None:
        self.events.append((at_ms, Answered(Answer(request_id, at_ms, body))))


def window_trace(
    violation: AuditViolation, segment: Segment | None, settings: AuditSettings, tool: str
) -> TraceFile | None:
    """Make the trace; None if the members before can't be made to join again as they were."""
    exchange = violation.exchange
    if segment is None:
        prefix: list[tuple[int, Event]] = []
        exchanges: Sequence[LoggedExchange] = [exchange]
        base = exchange.at_ms - _SOON_MS
    else:
        group = segment.before[0].group(segment.group_id)
        if group is None or group.state is not GroupState.STABLE:
            return None
        sessions = {t.subject: t for t in group.timers if t.kind == SESSION}
        restarts = [
            sessions[m.member_id].earliest - m.session_timeout_ms
            for m in group.members
            if m.member_id in sessions
        ]
        ready = _ready_ms(group)
        base = min([*restarts, segment.from_ms]) - ready - _SOON_MS
        prefix = [*_made(segment.group_id, group).events, *_beats(segment.group_id, group, base)]
        exchanges = [e for e in segment.exchanges if e.at_ms <= exchange.answered_ms]
    timed = [(e.at_ms - base, _moved(e, base)) for e in _until(exchanges, exchange, settings)]
    events = tuple(e for _, e in sorted([*prefix, *timed], key=_time))
    config = {**settings.machine_config(), DELAY: _DELAY_MS}
    says = f"{exchange.place}: {exchange.api} was answered {violation.says}"
    verdict = judge(settings.revision, config, list(events), lag_ms=settings.lag_ms).verdict()
    senders = {e.request.id: e.request.client_id for e in events if isinstance(e, Sent)}
    return TraceFile(
        revision=settings.revision.name,
        case=None,
        clock="real",
        lag_ms=settings.lag_ms,
        config=config,
        plan=None,
        events=events,
        senders=senders,
        names={},
        verdict=to_trace_verdict(verdict, settings.revision, says),
        provenance={
            "tool": tool,
            "target": exchange.broker,
            "implementation": "request log",
            "implementation_version": "",
            "seed": None,
        },
    )


def _time(entry: tuple[int, Event]) -> tuple[int, bool]:
    return entry[0], isinstance(entry[1], Answered)


def _until(
    exchanges: Sequence[LoggedExchange], last: LoggedExchange, settings: AuditSettings
) -> Iterator[Event]:
    """Yield the segment up to the wrong answer; requests answered later are only sent."""
    for event in history(exchanges, settings.lag_ms, frozenset(), EFFORTS[0]):
        yield event
        if isinstance(event, Answered) and event.answer.id == last.place:
            return


def _moved(event: Event, base: int) -> Event:
    match event:
        case Sent():
            return Sent(event.at_ms - base, event.request, event.ended_ms - base)
        case Answered(answer=answer):
            return Answered(Answer(answer.id, answer.at_ms - base, answer.body, answer.findings))
    raise TypeError(f"{type(event).__name__} is nothing that a log shows")


def _completes_ms(group: Group) -> int:
    """Return when the first rebalance completes; its delay runs twice if a second member joins."""
    return _DELAY_MS * (2 if len(group.members) > 1 else 1)


def _ready_ms(group: Group) -> int:
    return _completes_ms(group) + 2 * _SOON_MS


def _made(group_id: str, group: Group) -> _Prefix:
    """Let the members join, the leader first, and sync."""
    prefix = _Prefix(group_id, "before")
    members = sorted(group.members, key=lambda m: m.member_id != group.leader)
    name = group.protocol_name or ""
    joins = {}
    for number, member in enumerate(members):
        body = _join(group, member)
        if member.group_instance_id is None:
            request = prefix.ask(member, "JoinGroup", _JOIN, 3 * number, {**body, "memberId": ""})
            prefix.answer(request, 3 * number + 1, _joined(79, member.member_id))
            body["memberId"] = member.member_id
        joins[member.member_id] = prefix.ask(member, "JoinGroup", _JOIN, 3 * number + 2, body)
    done = _completes_ms(group)
    for member in members:
        rows = [
            {
                "memberId": m.member_id,
                "groupInstanceId": m.group_instance_id,
                "metadata": _text(m.metadata(name)),
            }
            for m in group.members
        ]
        answer = {
            **_joined(0, member.member_id),
            "generationId": group.generation_id,
            "protocolName": name,
            "leader": group.leader,
            "members": rows if member.member_id == group.leader else [],
        }
        prefix.answer(joins[member.member_id], done + _SOON_MS, answer)
    assignments = [
        {"memberId": m.member_id, "assignment": _text(m.assignment)} for m in group.members
    ]
    for member in members:
        body = {
            **_identity(group, member),
            "assignments": assignments if member.member_id == group.leader else [],
        }
        request = prefix.ask(member, "SyncGroup", _SYNC, done + _SOON_MS + 1, body)
        reply = {"errorCode": 0, "assignment": _text(member.assignment)}
        prefix.answer(request, done + 2 * _SOON_MS, reply)
    return prefix


def _beats(group_id: str, group: Group, base: int) -> list[tuple[int, Event]]:
    """Make the heartbeats that last restarted the sessions."""
    prefix = _Prefix(group_id, "beat-before")
    for timer in group.timers:
        member = group.member(timer.subject)
        if timer.kind != SESSION or member is None:
            continue
        at_ms = timer.earliest - member.session_timeout_ms - base
        until_ms = timer.latest - member.session_timeout_ms - base
        request = prefix.ask(member, "Heartbeat", _BEAT, at_ms, _identity(group, member))
        prefix.answer(request, max(until_ms, at_ms), {"errorCode": 0})
    return prefix.events


def _identity(group: Group, member: Member) -> dict[str, Any]:
    return {
        "generationId": group.generation_id,
        "memberId": member.member_id,
        "groupInstanceId": member.group_instance_id,
    }


def _join(group: Group, member: Member) -> dict[str, Any]:
    return {
        "sessionTimeoutMs": member.session_timeout_ms,
        "rebalanceTimeoutMs": member.rebalance_timeout_ms,
        "memberId": "",
        "groupInstanceId": member.group_instance_id,
        "protocolType": group.protocol_type or "",
        "protocols": [{"name": p.name, "metadata": _text(p.metadata)} for p in member.protocols],
    }


def _joined(code: int, member_id: str) -> dict[str, Any]:
    return {
        "errorCode": code,
        "generationId": -1,
        "protocolName": "",
        "leader": "",
        "memberId": member_id,
        "members": [],
    }


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
