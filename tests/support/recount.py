"""What consumption came to, counted again in another way: change by change, who has it now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from fencepost.conformance.simulate.simulation import ClientEvent
from fencepost.model.client.client_interface import Assigned, Lost, Revoked
from fencepost.model.messages.subscription import TopicPartition


class Recount(NamedTuple):
    """Of all partitions together; times in ms."""

    moves: int
    unavailable_ms: int
    twice_ms: int


class _Change(NamedTuple):
    """A consumer has a partition from now on, or no more (None: none at all)."""

    at_ms: int
    consumer: str
    partition: TopicPartition | None
    is_given: bool


def recount(
    told: Iterable[ClientEvent],
    ended: Mapping[str, int],
    partitions: Iterable[TopicPartition],
    from_ms: int,
    until_ms: int,
) -> Recount:
    """Count what `consumption` counts; what users were told at `from_ms` was before the window."""
    killed = (_Change(at_ms, consumer, None, is_given=False) for consumer, at_ms in ended.items())
    changes = sorted([*_changes(told), *killed], key=lambda change: change.at_ms)
    end = _Change(until_ms, "", None, is_given=False)
    moves = unavailable_ms = twice_ms = 0
    for partition in partitions:
        having: set[str] = set()
        last, since_ms = "", from_ms
        for at_ms, consumer, changed, is_given in (*changes, end):
            now_ms = min(max(at_ms, from_ms), until_ms)
            unavailable_ms += now_ms - since_ms if not having else 0
            twice_ms += (now_ms - since_ms) * max(len(having) - 1, 0)
            since_ms = now_ms
            if not is_given and changed in {None, partition}:
                having.discard(consumer)
            elif changed == partition:
                member = consumer.partition("#")[0]
                moves += from_ms < at_ms and last not in {"", member}
                last = member
                having.add(consumer)
    return Recount(moves, unavailable_ms, twice_ms)


def _changes(told: Iterable[ClientEvent]) -> Iterator[_Change]:
    for at_ms, consumer, event in told:
        if isinstance(event, Assigned | Revoked | Lost):
            is_given = isinstance(event, Assigned)
            for partition in event.partitions:
                yield _Change(at_ms, consumer, partition, is_given)
