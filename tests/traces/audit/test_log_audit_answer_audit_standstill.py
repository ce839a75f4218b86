"""A broker that stood still fires its timers afterwards: that is no fault of it.

Nothing in its log says so but that it wrote nothing; where it wrote about others meanwhile, it ran.
"""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter

import pytest
from support.logs.audits import Exchanges, of_exchanges
from support.logs.model_log import ModelLog

from fencepost.traces.audit.audit_results import EXPLAINED, VIOLATED


def stood_still(seconds: float) -> Exchanges:
    """A session ends while the broker stands still, and afterwards a heartbeat is taken first."""
    log = ModelLog(now=10_000)
    log.form(log.pod(1), other := log.pod(2))
    log.run(20)
    other.die()
    log.run(8)
    log.now += int(seconds * 1000)
    log.run(60)
    at = max(i for i, x in enumerate(log.exchanges) if x.answer_body.get("errorCode") == 27)
    late = log.exchanges[at]
    taken = replace(
        late,
        line=10_000,
        at_ms=late.at_ms - 20,
        answered_ms=late.answered_ms - 20,
        answer_body={"throttleTimeMs": 0, "errorCode": 0},
    )
    return [*log.exchanges[:at], taken, *log.exchanges[at:]]


def of_another(seconds: int) -> Exchanges:
    """Lines of another group, from before the first of the one that is looked at."""
    log = ModelLog("payments")
    log.form(*(log.pod(number) for number in range(1, 4)))
    for number, consumer in enumerate(log.consumers):
        consumer.beat_at += 300 * number
    log.run(seconds)
    return [replace(x, line=20_000 + x.line) for x in log.exchanges]


@pytest.mark.parametrize("seconds", [7.0, 8.5])
def test_timers_of_a_broker_that_stood_still_are_late(seconds: float) -> None:
    (alone,) = of_exchanges(stood_still(seconds)).values()
    assert alone.outcome == EXPLAINED, alone.first_violations
    others = of_another(seconds=120)
    lines = sorted(stood_still(seconds) + others, key=attrgetter("answered_ms"))
    audited = of_exchanges(lines)
    assert audited["payments"].outcome == EXPLAINED
    assert audited["orders"].outcome == VIOLATED
    assert audited["orders"].first_violations[0].exchange.line == 10_000
