"""Write lines of server.log as the old coordinator does since Kafka 3.2, or the new one of 4.3."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from fencepost.traces.audit.server_log_audit import ServerLogRun, audit_server_log
from fencepost.traces.logs.server_log import ServerLog

START_MS = 1_741_701_600_000
"""Time of the first line in tests without another: 2025-03-11 14:00:00 UTC."""

Line = tuple[int, str]
"""A time since 1970, in ms, and a message."""


class CoordinatorLines:
    """The messages about one group, and its lines; `partition`: that of __consumer_offsets."""

    def __init__(self, group: str, *, is_new: bool = False, partition: int = 0) -> None:
        self.group = group
        self.is_new = is_new
        self._stop = "." if is_new else ""
        if is_new:
            topic = f"topic=__consumer_offsets partition={partition}"
            self._head, self._partition = f"[GroupCoordinator id=1 {topic}]", ""
            self._logger = "org.apache.kafka.coordinator.group.GroupMetadataManager"
        else:
            self._head = "[GroupCoordinator 1]:"
            self._partition = f" (__consumer_offsets-{partition})"
            self._logger = "kafka.coordinator.group.GroupCoordinator"

    def line(self, at_ms: int, message: str) -> str:
        """Return a line with its end.  `at_ms` since 1970."""
        date = datetime.fromtimestamp(at_ms / 1000, UTC)
        at = f"{date:%Y-%m-%d %H:%M:%S},{at_ms % 1000:03}"
        return f"[{at}] INFO {self._head} {message} ({self._logger})\n"

    def text(self, lines: Iterable[Line]) -> str:
        """Return lines as the text of a log."""
        return "".join(self.line(at_ms, message) for at_ms, message in lines)

    def new_id(self, member_id: str, state: str = "Stable") -> str:
        """Return the message about a member id that is handed out."""
        request = "requesting" if self.is_new else "request"
        return (
            f"Dynamic member with unknown member id joins group {self.group} in {state} state. "
            f"Created a new member id {member_id} and {request} the member to rejoin with this id."
        )

    def dynamic_join(self, member_id: str, state: str = "Stable") -> str:
        """Return the message about a member that joins with its id."""
        return (
            f"Pending dynamic member with id {member_id} joins group {self.group} in {state} "
            "state. Adding to the group now."
        )

    def static_join(self, member_id: str, instance: str, state: str = "Stable") -> str:
        """Return the message about the first member of an instance id."""
        add = "added" if self.is_new else "add"
        return (
            f"Static member with groupInstanceId={instance} and unknown member id joins group "
            f"{self.group} in {state} state. Created a new member id {member_id} for this member "
            f"and {add} to the group."
        )

    def preparation(self, generation: int, reason: str) -> str:
        """Return the message that begins a rebalance; `generation`: the one before."""
        return (
            f"Preparing to rebalance group {self.group} in state PreparingRebalance with old "
            f"generation {generation}{self._partition} (reason: {reason}){self._stop}"
        )

    def join_reason(self, member_id: str, instance: str | None = None) -> str:
        """Return the reason of a rebalance for a new member."""
        name = instance if self.is_new else instance and f"Some({instance})"
        name = name or ("null" if self.is_new else "None")
        return f"Adding new member {member_id} with group instance id {name}"

    def leave_reason(self, member_id: str, client_reason: str = "") -> str:
        """Return the reason of a rebalance for a member that leaves."""
        if self.is_new:
            return f"explicit `LeaveGroup` request for ({member_id}) members."
        return f"Removing member {member_id} on LeaveGroup; client reason: {client_reason}"

    def expiry_reason(self, member_id: str) -> str:
        """Return the reason of a rebalance for a member whose session ends."""
        return f"removing member {member_id} on heartbeat expiration{self._stop}"

    def generation(self, generation: int, members: int) -> str:
        """Return the message that begins a generation."""
        return (
            f"Stabilized group {self.group} generation {generation}{self._partition} with "
            f"{members} members{self._stop}"
        )

    def assignment(self, generation: int, leader: str, members: int, static: int = 0) -> str:
        """Return the message about the leader's SyncGroup."""
        return (
            f"Assignment received from leader {leader} for group {self.group} for generation "
            f"{generation}. The group has {members} members, {static} of which are static."
        )

    def no_member(self, generation: int) -> str:
        """Return the message about a group that became empty."""
        return (
            f"Group {self.group} with generation {generation} is now empty{self._partition}"
            f"{self._stop}"
        )

    def expiry(self, member_id: str) -> str:
        """Return the message about a member whose session ends."""
        return (
            f"Member {member_id} in group {self.group} has failed, removing it from the group"
            f"{self._stop}"
        )

    def leave(self, member_id: str, client_reason: str) -> str:
        """Return the new coordinator's message about a member that leaves."""
        assert self.is_new
        return (
            f"[Group {self.group}] Member {member_id} has left group through explicit "
            f"`LeaveGroup` request; client reason: {client_reason}"
        )

    def old_leave(
        self,
        member_id: str,
        client_reason: str,
        *,
        client_id: str,
        instance: str | None = None,
        host: str,
        session_ms: int | None,
        rebalance_ms: int | None,
        protocols: str = "range",
    ) -> str:
        """Return the old coordinator's message about a member that leaves, after its removal."""
        assert not self.is_new
        name = "None" if instance is None else f"Some({instance})"
        return (
            f"Member MemberMetadata(memberId={member_id}, groupInstanceId={name}, "
            f"clientId={client_id}, clientHost=/{host}, sessionTimeoutMs={session_ms}, "
            f"rebalanceTimeoutMs={rebalance_ms}, supportedProtocols=List({protocols})) has left "
            f"group {self.group} through explicit `LeaveGroup`; client reason: {client_reason}"
        )


def audit_text(folder: Path, text: str) -> ServerLogRun:
    """Audit the text of a server.log, which is written into a folder."""
    path = folder / "server.log"
    path.write_text(text)
    return audit_server_log(ServerLog([path]))
