"""stub"""

from __future__ import annotations

from pathlib import Path

DATA = "deployments/reality.json"


def main(docs: Path) -> None:
    """Stub."""
