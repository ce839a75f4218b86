"""The page of steps says what the code says today, and each name on it can be imported."""

from __future__ import annotations

import importlib
import re

from support.places import ROOT

from fencepost import model, properties
from fencepost.model.classic.effect_needs import HOME
from fencepost.model.classic.effects import Do
from tools.docs.steps_page import VOCABULARIES, page

PAGE = ROOT / "docs" / "designers" / "steps.md"


def test_the_page_is_what_is_made_now() -> None:
    assert page() == PAGE.read_text("utf-8"), (
        "make it anew: python -m tools.docs.steps_page docs/designers/steps.md"
    )


def test_every_step_is_there_once_under_its_table() -> None:
    sections = re.split(r"^### ", page(), flags=re.MULTILINE)
    found = {
        name: section.splitlines()[0]
        for section in sections
        for name in re.findall(r"^\*\*`Do\.([A-Z_]+)`\*\*", section, re.MULTILINE)
    }
    assert found == {
        do.name: f"In table {' and '.join(HOME[do])}" if do in HOME else "In any table" for do in Do
    }


def test_every_name_is_where_the_page_says() -> None:
    named = set(re.findall(r"`([A-Z][A-Za-z]+)\.[A-Z_]+`", page()))
    assert {"Mid", "Do", "Fit"} <= named
    vocabularies = [vars(importlib.import_module(name)) for name in VOCABULARIES]
    assert all(name in page() for name in VOCABULARIES)
    there = {*model.__all__, *properties.__all__, *vocabularies[0], *vocabularies[1]}
    assert named <= there, named - there


def test_it_says_how_long_sessions_are() -> None:
    assert "session timeout (S) of 6,000 ms" in page()
    assert "rebalance timeout (R) of 9,000 ms" in page()
