"""Audit files of server.log in parts: messages become tables, sorted by part, and parts rows.

A message that names no group goes to each part: a coordinator that loads a partition has all groups
of it.  Whose log it is, and when that begins, is the same in each part, so the rows are those of
`fencepost audit`.  There is no verdict on the broker.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

import msgspec
import pyarrow as pa

from fencepost.traces.audit.server_log_audit import (
    UNJUDGED,
    ServerGroups,
    refuse_going_back,
    refuse_times,
)
from fencepost.traces.logs.server_log import CoordinatorEvent, ServerLog
from fencepost.traces.pipeline.logs.audit_plan import AuditJob, LogAudit
from fencepost.traces.pipeline.logs.part_tables import (
    PartReport,
    RowsByPart,
    Tables,
    file_table,
    rows_of_part,
    write_file_row,
)
from fencepost.traces.pipeline.storage.log_tables import EVENTS

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(CoordinatorEvent)


class ReadServerLog(AuditJob):
    """Reads a file of the audit into tables.  The one in `files` is written last."""

    def _work(self, number: int) -> int:
        audit, file = self.audit, self.audit.files[number]
        options = audit.options
        log = ServerLog([], dates=options.dates(), line_limit=options.line_limit)
        log.skew.update(options.skew)
        # All files: a message about a member may need another file for the name of its group.
        log.plan(
            {
                broker: [Path(audit.files[n].path) for n in numbers]
                for broker, numbers in audit.numbers.items()
            }
        )
        count, first, last, until_ms = 0, None, None, None
        with audit.place.writing(file_table("events", number), EVENTS) as writer:
            rows = RowsByPart(writer, EVENTS, audit.parts)
            for event in log.of_file(file.broker, Path(file.path)):
                refuse_going_back(last, event)
                count, first, last = count + 1, first or event, event
                until_ms = max(until_ms or event.at_ms, event.at_ms)
                words = _ENCODER.encode(event)
                cells = (event.line, event.place, event.at_ms, until_ms, words)
                mine = [audit.part_of(event.group)] if event.group else range(audit.parts)
                for part in mine:
                    rows.add((part, *cells), len(words))
            rows.flush()
        first_ms = None if first is None else first.at_ms
        write_file_row(
            audit,
            number,
            log,
            exchanges=count,
            from_ms=first_ms,
            until_ms=until_ms,
            damaged=[],
            first_ms=first_ms,
            last_ms=None if last is None else last.at_ms,
            pauses=[],
            parts=rows.counts,
        )
        return count


def _events(audit: LogAudit, part: int, broker: str) -> Iterator[tuple[int, CoordinatorEvent]]:
    """Yield a broker's messages of a part; see rows_of_part."""
    columns = ["until_ms", "words"]
    for _, until_ms, (_, words) in rows_of_part(audit, "events", part, broker, columns):
        yield until_ms, _DECODER.decode(words)


def _times(files: pa.Table) -> Iterator[tuple[str, str, int, int]]:
    """Yield broker, file, first and last time of each file that has messages, in order."""
    for row in files.select(["broker", "file", "first_ms", "last_ms"]).to_pylist():
        if row["first_ms"] is not None:
            yield row["broker"], row["file"], row["first_ms"], row["last_ms"]


def beginnings(files: pa.Table) -> dict[str, int]:
    """Return the first time of each broker's log."""
    since: dict[str, int] = {}
    for broker, _, first_ms, _ in _times(files):
        since.setdefault(broker, first_ms)
    return since


def refuse_back(files: pa.Table) -> None:
    """Raise LogFileError where a broker's next file goes back in time."""
    last: dict[str, tuple[int, str]] = {}
    for broker, file, first_ms, last_ms in _times(files):
        if broker in last:
            refuse_times(*last[broker], first_ms, file)
        last[broker] = last_ms, file


@dataclass(frozen=True)
class AuditServerPart(AuditJob):
    """Analyses the groups of a part.  `until_ms`: when the log ends; `since`: see ServerGroups."""

    until_ms: int
    since: Mapping[str, int]

    def _work(self, number: int) -> int:
        audit = self.audit
        with Tables(audit.place, number) as tables:
            report = PartReport(tables)
            groups = ServerGroups(frozenset(audit.options.groups), report, self.since)
            streams = [_events(audit, number, broker) for broker in audit.numbers]
            for _, event in heapq.merge(*streams, key=itemgetter(0)):
                groups.take(event)
            groups.end(self.until_ms)
            report.write()
            for name in sorted(groups.analyses):
                tables.add("groups", {"group": name, "outcome": UNJUDGED})
        return len(groups.analyses)
