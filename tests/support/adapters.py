"""The worked adapters of examples/, made ready to run; built once, kept in pytest's cache."""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from support.places import ROOT

EXAMPLES = ROOT / "examples"
_STRIPS_TYPES = (22, 18)
"""Node from this version on runs TypeScript as it is."""

_BUILD_S = 600


def built(name: str, cache: pytest.Cache) -> str:
    """The command that runs an example; skips the test where it can't be built here."""
    source = EXAMPLES / name
    texts = [p.read_bytes() for p in sorted(source.iterdir()) if p.is_file()]
    folder = cache.mkdir(f"{name}-{hashlib.sha256(b''.join(texts)).hexdigest()[:16]}")
    argv = _go(source, folder) if name.startswith("go") else _typescript(source, folder)
    return shlex.join(map(str, argv))


def _go(source: Path, folder: Path) -> list[str | Path]:
    program = folder / "coordinator"
    if not program.exists():
        _run(["go", "build", "-o", str(program), "."], source)
    return [program]


def _typescript(source: Path, folder: Path) -> list[str | Path]:
    said = _run(["node", "--version"], source)
    if tuple(map(int, re.findall(r"\d+", said)[:2])) >= _STRIPS_TYPES:
        return ["node", source / "adapter.ts"]
    program = folder / "dist" / "adapter.js"
    if not program.exists():
        shutil.copytree(source, folder, dirs_exist_ok=True)
        try:
            _run(["npm", "install", "--no-audit", "--no-fund", "--no-package-lock"], folder)
        except (subprocess.CalledProcessError, OSError) as error:
            said = getattr(error, "stderr", "") or str(error)
            pytest.skip(f"needs TypeScript, which npm can't fetch here: {said.strip()[-200:]}")
        _run(["npx", "tsc"], folder)
    return ["node", program]


def _run(argv: list[str], folder: Path) -> str:
    done = subprocess.run(
        argv, cwd=folder, capture_output=True, text=True, timeout=_BUILD_S, check=True
    )
    return done.stdout
