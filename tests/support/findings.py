"""The committed traces of findings."""

from __future__ import annotations

from support.places import ROOT

FOLDER = ROOT / "docs" / "findings"


TRACES = sorted(FOLDER.glob("*.json"))
CONSUMER_TRACES = sorted((FOLDER / "consumer").glob("*.json"))
"""Those of the consumer protocol, whose pages are made."""
