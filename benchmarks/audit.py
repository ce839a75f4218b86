"""Measure the audit of a request log, beside plain JSON parsing of the same file.

The figures are lines per second of the parser alone (orjson, and Python's json beside it), of the
reader, and of the whole audit, on one core and in the same run; and the audit's peak memory. Times
are those of the processor.  The logs are made by the model's clients, equal for equal seeds: a
healthy one, and one full of problems, where each member has an event each minute, half of them of
kinds that no good client causes.
"""

from __future__ import annotations

import json
import resource
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import orjson

from benchmarks.log_traffic import Plan, Traffic
from fencepost.model.revisions.base import KAFKA_4
from fencepost.traces.audit.audit_results import EXPLAINED
from fencepost.traces.audit.audit_settings import AuditSettings
from fencepost.traces.audit.log_audit import Audit, audit_log
from fencepost.traces.logs.request_log import MARK, RequestLog

_T = TypeVar("_T")
HEALTHY = Plan(lines=200_000, groups=200, members=8, unrest_ms=1_800_000, session_ms=45_000)
PROBLEMS = Plan(lines=60_000, groups=40, members=8, unrest_ms=60_000, session_ms=45_000, odd=0.5)


def write_log(path: Path, plan: Plan) -> None:
    """Write the log of a plan."""
    with path.open("wb") as file:
        for _, line in Traffic(plan, KAFKA_4):
            file.write(line)


def audit_figures(file: str) -> dict[str, Any]:
    """Return the figures of a log, by stage."""
    path = Path(file)
    size = path.stat().st_size
    lines, orjson_s = _timed(lambda: _parsed(path, orjson.loads))
    _, json_s = _timed(lambda: _parsed(path, json.loads))
    _, read_s = _timed(lambda: deque(RequestLog([path]), maxlen=0))
    before = _peak_mib()
    _, judge_s = _timed(lambda: _judged(path))
    run, whole_s = _timed(lambda: audit_log(RequestLog([path]), AuditSettings()))
    return {
        "lines": lines,
        "mib": round(size / 2**20),
        "lines_per_second": {
            "orjson": round(lines / orjson_s),
            "json": round(lines / json_s),
            "reader": round(lines / read_s),
            "judge": round(lines / judge_s),
            "audit": round(lines / whole_s),
        },
        "times_slower_than_orjson": {
            "judge": round(judge_s / orjson_s, 2),
            "audit": round(whole_s / orjson_s, 2),
        },
        "times_slower_than_json": {
            "judge": round(judge_s / json_s, 2),
            "audit": round(whole_s / json_s, 2),
        },
        "peak_mib": {"before": before, "after": _peak_mib()},
        "groups": len(run.groups),
        "explained": run.count(EXPLAINED),
    }


def _parsed(path: Path, loads: Callable[[bytes], Any]) -> int:
    return sum(1 for text in _bodies(path) if loads(text))


def _bodies(path: Path) -> Iterator[bytes]:
    with path.open("rb", buffering=1 << 20) as file:
        for line in file:
            yield line[line.find(MARK) + len(MARK) : line.rfind(b"}") + 1]


def _judged(path: Path) -> None:
    audit = Audit()
    for exchange in RequestLog([path]):
        audit.feed(exchange)
    audit.finish()


def _timed(do: Callable[[], _T]) -> tuple[_T, float]:
    begun = time.process_time()
    done = do()
    return done, time.process_time() - begun


def _peak_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
