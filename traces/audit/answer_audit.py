"""Audit a log: pass every line to its group, and collect the results.

Only live groups are kept in memory.  Of a group that was silent for longer than any session timeout
only the result is kept; at its next line its state is unknown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from fencepost.properties.oracle.oracle_search import FOREVER
from fencepost.traces.audit.audit_results import AuditViolation, GroupResult
from fencepost.traces.audit.audit_settings import AuditSettings
from fencepost.traces.audit.group_audit import IDLE_MS, GroupAudit
from fencepost.traces.audit.possible_errors import PossibleAnswers
from fencepost.traces.audit.segment import Segment
from fencepost.traces.logs.logged_exchange import LoggedExchange, is_wanted

_LOOK_EVERY = 50_000
_MOST_CONNECTIONS = 20_000
_KEEP_MS = 60 * 60_000
_PAUSE_MS = 3_000
_MOST_PAUSES = IDLE_MS // _PAUSE_MS


class BrokerActivity:
    """The connections of a broker, and the pauses in its log: times in which it wrote nothing."""

    __slots__ = ("connections", "last_ms", "pauses")

    def __init__(self) -> None:
        self.connections: dict[str, list[int]] = {}
        self.last_ms = FOREVER
        self.pauses: deque[tuple[int, int]] = deque(maxlen=_MOST_PAUSES)

    def wrote(self, at_ms: int) -> None:
        """Note that the broker wrote a line."""
        if at_ms > self.last_ms + _PAUSE_MS:
            self.pauses.append((self.last_ms, at_ms))
        self.last_ms = at_ms

    def paused_ms(self, from_ms: int, to_ms: int) -> int:
        """Return the longest pause that reaches into this time; 0 for none over three seconds."""
        return longest(self.pauses, from_ms, to_ms)

    def runs_through(self, from_ms: int, to_ms: int) -> bool:
        """Return whether some connection was in use at each time, so no restart happened."""
        until_ms = from_ms
        for first, last in sorted((first, last) for first, last in self.connections.values()):
            if first > until_ms or until_ms >= to_ms:
                break
            if first < until_ms or first == from_ms:
                until_ms = max(until_ms, last)
        return until_ms >= to_ms

    def prune(self, now_ms: int) -> None:
        """Forget connections that were not used for long."""
        self.connections = {
            name: used for name, used in self.connections.items() if used[1] > now_ms - _KEEP_MS
        }


class Audit:
    """An audit in progress: `feed` it each exchange, in the order of the answers, then `finish`.

    `only`: the groups to look at; none for all but fencepost's own.  `evidence`: for each violated
    group the first violation, with the segment that it is in where there is one.  `own`:
    fencepost's own groups, which were left out.
    """

    def __init__(
        self, settings: AuditSettings | None = None, only: frozenset[str] = frozenset()
    ) -> None:
        self.settings = settings or AuditSettings()
        self.only = only
        self.evidence: dict[str, tuple[AuditViolation, Segment | None]] = {}
        self.own: set[str] = set()
        self._legal = PossibleAnswers(self.settings.revision)
        self._groups: dict[str, GroupAudit] = {}
        self._brokers: dict[str, BrokerActivity] = {}
        self._damage: list[tuple[str, int, str]] = []
        self._fed = 0

    def feed(self, exchange: LoggedExchange) -> None:
        """Take one exchange."""
        broker = self._brokers.get(exchange.broker)
        if broker is None:
            broker = self._brokers[exchange.broker] = BrokerActivity()
        used = broker.connections.get(exchange.connection)
        if used is None:
            broker.connections[exchange.connection] = [exchange.arrived_ms, exchange.answered_ms]
        else:
            used[1] = exchange.answered_ms
        broker.wrote(exchange.answered_ms)
        self._fed += 1
        if self._fed % _LOOK_EVERY == 0:
            self._put_down_idle(exchange.answered_ms)
        group_id = exchange.request_body.get("groupId")
        if group_id is None:
            for part in parts(exchange):
                self._to_group(part.request_body["groups"][0], part)
        else:
            self._to_group(group_id, exchange)

    def _to_group(self, group_id: str, exchange: LoggedExchange) -> None:
        group = self._groups.get(group_id)
        if group is None:
            if not is_wanted(group_id, self.only):
                if not self.only:
                    self.own.add(group_id)
                return
            group = self._groups[group_id] = GroupAudit(
                group_id, self.settings, self._legal, self, self._note
            )
        group.take(exchange)

    @property
    def held(self) -> int:
        """How many exchanges are held back at the moment."""
        return sum(group.held for group in self._groups.values())

    def damage(self, broker: str, at_ms: int, place: str) -> None:
        """Note a damaged line, which may have been evidence."""
        self._damage.append((broker, at_ms, place))

    def finish(self) -> dict[str, GroupResult]:
        """End the audit and return the results of all groups, by name."""
        for group in self._groups.values():
            group.finish()
        return {name: self._groups[name].result for name in sorted(self._groups)}

    # What groups ask.

    def runs_through(self, broker: str, from_ms: int, to_ms: int) -> bool:
        """Return whether connections show that the broker was not restarted meanwhile."""
        return self._brokers[broker].runs_through(from_ms, to_ms)

    def damaged(self, broker: str, from_ms: int, to_ms: int) -> str | None:
        """Return the place of a damaged line of that time, or None."""
        for of, at_ms, place in self._damage:
            if of == broker and from_ms <= at_ms <= to_ms:
                return place
        return None

    def paused_ms(self, broker: str, from_ms: int, to_ms: int) -> int:
        """Return the longest time in which the broker logged nothing: it may have stood still."""
        return self._brokers[broker].paused_ms(from_ms, to_ms)

    def _note(self, found: AuditViolation, segment: Segment | None) -> None:
        group_id = found.exchange.group_ids[0]
        self.evidence.setdefault(group_id, (found, segment))

    def _put_down_idle(self, now_ms: int) -> None:
        for broker in self._brokers.values():
            if len(broker.connections) > _MOST_CONNECTIONS:
                broker.prune(now_ms)
        for group in self._groups.values():
            if group.result.last_ms < now_ms - IDLE_MS:
                group.finish()


def longest(pauses: Iterable[tuple[int, int]], from_ms: int, to_ms: int) -> int:
    """Return the length of the longest pause that reaches into a time, 0 for none."""
    return max((until - at for at, until in pauses if at < to_ms and until > from_ms), default=0)


def parts(exchange: LoggedExchange) -> Iterator[LoggedExchange]:
    """Split an exchange about several groups into one for each; none if it names no group."""
    if exchange.api != "DescribeGroups":
        return
    rows: Iterable[Any] = exchange.response_body.get("groups") or ()
    for row in rows:
        if isinstance(row, dict) and isinstance(row.get("groupId"), str):
            yield replace(
                exchange,
                request_body={**exchange.request_body, "groups": [row["groupId"]]},
                response_body={**exchange.response_body, "groups": [row]},
            )
