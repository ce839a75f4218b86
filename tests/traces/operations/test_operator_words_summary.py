"""The report as text: what is said of groups, timeouts and ports."""

from __future__ import annotations

import re
from collections import Counter

from support.logs.audit_reports import reported
from support.logs.model_log import ModelLog
from support.places import ROOT, TESTS

from fencepost.traces.audit.server_log_audit import audit_server_log
from fencepost.traces.logs.request_log import read_request_log
from fencepost.traces.logs.server_log import ServerLog
from fencepost.traces.operations.operator_words import causes_by_group, operator_summary

LOG = ROOT / "examples" / "request-logs" / "kafka-request.log.gz"
SERVER = TESTS / "traces" / "server_logs" / "server-4.3.0.log.gz"


def test_causes_are_told_by_group_the_most_first() -> None:
    report = reported(read_request_log([LOG]))
    text = operator_summary(report)
    text = text[next(n for n, line in enumerate(text) if line.startswith("Rebalances by")) :]
    rows = [line for line in text if line[:3].startswith("  ") and line[2] != " "]
    payments = next(row for row in rows if row.startswith("  'payments-1': 6 ("))
    figures = report.figures["payments-1"]
    took = f"took {figures.total_ms / 1000:.1f} s together"
    said = f"6 (new member 3, leave 3); {took}; avoided by static membership 3"
    assert payments.endswith(said)
    assert len(rows) == len(causes_by_group(report)) == 11
    totals = [total for _, total, _ in causes_by_group(report)]
    assert totals == sorted(totals, reverse=True)
    assert sum(totals) == report.rebalances.count
    log = ModelLog()
    log.form(log.pod(1))
    assert not any(line.startswith("  ") for line in operator_summary(reported(log.exchanges)))


def test_a_length_is_told_only_where_it_says_something() -> None:
    log = ModelLog("single")
    log.form(log.pod(1))
    other = ModelLog("pair")
    other.form(other.pod(1), other.pod(2))
    log.run(2)
    other.run(2)
    text = "\n".join(operator_summary(reported([*log.exchanges, *other.exchanges])))
    assert re.search(r"^  'single': 1 \(.+\); took [0-9.]+ m?s$", text, re.MULTILINE)
    assert re.search(r"^  'pair': 2 \(.+\); took [0-9.]+ m?s together$", text, re.MULTILINE)
    assert "of the log" not in text


def test_who_fenced_itself_is_told_with_both_ports() -> None:
    report = reported(read_request_log([LOG]))
    (row,) = (row for row in report.self_fencings.rows if row.group == "billing" and row.alive)
    ports = [each.rpartition(":")[2] for each in (row.by_address, row.address)]
    assert len(set(ports)) == 2
    said = f"(from port {ports[0]}; the first was at port {ports[1]})"
    assert any(said in line for line in operator_summary(report))


def test_a_timeout_is_named_with_the_rebalances_that_it_would_have_avoided() -> None:
    report = audit_server_log(ServerLog([SERVER])).report
    away = Counter(row.session_ms is not None for row in report.rebalances.rows)
    text = "\n".join(operator_summary(report))
    others = report.avoidable - away[True] - 1  # one left on close
    assert (away[True], others) == (3, 6)
    said = (
        "long enough for 3 of the 9 rebalances that static membership or a longer session timeout "
        "would have avoided; the log doesn't show how long members were away in the other 6."
    )
    assert said in text
