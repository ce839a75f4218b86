"""The same counterexample in each process, whatever the order of its sets."""

from __future__ import annotations

import os
import subprocess
import sys

SHOWN = """
from fencepost.model.revisions.revisions import find
from fencepost.properties.proofs.proofs import prove
for obligation in prove(find("mutant:zombie-join-takes-over"), rules=["JOIN-ZOMBIE"]).obligations:
    if obligation.counterexample is not None:
        print(obligation.about, *obligation.counterexample.words, sep="\\n  ")
"""


def shown(hash_seed: int) -> str:
    """The counterexamples in words, by a process whose sets have this order."""
    return subprocess.run(
        [sys.executable, "-c", SHOWN],
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout


def test_a_counterexample_has_the_same_words_in_each_process() -> None:
    first = shown(0)
    assert "with member id" in first
    assert shown(2) == first
