"""Measure assignors beside Java's, in ms: 1,000 members and 10,000 partitions.

A group forms, and then a member leaves: the others should keep their partitions.  Members want the
same topics, or different ones; with racks or without.  Java's first call is the cost of a leader,
as its code isn't compiled yet; `java_again_ms` is a later one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from fencepost.model.assignors.assignors import ASSIGNORS, Assignor
from fencepost.model.messages.subscription import TopicPartition
from fencepost.properties.assignors.assignor_promises import RACKS, AssignorInput, applicant
from tools.assignors.assignor_figures import Question, ask_java, parity_of

_TOPICS = 10
_WITHIN_S = 900.0


def assignor_figures(members: int, partitions: int, *, java: bool) -> list[dict[str, Any]]:
    """Return a row for each assignor and group; `java`: with Java's figures, and true if equal."""
    cases = [
        (assignor, label, group)
        for assignor in ASSIGNORS.values()
        for label, group in _groups(members, partitions, assignor)
    ]
    rows = [_row(assignor, label, group) for assignor, label, group in cases]
    if java:
        questions = [Question(a.name, g.members, g.counts, g.racks, 1) for a, _, g in cases]
        answers = asyncio.run(ask_java([*questions, *questions], _WITHIN_S))
        first, again = answers[: len(questions)], answers[len(questions) :]
        for row, question, cold, other in zip(rows, questions, first, again, strict=True):
            row["java_ms"] = round(cold.took_ms)
            row["java_again_ms"] = round(other.took_ms)
            row["parity"] = parity_of(question, cold).value
    return rows


def _groups(
    members: int, partitions: int, assignor: Assignor
) -> Iterator[tuple[str, AssignorInput]]:
    for is_uniform in (True, False):
        for has_racks in (False, True):
            wants = "same topics" if is_uniform else "different topics"
            label = wants + (", racks" if has_racks else "")
            forming = _group(members, partitions, is_uniform=is_uniform, has_racks=has_racks)
            yield f"{label}: forms", forming
            owning = forming.owning(forming.assigned(assignor), 1)
            yield f"{label}: one is gone", replace(owning, members=owning.members[1:])


def _group(members: int, partitions: int, *, is_uniform: bool, has_racks: bool) -> AssignorInput:
    topics = tuple(f"t{number:03}" for number in range(_TOPICS))
    counts = dict.fromkeys(topics, partitions // _TOPICS)
    return AssignorInput(
        tuple(
            applicant(
                number,
                topics if is_uniform else topics[number % _TOPICS :],
                rack=RACKS[number % 3] if has_racks else None,
                is_static=True,
            )
            for number in range(members)
        ),
        counts,
        {
            TopicPartition(topic, number): frozenset({RACKS[number % 3], RACKS[number // 3 % 3]})
            for topic, count in counts.items()
            for number in range(count)
            if has_racks
        },
    )


def _row(assignor: Assignor, label: str, group: AssignorInput) -> dict[str, Any]:
    began = time.perf_counter()
    group.assigned(assignor)
    took_ms = round(1000 * (time.perf_counter() - began))
    return {"assignor": assignor.name, "group": label, "ms": took_ms}
