"""Logs to audit by parts, and what `fencepost audit --json` says of them, as the tables say it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.log_traffic import Plan, Traffic
from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4
from fencepost.traces.audit.log_audit import audit_log
from fencepost.traces.audit.server_log_audit import UNJUDGED, audit_server_log
from fencepost.traces.logs.request_log import RequestLog
from fencepost.traces.logs.server_log import LogKind, ServerLog
from fencepost.traces.pipeline.logs.audit_plan import LogAudit
from fencepost.traces.pipeline.logs.part_tables import figures_row, json_text, part_table
from fencepost.traces.pipeline.storage.log_tables import TABLES

Rows = list[dict[str, Any]]
OPERATOR = tuple(
    name for name in TABLES if name not in {"groups", "violations", "problems", "figures"}
)


def write_logs(folder: Path, plan: Plan, revision: Revision = KAFKA_4) -> list[Path]:
    """Each broker's log in two files, of which the older one is compressed."""
    lines: list[list[bytes]] = [[] for _ in range(plan.brokers)]
    for broker, line in Traffic(plan, revision):
        lines[broker].append(line)
    folder.mkdir(parents=True, exist_ok=True)
    return [path for number, own in enumerate(lines) for path in _two(folder, number, own)]


def _two(folder: Path, broker: int, lines: list[bytes]) -> Iterator[Path]:
    half = len(lines) // 2
    old, new = folder / f"broker-{broker}.log.1.gz", folder / f"broker-{broker}.log"
    with gzip.open(old, "wb", compresslevel=1) as file:
        file.writelines(lines[:half])
    new.write_bytes(b"".join(lines[half:]))
    yield from (new, old)


def said_by_audit(audit: LogAudit, *, cut: bool = False) -> dict[str, Rows]:
    """The rows of the audit in one pass, in an order of their own; `cut`: it may leave some out."""
    options, paths = audit.options, [Path(file.path) for file in audit.files]
    only = frozenset(options.groups)
    groups: Rows = []
    found: Rows = []
    if audit.kind is LogKind.SERVER:
        server = audit_server_log(ServerLog(paths, dates=options.dates(), skew=options.skew), only)
        said, report = server.document().plain(), server.report
        nothing = dict.fromkeys(TABLES["groups"].names)
        groups = [{**nothing, "group": name, "outcome": UNJUDGED} for name in server.groups]
    else:
        log = RequestLog(paths, dates=options.dates(), skew=options.skew)
        run = audit_log(log, options.settings(), only)
        said, report = run.document().plain(), run.report
        for group in said["groups"]:
            groups.append({name: value for name, value in group.items() if name != "found"})
            found += [_violation(group["group"], row) for row in group["found"]]
    figures = [figures_row(group, f, report) for group, f in report.figures.items()]
    tables = {
        "groups": groups,
        "violations": found,
        "problems": said["operator"]["problems"],
        "figures": figures,
    }
    for name in OPERATOR:
        kept = said["operator"][name]
        assert cut or kept["count"] == len(kept["rows"]), f"{name} is cut off: make the log smaller"
        tables[name] = kept["rows"]
    return {name: in_order(tables[name]) for name in TABLES}


def _violation(group: str, row: Mapping[str, Any]) -> dict[str, Any]:
    allowed = [{**one, "body": json_text(one["body"])} for one in row["allowed"]]
    return {"group": group, **row, "allowed": allowed, "observed": json_text(row["observed"])}


def said_by_tables(audit: LogAudit) -> dict[str, Rows]:
    """The rows of the tables, in the same order."""
    return {name: in_order(_rows(audit, name)) for name in TABLES}


def _rows(audit: LogAudit, name: str) -> Iterator[dict[str, Any]]:
    for part in range(audit.parts):
        table = audit.place.read(part_table(name, part))
        assert table.schema == TABLES[name]
        assert table.schema.metadata == TABLES[name].metadata
        yield from table.to_pylist(maps_as_pydicts="strict")


def in_order(rows: Iterable[dict[str, Any]]) -> Rows:
    """Rows in an order of their own."""
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
