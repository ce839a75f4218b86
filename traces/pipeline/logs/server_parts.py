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
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from fencepost.traces.audit.server_log_audit import (
    UNJUDGED,
    ServerGroups,
    refuse_going_back,
    refuse_times,
)
from fencepost.traces.logs.request_log import is_included
from fencepost.traces.logs.server_log import CoordinatorEvent, ServerLog
from fencepost.traces.pipeline.corpus.corpus import DONE
from fencepost.traces.pipeline.corpus.shard_jobs import unwatched
from fencepost.traces.pipeline.logs.part_tables import (
    PartReport,
    Tables,
    file_table,
)
from fencepost.traces.pipeline.storage.log_tables import EVENTS, FILES

if TYPE_CHECKING:
    from fencepost.traces.pipeline.logs.part_audit import LogAudit

_ROWS_AT_ONCE = 60_000
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(CoordinatorEvent)


def others_rows(others: Mapping[str, str], only: frozenset[str]) -> list[dict[str, str]]:
    """Return the groups of other protocols as rows."""
    chosen = sorted((name, word) for name, word in others.items() if is_included(name, only))
    return [{"group": name, "protocol": word} for name, word in chosen]


@dataclass(frozen=True)
class ReadServerLog:
    """Reads a file of the audit into tables.  The one in `files` is written last."""

    audit: LogAudit
    schema = DONE

    def __call__(self, number: int) -> pa.Table:
        """Read the file; return its number and the number of its messages."""
        with unwatched():
            events = self._read(number)
        return pa.Table.from_pylist([{"shard": number, "rows": events}], schema=DONE)

    def _read(self, number: int) -> int:
        audit, file = self.audit, self.audit.files[number]
        options, only = audit.options, frozenset(audit.options.groups)
        log = ServerLog([], dates=options.dates(), line_limit=options.line_limit)
        log.skew.update(options.skew)
        # All files: a message about a member may need another file for the name of its group.
        log.plan(
            {
                broker: [Path(audit.files[n].path) for n in numbers]
                for broker, numbers in audit.numbers.items()
            }
        )
        parts: list[list[dict[str, Any]]] = [[] for _ in range(audit.parts)]
        counts = [0] * audit.parts
        count, first, last, until_ms = 0, None, None, None
        with audit.place.writing(file_table("events", number), EVENTS) as writer:

            def flush() -> None:
                for rows in parts:
                    if rows:
                        writer.write_table(pa.Table.from_pylist(rows, schema=EVENTS))
                        rows.clear()

            for event in log.of_file(file.broker, Path(file.path)):
                refuse_going_back(last, event)
                count, first, last = count + 1, first or event, event
                until_ms = max(until_ms or event.at_ms, event.at_ms)
                mine = [audit.part_of(event.group)] if event.group else range(audit.parts)
                for part in mine:
                    parts[part].append(
                        {
                            "part": part,
                            "line": event.line,
                            "place": event.place,
                            "at_ms": event.at_ms,
                            "until_ms": until_ms,
                            "words": _ENCODER.encode(event),
                        }
                    )
                    counts[part] += 1
                if count % _ROWS_AT_ONCE == 0:
                    flush()
            flush()
        skipped = log.skipped
        row = {
            "file": file.name,
            "broker": file.broker,
            "lines": skipped.lines,
            "exchanges": count,
            "from_ms": None if first is None else first.at_ms,
            "until_ms": until_ms,
            "skipped": [
                {"reason": reason, "lines": lines, "first": skipped.first[reason]}
                for reason, lines in skipped.counts.items()
            ],
            "damaged": [],
            "first_ms": None if first is None else first.at_ms,
            "last_ms": None if last is None else last.at_ms,
            "pauses": [],
            "parts": counts,
            "others": others_rows(log.other_groups, only),
        }
        audit.place.write(file_table("files", number), pa.Table.from_pylist([row], schema=FILES))
        return count


def _events(audit: LogAudit, part: int, broker: str) -> Iterator[tuple[int, CoordinatorEvent]]:
    """Yield a broker's messages of a part, in order, each with the latest time up to there."""
    before_ms = 0
    for number in audit.numbers[broker]:
        with audit.place.opened(file_table("events", number)) as table:
            for group in range(table.metadata.num_row_groups):
                if table.metadata.row_group(group).column(0).statistics.min != part:
                    continue
                rows = table.read_row_group(group, ["until_ms", "words"])
                for until_ms, words in zip(*(c.to_pylist() for c in rows.columns), strict=True):
                    yield max(before_ms, until_ms), _DECODER.decode(words)
        (last_ms,) = audit.place.read(file_table("files", number), ["until_ms"])[0].to_pylist()
        before_ms = max(before_ms, last_ms or 0)


def _times(audit: LogAudit) -> Iterator[tuple[str, str, int, int]]:
    """Yield broker, file, first and last time of each file that has messages, in order."""
    for broker, numbers in audit.numbers.items():
        for number in numbers:
            names = ["file", "first_ms", "last_ms"]
            (row,) = audit.place.read(file_table("files", number), names).to_pylist()
            if row["first_ms"] is not None:
                yield broker, row["file"], row["first_ms"], row["last_ms"]


def refuse_back(audit: LogAudit) -> None:
    """Raise LogFileError where a broker's next file goes back in time."""
    last: dict[str, tuple[int, str]] = {}
    for broker, file, first_ms, last_ms in _times(audit):
        if broker in last:
            refuse_times(*last[broker], first_ms, file)
        last[broker] = last_ms, file


@dataclass(frozen=True)
class AuditServerPart:
    """Analyses the groups of a part.  `until_ms`: when the log ends."""

    audit: LogAudit
    until_ms: int
    schema = DONE

    def __call__(self, number: int) -> pa.Table:
        """Analyse the part; return its number and the number of its groups."""
        with unwatched():
            groups = self._audited(number)
        return pa.Table.from_pylist([{"shard": number, "rows": groups}], schema=DONE)

    def _audited(self, number: int) -> int:
        audit = self.audit
        since: dict[str, int] = {}
        for broker, _, first_ms, _ in _times(audit):
            since.setdefault(broker, first_ms)
        with Tables(audit.place, number) as tables:
            report = PartReport(tables)
            groups = ServerGroups(frozenset(audit.options.groups), report, since)
            streams = [_events(audit, number, broker) for broker in audit.numbers]
            for _, event in heapq.merge(*streams, key=itemgetter(0)):
                groups.take(event)
            groups.end(self.until_ms)
            report.write()
            for name in sorted(groups.analyses):
                tables.add("groups", {"group": name, "outcome": UNJUDGED})
        return len(groups.analyses)
