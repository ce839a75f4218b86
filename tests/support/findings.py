"""The committed traces of findings."""

from __future__ import annotations

from support.places import ROOT

FOLDER = ROOT / "docs" / "findings"


TRACES = sorted(FOLDER.glob("*.json"))
