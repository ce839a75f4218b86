"""The state of one group: immutable, hashable, complete.

Two groups are in the same state exactly when they are equal.  Members, the static map, pending ids
and timers are sorted, since their order means nothing; bisection finds, adds or replaces a member,
and a group of a thousand costs little more than one of three.

Deadlines are intervals.  On a virtual clock both ends agree; on a real clock a deadline is known
only as exactly as the moment at which its timer was set.

The members of a large group are a sorted tuple that counts them by kind.  Most rules need a
property of all members: all have parked joins, some owe a sync, all support a protocol.  A
rebalance of a thousand members needs that thousands of times.  So the tuple counts its members by
the fields that these properties use, and passes counts and ids on when a member changes.  For a few
members a scan is faster than the counts: they are a plain tuple.  Both are equal, and have the same
hash, if their members are equal.

The timers of a large group are a sorted tuple that knows which timer fires first.  A heartbeat sets
one timer of a thousand, and then the coordinator needs the next deadline.  So the tuple knows the
first timer of each block, and passes these on when a timer is set.  A few timers are a plain tuple.
Both are equal, and have the same hash, if their timers are equal.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import repeat
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.messages.messages import JoinProtocol
from fencepost.model.messages.subscription import subscribed_topics
from fencepost.model.work import Timer, hull, without_times

MANY = 32
"""Least number of members, or timers, of a group that counts as large."""

_member_id = attrgetter("member_id")
_Kind = tuple[tuple[str, ...], int, bool, bool, bool]
_Counts = dict[_Kind, tuple["Member", int]]


class CountedMembers(tuple["Member", ...]):  # noqa: SLOT001  (a tuple can have none)
    """Many members, sorted by id."""

    @cached_property
    def counts(self) -> _Counts:
        """Kind → a member that is, or was, of it, and the number of members now."""
        counts: _Counts = {}
        for member in self:
            _count(counts, member, 1)
        return counts

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The member ids."""
        return tuple(map(_member_id, self))

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash

    def splice(self, place: int, end: int, new: tuple[Member, ...]) -> CountedMembers:
        """Return a copy with new members instead of those from `place` to `end`."""
        after = CountedMembers(self[:place] + new + self[end:])
        if "counts" in self.__dict__:
            after.counts = self.counts.copy()
            for member in self[place:end]:
                _count(after.counts, member, -1)
            for member in new:
                _count(after.counts, member, 1)
        new_ids = tuple(map(_member_id, new))
        ids = self.ids
        after.ids = ids if new_ids == ids[place:end] else ids[:place] + new_ids + ids[end:]
        return after

    def __reduce__(self) -> tuple[type, tuple[tuple[Member, ...]]]:
        return tuple, (tuple(self),)


def splice(members: tuple[Member, ...], place: int, end: int, *new: Member) -> tuple[Member, ...]:
    """Return the members with new ones instead of those from `place` to `end`."""
    if len(members) < MANY:
        return (*members[:place], *new, *members[end:])
    if not isinstance(members, CountedMembers):
        members = CountedMembers(members)
    return members.splice(place, end, new)


def position(members: tuple[Member, ...], member_id: str) -> tuple[int, int]:
    """Return begin and end of the member's position; both are equal if there is none of this id."""
    if isinstance(members, CountedMembers):
        place = bisect_left(members.ids, member_id)
    else:
        place = bisect_left(members, member_id, key=_member_id)
    return place, place + (place < len(members) and members[place].member_id == member_id)


def kinds(members: tuple[Member, ...]) -> Iterable[Member]:
    """Return at least one member of each kind, to check a property of all members.

    Members of one kind agree in the names of their protocols, in their rebalance timeout, and in
    being static, having a parked join and owing a sync; the property may use these fields only.
    """
    if isinstance(members, CountedMembers):
        return [member for member, _ in members.counts.values()]
    return members


def kind_counts(members: tuple[Member, ...]) -> Iterable[tuple[Member, int]]:
    """Return the members of `kinds`, each with the number of members that it stands for."""
    if isinstance(members, CountedMembers):
        return members.counts.values()
    return zip(members, repeat(1), strict=False)


def _count(counts: _Counts, member: Member, more: int) -> None:
    kind = (
        tuple([p.name for p in member.protocols]),
        member.rebalance_timeout_ms,
        member.joining is None,
        member.owes_sync,
        member.group_instance_id is None,
    )
    known, number = counts.get(kind, (member, 0))
    if number + more:
        counts[kind] = known, number + more
    else:
        del counts[kind]


_BLOCK = 32
_latest = itemgetter(3)


class ManyTimers(tuple[Timer, ...]):  # noqa: SLOT001  (a tuple can have none)
    """Many timers, sorted by kind and subject."""

    @cached_property
    def firsts(self) -> tuple[Timer, ...]:
        """The timer that fires first, of each block in order."""
        return tuple(self.first_from(place) for place in range(0, len(self), _BLOCK))

    def first_from(self, place: int) -> Timer:
        """Return the timer that fires first in the block at a place."""
        return min(self[place : place + _BLOCK], key=_latest)

    def __reduce__(self) -> tuple[type, tuple[tuple[Timer, ...]]]:
        return tuple, (tuple(self),)


def with_timer(timers: tuple[Timer, ...], place: int, end: int, new: Timer) -> tuple[Timer, ...]:
    """Return these timers with a new timer at its place, or instead of the timer there.

    All are sorted by kind and subject; `end` is `place`, or one more where a timer is replaced.
    """
    after = timers[:place] + (new,) + timers[end:]  # noqa: RUF005  (half the time for a thousand)
    if len(after) < MANY:
        return after
    many = ManyTimers(after)
    if isinstance(timers, ManyTimers) and len(timers) == len(many) and "firsts" in vars(timers):
        block = place // _BLOCK
        first = many.first_from(block * _BLOCK)
        many.firsts = (*timers.firsts[:block], first, *timers.firsts[block + 1 :])
    return many


def first_timer(timers: tuple[Timer, ...]) -> Timer:
    """Return the timer whose latest moment comes first; of several, the first in order.

    Raises ValueError if there is none.
    """
    return min(timers.firsts if isinstance(timers, ManyTimers) else timers, key=_latest)


ALL_TOPICS = ("*",)
"""The topics of members whose subscriptions can't be read."""

SESSION = "session"
JOIN = "join"
SYNC = "sync"
WRITE = "write"
CREATION = "creation"
"""The kinds of a group's timers: see `Group`."""


class ParkedRequest(NamedTuple):
    """A request that has no answer yet."""

    request_id: str
    version: int


class Restart(NamedTuple):
    """The join of a process that replaced another, until the replacement is written.

    `request`: its `Incoming`; the leader before the replacement; the rule that decided.
    """

    request: object
    previous_leader: str | None
    rule: str


class Member(msgspec.Struct, frozen=True, cache_hash=True):
    """A member of a group.

    `session_timeout_ms`, `rebalance_timeout_ms`: in ms.  `protocols`: those that it offers.
    `joining`: its parked join.  `syncing`: its parked sync.  `new`: True until its first join
    completes.  `owes_sync`: True from the answer with a generation until its SyncGroup.  `restart`:
    its join that waits for a write, if there is one.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[JoinProtocol, ...]
    assignment: bytes = b""
    joining: ParkedRequest | None = None
    syncing: ParkedRequest | None = None
    new: bool = True
    owes_sync: bool = False
    restart: Restart | None = None

    @property
    def is_static(self) -> bool:
        """Return True if it has an instance id."""
        return self.group_instance_id is not None

    def supports(self, name: str) -> bool:
        """Return True if it offers a protocol of this name."""
        return any(p.name == name for p in self.protocols)

    def metadata(self, name: str | None) -> bytes:
        """Return what it sent with this protocol; empty if it did not offer it."""
        return next((p.metadata for p in self.protocols if p.name == name), b"")


class InitialDelay(NamedTuple):
    """The initial delay of a rebalance from Empty.

    `remaining_ms`: the rest of R.  `somebody_came`: True if a member joined during the delay.
    """

    remaining_ms: int
    somebody_came: bool


class Offset(NamedTuple):
    """A stored offset.

    `expires_ms`: the earliest end of its own retention; None if it has none.
    """

    topic: str
    partition: int
    offset: int
    metadata: str | None
    expires_ms: int | None = None


class Group(msgspec.Struct, frozen=True, cache_hash=True):
    """A group that exists.

    `timers`: each has a kind: session (subject: a member or pending id), join, sync, write (the
    assignments, subject "", or a replacement, subject the new member id, are not yet written), or
    creation (the group itself is not yet written, and requests that list or describe groups don't
    see it; only in a departure).  `static`: (instance id, member id), sorted.  `delay`: the initial
    delay, while it runs.  `stored`: the group that a failover would load; None if nothing was
    written yet.  `subscribed`: the topics of the generation, if a restarted static member offers
    others.

    `remembers_newcomer`: a member joined in an initial delay that is over (only in a departure).
    `awaits_replaced`: a replaced member id owed a sync (only in a departure).  `replaced_offers`:
    protocols of replaced processes that still vote (only in a departure).
    """

    state: GroupState = GroupState.EMPTY
    generation_id: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str | None = None
    members: tuple[Member, ...] = ()
    static: tuple[tuple[str, str], ...] = ()
    pending: tuple[str, ...] = ()
    timers: tuple[Timer, ...] = ()
    delay: InitialDelay | None = None
    offsets: tuple[Offset, ...] = ()
    stored: Group | None = None
    remembers_newcomer: bool = False
    awaits_replaced: bool = False
    replaced_offers: tuple[tuple[str, ...], ...] = ()
    subscribed: tuple[str, ...] | None = None

    def outline(self) -> tuple[object, ...]:
        """Return the parts in which groups mostly differ."""
        return self.generation_id, self.leader, self.timers

    @property
    def age(self) -> tuple[str, int]:
        """The word for what counts the changes of the group, and its number now."""
        return "generation", self.generation_id

    def renamed(self, names: Mapping[str, str]) -> Group:
        """Return the group with member ids replaced by others."""

        def name(member_id: str) -> str:
            return names.get(member_id, member_id)

        def named(member: Member) -> Member:
            restart = member.restart
            if restart is not None and restart.previous_leader is not None:
                restart = restart._replace(previous_leader=name(restart.previous_leader))
            return replace(member, member_id=name(member.member_id), restart=restart)

        members = sorted(map(named, self.members), key=lambda member: member.member_id)
        return replace(
            self,
            leader=None if self.leader is None else name(self.leader),
            members=tuple(members),
            static=tuple(sorted((instance, name(mid)) for instance, mid in self.static)),
            pending=tuple(sorted(map(name, self.pending))),
            timers=tuple(sorted(t._replace(subject=name(t.subject)) for t in self.timers)),
            stored=None if self.stored is None else self.stored.renamed(names),
        )

    def timeless(self) -> Group:
        """Return the group with all times at 0."""
        offsets = tuple(_kept_until(o, 0) for o in self.offsets)
        return replace(self, timers=without_times(self.timers), offsets=offsets)

    def widened(self, twin: Group) -> Group:
        """Return this group with windows that hold those of a twin, which differs in times only."""
        expiries = [o.expires_ms or 0 for o in twin.offsets]
        return replace(
            self,
            timers=hull(self.timers, twin.timers),
            offsets=tuple(map(_kept_until, self.offsets, expiries)),
        )

    def recounted(self, since: int, by: int) -> Group:
        """Return the group with `by` added to its generation, if that is `since` or later."""
        stored = None if self.stored is None else self.stored.recounted(since, by)
        counted = self.generation_id + by if self.generation_id >= since else self.generation_id
        return replace(self, generation_id=counted, stored=stored)

    def shifted(self, by_ms: int) -> Group:
        """Return the group with each deadline later by this time, in ms."""
        timers = tuple(Timer(t[0], t[1], t[2] + by_ms, t[3] + by_ms) for t in self.timers)
        return replace(self, timers=timers)

    def has_timer(self, kind: str) -> bool:
        """Return True if the group's timer of this kind runs, with the subject ""."""
        place = bisect_left(self.timers, (kind,))
        return place < len(self.timers) and self.timers[place][:2] == (kind, "")

    def member(self, member_id: str) -> Member | None:
        """Return the member of this id, or None."""
        place, end = position(self.members, member_id)
        return self.members[place] if place < end else None

    def has_id(self, member_id: str) -> bool:
        """Return True if the id is a member's, or was handed out and is to join."""
        return self.member(member_id) is not None or member_id in self.pending

    def holder(self, group_instance_id: str) -> str | None:
        """Return the member id that an instance is mapped to, or None."""
        static = self.static
        place = bisect_left(static, (group_instance_id,))
        if place < len(static) and static[place][0] == group_instance_id:
            return static[place][1]
        return None

    def rebalance_timeout_ms(self) -> int:
        """Return the largest rebalance timeout of its members, in ms; 0 without members."""
        return max((m.rebalance_timeout_ms for m in kinds(self.members)), default=0)

    def waiting(self) -> int:
        """Count the members with a parked join."""
        return sum(number for m, number in kind_counts(self.members) if m.joining is not None)

    def candidates(self) -> set[str]:
        """Return the protocols that all members support."""
        if not self.members:
            return set()
        names = [{p.name for p in m.protocols} for m in kinds(self.members)]
        return set.intersection(*names)

    def votes(self) -> list[str]:
        """Return the protocols with most votes: each member votes for its first candidate."""
        candidates = self.candidates()
        count: dict[str, int] = {}
        for member, number in kind_counts(self.members):
            vote = next((p.name for p in member.protocols if p.name in candidates), None)
            if vote is not None:
                count[vote] = count.get(vote, 0) + number
        for offer in self.replaced_offers:
            vote = next((name for name in offer if name in candidates), None)
            if vote is not None:
                count[vote] = count.get(vote, 0) + 1
        most = max(count.values(), default=0)
        return sorted(name for name, votes in count.items() if votes == most)

    def topics(self) -> tuple[str, ...]:
        """Return the topics that members read by the selected protocol, sorted.

        `ALL_TOPICS` where one of them sent something that is no subscription.
        """
        try:
            rows = [subscribed_topics(m.metadata(self.protocol_name)) for m in self.members]
        except ValueError:
            return ALL_TOPICS
        return tuple(sorted({topic for row in rows for topic in row}))

    # The following return a changed group.

    def with_member(self, member: Member) -> Group:
        """Add a member, or replace the member with its id."""
        place, end = position(self.members, member.member_id)
        return replace(self, members=splice(self.members, place, end, member))

    def without_member(self, member_id: str) -> Group:
        """Remove a member, its mapping and its timers; if it led, nobody leads."""
        place, end = position(self.members, member_id)
        return replace(
            self,
            members=splice(self.members, place, end),
            static=tuple(pair for pair in self.static if pair[1] != member_id),
            timers=_cut(_cut(self.timers, SESSION, member_id), WRITE, member_id),
            leader=None if self.leader == member_id else self.leader,
        )

    def with_mapping(self, group_instance_id: str, member_id: str) -> Group:
        """Map an instance to a member id."""
        place, end = _row(self.static, (group_instance_id,))
        pair = group_instance_id, member_id
        return replace(self, static=(*self.static[:place], pair, *self.static[end:]))

    def with_timer(self, kind: str, subject: str, earliest: int, latest: int) -> Group:
        """Set or reset a timer; the deadline is in ms."""
        place, end = _row(self.timers, (kind, subject))
        timer = Timer(kind, subject, earliest, latest)
        return replace(self, timers=with_timer(self.timers, place, end, timer))

    def with_timers(self, timers: Iterable[Timer]) -> Group:
        """Set or reset several timers."""
        known = {timer[:2]: timer for timer in (*self.timers, *timers)}
        return replace(self, timers=tuple(sorted(known.values())))

    def without_timer(self, kind: str, subject: str = "") -> Group:
        """Stop a timer, if it runs."""
        return replace(self, timers=_cut(self.timers, kind, subject))

    def without_idle_sync_timer(self) -> Group:
        """Stop the wait for syncs, if no member owes one."""
        if self.awaits_replaced or any(m.owes_sync for m in kinds(self.members)):
            return self
        return self.without_timer(SYNC)

    def as_stored(self) -> Group:
        """Return this group as it is stored.

        It has no timers, parked requests or pending ids; of each member's protocols the selected.
        """
        members = tuple(
            replace(
                m,
                protocols=tuple(p for p in m.protocols if p.name == self.protocol_name),
                joining=None,
                syncing=None,
                new=False,
                owes_sync=False,
                restart=None,
            )
            for m in self.members
        )
        return replace(
            self,
            members=members,
            pending=(),
            timers=(),
            delay=None,
            offsets=(),
            stored=None,
            remembers_newcomer=False,
            awaits_replaced=False,
            replaced_offers=(),
            subscribed=None,
        )


def _row(rows: tuple[tuple[Any, ...], ...], begin: tuple[str, ...]) -> tuple[int, int]:
    """Return begin and end of the one row that begins so; both are equal if there is none."""
    place = bisect_left(rows, begin)
    exists = place < len(rows) and rows[place][: len(begin)] == begin
    return place, place + exists


def _kept_until(offset: Offset, at_ms: int) -> Offset:
    """Return an offset whose retention, if it has one, is over at a time, in ms, or sooner."""
    expires = offset.expires_ms
    return offset if expires is None else offset._replace(expires_ms=min(expires, at_ms))


def _cut(timers: tuple[Timer, ...], kind: str, subject: str) -> tuple[Timer, ...]:
    place, end = _row(timers, (kind, subject))
    return timers[:place] + timers[end:] if place < end else timers
