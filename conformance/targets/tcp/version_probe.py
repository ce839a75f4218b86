"""Which of the versions that a broker advertises work.

A version is broken if its answer to a harmless request cannot be read to its end, if the connection
is closed each time, or if there is no answer.  A join alone may have no answer: a coordinator may
park any join, and some park even those that Kafka refuses at once.

Each version is tried on a connection of its own, with a group of its own that does not exist and an
unknown member.  Kafka answers that at once and changes nothing.

Source: librdkafka's mock cluster advertises versions that it can't speak (targets.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from fencepost.conformance.targets.tcp.authentication import Door, ask
from fencepost.conformance.targets.tcp.broker_connection import Ended, is_readable
from fencepost.conformance.targets.tcp.cluster_admin import AccessError
from fencepost.conformance.targets.tcp.security import refusal
from fencepost.model.messages.messages import APIS

_AT_ONCE = 32
_ATTEMPTS = 3
"""A connection may end by the link's fault; so often at one version, it is the broker's."""
_MEMBER = "fencepost-probe"
_MAY_PARK = "JoinGroup"

Findings = dict[str, dict[int, str | None]]
"""API → version → why it is broken, None for one that works."""


def harmless(api: str, version: int, group_id: str) -> dict[str, Any]:
    """A request that changes nothing; what a version lacks is left out when it is written."""
    member = {"groupId": group_id, "generationId": 1, "memberId": _MEMBER}
    match api:
        case "JoinGroup":
            return {
                "groupId": group_id,
                "sessionTimeoutMs": 10_000,
                "rebalanceTimeoutMs": 10_000,
                "memberId": _MEMBER,
                "protocolType": "consumer",
                "protocols": [{"name": "range", "metadata": ""}],
            }
        case "SyncGroup" | "Heartbeat":
            return member
        case "LeaveGroup":
            rows = {"members": [{"memberId": _MEMBER}]} if version >= 3 else {"memberId": _MEMBER}
            return {"groupId": group_id, **rows}
        case "OffsetCommit":
            return {"groupId": group_id, "generationIdOrMemberEpoch": 1, "memberId": _MEMBER}
        case "OffsetFetch":
            groups = {"groups": [{"groupId": group_id, "memberEpoch": -1}]}
            return groups if version >= 8 else {"groupId": group_id}
        case "DescribeGroups":
            return {"groups": [group_id]}
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
    """Ask every advertised version that the model knows, side by side.

    `join_s`: how long a join is waited for; `answer_s`: how long all others are.  Raises
    AccessError where the user may not ask.
    """
    gate = asyncio.Semaphore(_AT_ONCE)
    pairs = [
        (name, version)
        for name, api in APIS.items()
        if name in advertised
        for version in range(
            max(api.lowest, advertised[name][0]), min(api.highest, advertised[name][1]) + 1
        )
    ]

    async def one(name: str, version: int) -> str | None:
        async with gate:
            timeout_s = join_s if name == _MAY_PARK else answer_s
            group_id = f"{prefix}{name}-{version}"
            reason = None
            for _ in range(_ATTEMPTS):
                reason, ended = await _broken(door, name, version, group_id, timeout_s)
                if not ended:
                    break
            return reason

    reasons = await asyncio.gather(*(one(*pair) for pair in pairs), return_exceptions=True)
    found: Findings = {}
    for (name, version), reason in zip(pairs, reasons, strict=True):
        if isinstance(reason, BaseException):
            raise reason
        found.setdefault(name, {})[version] = reason
    return found


async def _broken(
    door: Door, api: str, version: int, group_id: str, timeout_s: float
) -> tuple[str | None, bool]:
    """Why the version is broken, or None; and whether the connection ended or was never made."""
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


def working_ranges(found: Findings) -> dict[str, tuple[int, int]]:
    """The lowest unbroken run of versions of each API; an API with none is left out."""
    ranges = {}
    for api, versions in found.items():
        good = sorted(v for v, reason in versions.items() if reason is None)
        if good:
            high = good[0]
            while high + 1 in good:
                high += 1
            ranges[api] = (good[0], high)
    return ranges
