"""The table of settings has the names that the libraries have today."""

from __future__ import annotations

import pytest
from support.places import ROOT

from fencepost.traces.operations.client_libraries import KAFKAJS, LIBRARIES
from tools.docs.settings_table import page

PAGE = ROOT / "docs" / "operators" / "symptoms.md"
KAFKAJS_ROW = (
    "| KafkaJS | `sessionTimeout` | `heartbeatInterval` | `rebalanceTimeout` | no static members |"
)


def test_the_table_is_what_is_made_now() -> None:
    text = PAGE.read_text("utf-8")
    assert page(text) == text, (
        "make it anew: python -m tools.docs.settings_table docs/operators/symptoms.md"
    )
    assert KAFKAJS_ROW in text
    assert all(f"\n| {each.name} | `" in text for each in LIBRARIES)


def test_a_page_with_another_name_is_caught() -> None:
    text = PAGE.read_text("utf-8")
    wrong = text.replace(f"`{KAFKAJS.heartbeat_name}`", "`heartbeat.interval.ms`")
    assert page(wrong) == text != wrong


def test_a_page_without_a_place_for_it_is_refused() -> None:
    with pytest.raises(ValueError, match="no place"):
        page("# Symptoms")
