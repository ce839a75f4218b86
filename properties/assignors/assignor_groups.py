"""Groups to hold assignors to: all small ones, random ones, and a Hypothesis strategy.

Names of one kind are equally long, so that their order is that of their numbers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, product

from hypothesis import find, settings
from hypothesis import strategies as st

from fencepost.model.assignors.assignor_input import NO_RACKS, Applicant, Assignment, Counts, Racks
from fencepost.model.assignors.assignors import Assignor
from fencepost.model.messages.subscription import Subscription, TopicPartition

RACKS = ("ra", "rb", "rc")
TOPICS = ("ta", "tb", "tc", "td")


@dataclass(frozen=True, slots=True)
class AssignorInput:
    """What an assignor is given."""

    members: tuple[Applicant, ...]
    counts: Counts
    racks: Racks = field(default_factory=lambda: NO_RACKS)

    def assigned(self, assignor: Assignor) -> Assignment:
        """Who gets what."""
        return assignor.assign(self.members, self.counts, self.racks)

    def partitions(self) -> list[TopicPartition]:
        """Each partition that somebody wants."""
        wanted = {topic for member in self.members for topic in member.subscription.topics}
        return [
            TopicPartition(topic, number)
            for topic in sorted(wanted)
            for number in range(self.counts.get(topic, 0))
        ]

    def owning(self, found: Assignment, generation: int) -> AssignorInput:
        """The same group, each member of which owns what it was given."""
        return replace(
            self,
            members=tuple(
                _with(m, owned=found[m.member_id], generation_id=generation) for m in self.members
            ),
        )


def _with(member: Applicant, **changes: object) -> Applicant:
    subscription = replace(member.subscription, **changes)  # type: ignore[arg-type]
    return replace(member, subscription=subscription)


def applicant(
    number: int,
    topics: tuple[str, ...],
    owned: tuple[TopicPartition, ...] = (),
    *,
    generation_id: int = -1,
    rack: str | None = None,
    is_static: bool = False,
) -> Applicant:
    """The member of this number; a static one's member id begins with its instance id."""
    instance = f"i{number:04}" if is_static else None
    member_id = f"{instance}u" if instance else f"m{number:04}u"
    return Applicant(member_id, instance, Subscription(topics, owned, generation_id, rack))


def small_groups(members: int, partitions: int) -> Iterator[AssignorInput]:
    """Each way in which up to so many members own up to so many partitions of two topics.

    Members want one topic or both, at least one of them everything; no partition has two owners.
    """
    for size in range(1, members + 1):
        for first in range(1, partitions + 1):
            counts = {"ta": first, "tb": partitions - first}
            everything = [TopicPartition(t, n) for t, count in counts.items() for n in range(count)]
            for wishes in product((("ta", "tb"), ("ta",)), repeat=size - 1):
                for owners in product(range(-1, size), repeat=len(everything)):
                    yield _owned_group((("ta", "tb"), *wishes), everything, owners, counts)


def _owned_group(
    wishes: tuple[tuple[str, ...], ...],
    partitions: list[TopicPartition],
    owners: tuple[int, ...],
    counts: Counts,
) -> AssignorInput:
    owned = [
        tuple(p for p, owner in zip(partitions, owners, strict=True) if owner == index)
        for index in range(len(wishes))
    ]
    return AssignorInput(
        tuple(
            applicant(index, topics, owned[index], generation_id=1 if owned[index] else -1)
            for index, topics in enumerate(wishes)
        ),
        counts,
    )


def small_racked_groups(members: int, partitions: int) -> Iterator[AssignorInput]:
    """Each way in which so many members and partitions of a topic are in two racks, or none.

    Nobody owns anything, or the first member everything.
    """
    places = [None, *RACKS[:2]]
    some = [frozenset(racks) for racks in chain(*(combinations(RACKS[:2], n) for n in (1, 2)))]
    everything = tuple(TopicPartition("ta", number) for number in range(partitions))
    for where in product(places, repeat=members):
        for replicas in product(some, repeat=partitions):
            for owned in ((), everything):
                yield AssignorInput(
                    tuple(
                        applicant(
                            index, ("ta",), owned if index == 0 else (), generation_id=1, rack=rack
                        )
                        for index, rack in enumerate(where)
                    ),
                    {"ta": partitions},
                    dict(zip(everything, replicas, strict=True)),
                )


@dataclass(frozen=True, slots=True)
class GroupKind:
    """What random groups are like.

    `is_uniform`: all members want the same; `has_racks`; `has_conflicts`: two members may claim the
    same partition, in the same or in different generations.
    """

    is_uniform: bool = True
    has_racks: bool = False
    has_conflicts: bool = False

    def __str__(self) -> str:
        """In words."""
        wants = "same topics" if self.is_uniform else "different topics"
        racks = ", racks" if self.has_racks else ""
        return wants + racks + (", claims overlap" if self.has_conflicts else "")


KINDS = tuple(
    GroupKind(uniform, racks, conflicts)
    for conflicts in (False, True)
    for racks in (False, True)
    for uniform in (True, False)
)


@st.composite
def groups(draw: st.DrawFn, kind: GroupKind | None = None) -> AssignorInput:
    """Groups of a kind, or of any; the smaller, the fewer members, partitions and owners."""
    chosen = kind or draw(st.sampled_from(KINDS))
    return _made(chosen, lambda least, most: draw(st.integers(least, most)))


def random_group(kind: GroupKind, rng: random.Random) -> AssignorInput:
    """A random group of a kind."""
    return _made(kind, rng.randint)


def _made(kind: GroupKind, number: Callable[[int, int], int]) -> AssignorInput:
    """A group of a kind; `number` chooses a number between two, the first being the simplest."""
    names = TOPICS[: number(1, 3)]
    counts = {topic: number(0, 6) for topic in names}
    everything = [TopicPartition(t, n) for t, count in counts.items() for n in range(count)]
    size = number(1, 6)
    owned: list[list[TopicPartition]] = [[] for _ in range(size)]
    for partition in everything:
        owners = [number(-1, size - 1)]
        if kind.has_conflicts and number(0, 3) == 3:
            owners.append(number(0, size - 1))
        for owner in sorted(set(owners) - {-1}):
            owned[owner].append(partition)
    shared = _some(names, number)
    members = tuple(
        applicant(
            index,
            shared if kind.is_uniform else _some(names, number),
            tuple(owned[index]),
            generation_id=5 - number(0, 2) if owned[index] else -1,
            rack=(None, *RACKS)[number(0, 3)] if kind.has_racks else None,
            is_static=number(0, 1) == 1,
        )
        for index in range(size)
    )
    racks = {
        partition: frozenset(RACKS[number(0, 2)] for _ in range(number(1, 2)))
        for partition in everything
        if kind.has_racks
    }
    return AssignorInput(members, counts, racks)


def _some(names: tuple[str, ...], number: Callable[[int, int], int]) -> tuple[str, ...]:
    """One or more of these, in their order."""
    bits = number(1, 2 ** len(names) - 1)
    return tuple(name for index, name in enumerate(names) if bits >> index & 1)


def shrunk_group(is_wanted: Callable[[AssignorInput], bool]) -> AssignorInput:
    """The smallest group, as far as Hypothesis finds it, of which this is true.

    Raises hypothesis.errors.NoSuchExample.
    """
    return find(
        groups(),
        is_wanted,
        settings=settings(max_examples=2000, derandomize=True, database=None),
    )
