"""A log's report for operators, for tests."""

from __future__ import annotations

from collections.abc import Iterable

from fencepost.traces.logs.request_log import LoggedExchange
from fencepost.traces.operations.operator_report import OperatorAudit, OperatorReport


def reported(exchanges: Iterable[LoggedExchange]) -> OperatorReport:
    audit = OperatorAudit()
    for exchange in exchanges:
        audit.take(exchange)
    return audit.finish()
