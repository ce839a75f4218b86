"""The members of a large group: a sorted tuple that counts them by kind.

Most rules ask something of all members: does everybody wait, does anybody owe a sync, which
protocols do all support.  A rebalance of a thousand members asks that thousands of times.  So a
large group's tuple counts its members by all that such questions look at, and hands the counts on
when one member changes; and so it does with their ids, by which one is found.  A few members are
counted more slowly than looked at: they are a plain tuple.  Both are equal, and have the same hash,
if their members are equal.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fencepost.model.classic.group import Member

MANY = 32
"""From so many members on they are counted."""

_member_id = attrgetter("member_id")
_Kind = tuple[tuple[str, ...], int, bool, bool, bool]
_Counts = dict[_Kind, tuple["Member", int]]


class CountedMembers(tuple["Member", ...]):  # noqa: SLOT001  (a tuple can have none)
    """Many members, sorted by id."""

    @cached_property
    def counts(self) -> _Counts:
        """Of each kind a member that is, or was, of it, and how many there are now."""
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

    def spliced(self, place: int, end: int, new: tuple[Member, ...]) -> CountedMembers:
        """Return the same members, with new ones from one place to another."""
        after = CountedMembers(self[:place] + new + self[end:])
        if "counts" in self.__dict__:
            after.counts = self.counts.copy()
            for member in self[place:end]:
                _count(after.counts, member, -1)
            for member in new:
                _count(after.counts, member, 1)
        given = tuple(map(_member_id, new))
        ids = self.ids
        after.ids = ids if given == ids[place:end] else ids[:place] + given + ids[end:]
        return after

    def __reduce__(self) -> tuple[type, tuple[tuple[Member, ...]]]:
        return tuple, (tuple(self),)


def spliced(members: tuple[Member, ...], place: int, end: int, *new: Member) -> tuple[Member, ...]:
    """Return these members, with new ones from one place to another."""
    if len(members) < MANY:
        return (*members[:place], *new, *members[end:])
    if not isinstance(members, CountedMembers):
        members = CountedMembers(members)
    return members.spliced(place, end, new)


def seat(members: tuple[Member, ...], member_id: str) -> tuple[int, int]:
    """Return where the member of this id is, or would be: from, to (the same if there is none)."""
    if isinstance(members, CountedMembers):
        place = bisect_left(members.ids, member_id)
    else:
        place = bisect_left(members, member_id, key=_member_id)
    return place, place + (place < len(members) and members[place].member_id == member_id)


def kinds(members: tuple[Member, ...]) -> Iterable[Member]:
    """Return a member of each kind at least: what holds for all of these holds for all members.

    Members of one kind agree in the names of their protocols, in their rebalance timeout, and in
    whether they are static, have a parked join and owe a sync; a question to kinds asks no more.
    """
    if isinstance(members, CountedMembers):
        return [member for member, _ in members.counts.values()]
    return members


def counted(members: tuple[Member, ...]) -> Iterable[tuple[Member, int]]:
    """Return the same, each with the number of members that it stands for."""
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
