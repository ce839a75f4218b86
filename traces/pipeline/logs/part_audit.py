"""Audit logs in parts: files become tables, sorted by part, and parts become verdicts.

The first half turns a log file into tables.  Each part has its own row groups in the file's table,
in order of the lines, so auditing a part reads no other part.  A group with most of the lines is a
long stream, and never a table in memory.  Facts about the rest of the log (connections, damaged
lines) are written beside it.

The second half judges the groups of a part, and writes tables.  The functions are those of
`fencepost audit`, so the rows are the same; here none is left out.  A part is read as a stream in
order of time; only the states of live groups are in memory.

Almost always a group's own part shows a connection that was used before and after.  Where it does
not, the uses of just that time are read from the tables.  Later lines are not used, as an audit in
one pass could not use them either.

`corpus audit` runs both halves with either engine.  A file that is read and a part that is audited
are done, so an audit that was killed continues.  The largest parts come first, so that no engine
waits for one at the end.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.traces.audit.audit_results import EXPLAINED, UNKNOWN, GroupResult
from fencepost.traces.audit.log_audit import (
    DAMAGE,
    OUTCOMES,
    Audit,
    BrokerActivity,
    SkippedLines,
    by_protocol,
    longest,
    parts,
)
from fencepost.traces.audit.server_log_audit import UNJUDGED
from fencepost.traces.logs.request_log import LoggedExchange, RequestLog
from fencepost.traces.logs.server_log import UNDATED, UNREAD, LogKind
from fencepost.traces.operations.operator_report import OperatorAudit, expired_together
from fencepost.traces.operations.operator_rows import Expiration, Failover
from fencepost.traces.pipeline.corpus.shard_jobs import JobEngine
from fencepost.traces.pipeline.logs.audit_plan import MANIFEST, AuditJob, LogAudit
from fencepost.traces.pipeline.logs.part_tables import (
    PartReport,
    RowBuffer,
    RowsByPart,
    Tables,
    file_table,
    group_row,
    part_table,
    rows_of_part,
    violation_row,
    write_file_row,
)
from fencepost.traces.pipeline.logs.server_parts import (
    AuditServerPart,
    ReadServerLog,
    beginnings,
    refuse_back,
)
from fencepost.traces.pipeline.storage.location import (
    CorpusError,
    Place,
)
from fencepost.traces.pipeline.storage.log_tables import (
    CONNECTIONS,
    EXPIRED_TOGETHER,
    LINES,
    USES,
)


class ReadLog(AuditJob):
    """Reads a file of the audit into tables.  The one in `files` is written last."""

    def _work(self, number: int) -> int:
        audit, file = self.audit, self.audit.files[number]
        options, place = audit.options, audit.place
        skew = {b: ms for b, ms in options.skew.items() if b == file.broker}
        log = RequestLog([], dates=options.dates(), line_limit=options.line_limit)
        log.skew.update(skew)
        damaged: list[dict[str, int]] = []

        def note_skipped(_: str, where: str, reason: str, at_ms: int) -> None:
            if reason in DAMAGE:
                damaged.append({"line": int(where.rpartition(":")[2]), "at_ms": at_ms})

        log.skipped.listeners.append(note_skipped)
        only = frozenset(options.groups)
        firsts: dict[str, int] = {}
        count, from_ms, until_ms = 0, None, None
        broker, first_ms, pauses = BrokerActivity(), None, []
        with (
            place.writing(file_table("lines", number), LINES) as to_lines,
            place.writing(file_table("uses", number), USES) as to_uses,
        ):
            lines, uses = RowsByPart(to_lines, LINES, audit.parts), RowBuffer(to_uses, USES)
            for exchange in log.of_file(file.broker, Path(file.path)):
                count += 1
                if first_ms is None:
                    first_ms = exchange.answered_ms
                broker.wrote(exchange.answered_ms)
                while broker.pauses:
                    since, until = broker.pauses.popleft()
                    pauses.append({"line": exchange.line, "since_ms": since, "until_ms": until})
                firsts.setdefault(exchange.connection, exchange.at_ms)
                uses.add((exchange.line, exchange.answered_ms, exchange.connection))
                if from_ms is None or exchange.at_ms < from_ms:
                    from_ms = exchange.at_ms
                if until_ms is None or exchange.answered_ms > until_ms:
                    until_ms = exchange.answered_ms
                for group, part in _groups(exchange):
                    if not only or group in only:
                        columns = part.columns()
                        row = (audit.part_of(group), part.line, until_ms, *columns)
                        lines.add(row, len(columns[-1]) + len(columns[-2]))
            lines.flush()
            uses.flush()
        rows = [{"connection": name, "first_ms": ms} for name, ms in firsts.items()]
        place.write(
            file_table("connections", number), pa.Table.from_pylist(rows, schema=CONNECTIONS)
        )
        write_file_row(
            audit,
            number,
            log,
            exchanges=count,
            from_ms=from_ms,
            until_ms=until_ms,
            damaged=damaged,
            first_ms=first_ms,
            last_ms=broker.last_ms if count else None,
            pauses=pauses,
            parts=lines.counts,
        )
        return count


def _groups(exchange: LoggedExchange) -> Iterator[tuple[object, LoggedExchange]]:
    """Yield an exchange for each group that it is about."""
    group = exchange.request_body.get("groupId")
    if group is not None:
        yield group, exchange
        return
    for part in parts(exchange):
        yield part.request_body["groups"][0], part


@dataclass
class Cursor:
    """The read position in each broker's log: the number of the file, and the line."""

    at: dict[str, tuple[int, int]] = field(default_factory=dict)


def lines_of(
    audit: LogAudit, part: int, broker: str, cursor: Cursor
) -> Iterator[tuple[int, LoggedExchange]]:
    """Yield a broker's lines of a part; see rows_of_part."""
    for number, until_ms, row in rows_of_part(audit, "lines", part, broker):
        _, line, _, *columns = row
        cursor.at[broker] = number, line
        name = audit.files[number].name
        yield until_ms, LoggedExchange.from_columns(name, line, broker, columns)


_END = (2**62, 0)
_SILENCES = ["first_ms", "last_ms", "pauses"]


class PartAudit(Audit):
    """The audit of the groups of one part; it reads about other parts from the tables."""

    def __init__(self, audit: LogAudit, part: int) -> None:
        super().__init__(audit.options.settings(), frozenset(audit.options.groups))
        self._log = audit
        self._part = part
        self._cursor = Cursor()
        self._firsts: dict[str, dict[str, int]] = {}
        self._silent: dict[str, list[tuple[tuple[int, int], int, int]]] = {}
        self._lost: dict[str, list[tuple[tuple[int, int], int, str]]] = {}

    def exchanges(self) -> Iterator[LoggedExchange]:
        """Yield the exchanges of the part, in the order of the answers."""
        brokers = self._log.numbers
        streams = [lines_of(self._log, self._part, broker, self._cursor) for broker in brokers]
        return (exchange for _, exchange in heapq.merge(*streams, key=itemgetter(0)))

    def finish(self) -> dict[str, GroupResult]:
        """See Audit."""
        self._cursor.at = dict.fromkeys(self._log.numbers, _END)
        return super().finish()

    def runs_through(self, broker: str, from_ms: int, to_ms: int) -> bool:
        """See Audit."""
        if super().runs_through(broker, from_ms, to_ms):
            return True
        firsts = self._first_uses(broker)
        return any(firsts[c] <= from_ms for c in self._used_since(broker, to_ms))

    def damaged(self, broker: str, from_ms: int, to_ms: int) -> str | None:
        """See Audit."""
        here = self._cursor.at[broker]
        for at, at_ms, place in self._lost_lines(broker):
            if at < here and from_ms <= at_ms <= to_ms:
                return place
        return None

    def paused_ms(self, broker: str, from_ms: int, to_ms: int) -> int:
        """See Audit."""
        here = self._cursor.at[broker]
        pauses = ((since, until) for at, since, until in self._silences(broker) if at <= here)
        return longest(pauses, from_ms, to_ms)

    def _used_since(self, broker: str, since_ms: int) -> Iterator[str]:
        """Return the connections used from this time on, up to the current line."""
        last, line = self._cursor.at[broker]
        for number in self._log.numbers[broker]:
            if number > last:
                return
            with self._log.place.opened(file_table("uses", number)) as table:
                for group in range(table.metadata.num_row_groups):
                    if table.metadata.row_group(group).column(1).statistics.max < since_ms:
                        continue
                    uses = table.read_row_group(group)
                    chosen = pc.greater_equal(uses["answered_ms"], since_ms)
                    if number == last:
                        chosen = pc.and_(chosen, pc.less_equal(uses["line"], line))
                    yield from pc.unique(uses.filter(chosen)["connection"]).to_pylist()

    def _first_uses(self, broker: str) -> dict[str, int]:
        first_uses = self._firsts.get(broker)
        if first_uses is None:
            first_uses = self._firsts[broker] = {}
            for number in self._log.numbers[broker]:
                table = self._log.place.read(file_table("connections", number))
                for name, ms in zip(*(c.to_pylist() for c in table.columns), strict=True):
                    first_uses.setdefault(name, ms)
        return first_uses

    def _silences(self, broker: str) -> list[tuple[tuple[int, int], int, int]]:
        silences = self._silent.get(broker)
        if silences is None:
            silences = self._silent[broker] = []
            between = BrokerActivity()
            for number in self._log.numbers[broker]:
                (row,) = self._log.place.read(file_table("files", number), _SILENCES).to_pylist()
                if row["first_ms"] is None:
                    continue
                between.wrote(row["first_ms"])
                silences += [((number, 0), *pause) for pause in between.pauses]
                silences += [
                    ((number, p["line"]), p["since_ms"], p["until_ms"]) for p in row["pauses"]
                ]
                between.pauses.clear()
                between.last_ms = row["last_ms"]
        return silences

    def _lost_lines(self, broker: str) -> list[tuple[tuple[int, int], int, str]]:
        lost_lines = self._lost.get(broker)
        if lost_lines is None:
            lost_lines = self._lost[broker] = []
            for number in self._log.numbers[broker]:
                name = self._log.files[number].name
                (rows,) = self._log.place.read(file_table("files", number), ["damaged"])[
                    "damaged"
                ].to_pylist()
                lost_lines += [
                    ((number, r["line"]), r["at_ms"], f"{name}:{r['line']}") for r in rows
                ]
        return lost_lines


DONE_TABLE = "groups"
"""The table of a part that gets its name last: a part with it is done."""


@dataclass(frozen=True)
class AuditPart(AuditJob):
    """Audits the groups of a part.  `until_ms`: when the log ends."""

    until_ms: int

    def _work(self, number: int) -> int:
        judge = PartAudit(self.audit, number)
        with Tables(self.audit.place, number) as tables:
            report = PartReport(tables)
            operator = OperatorAudit(report=report)
            for exchange in judge.exchanges():
                judge.feed(exchange)
                operator.take(exchange)
            operator.finish(self.until_ms)
            results = judge.finish()
            report.write()
            for result in results.values():
                tables.add("groups", group_row(result))
                for violation in result.first_violations:
                    tables.add("violations", violation_row(result.group_id, violation))
        return len(results)


@dataclass(frozen=True, slots=True)
class LogAuditTotals:
    """The totals of an audit.

    `groups_lost`: groups whose last member expired; `unread_lines`: lines about groups that were
    not understood; `other_groups`: the protocol of groups that are not classic, by name; `skipped`:
    reason → number of lines, and the place of the first.
    """

    files: int
    lines: int
    exchanges: int
    groups: int
    outcomes: Counter[str]
    rebalances: int
    problems: int
    restarts: int
    expirations: int
    expirations_for_good: int
    groups_lost: int
    loops: int
    unused_member_ids: int
    failovers: int
    unread_lines: int = 0
    other_groups: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def outcome(self) -> str:
        """The worst of the groups'; unknown where lines about groups were not understood."""
        if self.unread_lines:
            return UNKNOWN
        if self.outcomes[UNJUDGED]:
            return UNJUDGED
        return next((o for o in OUTCOMES if self.outcomes[o]), EXPLAINED)

    def to_json(self) -> dict[str, Any]:
        """Return the totals as JSON."""
        return {
            "files": self.files,
            "lines": self.lines,
            "exchanges": self.exchanges,
            "skipped": msgspec.to_builtins(SkippedLines.of(self.skipped)),
            "groups": self.groups,
            "outcome": self.outcome,
            "counts": {outcome: self.outcomes[outcome] for outcome in OUTCOMES},
            "rebalances": self.rebalances,
            "problems": self.problems,
            **{name: getattr(self, name) for name in _TOTALS},
            "unread_lines": self.unread_lines,
            "other_groups": by_protocol(self.other_groups),
        }


_TOTALS = (
    "restarts",
    "expirations",
    "expirations_for_good",
    "groups_lost",
    "loops",
    "unused_member_ids",
    "failovers",
)
"""The figures of groups that are added up."""


_R = TypeVar("_R")


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
    is_server = audit.kind is LogKind.SERVER
    reader = ReadServerLog(audit) if is_server else ReadLog(audit)
    _do(engine, reader, _missing(place, "files", file_table, len(audit.files)))
    files = _files(audit)
    until_ms = pc.fill_null(pc.max(files["until_ms"]), 0).as_py()
    sizes = [sum(of) for of in zip(*files["parts"].to_pylist(), strict=True)]
    missing = _missing(place, DONE_TABLE, part_table, audit.parts)
    missing.sort(key=lambda part: -sizes[part])
    if is_server:
        refuse_back(files)
        _do(engine, AuditServerPart(audit, until_ms, beginnings(files)), missing)
    else:
        _do(engine, AuditPart(audit, until_ms), missing)
    _write_together(audit)
    return recorded_totals(audit)


def _write_together(audit: LogAudit) -> None:
    """Write the members of any groups that expired at nearly the same time, of all parts."""

    def rows(name: str, kind: type[_R]) -> list[_R]:
        return [
            msgspec.convert(row, kind)
            for part in range(audit.parts)
            for row in audit.place.read(part_table(name, part)).to_pylist()
        ]

    expirations = rows("expirations", Expiration)
    expirations.sort(key=lambda row: (row.at_ms, row.group, row.member_id, row.place))
    series = map(msgspec.to_builtins, expired_together(expirations, rows("failovers", Failover)))
    made = pa.Table.from_pylist(list(series), schema=EXPIRED_TOGETHER)
    audit.place.write("expired_together.parquet", made)


def _do(engine: JobEngine, job: AuditJob, numbers: list[int]) -> None:
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
    counts = dict.fromkeys(("rebalances", "problems", *_TOTALS), 0)
    for part in range(audit.parts):
        for figures in place.read(part_table("figures", part)).to_pylist():
            for name in _TOTALS:
                counts[name] += int(figures["group_lost" if name == "groups_lost" else name])
        outcomes.update(place.read(part_table("groups", part), ["outcome"])["outcome"].to_pylist())
        for name in ("rebalances", "problems"):
            with place.opened(part_table(name, part)) as table:
                counts[name] += table.metadata.num_rows
    return LogAuditTotals(
        len(files),
        pc.sum(files["lines"]).as_py(),
        pc.sum(files["exchanges"]).as_py(),
        outcomes.total(),
        outcomes,
        skipped=skipped,
        unread_lines=sum(skipped.get(reason, (0, ""))[0] for reason in (UNREAD, UNDATED)),
        other_groups={
            row["group"]: row["protocol"] for rows in files["others"].to_pylist() for row in rows
        },
        **counts,
    )
