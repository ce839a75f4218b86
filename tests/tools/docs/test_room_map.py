"""The map of rooms in CONTRIBUTING.md is the one of today."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.places import ROOT

from tools.docs.room_map import FILE, room_map, with_map


def test_the_map_is_that_of_the_rooms() -> None:
    text = (ROOT / FILE).read_text("utf-8")
    assert text == with_map(text, ROOT), "make it anew: python -m tools.docs.room_map"


def test_every_room_says_what_it_does() -> None:
    rows = [line for line in room_map(ROOT).splitlines() if line.startswith("| `")]
    assert len(rows) > 50
    assert [row for row in rows if row.endswith("|  |")] == []


def test_a_new_room_is_in_the_map(tmp_path: Path) -> None:
    for floor in ("model", "properties", "traces", "conformance", "tools"):
        (tmp_path / floor).mkdir()
    (tmp_path / "model" / "clock").mkdir()
    (tmp_path / "model" / "clock" / "__init__.py").write_text('"""Tell the time."""\n')
    assert "| `clock/` | Tell the time. |" in room_map(tmp_path)


def test_a_text_without_the_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="put them back"):
        with_map("# Contributing\n", ROOT)
