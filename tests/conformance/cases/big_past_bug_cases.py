"""Old bugs, found again on the releases that had them, and not on those that had lost them.

What is run is the table of `docs/findings/history.md`.  Some minutes: `tox -e brokers`.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pytest
from support.command import RUN
from support.history_page import Row, rows

TOOLS = {"kafka": ("java", "mvn"), "kfake": ("go",), "mock": ()}
MOST_S = 600
INTERMITTENT = {
    "FAILOVER-STABLE/join-that-waits-at-a-move": (
        "n JoinGroup: no answer",
        re.compile(r"not seen again: n's JoinGroup .* Instead: no answer within \d+ ms"),
    )
}
"""Failures that come in some runs only: what a certificate observes, or the note that it has.

A case that fails by a missing answer and then passes is a pass with such a note."""

Run = tuple[str, str, tuple[tuple[str, tuple[str, ...]], ...]]
"""A target, who judges ("" for its own profile), and for each case what is to be observed."""


def runs() -> Iterator[Run]:
    """One run for each target and judge; nothing is to be observed where a bug is gone."""
    wanted = sorted(asked for row in rows() for asked in _asked(row))
    for (target, judge), group in groupby(wanted, key=lambda asked: asked[:2]):
        yield target, judge, tuple((case, observed) for _, _, case, observed in group)


def _asked(row: Row) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    yield row.target, row.judge or "", row.case, row.observed
    if row.gone is not None:
        yield row.gone, "", row.case, ()


def certified(target: str, judge: str, cases: list[str]) -> dict[str, Any]:
    words = ["certify", target, "--json", "--no-known-failures"]
    words += [word for case in cases for word in ("--case", case)]
    words += ["--revision", judge] if judge else []
    ended = subprocess.run(
        [sys.executable, "-c", RUN, *words],
        capture_output=True,
        text=True,
        timeout=MOST_S,
        check=False,
    )
    assert ended.returncode in {0, 1, 2}, ended.stderr
    certificate: dict[str, Any] = json.loads(ended.stdout)
    return certificate


def observed_of(target: str, judge: str, cases: list[str]) -> dict[str, tuple[str, str]]:
    """Case → its outcome, and what was observed."""
    certificate = certified(target, judge, cases)
    observed = {}
    for case in certificate["cases"]:
        observed[case["id"]] = case["outcome"], alike(target, case["observed"])
        what, note = INTERMITTENT.get(case["id"], ("", re.compile("(?!)")))
        if case["outcome"] == "pass" and any(map(note.match, case["notes"])):
            observed[case["id"]] = "fail", what
    return observed


def alike(target: str, observed: str) -> str:
    """Without who was asked: kfake answers its members in an order that it draws."""
    return observed.partition(" ")[2] if target == "kfake" else observed


@pytest.mark.parametrize(
    ("target", "judge", "wanted"),
    [pytest.param(*run, id="-".join(filter(None, run[:2]))) for run in runs()],
)
def test_bugs_are_seen_where_they_are_and_gone_where_they_are_gone(
    target: str, judge: str, wanted: tuple[tuple[str, tuple[str, ...]], ...]
) -> None:
    for tool in TOOLS[target.partition(":")[0]]:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on this machine")
    found = observed_of(target, judge, [case for case, _ in wanted])
    for case, observed in wanted:
        allowed = [("fail", alike(target, what)) for what in observed] or [("pass", "")]
        assert found[case] in allowed, case
