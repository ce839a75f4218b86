"""A line may be dated late, which moves the arrival of its request, too: that is no fault.

The lines of a log that a real Kafka wrote are dated later, one at a time, as far as their broker
could have done so: it reads no request of a connection before it has written the line before.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.logs.audits import Exchanges, dated_late, of_exchanges
from support.logs.model_log import ModelLog
from support.places import ROOT

from fencepost.traces.audit.audit_results import EXPLAINED, VIOLATED, GroupResult
from fencepost.traces.audit.audit_settings import AuditSettings
from fencepost.traces.audit.possible_errors import Fact
from fencepost.traces.logs.request_log import read_request_log

LOG = ROOT / "examples" / "request-logs" / "kafka-request.log.gz"


def audited(lines: Exchanges, lag_ms: int = 500) -> GroupResult:
    (result,) = of_exchanges(lines, AuditSettings(lag_ms=lag_ms)).values()
    return result


def of_group(line: int) -> Exchanges:
    """The lines of the group that a line is about."""
    lines = list(read_request_log([LOG]))
    (group,) = (x.group_ids for x in lines if x.line == line)
    return [x for x in lines if x.group_ids == group]


@pytest.mark.parametrize(
    ("line", "by_ms"),
    [
        (200, 25),  # the leader's sync, after those that it answers
        (264, 25),  # a join, after the rebalance that it began
        (270, 25),  # a sync, after a rebalance that it was not part of
        (340, 400),  # a heartbeat, after its member was replaced
    ],
)
def test_a_line_that_is_dated_late_is_explained(line: int, by_ms: int) -> None:
    lines = dated_late(of_group(line), line, by_ms)
    assert audited(lines).outcome == EXPLAINED
    assert audited(lines, lag_ms=10).outcome != EXPLAINED  # so it says something


def replaced(silent: float) -> tuple[Exchanges, int]:
    """A member whose heartbeat is taken although it was replaced; the lines, and that one's."""
    log = ModelLog()
    log.form(log.static(1), old := log.static(2))
    log.run(60)
    old.beat_at = log.now + int(silent * 1000) + 100
    log.pod(7, instance="orders-2").start()
    log.run(10)
    at = next(i for i, x in enumerate(log.exchanges) if x.answer_body.get("errorCode") == 82)
    wrong = replace(log.exchanges[at], answer_body={"throttleTimeMs": 0, "errorCode": 0})
    return [*log.exchanges[:at], wrong, *log.exchanges[at + 1 :]], wrong.line


def test_what_no_late_date_explains_is_still_found() -> None:
    lines, line = replaced(silent=0.8)
    result = audited(lines)
    assert result.outcome == VIOLATED
    assert result.first_violations[0].exchange.line == line
    assert audited(replaced(silent=0.2)[0]).outcome == EXPLAINED
    assert audited(replaced(silent=0.2)[0], lag_ms=100).outcome == VIOLATED


def test_a_fact_holds_for_later_requests_of_its_connection_at_once() -> None:
    first, *_, last = replaced(silent=0.8)[0]
    fact = Fact(last.at_ms - 100, "log:1", "had left", first.connection)
    assert not fact.precedes(last, 500)
    assert fact.precedes(last, 50)
    assert fact.precedes(replace(last, connection=first.connection), 500)
