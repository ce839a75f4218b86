"""A log whose lines are of one millisecond: joins are answered, and syncs after them, at once."""

from __future__ import annotations

import pytest
from support.logs.model_log import ModelLog

from fencepost.traces.audit.audit_results import EXPLAINED
from fencepost.traces.audit.log_audit import Audit


@pytest.mark.parametrize("members", [2, 3, 4])
def test_syncs_answered_with_the_leaders_join_belong_to_its_generation(members: int) -> None:
    log = ModelLog()
    log.form(*(log.static(n) for n in range(1, members)))
    start = len(log.exchanges)  # the first that the log shows is the next rebalance
    log.form(log.static(members))
    log.run(2)
    for consumer in log.consumers:  # accepted, so everybody has synced
        consumer.commit()
    log.run(5)
    audit = Audit()
    for exchange in log.exchanges[start:]:
        audit.feed(exchange)
    (result,) = audit.finish().values()
    assert result.outcome == EXPLAINED, result.reason
    assert result.anchors >= 1
    assert result.assumed == {}
    assert result.judged > members
