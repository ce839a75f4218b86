"""The whole kill matrix, against the figures that it gave before.  Some minutes: `tox -e mutants`.

A figure may get better: a mutant that more engines kill, or by something shorter, is no failure.
The figures are made anew by `python -m tools.kill_matrix --json --jobs 2 > matrix.json`, and then
`python tests/tools/kill_matrix/big_mutants.py matrix.json`; those of the consumer protocol by the
same commands, with `--protocol consumer` and its engines, and with `consumer` at the end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.places import ROOT, TESTS

EXACT = ("explore", "explore-diff", "catalogue", "cover")
"""What finds the same everywhere.  Hypothesis draws otherwise in another version of its own, and
where this package is installed instead of imported from a folder: it also draws from constants that
it reads in local sources."""
LUCK = 0.1
"""So much of what needs walks may be missed."""
FOLDER = TESTS / "tools" / "kill_matrix"
FIGURES = {
    "classic": FOLDER / "mutant_figures.json",
    "consumer": FOLDER / "consumer_mutant_figures.json",
}
ENGINES = {
    "classic": (),
    "consumer": ("explore", "hypothesis", "hypothesis-diff", "catalogue"),
}
"""The engines that run; () for all.  Proofs of the consumer protocol have a test of their own, and
walks beside the right model find more of its mutants than pairs of worlds."""


@pytest.mark.parametrize("protocol", FIGURES)
def test_the_matrix_is_as_good_as_it_was(protocol: str) -> None:
    engines = [word for engine in ENGINES[protocol] for word in ("--engine", engine)]
    command = ("-m", "tools.kill_matrix", "--protocol", protocol, *engines, "--json", "--jobs", "2")
    ended = subprocess.run(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
        check=False,
    )
    matrix = json.loads(ended.stdout)
    assert matrix["survivors"] == []
    assert matrix["missed"] == {}
    assert ended.returncode == 0
    expected = json.loads(FIGURES[protocol].read_text(encoding="utf-8"))
    found = figures(matrix)["lengths"]
    worse = [
        f"{name}: {engine} took {length}, and now {found[name].get(engine, 'finds nothing')}"
        for name, lengths in expected["lengths"].items()
        for engine, length in lengths.items()
        if engine in EXACT and found[name].get(engine, length + 1) > length
    ]
    assert not worse
    assert all(found[name].get("proofs") for name in expected["proofs"])
    for name, least in expected["least"].items():
        lucky = name not in {*EXACT, "proofs", "by a suite", "in all"}
        assert matrix["totals"][name]["killed"] >= (least * (1 - LUCK) if lucky else least), name


def figures(matrix: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a matrix: lengths, and totals as minimums."""
    lengths = {
        row["name"]: {k["engine"]: k["length"] for k in row["kills"] if k["killed"]}
        for row in matrix["mutants"]
    }
    compared = ("explore-diff", "hypothesis-diff")
    return {
        "lengths": lengths,
        "least": {name: total["killed"] for name, total in matrix["totals"].items()},
        "not by comparison": [
            row["name"]
            for row in matrix["mutants"]
            if row["visible"] and not any(e in lengths[row["name"]] for e in compared)
        ],
        "proofs": [name for name, found in lengths.items() if "proofs" in found],
    }


if __name__ == "__main__":
    kept = figures(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    place = FIGURES[sys.argv[2] if len(sys.argv) > 2 else "classic"]
    place.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
