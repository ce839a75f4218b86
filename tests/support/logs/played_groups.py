"""Write server.log of groups that are played: who joins, leaves, crashes, and comes again.

The lines are those of Kafka 3.6 (old coordinator) or 4.3 (new one).
"""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

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
        self.name = name
        self.lines: list[tuple[float, str]] = []
        self.members: dict[str, str] = {}
        """The client id of each member id."""
        self._session_ms = session_ms
        self._is_new = is_new
        self._protocols = protocols
        self._generation = 40
        self._random = random.Random(name)

    def start(self, client_ids: list[str], at_s: float = 0.0) -> list[str]:
        """Form the group, before the log begins to matter; return the member ids."""
        ids = [self._id(client_id) for client_id in client_ids]
        self._prepare(at_s, f"Adding new member {ids[0]} with group instance id None")
        for member_id, client_id in zip(ids, client_ids, strict=True):
            self.members[member_id] = client_id
        self._stable(at_s + REBALANCE_MS / 1000)
        return ids

    def leave(
        self, member_id: str, at_s: float, reason: str = "the consumer is being closed"
    ) -> None:
        """Let a member leave."""
        client_id = self.members.pop(member_id)
        if self._is_new:
            self._line(
                at_s,
                f"[Group {self.name}] Member {member_id} has left group through explicit "
                f"`LeaveGroup` request; client reason: {reason}",
            )
            why = f"explicit `LeaveGroup` request for ({member_id}) members."
        else:
            why = f"Removing member {member_id} on LeaveGroup; client reason: {reason}"
        self._prepare(at_s, why)
        if not self._is_new:
            self._line(
                at_s,
                f"Member MemberMetadata(memberId={member_id}, groupInstanceId=None, "
                f"clientId={client_id}, clientHost=/10.0.0.7, sessionTimeoutMs={self._session_ms}, "
                f"rebalanceTimeoutMs=300000, supportedProtocols=List({self._protocols})) has left "
                f"group {self.name} through explicit `LeaveGroup`; client reason: {reason}",
            )
        self._stable(at_s + REBALANCE_MS / 1000)

    def join(self, client_id: str, at_s: float, waits_for: str | None = None) -> str:
        """Let a process join as a new member, which may wait for a dead one's session."""
        member_id = self._id(client_id)
        ing = "requesting" if self._is_new else "request"
        self._line(
            at_s,
            f"Dynamic member with unknown member id joins group {self.name} in Stable state. "
            f"Created a new member id {member_id} and {ing} the member to rejoin with this id.",
        )
        if self._is_new:
            self._line(
                at_s,
                f"Pending dynamic member with id {member_id} joins group {self.name} in Stable "
                "state. Adding to the group now.",
            )
        none = "null" if self._is_new else "None"
        self._prepare(at_s, f"Adding new member {member_id} with group instance id {none}")
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
        self._line(
            at_s, f"Member {member_id} in group {self.name} has failed, removing it from the group"
        )
        if not is_waited_for:
            self._prepare(at_s, f"removing member {member_id} on heartbeat expiration")
        self._stable(at_s + (0.001 if is_waited_for else REBALANCE_MS / 1000))

    def write(self, path: Path, *others: PlayedGroup) -> Path:
        """Write the log of this group, and of others."""
        lines = sorted([*self.lines, *(line for each in others for line in each.lines)])
        path.write_text("".join(text for _, text in lines), encoding="utf-8")
        return path

    def _id(self, client_id: str) -> str:
        return f"{client_id}-{UUID(int=self._random.getrandbits(128), version=4)}"

    def _prepare(self, at_s: float, reason: str) -> None:
        partition = "" if self._is_new else " (__consumer_offsets-17)"
        self._line(
            at_s,
            f"Preparing to rebalance group {self.name} in state PreparingRebalance with old "
            f"generation {self._generation}{partition} (reason: {reason})",
        )

    def _stable(self, at_s: float) -> None:
        self._generation += 1
        count, partition = len(self.members), "" if self._is_new else " (__consumer_offsets-17)"
        if not count:
            self._line(
                at_s,
                f"Group {self.name} with generation {self._generation} is now empty{partition}",
            )
            return
        self._line(
            at_s,
            f"Stabilized group {self.name} generation {self._generation}{partition} with {count} "
            "members",
        )
        leader = next(iter(self.members))
        self._line(
            at_s + 0.005,
            f"Assignment received from leader {leader} for group {self.name} for generation "
            f"{self._generation}. The group has {count} members, 0 of which are static.",
        )

    def _line(self, at_s: float, text: str) -> None:
        moment = datetime.fromtimestamp((_BEGIN_MS + round(at_s * 1000)) / 1000, UTC)
        date = moment.strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
        head, logger = "[GroupCoordinator 1]:", "kafka.coordinator.group.GroupCoordinator"
        if self._is_new:
            head = "[GroupCoordinator id=1 topic=__consumer_offsets partition=17]"
            logger = "org.apache.kafka.coordinator.group.GroupMetadataManager"
        self.lines.append(
            (len(self.lines) / 1e6 + at_s, f"[{date}] INFO {head} {text} ({logger})\n")
        )
