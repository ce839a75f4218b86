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
    """A client process, as a broker sees it: `client_id` and `host`."""

    client_id: str
    host: str

    def __str__(self) -> str:
        if not self.host:
            return self.client_id or "a client without a name"
        return f"{self.client_id} ({self.host})" if self.client_id else self.host


ADMINISTRATOR = Process("an administrator", "")
"""The sender of a LeaveGroup for another member, where the source names none."""


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
    """A member id that held an instance id.

    `group`, `instance_id`, `member_id`, `process`: which; `from_ms`: time of its join, or
    (`begins` false) of its first line; `until_ms`: null if it still holds the id; `end`: how it
    ended; `by`: the process that replaced or removed it; `fenced_ms`: time of its first
    FENCED_INSTANCE_ID; `place`: the line of its end, or its last one, as FILE:LINE.  `away_ms`:
    of one that was replaced, from its last sign of life to its successor's join, null where the
    log doesn't show it or the process was alive; `session_ms`: its session timeout, where the
    log has it.
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
    away_ms: int | None = None
    session_ms: int | None = None


class Handover(RowPart, frozen=True):
    """A takeover of an instance id, from `from_process` to `to_process`, at `at_ms`.

    `told`: the old process was alive and got FENCED_INSTANCE_ID, at `told_ms`; `place`: the
    line of the takeover, as FILE:LINE.
    """

    at_ms: int
    from_process: Process
    to_process: Process
    told: bool
    told_ms: int | None
    place: str


class FencingChain(RowPart, frozen=True):
    """Takeovers of an instance id, at least one of them from a live process.

    Each is at most ten minutes after the one before.  `from_ms`, `until_ms`: times of the first
    takeover and the last; `count`: number of takeovers; `fenced`: of these, from live
    processes; `ping_pong`: a process took the id back, so they share it; `processes`: all of
    them; `handovers`: the first takeovers.
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

    `api`: of the fenced request; `alive`: it sent this after that join; otherwise the request was a
    join or sync that still waited, so the process may also have been restarted meanwhile.
    `second`: the member of that join worked, too, so it is a second process of the same name;
    `taken_ms`: time of that join.  `address`, `by_address`: HOST:PORT of the fenced request,
    and of that join; the ports of two processes differ.
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
    """A static member that a LeaveGroup removed.

    `group`, `instance_id`, `member_id`, `process`: which; `by`: the process that sent it;
    `itself`: true if the member sent it, null if the log doesn't show the sender; `at_ms`: the
    time.
    """

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
    NOT_STORED = "assignment not stored"
    OTHER = "another reason"
    """The log has its words, which fencepost doesn't know."""
    UNKNOWN = "unknown"


class Remedy(Enum):
    """Remedy that would have avoided a rebalance."""

    NOTHING = "none"
    STATIC = "static membership"
    LONGER_SESSION = "a longer session timeout"
    NO_LEAVE = "no LeaveGroup from the static member"
    LONGER_POLL = "a longer max.poll.interval.ms"
    UNKNOWN = "unknown"


AVOIDING = (Remedy.STATIC, Remedy.LONGER_SESSION, Remedy.NO_LEAVE, Remedy.LONGER_POLL)
"""The remedies that are settings."""
OF_SESSIONS = frozenset({Remedy.STATIC, Remedy.LONGER_SESSION})
"""The remedies for which the session timeout must be longer than an absence."""


class Rebalance(RowPart, frozen=True):
    """A rebalance of a group, up to the generation that it led to.

    `generation`: its number; `start_ms`: time of its cause; `completed_ms`: of the answers to
    its joins; `stable_ms`: of its first assignment, null if another rebalance came first;
    `duration_ms`: from `start_ms` to `stable_ms`.  `cause`: its cause; `who`: the process that
    caused it; `also`: further causes before its end; `members_before`, `members_after`: numbers
    of members; after one that leaves the group empty there are 0, and no assignment.  `remedy`:
    the setting that would have avoided it; `away_ms`: absence of `who`, where that decides the
    remedy; `session_ms`: a session timeout that would have been long enough; `unclear`: the
    reason why the remedy is unknown, else "".  `reason`: the coordinator's words,
    `client_reason`: the client's, where the log has them; `expired_ms`: where `who` had
    expired, from the end of its session to its return; `is_cut`: the log ends before the
    rebalance does, so `completed_ms` may be the end of the log.
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
    reason: str = ""
    client_reason: str = ""
    expired_ms: int | None = None
    is_cut: bool = False

    @property
    def is_late(self) -> bool:
        """True if only a session that outlasts a silence of unknown length would have avoided it.

        A member expired and came back; its process may have lived.
        """
        return self.remedy in OF_SESSIONS and self.away_ms is None and bool(self.expired_ms)

    @property
    def is_emptying(self) -> bool:
        """True if the group had no member after it."""
        return self.members_after == 0


class Deployment(RowPart, frozen=True):
    """Restarts of a group's members, each at most a minute after the one before.

    `restarts`: their number, of `processes` processes; `rebalances`: the rebalances that they
    cost.  `begins`: the log shows its beginning; `ends`: all its members were back before the
    log ended; if one is false, it may have cost more.  Both are true where each member of the
    group restarted.
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
    """A member that was silent for `silent_ms`, and its session timeout, `session_ms`."""

    group: str
    instance_id: str | None
    member_id: str
    process: Process
    at_ms: int
    silent_ms: int
    session_ms: int
    place: str


class ThrownOut(_Silence, frozen=True):
    """A member whose session expired although its process was alive and sent requests.

    `silent_ms`: its silence; `session_ms`: its session timeout.
    """


class NearTimeout(_Silence, frozen=True):
    """A member that stayed, after a silence of at least three fifths of its session timeout.

    `silent_ms`: its silence; `session_ms`: its session timeout.
    """


NOT_POLLED = "poll timeout"
"""Words in the reason of a LeaveGroup that Java clients send since 3.2, if poll() was not called
for `max.poll.interval.ms`."""


class PollTimeout(RowPart, frozen=True):
    """A member that left because its living process did not call poll().

    `interval_ms`: its max.poll.interval.ms; `late_ms`: how much later it joined again; None where
    the log doesn't show it.
    """

    group: str
    instance_id: str | None
    process: Process
    at_ms: int
    place: str
    interval_ms: int | None = None
    late_ms: int | None = None


class Restart(RowPart, frozen=True):
    """A process that left or expired, and came back as a new member.

    A restart may be two rebalances.  `end`: how it left, at `at_ms`; `back_ms`: time of its
    join; `away_ms`: from its last sign of life to its join; `session_ms`: its session timeout,
    where the log has it; `is_guess`: several processes have its client id, and time alone
    decides which of them came back.
    """

    group: str
    instance_id: str | None
    process: Process
    end: End
    at_ms: int
    back_ms: int
    away_ms: int
    session_ms: int | None
    place: str
    is_guess: bool = False


class Expiration(RowPart, frozen=True):
    """A member whose session expired, or that did not join a rebalance in time (`end`).

    `end`: expired; dropped: it did not join in time; silent: its session was over when the log,
    or all of its group, ended.  `at_ms`: the time; `joined_ms`: of its join; `assigned_ms`: of
    the latest assignment before; `back_ms`: of its return, null if it has none or if
    (`is_unclear`) others with its client id joined; `lived`: its process was alive; null where
    the log doesn't show it.  `loaded_ms`: time at which a coordinator had read the group, after
    which the member did not continue; null: it continued, or no coordinator read it.  `stayed`:
    number of others that were members before and after the next rebalance, null if unknown.
    `at_latest`: it may have been back earlier, at a coordinator that is not in the log;
    `is_guess`: several processes have its client id, and time alone decides which of them came
    back.
    """

    group: str
    instance_id: str | None
    member_id: str
    process: Process
    end: End
    at_ms: int
    joined_ms: int | None
    assigned_ms: int | None
    back_ms: int | None
    is_unclear: bool
    lived: bool | None
    place: str
    loaded_ms: int | None = None
    stayed: int | None = None
    at_latest: bool = False
    is_guess: bool = False


class PendingId(RowPart, frozen=True):
    """A member id that was handed out at `named_ms`, not used, and removed at `at_ms`.

    `held_ms`: how long a rebalance waited for it; 0: none did.
    """

    group: str
    instance_id: str | None
    process: Process
    member_id: str
    named_ms: int | None
    at_ms: int
    held_ms: int
    place: str


class Loop(RowPart, frozen=True):
    """One cause of rebalances, or of takeovers, again and again, from `from_ms` to `until_ms`.

    `cause`: null for takeovers of the `instance_id`; `process`: the process that causes it;
    `count`: number of occurrences; `every_ms`: median time between two; `lasted_ms`: median
    time from an assignment to the next rebalance, null: unknown; `stayed_ms`, `away_ms`:
    medians for members that left and came back, of `stays` and `absences` occurrences;
    `reason`, `client_reason`: as in a rebalance, of the first; `members`: the most that the
    group had, where the log shows it; `generation`: the last of the group; `ids`: number of
    member ids in the broker's reasons.
    """

    group: str
    instance_id: str | None
    cause: Cause | None
    process: Process
    from_ms: int
    until_ms: int
    count: int
    every_ms: int
    lasted_ms: int | None
    stayed_ms: int | None
    away_ms: int | None
    members: int | None
    reason: str
    client_reason: str
    place: str
    stays: int | None = None
    absences: int | None = None
    generation: int | None = None
    ids: int | None = None


class EmptySpan(RowPart, frozen=True):
    """A time without a member, from `from_ms` to the next join at `until_ms`.

    `until_ms`: null if there is no join before the log ends; `end`: how the last member left;
    `process`, `instance_id`: of that member, null where the log doesn't show them;
    `is_poll_timeout`: its live process did not call poll(); `deleted_ms`: time at which
    somebody deleted the group.
    """

    group: str
    from_ms: int
    until_ms: int | None
    end: End
    instance_id: str | None
    process: Process | None
    is_poll_timeout: bool
    place: str
    deleted_ms: int | None = None

    @property
    def was_lost(self) -> bool:
        """True if nobody stopped the last member, and none came since."""
        return self.until_ms is None and (self.end in UNWANTED or self.is_poll_timeout)

    @property
    def is_lost(self) -> bool:
        """True if nobody stopped the last member, none came since, and the group is wanted."""
        return self.was_lost and self.deleted_ms is None

    @property
    def lasted_ms(self) -> int:
        """Its length; 0 for one that lasts until the log ends."""
        return 0 if self.until_ms is None else self.until_ms - self.from_ms


UNWANTED = frozenset({End.EXPIRED, End.DROPPED, End.SILENT})
"""The ends of members that nobody stopped or removed."""


class OffsetsRemoved(RowPart, frozen=True):
    """Offsets of a group that somebody deleted.

    `with_group`: together with the group; `offsets`: number of offsets, of `groups` groups
    together, null where the log doesn't show it; `used_ms`: time at which a member joined next,
    null if none did before the log ends.
    """

    group: str
    at_ms: int
    with_group: bool
    offsets: int | None
    groups: int
    used_ms: int | None
    place: str


class ExpiredTogether(RowPart, frozen=True):
    """Members of any groups that expired at nearly the same time.

    `groups`, `processes`: which; `count`: number of members; `back`: of these, members that
    came back, the last after `back_after_ms`; `unclear`: members whose return is unknown;
    `static`: static members; `stayed_in`: number of groups in which others stayed members,
    null: unknown; `place`: the first line, as FILE:LINE.
    """

    groups: tuple[str, ...]
    from_ms: int
    until_ms: int
    count: int
    back: int
    unclear: int
    static: int
    back_after_ms: int | None
    processes: tuple[Process, ...]
    place: str
    stayed_in: int | None = None


class Failover(RowPart, frozen=True):
    """A coordinator that read a group, at `at_ms`.

    `expired`: members from before that expired after it, the last at `until_ms`; `unloaded_ms`:
    time at which the coordinator before gave the group up, where the log shows it; `is_loaded`:
    false where no broker of the log reads the group again, so that `at_ms` is the time of
    giving it up; `missed`: generations that began at a broker that is not in the log, null
    where that is unknown; `cut_off`: rebalances that the change ended.
    """

    group: str
    at_ms: int
    expired: int
    until_ms: int | None
    place: str
    unloaded_ms: int | None = None
    is_loaded: bool = True
    missed: int | None = None
    cut_off: int = 0

    @property
    def away_ms(self) -> int | None:
        """Time without a coordinator in the log; None where the log doesn't show it."""
        if self.unloaded_ms is None or not self.is_loaded:
            return None
        return self.at_ms - self.unloaded_ms


class GroupKind(Enum):
    """The kind of a group's members, as far as the log shows it."""

    CONSUMER = "consumers"
    CONNECT = "Connect workers"
    STREAMS = "Streams threads"


class MembersLeft(RowPart, frozen=True):
    """State of a group at the end of the log.

    `static`, `dynamic`: number of its members; None where the log doesn't show all of them.
    `rebalancing_ms`: start of a rebalance that wasn't over; None: there is none.
    `session_ms`: their longest session timeout; `assignors`: those that all offer; as far as known.
    `kind`: of its members; `empty`: the time since which it has none; `began_ms`: time of the first
    event in the log, or since the group ended before; `began_rebalancing`: the log begins in a
    rebalance; `library`: the client library of all members that show it, "" where none does, or
    they differ; `most_members`: the most that it had in a generation, None where it isn't certain.
    """

    group: str
    static: int | None
    dynamic: int | None
    rebalancing_ms: int | None = None
    session_ms: int | None = None
    assignors: tuple[str, ...] = ()
    kind: GroupKind = GroupKind.CONSUMER
    empty: EmptySpan | None = None
    began_ms: int | None = None
    began_rebalancing: bool = False
    library: str = ""
    most_members: int | None = None


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
    | Restart
    | Expiration
    | PendingId
    | Loop
    | Failover
    | EmptySpan
    | OffsetsRemoved
    | MembersLeft
)
