"""Requests that a log does not show, though they may have been made.

Decides what may be assumed where the log alone explains nothing.  A request that was never answered
leaves no line: a client that joined and died before its answer, or one whose request still waits
when the log ends.  Each such request may have been made or not, at any time in the stretch.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fencepost.model.errors import Error
from fencepost.model.group import Group, Member
from fencepost.model.history import Sent
from fencepost.model.messages import (
    DescribeGroupsResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
)
from fencepost.traces.audit.follow import hidden_request
from fencepost.traces.audit.settings import Gaps
from fencepost.traces.exchange import Exchange

_MOST = 8
_VERSION = 5
_OLD_VERSION = 3
_SINCE_MS = 10_000
"""So long before the first line of a stretch a request may have come that shows in it."""
_LONG_MS = 300_000
_OTHERWISE = b"?"
"""What makes a subscription another one."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """Requests that may have been made; `words`: what is assumed, for each.

    `cut`: whether there were more than can be tried.
    """

    requests: tuple[Sent, ...] = ()
    words: tuple[str, ...] = ()
    cut: bool = False


def hidden_requests(
    exchanges: Sequence[Exchange], group: Group, gaps: Gaps, *, at_end: bool
) -> Hidden:
    """What may be missing from a stretch that this group begins."""
    if gaps is Gaps.NONE:
        return Hidden()
    at_ms = exchanges[0].arrived_ms - _SINCE_MS
    group_id = exchanges[0].group_ids[0]
    made = [
        *_unanswered_joins(group_id, exchanges, group, at_ms),
        *_unanswered_returns(group_id, exchanges, group, at_ms),
    ]
    if at_end or gaps is Gaps.ANY:
        made.append(_unseen_member(group_id, group, at_ms))
        made += _unasked_returns(group_id, exchanges, group, at_ms)
    if gaps is Gaps.ANY:
        made += _leaves(group_id, exchanges, group, at_ms)
    kept = made[:_MOST]
    return Hidden(
        tuple(sent for sent, _ in kept), tuple(words for _, words in kept), len(made) > _MOST
    )


def _unanswered_joins(
    group_id: str, exchanges: Sequence[Exchange], group: Group, at_ms: int
) -> Iterator[tuple[Sent, str]]:
    """Joins of those whose id changed, or who turn up in a list, without a join that shows it."""
    told = {group_member.member_id for group_member in group.members}
    listed: dict[str, tuple[str | None, bytes, str]] = {}
    fenced: dict[str, None] = {}
    handed = set(group.pending)
    for exchange in exchanges:
        if exchange.api == "JoinGroup":
            request, response = exchange.request, exchange.response
            if exchange.response_body.get("errorCode") == Error.MEMBER_ID_REQUIRED.value:
                handed.add(exchange.response_body.get("memberId", ""))
            if isinstance(response, JoinGroupResponse) and response.error_code == 0:
                told.add(response.member_id)
                for row in response.members:
                    listed[row.member_id] = (
                        row.group_instance_id,
                        row.metadata,
                        response.protocol_name or "",
                    )
            if (
                isinstance(request, JoinGroupRequest)
                and request.group_instance_id is not None
                and not request.member_id
            ):
                fenced[request.group_instance_id] = None
        if isinstance(exchange.response, DescribeGroupsResponse):
            offers = _offers(group.members[0]) if group.members else []
            name, metadata = offers[0] if offers else ("", b"")
            rows = (row for g in exchange.response.groups for row in g.members)
            for seen in (row for row in rows if row.member_id not in told):
                listed.setdefault(seen.member_id, (seen.group_instance_id, metadata, name))
        code = exchange.response_body.get("errorCode")
        instance = exchange.request_body.get("groupInstanceId")
        if code == Error.FENCED_INSTANCE_ID.value and isinstance(instance, str):
            fenced[instance] = None
    for member_id, (instance, metadata, name) in listed.items():
        if member_id in told and not _is_new(metadata, group.member(member_id), exchanges):
            continue
        words = f"a join of {instance or member_id} that was never answered"
        given = instance is None and (member_id in handed or group.member(member_id) is not None)
        body = _join(group_id, group, member_id if given else "", instance, [(name, metadata)])
        version = _VERSION
        if instance is None and not given:  # an old client, which is let in at once
            version = _OLD_VERSION
            del body["groupInstanceId"]
        yield (
            hidden_request(f"hidden join of {member_id}", at_ms, "", "JoinGroup", version, body),
            words,
        )
    for instance in fenced:
        holder = group.member(group.holder(instance) or "")
        if holder is None:
            continue
        body = _join(group_id, group, "", instance, _offers(holder))
        yield (
            hidden_request(f"hidden join of {instance}", at_ms, "", "JoinGroup", _VERSION, body),
            f"a join of {instance} that was never answered",
        )


def _is_new(metadata: bytes, member: Member | None, exchanges: Sequence[Exchange]) -> bool:
    """Whether a member is listed with what no join in the log has offered for it."""
    if member is None or any(metadata == offered for _, offered in _offers(member)):
        return False
    return not any(
        isinstance(e.request, JoinGroupRequest)
        and e.response_body.get("memberId") == member.member_id
        and any(p.metadata == metadata for p in e.request.protocols)
        for e in exchanges
    )


def _unanswered_returns(
    group_id: str, exchanges: Sequence[Exchange], group: Group, at_ms: int
) -> Iterator[tuple[Sent, str]]:
    """Joins of those who were told to join, or given an id for it, and then show none."""
    asked: dict[str, tuple[str | None, str, Sequence[tuple[str, bytes]], int]] = {}
    for exchange in exchanges:
        request, response = exchange.request, exchange.response
        code = exchange.response_body.get("errorCode")
        if isinstance(request, JoinGroupRequest) and isinstance(response, JoinGroupResponse):
            asked.pop(request.member_id, None)
            if code == Error.MEMBER_ID_REQUIRED.value:
                offers = [(p.name, p.metadata) for p in request.protocols]
                asked[response.member_id] = (None, exchange.client_id, offers, exchange.arrived_ms)
        elif code == Error.REBALANCE_IN_PROGRESS.value:
            member = group.member(getattr(request, "member_id", ""))
            if member is not None:
                asked[member.member_id] = (
                    member.group_instance_id,
                    member.client_id,
                    _offers(member),
                    exchange.arrived_ms,
                )
    for member_id, (instance, client_id, offered, since_ms) in asked.items():
        body = _join(group_id, group, member_id, instance, offered)
        returning = group.member(member_id)
        if returning is not None:
            body["sessionTimeoutMs"] = returning.session_timeout_ms
            body["rebalanceTimeoutMs"] = returning.rebalance_timeout_ms
        name = f"hidden return of {member_id}"
        yield (
            hidden_request(name, max(at_ms, since_ms), client_id, "JoinGroup", _VERSION, body),
            f"a join of {instance or member_id} that was never answered",
        )


def _unasked_returns(
    group_id: str, exchanges: Sequence[Exchange], group: Group, at_ms: int
) -> Iterator[tuple[Sent, str]]:
    """Joins after the last that was heard: with another subscription they start a rebalance."""
    heard = {e.request_body.get("memberId"): e.arrived_ms for e in exchanges}
    for member in group.members:
        since_ms = heard.get(member.member_id, at_ms)
        offers = [(name, metadata + _OTHERWISE) for name, metadata in _offers(member)]
        body = _join(group_id, group, member.member_id, member.group_instance_id, offers)
        body["sessionTimeoutMs"] = member.session_timeout_ms
        name = f"hidden change of {member.member_id}"
        yield (
            hidden_request(name, since_ms, member.client_id, "JoinGroup", _VERSION, body),
            "a join that still waits when the log ends, or whose line is missing",
        )


def _unseen_member(group_id: str, group: Group, at_ms: int) -> tuple[Sent, str]:
    """Somebody new, whose join still waits."""
    offers = _offers(group.members[0]) if group.members else [("range", b"")]
    body = _join(group_id, group, "", "somebody that the log does not name", offers)
    return (
        hidden_request("hidden join of somebody", at_ms, "", "JoinGroup", _VERSION, body),
        "a join that still waits when the log ends, or whose line is missing",
    )


def _leaves(
    group_id: str, exchanges: Sequence[Exchange], group: Group, at_ms: int
) -> Iterator[tuple[Sent, str]]:
    """Members that are unknown later may have left."""
    asked = {e.request_body.get("memberId") for e in exchanges if _is_unknown(e)}
    left = {
        row.member_id
        for e in exchanges
        if isinstance(e.request, LeaveGroupRequest)
        for row in e.request.rows(e.version)
    }
    for member in group.members:
        if member.member_id in asked and member.member_id not in left:
            body: dict[str, object] = {"groupId": group_id, "memberId": member.member_id}
            yield (
                hidden_request(
                    f"hidden leave of {member.member_id}", at_ms, "", "LeaveGroup", 0, body
                ),
                f"a leave of {member.member_id} whose line is missing",
            )


def _is_unknown(exchange: Exchange) -> bool:
    return exchange.response_body.get("errorCode") == Error.UNKNOWN_MEMBER_ID.value


def _offers(member: Member) -> list[tuple[str, bytes]]:
    return [(p.name, p.metadata) for p in member.protocols]


def _join(
    group_id: str,
    group: Group,
    member_id: str,
    instance: str | None,
    offers: Sequence[tuple[str, bytes]],
) -> dict[str, object]:
    longest = max((m.rebalance_timeout_ms for m in group.members), default=_LONG_MS)
    return {
        "groupId": group_id,
        "sessionTimeoutMs": _LONG_MS,
        "rebalanceTimeoutMs": longest,
        "memberId": member_id,
        "groupInstanceId": instance,
        "protocolType": group.protocol_type or "consumer",
        "protocols": [
            {"name": name, "metadata": base64.b64encode(metadata).decode()}
            for name, metadata in offers
        ],
    }
