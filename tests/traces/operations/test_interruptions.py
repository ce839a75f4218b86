"""Times without a member, in request logs: joins, leaves and sessions show them."""

from __future__ import annotations

from support.logs.audit_reports import reported
from support.logs.model_log import ModelLog

from fencepost.traces.operations.operator_rows import Cause, End
from fencepost.traces.operations.operator_words import operator_json, problem_texts


def test_a_group_whose_only_member_leaves_and_comes_back_had_none_meanwhile() -> None:
    log = ModelLog("orders")
    log.form(pod := log.pod(1))
    pod.leave()
    log.run(30)
    log.form(log.pod(1))
    log.run(3)
    report = reported(log.exchanges)
    (span,) = report.empty_spans
    assert (span.end, span.group) == (End.LEFT, "orders")
    assert 30_000 <= (span.until_ms or 0) - span.from_ms < 31_000
    new = Cause.NEW_MEMBER
    rows = report.rebalances.rows
    assert [row.cause for row in rows] == [new, Cause.LEAVE, new]
    assert [row.members_after for row in rows] == [1, 0, 1]
    assert problem_texts(report)[0].startswith("1 group had no member from ")


def test_a_group_whose_only_member_died_had_none_from_the_end_of_its_session() -> None:
    log = ModelLog("orders")
    log.form(pod := log.pod(1))
    log.run(5)
    pod.die()
    log.run(60)
    log.form(log.pod(2))
    log.run(3)
    report = reported(log.exchanges)
    (span,) = report.empty_spans
    assert span.end is End.EXPIRED
    assert span.until_ms is not None
    assert [row.cause for row in report.rebalances.rows] == [
        Cause.NEW_MEMBER,
        Cause.EXPIRY,
        Cause.NEW_MEMBER,
    ]


def test_a_group_without_a_request_for_long_had_no_member_until_the_next_join() -> None:
    log = ModelLog("orders")
    log.form(pod := log.pod(1))
    log.run(5)
    pod.die()
    other = ModelLog("others")
    other.run(1800)
    other.form(other.pod(1))
    gone = operator_json(reported([*log.exchanges, *other.exchanges]))["empty_spans"]
    assert (gone["count"], gone["rows"][0]["until_ms"]) == (1, None)
    log.run(3600)
    log.form(log.pod(2))
    log.run(3)
    report = reported(log.exchanges)
    (span,) = report.empty_spans
    assert (span.until_ms or 0) - span.from_ms > 3_500_000
    assert report.figures["orders"].lost is None
    assert report.emptying == 1
