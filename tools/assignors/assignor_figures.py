"""Figures of our assignors and Java's: parity on random groups, and how far from the best each is.

The groups are the same for the same seed.  A cooperative assignor is judged by its end, round by
round, each of which is a question to Java.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any

from fencepost.model.assignors.assignor_input import Assignment
from fencepost.model.assignors.assignors import ASSIGNORS
from fencepost.properties.assignors.assignor_groups import (
    KINDS,
    AssignorInput,
    GroupKind,
    random_group,
    small_groups,
    small_racked_groups,
)
from fencepost.properties.assignors.assignor_promises import LONGEST, rounds
from fencepost.properties.assignors.optimum import Quality, best_assignment, quality_of
from tools.assignors.assignor_parity import gives_unwanted, parity_of
from tools.assignors.java_assignors import VERSION, Question, ask_java

WITHIN_S = 900.0
STICKY = tuple(name for name, assignor in ASSIGNORS.items() if assignor.is_sticky)
SMALL = "all small"
GAPS = ("best", "1 move more", "2 moves more", "3 or more", "farther", "less even")
"""How far from the best an assignment is, by what comes first: balance, racks, moves."""
_MORE_MOVES = 3


async def measure(each: int, seed: int) -> dict[str, Any]:
    """All figures, of so many random groups of each kind.  Raises TargetUnavailableError."""
    rng = random.Random(seed)  # noqa: S311  (to choose groups)
    groups = [(kind, random_group(kind, rng)) for kind in KINDS for _ in range(each)]
    parity = await _parity([*((str(kind), group) for kind, group in groups), *_small()])
    fair = [(kind, group) for kind, group in groups if not kind.has_conflicts]
    return {
        "kafka": VERSION,
        "seed": seed,
        "parity": parity,
        "quality": [row async for row in _quality(fair)],
    }


def _small() -> Iterator[tuple[str, AssignorInput]]:
    yield from ((SMALL, group) for group in small_groups(3, 4))
    for members in (2, 3):
        yield from ((f"{SMALL}, racks", group) for group in small_racked_groups(members, 3))


async def _parity(groups: Sequence[tuple[str, AssignorInput]]) -> list[dict[str, Any]]:
    """How often each kind of parity was found, by kind of group and assignor."""
    asked = [
        (kind, Question(name, group.members, group.counts, group.racks))
        for kind, group in groups
        for name in ASSIGNORS
    ]
    answers = await ask_java([question for _, question in asked], WITHIN_S)
    found: dict[tuple[str, str], Counter[str]] = {}
    for (kind, question), answer in zip(asked, answers, strict=True):
        row = found.setdefault((kind, question.assignor), Counter())
        row[parity_of(question, answer).value] += 1
    return [
        {"groups": kind, "assignor": name, "found": dict(sorted(row.items()))}
        for (kind, name), row in found.items()
    ]


async def _quality(
    groups: Sequence[tuple[GroupKind, AssignorInput]],
) -> AsyncIterator[dict[str, Any]]:
    """Gaps and rounds of the sticky assignors, by kind of group: ours, and Java's.

    Groups on which Java fails or breaks a promise are left out of both.
    """
    only = [group for _, group in groups]
    best = [quality_of(group, best_assignment(group)) for group in only]
    for name in STICKY:
        ours = [[found for _, found in rounds(ASSIGNORS[name], group)] for group in only]
        java = await _java_rounds(name, only)
        for by, passed in (("fencepost", ours), ("Java", java)):
            gaps = {str(kind): Counter[str]() for kind, _ in groups}
            needed = {str(kind): Counter[int]() for kind, _ in groups}
            for index, (kind, group) in enumerate(groups):
                if java[index]:
                    found = gap(quality_of(group, passed[index][-1]), best[index])
                    gaps[str(kind)][found] += 1
                    needed[str(kind)][len(passed[index])] += 1
            for said, count in gaps.items():
                yield {
                    "groups": said,
                    "assignor": name,
                    "by": by,
                    "gaps": {one: count[one] for one in GAPS},
                    "rounds": {
                        str(number): needed[said][number] for number in sorted(needed[said])
                    },
                }


def gap(found: Quality, best: Quality) -> str:
    """How far an assignment is from the best, one of GAPS."""
    if found.unevenness > best.unevenness:
        return "less even"
    if found.far > best.far:
        return "farther"
    more = found.moves - best.moves
    return GAPS[min(more, _MORE_MOVES)]


async def _java_rounds(name: str, groups: Iterable[AssignorInput]) -> list[list[Assignment]]:
    """Java's assignments of each group, round by round; none where it fails or breaks a promise."""
    now = dict(enumerate(groups))
    found: list[list[Assignment]] = [[] for _ in now]
    for number in range(LONGEST):
        asked = {
            index: Question(name, group.members, group.counts, group.racks, namings=1)
            for index, group in now.items()
        }
        answers = await ask_java(asked.values(), WITHIN_S)
        after = {}
        for index, answer in zip(asked, answers, strict=True):
            [result] = answer.results
            if isinstance(result, str) or gives_unwanted(now[index], result):
                found[index] = []
            elif not found[index] or found[index][-1] != result:
                found[index].append(result)
                if ASSIGNORS[name].is_cooperative:
                    after[index] = now[index].owning(result, 10 + number)
        now = after
        if not now:
            break
    return found
