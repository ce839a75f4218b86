"""Write server.log of groups whose members join, leave, crash, and come again as a test says.

The lines are those of Kafka 3.6 (old coordinator) or 4.3 (new one).
"""

from __future__ import annotations

import random
from pathlib import Path
from uuid import UUID

from support.logs.coordinator_lines import CoordinatorLines

_BEGIN_MS = 1_715_677_200_000
REBALANCE_MS = 2_500
"""Time from the cause of a rebalance to its answers."""


class PlayedGroup:
    """A group whose members have one host each.  Times are seconds after the beginning."""

    def __init__(
        self,
        name: str,
        *,
        session_ms: int = 45_000,
        is_new: bool = False,
        protocols: str = "range",
    ) -> None:
        self.lines: list[tuple[float, str]] = []
        self.members: dict[str, str] = {}
        """The client id of each member id."""
        self._messages = CoordinatorLines(name, is_new=is_new, partition=17)
        self._session_ms = session_ms
        self._protocols = protocols
        self._generation = 40
        self._random = random.Random(name)

    def start(self, client_ids: list[str], at_s: float = 0.0) -> list[str]:
        """Form the group, before the log begins to matter; return the member ids."""
        ids = [self._id(client_id) for client_id in client_ids]
        self._prepare(at_s, self._messages.join_reason(ids[0]))
        for member_id, client_id in zip(ids, client_ids, strict=True):
            self.members[member_id] = client_id
        self._stable(at_s + REBALANCE_MS / 1000)
        return ids

    def leave(
        self, member_id: str, at_s: float, reason: str = "the consumer is being closed"
    ) -> None:
        """Let a member leave."""
        client_id, messages = self.members.pop(member_id), self._messages
        if messages.is_new:
            self._line(at_s, messages.leave(member_id, reason))
        self._prepare(at_s, messages.leave_reason(member_id, reason))
        if not messages.is_new:
            text = messages.old_leave(
                member_id,
                reason,
                client_id=client_id,
                host="10.0.0.7",
                session_ms=self._session_ms,
                rebalance_ms=300_000,
                protocols=self._protocols,
            )
            self._line(at_s, text)
        self._stable(at_s + REBALANCE_MS / 1000)

    def join(self, client_id: str, at_s: float, waits_for: str | None = None) -> str:
        """Let a process join as a new member, which may wait for a dead one's session."""
        member_id = self._id(client_id)
        self._line(at_s, self._messages.new_id(member_id))
        if self._messages.is_new:
            self._line(at_s, self._messages.dynamic_join(member_id))
        self._prepare(at_s, self._messages.join_reason(member_id))
        self.members[member_id] = client_id
        if waits_for is None:
            self._stable(at_s + REBALANCE_MS / 1000)
        return member_id

    def roll(self, away_s: list[float], gap_s: float = 40.0) -> None:
        """Restart all members, one after the other; each is away for one of these times."""
        at_s = 60.0
        for number, (member_id, client_id) in enumerate(list(self.members.items())):
            self.leave(member_id, at_s)
            self.join(client_id, at_s + away_s[number % len(away_s)])
            at_s += gap_s + max(away_s)

    def expire(self, member_id: str, at_s: float, *, is_waited_for: bool = False) -> None:
        """Let a member's session end; `is_waited_for`: a rebalance goes on already."""
        del self.members[member_id]
        self._line(at_s, self._messages.expiry(member_id))
        if not is_waited_for:
            self._prepare(at_s, self._messages.expiry_reason(member_id))
        self._stable(at_s + (0.001 if is_waited_for else REBALANCE_MS / 1000))

    def write(self, path: Path, *others: PlayedGroup) -> Path:
        """Write the log of this group, and of others."""
        lines = sorted([*self.lines, *(line for each in others for line in each.lines)])
        path.write_text("".join(text for _, text in lines), encoding="utf-8")
        return path

    def _id(self, client_id: str) -> str:
        return f"{client_id}-{UUID(int=self._random.getrandbits(128), version=4)}"

    def _prepare(self, at_s: float, reason: str) -> None:
        self._line(at_s, self._messages.preparation(self._generation, reason))

    def _stable(self, at_s: float) -> None:
        self._generation += 1
        generation, count = self._generation, len(self.members)
        if not count:
            self._line(at_s, self._messages.no_member(generation))
            return
        self._line(at_s, self._messages.generation(generation, count))
        leader = next(iter(self.members))
        self._line(at_s + 0.005, self._messages.assignment(generation, leader, count))

    def _line(self, at_s: float, text: str) -> None:
        line = self._messages.line(_BEGIN_MS + round(at_s * 1000), text)
        self.lines.append((len(self.lines) / 1e6 + at_s, line))
