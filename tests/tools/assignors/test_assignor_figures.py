from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from fencepost.model.assignors.assignors import ASSIGNORS
from fencepost.properties.assignors.assignor_promises import AssignorInput, Quality
from tools.assignors import assignor_figures
from tools.assignors.assignor_figures import JavaAnswer, Question, gap, measure

BEST = Quality(10, 2, 3)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (BEST, "best"),
        (Quality(10, 2, 4), "1 move more"),
        (Quality(10, 2, 5), "2 moves more"),
        (Quality(10, 2, 9), "3 or more"),
        (Quality(10, 3, 0), "farther"),
        (Quality(11, 0, 0), "less even"),
    ],
)
def test_how_far_from_the_best(found: Quality, expected: str) -> None:
    assert gap(found, BEST) == expected


async def ask_us(questions: Iterable[Question], within_s: float) -> list[JavaAnswer]:
    """Stands for Java: our own assignors, which fail now and then."""
    del within_s
    rng = random.Random(1)
    return [
        JavaAnswer(("NullPointerException",), 0)
        if rng.random() < 0.02
        else JavaAnswer(
            (AssignorInput(q.members, q.counts, q.racks).assigned(ASSIGNORS[q.assignor]),), 0
        )
        for q in questions
    ]


async def test_figures_of_a_few_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignor_figures, "ask_java", ask_us)
    monkeypatch.setattr(assignor_figures, "_small", lambda: iter(()))
    figures = await measure(8, seed=3)
    assert len(figures["parity"]) == 8 * 4
    for row in figures["parity"]:
        assert sum(row["found"].values()) == 8
        assert row["found"].keys() <= {"equal", "Java raises an exception"}
    by_us = [row for row in figures["quality"] if row["by"] == "fencepost"]
    by_java = [row for row in figures["quality"] if row["by"] == "Java"]
    assert len(by_us) == len(by_java) == 2 * 4
    for us, java in zip(by_us, by_java, strict=True):
        assert us["gaps"] == java["gaps"]
        assert us["rounds"] == java["rounds"]
        assert sum(us["gaps"].values()) == sum(us["rounds"].values()) <= 8
        if us["groups"] == "same topics":
            assert us["gaps"]["best"] == sum(us["gaps"].values())
    assert any(sum(row["gaps"].values()) < 8 for row in by_java)
