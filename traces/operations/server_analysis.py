"""Follow one group in `server.log`: the same rows as from a request log, as far as it shows them.

A coordinator writes the reason of each rebalance, so causes are read, not inferred.  It names
members by their ids: that of a dynamic member begins with its client id, that of a static one with
its instance id.  Hosts, heartbeats and answers are not in this log, so some remedies are unknown.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fencepost.traces.logs.server_log import CoordinatorEvent, MessageKind
from fencepost.traces.operations.operator_rows import (
    NOT_POLLED,
    Cause,
    End,
    MembersLeft,
    PollTimeout,
    Process,
    Rebalance,
    Remedy,
    Row,
    StaticLeave,
)
from fencepost.traces.operations.ownership import (
    PATIENCE_MS,
    FencedRequest,
    LifeLines,
    LogMember,
    Roster,
)
from fencepost.traces.operations.rebalances import BEFORE_LOG, CAUSE_UNSEEN, remedy_of
from fencepost.traces.operations.restarts import (
    Arrival,
    Departure,
    Deployments,
    LogStart,
    RestartMatcher,
    alone,
    long_enough_ms,
)

EXPIRED = -1
"""Session timeout of a member that expired: the log doesn't have it."""
SAME_NAME = "several processes have its client id, and server.log names no hosts"
UNNAMED = "this coordinator doesn't log a dynamic member that joins while a rebalance runs"
GOER_UNSEEN = "the log doesn't show who went"
SENDER_UNSEEN = "the log doesn't show whether the static member or an administrator sent LeaveGroup"
"""Reasons why the remedy of a rebalance may be unknown."""


@dataclass(slots=True)
class ServerRound:
    """A rebalance in server.log, from the line that prepares it on.

    `also`: further causes before it was over; `gone`, `came`: the departure or arrival that caused
    it.
    """

    start_ms: int
    place: str
    cause: Cause
    who: str
    before: int | None
    also: set[Cause] = field(default_factory=set)
    gone: Departure | None = None
    came: Arrival | None = None
    static_leave: bool = False
    is_sender_unseen: bool = False
    named: tuple[str, ...] = ()
    """The member ids that its LeaveGroup named, or (old coordinator since 3.2) that it removed."""
    generation: int = 0
    completed_ms: int = 0
    after: int | None = None
    stable_ms: int | None = None


def rebalance_row(
    group: str, round_: ServerRound, matcher: RestartMatcher, unnamed: Iterable[int]
) -> Rebalance:
    """Make the row of a rebalance that no later line can change.

    `unnamed`: times in ms at which dynamic members may have joined without being named in the log.
    """
    gone, came = round_.gone, round_.came
    if came is None and gone is not None:
        came = matcher.return_of(gone)
    remedy, away_ms = remedy_of(gone, came, is_static_leave=round_.static_leave)
    unclear = ""
    if remedy is Remedy.NOTHING:
        unclear = _unclear(round_, matcher, unnamed)
    elif remedy is Remedy.NO_LEAVE and round_.is_sender_unseen:
        unclear = SENDER_UNSEEN
    left = gone is not None and gone.member.session_ms != EXPIRED
    helps = remedy in {Remedy.STATIC, Remedy.LONGER_SESSION} and left
    return Rebalance(
        group,
        round_.generation,
        round_.start_ms,
        round_.completed_ms,
        round_.stable_ms,
        round_.cause,
        round_.who,
        tuple(sorted(round_.also - {round_.cause}, key=lambda cause: cause.value)),
        round_.before,
        round_.after,
        Remedy.UNKNOWN if unclear else remedy,
        away_ms if left else None,
        long_enough_ms(away_ms) if helps and away_ms is not None else None,
        unclear,
        round_.place,
        None if round_.stable_ms is None else round_.stable_ms - round_.start_ms,
    )


def _unclear(round_: ServerRound, matcher: RestartMatcher, unnamed: Iterable[int]) -> str:
    """Return the reason why the remedy of a rebalance is unknown, or ""."""
    gone, came = round_.gone, round_.came
    if round_.cause is Cause.UNKNOWN:
        return CAUSE_UNSEEN
    if gone is None and round_.cause in {Cause.LEAVE, Cause.EXPIRY}:
        return GOER_UNSEEN
    if matcher.is_unclear(gone, came):
        return SAME_NAME
    if came is not None and matcher.start.is_near(came.at_ms, PATIENCE_MS):
        return BEFORE_LOG
    if gone is None or gone.member.instance_id is not None:
        return ""
    return UNNAMED if any(0 <= ms - gone.at_ms <= PATIENCE_MS for ms in unnamed) else ""


_UUID = re.compile(r"-[A-Za-z0-9_-]{22}$|-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_REASONS: tuple[tuple[re.Pattern[str], Cause], ...] = tuple(
    (re.compile(pattern), cause)
    for pattern, cause in (
        (r"^Adding new member (?P<who>.+?) with group instance id", Cause.NEW_MEMBER),
        (r"^[Rr]emoving member (?P<who>.*?) on LeaveGroup", Cause.LEAVE),
        (r"^explicit `LeaveGroup` request for \((?P<who>.*?)\) members", Cause.LEAVE),
        (r"^[Rr]emoving member (?P<who>.+?) on heartbeat expiration", Cause.EXPIRY),
        (r"^[Rr]emoving .* on pending sync request expiration", Cause.EXPIRY),
        (r"^[Ll]eader (?P<who>.+?) re-joining group during", Cause.LEADER_REJOIN),
        (r"^Updating metadata for (?:static )?member (?P<who>\S+)", Cause.MEMBER_REJOIN),
        (r"will change because static member (?P<who>\S+)", Cause.MEMBER_REJOIN),
        (r"^Freshly-loaded group", Cause.FAILOVER),
    )
)


def stated_cause(reason: str) -> tuple[Cause, str]:
    """Return the cause in a coordinator's reason, and the member id in it."""
    for pattern, cause in _REASONS:
        if match := pattern.search(reason):
            return cause, match.groupdict().get("who") or ""
    return Cause.UNKNOWN, ""


def process_of(member_id: str, instance_id: str | None) -> Process:
    """Return the process of a member: a client id if the member is dynamic, else its member id."""
    return Process(name_in(member_id) if instance_id is None else member_id, "")


def name_in(member_id: str) -> str:
    """Return the client id or instance id that a member id begins with."""
    return _UUID.sub("", member_id)


def ids_in(members: str) -> list[str]:
    """Return the member ids of a printed list."""
    return re.findall(r"memberId=([^,)]+)", members) or list(filter(None, members.split(", ")))


_UNKNOWN_ID = "-?"
"""End of the name of a replacement whose member id is not in the log yet."""
_UNSEEN = "a member that joined during a rebalance"
_PURGE_EVERY = 200
_REMEMBERED = 1000


class ServerAnalysis:
    """The analysis of one group, line by line; finished rows go to `emit`.

    `since_ms`: begin of its broker's log.
    """

    def __init__(self, group: str, emit: Callable[[Row], None], since_ms: int) -> None:
        self.group = group
        self._emit = emit
        self._start = LogStart(since_ms)
        self._roster = Roster()
        self._named: dict[str, CoordinatorEvent] = {}
        self._matcher = RestartMatcher(self._start)
        self._deployments = Deployments(group, emit, self._start)
        self._lines = LifeLines(group, emit, self._deployments.remove_restart)
        self._open: ServerRound | None = None
        self._done: deque[ServerRound] = deque()
        self._last_departed: Departure | None = None
        self._count: int | None = None
        self._leaving: list[CoordinatorEvent] = []
        self._logged_counts: tuple[int, int] | None = None
        """Numbers of static and dynamic members in the line of the last assignment."""
        self._complete = self._names = False
        """True if all members are known, but for `_unseen`; and True if this release logs the ids
        of dynamic members that join."""
        self._unseen: list[CoordinatorEvent] = []
        """For each unknown member the line at which it had joined at the latest."""
        self._unnamed: deque[int] = deque(maxlen=_REMEMBERED)
        """Times in ms at which dynamic members may have joined that the log doesn't name."""
        self._taken = self._unknown = 0

    def take(self, event: CoordinatorEvent) -> None:
        """Take the next line that is about this group."""
        self._taken += 1
        if self._taken % _PURGE_EVERY == 0:
            self._purge(event.at_ms)
        if event.kind is MessageKind.LEFT:
            self._leaving.append(event)
        elif (
            event.kind is MessageKind.PREPARING
            and stated_cause(event.fields["reason"])[0] is Cause.LEAVE
        ):
            self._prepare(event)
            self._leave()
        else:
            self._leave()
            self._other(event)

    def _leave(self) -> None:
        """Take the waiting leaves.

        The line that prepares their rebalance stands before or after theirs, and has more details.
        """
        leaving, self._leaving = self._leaving, []
        for event in leaving:
            self._left(event)

    def _other(self, event: CoordinatorEvent) -> None:
        match event.kind:
            case MessageKind.PREPARING:
                self._prepare(event)
            case MessageKind.STABILIZED:
                self._stabilized(event)
            case MessageKind.ASSIGNED:
                self._assigned(event)
            case MessageKind.EMPTY:
                self._open, self._count, self._complete = None, 0, True
                self._logged_counts = None
                self._start.at_ms = None
                self._unseen.clear()
            case MessageKind.NAMED:
                self._named[event.member_id], self._names = event, True
            case MessageKind.JOINED:
                self._came(event.member_id, event.instance_id, event)
            case MessageKind.REPLACED:
                self._replaced(event)
            case MessageKind.FENCED:
                self._fenced(event)
            case MessageKind.FAILED:
                self._went(event.member_id, End.EXPIRED, event)
            case MessageKind.DROPPED:
                for member_id in ids_in(event.fields.get("members", "")):
                    self._went(member_id, End.DROPPED, event)
            case MessageKind.LOADED:
                self._open = None

    def end(self, now_ms: int) -> None:
        """End the log."""
        self._leave()
        members = list(self._roster.members.values())
        static = sum(member.instance_id is not None for member in members)
        dynamic = len(members) - static + len(self._unseen)
        known = (static, dynamic) if self._complete else self._logged_counts or (None, None)
        since_ms = self._open.start_ms if self._open else None
        self._emit(MembersLeft(self.group, known[0], known[1], since_ms))
        for member in members:
            self._lines.end(member, End.STILL_THERE, None, None)
        while self._done:
            self._judge(self._done.popleft())
        self._lines.close()
        self._deployments.close(now_ms)

    def _purge(self, now_ms: int) -> None:
        """Emit and forget the rows that no later line can change."""
        self._lines.purge(now_ms)
        while self._done and now_ms - self._done[0].completed_ms > 2 * PATIENCE_MS:
            self._judge(self._done.popleft())
        self._deployments.purge(now_ms, self._done[0].completed_ms if self._done else None)
        self._matcher.purge(now_ms)

    # Rebalances

    def _prepare(self, event: CoordinatorEvent) -> None:
        cause, who = stated_cause(event.fields["reason"])
        if event.generation == 0:
            self._complete, self._start.at_ms = True, None
        round_ = ServerRound(event.at_ms, event.place, cause, "", self._count)
        self._open, self._logged_counts = round_, None
        if cause is Cause.NEW_MEMBER:
            member = self._roster.members.get(who)
            if member is None:
                member = self._came(who, None, event)
            round_.came = Arrival(member.process, member.instance_id, event.at_ms)
            round_.gone = self._matcher.departure_before(round_.came)
            round_.who = str(member.process)
        elif cause in {Cause.LEAVE, Cause.EXPIRY}:
            round_.named = tuple(ids_in(who))
            last = self._last_departed
            if last is not None and last.member.member_id == who and cause is Cause.EXPIRY:
                round_.gone, round_.who = last, str(last.member.process)
        elif who:
            known = self._roster.members.get(who)
            round_.who = str(process_of(who, None) if known is None else known.process)

    def _stabilized(self, event: CoordinatorEvent) -> None:
        for named in list(self._named.values()):
            self._came(named.member_id, None, named)
        round_, self._open = self._open, None
        if round_ is None:
            round_ = ServerRound(event.at_ms, event.place, Cause.UNKNOWN, "", self._count)
        round_.generation, round_.completed_ms = event.generation or 0, event.at_ms
        members = event.fields.get("members")
        self._count = round_.after = None if members is None else int(members)
        if not (event.is_new or self._names) and (self._count is None or not self._complete):
            self._unnamed.append(event.at_ms)
        elif self._complete and self._count is not None:
            # The old coordinator doesn't log a member that joins while a rebalance runs.
            known = len(self._roster.members) + len(self._unseen)
            for _ in range(self._count - known):
                self._unseen.append(event)
                self._unnamed.append(event.at_ms)
                self._deployments.add_arrival(_UNSEEN, event.at_ms)
        self._done.append(round_)

    def _assigned(self, event: CoordinatorEvent) -> None:
        if "static" in event.fields:
            everyone, static = int(event.fields["everyone"]), int(event.fields["static"])
            self._logged_counts = static, everyone - static
        for round_ in self._done:
            if round_.generation == event.generation and round_.stable_ms is None:
                round_.stable_ms = event.at_ms

    def _judge(self, round_: ServerRound) -> None:
        gone = round_.gone
        lost = None if gone is None or round_.came is not None else (gone.at_ms, gone.who)
        self._deployments.add_rebalance(round_.completed_ms, lost)
        self._emit(rebalance_row(self.group, round_, self._matcher, self._unnamed))

    def _beside(self, cause: Cause) -> None:
        if self._open is not None:
            self._open.also.add(cause)

    # Members

    def _came(
        self, member_id: str, instance_id: str | None, event: CoordinatorEvent, is_new: bool = True
    ) -> LogMember:
        """Add a member that was not there; `event`: the line that shows it.

        `is_new` false: its arrival was counted before, without its name.
        """
        self._named.pop(member_id, None)
        known = self._roster.members.get(member_id)
        if known is not None:
            return known
        if instance_id is None and "Some(" in (reason := event.fields.get("reason", "")):
            instance_id = reason.partition("Some(")[2].partition(")")[0]
        member = self._member(member_id, instance_id, event, begins=True)
        self._beside(Cause.NEW_MEMBER)
        if instance_id is not None:
            self._lines.take_over(None, member)
        self._roster.add(member)
        self._matcher.arrivals.append(Arrival(member.process, instance_id, event.at_ms))
        if is_new:
            self._deployments.add_arrival(instance_id or member.process.client_id, event.at_ms)
        return member

    def _replaced(self, event: CoordinatorEvent) -> None:
        instance_id, old_id = event.instance_id or "", event.fields["old"]
        old = self._known(old_id, instance_id)
        if old is None:
            old = self._member(old_id, instance_id, event, begins=False)
            self._roster.add(old)
        member_id = event.member_id
        if not member_id:
            self._unknown += 1
            member_id = f"{instance_id}{_UNKNOWN_ID}{self._unknown}"
        new = self._member(member_id, instance_id, event, begins=True)
        self._lines.take_over(old, new)
        self._deployments.add_restart(instance_id, event.at_ms)
        self._roster.remove(old)
        self._roster.add(new)
        self._matcher.arrivals.append(Arrival(new.process, instance_id, event.at_ms))

    def _fenced(self, event: CoordinatorEvent) -> None:
        instance_id = event.instance_id or ""
        holder = self._known(event.fields.get("holder", ""), instance_id)
        process = process_of(event.member_id, instance_id)
        times = (event.at_ms, event.at_ms)
        api = event.fields.get("operation", "")
        row = (instance_id, event.member_id, process, *times, api)
        self._lines.add_fencing(FencedRequest(*row, began=False, place=event.place), holder)

    def _left(self, event: CoordinatorEvent) -> None:
        member = self._known(event.member_id, event.instance_id)
        instance_id = event.instance_id if member is None else member.instance_id
        itself = self._left_itself(event)
        if member is not None and "client_id" in event.fields:
            member.process = Process(event.fields["client_id"], event.fields["host"])
        end = End.REMOVED if itself is False else End.LEFT
        gone = self._went(event.member_id, end, event, instance_id)
        if NOT_POLLED in event.fields.get("reason", ""):
            who = (instance_id, gone.member.process)
            self._emit(PollTimeout(self.group, *who, event.at_ms, event.place))
        if instance_id is None:
            return
        by = Process("an administrator", "") if itself is False else gone.member.process
        row = (instance_id, event.member_id, gone.member.process, by, itself, event.at_ms)
        self._emit(StaticLeave(self.group, *row, event.place))
        if self._open is not None and self._open.gone is gone:
            self._open.static_leave = itself is not False
            self._open.is_sender_unseen = itself is None

    def _left_itself(self, event: CoordinatorEvent) -> bool | None:
        """Return True if a member sent its LeaveGroup itself; None if the log doesn't show it.

        An administrator names the instance id alone, and a member its own id.  The line that
        prepares the rebalance has the ids of the request; where the other line has the client id,
        too, it has the member's id for any sender.
        """
        round_ = self._open
        named = round_.named if round_ is not None and round_.cause is Cause.LEAVE else None
        if named == ():
            return False
        reason = event.fields.get("reason", "")
        if "by an admin" in reason:
            return False
        is_named = "client_id" not in event.fields and event.member_id in (named or ())
        return True if is_named or "consumer" in reason else None

    def _went(
        self, member_id: str, end: End, event: CoordinatorEvent, instance_id: str | None = None
    ) -> Departure:
        """Remove a member; `event`: the line that shows its departure."""
        self._named.pop(member_id, None)
        member = self._known(member_id, instance_id)
        if member is None and instance_id is None and self._unseen:
            member = self._came(member_id, None, self._unseen.pop(0), is_new=False)
        elif member is None:
            member = self._member(member_id, instance_id, event, begins=False)
        member.heard_ms = event.at_ms
        if end is not End.LEFT and end is not End.REMOVED:
            member.session_ms = EXPIRED
        gone = Departure(member, event.at_ms, alone(member, self._roster.members.values()))
        self._last_departed = gone
        self._roster.remove(member)
        self._lines.end(member, end, event.at_ms, None)
        self._matcher.departures.append(gone)
        self._deployments.add_departure(gone.who, event.at_ms)
        left, round_ = end in {End.LEFT, End.REMOVED}, self._open
        self._beside(Cause.LEAVE if left else Cause.EXPIRY)
        if round_ is not None and round_.gone is None and round_.cause is Cause.LEAVE and left:
            round_.gone, round_.who = gone, str(member.process)
        return gone

    def _known(self, member_id: str, instance_id: str | None) -> LogMember | None:
        """Return a member by its id, which may be new in the log, or by its instance id."""
        member = self._roster.members.get(member_id)
        if member is not None or not member_id:
            return member
        instance_id = instance_id or name_in(member_id)
        holder = self._roster.holder(instance_id)
        if holder is None or _UNKNOWN_ID not in holder.member_id[len(instance_id) :]:
            return None
        self._roster.remove(holder)
        holder.member_id, holder.process = member_id, process_of(member_id, instance_id)
        self._roster.add(holder)
        return holder

    @staticmethod
    def _member(
        member_id: str, instance_id: str | None, event: CoordinatorEvent, *, begins: bool
    ) -> LogMember:
        process = process_of(member_id, instance_id)
        row = (member_id, instance_id, process, event.at_ms, begins, event.at_ms, event.place)
        return LogMember(*row)
