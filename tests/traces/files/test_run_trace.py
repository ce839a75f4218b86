"""What exploration finds can be replayed and read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.worlds import NOBODY, follow, worlds_of

from fencepost.conformance.run.replay import rejudge
from fencepost.model.revisions import revisions
from fencepost.properties.worlds.scope import ACTS, Scope
from fencepost.traces.files.run_trace import run_lines, run_steps, run_trace
from fencepost.traces.files.trace_file import TraceFile


def test_a_line_says_when_who_what_the_answer_and_the_rules() -> None:
    worlds = worlds_of("kafka-4", Scope(clients=1))

    lines = run_lines(worlds, follow(worlds, ("join", 0), ("sync", 0), ("restart", 0), ("join", 0)))

    assert (
        "\n".join(lines)
        == """\
  1  at 0 ms  c1 (A)  JoinGroup v9 (member "", instance A) → \
NONE, generation 1, leads [A-1], id A-1  \
[JOIN-STATIC-EMPTY-NEW, JOIN-PHASE-WAIT, JOIN-PHASE-DELAY-OVER]
  2  at 0 ms  c1 (A)  SyncGroup v5 (member A-1, instance A, generation 1, assigns to A-1) → \
NONE, assignment "A"  [SYNC-COMPLETING-LEADER]
  3  at 0 ms  c1 (A)  restarts: a new process that knows no member id
  4  at 0 ms  c1 (A)  JoinGroup v9 (member "", instance A) → \
NONE, generation 1, leads [A-2], skips the assignment, id A-2  [JOIN-STATIC-EMPTY-STABLE]"""
    )


def test_what_is_no_request_is_said_in_words() -> None:
    worlds = worlds_of("kafka-4", Scope(clients=1, acts=tuple(ACTS), offers=2, delay_ticks=1))

    steps = run_steps(
        worlds,
        follow(
            worlds,
            ("change", 0),
            ("tick", NOBODY),
            ("failover", NOBODY),
        ),
    )

    assert [(s.at_ms, s.who) for s in steps[:3]] == [(0, "c1 (A)"), (0, ""), (3000, "")]
    assert steps[0].did.endswith(", another subscription")
    assert steps[0].answer is None
    assert steps[0].answers == "waits"
    assert steps[1].did == "3 s pass, until 3,000 ms"
    assert steps[1].others[0].startswith("c1's JoinGroup: NONE, generation 1")
    assert steps[2].did == "the coordinator fails over"


def test_a_lost_connection_takes_what_waits_with_it() -> None:
    worlds = worlds_of("kafka-4", Scope(clients=1, acts=tuple(ACTS), offers=2, delay_ticks=1))

    run = follow(worlds, ("join", 0), ("drop", 0), ("join", 0), ("restart", 0))

    assert [s.did for s in run_steps(worlds, run)][1::2] == [
        "loses its connection, and with it JoinGroup",
        "restarts: a new process that knows no member id (JoinGroup gets no answer)",
    ]


@pytest.mark.parametrize("name", ["kafka-4", "two-list-leave-draft", "member-name-draft"])
def test_a_run_replays_with_the_verdict_that_it_records(name: str, tmp_path: Path) -> None:
    worlds = worlds_of(name)
    run = follow(worlds, ("join", 0), ("join", 1), ("sync", 0), ("join", 2), ("tick", NOBODY))
    path = tmp_path / "run.json"

    run_trace(worlds, run, message="why it is kept").write(path)
    trace = TraceFile.read(path)

    assert rejudge(trace).same
    assert (trace.verdict.outcome, trace.verdict.message) == ("holds", "why it is kept")
    assert trace.revision == name
    assert set(trace.senders.values()) == {"c1", "c2", "c3"}
    assert trace.provenance["target"] == f"model:{name}"


def test_another_revision_judges_it_otherwise_and_the_file_says_so(tmp_path: Path) -> None:
    worlds = worlds_of("comment-table-1")
    run = follow(worlds, ("remove", 0))
    path = tmp_path / "run.json"

    run_trace(worlds, run, judged_by=revisions.find("kip-345")).write(path)
    trace = TraceFile.read(path)

    assert trace.verdict.outcome == "violated"
    assert trace.verdict.rule == "LEAVE-GROUP-ABSENT"
    assert rejudge(trace).same


def test_ids_have_the_name_of_who_was_first_told_and_a_number() -> None:
    worlds = worlds_of("kafka-4", Scope(clients=1))
    run = follow(worlds, ("join", 0), ("sync", 0), ("restart", 0), ("join", 0))

    names = json.loads(run_trace(worlds, run).text())["names"]

    assert names == {"A-1": "c1", "A-2": "c1 (id 2)"}
