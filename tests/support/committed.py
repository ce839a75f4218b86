"""The committed traces, as the tests want them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from support.places import ROOT

from fencepost.traces.files.trace_file import TraceFile

CORPUS = ROOT / "traces" / "corpus"

INDEX: dict[str, Any] = json.loads((CORPUS / "index.json").read_text(encoding="utf-8"))
ROWS: list[dict[str, Any]] = INDEX["traces"]
NAMES = [row["name"] for row in ROWS]


@cache
def committed(name: str) -> TraceFile:
    """A trace of the corpus, by its name."""
    (row,) = (row for row in ROWS if row["name"] == name)
    return TraceFile.read(ROOT / row["file"])
