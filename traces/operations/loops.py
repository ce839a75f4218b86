"""Find loops: one cause of rebalances that comes again and again in one group, with its rhythm.

A loop has at least five turns, and most of them are as long as the median.  What follows from a
turn is no loop of its own: the return of a member that went, or the leader that joins again after
another rebalance.  Processes that share a client id go and come one after the other in a
deployment; they are a loop only if who goes had come within it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

from fencepost.traces.operations.operator_rows import Cause, Loop, Process, Rebalance, Row
from fencepost.traces.operations.ownership import is_regular
from fencepost.traces.operations.rebalances import JudgedRebalance
from fencepost.traces.operations.server_events import stated_cause

_LONGEST_MS = 30 * 60_000
"""Longest turn of a loop."""
_LATE = 4
"""Multiple of the median turn after which a loop is over."""
_REMEMBERED = 1000
_QUICK_MS = 200
"""A group that is there with all members this soon after a new member's join has no other member:
the others hear of a rebalance by a heartbeat only."""
_DEPARTURES = frozenset({Cause.LEAVE, Cause.EXPIRY})
_REACTIONS = frozenset(
    {Cause.LEADER_REJOIN, Cause.MEMBER_REJOIN, Cause.OTHER, Cause.NOT_STORED, Cause.UNKNOWN}
)
"""Causes that may follow from a rebalance of another cause."""


@dataclass(slots=True)
class _Run:
    """Turns of one cause and process; durations of the latest of them."""

    first: Rebalance
    until_ms: int
    count: int = 1
    turns: list[int] = field(default_factory=list)
    lasted: list[int] = field(default_factory=list)
    stayed: list[int] = field(default_factory=list)
    away: list[int] = field(default_factory=list)
    members: int | None = None
    generation: int = 0
    """The last one."""
    ids: set[str] = field(default_factory=set)
    """The member ids in the source's reasons, as many as are remembered."""

    def is_over(self, now_ms: int) -> bool:
        late_ms: float = _LONGEST_MS
        if len(self.turns) > 2:
            late_ms = max(_LATE * median(self.turns), 1000)
        return now_ms - self.until_ms > late_ms


class Loops:
    """The loops of one group; rows go to `emit` when they are over."""

    def __init__(self, group: str, emit: Callable[[Row], None]) -> None:
        self._group = group
        self._emit = emit
        self._runs: dict[tuple[Cause | None, Process], _Run] = {}

    def add(self, turn: JudgedRebalance) -> None:
        """Add the next rebalance."""
        row = turn.row
        if row.cause not in _REACTIONS:
            for key in [key for key in self._runs if key[0] in _REACTIONS]:
                self._end(key)
        if row.cause is Cause.NEW_MEMBER and turn.gone is not None:
            return  # the turn is its departure
        if row.cause in _DEPARTURES and turn.gone is None:
            return  # nobody knows if it is the same member
        if row.cause is Cause.NEW_MEMBER and not _is_alone(row):
            return
        key = (row.cause, turn.who)
        run = self._runs.get(key)
        if run is not None and (run.is_over(row.start_ms) or _is_another(turn, run)):
            self._end(key)
            run = None
        if run is None:
            run = self._runs[key] = _Run(row, row.start_ms)
        else:
            run.turns.append(row.start_ms - run.until_ms)
            run.count, run.until_ms = run.count + 1, row.start_ms
        if turn.before_ms is not None:
            run.lasted.append(row.start_ms - turn.before_ms)
        if turn.gone is not None and turn.gone.member.begins:
            run.stayed.append(turn.gone.at_ms - turn.gone.member.from_ms)
        if turn.gone is not None and turn.came is not None:
            run.away.append(turn.came.at_ms - turn.gone.at_ms)
        run.members = _most(run.members, row.members_after)
        run.generation = row.generation
        if len(run.ids) < _REMEMBERED and (member_id := stated_cause(row.reason)[1]):
            run.ids.add(member_id)
        for durations in (run.turns, run.lasted, run.stayed, run.away):
            del durations[:-_REMEMBERED]

    def purge(self, now_ms: int) -> None:
        """Emit the loops that are over."""
        for key in [key for key, run in self._runs.items() if run.is_over(now_ms)]:
            self._end(key)

    def close(self) -> None:
        """Emit all remaining loops, at the end."""
        for key in list(self._runs):
            self._end(key)

    def _end(self, key: tuple[Cause | None, Process]) -> None:
        run = self._runs.pop(key)
        if not is_regular(run.turns):
            return
        self._emit(
            Loop(
                self._group,
                None,
                key[0],
                key[1],
                run.first.start_ms,
                run.until_ms,
                run.count,
                int(median(run.turns)),
                _middle(run.lasted),
                _middle(run.stayed),
                _middle(run.away),
                run.members,
                run.first.reason,
                run.first.client_reason,
                run.first.place,
                len(run.stayed) if run.count <= _REMEMBERED else None,
                len(run.away) if run.count <= _REMEMBERED else None,
                run.generation or None,
                len(run.ids) or None,
            )
        )


def _is_alone(row: Rebalance) -> bool:
    """Return True if the group has no other member than the one that joined, as far as is known."""
    if row.members_after is not None:
        return row.members_after <= 1
    return row.completed_ms - row.start_ms < _QUICK_MS


def _is_another(turn: JudgedRebalance, run: _Run) -> bool:
    """Return True if a member that goes had been there before the loop: it is another process."""
    gone = turn.gone
    if gone is None or turn.row.cause not in _DEPARTURES:
        return False
    return not gone.member.begins or gone.member.from_ms < run.until_ms


def _most(*counts: int | None) -> int | None:
    return max((each for each in counts if each is not None), default=None)


def _middle(durations: list[int]) -> int | None:
    return int(median(durations)) if durations else None
