"""The figures for Prometheus: what they count, and that any collector can read them."""

from __future__ import annotations

import re

import pytest
from support.logs.audit_reports import reported
from support.logs.model_log import ModelLog

from fencepost.traces.audit.operations.open_metrics import metrics_text
from fencepost.traces.audit.operations.operator_report import OperatorReport

NAME = r"[a-z][a-z0-9_]*"
SAMPLE = re.compile(rf'({NAME})(?:\{{((?:{NAME}="(?:[^"\\\n]|\\.)*",?)*)\}})? (\S+)')


def samples(text: str) -> dict[str, float]:
    """The samples of a text, each held to the grammar."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("# "):
            match = SAMPLE.fullmatch(line)
            assert match, line
            found[line.rpartition(" ")[0]] = float(match[3])
    return found


@pytest.fixture(scope="module")
def report() -> OperatorReport:
    log = ModelLog()
    log.form(log.static(1), log.pod(3, instance="orders-2"), leaver := log.pod(5))
    log.pod(7, instance="orders-2").start()
    log.run(3)
    leaver.leave()
    log.run(5)
    return reported(log.exchanges)


def test_what_operators_watch_is_counted(report: OperatorReport) -> None:
    found = samples(metrics_text(report, is_open=False))
    assert found['fencepost_rebalances_total{group="orders",cause="new member"}'] == 3
    assert found['fencepost_rebalances_total{group="orders",cause="leave"}'] == 1
    assert found['fencepost_fenced_total{group="orders"}'] == 1
    assert found['fencepost_failed_rebalances_total{group="orders"}'] == 0
    assert found['fencepost_members{group="orders",kind="static"}'] == 2
    assert found['fencepost_members{group="orders",kind="dynamic"}'] == 0
    assert found['fencepost_problems{kind="fenced"}'] == 1
    hours = found["fencepost_log_span_seconds"] / 3600
    rate = found['fencepost_rebalances_per_hour{group="orders"}']
    assert rate == pytest.approx(4 / hours)


def test_the_histogram_adds_up(report: OperatorReport) -> None:
    found = samples(metrics_text(report, is_open=True))
    counts = [value for name, value in found.items() if "_bucket{" in name]
    assert counts == sorted(counts)
    assert counts[-1] == found['fencepost_rebalance_duration_seconds_count{group="orders"}'] == 4


def test_open_metrics_declares_counters_without_their_suffix_and_ends(
    report: OperatorReport,
) -> None:
    text = metrics_text(report, is_open=True)
    assert "# TYPE fencepost_fenced counter\n" in text
    assert text.endswith("# EOF\n")
    plain = metrics_text(report, is_open=False)
    assert "# TYPE fencepost_fenced_total counter\n" in plain
    assert "# EOF" not in plain
    assert samples(text) == samples(plain)


def test_any_name_of_a_group_is_escaped() -> None:
    log = ModelLog('a"b\\c\nd')
    log.form(log.pod(1))
    text = metrics_text(reported(log.exchanges), is_open=False)
    assert 'fencepost_fenced_total{group="a\\"b\\\\c\\nd"} 0' in text
    assert samples(text)


def test_a_log_without_groups_has_figures() -> None:
    assert samples(metrics_text(OperatorReport(), is_open=False))["fencepost_log_span_seconds"] == 0
