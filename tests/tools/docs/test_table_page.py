"""The pages of the decision table and of its states say what the rules say today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.places import ROOT

from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.revision import Revision
from fencepost.traces.pages.decisions import edges
from tools.docs.table_page import (
    CONSUMER_FILE,
    STATES_FILE,
    TABLE_FILE,
    consumer_page,
    main,
    states_page,
    table_page,
)

DOCS = ROOT / "docs"
BASE = find_revision("kafka-4")
CONSUMER = find_revision("consumer-4.3")


def test_the_pages_are_what_is_made_now(tmp_path: Path) -> None:
    main(tmp_path)
    made = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    assert made.keys() == {TABLE_FILE, CONSUMER_FILE, STATES_FILE}
    assert made == {name: (DOCS / name).read_text("utf-8") for name in made}, (
        "make it anew: python -m tools.docs.table_page docs"
    )


@pytest.mark.parametrize(
    ("revision", "headings"),
    [
        (BASE, ["mid", "inst", "state", "more", "then"]),
        (CONSUMER, ["mid", "inst", "holder", "more", "then"]),
    ],
    ids=["classic", "consumer"],
)
def test_each_rule_has_a_row_of_cells_under_the_headings_of_its_table(
    revision: Revision, headings: list[str]
) -> None:
    bodies = [
        (re.findall(r"<th>(.*?)</th>", table), body)
        for table in re.findall(r"<table.*?</table>", table_page(revision), re.DOTALL)
        for body in re.findall(r"<tbody.*?</tbody>", table, re.DOTALL)
    ]
    ids = [re.findall(r"<code>([A-Z0-9-]+)</code>", body) for _, body in bodies]
    assert ids == [[rule.id] for _, rule in revision.rules()]
    for own, body in bodies:
        assert re.findall(r'data-column="(.*?)"', body) == own
        assert f'colspan="{len(own)}"' in body
    assert bodies[0][0] == headings


def test_the_page_of_the_consumer_protocol_has_mixed_groups() -> None:
    page = consumer_page()
    anchors = re.findall(r'<tbody id="([^"]+)">', page)
    assert len(set(anchors)) == len(anchors)
    assert "mg-join-replace" in anchors
    assert "cg-join-return" in anchors


def test_a_row_reads_as_the_table_of_the_kip() -> None:
    page = table_page(BASE)
    start = page.index('<tbody id="join-static-empty-stable">')
    row = page[start : page.index("</tbody>", start)]
    cells = ['""', "mapped to another", "Stable", "selected protocol is unchanged"]
    assert re.findall(r">([^<>]*)</td>", row)[:4] == cells
    assert "MUST, row: a static member that restarts in a stable group" in row
    assert 'KIP-345 "Non Goal"' in row


def test_another_revision_has_another_page() -> None:
    draft = find_revision("comment-table-1")
    assert table_page(draft) != table_page(BASE)
    assert states_page(find_revision("kafka-2.4")) != states_page(BASE)


def test_each_link_to_a_rule_has_its_anchor() -> None:
    anchors = set(re.findall(r'<tbody id="([^"]+)">', table_page(BASE)))
    links = set(re.findall(r"\(table\.md#([^)]+)\)", states_page(BASE)))
    assert links
    assert links <= anchors


def test_arrows_are_those_that_can_happen() -> None:
    moves = {(e.start, e.end): set(e.rules) for e in edges(BASE) if e.start is not e.end}
    assert {end for start, end in moves if start is GroupState.COMPLETING} == {
        GroupState.PREPARING,
        GroupState.STABLE,
    }
    assert moves[GroupState.COMPLETING, GroupState.STABLE] == {"SYNC-COMPLETING-LEADER"}
    assert all(start is not GroupState.DEAD for start, _ in moves), "a check answers first"
    assert "JOIN-PENDING" in moves[GroupState.EMPTY, GroupState.PREPARING]
    assert "JOIN-PENDING" not in moves[GroupState.ABSENT, GroupState.PREPARING], "no group, no ids"


def test_every_rule_that_can_decide_stays_or_leads_somewhere() -> None:
    told = {rule for edge in edges(BASE) for rule in edge.rules}
    able = {r.id for table, r in BASE.rules() if not r.defensive and table.name != "failover"}
    assert told == able
