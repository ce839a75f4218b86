"""The rows of the operator's report: instances, fencing, rebalances, members, timeouts.

Times are ms since 1970, durations ms; `place` is the `FILE:LINE` of the evidence.  A field whose
value is not in the log is None or the word `unknown`.
"""

from __future__ import annotations

from enum import Enum

import msgspec


class RowPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the report, or a part of one: its fields are those of the JSON."""


class Process(RowPart, frozen=True, order=True):
    """A client process, as a broker sees it: a client id and a host."""

    client_id: str
    host: str

    def __str__(self) -> str:
        if not self.host:
            return self.client_id or "a client without a name"
        return f"{self.client_id} ({self.host})" if self.client_id else self.host


class End(Enum):
    """Reason why a member no longer holds an instance id."""

    REPLACED = "replaced"
    LEFT = "left"
    REMOVED = "removed"
    """By a LeaveGroup of another process."""
    EXPIRED = "expired"
    DROPPED = "dropped"
    """It did not join a rebalance in time."""
    SILENT = "silent"
    """It was silent for longer than its timeout when the log, or all of its group, ended."""
    STILL_THERE = "still there"
    UNKNOWN = "unknown"


class LifeLine(RowPart, frozen=True):
    """One member id that held an instance id.

    `from_ms`: time of its join, or (`begins` false) of its first line; `until_ms`: None if it is
    still there; `by`: the process that replaced or removed it; `fenced_ms`: time of its first
    FENCED_INSTANCE_ID.
    """

    group: str
    instance_id: str
    member_id: str
    process: Process
    from_ms: int
    begins: bool
    until_ms: int | None
    end: End
    by: Process | None
    fenced_ms: int | None
    place: str


class Handover(RowPart, frozen=True):
    """An instance id goes to another process.

    `told`: the old process was alive and got FENCED_INSTANCE_ID, at `told_ms`.
    """

    at_ms: int
    from_process: Process
    to_process: Process
    told: bool
    told_ms: int | None
    place: str


class FencingChain(RowPart, frozen=True):
    """Processes that took an instance id from each other, in turn.

    `fenced`: number of handovers from a living process.  `ping_pong`: they took it back, too.
    `handovers` holds the first handovers of `count`.
    """

    group: str
    instance_id: str
    from_ms: int
    until_ms: int
    count: int
    fenced: int
    ping_pong: bool
    processes: tuple[Process, ...]
    handovers: tuple[Handover, ...]

    @property
    def decisive(self) -> Handover:
        """The handover that shows the problem: the first from a process that was alive."""
        return next((turn for turn in self.handovers if turn.told), self.handovers[0])


class SelfFencing(RowPart, frozen=True):
    """A process that was fenced by its own later join.

    `alive`: it sent the fenced request after that join; otherwise the request was a join or sync
    that still waited, so the process may also have been restarted meanwhile.  `second`: the member
    of that join worked, too, so it is a second process of the same name; `taken_ms`: time of that
    join.  `address`, `by_address`: HOST:PORT of the fenced request, and of that join; the ports of
    two processes differ.
    """

    group: str
    instance_id: str
    process: Process
    at_ms: int
    api: str
    alive: bool
    second: bool
    taken_ms: int
    address: str
    by_address: str
    place: str


class StaticLeave(RowPart, frozen=True):
    """A static member that a LeaveGroup removed.  `itself`: by its own; None if unknown."""

    group: str
    instance_id: str
    member_id: str
    process: Process | None
    by: Process
    itself: bool | None
    at_ms: int
    place: str


class Cause(Enum):
    """Cause of a rebalance."""

    NEW_MEMBER = "new member"
    LEADER_REJOIN = "leader rejoin"
    MEMBER_REJOIN = "member rejoin"
    CHANGED_SUBSCRIPTION = "changed subscription"
    LEAVE = "leave"
    EXPIRY = "expiry"
    FAILOVER = "failover"
    UNKNOWN = "unknown"


class Remedy(Enum):
    """Remedy that would have avoided a rebalance."""

    NOTHING = "neither"
    STATIC = "static membership"
    LONGER_SESSION = "a longer session timeout"
    NO_LEAVE = "no LeaveGroup from the static member"
    UNKNOWN = "unknown"


AVOIDING = (Remedy.STATIC, Remedy.LONGER_SESSION, Remedy.NO_LEAVE)
"""The remedies that are settings."""


class Rebalance(RowPart, frozen=True):
    """A rebalance of a group, up to the generation that it led to.

    `start_ms`: time of its cause; `completed_ms`: of the answers to its joins; `stable_ms`: of its
    first assignment, None if another rebalance came first.  `who`: the process that caused it;
    `also`: further causes before it was over.  `away_ms`: absence of `who`, where that decides the
    remedy; `session_ms`: a session timeout that would have been long enough; `unclear`: the reason
    why the remedy is unknown, else "".  `duration_ms`: from `start_ms` to `stable_ms`.
    """

    group: str
    generation: int
    start_ms: int
    completed_ms: int
    stable_ms: int | None
    cause: Cause
    who: str
    also: tuple[Cause, ...]
    members_before: int | None
    members_after: int | None
    remedy: Remedy
    away_ms: int | None
    session_ms: int | None
    unclear: str
    place: str
    duration_ms: int | None


class Deployment(RowPart, frozen=True):
    """Restarts of a group's members that follow each other closely.

    `begins`: the log shows its beginning; `ends`: all its members were back before the log ended;
    if one is false, it may have cost more rebalances than counted.
    """

    group: str
    from_ms: int
    until_ms: int
    restarts: int
    processes: int
    rebalances: int
    begins: bool
    ends: bool


class _Silence(RowPart, frozen=True):
    """A member that was silent for `silent_ms`, and its session timeout."""

    group: str
    instance_id: str | None
    member_id: str
    process: Process
    at_ms: int
    silent_ms: int
    session_ms: int
    place: str


class ThrownOut(_Silence, frozen=True):
    """A member whose session expired while its process was alive and sent requests."""


class NearTimeout(_Silence, frozen=True):
    """A member that stayed, but was once silent for much of its session timeout."""


NOT_POLLED = "poll timeout"
"""Words in the reason of a LeaveGroup that Java clients send since 3.2, if poll() was not called
for `max.poll.interval.ms`."""


class PollTimeout(RowPart, frozen=True):
    """A member that left because its living process did not call poll()."""

    group: str
    instance_id: str | None
    process: Process
    at_ms: int
    place: str


class MembersLeft(RowPart, frozen=True):
    """State of a group at the end of the log.

    `static`, `dynamic`: number of its members; None where the log doesn't show all of them.
    `rebalancing_ms`: start of a rebalance that wasn't over; None: there is none.
    `session_ms`: their longest session timeout; `assignors`: those that all offer; as far as known.
    """

    group: str
    static: int | None
    dynamic: int | None
    rebalancing_ms: int | None = None
    session_ms: int | None = None
    assignors: tuple[str, ...] = ()


Row = (
    LifeLine
    | FencingChain
    | SelfFencing
    | StaticLeave
    | Rebalance
    | Deployment
    | ThrownOut
    | NearTimeout
    | PollTimeout
    | MembersLeft
)
