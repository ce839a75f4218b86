"""Compute when the partitions of a group were consumed: gaps, overlaps and moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from fencepost.conformance.simulate.simulation import ClientEvent
from fencepost.model.assignors.assignor_input import Racks
from fencepost.model.client.client_interface import Assigned, Lost, Revoked
from fencepost.model.messages.subscription import TopicPartition


def place_of(process: str) -> str:
    """Return the member that a process of it is called after: `app-1` of `app-1#2`."""
    return process.partition("#")[0]


_EVER = 2**63


class Held(NamedTuple):
    """A time, in ms, for which a member consumed a partition."""

    from_ms: int
    until_ms: int
    member: str


class PartitionTimes(NamedTuple):
    """A partition in a window: its consumers, and its gaps and overlaps, in ms.

    `held`: a member that gave it back just when the window began, or got it just when it ended, is
    there for 0 ms.  `moves`: the number of times that its next consumer was another member,
    whatever its process.
    """

    partition: TopicPartition
    held: tuple[Held, ...]
    unavailable_ms: int
    longest_gap_ms: int
    twice_ms: int
    moves: int


def consumption(
    events: Iterable[ClientEvent],
    ended: Mapping[str, int],
    partitions: Iterable[TopicPartition],
    from_ms: int,
    until_ms: int,
    resume_ms: int = 0,
) -> list[PartitionTimes]:
    """Compute the times of each partition in a window.

    `ended`: when processes were killed, by consumer; others give back what they have.  `resume_ms`:
    how long after it was given, in the window, a member consumes a partition; one that it gives
    back sooner it had for 0 ms.
    """
    held: dict[TopicPartition, list[Held]] = {partition: [] for partition in partitions}
    owned: dict[tuple[str, TopicPartition], int] = {}

    def give_back(at_ms: int, consumer: str, partition: TopicPartition) -> None:
        since = owned.pop((consumer, partition), None)
        if since is not None:
            held[partition].append(Held(min(since, at_ms), at_ms, place_of(consumer)))

    for at_ms, consumer, event in events:
        match event:
            case Assigned(gained):
                since_ms = at_ms + resume_ms if at_ms > from_ms else at_ms
                for partition in gained:
                    owned[consumer, partition] = since_ms
            case Revoked(gone) | Lost(gone):
                for partition in gone:
                    give_back(at_ms, consumer, partition)
            case _:
                pass
    for consumer, partition in list(owned):
        give_back(ended.get(consumer, until_ms), consumer, partition)
    return [_in_window(partition, rows, from_ms, until_ms) for partition, rows in held.items()]


def far_ms(
    times: Iterable[PartitionTimes],
    rack_of: Callable[[str], str | None],
    placements: Sequence[tuple[int, Racks]],
) -> int:
    """Sum up the ms for which partitions were consumed from racks without a replica.

    `placements`: the racks of the replicas, each from a time on, the first from the beginning.
    """
    ends = [*(since_ms for since_ms, _ in placements[1:]), _EVER]
    return sum(
        max(min(row.until_ms, end_ms) - max(row.from_ms, since_ms), 0)
        for (since_ms, racks), end_ms in zip(placements, ends, strict=True)
        for each in times
        for row in each.held
        if rack_of(row.member) not in racks[each.partition]
    )


def _in_window(
    partition: TopicPartition, rows: Sequence[Held], from_ms: int, until_ms: int
) -> PartitionTimes:
    # with its ends: the count of moves needs the member before the first step
    rows_in_window = [
        Held(max(row.from_ms, from_ms), min(row.until_ms, until_ms), row.member)
        for row in sorted(rows)
        if row.from_ms <= until_ms and row.until_ms >= from_ms
    ]
    gaps, twice_ms, end_ms = [], 0, from_ms
    for row in rows_in_window:
        gaps.append(max(row.from_ms - end_ms, 0))
        twice_ms += max(min(row.until_ms, end_ms) - row.from_ms, 0)
        end_ms = max(end_ms, row.until_ms)
    gaps.append(until_ms - end_ms)
    moves = sum(earlier.member != later.member for earlier, later in pairwise(rows_in_window))
    return PartitionTimes(partition, tuple(rows_in_window), sum(gaps), max(gaps), twice_ms, moves)
