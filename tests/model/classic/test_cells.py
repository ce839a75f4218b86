"""Guards as cells: what they build, what they refuse, and how they are read again."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.model.classic.cells import (
    CHANGED,
    COLUMNS,
    DEAD,
    EMPTY,
    FOLLOWER,
    MEMBER,
    NONE,
    OTHER,
    OWN,
    STABLE,
    UNCHANGED,
    Cells,
    when,
)
from fencepost.model.classic.vocabulary import MID, STATE
from fencepost.model.revisions import revisions
from fencepost.model.table.columns import read_cells
from fencepost.model.table.expr import Feature, all_of, any_of, features_of, negate, text, word
from fencepost.model.table.shared_features import INST, version_feature

VERSION = version_feature(9)
SHOWN = (MID, INST, STATE)


def test_a_row_of_cells_is_the_conjunction_of_its_columns() -> None:
    row = when(mid=EMPTY, inst=OTHER, state=STABLE, selection=UNCHANGED)
    words = 'mid is "" and inst is mapped to another and state is Stable'
    assert text(row) == f"{words} and selected protocol is unchanged"
    assert text(when(inst=(NONE, OWN))) == "inst is none or mapped to this member"
    assert text(when(mid=MEMBER, version=VERSION.below(4))) == "mid is a member and version ≤ 3"
    assert text(when()) == "always"


def test_each_column_asks_for_one_feature_of_the_vocabulary() -> None:
    assert {"version", *COLUMNS.features} == set(Cells.__annotations__)
    assert all(isinstance(feature, Feature) for feature in COLUMNS.features.values())
    assert len({id(feature) for feature in COLUMNS.features.values()}) == len(COLUMNS.features)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"midd": EMPTY}, "no column 'midd'; the columns are version, group_id, .*mid, inst"),
        ({"state": EMPTY}, "state is never Mid.EMPTY; it is one of .*GroupState.EMPTY"),
        ({"mid": (MEMBER, CHANGED)}, "mid is never Change.CHANGED"),
        ({"mid": ()}, "mid=.*: no value would do; leave the column out"),
        ({"version": 4}, "version=4: give a condition, as in VERSION.at_least"),
        ({"version": MID.among(EMPTY)}, "version=.*: give a condition"),
    ],
)
def test_a_cell_that_says_nothing_is_refused_with_the_remedy(
    cells: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        when(**cells)


@pytest.mark.parametrize(
    ("guard", "cells", "rest"),
    [
        (when(), ("", "", ""), ""),
        (when(mid=EMPTY, state=STABLE), ('""', "", "Stable"), ""),
        (when(inst=(NONE, OWN)), ("", "none or mapped to this member", ""), ""),
        (all_of(when(inst=(NONE, OWN)), when(inst=NONE)), ("", "none", ""), ""),
        (when(mid=EMPTY, selection=CHANGED), ('""', "", ""), "selected protocol is changed"),
        (negate(when(state=DEAD)), ("", "", "not Dead"), ""),
        (
            negate(when(mid=EMPTY, state=STABLE)),
            ("", "", ""),
            'not (mid is "" and state is Stable)',
        ),
        (
            all_of(when(mid=MEMBER), any_of(when(role=FOLLOWER), when(state=DEAD))),
            ("a member", "", ""),
            "caller is follower or state is Dead",
        ),
    ],
    ids=str,
)
def test_a_guard_is_read_as_a_row(guard: Any, cells: tuple[str, ...], rest: str) -> None:
    assert read_cells(guard, SHOWN) == (cells, rest)


@pytest.mark.parametrize("name", revisions.NAMES)
def test_a_row_leaves_no_question_out(name: str) -> None:
    for table, rule in revisions.find(name).rules():
        shown = [feature for feature in SHOWN if feature in table.features]
        cells, rest = read_cells(rule.guard, shown)
        told = {f.name for f, cell in zip(shown, cells, strict=True) if cell}
        asked = {
            feature.name: [word(value) for value in feature.domain] if feature.says_all else []
            for feature in features_of(rule.guard)
        }
        assert {
            name
            for name in asked.keys() - told
            if name not in rest and not any(words in rest for words in asked[name])
        } == set(), rule.id
