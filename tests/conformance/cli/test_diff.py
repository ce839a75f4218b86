"""`fencepost diff`: what it says, what it writes, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fencepost.conformance.cli.cli import main
from fencepost.conformance.run.replay import rejudge
from fencepost.model.revisions import revisions
from fencepost.properties.oracle.oracle import judge
from fencepost.traces.files.trace_file import TraceFile

FEW = ("--act", "join", "--act", "stranger", "--act", "sync")
HOLDS, VIOLATED, USAGE = 0, 1, 64


def diff(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["diff", *arguments])
    code = ended.value.code
    assert isinstance(code, int)
    return code


def test_the_zombie_of_the_first_table_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown id is refused, the empty id is told the stored one, and that is accepted."""
    code = diff("comment-table-1", "kip-345", *FEW)

    out = capsys.readouterr().out
    assert code == VIOLATED
    titles = [line for line in out.splitlines() if line[:1].isdigit()]
    assert titles == [
        "1. JOIN-STATIC-EMPTY-MAPPED | JOIN-STATIC-EMPTY-COMPLETING",
        "2. JOIN-UNKNOWN-INSTANCE | JOIN-INSTANCE-FENCED",
        "3. JOIN-KNOWN-INSTANCE | JOIN-LEADER-STABLE",
        "4. JOIN-STATIC-EMPTY-MAPPED | JOIN-STATIC-EMPTY-STABLE",
    ]
    assert (
        """\
2. JOIN-UNKNOWN-INSTANCE | JOIN-INSTANCE-FENCED
  1  at 0 ms  c1 (A)  JoinGroup v9 (member "", instance A) → \
NONE, generation 1, leads [A-1], id A-1  \
[JOIN-STATIC-EMPTY-NEW, JOIN-PHASE-WAIT, JOIN-PHASE-DELAY-OVER]
  2  at 0 ms  c2 (A)  JoinGroup v9 (member strange-2, instance A)
       comment-table-1 → UNKNOWN_MEMBER_ID  [JOIN-UNKNOWN-INSTANCE]
       kip-345         → FENCED_INSTANCE_ID  [JOIN-INSTANCE-FENCED]
     then, in comment-table-1, to two clients on one member id:
  3  at 0 ms  c2 (A)  JoinGroup v9 (member "", instance A) → \
MEMBER_ID_REQUIRED, member id A-1  [JOIN-STATIC-EMPTY-MAPPED]
  4  at 0 ms  c2 (A)  JoinGroup v9 (member A-1, instance A) → \
NONE, generation 1, leads [A-1]  [JOIN-KNOWN-INSTANCE]
     comment-table-1, JOIN-UNKNOWN-INSTANCE: an unknown id is refused, \
with or without an instance ("""
        in out
    )
    assert "kip-345, JOIN-INSTANCE-FENCED: the instance is mapped to another member id" in out
    assert "Rules that differ, but not within these bounds: " in out
    assert out.startswith("comment-table-1 and kip-345 differ in 4 ways.\n")


def test_the_zombie_is_found_without_any_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert diff("comment-table-1", "kip-345", "--json") == VIOLATED

    found = json.loads(capsys.readouterr().out)
    decided = {"comment-table-1": "JOIN-UNKNOWN-INSTANCE", "kip-345": "JOIN-INSTANCE-FENCED"}
    (told,) = [d for d in found["differences"] if d["decided"] == decided]
    sequel = told["revisions"]["comment-table-1"]["sequel"]
    assert [line.partition(" → ")[2].partition(",")[0] for line in sequel] == [
        "MEMBER_ID_REQUIRED",
        "NONE",
    ]


def test_both_requests_are_shown_where_each_side_is_asked_in_its_own_form(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert diff("kafka-2.3", "kafka-2.4", "--act", "join", "--act", "leave") == VIOLATED
    out = capsys.readouterr().out
    assert (
        "c1 (A)  LeaveGroup v2 (member A-1) to kafka-2.3, "
        "LeaveGroup v4 (leaves: member A-1 of instance A) to kafka-2.4\n"
        "       kafka-2.3 → UNKNOWN_MEMBER_ID  [LEAVE-ROWS, LEAVE-MEMBER-UNKNOWN]"
    ) in out
    assert 'JoinGroup v5 (member "", instance A) → NONE' in out


def test_a_long_list_is_titles_from_some_point_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert diff("comment-table-2", "kip-345", "--max-depth", "6") == VIOLATED

    out = capsys.readouterr().out
    titles = [line for line in out.splitlines() if line[:1].isdigit()]
    assert len(titles) > 8
    assert all(line.endswith(" steps)") for line in titles[8:])
    (there,) = (n for n, line in enumerate(out.splitlines()) if line.startswith("Only titles"))
    assert out.splitlines()[there + 1].startswith("9. ")
    assert len(out.splitlines()) < 120


def test_nothing_differs_and_everything_was_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert diff("kip-345", "kip-345", "--clients", "1", "--members", "1") == HOLDS
    assert (
        "No client sees a difference between kip-345 and kip-345 within these bounds."
        in capsys.readouterr().out
    )


def test_nothing_differs_so_far(capsys: pytest.CaptureFixture[str]) -> None:
    assert diff("kafka-4", "kafka-3.9", "--max-depth", "2") == HOLDS
    assert "so far; the search is not complete" in capsys.readouterr().out


def test_a_broken_model_is_told_from_the_base_which_judges_its_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mutant = "mutant:zombie-join-takes-over"

    assert diff("kafka-4", mutant, "--json", "--report", str(tmp_path)) == VIOLATED

    (found,) = json.loads(capsys.readouterr().out)["differences"]
    assert found["rules"] == ["JOIN-INSTANCE-FENCED", "JOIN-ZOMBIE"]
    theirs = TraceFile.read(tmp_path / "01-mutant-zombie-join-takes-over.json")
    assert (theirs.revision, theirs.verdict.outcome) == ("kafka-4", "violated")
    assert rejudge(theirs).same


def test_both_runs_of_each_difference_are_written_and_replay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "report"

    diff("comment-table-1", "kip-345", *FEW, "--report", str(folder))

    assert "differ in 4 ways" in capsys.readouterr().out
    files = sorted(folder.iterdir())
    assert [path.name for path in files[:2]] == ["01-comment-table-1.json", "01-kip-345.json"]
    assert len(files) == 8
    for path in files:
        trace = TraceFile.read(path)
        other = {"kip-345": "comment-table-1", "comment-table-1": "kip-345"}[trace.revision]
        history = trace.history()
        assert trace.verdict.outcome == "holds"
        assert "differ here" in trace.verdict.message
        assert rejudge(trace).same
        judged = judge(revisions.find(other), trace.config, history, lag_ms=0).verdict()
        assert judged.violation is not None, path.name


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("kip-345", "nonesuch"), "no revision 'nonesuch'"),
        (("old/certificate.json", "b.json"), "`fencepost certify-client CLIENT --diff OLD.json`"),
        (("kip-345", "kafka-4", "--clients", "0"), "0 clients"),
        (("kip-345", "kafka-4", "--instances", "9"), "9 instances for 2"),
        (("kip-345", "kafka-4", "--act", "jump"), "jump"),
        (("kip-345",), "Missing argument 'B'"),
    ],
)
def test_what_makes_no_sense_is_usage(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert diff(*arguments) == USAGE
    assert said in capsys.readouterr().err


def test_a_report_that_cannot_be_written_is_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")

    assert diff("comment-table-1", "kip-345", *FEW, "--report", str(tmp_path / "file/x")) == USAGE
    assert "choose another folder" in capsys.readouterr().err
