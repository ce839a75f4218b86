"""The first line of an audit, and its exit code: what was read, what was not judged, and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.logs.busy_server_log import START_MS, consumer_protocol_lines
from support.logs.coordinator_lines import CoordinatorLines

from fencepost.conformance.cli.cli import fencepost

NOTHING = "Nothing judged: no group of the classic protocol; 3 groups not judged (consumer)."
BOTH = "in the one group judged; 3 groups not judged (consumer)."


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
        (True, True, [], 2, BOTH),
        (True, True, ["--fail-on", "problems"], 2, BOTH),
        (True, True, ["--fail-on", "avoidable"], 2, BOTH),
        (True, True, ["--fail-on", "problems", "--group", "old"], 0, "1 group read; the broker's"),
        (True, False, ["--fail-on", "problems"], 0, "1 group read; the broker's answers are not"),
    ],
)
def test_a_gate_does_not_pass_what_was_not_read(
    tmp_path: Path, *, classic: bool, consumer: bool, options: list[str], code: int, first: str
) -> None:
    path = written(tmp_path, classic=classic, consumer=consumer)
    done = CliRunner().invoke(fencepost, ["audit", str(path), *options], standalone_mode=False)
    assert (done.return_value, first in done.output.splitlines()[0]) == (code, True)
    assert "0 problems" not in done.output
    if classic and consumer and "--group" not in options:
        nothing = "No problem with clients shown in the one group judged; "
        assert done.output.startswith(nothing)


NEW = (
    "[2025-03-11 14:0{minute}:10,000] INFO [GroupCoordinator id=1 topic=__consumer_offsets "
    "partition=5] [GroupId new] Member p9Zr {says} "
    "(org.apache.kafka.coordinator.group.GroupMetadataManager)\n"
)


@pytest.mark.parametrize("classic", [False, True])
def test_fenced_members_of_groups_that_are_not_judged_are_counted(
    tmp_path: Path, *, classic: bool
) -> None:
    path = written(tmp_path, classic=classic, consumer=False)
    joins, expires = (
        "joins the consumer group using the consumer protocol.",
        "fenced from the group because its session expired.",
    )
    others = [
        NEW.format(minute=minute, says=says) for minute in (1, 3, 5) for says in (joins, expires)
    ]
    path.write_text(path.read_text() + "".join(others))
    done = CliRunner().invoke(fencepost, ["audit", str(path)], standalone_mode=False)
    lines = done.output.splitlines()
    assert done.return_value == 2
    one = "1 group not judged (consumer)."
    judged = "No problem with clients shown in the one group judged; "
    assert (
        lines[0]
        == (judged if classic else "Nothing judged: no group of the classic protocol; ") + one
    )
    assert lines[1] == "Its members were fenced 3 times."
    assert any(line.startswith("From 2025-03-11 14:01:10 UTC to ") for line in lines)
    first = 5 if classic else 2
    assert (
        "  'new': \"fenced from the group because its session expired\" 3 times (p9Zr, from "
        f"2025-03-11 14:01:10 UTC to 2025-03-11 14:05:10 UTC) [server.log:{first}]"
    ) in lines
    made = CliRunner().invoke(fencepost, ["audit", str(path), "--json"], standalone_mode=False)
    (row,) = json.loads(made.output)["other_fenced"]
    assert (row["group"], row["lines"], row["members"]) == ("new", 3, ["p9Zr"])
