"""Read the events of a group in the exchanges of a request log.

Bodies are read as the log has them; the judge reports wrong ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fencepost.model.messages.errors import MOVING, Error, kafka_error
from fencepost.traces.logs.request_log import LoggedExchange
from fencepost.traces.operations.group_events import (
    Fenced,
    GroupEvent,
    Heard,
    Joined,
    Left,
    Moved,
    Named,
    Sender,
    Unknown,
)
from fencepost.traces.operations.operator_rows import Process

_NONE = Error.NONE.value
_UNKNOWN = Error.UNKNOWN_MEMBER_ID.value
_REBALANCE = Error.REBALANCE_IN_PROGRESS.value
_REQUIRED = Error.MEMBER_ID_REQUIRED.value
_FENCED = Error.FENCED_INSTANCE_ID.value
_OF_MEMBERS = frozenset({_UNKNOWN, _REBALANCE, _FENCED})


def request_events(x: LoggedExchange) -> Iterator[GroupEvent]:
    """Yield the events that an exchange shows."""
    match x.api:
        case "Heartbeat" | "SyncGroup":
            code = x.answer_body["errorCode"]
            yield from _of_member(x, x.request_body, code)
        case "OffsetCommit":
            if x.request_body.get("memberId"):
                yield from _of_member(x, x.request_body, commit_code(x.answer_body))
        case "JoinGroup":
            yield from _join(x)
        case "LeaveGroup":
            yield from _leave(x)


def _sender(x: LoggedExchange) -> Sender:
    return Sender(Process(x.client_id, x.host), x.address, x.connection)


def _of_member(x: LoggedExchange, body: Mapping[str, Any], code: int) -> Iterator[GroupEvent]:
    """Read a heartbeat, a sync or a commit."""
    at = (x.at_ms, x.answered_ms, x.place)
    if code in {_NONE, _REBALANCE}:
        generation = body["generationId"] if code == _NONE and x.api != "OffsetCommit" else None
        yield Heard(
            *at,
            body["memberId"],
            body.get("groupInstanceId"),
            _sender(x),
            code == _REBALANCE,
            generation if x.api == "Heartbeat" else None,
            generation if x.api == "SyncGroup" else None,
        )
    elif code == _FENCED:
        yield from _fenced(x, body["memberId"], body.get("groupInstanceId"), began=False)
    elif code == _UNKNOWN:
        yield Unknown(*at, body["memberId"], _sender(x))
    elif code in MOVING:
        yield Moved(*at)


def _join(x: LoggedExchange) -> Iterator[GroupEvent]:
    body, answer, at = x.request_body, x.answer_body, (x.at_ms, x.answered_ms, x.place)
    code, sent_id = answer["errorCode"], body["memberId"]
    if code == _NONE:
        yield Joined(
            *at,
            answer["memberId"],
            body.get("groupInstanceId"),
            _sender(x),
            sent_id=sent_id,
            generation=answer["generationId"],
            leads=answer["leader"] == answer["memberId"],
            listed=answer["members"],
            session_ms=body["sessionTimeoutMs"],
            rebalance_ms=max(body.get("rebalanceTimeoutMs", -1), body["sessionTimeoutMs"] or 0),
            protocols=body["protocols"],
            protocol=body.get("protocolType") or "",
        )
    elif code == _REQUIRED:
        process, session_ms = Process(x.client_id, x.host), body["sessionTimeoutMs"]
        yield Named(*at, answer["memberId"], process, session_ms)
    elif code == _FENCED:
        member_id = sent_id or answer["memberId"]
        yield from _fenced(x, member_id, body.get("groupInstanceId"), began=not sent_id)
    elif code == _UNKNOWN and sent_id:
        yield Unknown(*at, sent_id, _sender(x))
    elif code in MOVING:
        yield Moved(*at)


def _leave(x: LoggedExchange) -> Iterator[GroupEvent]:
    body, answer, at = x.request_body, x.answer_body, (x.at_ms, x.answered_ms, x.place)
    if answer["errorCode"] in MOVING:
        yield Moved(*at)
        return
    if "members" in body:
        rows = [
            (row["memberId"], row.get("groupInstanceId"), row.get("reason") or "")
            for row in body["members"]
        ]
        codes = [row["errorCode"] for row in answer["members"]]
    else:
        rows, codes = [(body["memberId"], None, "")], [answer["errorCode"]]
    for (member_id, instance_id, reason), code in zip(rows, codes, strict=False):
        if code == _FENCED:
            yield from _fenced(x, member_id, instance_id, began=False)
        elif code == _NONE:
            by = Process(x.client_id, x.host)
            yield Left(*at, member_id, instance_id, by, None, reason)


def _fenced(
    x: LoggedExchange, member_id: str, instance_id: str | None, *, began: bool
) -> Iterator[GroupEvent]:
    if instance_id is not None:
        at = (x.at_ms, x.answered_ms, x.place)
        yield Fenced(*at, instance_id, member_id, _sender(x), x.api, began)


def commit_code(body: Mapping[str, Any]) -> int:
    """Return the error code of a commit for the member; NONE if only partitions had errors."""
    for topic in body["topics"]:
        for partition in topic["partitions"]:
            code: int = partition["errorCode"]
            if code in _OF_MEMBERS or code in MOVING:
                return code
    return Error.NONE.value


def request_line(x: LoggedExchange) -> str:
    """Return an exchange in words; "" for one that says no more than that a member is well."""
    body, answer, generation = x.request_body, x.answer_body, ""
    match x.api:
        case "Heartbeat" | "OffsetCommit":
            code = answer["errorCode"] if x.api == "Heartbeat" else commit_code(answer)
            if code == _NONE:
                return ""
        case "LeaveGroup" if "members" in answer:
            codes = [row["errorCode"] for row in answer["members"]]
            code = answer["errorCode"] or next(filter(None, codes), _NONE)
        case "JoinGroup" | "SyncGroup" | "LeaveGroup":
            code = answer["errorCode"]
            number = (answer if x.api == "JoinGroup" else body).get("generationId")
            generation = f", generation {number}" if code == _NONE and number is not None else ""
        case _:
            return ""
    name = "no error" if code == _NONE else kafka_error(code)
    who = body.get("groupInstanceId") or body.get("memberId") or ""
    whom = f" as {who}" if who else ""
    return f"{x.api} v{x.version} of {Process(x.client_id, x.host)}{whom}: {name}{generation}"
