"""The figures for Prometheus: what they count, and that any collector can read them."""

from __future__ import annotations

import re

import pytest
from prometheus_client.openmetrics import parser as open_parser
from prometheus_client.parser import text_string_to_metric_families
from support.logs.audit_reports import reported
from support.logs.model_log import ModelLog
from support.places import ROOT, TESTS

from fencepost.traces.audit.server_log_audit import audit_server_log
from fencepost.traces.logs.server_log import ServerLog
from fencepost.traces.operations.open_metrics import metrics_text
from fencepost.traces.operations.operator_report import KINDS, OperatorReport

Found = dict[tuple[str, frozenset[str]], float]
"""Values by name and label values."""


def samples(text: str) -> Found:
    """The samples of a text, read by the parsers of Prometheus' own client: all are gauges."""
    is_open = text.endswith("# EOF\n")
    read = open_parser.text_string_to_metric_families if is_open else text_string_to_metric_families
    found: Found = {}
    for family in read(text):
        assert family.type == "gauge", family.name
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.values())
            assert key not in found
            found[key] = sample.value
    return found


def value(found: Found, name: str, *labels: str) -> float:
    return found[f"fencepost_{name}", frozenset(labels)]


@pytest.fixture(scope="module")
def report() -> OperatorReport:
    log = ModelLog()
    log.form(log.static(1), log.pod(3, instance="orders-2"), leaver := log.pod(5))
    log.pod(7, instance="orders-2").start()
    log.run(3)
    leaver.leave()
    log.run(5)
    return reported(log.exchanges)


@pytest.mark.parametrize("is_open", [False, True])
def test_what_operators_watch_is_counted(report: OperatorReport, is_open: bool) -> None:
    found = samples(metrics_text(report, is_open=is_open))
    assert value(found, "rebalances", "orders", "new member") == 3
    assert value(found, "rebalances", "orders", "leave") == 1
    assert value(found, "rebalances_by_remedy", "orders", "none") == 4
    assert value(found, "fenced", "orders") == 1
    assert value(found, "replacements", "orders") == 1
    assert value(found, "failed_rebalances", "orders") == 0
    assert value(found, "members", "orders", "static") == 2
    assert value(found, "members", "orders", "dynamic") == 0
    assert value(found, "problems", "orders", "fenced") == 1
    assert value(found, "problems", "orders", "ping-pong") == 0
    hours = value(found, "log_span_seconds") / 3600
    assert value(found, "rebalances_per_hour", "orders") == pytest.approx(4 / hours)


def test_what_rebalances_took_adds_up(report: OperatorReport) -> None:
    found = samples(metrics_text(report, is_open=True))
    bounds = ("0.1", "0.5", "1.0", "5.0", "10.0", "30.0", "60.0", "300.0", "+Inf")
    counts = [value(found, "rebalances_within", "orders", le) for le in bounds]
    assert counts == sorted(counts)
    assert counts[-1] == 4
    assert value(found, "rebalancing_seconds", "orders") > 0


def test_deployments_and_what_they_cost_are_counted() -> None:
    log = ModelLog()
    log.form(*(pods := [log.pod(number) for number in (1, 2)]))
    log.run(90)
    log.bounce(*pods)
    report = reported(log.exchanges)
    found = samples(metrics_text(report, is_open=True))
    assert value(found, "deployments", "orders") == 1
    assert value(found, "deployment_restarts", "orders") == 2
    assert value(found, "deployment_rebalances", "orders") == 4
    assert value(found, "rebalances_by_remedy", "orders", "static membership") == 4
    assert report.avoidable == 4


@pytest.mark.parametrize(("version", "shows"), [("3.9.1+old", True), ("4.3.0", False)])
def test_what_a_log_cannot_show_has_no_sample(version: str, shows: bool) -> None:
    log = ServerLog([TESTS / "traces" / "server_logs" / f"server-{version}.log.gz"])
    found = samples(metrics_text(audit_server_log(log).report, is_open=True))
    names = {name for name, _ in found}
    assert ("fencepost_fenced" in names) is shows
    assert "fencepost_thrown_out" not in names
    kinds = {
        next(iter(labels & set(KINDS))) for name, labels in found if name == "fencepost_problems"
    }
    found_kinds = {"static-leave", "poll-timeout", "loop", "pending-id"}
    assert kinds == found_kinds | ({"fenced"} if shows else set())
    assert value(found, "replacements", "orders") == 5


def test_a_log_from_the_middle_on_counts_no_members_that_it_does_not_show() -> None:
    log = ModelLog()
    log.form(*(pods := [log.pod(number) for number in (1, 2, 3)]))
    log.run(60)
    begins = len(log.exchanges)
    log.run(60)
    whole, late = (
        samples(metrics_text(reported(part), is_open=True))
        for part in (log.exchanges, log.exchanges[begins:])
    )
    assert value(whole, "members", "orders", "dynamic") == len(pods)
    assert "fencepost_members" not in {name for name, _ in late}
    assert value(late, "rebalances_per_hour", "orders") == 0


def test_a_rebalance_that_goes_on_at_the_end_is_told() -> None:
    log = ModelLog()
    log.form(*(pods := [log.pod(number) for number in (1, 2, 3)]))
    log.run(10)
    before = samples(metrics_text(reported(log.exchanges), is_open=True))
    pods[0].leave()
    after = samples(metrics_text(reported(log.exchanges), is_open=True))
    told = [value(found, "rebalancing", "orders") for found in (before, after)]
    assert told == [0, 1]


def test_every_figure_is_explained() -> None:
    page = (ROOT / "docs" / "operators" / "figures.md").read_text(encoding="utf-8")
    text = metrics_text(OperatorReport(), is_open=True)
    helps = [line for line in text.splitlines() if line.startswith("# HELP")]
    assert [line for line in helps if line not in page.splitlines()] == []
    named = set(re.findall(r"\bfencepost_[a-z_]+", page))
    assert named == {line.split()[2] for line in helps}


def test_any_name_of_a_group_is_escaped() -> None:
    log = ModelLog('a"b\\c\nd')
    log.form(log.pod(1))
    for is_open in (False, True):
        text = metrics_text(reported(log.exchanges), is_open=is_open)
        assert value(samples(text), "fenced", 'a"b\\c\nd') == 0


def test_a_log_without_groups_has_figures() -> None:
    found = samples(metrics_text(OperatorReport(), is_open=False))
    assert found == {("fencepost_log_span_seconds", frozenset()): 0}


def test_the_parser_refuses_a_counter_that_is_named_like_a_gauge() -> None:
    wrong = "# TYPE fencepost_fenced counter\nfencepost_fenced 5\n# EOF\n"
    with pytest.raises(AssertionError, match="fencepost_fenced"):
        samples(wrong)
