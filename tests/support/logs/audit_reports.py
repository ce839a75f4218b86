"""A log's report for operators, for tests."""

from __future__ import annotations

from collections.abc import Iterable

from fencepost.traces.audit.operations.operator_report import OperatorAudit, OperatorReport
from fencepost.traces.logs.exchange import LoggedExchange


def reported(exchanges: Iterable[LoggedExchange]) -> OperatorReport:
    audit = OperatorAudit()
    for exchange in exchanges:
        audit.take(exchange)
    return audit.finish()
