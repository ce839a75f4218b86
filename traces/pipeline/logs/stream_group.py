"""Audit one group of a log that never ends: judge its next lines, and keep the state.

The group is audited as in `fencepost audit`, but alone: only its own lines show that the broker ran
without a restart.  So it may assume a restart, or a broker that stood still, where the audit of all
groups finds a violation; never the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fencepost.traces.audit.audit_results import AuditViolation
from fencepost.traces.audit.audit_settings import AuditSettings
from fencepost.traces.audit.group_audit import GroupAudit
from fencepost.traces.audit.log_audit import BrokerActivity
from fencepost.traces.audit.possible_errors import PossibleAnswers
from fencepost.traces.audit.segment import Segment
from fencepost.traces.logs.request_log import LoggedExchange
from fencepost.traces.pipeline.storage.stream_state import from_bytes, to_bytes

_CONNECTIONS = 1_000


class StreamGroup:
    """The audit of a group in progress.

    `state`: its state at the last stop, None at its beginning.
    """

    def __init__(
        self,
        group: str,
        settings: AuditSettings,
        legal: PossibleAnswers,
        state: bytes | None = None,
    ) -> None:
        noted = self._note
        self._known: dict[str, object] = {
            "settings": settings,
            "legal": legal,
            "around": self,
            "noted": noted,
        }
        self._alerts: list[dict[str, Any]] = []
        self._brokers: dict[str, BrokerActivity]
        if state is None:
            self._brokers = {}
            self._audit = GroupAudit(group, settings, legal, self, noted)
        else:
            self._brokers, self._audit = from_bytes(state, self._known)

    def take(self, exchanges: Iterable[LoggedExchange]) -> list[dict[str, Any]]:
        """Judge the next lines; return the violations as rows."""
        for exchange in exchanges:
            broker = self._brokers.setdefault(exchange.broker, BrokerActivity())
            used = broker.connections.setdefault(
                exchange.connection, [exchange.at_ms, exchange.answered_ms]
            )
            used[1] = exchange.answered_ms
            broker.wrote(exchange.answered_ms)
            if len(broker.connections) > _CONNECTIONS:
                broker.prune(exchange.answered_ms)
            self._audit.take(exchange)
        alerts, self._alerts = self._alerts, []
        return alerts

    def state(self) -> bytes:
        """Return the state as bytes."""
        return to_bytes((self._brokers, self._audit), self._known)

    def runs_through(self, broker: str, from_ms: int, to_ms: int) -> bool:
        """See Surroundings."""
        known = self._brokers.get(broker)
        return known is not None and known.runs_through(from_ms, to_ms)

    def paused_ms(self, broker: str, from_ms: int, to_ms: int) -> int:
        """See Surroundings.  Where the group heard nothing, perhaps no group did."""
        known = self._brokers.get(broker)
        return 0 if known is None else known.paused_ms(from_ms, to_ms)

    @staticmethod
    def damaged(_broker: str, _from_ms: int, _to_ms: int) -> None:
        """See Surroundings.  The writer of alerts knows unreadable lines; a group does not."""
        return

    def _note(self, violation: AuditViolation, segment: Segment | None) -> None:
        self._alerts.append(
            {
                **violation.entry().plain(),
                "group": self._audit.group_id,
                "number": self._audit.result.violations,
                "from_ms": violation.exchange.at_ms if segment is None else segment.from_ms,
            }
        )
