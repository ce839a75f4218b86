"""The state of one group of the consumer protocol: immutable, hashable, complete.

Two groups are in the same state exactly when they are equal.  Members, the static map, the target
and timers are sorted, since their order means nothing.  Partitions are named by topic and index;
the ids of topics occur in messages alone.

There is no parked request, leader, generation or delay: each heartbeat is answered at once, and
each change is written before that, so that a failover loses nothing but timers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from fencepost.model.messages.messages import JoinProtocol
from fencepost.model.messages.streams_messages import Topology
from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.work import Timer, hull, without_times

SESSION = "session"
REBALANCE = "rebalance"
ASSIGNMENT = "assignment"
JOIN = "join"
SYNC = "sync"
"""The kinds of a group's timers: see `ConsumerGroup`."""

RELEASED_EPOCH = -2

Partitions = tuple[TopicPartition, ...]
"""Partitions, sorted."""
Held = tuple[tuple[TopicPartition, int], ...]
"""Partitions, sorted, each with the epoch since which it is the member's."""


class Phase(Enum):
    """Progress of a member towards its target.

    UNREVOKED: it has been told to give partitions up, and has not said yet that it did.
    UNRELEASED: it has its target's epoch, and waits for partitions that others still have.
    """

    STABLE = "stable"
    UNREVOKED = "unrevoked"
    UNRELEASED = "unreleased"


class GroupState(Enum):
    """State of a group in descriptions, by Kafka's names.

    NOT_READY: of a streams group while a source topic is missing.
    """

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class Offset(NamedTuple):
    """A stored offset."""

    topic: str
    partition: int
    offset: int
    metadata: str | None


class ClassicSide(msgspec.Struct, frozen=True):
    """Fields of a member of the classic protocol: from its JoinGroup."""

    session_timeout_ms: int
    protocols: tuple[JoinProtocol, ...]


class Member(msgspec.Struct, frozen=True, cache_hash=True):
    """A member of a group.

    `epoch`: -2 while it is released.  `assigned`: what it may own.  `revoking`: what it was told to
    give up.  `topics`: the names that it subscribes to, sorted; `regex`: the expression.
    `rebalance_timeout_ms`: of itself, from its join.  `classic`: None for one of this protocol.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    rebalance_timeout_ms: int
    epoch: int = 0
    previous_epoch: int = 0
    phase: Phase = Phase.STABLE
    assigned: Held = ()
    revoking: Held = ()
    topics: tuple[str, ...] = ()
    regex: str = ""
    assignor: str = ""
    rack_id: str = ""
    classic: ClassicSide | None = None

    @property
    def is_static(self) -> bool:
        """Return True if it has an instance id."""
        return self.instance_id is not None

    @property
    def is_released(self) -> bool:
        """Return True if it left for a while, with -2."""
        return self.epoch == RELEASED_EPOCH

    def partitions(self) -> Partitions:
        """Return the partitions that it may own."""
        return tuple(partition for partition, _ in self.assigned)


class ConsumerGroup(msgspec.Struct, frozen=True, cache_hash=True):
    """A group that exists.

    `epoch`: of the group.  `target_epoch`: the group's epoch when its target was made; `target`:
    (member id, partitions), sorted, without members that have none.  `static`: (instance id, member
    id), sorted; up to 4.3.1 an entry may name a member whose own instance is another, or an id that
    is gone.

    `timers`: each has a kind: session (subject: a member id), rebalance (the time to revoke;
    subject: a member id), or assignment (until it ends, a new target may wait; subject "").  A
    classic member has a timer join once it is to join again, or sync once it joined; a heartbeat
    that makes it one of this protocol ends neither.

    `topology`: of a streams group, from its first join on.

    `open`: partitions of which it isn't known whom the target gives them, each with two members or
    more that may get it; "" for nobody.  Only a machine that leaves targets open has any.
    """

    epoch: int = 0
    target_epoch: int = 0
    target: tuple[tuple[str, Partitions], ...] = ()
    members: tuple[Member, ...] = ()
    static: tuple[tuple[str, str], ...] = ()
    timers: tuple[Timer, ...] = ()
    offsets: tuple[Offset, ...] = ()
    open: tuple[tuple[TopicPartition, tuple[str, ...]], ...] = ()
    topology: Topology | None = None

    def outline(self) -> tuple[object, ...]:
        """Return the parts in which groups mostly differ."""
        return self.epoch, self.target, self.open, self.timers

    @property
    def age(self) -> tuple[str, int]:
        """The word for what counts the changes of the group, and its number now."""
        return "epoch", self.epoch

    def renamed(self, names: Mapping[str, str]) -> ConsumerGroup:
        """Return the group with member ids replaced by others."""

        def name(member_id: str) -> str:
            return names.get(member_id, member_id)

        members = [replace(m, member_id=name(m.member_id)) for m in self.members]
        return replace(
            self,
            target=tuple(sorted((name(mid), partitions) for mid, partitions in self.target)),
            members=tuple(sorted(members, key=_member_id)),
            static=tuple(sorted((instance, name(mid)) for instance, mid in self.static)),
            timers=tuple(sorted(t._replace(subject=name(t.subject)) for t in self.timers)),
            open=tuple((p, tuple(sorted(map(name, ids)))) for p, ids in self.open),
        )

    def timeless(self) -> ConsumerGroup:
        """Return the group with all times at 0."""
        return replace(self, timers=without_times(self.timers))

    def widened(self, twin: ConsumerGroup) -> ConsumerGroup:
        """Return this group with windows that hold those of a twin, which differs in times only."""
        return replace(self, timers=hull(self.timers, twin.timers))

    def recounted(self, since: int, by: int) -> ConsumerGroup:
        """Return the group with `by` added to its epochs from `since` on."""

        def counted(epoch: int) -> int:
            return epoch + by if epoch >= since else epoch

        return replace(
            self,
            epoch=counted(self.epoch),
            target_epoch=counted(self.target_epoch),
            members=tuple(
                replace(
                    m,
                    epoch=counted(m.epoch),
                    previous_epoch=counted(m.previous_epoch),
                    assigned=tuple((p, counted(epoch)) for p, epoch in m.assigned),
                    revoking=tuple((p, counted(epoch)) for p, epoch in m.revoking),
                )
                for m in self.members
            ),
        )

    def shifted(self, by_ms: int) -> ConsumerGroup:
        """Return the group with each deadline later by this time, in ms."""
        timers = tuple(Timer(t[0], t[1], t[2] + by_ms, t[3] + by_ms) for t in self.timers)
        return replace(self, timers=timers)

    @property
    def is_simple(self) -> bool:
        """Return True if a commit made the group, and nobody was ever a member."""
        return self.epoch == 0 and not self.members

    @property
    def state(self) -> GroupState:
        """The state of the group in descriptions: a released member counts as reconciling."""
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.target_epoch:
            return GroupState.ASSIGNING
        if all(map(self.is_reconciled, self.members)):
            return GroupState.STABLE
        return GroupState.RECONCILING

    def is_reconciled(self, member: Member) -> bool:
        """Return True if a member has taken over the group's target, all of it."""
        return member.phase is Phase.STABLE and member.epoch == self.target_epoch

    def timer(self, kind: str, subject: str = "") -> Timer | None:
        """Return a timer, if it runs."""
        return next((t for t in self.timers if t[:2] == (kind, subject)), None)

    def member(self, member_id: str) -> Member | None:
        """Return the member of this id, or None."""
        place = bisect_left(self.members, member_id, key=_member_id)
        if place < len(self.members) and self.members[place].member_id == member_id:
            return self.members[place]
        return None

    def has_id(self, member_id: str) -> bool:
        """Return True if the id is a member's."""
        return self.member(member_id) is not None

    def holder(self, instance_id: str) -> str | None:
        """Return the member id that an instance is mapped to, or None."""
        return next((mid for instance, mid in self.static if instance == instance_id), None)

    def target_of(self, member_id: str) -> Partitions:
        """Return the partitions that the target gives to a member."""
        return next((partitions for mid, partitions in self.target if mid == member_id), ())

    def owned(self) -> Iterator[TopicPartition]:
        """Yield the partitions that are some member's, those to revoke, too."""
        for member in self.members:
            for partition, _ in (*member.assigned, *member.revoking):
                yield partition

    # The following return a changed group.

    def with_member(self, member: Member) -> ConsumerGroup:
        """Add a member, or replace the member with its id."""
        others = [m for m in self.members if m.member_id != member.member_id]
        return replace(self, members=tuple(sorted([*others, member], key=_member_id)))

    def without_member(self, member_id: str) -> ConsumerGroup:
        """Remove a member, its part of the target, its timers, and the entry of its instance."""
        member = self.member(member_id)
        assert member is not None
        return replace(
            self,
            open=tuple(
                (p, ids) for p, old in self.open if (ids := _or_nobody(old, member_id)) != ("",)
            ),
            target=tuple(row for row in self.target if row[0] != member_id),
            members=tuple(m for m in self.members if m.member_id != member_id),
            static=tuple(pair for pair in self.static if pair != (member.instance_id, member_id)),
            timers=tuple(t for t in self.timers if t.subject != member_id),
        )

    def with_mapping(self, instance_id: str, member_id: str) -> ConsumerGroup:
        """Map an instance to a member id."""
        others = self.without_mapping(instance_id).static
        return replace(self, static=tuple(sorted([*others, (instance_id, member_id)])))

    def without_mapping(self, instance_id: str) -> ConsumerGroup:
        """Remove the entry of an instance, if it has one."""
        return replace(self, static=tuple(pair for pair in self.static if pair[0] != instance_id))

    def with_target(self, member_id: str, partitions: Partitions) -> ConsumerGroup:
        """Set the part of the target that is a member's."""
        others = [row for row in self.target if row[0] != member_id]
        new = [(member_id, partitions)] if partitions else []
        return replace(self, target=tuple(sorted([*others, *new])))

    def with_timer(self, kind: str, subject: str, earliest: int, latest: int) -> ConsumerGroup:
        """Set or reset a timer; the deadline is in ms."""
        others = self.without_timer(kind, subject).timers
        return replace(
            self, timers=tuple(sorted([*others, Timer(kind, subject, earliest, latest)]))
        )

    def without_timer(self, kind: str, subject: str = "") -> ConsumerGroup:
        """Stop a timer, if it runs."""
        return replace(self, timers=tuple(t for t in self.timers if t[:2] != (kind, subject)))


def _member_id(member: Member) -> str:
    return member.member_id


def _or_nobody(ids: tuple[str, ...], gone: str) -> tuple[str, ...]:
    return tuple(sorted({"" if member_id == gone else member_id for member_id in ids}))
