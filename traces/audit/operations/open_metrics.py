"""Write the figures that operators watch for Prometheus, in its text format or as OpenMetrics.

The two differ in how counters are declared, and OpenMetrics has an end.

Source: Prometheus' "Exposition formats"; the OpenMetrics 1.0 specification.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fencepost.traces.audit.operations.group_figures import BUCKETS_MS, GroupFigures
from fencepost.traces.audit.operations.operator_report import KINDS, OperatorReport

_HOUR_MS = 3_600_000
_Sample = tuple[str, dict[str, str], float]


@dataclass(frozen=True, slots=True)
class _Family:
    """A metric with its samples: suffix of the name, labels, value."""

    name: str
    kind: str
    says: str
    samples: Iterable[_Sample]


def metrics_text(report: OperatorReport, *, is_open: bool) -> str:
    """Return the figures of a report as text; `is_open`: as OpenMetrics."""
    lines = [line for family in _families(report) for line in _lines(family, is_open=is_open)]
    return "\n".join([*lines, *(["# EOF"] if is_open else [])]) + "\n"


def _families(report: OperatorReport) -> Iterator[_Family]:
    groups = sorted(report.figures.items())
    span_ms = (report.until_ms or 0) - (report.from_ms or 0)
    hours = max(span_ms, 1) / _HOUR_MS

    def counted(name: str) -> list[_Sample]:
        return [("_total", {"group": group}, getattr(f, name)) for group, f in groups]

    yield _Family(
        "fencepost_log_span_seconds", "gauge", "The time that the log covers.",
        [("", {}, span_ms / 1000)],
    )  # fmt: skip
    yield _Family(
        "fencepost_rebalances", "counter", "Rebalances by cause.",
        [
            ("_total", {"group": group, "cause": cause.value}, count)
            for group, f in groups
            for cause, count in sorted(f.causes.items(), key=lambda item: item[0].value)
        ],
    )  # fmt: skip
    yield _Family(
        "fencepost_rebalances_per_hour", "gauge", "Rebalances in an hour of the log, on average.",
        [("", {"group": group}, f.causes.total() / hours) for group, f in groups],
    )  # fmt: skip
    yield _Family(
        "fencepost_rebalance_duration_seconds", "histogram",
        "From the cause of a rebalance until a member had its assignment.",
        [sample for group, f in groups for sample in _histogram(group, f)],
    )  # fmt: skip
    yield _Family(
        "fencepost_failed_rebalances", "counter",
        "Rebalances that another one followed before a member had its assignment.",
        counted("failed"),
    )  # fmt: skip
    yield _Family(
        "fencepost_fenced", "counter", "Living processes that lost their group.instance.id.",
        counted("fenced"),
    )  # fmt: skip
    yield _Family(
        "fencepost_thrown_out", "counter", "Living processes whose session expired.",
        counted("thrown_out"),
    )  # fmt: skip
    yield _Family(
        "fencepost_members", "gauge", "Members at the end of the log.",
        [
            ("", {"group": group, "kind": kind}, getattr(f, kind))
            for group, f in groups
            for kind in ("static", "dynamic")
        ],
    )  # fmt: skip
    kinds = Counter(problem.kind for problem in report.problems)
    yield _Family(
        "fencepost_problems", "gauge", "Problems with clients.",
        [("", {"kind": kind}, kinds[kind]) for kind in KINDS],
    )  # fmt: skip


def _histogram(group: str, figures: GroupFigures) -> Iterator[_Sample]:
    count = 0
    for bound in BUCKETS_MS:
        count += figures.durations[bound]
        yield "_bucket", {"group": group, "le": f"{bound / 1000}"}, count
    count += figures.durations[None]
    yield "_bucket", {"group": group, "le": "+Inf"}, count
    yield "_sum", {"group": group}, figures.total_ms / 1000
    yield "_count", {"group": group}, count


def _lines(family: _Family, *, is_open: bool) -> Iterator[str]:
    name = family.name
    if family.kind == "counter" and not is_open:
        name += "_total"
    yield f"# TYPE {name} {family.kind}"
    yield f"# HELP {name} {family.says}"
    for suffix, labels, value in family.samples:
        told = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{family.name}{suffix}{f'{{{told}}}' if told else ''} {value:.10g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
