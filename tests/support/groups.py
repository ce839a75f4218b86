"""Groups as short text, for tests of assignors: `i1(ra): ta tb | ta0 tb1 @3`."""

from __future__ import annotations

import re

from fencepost.model.assignors.assignor_input import Applicant, Assignment
from fencepost.model.messages.subscription import Subscription, TopicPartition
from fencepost.properties.assignors.assignor_promises import AssignorInput

_MEMBER = re.compile(r"(\w+)(?:\((\w+)\))?: ([\w ]*)(?:\| ([\w -]*)@(-?\d+))?")


def partitions(text: str) -> tuple[TopicPartition, ...]:
    """Partitions such as `ta0 tb1`; topics have two letters."""
    return tuple(TopicPartition(word[:2], int(word[2:])) for word in text.split())


def member(text: str, member_id: str | None = None) -> Applicant:
    """A member as above: a name, a rack, topics, what it owns since which generation.

    One whose name begins with `i` is static, its name the instance id.
    """
    found = _MEMBER.fullmatch(text)
    assert found is not None, text
    name, rack, topics, owned, generation = found.groups()
    subscription = Subscription(
        tuple(topics.split()), partitions(owned or ""), int(generation or -1), rack
    )
    return Applicant(member_id or name, name if name[0] == "i" else None, subscription)


def group(*members: str, **topics: int | str) -> AssignorInput:
    """A group; topics with a count, or with the racks of each partition: `"ra,rb rb -"`."""
    counts: dict[str, int] = {}
    racks: dict[TopicPartition, frozenset[str]] = {}
    for topic, value in topics.items():
        if isinstance(value, int):
            counts[topic] = value
            continue
        places = value.split()
        counts[topic] = len(places)
        for number, place in enumerate(places):
            racks[TopicPartition(topic, number)] = frozenset(place.split(",")) - {"-"}
    return AssignorInput(tuple(map(member, members)), counts, racks)


def told(found: Assignment) -> dict[str, str]:
    """An assignment as such text."""
    return {m: " ".join(f"{p.topic}{p.partition}" for p in ps) for m, ps in found.items()}
