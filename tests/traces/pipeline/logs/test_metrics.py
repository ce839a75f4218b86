from __future__ import annotations

import base64
import re
from collections import Counter
from pathlib import Path

import pytest
from support.logs.log_rows import said_by_audit
from support.places import TESTS

from fencepost.traces.audit.audit_settings import LogOptions
from fencepost.traces.pipeline.corpus.shard_jobs import LocalEngine
from fencepost.traces.pipeline.logs import metrics as log_metrics
from fencepost.traces.pipeline.logs.audit_plan import LogAudit
from fencepost.traces.pipeline.logs.metrics import (
    DAY_MS,
    GROUP_DAYS,
    SUMS,
    Metrics,
    measure_logs,
    metrics_page,
)
from fencepost.traces.pipeline.logs.part_audit import audit_logs
from fencepost.traces.pipeline.logs.part_tables import part_table
from fencepost.traces.pipeline.storage.location import Place

LOG = TESTS / "traces" / "request_logs" / "kafka-4.3.0.log.gz"


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> LogAudit:
    audit = LogAudit.of(Place(str(tmp_path_factory.mktemp("out"))), [LOG], LogOptions(), 3)
    audit_logs(LocalEngine(), audit)
    return audit


@pytest.fixture(scope="module")
def metrics(audit: LogAudit) -> Metrics:
    return measure_logs(LocalEngine(), audit)


def test_every_row_of_the_audit_is_counted_once(audit: LogAudit, metrics: Metrics) -> None:
    rows = said_by_audit(audit)
    totals = metrics.totals
    causes = Counter(row["cause"] for row in rows["rebalances"])
    remedies = Counter(row["remedy"] for row in rows["rebalances"])
    assert totals["rebalances"] == len(rows["rebalances"]) > 0
    assert {
        c.value: totals[name] for c, name in log_metrics.CAUSES.items() if totals[name]
    } == causes
    assert totals["static_avoids"] == remedies["static membership"] > 0
    assert totals["longer_session_avoids"] == remedies["a longer session timeout"]
    assert totals["no_leave_avoids"] == remedies["no LeaveGroup from the static member"]
    assert totals["rebalance_ms"] == sum(row["duration_ms"] or 0 for row in rows["rebalances"])
    assert totals["fenced"] == sum(row["fenced_ms"] is not None for row in rows["life_lines"]) > 0
    assert totals["thrown_out"] == len(rows["thrown_out"]) > 0
    assert totals["deployments"] == len(rows["deployments"]) > 0
    assert totals["deployment_rebalances"] == sum(row["rebalances"] for row in rows["deployments"])
    assert totals["stopped_ms"] > 0
    hours = Counter[str]()
    for row in metrics.hours.to_pylist():
        hours[row["cause"]] += row["rebalances"]
    assert hours == causes
    ended = [row for row in rows["rebalances"] if row["duration_ms"] is not None]
    assert sum(metrics.durations["rebalances"].to_pylist()) == len(ended)


def test_a_groups_day_is_a_row(audit: LogAudit, metrics: Metrics) -> None:
    seen: Counter[str] = Counter()
    for part in range(audit.parts):
        rows = audit.place.read(part_table("metrics", part))
        assert rows.schema == GROUP_DAYS
        keys = [(row["group"], row["day_ms"]) for row in rows.to_pylist()]
        assert len(keys) == len(set(keys))
        assert all(day_ms % DAY_MS == 0 for _, day_ms in keys)
        for row in rows.to_pylist():
            seen.update({name: row[name] for name in SUMS})
    assert {name: seen[name] for name in SUMS} == metrics.totals
    most = [row["rebalances"] for row in metrics.busiest]
    assert most == sorted(most, reverse=True)


@pytest.mark.parametrize(
    ("times", "whole"),
    [
        ([], []),
        ([(5, 9), (1, 3)], [(1, 3), (5, 9)]),
        ([(1, 5), (2, 3), (5, 6)], [(1, 6)]),
        ([(1, 1)], [(1, 1)]),
    ],
)
def test_times_that_overlap_count_once(
    times: list[tuple[int, int]], whole: list[tuple[int, int]]
) -> None:
    assert log_metrics.united(times) == whole


def test_a_time_over_midnight_counts_on_both_days() -> None:
    times = [(DAY_MS - 10, 2 * DAY_MS + 5), (2 * DAY_MS + 7, 2 * DAY_MS + 8)]
    days = list(log_metrics.by_day(times))
    assert days == [(0, 10), (DAY_MS, DAY_MS), (2 * DAY_MS, 5), (2 * DAY_MS, 1)]
    assert list(log_metrics.by_day([(DAY_MS, DAY_MS)])) == []


def test_the_page_is_one_file_with_its_charts_and_their_tables(metrics: Metrics) -> None:
    page = metrics_page(metrics, "a <log>")
    assert page == metrics_page(metrics, "a <log>")
    assert "Rebalances of a &lt;log&gt;" in page
    charts = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert len(charts) == 4
    assert all(b"<svg" in base64.b64decode(chart) for chart in charts)
    assert f"<dd>{metrics.totals['rebalances']:,}</dd>" in page
    assert all(row["group"] in page for row in metrics.busiest)
    assert not re.findall(r'(?:src|href)="(?!data:|#)', page.partition("<script")[0])


def test_a_log_without_rebalances_has_a_page(tmp_path: Path) -> None:
    log = tmp_path / "kafka.log"
    log.write_text("nothing\n", encoding="utf-8")
    audit = LogAudit.of(Place(str(tmp_path / "out")), [log], LogOptions(), 2)
    assert audit_logs(LocalEngine(), audit).groups == 0
    empty = measure_logs(LocalEngine(), audit)
    assert empty.totals == dict.fromkeys(SUMS, 0)
    assert "Rebalances of nothing" in metrics_page(empty, "nothing")
