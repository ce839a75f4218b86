"""A few questions with what Java's assignors answered, kept so that no test needs Java.

`python tests/support/clients/java_sample.py`, in a checkout with a JDK, asks Java anew.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from fencepost.model.assignors.assignor_input import Applicant
from fencepost.model.assignors.assignors import ASSIGNORS
from fencepost.model.messages.subscription import Subscription, TopicPartition
from fencepost.properties.assignors.assignor_promises import KINDS, AssignorInput, random_group
from tools.assignors.assignor_figures import JavaAnswer, Parity, Question, answer_of, ask_java

FILE = Path(__file__).with_name("java_assignors.json")
_EACH = 3
_STICKY = ("sticky", "cooperative-sticky")

ODD: dict[str, tuple[tuple[str, ...], dict[str, int], tuple[Parity, Parity]]] = {
    "who wants nothing": (
        ("m1: ", "m2: ta"),
        {"ta": 2},
        (Parity.ONE_OF_SEVERAL, Parity.ONE_OF_SEVERAL),
    ),
    "fewer partitions": (
        ("m1: ta | ta0 ta5 @1", "m2: ta | ta1 @1"),
        {"ta": 3},
        (Parity.JAVA_FAILS, Parity.JAVA_FAILS),
    ),
    "fewer partitions, different topics": (
        ("m1: ta tb | ta0 ta5 @1", "m2: ta | ta1 @1"),
        {"ta": 3, "tb": 1},
        (Parity.JAVA_GIVES_WRONGLY, Parity.JAVA_GIVES_WRONGLY),
    ),
    "an earlier claim": (
        ("m1: ta tb | ta0 ta1 tb0 @4", "m2: ta | ta0 @3", "m3: tb"),
        {"ta": 2, "tb": 1},
        (Parity.EQUAL, Parity.JAVA_HANDS_OVER_EARLY),
    ),
    "an earlier claim to what isn't wanted": (
        ("m1: ta tb | ta0 ta1 ta2 tb0 @4", "m2: ta", "m3: tb | ta1 @3"),
        {"ta": 3, "tb": 1},
        (Parity.JAVA_GIVES_UNWANTED, Parity.JAVA_GIVES_UNWANTED),
    ),
    "such a claim of one that takes no part": (
        ("m1: ta | ta0 ta1 ta2 @4", "m2: ta", "m3: tc | ta0 @3"),
        {"ta": 3},
        (Parity.JAVA_FAILS, Parity.JAVA_FAILS),
    ),
}
"""Groups in which Java does what ours doesn't, and how: sticky, cooperative-sticky."""


def odd_questions() -> Iterator[tuple[str, Question]]:
    from support.groups import group  # noqa: PLC0415  (found when tests/ is on the path)

    for name, (members, counts, _) in ODD.items():
        found = group(*members, **counts)
        for assignor in _STICKY:
            yield name, _asked(assignor, found)


def questions() -> Iterator[tuple[str, Question]]:
    """What is asked, each with the kind of its group."""
    rng = random.Random(5)
    for kind in KINDS:
        for _ in range(_EACH):
            found = random_group(kind, rng)
            yield from ((str(kind), _asked(name, found)) for name in ASSIGNORS)
    yield from odd_questions()


def _asked(assignor: str, group: AssignorInput) -> Question:
    return Question(assignor, group.members, group.counts, group.racks)


def read() -> list[tuple[str, Question, JavaAnswer]]:
    """The kept questions and answers."""
    return [
        (kept["kind"], _question(kept["question"]), answer_of(kept["answer"]))
        for kept in json.loads(FILE.read_text("utf-8"))
    ]


def _question(told: dict[str, Any]) -> Question:
    members = tuple(
        Applicant(
            one["id"],
            one["instance"],
            Subscription(
                tuple(one["topics"]),
                tuple(TopicPartition(*partition) for partition in one["owned"]),
                one["generation"],
                one["rack"],
            ),
        )
        for one in told["members"]
    )
    racks = {
        TopicPartition(topic, number): frozenset(places)
        for topic, partitions in told["topics"].items()
        for number, places in enumerate(partitions)
    }
    counts = {topic: len(partitions) for topic, partitions in told["topics"].items()}
    return Question(told["assignor"], members, counts, racks, told["namings"])


def _lines(kept: list[dict[str, Any]]) -> str:
    return "[\n" + ",\n".join(msgspec.json.encode(one).decode() for one in kept) + "\n]\n"


def main() -> None:
    asked = list(questions())
    answers = asyncio.run(ask_java([question for _, question in asked], 300))
    kept = [
        {
            "kind": kind,
            "question": question.as_json(),
            "answer": {
                "results": [{"failed": r} if isinstance(r, str) else r for r in answer.results]
            },
        }
        for (kind, question), answer in zip(asked, answers, strict=True)
    ]
    FILE.write_text(_lines(kept), "utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main()
