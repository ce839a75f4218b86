"""History properties: each answer is readable in its version, and each request is answered in time.

A JoinGroup may wait for the rebalance that it takes part in, a SyncGroup until the members that owe
one are removed; all other requests are answered at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.coordinator import CONFIG_DEFAULTS
from fencepost.model.messages.messages import SyncGroupRequest
from fencepost.properties.claims.function_property import history_property
from fencepost.properties.claims.history_index import NEVER, Exchange, Reading

_DELAY_MS = CONFIG_DEFAULTS["group.initial.rebalance.delay.ms"] or 0
_BEFORE_2_8_1 = "KAFKA-12890: a leader that never syncs, but heartbeats, blocks the group"
_OLD = ("2.3", "2.4", "2.5", "2.6", "2.7", "2.8.0")


def _misshapen(reading: Reading) -> str | None:
    for e in reading.exchanges:
        if e.problem:
            return f"{e} was answered in a shape that its version doesn't have: {e.problem}"
        if e.findings and not e.closed:
            return f"{e} was answered with bytes that are not as its version says: {e.findings[0]}"
    return None


def _any_answer(reading: Reading) -> bool:
    return any(e.answer is not None or e.problem for e in reading.exchanges)


def _bound_ms(reading: Reading, e: Exchange) -> int:
    """How long it may wait for its answer, in ms."""
    if e.join is None and not isinstance(e.asked, SyncGroupRequest):
        return 0
    return max(reading.longest_rebalance_ms.get(e.group, 0), _DELAY_MS)


def _due(reading: Reading) -> Iterator[tuple[Exchange, int]]:
    """Requests whose waiting time ended within the history, each with that time."""
    if not reading.virtual:
        return
    for e in reading.exchanges:
        bound = _bound_ms(reading, e)
        end = min(reading.end_ms, _cut_ms(reading, e))
        if e.answered < NEVER or (end > e.sent_ms + bound and not _superseded(reading, e)):
            yield e, bound


def _cut_ms(reading: Reading, e: Exchange) -> int:
    """When its client gave it up, or its coordinator failed over."""
    cut = min([e.dropped, *(p for p in reading.takeovers if p > e.sent)])
    return NEVER if cut == NEVER else reading[cut].at_ms


def _superseded(reading: Reading, e: Exchange) -> bool:
    """Whether the same member joined again meanwhile: the earlier join may stay unanswered."""
    asked = e.join
    return asked is not None and any(
        e.sent < other.sent < e.answered
        and (again := other.join) is not None
        and again.group_id == asked.group_id
        and (asked.member_id or asked.group_instance_id)
        in {again.member_id or NEVER, again.group_instance_id or NEVER}
        for other in reading.exchanges
    )


def _endless(reading: Reading) -> str | None:
    for e in reading.exchanges:
        if e.closed:
            why = f": {e.findings[0]}" if e.findings else ""
            return f"{e} was not answered: its connection was closed{why}"
    for e, bound in _due(reading):
        waited = e.answered_ms - e.sent_ms if e.answered < NEVER else reading.end_ms - e.sent_ms
        if waited > bound:
            found = "was answered only after" if e.answered < NEVER else "had no answer after"
            return f"{e} {found} {waited} ms, and may wait {bound} ms"
    return None


def _anything_due(reading: Reading) -> bool:
    return any(bound for _, bound in _due(reading))


BOUND_PROPERTIES = (
    history_property(
        "no-answer-has-a-forbidden-shape",
        "Every answer has the fields of its version, and no others.",
        src.KIP_PUBLIC,
        "every answer; what was wrong with its bytes as the transport found it",
        _misshapen,
        _any_answer,
    ),
    history_property(
        "every-request-is-answered-in-bounded-time",
        "A JoinGroup or SyncGroup is answered within the longest rebalance timeout that a member "
        "of its group asked for, all else at once; no connection is closed instead.",
        src.KAFKA_TIMERS,
        "a virtual clock (under a real one a closed connection alone counts); at least Kafka's "
        f"initial delay of {_DELAY_MS} ms is granted; a join that its own member sent anew, "
        "or whose client or coordinator is gone, is owed nothing",
        _endless,
        _anything_due,
        expected={f"kafka-{version}": _BEFORE_2_8_1 for version in _OLD},
    ),
)
