"""Track the members of a group, the process that holds each instance id, and handovers.

A process that joins with an instance id and no member id replaces the holder.  The old holder gets
FENCED_INSTANCE_ID at its next request, or at once if a request of its own was parked.  A log has
the new holder's join only when it is answered, often after the old holder was fenced; so a fencing
is kept until both halves are known.

A process that replaces itself was restarted.  If the old process still sends requests, it fenced
itself, or two processes have the same client id on one host.  No sync follows a join that its
client had given up and that arrived late; a second process syncs.  Two processes that both take the
id back share it by mistake.

A member keeps its last request's time, its longest silence and its subscription.  A log that begins
in the middle of a group's life shows members one by one; `complete` is True once all are known.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from fencepost.traces.operations.group_events import Fenced, Heard, Joined
from fencepost.traces.operations.operator_rows import (
    End,
    FencingChain,
    Handover,
    LifeLine,
    Loop,
    NearTimeout,
    Process,
    Row,
    SelfFencing,
)

NEAR = 0.6
"""Least part of a session timeout that counts as near it: with usual intervals, two heartbeats of
three are lost."""

Offers = tuple[tuple[str, Any], ...]


@dataclass(slots=True)
class LogMember:
    """A member id of the group.

    `begins`: its join is in the log; `heard_ms`: time of the last restart of its session timer.
    """

    member_id: str
    instance_id: str | None
    process: Process
    from_ms: int
    begins: bool
    heard_ms: int
    place: str
    session_ms: int | None = None
    rebalance_ms: int = 0
    offers: Offers = ()
    synced: int = -1
    """The generation of its latest assignment."""
    longest_ms: int = 0
    longest_at_ms: int = 0
    longest_place: str = ""
    fenced_ms: int | None = None
    address: str = ""
    """HOST:PORT of its first request; "" where the log doesn't have it."""
    connection: str = ""
    """The connection of its last request, as in a request log; no other process has it."""
    is_nameless: bool = False
    """True if its member id is a stand-in: the log hasn't had the real one yet."""
    away_ms: int | None = None
    """From its last sign of life to its successor's join, where the log shows each request."""

    @classmethod
    def of(cls, event: Heard | Joined, *, begins: bool, heard_ms: int) -> LogMember:
        """Make the member of an event."""
        row = (event.member_id, event.instance_id, event.sender.process, event.at_ms)
        made = cls(*row, begins=begins, heard_ms=heard_ms, place=event.place)
        made.address, made.connection = event.sender.address, event.sender.connection
        return made

    def become_static(self, instance_id: str) -> None:
        """Note that a member that the log didn't show as static is so: its process has no name."""
        self.instance_id, self.process = instance_id, Process(self.member_id, "")

    @property
    def deadline_ms(self) -> int | None:
        """End of its session without a further request; None where its timeout is unknown."""
        return None if self.session_ms is None else self.heard_ms + self.session_ms

    def heard_before(self, end_ms: int, begun_ms: int) -> int | None:
        """Return the time of its last request before its session ended, if its timeout shows it.

        A session begins anew with a generation, too, so only a later time is that of a request.
        """
        if self.session_ms is None or end_ms - self.session_ms <= begun_ms:
            return None
        return end_ms - self.session_ms

    def restart_session(self, event: Heard | Joined) -> None:
        """Note a request that restarts the member's session timer."""
        silent_ms = event.at_ms - self.heard_ms
        if silent_ms > self.longest_ms:
            self.longest_ms, self.longest_at_ms = silent_ms, event.at_ms
            self.longest_place = event.place
        self.heard_ms = max(self.heard_ms, event.done_ms)
        self.connection = event.sender.connection

    def near(self, group: str) -> NearTimeout | None:
        """Return a row if the member was once close to its session timeout, else None."""
        if self.session_ms is None or self.longest_ms < NEAR * self.session_ms:
            return None
        return NearTimeout(
            group,
            self.instance_id,
            self.member_id,
            self.process,
            self.longest_at_ms,
            self.longest_ms,
            self.session_ms,
            self.longest_place,
        )


@dataclass(slots=True)
class MemberCount:
    """The greatest number of members that a group had in a generation.

    A source that doesn't count them may not name those that join while a rebalance runs, until they
    go.  Then the number is certain only for a group that is followed from its first member to its
    last one, with a line for each that goes.
    """

    _most: int = 0
    _named: int = 0
    """Greatest number of members of a generation that lines before it name."""
    _late: int = 0
    """Number of members that no line names before they go."""
    _gone: int = 0
    """Number of members that went since the last generation began."""
    _is_open: bool = False
    """True if a generation began, without a count, since the group had no member."""
    _is_certain: bool = True

    @property
    def most(self) -> int | None:
        """The number; None where it isn't certain, or no generation began."""
        return self._most or None if self._is_certain and not self._is_open else None

    def begin(self, counted: int | None, named: int) -> None:
        """Note a generation: its members as the source counts them, and those that lines name."""
        self._most = max(self._most, counted or 0)
        self._is_open = self._is_open or counted is None
        self._named, self._gone = max(self._named, named), 0

    def note_end(self, *, is_late: bool) -> None:
        """Note that a member went; `is_late`: no line named it before."""
        self._late += is_late
        self._gone += 1

    def empty(self, left: int, *, is_whole: bool) -> None:
        """Note that the group is empty.

        `left`: number of named members without a line about their end; `is_whole`: the source has
        the group's life since its first member, and a line for each that goes.
        """
        if self._is_open:
            least, greatest = max(self._named, self._gone), self._named + self._late
            self._is_certain = self._is_certain and is_whole and not left and least == greatest
            self._most = max(self._most, least)
        self._named = self._late = self._gone = 0
        self._is_open = False


@dataclass(slots=True)
class Roster:
    """The members of a group."""

    members: dict[str, LogMember] = field(default_factory=dict)
    instances: dict[str, str] = field(default_factory=dict)
    complete: bool = False
    size: MemberCount = field(default_factory=MemberCount)

    def holder(self, instance_id: str | None) -> LogMember | None:
        """Return the member that holds an instance id."""
        member_id = None if instance_id is None else self.instances.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def find(self, member_id: str, instance_id: str | None) -> LogMember | None:
        """Return a member by its id, or by its instance id if its id was not known yet."""
        member = self.members.get(member_id)
        if member is not None or instance_id is None:
            return member
        holder = self.holder(instance_id)
        if holder is None or not holder.is_nameless or not member_id:
            return None
        self.remove(holder)
        holder.member_id, holder.is_nameless = member_id, False
        holder.process = Process(member_id, "")
        self.add(holder)
        return holder

    def has_namesake(self, member: LogMember) -> bool:
        """Return True if another dynamic member that is known has the same client id."""
        name = member.process.client_id
        return member.instance_id is None and any(
            other is not member and other.instance_id is None and other.process.client_id == name
            for other in self.members.values()
        )

    def note_end(self, member_id: str) -> None:
        """Note that a member goes, which may not be known yet."""
        self.size.note_end(is_late=member_id not in self.members)

    def note_empty(self, *, names_gone: bool) -> None:
        """Note that the group has no member; `names_gone`: the source names each that went."""
        self.size.empty(len(self.members), is_whole=self.complete and names_gone)

    def settings(self) -> tuple[int | None, tuple[str, ...]]:
        """Return the longest session timeout of the members, and the assignors that all offer."""
        sessions = [m.session_ms for m in self.members.values() if m.session_ms is not None]
        offers = [tuple(name for name, _ in m.offers) for m in self.members.values() if m.offers]
        shared = set(offers[0]).intersection(*offers) if offers else set()
        return max(sessions, default=None), tuple(sorted(shared))

    def add(self, member: LogMember) -> None:
        """Add a member."""
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.instances[member.instance_id] = member.member_id

    def remove(self, member: LogMember) -> None:
        """Remove a member."""
        self.members.pop(member.member_id, None)
        instance_id = member.instance_id
        if instance_id is not None and self.instances.get(instance_id) == member.member_id:
            del self.instances[instance_id]


def offers_of(protocols: Iterable[Mapping[str, Any]]) -> Offers:
    """Return the protocols of a join, to compare them with those of a later join."""
    return tuple((row["name"], row["metadata"]) for row in protocols)


def subscription(offers: Offers) -> Offers:
    """Return the topics of protocols, without the assignors' own data."""
    return tuple((name, _topics(metadata)) for name, metadata in offers)


def _topics(metadata: str) -> object:
    """Return the topics of a consumer's metadata; return other metadata unchanged."""
    try:
        raw = base64.b64decode(metadata, validate=True)
        (count,) = struct.unpack_from(">i", raw, 2)
        at, topics = 6, []
        for _ in range(count):
            (size,) = struct.unpack_from(">h", raw, at)
            if size < 0:
                return metadata
            topics.append(raw[at + 2 : at + 2 + size])
            at += 2 + size
    except (binascii.Error, struct.error):
        return metadata
    return frozenset(topics) if at <= len(raw) and count >= 0 else metadata


_TURNS = 5
_NEAR = 2
_MOST_NEAR = 0.7


def is_regular(turns: list[int]) -> bool:
    """Return True if durations between events, in ms, are those of a loop.

    There are enough of them, and most are near their median.
    """
    if len(turns) < _TURNS - 1:
        return False
    middle = median(turns)
    near = sum(middle / _NEAR - 1 <= turn <= middle * _NEAR + 1 for turn in turns)
    return near >= _MOST_NEAR * len(turns)


PATIENCE_MS = 10 * 60_000
"""Greatest time between two related events."""
LATE_MS = 100
"""Delay with which a broker may notice that a session is over, or a log may round its times."""
_MOST_HANDOVERS = 20
_MOST_DISTANCES = 1000
_NO_RESTART_MS = 60_000
"""Median time between takeovers up to which they are no restarts, however irregular."""
_REMEMBERED = 32


_SWAPPED_MS = 100
"""Time within which a broker may handle requests in another order than they came."""
_ANSWERED_AT_ONCE = frozenset({"Heartbeat", "OffsetCommit"})


@dataclass(slots=True)
class _Past:
    """A member id that was replaced."""

    member: LogMember
    by: LogMember
    at_ms: int
    handover: _Turn | None = None
    fencing: Fenced | None = None

    @property
    def was_alive(self) -> bool:
        """True if it sent a request after it was replaced, or one that is never parked just before.

        A broker may handle requests of several connections in another order than they came.
        """
        fencing = self.fencing
        if fencing is None or fencing.began:
            return False
        late_ms = _SWAPPED_MS if fencing.api in _ANSWERED_AT_ONCE else 0
        return fencing.at_ms >= self.at_ms - late_ms


@dataclass(slots=True)
class _Turn:
    """A handover; `fenced_ms`: time of FENCED_INSTANCE_ID for a request of the old process."""

    at_ms: int
    old: LogMember
    new: LogMember
    place: str
    fenced_ms: int | None = None

    def row(self) -> Handover:
        row = (self.at_ms, self.old.process, self.new.process, self.fenced_ms is not None)
        return Handover(*row, self.fenced_ms, self.place)


@dataclass(slots=True)
class _Chain:
    """Handovers that follow each other."""

    from_ms: int
    until_ms: int
    count: int = 0
    fenced: int = 0
    returns: int = 0
    turns: list[_Turn] = field(default_factory=list)
    distances: list[int] = field(default_factory=list)
    """Times between two handovers."""
    processes: dict[Process, LogMember] = field(default_factory=dict)
    """Process at that time → its member: server.log has some member ids only later."""
    losers: set[Process] = field(default_factory=set)
    fenced_processes: set[Process] = field(default_factory=set)

    def add(self, turn: _Turn) -> None:
        if self.count and len(self.distances) < _MOST_DISTANCES:
            self.distances.append(turn.at_ms - self.until_ms)
        self.until_ms = max(self.until_ms, turn.at_ms)
        self.count += 1
        self.returns += turn.new.process in self.losers
        if len(self.turns) < _MOST_HANDOVERS:
            self.turns.append(turn)
        if len(self.losers) < _REMEMBERED:
            self.losers.add(turn.old.process)
        for member in (turn.old, turn.new):
            if len(self.processes) < _MOST_HANDOVERS:
                self.processes[member.process] = member

    @property
    def is_ping_pong(self) -> bool:
        """True if both took it back; or one did, and both were alive when they lost it."""
        return self.returns >= 2 or (self.returns == 1 and len(self.fenced_processes) >= 2)


@dataclass(slots=True)
class _Instance:
    """The recent history of an instance id."""

    id: str
    chain: _Chain | None = None
    past: dict[str, _Past] = field(default_factory=dict)
    waiting: list[Fenced] = field(default_factory=list)


class LifeLines:
    """The instance ids of one group.  Rows go to `emit` as they end.

    `alive`: called with an instance id and the time of its takeover, once its old holder proves
    alive.  `hears`: the source has every request of a member.
    """

    def __init__(
        self,
        group: str,
        emit: Callable[[Row], None],
        alive: Callable[[str, int], None],
        *,
        hears: bool,
    ) -> None:
        self._group = group
        self._emit = emit
        self._alive = alive
        self._hears = hears
        self._instances: dict[str, _Instance] = {}

    def take_over(self, old: LogMember | None, new: LogMember) -> None:
        """Note a join with an instance id and no member id; `old` held the instance id before."""
        assert new.instance_id is not None  # noqa: S101  (for the type checker)
        known = self._instances.setdefault(new.instance_id, _Instance(new.instance_id))
        waiting, known.waiting = known.waiting, []
        for fenced in waiting:
            if fenced.began:
                parked = _parked(fenced)
                if old is not None:
                    self._replace(known, old, parked)
                old = parked
        if old is not None:
            self._replace(known, old, new)
        for fenced in waiting:
            self._match(known, fenced)

    def add_fencing(self, fenced: Fenced, holder: LogMember | None) -> None:
        """Note a fenced request; `holder`: the member that holds the instance id, if known yet."""
        known = self._instances.setdefault(fenced.instance_id, _Instance(fenced.instance_id))
        if fenced.member_id in known.past:
            self._match(known, fenced)
        elif holder is not None and holder.member_id != fenced.member_id and not fenced.began:
            # This is the first line of the holder's predecessor.
            stranger = _stranger(fenced)
            self._replace(known, stranger, holder)
            self._match(known, fenced)
        elif len(known.waiting) < _REMEMBERED:
            known.waiting.append(fenced)

    def knows_fenced(self, member: LogMember) -> bool:
        """Return True if a member was fenced by a process that is not in the log yet."""
        known = self._instances.get(member.instance_id or "")
        return known is not None and any(f.member_id == member.member_id for f in known.waiting)

    def was_replaced(self, instance_id: str | None, member_id: str) -> bool:
        """Return True if a member lost its instance id lately."""
        known = self._instances.get(instance_id or "")
        return known is not None and member_id in known.past

    def end(self, member: LogMember, end: End, until_ms: int | None, by: Process | None) -> None:
        """Note that a member with an instance id is gone, or that the log ends."""
        if member.instance_id is not None:
            self._line(member, end, until_ms, by)

    def close(self) -> None:
        """Emit all remaining rows, at the end."""
        for known in self._instances.values():
            for fenced in known.waiting:
                if fenced.began:
                    self._line(_parked(fenced), End.REPLACED, fenced.done_ms, None)
            known.waiting.clear()
            self._forget(known, None)
            self._flush(known)
        self._instances.clear()

    def purge(self, now_ms: int) -> None:
        """Emit and forget the rows that no later line can change."""
        for instance_id, known in list(self._instances.items()):
            self._forget(known, now_ms)
            if known.chain is not None and now_ms - known.chain.until_ms > PATIENCE_MS:
                self._flush(known)
            if not known.past and not known.waiting and known.chain is None:
                del self._instances[instance_id]

    def _replace(self, known: _Instance, old: LogMember, new: LogMember) -> None:
        past = _Past(old, new, new.from_ms)
        known.past[old.member_id] = past
        if self._hears:
            old.away_ms = max(new.from_ms - old.heard_ms, 0)
        if old.process != new.process:
            turn = _Turn(new.from_ms, old, new, new.place)
            past.handover = turn
            if known.chain is not None and turn.at_ms - known.chain.until_ms > PATIENCE_MS:
                self._flush(known)
            if known.chain is None:
                known.chain = _Chain(turn.at_ms, turn.at_ms)
            known.chain.add(turn)
        if len(known.past) > _REMEMBERED:
            self._past_line(known.past.pop(next(iter(known.past))))

    def _match(self, known: _Instance, fenced: Fenced) -> None:
        past = known.past.get(fenced.member_id)
        if past is None or past.fencing is not None:
            return
        if fenced.done_ms - past.at_ms > PATIENCE_MS:
            return
        past.fencing = fenced
        past.member.fenced_ms = fenced.done_ms
        if not past.was_alive:
            return
        self._alive(known.id, past.at_ms)
        if past.handover is not None:
            past.handover.fenced_ms = fenced.done_ms
            if known.chain is not None:
                known.chain.fenced += 1
                known.chain.fenced_processes.add(fenced.sender.process)

    def _forget(self, known: _Instance, now_ms: int | None) -> None:
        for member_id, past in list(known.past.items()):
            if now_ms is None or now_ms - past.at_ms > PATIENCE_MS:
                self._past_line(known.past.pop(member_id))

    def _past_line(self, past: _Past) -> None:
        self._line(past.member, End.REPLACED, past.at_ms, past.by.process)
        fencing, process = past.fencing, past.member.process
        if fencing is not None and past.by.process == fencing.sender.process == process:
            second = past.was_alive and past.by.synced >= 0
            row = (process, fencing.done_ms, fencing.api, past.was_alive, second, past.at_ms)
            where = (fencing.sender.address, past.by.address, fencing.place)
            self._emit(SelfFencing(self._group, fencing.instance_id, *row, *where))

    def _line(self, member: LogMember, end: End, until_ms: int | None, by: Process | None) -> None:
        self._emit(
            LifeLine(
                self._group,
                member.instance_id or "",
                member.member_id,
                member.process,
                member.from_ms,
                member.begins,
                until_ms,
                end,
                by,
                member.fenced_ms,
                member.place,
                None if member.fenced_ms is not None else member.away_ms,
                member.session_ms,
            )
        )

    def _flush(self, known: _Instance) -> None:
        chain, known.chain = known.chain, None
        if chain is None:
            return
        if not (chain.fenced_processes or chain.is_ping_pong):
            self._emit_loop(known.id, chain)
            return
        self._emit(
            FencingChain(
                self._group,
                known.id,
                chain.from_ms,
                chain.until_ms,
                chain.count,
                chain.fenced,
                chain.is_ping_pong,
                tuple(sorted({member.process for member in chain.processes.values()})),
                tuple(turn.row() for turn in chain.turns),
            )
        )

    def _emit_loop(self, instance_id: str, chain: _Chain) -> None:
        """Emit takeovers that come too often for restarts; if the old process lived is unknown."""
        if len(chain.distances) < _TURNS - 1:
            return
        middle_ms = int(median(chain.distances))
        if middle_ms > _NO_RESTART_MS and not is_regular(chain.distances):
            return
        first = chain.turns[0]
        who, span = first.new.process, (chain.from_ms, chain.until_ms)
        none = (None, None, None, None, "", "")
        row = (who, *span, chain.count, middle_ms, *none, first.place)
        self._emit(Loop(self._group, instance_id, None, *row))


def _parked(fenced: Fenced) -> LogMember:
    """Make the member of a join that was fenced while it was parked."""
    return replace(_stranger(fenced), begins=True, fenced_ms=fenced.done_ms)


def _stranger(fenced: Fenced) -> LogMember:
    """Make a member whose only line is a fenced request."""
    return LogMember(
        fenced.member_id,
        fenced.instance_id,
        fenced.sender.process,
        fenced.at_ms,
        begins=False,
        heard_ms=fenced.at_ms,
        place=fenced.place,
        address=fenced.sender.address,
    )
