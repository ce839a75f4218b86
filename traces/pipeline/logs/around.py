"""Look up what the rest of a log says about a part: connections that lived on, damaged lines.

Almost always a group's own part shows a connection that was used before and after.  Where it does
not, the uses of just that time are read from the tables.  Later lines are not used, as an audit in
one pass could not use them either.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from operator import itemgetter

import pyarrow.compute as pc

from fencepost.traces.audit.answer_audit import Audit, BrokerActivity, longest
from fencepost.traces.audit.audit_results import GroupResult
from fencepost.traces.logs.logged_exchange import LoggedExchange
from fencepost.traces.pipeline.logs.audit_recipe import LogAudit, file_table
from fencepost.traces.pipeline.logs.log_parts import Cursor, lines_of

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
        found = self._firsts.get(broker)
        if found is None:
            found = self._firsts[broker] = {}
            for number in self._log.numbers[broker]:
                table = self._log.place.read(file_table("connections", number))
                for name, ms in zip(*(c.to_pylist() for c in table.columns), strict=True):
                    found.setdefault(name, ms)
        return found

    def _silences(self, broker: str) -> list[tuple[tuple[int, int], int, int]]:
        found = self._silent.get(broker)
        if found is None:
            found = self._silent[broker] = []
            between = BrokerActivity()
            for number in self._log.numbers[broker]:
                (row,) = self._log.place.read(file_table("files", number), _SILENCES).to_pylist()
                if row["first_ms"] is None:
                    continue
                between.wrote(row["first_ms"])
                found += [((number, 0), *pause) for pause in between.pauses]
                found += [
                    ((number, p["line"]), p["since_ms"], p["until_ms"]) for p in row["pauses"]
                ]
                between.pauses.clear()
                between.last_ms = row["last_ms"]
        return found

    def _lost_lines(self, broker: str) -> list[tuple[tuple[int, int], int, str]]:
        found = self._lost.get(broker)
        if found is None:
            found = self._lost[broker] = []
            for number in self._log.numbers[broker]:
                name = self._log.files[number].name
                (rows,) = self._log.place.read(file_table("files", number), ["damaged"])[
                    "damaged"
                ].to_pylist()
                found += [((number, r["line"]), r["at_ms"], f"{name}:{r['line']}") for r in rows]
        return found
