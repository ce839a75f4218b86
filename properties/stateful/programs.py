"""Programs: what a few processes do to a coordinator, written as people write it.

A move says who does what, as a good client would, or odd in one way.  It names no ids, generations
or times: the answers and the coordinator provide those.  So a move means the same when others are
left out, and a program shrinks by leaving moves out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

DOINGS: dict[str, str] = {
    "join": "JoinGroup",
    "sync": "SyncGroup; who was told that it leads assigns to all",
    "await": "wait until its last request is answered",
    "beat": "Heartbeat",
    "leave": "LeaveGroup of itself",
    "restart": "the process ends, and a new one that knows nothing takes its place",
    "commit": "OffsetCommit",
    "change": "JoinGroup with another subscription",
    "remove": "LeaveGroup by instance alone, as an operator does",
    "pause": "time passes: a session, or a rebalance timeout",
    "drop": "its connection is lost; it keeps what it was told",
    "describe": "DescribeGroups",
    "fetch": "OffsetFetch",
    "list": "ListGroups",
    "batch": "LeaveGroup of everybody at once",
    "failover": "another coordinator takes over with what was stored",
    "form": "A and B join and sync until they are a stable group",
}
"""What can be done, the simplest first; the order in which programs are made simpler."""

ODDITIES: dict[str, str] = {
    "": "as a good client would",
    "older": "in an old version",
    "stranger": "under a member id that nobody was given",
    "nobody": "without a member id",
    "earlier": "under the id that it was told before the last one",
    "other": "under the id of the next one in the cast",
    "dynamic": "without its instance",
    "claims": "as an instance that nobody has",
    "later": "of the next generation",
    "never": "of generation -1",
    "elsewhere": "in another group",
    "nowhere": "in the group of no name",
    "short": "with a session timeout of 1 ms",
    "unlike": "with protocols that nobody else knows",
}
"""In what a request may differ from that."""

CAST: tuple[str, ...] = ("A", "A", "B", "x", "y")
"""Who takes part: two processes of instance A, one of B, two dynamic members."""


class Move(NamedTuple):
    """Who (an index into CAST) does what (of DOINGS), and in which way odd (of ODDITIES)."""

    do: str = "join"
    who: int = 0
    odd: str = ""


class Program(NamedTuple):
    """Moves in order; `delayed`: the group waits before its first generation, if it can."""

    moves: tuple[Move, ...]
    delayed: bool = False

    @property
    def text(self) -> str:
        """Return the Python expression that makes it, to be kept as a regression."""
        moves = ", ".join(_said(move) for move in self.moves)
        comma = "," if len(self.moves) == 1 else ""
        return f"Program(({moves}{comma}){', delayed=True' if self.delayed else ''})"


def _said(move: Move) -> str:
    parts = [repr(move.do), str(move.who), *([repr(move.odd)] if move.odd else [])]
    return f"Move({', '.join(parts)})"


def plainer(move: Move) -> Iterator[Move]:
    """Yield plainer moves that may replace a move, the simplest first."""
    if move.odd:
        yield move._replace(odd="")
    yield from (move._replace(who=who) for who in range(move.who))
    before = list(DOINGS)[: list(DOINGS).index(move.do)]
    yield from (Move(do, move.who) for do in before[:2])
