"""The first line of an audit, and its exit code: what was read, what was not judged, and why."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from support.logs.busy_server_log import START_MS, consumer_protocol_lines
from support.logs.coordinator_lines import CoordinatorLines

from fencepost.conformance.cli.cli import fencepost

NOTHING = "Nothing judged: 3 groups of another protocol (consumer), and no group of the classic"
BOTH = "1 group read, the broker's answers not judged; 3 groups of another protocol (consumer) not"


def written(folder: Path, *, classic: bool, consumer: bool) -> Path:
    """Write a log with a rebalance of a classic group, and lines about groups of KIP-848."""
    path, old = folder / "server.log", CoordinatorLines("old", is_new=True)
    reason = old.join_reason("a-1")
    lines = [
        old.line(START_MS, old.preparation(0, reason)),
        old.line(START_MS + 1, old.generation(1, 1)),
        old.line(START_MS + 2, old.assignment(1, "a-1", 1)),
    ]
    path.write_text("".join([*lines * classic, *list(consumer_protocol_lines()) * consumer]))
    return path


@pytest.mark.parametrize(
    ("classic", "consumer", "options", "code", "first"),
    [
        (False, True, [], 2, NOTHING),
        (True, True, [], 0, BOTH),
        (True, True, ["--fail-on", "problems"], 2, BOTH),
        (True, True, ["--fail-on", "avoidable"], 2, BOTH),
        (True, True, ["--fail-on", "problems", "--group", "old"], 0, "answers not judged."),
        (True, False, ["--fail-on", "problems"], 0, "1 group read, the broker's answers not"),
    ],
)
def test_a_gate_does_not_pass_what_was_not_read(
    tmp_path: Path, *, classic: bool, consumer: bool, options: list[str], code: int, first: str
) -> None:
    path = written(tmp_path, classic=classic, consumer=consumer)
    done = CliRunner().invoke(fencepost, ["audit", str(path), *options], standalone_mode=False)
    assert (done.return_value, first in done.output.splitlines()[0]) == (code, True)
    assert "0 problems" not in done.output
