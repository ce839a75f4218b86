"""How many partitions nobody consumed at the same time: whether a group came to a full stop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Held = Sequence[tuple[float, float, str]]
"""From when until when a partition was consumed, and by whom, in order."""


def most_at_once(partitions: Iterable[Held], from_: float, until: float) -> int:
    """The most partitions that nobody consumed at one time, in a window."""
    changes: list[tuple[float, int]] = []
    for held in partitions:
        end = from_
        for begins, ends, _ in held:
            if begins > end:
                changes += [(end, 1), (begins, -1)]
            end = max(end, ends)
        if until > end:
            changes += [(end, 1), (until, -1)]
    now = most = 0
    for _, change in sorted(changes):  # at one time ends come first
        now += change
        most = max(most, now)
    return most
