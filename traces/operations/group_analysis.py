"""Follow one group: its members, replacements, departures and rebalances.

There is one analysis for all sources: a reader makes events of a request log (`request_events`), of
server.log (`server_events`) or of a simulation.  Other modules make life lines, rebalances and
deployments of what happens here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fencepost.traces.operations.group_events import (
    Assigned,
    Begun,
    Deleted,
    Emptied,
    Fenced,
    GroupEvent,
    Heard,
    Joined,
    Left,
    Loaded,
    MemberLoaded,
    Moved,
    Named,
    NameExpired,
    NameReturned,
    NameUsed,
    OffsetsDeleted,
    Prepared,
    Removed,
    Sender,
    Unknown,
    Unloaded,
)
from fencepost.traces.operations.group_kind import KnownKind
from fencepost.traces.operations.interruptions import EmptyTimes, Failovers, RemovedOffsets
from fencepost.traces.operations.loops import Loops
from fencepost.traces.operations.operator_rows import (
    NOT_POLLED,
    UNWANTED,
    Cause,
    End,
    MembersLeft,
    Process,
    Row,
    StaticLeave,
    ThrownOut,
)
from fencepost.traces.operations.ownership import (
    LATE_MS,
    PATIENCE_MS,
    LifeLines,
    LogMember,
    Roster,
    offers_of,
)
from fencepost.traces.operations.pending_ids import PendingIds
from fencepost.traces.operations.rebalances import (
    CutOffRebalance,
    Join,
    JudgedRebalance,
    MemberLeave,
    Rebalances,
    Round,
)
from fencepost.traces.operations.restarts import (
    GAP_MS,
    Arrival,
    Departure,
    Deployments,
    LogStart,
    RestartMatcher,
    alone,
)
from fencepost.traces.operations.returns import Returns

_QUIET_MS = 6 * 60_000
"""A group without a request for this long beyond its members' timeouts is over; a rebalance parks
everybody for five minutes by default."""
_PURGE_EVERY = 500
"""Number of a group's own events, so that those of other groups have no influence."""
_UNSEEN = "a member that joined during a rebalance"


class GroupAnalysis:
    """The analysis of one group, event by event; finished rows go to `emit`.

    `hears`: the source has every request of a member, so that silence is evidence.  `since_ms`: the
    source begins then, in the middle of the group's life; None: it has the whole life.
    `on_rebalance`: gets each rebalance with all that is known of it, and those that were cut off.
    """

    def __init__(
        self,
        group: str,
        emit: Callable[[Row], None],
        *,
        hears: bool,
        since_ms: int | None,
        on_rebalance: Callable[[JudgedRebalance | CutOffRebalance], object] | None = None,
    ) -> None:
        self.group = group
        self._emit = emit
        self._hears = hears
        self._on_rebalance = on_rebalance
        self._begin(since_ms)

    def _begin(self, since_ms: int | None) -> None:
        self.over_ms = 0
        self._taken = self._nameless = 0
        self._roster = Roster()
        self._pending = PendingIds(self.group, self._emit)
        self._confirmed = -1
        self._start = LogStart(since_ms)
        self._matcher = RestartMatcher(self._start)
        self._deployments = Deployments(self.group, self._emit, self._start)
        self._lines = LifeLines(
            self.group, self._emit, self._deployments.remove_restart, hears=self._hears
        )
        self._loops = Loops(self.group, self._emit)
        row = (self.group, self._matcher, self._add_rebalance, self._on_rebalance)
        self._rebalances = Rebalances(*row)
        evidence = (self._matcher, self._rebalances.stayed_after)
        self._returns = Returns(self.group, self._emit, *evidence, hears=self._hears)
        self._empty = EmptyTimes(self.group, self._emit)
        self._removed_offsets = RemovedOffsets(self.group, self._emit)
        self._failovers = Failovers(self.group, self._emit)
        self._began_ms: int | None = None
        self._place = ""
        """The place of the latest event."""
        self._kind = KnownKind()
        self._count: int | None = None
        """Number of members of the last generation, where the source counts them."""
        self._assigned: Assigned | None = None
        """The last assignment, if no rebalance began since."""
        self._are_all_static = False
        """True if no member was dynamic at the last assignment, as the source counts them."""
        self._unseen: list[Begun] = []
        """For each member that the source doesn't name the generation in which it was at first."""

    @property
    def members(self) -> list[tuple[str, str]]:
        """The members at present: id, and name for people."""
        return [
            (member.instance_id or member.member_id, member.instance_id or str(member.process))
            for member in self._roster.members.values()
        ]

    def take(self, event: GroupEvent) -> None:
        """Take the next event."""
        if self._hears:
            if self.over_ms and event.done_ms > self.over_ms:
                self.end(self.over_ms)
                self._begin(None)
            self.over_ms = max(self.over_ms, event.done_ms + _QUIET_MS)
        if self._began_ms is None:
            self._began_ms = event.at_ms
        self._place = event.place
        self._taken += 1
        if self._taken % _PURGE_EVERY == 0:
            self._purge(event.done_ms)
        if self._failovers.is_away and not isinstance(event, Unloaded | Loaded | MemberLoaded):
            self._failovers.end()  # no line shows when it was read
            self._start.at_ms = event.at_ms
        match event:
            case Heard():
                self._heard(event)
            case Joined():
                self._joined(event)
            case Named():
                self._rebalances.names_joins |= not self._hears
                self._note_kind(event.process)
                self._pending.add(event)
            case NameUsed():
                row = (event.at_ms, event.done_ms, event.place, event.member_id, None)
                self._came(Joined(*row, Sender(event.process)))
            case NameReturned():
                self._pending.use(event.member_id)
            case NameExpired():
                self._pending.end(event, self._rebalances.open_ms)
            case Left():
                self._left(event)
            case Removed():
                self._removed(event)
            case Fenced():
                self._fenced(event)
            case Unknown():
                self._thrown_out(event, event.member_id, event.sender.process)
            case Moved():
                self._rebalances.note_move(event.done_ms)
            case Prepared():
                self._prepared(event)
            case Begun():
                self._begun(event)
            case Assigned():
                self._assigned = event
                self._are_all_static = event.dynamic == 0
                self._rebalances.note_assignment(event.generation, event.done_ms)
            case Emptied():
                self._emptied(event)
            case Deleted():
                self._empty.delete(event.at_ms, event.place)
                self._removed_offsets.add(event)
                self._clear()
            case OffsetsDeleted():
                self._removed_offsets.add(event)
            case Loaded():
                self._load(event)
            case MemberLoaded():
                self._load(event)
                self._known(event.member_id, event, event.instance_id, event.process)
            case Unloaded():
                self._unload(event)

    def _purge(self, now_ms: int) -> None:
        """Emit and forget the rows that no later event can change."""
        self._lines.purge(now_ms)
        self._rebalances.purge(now_ms)
        self._loops.purge(now_ms - 2 * PATIENCE_MS)  # all rebalances before are judged
        self._returns.purge(now_ms)
        self._expire_names(now_ms)
        self._failovers.purge(now_ms)
        self._deployments.purge(now_ms, self._rebalances.first_open_ms)
        # The last rebalance is not judged before the next one begins, hours later maybe.
        self._matcher.purge(min(now_ms, self._rebalances.first_open_ms or now_ms))

    def end(self, now_ms: int) -> None:
        """End the group, or the log."""
        left, expired = [0, len(self._unseen)], []
        size, known = self._size()
        settled, settings = self._rebalances.is_settled, self._roster.settings()
        for member in list(self._roster.members.values()):
            deadline_ms = member.deadline_ms
            if deadline_ms is None and self._hears:
                self._remove(member, End.UNKNOWN, None)
            elif (
                self._hears
                and deadline_ms is not None
                and now_ms - deadline_ms > member.rebalance_ms * (not settled(member))
            ):
                gone = self._remove(member, End.SILENT, deadline_ms, None, self._place)
                expired.append(gone)
            else:
                end = End.UNKNOWN if self._failovers.is_away else End.STILL_THERE
                self._remove(member, end, None)
                left[member.instance_id is None] += 1
        assigned = self._assigned
        logged = (None, None) if assigned is None else (assigned.static, assigned.dynamic)
        static, dynamic = left if self._roster.complete else logged
        since_ms = self._rebalances.open_ms
        if self._hears:
            for gone in expired:
                self._rebalances.note_expiry(gone, now_ms)
            since_ms = self._rebalances.unfinished_ms() if any(left) else None
            if not any(left):
                self._note_empty(size, known=known)
        self._expire_names(None)
        if since_ms is not None:
            self._rebalances.cut(now_ms, self._place, size, known=known)
        self._lines.close()
        self._rebalances.close()
        self._loops.close()
        self._returns.purge(None)
        self._failovers.end()
        self._removed_offsets.end(None)
        self._deployments.close(now_ms)
        row = (self.group, static, dynamic, since_ms, *settings, self._kind.kind, self._empty.open)
        of_clients = self._kind.library, self._roster.size.most
        self._emit(MembersLeft(*row, self._began_ms, self._rebalances.began_before, *of_clients))

    def _add_rebalance(self, judged: JudgedRebalance) -> None:
        """Emit a rebalance, and the restart that it shows."""
        if self._on_rebalance is not None:
            self._on_rebalance(judged)
        row, gone, came, lost = judged.row, judged.gone, judged.came, judged.lost
        if lost is None or lost.end is not End.SILENT:
            self._deployments.add_rebalance(
                row.completed_ms, None if lost is None else (lost.at_ms, lost.who)
            )
        self._emit(row)
        if lost is None or not lost.is_poll_timeout:
            self._loops.add(judged)
        if gone is not None and came is not None:
            self._returns.add_restart(gone, came)

    def _load(self, event: Loaded | MemberLoaded) -> None:
        """Take a load of the group, or of its partition: several lines may tell of one."""
        is_back = self._failovers.is_away
        is_first = self._failovers.load(event)
        if self._failovers.missed == 0:
            self._start.end_gap()
        elif is_back:
            self._start.at_ms = event.at_ms
        if is_first:
            self._rebalances.forget()

    def _unload(self, event: Unloaded) -> None:
        """Take the end of the coordinator: what happens elsewhere is not in the log."""
        generation, is_open = self._rebalances.generation, self._rebalances.open_ms is not None
        if not self._failovers.unload(event, generation, cut_off=is_open):
            return
        self._rebalances.forget()
        self._empty.end(event.at_ms)
        self._unseen.clear()
        self._start.begin_gap(event.at_ms)
        self._roster.complete, self._count, self._assigned = False, None, None

    def _note_kind(self, process: Process, protocol: str = "", protocols: str = "") -> None:
        self._kind.note(process, protocol, protocols)
        self._rebalances.can_be_static = self._kind.can_be_static

    # Requests of members

    def _heard(self, event: Heard) -> None:
        """Take a heartbeat, a sync or a commit."""
        member = self._roster.members.get(event.member_id)
        if member is None:
            replaced = self._lines.was_replaced(event.instance_id, event.member_id)
            gone = replaced or self._matcher.left_after(event.member_id, event.at_ms)
            if not gone:  # else handled before the join or leave that ended it, and written after
                member = LogMember.of(event, begins=False, heard_ms=event.at_ms)
                self._take_over(member)
                self._roster.add(member)
        if member is not None:
            member.restart_session(event)
            if event.is_notified:
                self._rebalances.note_notice(member.member_id, event.at_ms, event.done_ms)
                self._extend(event, member.rebalance_ms)
        if event.confirms is not None:
            self._confirmed = event.confirms
        if event.assigned is not None:
            if member is not None:
                member.synced = event.assigned
            self._rebalances.note_assignment(event.assigned, event.done_ms)

    def _extend(self, event: GroupEvent, ms: int) -> None:
        if self._hears:
            self.over_ms = max(self.over_ms, event.done_ms + ms + _QUIET_MS)

    def _fenced(self, event: Fenced) -> None:
        holder = self._roster.holder(event.instance_id)
        if event.holder_id:
            holder = self._roster.find(event.holder_id, event.instance_id)
        self._lines.add_fencing(event, holder)

    # Joins

    def _joined(self, event: Joined) -> None:
        if event.sent_id is None:
            self._came(event)
        else:
            self._join(event, event.sent_id)

    def _came(self, event: Joined, *, is_new: bool = True) -> LogMember:
        """Add a member that the source names, without its request.

        `is_new` false: its arrival was counted before, without its name.
        """
        self._pending.use(event.member_id)
        self._note_kind(event.sender.process)
        self._note_use(event.at_ms)
        known = self._roster.members.get(event.member_id)
        if known is not None:
            return known
        if event.instance_id is not None:
            self._note_static(event.instance_id)
        member = LogMember.of(event, begins=True, heard_ms=event.at_ms)
        member.session_ms, member.rebalance_ms = event.session_ms, event.rebalance_ms or 0
        if not member.member_id:
            self._nameless += 1
            member.is_nameless = True
            member.member_id = f"{member.instance_id}-?{self._nameless}"
            member.process = Process(member.member_id, "")
        if event.replaces is not None:
            old = Process(event.replaces, "")
            self._known(event.replaces, event, event.instance_id, old)
        came = Arrival(member.process, member.instance_id, event.at_ms, new_id=member.member_id)
        if event.replaces is None:
            self._rebalances.note_arrival(came)
        if is_new:
            self._take_over(member)
        else:
            self._deployments.name_arrival(member.member_id)
        self._roster.add(member)
        self._note_came(came)
        return member

    def _note_use(self, at_ms: int) -> None:
        """Note that the group has a member, or gets one."""
        self._empty.end(at_ms)
        self._removed_offsets.end(at_ms)

    def _note_came(self, came: Arrival) -> None:
        self._matcher.add_arrival(came)
        self._returns.note_arrival(came)

    def _note_static(self, instance_id: str) -> None:
        """Note that an instance id exists: members that expired under its name had it."""
        for gone in self._matcher.unknown_before(instance_id):
            gone.member.become_static(instance_id)
            self._lines.end(gone.member, gone.end, gone.at_ms, None)

    def _join(self, event: Joined, sent_id: str) -> None:
        """Take a join with its request and answer."""
        member_id = event.member_id
        self._note_kind(event.sender.process, event.protocol)
        self._kind.note_library(
            event.sender.process, " ".join(row["name"] for row in event.protocols)
        )
        round_ = self._round(event)
        self._note_use(event.at_ms)
        fresh = not sent_id or sent_id in self._pending
        self._pending.use(sent_id)
        known = self._roster.members.get(member_id)
        takes_part = event.at_ms <= round_.completed_ms and member_id not in round_.joins
        holder = self._roster.holder(event.instance_id)
        if takes_part and fresh and holder is not None and self._had_expired(holder, event):
            expired = (holder, End.EXPIRED, holder.deadline_ms, None, event.place)
            round_.evidence.expired.append(self._remove(*expired))
            holder = None
        old = known or holder
        old_offers = old.offers if old is not None else ()
        member = known or LogMember.of(event, begins=fresh, heard_ms=event.done_ms)
        member.session_ms = event.session_ms
        member.rebalance_ms = event.rebalance_ms or 0
        member.offers = offers_of(event.protocols)
        if known is not None:
            member.restart_session(event)
        else:
            self._add(member, fresh=fresh)
        if takes_part:
            row = (event.at_ms, fresh, event.leads, member, old, old_offers, member.offers)
            round_.joins[member_id] = Join(*row)
        if event.listed:
            self._compare(round_, event.listed)
        if fresh and (before := self._matcher.former_member(member)) is not None:
            # It noticed the end of its session by itself.
            self._thrown_out(event, before.member_id, event.sender.process)
        self._extend(event, max(member.session_ms or 0, member.rebalance_ms))

    def _had_expired(self, holder: LogMember, event: Joined) -> bool:
        """Return True if a static member's session was over before this join for its instance id.

        A holder with a parked request would have got FENCED_INSTANCE_ID.
        """
        deadline_ms = holder.deadline_ms
        overdue = deadline_ms is not None and deadline_ms < event.at_ms
        return overdue and not self._lines.knows_fenced(holder)

    def _round(self, event: Joined) -> Round:
        """Return the round of the generation in the answer to a join."""
        generation = event.generation or 0
        current = self._rebalances.current
        if current is not None and current.generation == generation:
            return current
        self._purge(event.done_ms)
        self._pending.note_held(event.done_ms)
        if generation == 1:
            self._start.at_ms = None
        if current is not None and generation > current.generation + 1:
            self._all_expired(event)
        known = self._roster.complete or generation == 1
        before = len(self._roster.members) + self._rebalances.gone
        # The answer to a static member that is restarted has the current generation.
        is_new = current is not None or generation != self._confirmed
        row = (generation, event.done_ms, event.place, before)
        return self._rebalances.begin(*row, known=known, is_new=is_new)

    def _all_expired(self, event: Joined) -> None:
        """Take the ends of all sessions where a generation is missing: the group was empty."""
        members, (size, known) = list(self._roster.members.values()), self._size()
        deadlines = [member.deadline_ms for member in members]
        if not known or not all(ms is not None and ms < event.at_ms for ms in deadlines):
            return
        for member in sorted(members, key=lambda member: member.deadline_ms or 0):
            gone = self._remove(member, End.EXPIRED, member.deadline_ms, None, event.place)
            self._rebalances.note_expiry(gone, gone.at_ms)
        self._note_empty(size, known=known)

    def _size(self) -> tuple[int, bool]:
        """Return the number of members before the next rebalance, and if all are known."""
        if self._hears:
            gone = self._rebalances.gone
            return len(self._roster.members) + gone, self._roster.complete
        return self._count or 0, self._count is not None

    def _note_empty(self, size: int, *, known: bool) -> None:
        """Note that the last member went, where the source has no line about it."""
        last = self._rebalances.last_gone
        if not self._hears or not self._roster.complete or self._roster.members or last is None:
            return
        self._rebalances.empty(last.at_ms, last.place, size, known=known)
        self._empty.begin(last.at_ms, last.place, last)

    def _add(self, member: LogMember, *, fresh: bool) -> None:
        """Add a member id that was not in the roster."""
        self._take_over(member)
        self._roster.add(member)
        if fresh:
            row = (member.process, member.instance_id, member.from_ms)
            self._note_came(Arrival(*row, new_id=member.member_id))

    def _take_over(self, member: LogMember) -> None:
        """Remove the member that held its instance id until now."""
        instance_id = member.instance_id
        if instance_id is None:
            who = (member.process.client_id, member.from_ms, member.member_id)
            self._deployments.add_arrival(*who)
            return
        holder = self._roster.holder(instance_id)
        self._lines.take_over(holder, member)
        if holder is None:
            self._deployments.add_arrival(instance_id, member.from_ms)
            return
        self._deployments.add_restart(instance_id, member.from_ms)
        self._roster.remove(holder)
        self._note_silence(holder)

    def _compare(self, round_: Round, rows: Sequence[Mapping[str, Any]]) -> None:
        """Compare the roster with the leader's list: members that are not in it are gone."""
        ids = {row["memberId"] for row in rows}
        instances = {row.get("groupInstanceId") for row in rows} - {None}
        if round_.listed is None:
            round_.listed = len(ids)
        self._roster.complete = True
        self._deployments.note_size(len(ids))
        self._roster.size.begin(len(ids), len(ids))
        current = round_ is self._rebalances.current
        for member in list(self._roster.members.values()) if current else ():
            late = member.from_ms > round_.completed_ms
            if member.member_id in ids or member.instance_id in instances or late:
                continue
            deadline_ms = member.deadline_ms
            end, at_ms = End.DROPPED, round_.completed_ms
            # The timer ran from a time between the last request and its answer.
            if deadline_ms is not None and deadline_ms - LATE_MS <= at_ms:
                moved_ms = round_.evidence.moved_ms or 0
                # A coordinator that loads it begins its session anew.
                deadline_ms += max(moved_ms - member.heard_ms, 0)
                end, at_ms = End.EXPIRED, min(deadline_ms, at_ms)
            gone = self._remove(member, end, at_ms, None, round_.place)
            round_.evidence.expired.append(gone)
        round_.all_fresh = all(
            (join := round_.joins.get(member_id)) is not None and join.fresh and join.old is None
            for member_id in ids
        )

    # Rebalances of which the source tells

    def _prepared(self, event: Prepared) -> None:
        if event.generation == 0:
            self._roster.complete, self._start.at_ms = True, None
        self._note_use(event.at_ms)
        self._assigned = None
        if event.process is not None:
            self._note_kind(event.process)
            known = self._roster.find(event.member_id, event.instance_id)
            if known is None and event.cause is Cause.NEW_MEMBER:
                row = (event.at_ms, event.done_ms, event.place, event.member_id, event.instance_id)
                self._came(Joined(*row, Sender(event.process)))
            if event.lived:
                self._matcher.note_lived(event.member_id)
        self._rebalances.note_stated(event)

    def _begun(self, event: Begun) -> None:
        for named in self._pending.all():
            row = (named.at_ms, named.done_ms, named.place, named.member_id, None)
            self._came(Joined(*row, Sender(named.process)))
        self._purge(event.done_ms)
        self._note_use(event.at_ms)
        before, known = self._size()
        self._rebalances.names_joins |= event.names_all
        begun = (event.generation, event.done_ms, event.place, before)
        round_ = self._rebalances.begin(*begun, known=known, is_new=True)
        self._count = round_.listed = event.members
        self._deployments.note_size(event.members or 0)
        self._roster.size.begin(event.members, len(self._roster.members))
        if not event.names_all and (event.members is None or not self._roster.complete):
            self._rebalances.unnamed.append(event.at_ms)
        elif self._roster.complete and event.members is not None:
            # The old coordinator doesn't log a member that joins while a rebalance runs.
            for _ in range(event.members - len(self._roster.members) - len(self._unseen)):
                self._unseen.append(event)
                self._rebalances.unnamed.append(event.at_ms)
                self._deployments.add_arrival(_UNSEEN, event.at_ms)

    def _emptied(self, event: Emptied) -> None:
        size, known = self._size()
        last = self._rebalances.last_gone
        self._rebalances.empty(event.at_ms, event.place, size, known=known)
        self._empty.begin(event.at_ms, event.place, last)
        self._roster.note_empty(names_gone=event.names_gone)
        self._clear()

    def _clear(self) -> None:
        """Forget the group: it has no member."""
        self._rebalances.forget()
        self._unseen.clear()
        for member in list(self._roster.members.values()):
            self._remove(member, End.UNKNOWN, None)
        self._count, self._assigned, self._start.at_ms, self._roster.complete = 0, None, None, True

    # Ends

    def _known(
        self, member_id: str, event: GroupEvent, instance_id: str | None, process: Process
    ) -> LogMember:
        """Return a member; add it, with `process`, if no event before showed it."""
        member = self._roster.find(member_id, instance_id or process.client_id)
        holder = self._roster.holder(instance_id)
        if member is None and holder is not None and not member_id:
            return holder
        if member is not None:
            if instance_id is not None and member.instance_id is None and not member.begins:
                member.become_static(instance_id)
                self._roster.add(member)
            return member
        if holder is not None:
            self._remove(holder, End.UNKNOWN, None)
        if instance_id is None and self._unseen:
            first = self._unseen.pop(0)
            row = (first.at_ms, first.done_ms, first.place, member_id, None)
            return self._came(Joined(*row, Sender(process)), is_new=False)
        back: tuple[int, ...] = ()
        if instance_id is None and self._roster.complete and self._count is None:
            of_log = (event.at_ms, self._rebalances.unnamed)
            back = self._matcher.unnamed_returns(process, *of_log)
        if back:
            row = (back[-1], back[-1], event.place, member_id, None)
            member = self._came(Joined(*row, Sender(process)))
            member.begins = len(back) == 1
            return member
        known = (member_id, instance_id, process, event.at_ms)
        member = LogMember(*known, begins=False, heard_ms=event.at_ms, place=event.place)
        self._roster.add(member)
        return member

    def _remove(
        self,
        member: LogMember,
        end: End,
        until_ms: int | None,
        by: Process | None = None,
        place: str = "",
        *,
        heard_ms: int | None = None,
        is_poll_timeout: bool = False,
    ) -> Departure:
        at_ms = until_ms or member.heard_ms
        is_exact = self._hears or heard_ms is not None or end in {End.LEFT, End.REMOVED}
        if heard_ms is None:
            heard_ms = min(member.heard_ms, at_ms) if self._hears else at_ms
        if not is_exact and (open_ms := self._rebalances.open_ms) is not None:
            # Had it been alive, it would have joined the rebalance that waited for it.
            heard_ms = min(at_ms, open_ms - 1)
        is_alone = self._roster.complete and not self._unseen
        is_alone = is_alone and alone(member, self._roster.members.values(), heard_ms)
        current = self._rebalances.current
        assigned_ms = None if current is None else current.stable_ms
        if assigned_ms is not None and member.begins and assigned_ms < member.from_ms:
            assigned_ms = None  # that was its predecessor's
        row = (member, at_ms, end, heard_ms, is_exact, is_alone, place, is_poll_timeout)
        begun_ms = None if current is None else current.completed_ms
        loaded_ms = self._failovers.load_before(member, begun_ms) if end in UNWANTED else None
        gone = Departure(*row, assigned_ms, loaded_ms, self._roster.has_namesake(member))
        self._roster.remove(member)
        self._lines.end(member, end, until_ms, by)
        self._note_silence(member)
        if end not in {End.STILL_THERE, End.SILENT, End.UNKNOWN}:
            self._matcher.add_departure(gone)
            is_named = member.instance_id is None and not self._may_have_come(member, at_ms)
            member_id = member.member_id if is_named else ""
            if not gone.is_stale:
                self._deployments.add_departure(gone.who, gone.at_ms, member_id)
        if end in UNWANTED:
            self._returns.add_expiry(gone)
        if gone.is_stale:
            self._failovers.add_expiry(gone.at_ms)
        return gone

    def _may_have_come(self, member: LogMember, at_ms: int) -> bool:
        """Return True if a member that goes may have come just before, without its name."""
        if member.begins or self._count is not None:
            return False
        return any(0 <= at_ms - ms <= GAP_MS for ms in self._rebalances.unnamed)

    def _expire_names(self, now_ms: int | None) -> None:
        """Emit the ids that were surely not used in time; None: the log ends."""
        current = self._rebalances.current
        if current is not None:
            until_ms = None if now_ms is None else now_ms - _QUIET_MS
            self._pending.expire(current.completed_ms, until_ms)

    def _note_silence(self, member: LogMember) -> None:
        if (near := member.near(self.group)) is not None:
            self._emit(near)

    def _removed(self, event: Removed) -> None:
        """Take a member that the coordinator removed."""
        self._pending.use(event.member_id)
        gone = self._gone_before_load(event.member_id)
        if gone is None:
            self._roster.note_end(event.member_id)
            member = self._known(event.member_id, event, None, event.process)
            if self._are_all_static and not member.begins and member.instance_id is None:
                member.become_static(event.process.client_id)
            how = (event.end, event.at_ms, None, event.place)
            current = self._rebalances.current
            heard_ms = None
            if event.end is End.EXPIRED and current is not None:
                heard_ms = member.heard_before(event.at_ms, current.completed_ms)
            gone = self._remove(member, *how, heard_ms=heard_ms)
        else:
            self._failovers.add_expiry(event.at_ms)
        self._rebalances.note_expiry(gone, event.at_ms)

    def _gone_before_load(self, member_id: str) -> Departure | None:
        """Return the departure of a member of which the coordinator that loaded it doesn't know."""
        if not self._failovers.is_loaded or member_id in self._roster.members:
            return None
        return self._matcher.departure_of(member_id)

    def _thrown_out(self, event: GroupEvent, member_id: str, process: Process) -> None:
        """Note a living process, as its request shows, whose session as a member expired.

        It sends that request as this member, or over this member's connection.
        """
        member = self._roster.members.get(member_id)
        if member is not None:
            deadline_ms = member.deadline_ms
            expired = deadline_ms is not None and deadline_ms <= event.done_ms
            end = End.EXPIRED if expired else End.UNKNOWN
            size, known = self._size()
            gone = self._remove(member, end, deadline_ms, None, event.place)
            if expired:
                self._rebalances.note_expiry(gone, event.done_ms)
                self._note_empty(size, known=known)
        else:
            past = self._matcher.departure_of(member_id)
            member = None if past is None else past.member
        if member is None or member.session_ms is None:
            return
        silent_ms = event.at_ms - member.heard_ms
        is_known = any(came.member_id == member_id for came in self._matcher.arrivals)
        if is_known or silent_ms < member.session_ms:
            return
        self._note_came(Arrival(process, member.instance_id, event.at_ms, member_id))
        row = (member.instance_id, member_id, process, event.at_ms, silent_ms, member.session_ms)
        self._emit(ThrownOut(self.group, *row, event.place))

    def _left(self, event: Left) -> None:
        """Take a LeaveGroup that removed a member."""
        if self._pending.use(event.member_id) is not None:
            return
        self._take_back(event)
        self._roster.note_end(event.member_id)
        place, is_first = event.place, event.member_id not in self._roster.members
        process = event.process or event.by or Process("", "")
        member = self._known(event.member_id, event, event.instance_id, process)
        is_first = is_first and member.place == place
        instance_id, itself = member.instance_id, event.itself
        if event.by is not None and itself is None:
            itself = member.process == event.by
            if is_first:
                itself = None if event.member_id else False  # who knows its member id sends it
        if event.process is not None:
            member.process = event.process
        by = event.by or member.process
        member.session_ms = member.session_ms or event.session_ms
        self._note_kind(member.process, protocols=event.protocols)
        is_poll_timeout = NOT_POLLED in event.reason
        if instance_id is not None:
            whose = None if is_first and event.process is None else member.process
            row = (instance_id, member.member_id, whose, by, itself, event.at_ms)
            self._emit(StaticLeave(self.group, *row, place))
        size, known = self._size()
        end = End.REMOVED if itself is False else End.LEFT
        remover = by if itself is False else None
        how = (event.at_ms, remover, place)
        gone = self._remove(member, end, *how, is_poll_timeout=is_poll_timeout)
        if is_poll_timeout:
            interval_ms = event.rebalance_ms or member.rebalance_ms or None
            self._returns.add_poll_timeout(gone, interval_ms)
        self._rebalances.note_leave(MemberLeave(event.at_ms, gone, itself))
        self._note_empty(size, known=known)

    def _take_back(self, left: Left) -> None:
        """Make a dynamic member a member again if the line of its leave was written late.

        The next generation, without it, was there before.
        """
        gone = self._returns.take_back(left)
        if gone is None:
            return
        self._rebalances.take_back(gone)
        self._deployments.remove_departure(gone.who, gone.at_ms)
        self._roster.add(gone.member)
