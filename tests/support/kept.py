"""Small certificates in the form that a repository keeps, made in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RULES: dict[str, Any] = {"missed": [], "unreachable": {}}


def kept(target: str, cases: dict[str, str], **changes: Any) -> dict[str, Any]:
    """A certificate.  `cases`: of each `pass`, `unsupported`, or why it is a known failure."""
    kind, _, version = target.partition(":")
    rows: dict[str, Any] = {}
    for name, said in cases.items():
        if said in {"pass", "unknown"}:
            rows[name] = {"outcome": said}
        elif said == "unsupported":
            rows[name] = {"outcome": said, "level": "MUST", "why": "the target lacks it"}
        else:
            why = f"known failure: {said}"
            rows[name] = {"outcome": "known-failure", "level": "MUST", "rule": None, "why": why}
    return {
        "target": target,
        "implementation": "Apache Kafka" if kind == "kafka" else kind,
        "version": version,
        "revision": "kafka-4",
        "verdict": "holds",
        "rules": RULES,
        "cases": rows,
        **changes,
    }


def write_kept(folder: Path, *certificates: dict[str, Any]) -> list[Path]:
    """Write certificates as files of a folder."""
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{number}.json" for number in range(len(certificates))]
    for path, certificate in zip(paths, certificates, strict=True):
        path.write_text(json.dumps(certificate), encoding="utf-8")
    return paths
