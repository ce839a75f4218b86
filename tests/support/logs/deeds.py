"""Hold the audits of groups to the deeds in them (driver_stories.py)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from support.logs.agreement import fenced_alive
from support.logs.driver_stories import Deed, Played

from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import End

_EXPIRED = frozenset({End.EXPIRED, End.SILENT})
_RESTARTED = frozenset({End.LEFT, End.REMOVED})
_TAKEOVERS = frozenset({"ping-pong", "fenced", "loop"})
"""The kinds of problems with ids that go to and fro; the old coordinator shows who was fenced."""
_OFTEN = 5


def deeds_in(report: OperatorReport, group: str) -> Counter[Deed]:
    """Count each deed in a group, as a report has it."""
    figures = report.figures[group]
    problems = [p for p in report.recurring.values() if p.first.group == group]
    often = (p for p in problems if p.kind in _TAKEOVERS and p.count >= _OFTEN)
    counts = {
        Deed.TAKEN: figures.replaced,
        Deed.IN_TURN: any(_is_of_id(p.first) for p in often),
        Deed.FENCED: sum(n for (name, _), n in fenced_alive(report).items() if name == group),
        Deed.EXPIRED: sum(
            row.group == group and row.end in _EXPIRED for row in report.expirations.rows
        ),
        Deed.RESTARTED: sum(
            row.group == group and row.end in _RESTARTED for row in report.restarts.rows
        ),
        Deed.NOT_POLLED: sum(p.count for p in problems if p.kind == "poll-timeout"),
        Deed.UNUSED: figures.pending,
        Deed.LOST: figures.lost is not None,
        Deed.LOOP: sum(row.group == group and row.cause is not None for row in report.loops.rows),
        Deed.LOADED: figures.failovers,
    }
    return Counter({deed: int(count) for deed, count in counts.items()})


def _is_of_id(row: object) -> bool:
    return getattr(row, "instance_id", None) is not None


@dataclass
class Truth:
    """A deed in all groups of a release: its number (`done`), and the number that each log has.

    `wrong`: groups of which a log says something else, which is not less.
    """

    done: int = 0
    requests: int = 0
    server: int = 0
    wrong: list[str] = field(default_factory=list)

    def __add__(self, other: Truth) -> Truth:
        return Truth(
            self.done + other.done,
            self.requests + other.requests,
            self.server + other.server,
            [*self.wrong, *other.wrong],
        )

    def __str__(self) -> str:
        logs = {"request log": self.requests, "server.log": self.server}
        others = [f"{name} {count}" for name, count in logs.items() if count != self.done]
        return f"{self.done}" + (f" ({', '.join(others)})" if others else "")


def truths(
    played: Sequence[Played], requests: OperatorReport, server: OperatorReport
) -> dict[Deed, Truth]:
    """Compare the deeds in each group to those that both logs have of it."""
    found = {deed: Truth() for deed in Deed}
    for row in played:
        by_requests, by_server = deeds_in(requests, row.group), deeds_in(server, row.group)
        for deed, truth in found.items():
            done = row.deeds.get(deed, 0)
            truth.done += done
            truth.requests += by_requests[deed]
            truth.server += by_server[deed]
            if max(by_requests[deed], by_server[deed]) > done:
                logs = f"request log {by_requests[deed]}, server.log {by_server[deed]}"
                truth.wrong.append(f"{row.group}: {done} {deed.value}, {logs}")
    return found


def truth_table(found: Mapping[str, Mapping[Deed, Truth]]) -> Iterator[str]:
    """Yield a table of deeds by target: the number alone where both logs have all of them."""
    yield f"| | {' | '.join(deed.value for deed in Deed)} |"
    yield f"|---{'|---' * len(Deed)}|"
    for target, row in found.items():
        yield f"| {target} | {' | '.join(str(row[deed]) for deed in Deed)} |"
