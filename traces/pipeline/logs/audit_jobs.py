"""Run `corpus audit`: files to tables, parts to verdicts, with either engine.

A file that is read and a part that is audited are done, so an audit that was killed continues.  The
largest parts come first, so that no engine waits for one at the end.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.traces.audit.audit_results import EXPLAINED
from fencepost.traces.audit.log_audit import OUTCOMES, skipped_json
from fencepost.traces.pipeline.corpus.job_engine import JobEngine
from fencepost.traces.pipeline.logs.audit_recipe import MANIFEST, LogAudit, file_table, part_table
from fencepost.traces.pipeline.logs.log_parts import ReadLog
from fencepost.traces.pipeline.logs.part_audit import DONE_TABLE, AuditPart
from fencepost.traces.pipeline.storage.location import Place
from fencepost.traces.pipeline.storage.manifest import CorpusError


@dataclass(frozen=True, slots=True)
class LogAuditTotals:
    """The totals of an audit.  `skipped`: reason → number of lines, and the place of the first."""

    files: int
    lines: int
    exchanges: int
    groups: int
    outcomes: Counter[str]
    rebalances: int
    problems: int
    skipped: dict[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def outcome(self) -> str:
        """The worst of the groups'."""
        return next((o for o in OUTCOMES if self.outcomes[o]), EXPLAINED)

    def to_json(self) -> dict[str, Any]:
        """Return the totals as JSON."""
        return {
            "files": self.files,
            "lines": self.lines,
            "exchanges": self.exchanges,
            "skipped": skipped_json(self.skipped),
            "groups": self.groups,
            "outcome": self.outcome,
            "counts": {outcome: self.outcomes[outcome] for outcome in OUTCOMES},
            "rebalances": self.rebalances,
            "problems": self.problems,
        }


def audit_logs(engine: JobEngine, audit: LogAudit) -> LogAuditTotals:
    """Audit, or continue.  Raises CorpusError if the folder holds another audit."""
    place = audit.place
    known = place.read_text(MANIFEST)
    if known is None:
        place.write_text(MANIFEST, audit.text())
    elif known != audit.text():
        raise CorpusError(
            f"{place} holds an audit of other logs or options, or of another fencepost "
            "(a log that has grown counts as another log); choose another folder"
        )
    place.tidy("")
    _do(engine, ReadLog(audit), _missing(place, "files", file_table, len(audit.files)))
    files = _files(audit)
    lines = pc.fill_null(pc.max(files["until_ms"]), 0).as_py()
    sizes = [sum(of) for of in zip(*files["parts"].to_pylist(), strict=True)]
    missing = _missing(place, DONE_TABLE, part_table, audit.parts)
    missing.sort(key=lambda part: -sizes[part])
    _do(engine, AuditPart(audit, lines), missing)
    return recorded_totals(audit)


def _do(engine: JobEngine, job: ReadLog | AuditPart, numbers: list[int]) -> None:
    done = engine.each(job, numbers)["shard"].to_pylist()
    if sorted(done) != sorted(numbers):
        raise ValueError(f"the engine did {len(done)} of {len(numbers)}")


def _missing(place: Place, folder: str, name: Any, count: int) -> list[int]:
    there = place.names(folder)
    return [n for n in range(count) if name(folder, n).partition("/")[2] not in there]


def _files(audit: LogAudit) -> pa.Table:
    place, numbers = audit.place, range(len(audit.files))
    return pa.concat_tables([place.read(file_table("files", n)) for n in numbers])


def recorded_totals(audit: LogAudit) -> LogAuditTotals:
    """Return the totals of a complete audit.  Raises CorpusError if parts are missing."""
    place = audit.place
    if missing := len(_missing(place, DONE_TABLE, part_table, audit.parts)):
        raise CorpusError(
            f"{place}: {missing} of {audit.parts} parts are not audited; run `corpus audit` with "
            "the same logs and options again"
        )
    files = _files(audit)
    skipped: dict[str, tuple[int, str]] = {}
    for row in (row for rows in files["skipped"].to_pylist() for row in rows):
        lines, first = skipped.get(row["reason"], (0, row["first"]))
        skipped[row["reason"]] = lines + row["lines"], first
    outcomes: Counter[str] = Counter()
    counts = dict.fromkeys(("rebalances", "problems"), 0)
    for part in range(audit.parts):
        outcomes.update(place.read(part_table("groups", part), ["outcome"])["outcome"].to_pylist())
        for name in counts:
            with place.opened(part_table(name, part)) as table:
                counts[name] += table.metadata.num_rows
    return LogAuditTotals(
        len(files),
        pc.sum(files["lines"]).as_py(),
        pc.sum(files["exchanges"]).as_py(),
        outcomes.total(),
        outcomes,
        skipped=skipped,
        **counts,
    )
