"""The table of properties says what the registry says today."""

from __future__ import annotations

import re

import pytest
from support.places import ROOT

from fencepost.properties.checking.consumer_promises import ALL_PROMISES
from fencepost.properties.claims.property_registry import ALL_PROPERTIES
from tools.docs.properties_table import page

PAGE = ROOT / "docs" / "designers" / "properties.md"


def test_the_table_is_what_is_made_now() -> None:
    text = PAGE.read_text("utf-8")
    assert page(text) == text, (
        "make it anew: python -m tools.docs.properties_table docs/designers/properties.md"
    )


def test_every_property_and_promise_has_one_row() -> None:
    ids = re.findall(r"^\| `([a-z-]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    promises = [promise.id for promise in ALL_PROMISES]
    assert sorted(ids) == sorted([*ALL_PROPERTIES, *promises])


def test_a_page_without_a_place_for_it_is_refused() -> None:
    with pytest.raises(ValueError, match="no place"):
        page("# Properties")
