"""The page of measured rows: made of the kept certificates, each row with an answer of its case."""

from __future__ import annotations

import pytest
from support.places import ROOT

from fencepost.conformance.cases import CONSUMER_ENTRIES, MIXED_ENTRIES, STREAMS_ENTRIES
from tools.docs.certificates_page import read_all
from tools.docs.consumer_rows_page import (
    FILE,
    PARTS,
    Part,
    answers_of,
    by_release,
    line,
    others_of,
    short,
)

DOCS = ROOT / "docs"
WRITTEN = (DOCS / FILE).read_text("utf-8").splitlines()


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.certificates.name)
def test_the_lines_are_what_is_made_now(part: Part) -> None:
    certificates = {c["target"]: c for c in read_all(DOCS / part.certificates)}
    sample = part.rows[::9]
    answers = {name: answers_of(name, sample) for name in part.releases}
    for row in sample:
        made = line(row, answers, certificates, others_of(certificates), part.releases)
        assert made in WRITTEN, "make it anew: python -m tools.docs.consumer_rows_page docs"


def test_each_row_is_there_once_with_a_case_of_the_catalogue() -> None:
    for part, cases in zip(PARTS, (CONSUMER_ENTRIES, MIXED_ENTRIES, STREAMS_ENTRIES), strict=True):
        known = {case.id for case in cases}
        assert [row.id for row in part.rows if row.case not in known] == []
    ids = [row.id for part in PARTS for row in part.rows]
    assert len(set(ids)) == len(ids)
    for each in ids:
        assert sum(written.startswith(f"| {each} | ") for written in WRITTEN) == 1


def test_no_row_is_of_a_case_that_was_not_run() -> None:
    assert [written for written in WRITTEN if "not run" in written] == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("NONE, epoch 3, assigned t-0, t-1", "NONE, 2 partitions"),
        ("NONE, epoch 3, assigned nothing", "NONE, 0 partitions"),
        ("NONE, epoch -2", "NONE"),
        ("UNRELEASED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID"),
        ("t-0 NONE", "t-0 NONE"),
        ('NONE, generation 3, follows ""', "NONE"),
        ('NONE, generation 0, follows ""', "NONE, generation 0"),
        ("g Empty, epoch 3, target of epoch 2", "Empty, epoch 3, target of 2"),
        (
            "g Stable, epoch 3, target of epoch 3 [A1: epoch 3, assigned t-0, t-1, target t-0]",
            "Stable, epoch 3, target of 3; A1 2 of 1",
        ),
    ],
)
def test_an_answer_is_short(answer: str, said: str) -> None:
    assert short(answer) == said


def test_equal_answers_of_releases_are_said_once() -> None:
    assert by_release([("4.0.1", "A"), ("4.1.2", "A")]) == "A"
    assert (
        by_release([("4.0.1", "A"), ("4.1.2", "A"), ("4.2.0", "B")])
        == "4.0.1 to 4.1.2: A; 4.2.0: B"
    )
