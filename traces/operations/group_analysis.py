"""Follow one group: its members, replacements and departures, in the order of the answers.

Other modules make life lines, rebalances and deployments of it.  Bodies are read as the log has
them; the judge reports wrong ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fencepost.model.messages.errors import MOVING, Error
from fencepost.traces.logs.request_log import LoggedExchange
from fencepost.traces.operations.operator_rows import (
    NOT_POLLED,
    End,
    MembersLeft,
    PollTimeout,
    Process,
    Row,
    StaticLeave,
    ThrownOut,
)
from fencepost.traces.operations.ownership import (
    FencedRequest,
    LifeLines,
    LogMember,
    Roster,
    commit_code,
    offers_of,
)
from fencepost.traces.operations.rebalances import Join, MemberLeave, Rebalances, Round
from fencepost.traces.operations.restarts import (
    Arrival,
    Departure,
    Deployments,
    LogStart,
    RestartMatcher,
    alone,
)

_NONE = Error.NONE.value
_UNKNOWN = Error.UNKNOWN_MEMBER_ID.value
_REBALANCE = Error.REBALANCE_IN_PROGRESS.value
_REQUIRED = Error.MEMBER_ID_REQUIRED.value
_FENCED = Error.FENCED_INSTANCE_ID.value
_QUIET_MS = 6 * 60_000
"""A group without a line for this long beyond its members' timeouts is over; a rebalance parks
everybody for five minutes by default."""
_PENDING = 1000
_PURGE_EVERY = 500
"""Number of a group's own lines, so that the lines of other groups have no influence."""


class GroupAnalysis:
    """The analysis of one group, line by line; finished rows go to `emit`.

    `is_first`: no line before showed this group, so the log may begin in the middle of its life.
    """

    def __init__(self, group: str, emit: Callable[[Row], None], *, is_first: bool = True) -> None:
        self.group = group
        self._emit = emit
        self._is_first = is_first
        self._begin()

    def _begin(self) -> None:
        self.over_ms = 0
        self._taken = 0
        self._roster = Roster()
        self._pending: dict[str, None] = {}
        self._confirmed = -1
        self._start = LogStart()
        self._matcher = RestartMatcher(self._start)
        self._deployments = Deployments(self.group, self._emit, self._start)
        self._lines = LifeLines(self.group, self._emit, self._deployments.remove_restart)
        self._rebalances = Rebalances(
            self.group, self._matcher, self._emit, self._deployments.add_rebalance
        )

    def take(self, x: LoggedExchange) -> None:
        """Take the next exchange that names this group."""
        if self._is_first:
            self._is_first, self._start.at_ms = False, x.at_ms
        if self.over_ms and x.answered_ms > self.over_ms:
            self.end(self.over_ms)
            self._begin()
        self.over_ms = max(self.over_ms, x.answered_ms + _QUIET_MS)
        self._taken += 1
        if self._taken % _PURGE_EVERY == 0:
            self._purge(x.answered_ms)
        match x.api:
            case "Heartbeat" | "SyncGroup":
                code = x.answer_body["errorCode"]
                self._member_request(x, x.request_body, code)
                if code == _NONE and x.api == "Heartbeat":
                    self._confirmed = x.request_body["generationId"]  # so it has begun
                if code == _NONE and x.api == "SyncGroup":
                    self._synced(x)
            case "OffsetCommit":
                if x.request_body.get("memberId"):
                    self._member_request(x, x.request_body, commit_code(x.answer_body))
            case "JoinGroup":
                self._join(x)
            case "LeaveGroup":
                self._leave(x)

    def _purge(self, now_ms: int) -> None:
        """Emit and forget the rows that no later line can change."""
        self._lines.purge(now_ms)
        self._rebalances.purge(now_ms)
        self._deployments.purge(now_ms, self._rebalances.first_open_ms)
        self._matcher.purge(now_ms)

    def end(self, now_ms: int) -> None:
        """End the group, or the log."""
        left, expired = [0, 0], []
        settled, settings = self._rebalances.is_settled, self._roster.settings()
        for member in list(self._roster.members.values()):
            deadline_ms = member.deadline_ms
            if deadline_ms is None:
                self._remove(member, End.UNKNOWN, None)
            elif now_ms - deadline_ms > member.rebalance_ms * (not settled(member)):
                self._remove(member, End.SILENT, deadline_ms)
                expired.append(deadline_ms)
            else:
                self._remove(member, End.STILL_THERE, None)
                left[member.instance_id is None] += 1
        static, dynamic = left if self._roster.complete else (None, None)
        since_ms = self._rebalances.unfinished_ms(expired) if any(left) else None
        self._emit(MembersLeft(self.group, static, dynamic, since_ms, *settings))
        self._lines.close()
        self._rebalances.close()
        self._deployments.close(now_ms)

    # Requests of members

    def _member_request(self, x: LoggedExchange, body: Mapping[str, Any], code: int) -> None:
        """Take a heartbeat, a sync or a commit."""
        member = self._roster.members.get(body["memberId"])
        if code in {_NONE, _REBALANCE}:
            if member is None:
                replaced = self._lines.was_replaced(body.get("groupInstanceId"), body["memberId"])
                if replaced or self._matcher.left_after(body["memberId"], x.at_ms):
                    return  # handled before the join or leave that ended it, and written after it
                member = self._stranger(x, body)
            member.restart_session(x)
            if code == _REBALANCE:
                self._rebalances.note_notice(member.member_id, x.answered_ms)
                self._extend(x, member.rebalance_ms)
        elif code == _FENCED:
            self._fenced(x, body["memberId"], body.get("groupInstanceId"), began=False)
        elif code == _UNKNOWN:
            self._thrown_out(x, body["memberId"])
        elif code in MOVING:
            self._rebalances.note_move(x.answered_ms)

    def _stranger(self, x: LoggedExchange, body: Mapping[str, Any]) -> LogMember:
        """Add a member that joined before the log began."""
        member = LogMember.of(x, body["memberId"], begins=False, heard_ms=x.at_ms)
        self._take_over(member)
        self._roster.add(member)
        return member

    def _extend(self, x: LoggedExchange, ms: int) -> None:
        self.over_ms = max(self.over_ms, x.answered_ms + ms + _QUIET_MS)

    def _synced(self, x: LoggedExchange) -> None:
        generation = x.request_body["generationId"]
        if (member := self._roster.members.get(x.request_body["memberId"])) is not None:
            member.synced = generation
        self._rebalances.note_assignment(generation, x.answered_ms)

    # Joins

    def _join(self, x: LoggedExchange) -> None:
        body, answer = x.request_body, x.answer_body
        code = answer["errorCode"]
        if code == _NONE:
            self._joined(x)
        elif code == _REQUIRED:
            self._pending[answer["memberId"]] = None
            if len(self._pending) > _PENDING:
                del self._pending[next(iter(self._pending))]
        elif code == _FENCED:
            sent_id = body["memberId"]
            member_id = sent_id or answer["memberId"]
            self._fenced(x, member_id, body.get("groupInstanceId"), began=not sent_id)
        elif code == _UNKNOWN and body["memberId"]:
            self._thrown_out(x, body["memberId"])
        elif code in MOVING:
            self._rebalances.note_move(x.answered_ms)

    def _joined(self, x: LoggedExchange) -> None:
        body, answer = x.request_body, x.answer_body
        member_id, sent_id = answer["memberId"], body["memberId"]
        round_ = self._round(x)
        fresh = not sent_id or sent_id in self._pending
        self._pending.pop(sent_id, None)
        known = self._roster.members.get(member_id)
        takes_part = x.at_ms <= round_.completed_ms and member_id not in round_.joins
        holder = self._roster.holder(body.get("groupInstanceId"))
        if takes_part and fresh and holder is not None and self._had_expired(holder, x):
            round_.evidence.expired.append(self._remove(holder, End.EXPIRED, holder.deadline_ms))
            holder = None
        old = known or holder
        old_offers = old.offers if old is not None else ()
        member = known or LogMember.of(x, member_id, begins=fresh, heard_ms=x.answered_ms)
        member.session_ms = body["sessionTimeoutMs"]
        member.rebalance_ms = max(body.get("rebalanceTimeoutMs", -1), member.session_ms or 0)
        member.offers = offers_of(body["protocols"])
        if known is not None:
            member.restart_session(x)
        else:
            self._add(member, fresh=fresh)
        if takes_part:
            leads = answer["leader"] == member_id
            row = (x.at_ms, fresh, leads, member, old, old_offers, member.offers)
            round_.joins[member_id] = Join(*row)
        if answer["members"]:
            self._compare(round_, answer["members"])
        if fresh and (before := self._matcher.former_member(member)) is not None:
            self._thrown_out(x, before.member_id)  # it noticed the end of its session by itself
        self._extend(x, max(member.session_ms or 0, member.rebalance_ms))

    def _had_expired(self, holder: LogMember, x: LoggedExchange) -> bool:
        """Return True if a static member's session was over before this join for its instance id.

        A holder with a parked request would have got FENCED_INSTANCE_ID.
        """
        deadline_ms = holder.deadline_ms
        overdue = deadline_ms is not None and deadline_ms < x.at_ms
        return overdue and not self._lines.knows_fenced(holder)

    def _round(self, x: LoggedExchange) -> Round:
        """Return the round of the generation in the answer to a join."""
        generation = x.answer_body["generationId"]
        current = self._rebalances.current
        if current is not None and current.generation == generation:
            return current
        self._purge(x.answered_ms)
        if generation == 1:
            self._start.at_ms = None
        known = self._roster.complete or generation == 1
        before = len(self._roster.members) + self._rebalances.gone
        # The answer to a static member that is restarted has the current generation.
        is_new = current is not None or generation != self._confirmed
        row = (generation, x.answered_ms, x.place, before)
        return self._rebalances.begin(*row, known=known, is_new=is_new)

    def _add(self, member: LogMember, *, fresh: bool) -> None:
        """Add a member id that was not in the roster."""
        self._take_over(member)
        self._roster.add(member)
        if fresh:
            came = Arrival(member.process, member.instance_id, member.from_ms)
            self._matcher.arrivals.append(came)

    def _take_over(self, member: LogMember) -> None:
        """Remove the member that held its instance id until now."""
        instance_id = member.instance_id
        if instance_id is None:
            self._deployments.add_arrival(member.process.client_id, member.from_ms)
            return
        holder = self._roster.holder(instance_id)
        self._lines.take_over(holder, member)
        if holder is None:
            self._deployments.add_arrival(instance_id, member.from_ms)
            return
        self._deployments.add_restart(instance_id, member.from_ms)
        self._roster.remove(holder)
        self._note_silence(holder)

    def _compare(self, round_: Round, rows: list[dict[str, Any]]) -> None:
        """Compare the roster with the leader's list: members that are not in it are gone."""
        ids = {row["memberId"] for row in rows}
        instances = {row.get("groupInstanceId") for row in rows} - {None}
        if round_.listed is None:
            round_.listed = len(ids)
        self._roster.complete = True
        current = round_ is self._rebalances.current
        for member in list(self._roster.members.values()) if current else ():
            late = member.from_ms > round_.completed_ms
            if member.member_id in ids or member.instance_id in instances or late:
                continue
            deadline_ms = member.deadline_ms
            sign_ms = round_.evidence.sign_ms or round_.completed_ms
            expired = deadline_ms is not None and deadline_ms <= max(sign_ms, round_.completed_ms)
            end = End.EXPIRED if expired else End.DROPPED
            at_ms = deadline_ms if expired and deadline_ms is not None else round_.completed_ms
            round_.evidence.expired.append(self._remove(member, end, at_ms))
        round_.all_fresh = all(
            (join := round_.joins.get(member_id)) is not None and join.fresh and join.old is None
            for member_id in ids
        )

    # Ends

    def _remove(
        self, member: LogMember, end: End, until_ms: int | None, by: Process | None = None
    ) -> Departure:
        gone = Departure(
            member, until_ms or member.heard_ms, alone(member, self._roster.members.values())
        )
        self._roster.remove(member)
        self._lines.end(member, end, until_ms, by)
        self._note_silence(member)
        if end not in {End.STILL_THERE, End.SILENT, End.UNKNOWN}:
            self._matcher.departures.append(gone)
            self._deployments.add_departure(gone.who, gone.at_ms)
        return gone

    def _note_silence(self, member: LogMember) -> None:
        if (near := member.near(self.group)) is not None:
            self._emit(near)

    def _thrown_out(self, x: LoggedExchange, member_id: str) -> None:
        """Note a living process, as its request shows, whose session as a member expired.

        It sends that request as this member, or over this member's connection.
        """
        member = self._roster.members.get(member_id)
        if member is not None:
            deadline_ms = member.deadline_ms
            expired = deadline_ms is not None and deadline_ms <= x.answered_ms
            gone = self._remove(member, End.EXPIRED if expired else End.UNKNOWN, deadline_ms)
            if expired:
                self._rebalances.note_expiry(gone, x.answered_ms)
        else:
            past = (g.member for g in self._matcher.departures if g.member.member_id == member_id)
            member = next(past, None)
        if member is None or member.session_ms is None:
            return
        silent_ms = x.at_ms - member.heard_ms
        is_known = any(came.member_id == member_id for came in self._matcher.arrivals)
        if is_known or silent_ms < member.session_ms:
            return
        process = Process(x.client_id, x.host)
        self._matcher.arrivals.append(Arrival(process, member.instance_id, x.at_ms, member_id))
        row = (member.instance_id, member_id, process, x.at_ms, silent_ms, member.session_ms)
        self._emit(ThrownOut(self.group, *row, x.place))

    def _fenced(
        self, x: LoggedExchange, member_id: str, instance_id: str | None, *, began: bool
    ) -> None:
        if instance_id is None:
            return
        process = Process(x.client_id, x.host)
        times = (x.at_ms, x.answered_ms)
        row = (instance_id, member_id, process, *times, x.api, began, x.place)
        fenced = FencedRequest(*row, address=x.address)
        self._lines.add_fencing(fenced, self._roster.holder(instance_id))

    def _leave(self, x: LoggedExchange) -> None:
        body, answer = x.request_body, x.answer_body
        if answer["errorCode"] in MOVING:
            self._rebalances.note_move(x.answered_ms)
            return
        if "members" in body:
            rows = [
                (row["memberId"], row.get("groupInstanceId"), row.get("reason") or "")
                for row in body["members"]
            ]
            codes = [row["errorCode"] for row in answer["members"]]
        else:
            rows, codes = [(body["memberId"], None, "")], [answer["errorCode"]]
        for (member_id, instance_id, reason), code in zip(rows, codes, strict=False):
            if code == _FENCED:
                self._fenced(x, member_id, instance_id, began=False)
            elif code == _NONE:
                if NOT_POLLED in reason:
                    process = Process(x.client_id, x.host)
                    self._emit(PollTimeout(self.group, instance_id, process, x.at_ms, x.place))
                self._left(x, member_id, instance_id)

    def _left(self, x: LoggedExchange, member_id: str, instance_id: str | None) -> None:
        """Remove a member that a LeaveGroup removed."""
        by = Process(x.client_id, x.host)
        member = self._roster.members.get(member_id) or self._roster.holder(instance_id)
        instance_id = instance_id if member is None else member.instance_id
        if instance_id is not None:
            itself = None if member is None else member.process == by
            if itself is None and not member_id:
                itself = False  # whoever knows its own member id sends it
            process = None if member is None else member.process
            gone_id = member_id if member is None else member.member_id
            row = (instance_id, gone_id, process, by, itself, x.at_ms)
            self._emit(StaticLeave(self.group, *row, x.place))
        if member is None:
            self._pending.pop(member_id, None)
            return
        itself = member.process == by
        end = End.LEFT if itself else End.REMOVED
        gone = self._remove(member, end, x.at_ms, None if itself else by)
        self._rebalances.note_leave(
            MemberLeave(x.at_ms, gone, is_static=member.instance_id is not None and itself)
        )
