from __future__ import annotations

import pytest
from support.groups import group, partitions

from fencepost.model.assignors.assignor_input import Assignment
from tools.assignors.assignor_figures import JavaAnswer, Parity, Question, parity_of

GROUP = group("m1: ta", "m2: ta tb", ta=2, tb=2)
OURS = "ta0 ta1", "tb0 tb1"


def result(*given: str) -> Assignment:
    return {f"m{number}": partitions(text) for number, text in enumerate(given, 1)}


def parity(*results: Assignment | str) -> Parity:
    asked = Question("sticky", GROUP.members, GROUP.counts, GROUP.racks)
    return parity_of(asked, JavaAnswer(results, 0))


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([result(*OURS)], Parity.EQUAL),
        ([result("ta0", "ta1 tb0 tb1"), result(*OURS)], Parity.ONE_OF_SEVERAL),
        ([result("ta0", "ta1 tb0 tb1"), result("ta1", "ta0 tb0 tb1")], Parity.AS_GOOD),
        ([result(*OURS), "NullPointerException"], Parity.JAVA_FAILS),
        ([result("ta0 tb0", "ta1 tb1")], Parity.JAVA_GIVES_UNWANTED),
        ([result("ta0 ta1", "ta0 tb0 tb1")], Parity.JAVA_GIVES_WRONGLY),
        ([result("ta0 ta1 ta2", "tb0 tb1")], Parity.JAVA_GIVES_WRONGLY),
        ([result("ta0", "ta1 tb0 tb1")], Parity.DIFFERENT),
    ],
)
def test_each_parity(results: list[Assignment | str], expected: Parity) -> None:
    assert parity(*results) is expected


def test_of_several_better_ones_ours_is_not_as_good() -> None:
    """Loads of 3, 2 and 1, which chains of moves would level, in two ways."""
    one = group("m1: ta | ta0 ta1 ta2 @1", "m2: ta tb | tb0 tb1 @1", "m3: tb | tb2 @1", ta=3, tb=3)
    better = result("ta0 ta1", "ta2 tb0", "tb1 tb2"), result("ta0 ta2", "ta1 tb0", "tb1 tb2")
    asked = Question("sticky", one.members, one.counts, one.racks)
    assert parity_of(asked, JavaAnswer(better, 0)) is Parity.DIFFERENT


def test_an_early_handover() -> None:
    one = group("m1: ta | ta0 @1", "m2: ta", ta=1)
    asked = Question("cooperative-sticky", one.members, one.counts, one.racks)
    assert parity_of(asked, JavaAnswer((result("ta0", ""),), 0)) is Parity.EQUAL
    early = JavaAnswer((result("", "ta0"),), 0)
    assert parity_of(asked, early) is Parity.JAVA_HANDS_OVER_EARLY
