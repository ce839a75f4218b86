"""Write the figures that operators watch for Prometheus, in its text format or as OpenMetrics.

All are gauges: they describe the input files, and the next files have others.  A figure that a log
can't show has no sample, rather than a 0.

Source: Prometheus' "Exposition formats"; the OpenMetrics 1.0 specification.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.traces.operations.operator_report import (
    BUCKETS_MS,
    KINDS,
    GroupFigures,
    OperatorReport,
)

_HOUR_MS = 3_600_000
_Sample = tuple[dict[str, str], float]


@dataclass(frozen=True, slots=True)
class _Gauge:
    """A metric with its samples: labels, value."""

    name: str
    says: str
    samples: Iterable[_Sample]


def metrics_text(
    report: OperatorReport,
    *,
    is_open: bool,
    unread: int | None = None,
    others: Mapping[str, int] | None = None,
) -> str:
    """Return the figures of a report as text.

    `is_open`: as OpenMetrics, which has an end.  `unread`: lines about groups that were not
    understood, None where the log has no such lines; `others`: numbers of groups by another
    protocol.
    """
    gauges = [*_gauges(report), *_beside(unread, others or {})]
    lines = [line for gauge in gauges for line in _lines(gauge)]
    return "\n".join([*lines, *(["# EOF"] if is_open else [])]) + "\n"


def _gauges(report: OperatorReport) -> Iterator[_Gauge]:
    groups = sorted(report.figures.items())
    span_ms = (report.until_ms or 0) - (report.from_ms or 0)
    hours = max(span_ms, 1) / _HOUR_MS

    def of(value: Callable[[GroupFigures], float], kind: str = "") -> list[_Sample]:
        groups_of_kind = [(group, f) for group, f in groups if report.shows(group, kind)]
        return [({"group": group}, value(f)) for group, f in groups_of_kind]

    def by(label: str, counts: Callable[[GroupFigures], Mapping[Any, int]]) -> list[_Sample]:
        return [
            ({"group": group, label: value.value}, count)
            for group, f in groups
            for value, count in sorted(counts(f).items(), key=lambda item: item[0].value)
        ]

    yield _Gauge(
        "fencepost_log_span_seconds",
        "Seconds that the log covers.",
        [({}, span_ms / 1000)],
    )
    yield _Gauge("fencepost_rebalances", "Rebalances by cause.", by("cause", lambda f: f.causes))
    yield _Gauge(
        "fencepost_rebalances_by_remedy",
        "Rebalances by the setting that would have avoided them.",
        by("remedy", lambda f: f.remedies),
    )
    yield _Gauge(
        "fencepost_rebalances_per_hour",
        "Rebalances per hour of the log.",
        of(lambda f: f.causes.total() / hours),
    )
    yield _Gauge(
        "fencepost_rebalances_within",
        "Rebalances with an assignment at most le seconds after their cause.",
        [sample for group, f in groups for sample in _within(group, f)],
    )
    yield _Gauge(
        "fencepost_rebalancing_seconds",
        "Duration of all rebalances together, as far as it is known.",
        [({"group": group}, f.known_ms / 1000) for group, f in groups if f.known_ms is not None],
    )
    yield _Gauge(
        "fencepost_failed_rebalances",
        "Rebalances that another one followed before any member had an assignment.",
        of(lambda f: f.failed),
    )
    yield _Gauge(
        "fencepost_deployments",
        "Deployments: two or more members that restarted, at most a minute apart.",
        of(lambda f: f.deployments),
    )
    yield _Gauge(
        "fencepost_deployment_restarts",
        "Restarts of members in deployments.",
        of(lambda f: f.restarts),
    )
    yield _Gauge(
        "fencepost_deployment_rebalances",
        "Rebalances that deployments cost; 0 is the aim.",
        of(lambda f: f.cost),
    )
    yield _Gauge(
        "fencepost_replacements",
        "Takeovers of a group.instance.id by a new member id: a restart, or a second process.",
        of(lambda f: f.replaced),
    )
    yield _Gauge(
        "fencepost_fenced",
        "Live processes that lost their group.instance.id; alert on any.",
        of(lambda f: f.fenced, "fenced"),
    )
    yield _Gauge(
        "fencepost_thrown_out",
        "Live processes whose session expired; alert on any.",
        of(lambda f: f.thrown_out, "short-session"),
    )
    yield _Gauge(
        "fencepost_expirations",
        "Members whose session expired, or that did not join a rebalance in time.",
        of(lambda f: f.expirations),
    )
    yield _Gauge(
        "fencepost_expirations_for_good",
        "Members that expired and did not come back.",
        of(lambda f: f.never_back),
    )
    yield _Gauge(
        "fencepost_group_lost",
        "1 if the last member expired or was not polled, and none joined since; alert on it.",
        of(lambda f: f.lost is not None),
    )
    yield _Gauge(
        "fencepost_empty_spans",
        "Times without a member that ended with a join.",
        of(lambda f: f.emptied),
    )
    yield _Gauge(
        "fencepost_empty_seconds",
        "Seconds without a member, also at the end of the log.",
        of(lambda f: (f.empty_ms + _lasting_ms(f, report.until_ms or 0)) / 1000),
    )
    yield _Gauge(
        "fencepost_restarts",
        "Restarts of members that cost a rebalance.",
        of(lambda f: f.came_back),
    )
    yield _Gauge(
        "fencepost_loops",
        "Loops: one cause of rebalances, or takeovers, with a steady rhythm.",
        of(lambda f: f.loops),
    )
    yield _Gauge(
        "fencepost_unused_member_ids",
        "Member ids that were handed out and not used; a rebalance waits for each.",
        of(lambda f: f.pending),
    )
    yield _Gauge(
        "fencepost_failovers",
        "Times that a coordinator read the group: a new coordinator, or a restart of it.",
        of(lambda f: f.failovers),
    )
    yield _Gauge(
        "fencepost_members",
        "Static and dynamic members at the end of the log, where it shows all.",
        [
            ({"group": group, "kind": kind}, count)
            for group, f in groups
            for kind, count in (("static", f.static), ("dynamic", f.dynamic))
            if count is not None
        ],
    )
    yield _Gauge(
        "fencepost_rebalancing",
        "1 if a rebalance was not over at the end of the log.",
        of(lambda f: f.rebalancing_ms is not None),
    )
    problems = Counter((problem.first.group, problem.kind) for problem in report.problems)
    yield _Gauge(
        "fencepost_problems",
        "Problems of clients, and loops that brokers cause.",
        [
            ({"group": group, "kind": kind}, problems[group, kind])
            for group, _ in groups
            for kind in KINDS
            if report.shows(group, kind)
        ],
    )


def _lasting_ms(figures: GroupFigures, until_ms: int) -> int:
    return 0 if figures.empty is None else max(until_ms - figures.empty.from_ms, 0)


def _beside(unread: int | None, others: Mapping[str, int]) -> Iterator[_Gauge]:
    """Yield the figures of what the others lack."""
    yield _Gauge(
        "fencepost_unread_lines",
        "Lines about groups that could not be read, so that the other figures lack them.",
        [] if unread is None else [({}, unread)],
    )
    yield _Gauge(
        "fencepost_other_groups",
        "Groups of the consumer, share and Streams protocols, which are not judged.",
        [({"protocol": protocol}, count) for protocol, count in sorted(others.items())],
    )


def _within(group: str, figures: GroupFigures) -> Iterator[_Sample]:
    count = 0
    for bound in BUCKETS_MS:
        count += figures.durations[bound]
        yield {"group": group, "le": f"{bound / 1000}"}, count
    yield {"group": group, "le": "+Inf"}, count + figures.durations[None]


def _lines(gauge: _Gauge) -> Iterator[str]:
    yield f"# TYPE {gauge.name} gauge"
    yield f"# HELP {gauge.name} {gauge.says}"
    for labels, value in gauge.samples:
        label_text = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{gauge.name}{f'{{{label_text}}}' if label_text else ''} {value:.10g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
