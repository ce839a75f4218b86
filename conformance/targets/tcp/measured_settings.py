"""Measure the group settings that a broker does not report.

- The bounds of a session timeout: joins with different timeouts; the refused ones get
  INVALID_SESSION_TIMEOUT at once.  A search narrows each bound to the millisecond.
- The initial delay: the time until the first join of a group is answered, in two groups with
  different session timeouts.  Where these differ the delay depends on the session, so there is none
  that the setting could name.
- The limit of members: many joins of one group; beyond the limit they get GROUP_MAX_SIZE_REACHED.
  A limit of `_MANY` members or more is not seen.

- Of the consumer protocol, the session timeout: many members join at once, and each sends one
  heartbeat at another time; the first that is unknown then was removed since the last that was not.
- The heartbeat interval: the answers to their joins name it.

Each join has a connection and, but for that of the limit, a group of its own.  Nothing can be said
of the interval of the cleaner, and of the limits of what is written.

Source: protocol.md section 2; Kafka's documentation of the settings.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from fencepost.conformance.runtime.event_loop import cancel_all
from fencepost.conformance.targets.tcp.broker_connection import Door, Ended, ask
from fencepost.model.consumer.settings import HEARTBEAT_INTERVAL, SESSION_TIMEOUT
from fencepost.model.messages.consumer_messages import ConsumerGroupHeartbeatRequest, lone_join
from fencepost.model.messages.errors import GONE, Error

DELAY = "group.initial.rebalance.delay.ms"
LEAST, MOST = "group.min.session.timeout.ms", "group.max.session.timeout.ms"
SIZE = "group.max.size"
MEASURABLE = frozenset({DELAY, LEAST, MOST, SIZE})

_UNBOUNDED = 2**31 - 1
_KAFKAS = (5_999, 6_000, 300_000, 300_001, 1_800_000, 1_800_001)
_SESSIONS = tuple(sorted({1, 10_000, *_KAFKAS, *(100 * 2**n for n in range(16)), _UNBOUNDED}))
"""The session timeouts to try first: Kafka's own bounds, and some of each length; ms."""

_AT_ONCE = 15
"""Joins of one step of a search; a step makes the range this many times smaller."""

_REFUSED_S = 1.0
"""Seconds in which a refusal comes; a join without an answer is accepted and waits."""

_DELAY_S = 15.0
_DELAY_MS = int(1000 * _DELAY_S)
_SAME_MS, _OTHER_MS = 100, 400
"""Two waits that differ by less than the first are the same, and a wait is a multiple of it; two
that still differ by the second after all rounds have different causes; ms."""

_ROUNDS, _WAITS = 3, 4
"""Rounds of timed joins, and groups of a round, for each session timeout."""

_MANY = 32
_ID_FIRST_SINCE = 4
_METADATA = "AAAAAAAA/////w=="
"""A consumer's subscription, version 0, to no topics."""

_STEP_MS = 125
_LONGEST_MS = 46_000
"""Sessions up to this long are measured, to a step; Kafka's default is 45 s."""

_ROUND_MS = 500
"""A session is most likely a multiple of this; a removal may lag a step behind it.  So what is
measured is too short by two steps at most, which is less than the least lag that is allowed for."""

_ACCEPTED = frozenset({Error.NONE.value, Error.MEMBER_ID_REQUIRED.value})


@dataclass(slots=True)
class Measurement:
    """Settings that were measured, by name, and the reasons why others could not be."""

    settings: dict[str, int | None] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Joins:
    """Joins of new groups: `door` to the coordinator, `version` of JoinGroup, `name` of a group."""

    door: Door
    version: int
    name: Callable[[], str]

    async def code(self, group_id: str, session_ms: int, wait_s: float) -> int | None:
        """Join; return the error code, or None where the join waits.  Raises OSError."""
        body = {
            "groupId": group_id,
            "sessionTimeoutMs": session_ms,
            "rebalanceTimeoutMs": 60_000,
            "memberId": "",
            "groupInstanceId": None,
            "protocolType": "consumer",
            "protocols": [{"name": "range", "metadata": _METADATA}],
        }
        try:
            async with asyncio.timeout(wait_s):
                answer = await self._answer(body, wait_s)
                if answer.get("errorCode") == Error.MEMBER_ID_REQUIRED.value:
                    answer = await self._answer({**body, "memberId": answer["memberId"]}, wait_s)
        except TimeoutError:
            return None
        code = answer.get("errorCode")
        return code if isinstance(code, int) else -1

    async def _answer(self, body: Mapping[str, object], wait_s: float) -> Mapping[str, object]:
        event = await ask(self.door, "JoinGroup", self.version, body, timeout_s=wait_s)
        return {} if isinstance(event, Ended) or event.decoded.body is None else event.decoded.body

    async def accepted(self, session_ms: int) -> bool | None:
        """Return True if a session of this length is accepted; None for another answer."""
        code = await self.code(self.name(), session_ms, _REFUSED_S)
        if code is None or code in _ACCEPTED:
            return True
        return False if code == Error.INVALID_SESSION_TIMEOUT.value else None

    async def waited_ms(self, session_ms: int) -> int | None:
        """Return how long the first join of a group waited, in ms; None if it wasn't accepted."""
        began = time.monotonic()
        code = await self.code(self.name(), session_ms, _DELAY_S)
        return int((time.monotonic() - began) * 1000) if code == Error.NONE.value else None


async def measured(
    door: Door, versions: tuple[int, int], name: Callable[[], str], unknown: frozenset[str]
) -> Measurement:
    """Measure those of the unknown settings that can be.

    `versions`: those of JoinGroup that work; `name`: makes the id of a new group.  Raises OSError.
    """
    joins = _Joins(door, max(versions[0], min(versions[1], _ID_FIRST_SINCE - 1)), name)
    measurement = Measurement()
    session_ms = await _bounds(joins, unknown, measurement)
    if session_ms is None:
        measurement.remarks.append("no join was accepted, with any session timeout")
        return measurement
    longer = min(2 * session_ms, measurement.settings.get(MOST) or _UNBOUNDED)
    work = []
    if DELAY in unknown:
        work.append(_delay(joins, (session_ms, longer), measurement))
    if SIZE in unknown:
        work.append(_size(joins, session_ms, measurement))
    await asyncio.gather(*work)
    return measurement


async def _bounds(joins: _Joins, unknown: frozenset[str], measurement: Measurement) -> int | None:
    """Measure the bounds; return a session timeout that is accepted, or None."""
    tried = await _tried(joins, _SESSIONS)
    good = [ms for ms, accepted in tried.items() if accepted]
    if not good or None in tried.values() or not _is_range(tried):
        if good:
            measurement.remarks.append("the session timeouts that it accepts are no range")
        return min(good, key=lambda ms: abs(ms - 10_000)) if good else None
    if LEAST in unknown:
        below = max((ms for ms in tried if ms < good[0]), default=0)
        least = good[0] if below == 0 else await _edge(joins, below, good[0])
        measurement.settings[LEAST] = 0 if least == 1 else least
    if MOST in unknown:
        above = min((ms for ms in tried if ms > good[-1]), default=None)
        most = good[-1] if above is None else await _edge(joins, above, good[-1])
        measurement.settings[MOST] = most
    return min(good, key=lambda ms: abs(ms - 10_000))


def _is_range(tried: Mapping[int, bool | None]) -> bool:
    verdicts = [bool(tried[ms]) for ms in sorted(tried)]
    return sum(a is not b for a, b in pairwise(verdicts)) <= (2 if not verdicts[0] else 1)


async def _tried(joins: _Joins, sessions_ms: tuple[int, ...]) -> dict[int, bool | None]:
    verdicts = await asyncio.gather(*map(joins.accepted, sessions_ms))
    return dict(zip(sessions_ms, verdicts, strict=True))


async def _edge(joins: _Joins, refused: int, accepted: int) -> int:
    """Return the accepted session timeout that is next to a refused one."""
    while abs(accepted - refused) > 1:
        step = max(1, abs(accepted - refused) // (_AT_ONCE + 1))
        low, high = sorted((refused, accepted))
        tried = await _tried(joins, tuple(range(low + step, high, step))[:_AT_ONCE])
        good = [accepted, *(ms for ms, verdict in tried.items() if verdict)]
        accepted = min(good) if refused < accepted else max(good)
        bad = [refused, *(ms for ms, verdict in tried.items() if not verdict)]
        refused = (
            max(b for b in bad if b < accepted)
            if refused < accepted
            else min(b for b in bad if b > accepted)
        )
    return accepted


async def _delay(joins: _Joins, sessions_ms: tuple[int, int], measurement: Measurement) -> None:
    """Measure the initial delay: the least of several waits, since each may be late."""
    least = dict.fromkeys(sessions_ms, _DELAY_MS)
    for _ in range(_ROUNDS):
        for session_ms in least:
            waits = await asyncio.gather(*(joins.waited_ms(session_ms) for _ in range(_WAITS)))
            least[session_ms] = min([least[session_ms], *(ms for ms in waits if ms is not None)])
        if max(least.values()) - min(least.values()) < _SAME_MS:
            break
    first, second = (least[session_ms] for session_ms in sessions_ms)
    if max(first, second) == _DELAY_MS:
        measurement.remarks.append(f"the first join of a group had no answer within {_DELAY_S:g} s")
    elif abs(first - second) >= _OTHER_MS:
        measurement.remarks.append(
            f"the first join of a group waits for {first} ms with a session of {sessions_ms[0]} "
            f"ms, and for {second} ms with one of {sessions_ms[1]} ms: no initial delay is like "
            "that"
        )
    else:
        measurement.settings[DELAY] = min(first, second) // _SAME_MS * _SAME_MS


async def _size(joins: _Joins, session_ms: int, measurement: Measurement) -> None:
    group_id = joins.name()
    codes = await asyncio.gather(
        *(joins.code(group_id, session_ms, _REFUSED_S) for _ in range(_MANY))
    )
    refused = codes.count(Error.GROUP_MAX_SIZE_REACHED.value)
    if not refused:
        return
    # A late refusal looks like a join that waits: the next joins of the full group tell.
    full = refused < _MANY and set(
        await asyncio.gather(*(joins.code(group_id, session_ms, _DELAY_S) for _ in range(_WAITS)))
    ) == {Error.GROUP_MAX_SIZE_REACHED.value}
    if full:
        measurement.settings[SIZE] = _MANY - refused


async def measured_session(
    door: Door, versions: tuple[int, int], name: Callable[[], str], unknown: frozenset[str]
) -> Measurement:
    """Measure those of the unknown settings of the consumer protocol that can be.

    `versions`: those of ConsumerGroupHeartbeat that work; `name`: makes the id of a new group.  It
    takes as long as a session, at most `_LONGEST_MS`.  Raises OSError.
    """
    measurement = Measurement()
    if not {SESSION_TIMEOUT, HEARTBEAT_INTERVAL} & unknown:
        return measurement
    members = _Members(door, versions[1])
    if SESSION_TIMEOUT not in unknown:
        await members.joined(name())
    elif (session_ms := await _session_ms(members, name)) is not None:
        measurement.settings[SESSION_TIMEOUT] = session_ms
    else:
        measurement.remarks.append(
            f"no silent member of the consumer protocol was removed within {_LONGEST_MS} ms"
            if members.intervals
            else "no join of the consumer protocol was accepted"
        )
    if HEARTBEAT_INTERVAL in unknown and len(members.intervals) == 1:
        measurement.settings[HEARTBEAT_INTERVAL] = next(iter(members.intervals))
    return measurement


@dataclass(frozen=True, slots=True)
class _Members:
    """Members of the consumer protocol.  `intervals`: the heartbeat intervals that they got, ms."""

    door: Door
    version: int
    intervals: set[int] = field(default_factory=set)

    async def joined(self, group_id: str) -> tuple[str, int] | None:
        """Join; return the member's id and epoch, or None if it is refused.  Raises OSError."""
        join = lone_join(group_id, self.version)
        answer = await self._answer(join)
        if answer.get("errorCode") != Error.NONE.value:
            return None
        if (interval := answer.get("heartbeatIntervalMs")) is not None:
            self.intervals.add(interval)
        return str(answer.get("memberId") or join.member_id), int(answer.get("memberEpoch") or 0)

    async def is_known(self, group_id: str, member_id: str, epoch: int) -> bool | None:
        """Send a heartbeat; return True if the member is known, None for another answer."""
        beat = ConsumerGroupHeartbeatRequest(
            group_id=group_id, member_id=member_id, member_epoch=epoch
        )
        code = (await self._answer(beat)).get("errorCode")
        if code in GONE:
            return False
        return True if code == Error.NONE.value else None

    async def _answer(self, message: ConsumerGroupHeartbeatRequest) -> Mapping[str, Any]:
        body = message.to_body(self.version)
        try:
            event = await ask(
                self.door, "ConsumerGroupHeartbeat", self.version, body, timeout_s=_DELAY_S
            )
        except TimeoutError:
            return {}
        return {} if isinstance(event, Ended) or event.decoded.body is None else event.decoded.body


async def _session_ms(members: _Members, name: Callable[[], str]) -> int | None:
    """Return the session timeout, in ms; None if no member was seen to be removed."""
    waits = range(_STEP_MS // 2, _LONGEST_MS + _STEP_MS, _STEP_MS)
    gate = asyncio.Semaphore(_AT_ONCE)
    known: dict[int, bool] = {}

    async def look(wait_ms: int) -> int | None:
        group_id = name()
        async with gate:
            began = time.monotonic()
            who = await members.joined(group_id)
            if who is None or not await members.is_known(group_id, *who):
                return None
        await asyncio.sleep(max(0.0, began + wait_ms / 1000 - time.monotonic()))
        is_known = await members.is_known(group_id, *who)
        if is_known is not None:
            known[wait_ms] = is_known
        return wait_ms if is_known is False else None

    looks = [asyncio.create_task(look(wait_ms)) for wait_ms in waits]
    gone: int | None = None
    try:
        for each in asyncio.as_completed(looks):
            if (gone := await each) is not None:
                break
    finally:
        await cancel_all(looks)
    if gone is None:
        return None
    kept = max((wait for wait, is_known in known.items() if is_known and wait < gone), default=0)
    likely = gone // _ROUND_MS * _ROUND_MS
    return likely if likely >= max(kept - _STEP_MS, 1) else kept
