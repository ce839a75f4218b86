"""The timers of a large group: a sorted tuple that knows which one fires first.

A heartbeat sets one timer of a thousand anew, and then the coordinator asks which is due first.  So
a large group's tuple knows the first timer of each few, and hands that on when one is set anew.  A
few timers are a plain tuple.  Both are equal, and have the same hash, if their timers are equal.
"""

from __future__ import annotations

from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING

from fencepost.model.classic.counted_members import MANY

if TYPE_CHECKING:
    from fencepost.model.classic.group import Timer

_FEW = 32
_latest = itemgetter(3)


class ManyTimers(tuple["Timer", ...]):  # noqa: SLOT001  (a tuple can have none)
    """Many timers, sorted by kind and subject."""

    @cached_property
    def firsts(self) -> tuple[Timer, ...]:
        """Of each few timers, in their order, the one that fires first."""
        return tuple(self.first_from(place) for place in range(0, len(self), _FEW))

    def first_from(self, place: int) -> Timer:
        """Return the one that fires first of a few from a place on."""
        return min(self[place : place + _FEW], key=_latest)

    def __reduce__(self) -> tuple[type, tuple[tuple[Timer, ...]]]:
        return tuple, (tuple(self),)


def with_timer(timers: tuple[Timer, ...], place: int, end: int, new: Timer) -> tuple[Timer, ...]:
    """Return these timers with a new one at its place, or instead of the one there.

    All are sorted by kind and subject; `end` is `place`, or one more where a timer is replaced.
    """
    after = timers[:place] + (new,) + timers[end:]  # noqa: RUF005  (half the time for a thousand)
    if len(after) < MANY:
        return after
    many = ManyTimers(after)
    if isinstance(timers, ManyTimers) and len(timers) == len(many) and "firsts" in vars(timers):
        few = place // _FEW
        first = many.first_from(few * _FEW)
        many.firsts = (*timers.firsts[:few], first, *timers.firsts[few + 1 :])
    return many


def first_timer(timers: tuple[Timer, ...]) -> Timer:
    """Return the timer whose latest moment comes first; of several, the first in order.

    Raises ValueError if there is none.
    """
    return min(timers.firsts if isinstance(timers, ManyTimers) else timers, key=_latest)
