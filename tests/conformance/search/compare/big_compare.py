"""Two pairs of releases told apart, in minutes, and each difference explained.

What must be found is what changed in between: PR 9958 (3.0), KAFKA-9752 and KAFKA-9801 (2.5).
Some minutes: `tox -e brokers`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.command import RUN

MOST_S = 900
"""Two idle processors need less than three minutes."""

PAIRS = {
    ("kafka:2.8.0", "kafka:3.1.2"): {"pull/9958"},
    ("kafka:2.4.1", "kafka:2.6.0"): {"KAFKA-9752", "KAFKA-9801"},
}


def fencepost(*words: str) -> tuple[int, str]:
    ended = subprocess.run(
        [sys.executable, "-c", RUN, *words],
        capture_output=True,
        text=True,
        timeout=MOST_S,
        check=False,
    )
    assert ended.returncode in {0, 1}, ended.stderr
    return ended.returncode, ended.stdout


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_releases_differ_where_they_are_known_to(one: str, other: str, tmp_path: Path) -> None:
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on this machine")
    code, said = fencepost("compare", one, other, "--json", "--report", str(tmp_path))
    document: dict[str, Any] = json.loads(said)
    assert (code, document["verdict"]) == (1, "differ")
    links = set[str]()
    for number, difference in enumerate(document["differences"], start=1):
        assert sum(step["differs"] for step in difference["steps"]) == 1
        assert difference["again"] == difference["runs"]
        older, newer = difference["origins"]
        assert newer is None or difference["taken"] != "other"
        links |= {origin["link"] for origin in (older, newer) if origin is not None}
        for side in ("one", "other"):
            trace = tmp_path / "traces" / f"{number:02}-{side}.json"
            assert fencepost("replay", str(trace))[0] == 0
    assert any(link.endswith(known) for link in links for known in PAIRS[one, other]), links
