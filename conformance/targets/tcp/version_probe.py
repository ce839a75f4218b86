"""Try each version of each API that a broker advertises, by a request that changes nothing.

Each version has a connection of its own, and a group of its own that does not exist, with an
unknown member.  Kafka answers that at once and changes nothing.  A version is broken if its answer
cannot be read to its end, if the connection is closed each time, or if there is no answer.  A join
alone may have no answer: a coordinator may park any join, and some park even those that Kafka
refuses at once.

Source: librdkafka's mock cluster advertises versions that it can't speak (targets.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from fencepost.conformance.targets.tcp.broker_connection import Door, Ended, ask, is_readable
from fencepost.conformance.targets.tcp.cluster_admin import MEMBER, AccessError
from fencepost.conformance.targets.tcp.security import refusal
from fencepost.model.messages.consumer_messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
)
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.streams_messages import (
    StreamsGroupDescribeRequest,
    StreamsGroupHeartbeatRequest,
)

_AT_ONCE = 32
_ATTEMPTS = 3
"""A connection may end by the link's fault; so often at one version, it is the broker's."""
_MAY_PARK = "JoinGroup"

Findings = dict[str, dict[int, str | None]]
"""API → version → the reason why it is broken, None for one that works."""


def harmless(api: str, version: int, group_id: str) -> dict[str, Any]:
    """Return a request that changes nothing; writing leaves out what a version lacks."""
    member = {"groupId": group_id, "generationId": 1, "memberId": MEMBER}
    match api:
        case "JoinGroup":
            return {
                "groupId": group_id,
                "sessionTimeoutMs": 10_000,
                "rebalanceTimeoutMs": 10_000,
                "memberId": MEMBER,
                "protocolType": "consumer",
                "protocols": [{"name": "range", "metadata": ""}],
            }
        case "SyncGroup" | "Heartbeat":
            return member
        case "LeaveGroup":
            rows = {"members": [{"memberId": MEMBER}]} if version >= 3 else {"memberId": MEMBER}
            return {"groupId": group_id, **rows}
        case "OffsetCommit":
            return {"groupId": group_id, "generationIdOrMemberEpoch": 1, "memberId": MEMBER}
        case "TxnOffsetCommit":
            return {"transactionalId": group_id, **member}
        case "OffsetFetch":
            groups = {"groups": [{"groupId": group_id, "memberEpoch": -1}]}
            return groups if version >= 8 else {"groupId": group_id}
        case "DescribeGroups":
            return {"groups": [group_id]}
        case "DeleteGroups":
            return {"groupsNames": [group_id]}
        case "OffsetDelete":
            return {"groupId": group_id}
        case "ConsumerGroupHeartbeat":
            beat = ConsumerGroupHeartbeatRequest(
                group_id=group_id, member_id=MEMBER, member_epoch=1
            )
            return beat.to_body(version)
        case "StreamsGroupHeartbeat":
            task = StreamsGroupHeartbeatRequest(group_id=group_id, member_id=MEMBER, member_epoch=1)
            return task.to_body(version)
        case "ConsumerGroupDescribe":
            return ConsumerGroupDescribeRequest(group_ids=(group_id,)).to_body(version)
        case "StreamsGroupDescribe":
            return StreamsGroupDescribeRequest(group_ids=(group_id,)).to_body(version)
        case _:
            return {}


async def probe(
    door: Door,
    advertised: Mapping[str, tuple[int, int]],
    prefix: str,
    *,
    join_s: float,
    answer_s: float,
) -> Findings:
    """Send a request in every advertised version that the model knows, side by side.

    `join_s`, `answer_s`: seconds to wait for the answer to a join, or to another request.  Raises
    AccessError where the user may not ask.
    """
    gate = asyncio.Semaphore(_AT_ONCE)
    pairs = [
        (name, version)
        for name, api in ALL_APIS.items()
        if name in advertised
        for version in range(
            max(api.lowest, advertised[name][0]), min(api.highest, advertised[name][1]) + 1
        )
    ]

    async def try_version(name: str, version: int) -> str | None:
        async with gate:
            timeout_s = join_s if name == _MAY_PARK else answer_s
            group_id = f"{prefix}{name}-{version}"
            reason = None
            for _ in range(_ATTEMPTS):
                reason, ended = await _broken(door, name, version, group_id, timeout_s)
                if not ended:
                    break
            return reason

    reasons = await asyncio.gather(*(try_version(*pair) for pair in pairs), return_exceptions=True)
    findings: Findings = {}
    for (name, version), reason in zip(pairs, reasons, strict=True):
        if isinstance(reason, BaseException):
            raise reason
        findings.setdefault(name, {})[version] = reason
    return findings


async def _broken(
    door: Door, api: str, version: int, group_id: str, timeout_s: float
) -> tuple[str | None, bool]:
    """Return why the version is broken, or None; and if the connection ended or was never made."""
    body = harmless(api, version, group_id)
    try:
        event = await ask(door, api, version, body, timeout_s=timeout_s)
    except TimeoutError:
        silent = f"It was not answered within {timeout_s:g} s."
        return (None if api == _MAY_PARK else silent), False
    except OSError as error:
        return f"The connection failed ({error}).", True
    if isinstance(event, Ended):
        return event.reason, True
    if event.decoded.body is None or not is_readable(event.decoded):
        return " ".join(event.decoded.findings), False
    if refused := refusal(event.decoded.body):
        raise AccessError(door.at, api, refused)
    return None, False


def working_ranges(findings: Findings) -> dict[str, tuple[int, int]]:
    """Return the lowest and the highest version of each API that work; none of an API without."""
    ranges = {}
    for api, versions in findings.items():
        good = [version for version, reason in versions.items() if reason is None]
        if good:
            ranges[api] = (min(good), max(good))
    return ranges
