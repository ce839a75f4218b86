"""Leave the target of a group open: decide only what an answer shows of it.

Every legal target is an outcome, and there are many.  A machine that follows an unknown assignor
lists for each partition the members that it may be meant for (`ConsumerGroup.open`).  A step that
depends on a member's share forks over its possible shares; all other partitions stay open.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from msgspec.structs import replace

from fencepost.model.consumer.group import ConsumerGroup
from fencepost.model.consumer.topics import (
    MOST_TARGETS,
    NO_SLIP,
    PartitionCount,
    Slip,
    TooManyTargetsError,
    readers,
)
from fencepost.model.messages.subscription import TopicPartition

_NOBODY = ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bound a member's share: partitions that are in it, and others that aren't."""

    within: frozenset[TopicPartition] = frozenset()
    without: frozenset[TopicPartition] = frozenset()

    def choices(self, partition: TopicPartition) -> tuple[bool, ...]:
        """Return whether the share may have a partition."""
        if partition in self.within:
            return (True,)
        return (False,) if partition in self.without else (True, False)


NO_BOUNDS = Bounds()


def with_open_target(
    group: ConsumerGroup, count: PartitionCount, slip: Slip = NO_SLIP
) -> ConsumerGroup:
    """Return the group with a new target, of which only what every assignor does is decided."""
    after = replace(group, target=(), open=(), target_epoch=group.epoch)
    choices = {p: tuple(ids) for p, ids in readers(group, count, slip).items()}
    return _with_choices(after, choices)


def with_share_of(
    group: ConsumerGroup,
    member_id: str,
    topics: Container[str] | None = None,
    bounds: Bounds = NO_BOUNDS,
    alike: Container[TopicPartition] = (),
) -> Iterator[ConsumerGroup]:
    """Yield the group with each possible share of a member in the target, within the bounds.

    `topics`: the topics of which the share matters; None: all.  `alike`: partitions of which it
    matters only whether any is in the share; once one is, the others stay open.  Raises
    TooManyTargetsError for more than `MOST_TARGETS`.
    """

    def matters(partition: TopicPartition) -> bool:
        return topics is None or partition.topic in topics

    mine = [p for p, ids in group.open if member_id in ids and matters(p)]
    if not mine:
        yield group
        return
    ways = {p: bounds.choices(p) for p in mine}
    apart = [p for p in mine if p not in alike or len(ways[p]) == 1]
    has_one = any(p in alike and matters(p) for p in group.target_of(member_id))
    some = [{}] if has_one else [*_any_of([p for p in mine if p not in apart])]
    if prod(len(ways[p]) for p in apart) * len(some) > MOST_TARGETS:
        raise TooManyTargetsError(
            f"{len(mine)} partitions that a member may get or not are more shares than "
            f"{MOST_TARGETS:,}"
        )
    for gets, rest in product(product(*(ways[p] for p in apart)), some):
        share = {**dict(zip(apart, gets, strict=True)), **rest}
        yield _with_choices(
            group,
            {
                p: (member_id,) if yes else tuple(i for i in _choices(group, p) if i != member_id)
                for p, yes in share.items()
            },
        )


def _any_of(partitions: Sequence[TopicPartition]) -> Iterator[dict[TopicPartition, bool]]:
    """Yield the shares without any of the partitions, and with each as the first one."""
    yield dict.fromkeys(partitions, False)
    for place, partition in enumerate(partitions):
        yield {**dict.fromkeys(partitions[:place], False), partition: True}


def decided(
    group: ConsumerGroup, observed: Mapping[TopicPartition, Collection[str]] | None
) -> Iterator[ConsumerGroup]:
    """Yield the group with each possible target.

    `observed`: the members to whom the answer shows a partition; it is one of them, if it can be.
    Raises TooManyTargetsError for more than `MOST_TARGETS`.
    """
    choices = [ids for _, ids in group.open]
    if observed is not None:
        owners = [observed.get(p, (_NOBODY,)) for p, _ in group.open]
        choices = [
            tuple(i for i in ids if i in holders)[:1] or ids[:1]
            for holders, ids in zip(owners, choices, strict=True)
        ]
    total = prod(map(len, choices))
    if total > MOST_TARGETS:
        raise TooManyTargetsError(
            f"{len(choices)} partitions have {total:,} possible owners in all, more than "
            f"{MOST_TARGETS:,}"
        )
    for chosen in product(*choices):
        each = zip(group.open, chosen, strict=True)
        yield _with_choices(group, {p: (owner,) for (p, _), owner in each})


def _choices(group: ConsumerGroup, partition: TopicPartition) -> tuple[str, ...]:
    return next(ids for p, ids in group.open if p == partition)


def _with_choices(
    group: ConsumerGroup, choices: dict[TopicPartition, tuple[str, ...]]
) -> ConsumerGroup:
    """Return the group with other choices; a partition with one choice is decided."""
    everything = {**dict(group.open), **choices}
    rows = {member_id: [*partitions] for member_id, partitions in group.target}
    for partition, ids in everything.items():
        if len(ids) == 1 and ids[0] != _NOBODY:
            rows.setdefault(ids[0], []).append(partition)
    return replace(
        group,
        target=tuple(sorted((member_id, tuple(sorted(row))) for member_id, row in rows.items())),
        open=tuple(sorted((p, ids) for p, ids in everything.items() if len(ids) > 1)),
    )
