"""The command line as users have it: its exit code, its stdout and stderr."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.command import INTERRUPTIBLE, PATIENCE_S, RUN, is_gone, program, run
from support.in_this_process import invoke
from support.places import ROOT, TESTS

from fencepost.conformance.cli.cli import main
from fencepost.conformance.cli.options.target_options import write_list
from fencepost.traces.files.known_failure_lists import drafted_list
from fencepost.traces.report.certificate_schema import SCHEMA

LIARS = TESTS / "conformance" / "stdio_liars"
ZOMBIE = "JOIN-INSTANCE-FENCED/zombie-joins"
SHOULD_CASE = "LEAVE-GROUP-ABSENT/no-group"


# Streams that are full, closed, or of another encoding

CERTIFY = ("certify", "model", "--json", "--case=*/zombie-*")
COMMANDS = (("cases",), ("table",), ("--help",), ("--version",), CERTIFY)


def _shell(words: Sequence[str], redirected: str, **environment: str) -> tuple[int, bytes, bytes]:
    command = shlex.join([sys.executable, "-c", RUN, *words])
    done = subprocess.run(
        ["bash", "-c", f"{command} {redirected}"],
        capture_output=True,
        env={**os.environ, **environment},
        timeout=PATIENCE_S,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("redirected", [">/dev/full", ">&-"])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_stdout_that_cant_be_written_is_an_error_of_its_own(
    words: tuple[str, ...], redirected: str
) -> None:
    code, _, stderr = _shell(words, redirected)
    assert code == 74
    assert re.fullmatch(rb"Error: stdout can't be written \([\w ]+\); send it .*\n", stderr)


@pytest.mark.parametrize("redirected", ["2>/dev/full", "2>&-", "<&-", "<&- 2>&-"])
def test_a_verdict_needs_neither_stdin_nor_stderr(redirected: str) -> None:
    case = "--case=*/absent-static-member-restarts"
    code, stdout, _ = _shell(("certify", "mutant:kafka-8500", case), redirected)
    assert code == 1
    assert b"violated" in stdout
    assert _shell(("cases", "no-such-case"), redirected)[:2] == (64, b"")


def test_what_an_encoding_lacks_is_written_as_an_escape() -> None:
    code, stdout, stderr = _shell(("table",), "", PYTHONIOENCODING="ascii")
    assert (code, stderr) == (0, b"")
    assert rb"\u2265" in stdout


# Readers that go away


def test_a_reader_that_went_away_is_no_finding_and_files_are_written(tmp_path: Path) -> None:
    log = ROOT / "examples" / "request-logs" / "kafka-request.log.gz"
    metrics = tmp_path / "figures.prom"
    reader, writer = os.pipe()
    os.close(reader)
    words = [
        sys.executable,
        "-c",
        RUN,
        "audit",
        str(log),
        "--prometheus",
        str(metrics),
        "--report",
        str(tmp_path),
    ]
    try:
        done = subprocess.run(
            words, stdout=writer, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")
    assert "fencepost_rebalances{" in metrics.read_text(encoding="utf-8")
    assert (tmp_path / "index.html").exists()


# certify


def test_a_model_holds_and_is_certified(tmp_path: Path) -> None:
    ran = run("certify", "model:kafka-4", "--json", "--report", str(tmp_path))
    document = json.loads(ran.out)  # nothing but JSON
    Draft202012Validator(SCHEMA.schema()).validate(document)
    assert (ran.code, ran.err) == (0, "")
    assert (document["verdict"], document["certified"], document["exit_code"]) == ("holds", True, 0)
    assert document["summary"].endswith("holds; certified")
    assert json.loads((tmp_path / "certificate.json").read_text(encoding="utf-8")) == document


def test_a_choice_of_cases_certifies_nothing() -> None:
    ran = invoke("certify", "model", "--case", "*/zombie-joins")
    assert ran.code == 0
    assert ran.out.splitlines()[0].endswith("holds; selected cases only")
    assert "cases not selected" in ran.out


def test_a_skipped_case_certifies_nothing() -> None:
    ran = invoke("certify", "model:kafka-4", "--skip", ZOMBIE)
    assert ran.code == 0
    assert ran.out.splitlines()[0].endswith("holds; not certified")
    assert "\n  - 1 skipped\n" in ran.out


def test_a_violation_names_the_rule() -> None:
    ran = run("certify", "model:comment-table-1", "--case", "*/zombie-joins")
    assert ran.code == 1
    assert f"FAIL  MUST  {ZOMBIE}" in ran.out
    assert "rule JOIN-STATIC-EMPTY-STABLE, MUST" in ran.out
    assert "violated by 1 case" in ran.out


def test_what_only_should_be_does_not_decide_at_must() -> None:
    arguments = ("certify", "model:kip-345", "--case", SHOULD_CASE)
    assert invoke(*arguments).code == 1
    ran = invoke(*arguments, "--level", "must")
    assert ran.code == 0
    assert "1 failure below MUST" in ran.out


def test_two_reports_are_the_same_bytes(tmp_path: Path) -> None:
    def reported(name: str) -> dict[str, bytes]:
        folder = tmp_path / name
        ran = invoke(
            "certify",
            "model:comment-table-1",
            "--case",
            "JOIN-STATIC-EMPTY-COMPLETING/*",
            "--seed",
            "5",
            "--report",
            str(folder),
        )
        assert ran.code == 1
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }

    first = reported("first")
    assert {"certificate.json", "junit.xml"} < set(first)
    assert any(name.startswith("traces/") for name in first)
    assert reported("second") == first


def test_known_failures_are_forgiven_until_they_are_stale(tmp_path: Path) -> None:
    chosen = ("--case", ZOMBIE)
    found = invoke("certify", "model:comment-table-1", *chosen, "--json")
    assert found.code == 1
    document = drafted_list(json.loads(found.out), "model")
    assert [entry["case"] for entry in document["entries"]] == [ZOMBIE]
    path = tmp_path / "known.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    known = ("--known-failures", str(path))

    forgiven = invoke("certify", "model:comment-table-1", *chosen, *known)
    assert forgiven.code == 0, forgiven.out
    assert "passes 0 of 1 selected, holds apart from 1 known failure\n" in forgiven.out
    stale = invoke("certify", "model:kafka-4", *chosen, *known)
    assert stale.code == 1
    assert "1 stale known failure" in stale.out
    both = invoke("certify", "model:kafka-4", *chosen, *known, "--no-known-failures")
    assert both.code == 64
    assert "--no-known-failures uses no list, so --known-failures " in both.err
    assert "drop one of the two options" in both.err


def test_a_written_list_is_read_back_and_the_target_holds(tmp_path: Path) -> None:
    target = "model:comment-table-1"
    chosen = ("--case", "HEARTBEAT-COMPLETING/*", "--case", "JOIN-STATIC-EMPTY-COMPLETING/*")
    path, report_folder = tmp_path / "lists" / "known.json", tmp_path / "report"
    found = invoke(
        "certify",
        target,
        *chosen,
        "--write-known-failures",
        str(path),
        "--report",
        str(report_folder),
    )
    assert found.code == 1
    assert f"Written: {path}; " in found.out
    assert len(json.loads(path.read_text("utf-8"))["entries"]) > 3
    old = ("--diff", str(report_folder / "certificate.json"), "--report", str(report_folder))
    known = invoke("certify", target, *chosen, "--known-failures", str(path), *old)
    assert known.code == 0, known.out
    assert "holds apart from " in known.out
    assert "0 fixed, 0 new failures" in known.out
    assert (report_folder / "diff.html").is_file()
    wrong = invoke("certify", target, *chosen, "--diff", str(path))
    assert wrong.code == 64
    assert "is no certificate" in wrong.err
    assert "0 entries" not in found.out
    before = path.read_bytes()
    written = ("--write-known-failures", str(path))
    assert invoke("certify", target, *chosen, "--known-failures", str(path), *written).code == 0
    assert path.read_bytes() == before
    assert invoke("certify", "model:kafka-4", "--case", "HEARTBEAT-*", *written).code == 0
    assert path.read_bytes() == before  # they are of another target
    spoiled = invoke(
        "certify", target, "--write-known-failures", str(report_folder / "certificate.json")
    )
    assert spoiled.code == 64
    assert "'entries' is a required property" in spoiled.err


def test_a_written_list_without_entries_says_where_the_failures_are(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    told = write_list({"entries": [{}]}, path, 2)
    assert told.endswith("; enter as `why` the reason for each failure")
    assert write_list({"entries": []}, path, 0).endswith("; 0 entries: no case failed")
    assert write_list({"entries": []}, path, 2).endswith(
        "; 0 entries: the shipped list has the 2 failures; --no-known-failures writes them"
    )


# Usage: 64, and what is wrong is named.


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["certify", "wat"], "'wat'"),
        (["certify", "localhost:9092"], "(did you mean tcp://localhost:9092?)"),
        (["certify", "tcp:[::1]:9092"], "(did you mean tcp://[::1]:9092?)"),
        (["certify", "4.3.0"], "(did you mean kafka:4.3.0?)"),
        (["certify", "kafka"], "(did you mean kafka:4.3.0?)"),
        (["certify", "kafka:4.3"], "(did you mean kafka:4.3.0?)"),
        (["certify", "mok"], "(did you mean mock?)"),
        (["certify", "mutants:zombie-joins"], "(did you mean mutant:zombie-joins?)"),
        (["certify", "./broker --fast"], "(did you mean exec:./broker --fast?)"),
        (["certify", "model:kafka4"], "(did you mean kafka-4"),
        (["certify", "model", "--case", ZOMBIE[:-1]], f"(did you mean {ZOMBIE}"),
        (["cases", ZOMBIE.lower()], f"(did you mean {ZOMBIE}"),
        (["explain", "join-static-empty-stable"], "(did you mean JOIN-STATIC-EMPTY-STABLE?)"),
        (["explain", "zombie-joins"], f"(did you mean {ZOMBIE}?)"),
        (["certify", "exec:"], "'exec:'"),
        (["certify", "model", "--wat"], "--wat"),
        (["certify", "model:nope"], "'nope'"),
        (["certify", "model", "--revision", "nope"], "'nope'"),
        (["certify", "model", "--case", "nope*"], "nope*"),
        (["certify", "model", "--set", "some.key=1"], "some.key=1"),
        (["certify", "model", "--set", "group.max.size=few"], "'few'"),
        (["certify", "model", "--set", "group.max.size=3"], "'group.max.size=3' would change"),
        (["certify", "exec:true", "--set", "group.max.size=3"], "each case chooses the settings"),
        (["certify", "mock", "--set", "group.max.size=3"], "nothing can set them"),
        (["compare", "model", "mutant:zombie-heartbeats", "--set", "group.max.size=3"], "change"),
        (["certify", "model", "--level", "could"], "could"),
        (["certify", "model", "--jobs", "0"], "0"),
        (
            ["certify", "model", "--known-failures", "nowhere.json"],
            "leave the option out to use the shipped lists",
        ),
        (["certify", "tcp://127.0.0.1"], "127.0.0.1"),
        (["explain", "NONSENSE"], "'NONSENSE'"),
        (
            ["explain", "SYNC-PHASE-STATIC"],
            "kip-345 has it: `fencepost explain SYNC-PHASE-STATIC --revision kip-345`",
        ),
        (["cases", "nope*"], "'nope*'"),
        (["revisions", "nope"], "'nope'"),
        (["table", "--revision", "nope"], "'nope'"),
        (["adapter", "wat"], "'wat'"),
        (["adapter", "model:nope"], "'nope'"),
        (["replay", "nowhere.json"], "nowhere.json"),
        (["wat"], "wat"),
    ],
    ids=" ".join,
)
def test_usage_errors_name_the_value(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (64, "")
    assert named in said.err
    assert "Traceback" not in said.err


def test_a_usage_error_is_64_for_the_shell_too() -> None:
    ran = run("certify", "wat")
    assert (ran.code, ran.out) == (64, "")
    assert "a target is one of mock, model" in ran.err


def test_another_machine_is_not_even_called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def called(_: socket.socket, address: Any) -> None:
        raise AssertionError(f"connects to {address}")

    monkeypatch.setattr(socket.socket, "connect", called)
    monkeypatch.setattr(socket.socket, "connect_ex", called)
    monkeypatch.setattr("asyncio.base_events.BaseEventLoop.create_connection", called)
    with pytest.raises(SystemExit) as ended:
        main(["certify", "tcp://192.0.2.1:9092"])
    said = capsys.readouterr().err
    assert ended.value.code == 64
    assert "192.0.2.1:9092" in said
    assert "--remote" in said


# What is not to be had: 69.


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (lambda: f"tcp://127.0.0.1:{free_port()}", "can't be reached"),
        (lambda: "exec:no-such-program-anywhere", "can't start `no-such-program-anywhere`"),
        (lambda: program("-c", "print('rubbish'); input()"), "rubbish"),
        (lambda: program(str(LIARS / "exits_at_once.py")), "exited with code 1"),
    ],
    ids=["refused", "no program", "rubbish", "exits"],
)
def test_a_target_that_is_not_to_be_had(target: Callable[[], str], said: str) -> None:
    ran = invoke("certify", target())
    assert (ran.code, ran.out) == (69, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


# What is printed.


def test_explain_tells_of_rules_and_cases() -> None:
    rule = invoke("explain", "JOIN-STATIC-EMPTY-STABLE")
    assert rule.code == 0
    assert "MUST, table JoinGroup" in rule.out
    assert "without a rebalance" in rule.out
    case = invoke("explain", ZOMBIE)
    assert case.code == 0
    assert "about: JOIN-INSTANCE-FENCED" in case.out
    assert "B2 sends JoinGroup" in case.out
    assert case.out.splitlines()[-1] == (
        "times with a virtual clock and default settings: formation 60000 ms, rebalance 60000 ms, "
        "session 132000 ms"
    )


def test_the_cases_of_a_rule_are_those_of_all_protocols() -> None:
    case = "CG-JOIN-AGAIN-UNRELEASED/lost-answer-to-the-first-join"
    rule = invoke("explain", "CG-JOIN-AGAIN-UNRELEASED", "--revision", "consumer-4.4")
    assert case in rule.out
    explained = invoke("explain", case)
    assert "about: CG-JOIN-AGAIN-UNRELEASED" in explained.out
    assert (
        explained.out.splitlines()[1:]
        == invoke("explain", case, "--revision", "consumer-4.4").out.splitlines()[1:]
    )
    listed = invoke("cases", "CG-JOIN-AGAIN-*")
    assert case in listed.out
    assert listed.out == invoke("cases", "CG-JOIN-AGAIN-*", "--revision", "consumer-4.4").out
    assert invoke("cases", ZOMBIE, "--revision", "consumer-4.4").code == 64


def test_the_table_and_the_lists() -> None:
    table = invoke("table", "--json")
    ids = [rule["id"] for rule in json.loads(table.out)]
    assert "JOIN-STATIC-EMPTY-STABLE" in ids
    assert len(ids) == len(set(ids))
    cases = invoke("cases", "*/zombie-*", "--json")
    assert ZOMBIE in [case["id"] for case in json.loads(cases.out)]
    revisions = invoke("revisions")
    assert {"kafka-4", "kip-345", "comment-table-2"} <= set(revisions.out.split())
    drafted = invoke("revisions", "comment-table-2")
    assert "drops JOIN-LEADER-STABLE: KIP-345's page" in drafted.out
    assert [r.code for r in (table, cases, revisions, drafted)] == [0] * 4


def test_the_model_speaks_the_adapter_protocol() -> None:
    ran = run("adapter", "model", given='{"cmd": "hello", "protocol": 1}\n')
    hello = json.loads(ran.out)
    assert ran.code == 0
    assert hello["protocol"] == 1
    assert hello["implementation"] == "fencepost-model:kafka-4"


def test_the_model_behind_the_adapter_protocol_holds(tmp_path: Path) -> None:
    target = program("-c", RUN, "adapter", "model")
    ran = run("certify", target, "--case", "*/zombie-*", cwd=tmp_path)
    assert ran.code == 0, ran.out + ran.err
    assert "fencepost-model:kafka-4" in ran.out


# Ctrl-C.


@pytest.fixture
def started() -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts `certify TARGET` in a session of its own; killed in the end, whatever happened."""
    processes: list[subprocess.Popen[str]] = []

    def start(target: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", INTERRUPTIBLE, "certify", target],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def children(pid: int) -> set[int]:
    """The processes that a process has started and that live."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        if int(fields[1]) == pid:
            found.add(int(path.parent.name))
    return found


def sockets(pid: int) -> int:
    try:
        links = [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return 0  # one was closed meanwhile
    return sum(link.startswith("socket:") for link in links)


def wait_until(met: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    tick = threading.Event()
    for _ in range(PATIENCE_S * 50):
        if met():
            return
        assert process.poll() is None, process.communicate()
        tick.wait(0.02)
    raise AssertionError("waited in vain")


def interrupted(process: subprocess.Popen[str]) -> None:
    """As a terminal does it: all of the foreground group gets the signal."""
    below = children(process.pid)
    assert below
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (130, ""), err
    assert "interrupted" in err
    assert "Traceback" not in err
    assert all(map(is_gone, below))
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


needs_proc = pytest.mark.skipif(
    not hasattr(os, "pidfd_open"), reason="needs Linux: children are found in /proc"
)


@needs_proc
def test_an_interrupt_ends_the_mock(started: Callable[[str], subprocess.Popen[str]]) -> None:
    pytest.importorskip("confluent_kafka", reason="needs the extra `mock`")
    process = started("mock")
    wait_until(lambda: sockets(process.pid) > 30, process)  # cases run side by side
    interrupted(process)


@needs_proc
def test_an_interrupt_ends_the_program(
    started: Callable[[str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    script = tmp_path / "silent.py"
    script.write_text(
        "import sys\nopen(sys.argv[1], 'w').write('up')\nfor line in sys.stdin: pass\n",
        encoding="utf-8",
    )
    process = started(program(str(script), str(fifo)))
    assert fifo.read_text(encoding="utf-8") == "up"
    interrupted(process)


@needs_proc
def test_who_is_gone_is_not_mistaken() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in children(os.getpid())
        assert child.stdin is not None
        child.stdin.close()
        assert is_gone(child.pid)


_PRINTS = """
import click
from fencepost.conformance.cli.options.common_options import console
from fencepost.conformance.runtime import standard_streams
standard_streams.prepare()
bad = "c1\\x1b]0;title\\x07\\x1b[2K\\x1b[8m\\x9b1m"
console().print(bad, style="bold red")
click.echo(bad)
click.echo("Error: " + bad, err=True)
"""
SHOWN = r"c1\u001b]0;title"


def test_no_sequence_of_a_name_reaches_a_terminal() -> None:
    ours, theirs = os.openpty()
    subprocess.run(
        [sys.executable, "-c", _PRINTS],
        stdout=theirs,
        stderr=theirs,
        check=True,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    written = os.read(ours, 10_000).decode()
    os.close(ours)
    assert written.count(SHOWN) == 3
    assert "\x1b[1;31m" in written
    out, _, _ = written.partition("Error: ")
    assert set(re.findall("\x1b.{0,5}", out)) == {"\x1b[1;31", "\x1b[0m\r"}
    assert not re.search("\x07|\x9b|\x1b\\[8m|\x1b]", written)


def test_no_sequence_of_a_name_reaches_a_file() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _PRINTS], capture_output=True, text=True, check=True
    )
    assert "\x1b" not in ran.stdout + ran.stderr
    assert SHOWN in ran.stdout
