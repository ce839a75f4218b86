"""The traces of `docs/findings/`, replayed on a fresh Kafka of its version: `tox -e brokers`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.command import RUN
from support.findings import CONSUMER_TRACES, TRACES

from fencepost.traces.files.trace_file import TraceFile

MOST_S = 240
TRIES = {"unseen-at-first": 4, "delay-not-extended": 4, "empty-batch": 4, "undone-group": 4}
"""So often it is tried.

The first shows only if the answer to a list is quicker than a write; in the second two wrong
answers come at once, and the one that is read first is named; in the third a heartbeat has to come
within 10 ms.
"""


@pytest.mark.parametrize("path", [*TRACES, *CONSUMER_TRACES], ids=lambda path: path.stem)
def test_a_finding_is_found_again(path: Path) -> None:
    if shutil.which("java") is None or shutil.which("mvn") is None:
        pytest.skip("Java or Maven is not on this machine")
    target = str(TraceFile.read(path).provenance["target"])
    said = ""
    for _ in range(TRIES.get(path.stem, 1)):
        ended = subprocess.run(
            [sys.executable, "-c", RUN, "replay", str(path), target],
            capture_output=True,
            text=True,
            timeout=MOST_S,
            check=False,
        )
        if ended.returncode == 0:
            return
        said += ended.stdout + ended.stderr
    raise AssertionError(said)
