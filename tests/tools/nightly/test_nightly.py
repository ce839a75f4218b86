"""A night as a whole: how its time is shared, how it ends, what it comes to."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.command import AS_FROM_A_TERMINAL
from support.night_findings import LONG_S, MUTANT, night_options
from support.places import ROOT

from fencepost.conformance.cli.cli import exit_code, main
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.search.findings.tracked_bugs import NEW, OPEN
from fencepost.conformance.targets.brokers.kafka_version import NEWEST, parse_kafka_version
from fencepost.properties.workers.processes import Stop
from tools.nightly import schedule
from tools.nightly.__main__ import nightly_command
from tools.nightly.nightly import CUT, DONE, SKIPPED, NightPart, run_night
from tools.nightly.nightly_report import NightReport
from tools.nightly.schedule import (
    FIRST_TARGETS,
    NEWEST_KAFKA,
    OTHER_TARGETS,
    TARGETS,
    WEIGHTS,
    Schedule,
    targets_of,
    weights_of,
)

NIGHT = (
    f"{AS_FROM_A_TERMINAL}; import runpy, sys; sys.path.insert(0, {str(ROOT)!r});"
    " runpy.run_module('tools.nightly', run_name='__main__')"
)

# How the time is shared.


def test_what_one_leaves_over_is_for_the_others() -> None:
    schedule = Schedule({"a": 1, "b": 1, "c": 2}, until=400.0)
    assert schedule.begin("a", 0.0) == 100.0
    assert schedule.begin("b", 10.0) == 130.0  # a was quick
    assert schedule.begin("c", 140.0) == 260.0
    late = Schedule({"a": 1, "b": 1}, until=400.0)
    assert late.begin("a", 0.0) == 200.0
    assert late.begin("b", 500.0) == 0.0  # a took all, and more


def test_the_old_releases_take_turns() -> None:
    assert targets_of(1, 60.0) == FIRST_TARGETS
    nights = [targets_of(seed, 240.0 * 5) for seed in range(20260301, 20260301 + 9)]
    assert all(len(night) == 5 for night in nights)
    assert {t for night in nights for t in night} == {*FIRST_TARGETS, *OTHER_TARGETS}
    assert set(targets_of(3, 1e9)) == {*FIRST_TARGETS, *OTHER_TARGETS}


def test_targets_share_what_they_are_worth_together() -> None:
    weights = weights_of(tuple(WEIGHTS), ("mock", "kfake"))
    assert list(weights)[-2:] == ["mock", "kfake"]
    assert sum(weights.values()) == sum(WEIGHTS.values())


# A whole night.


async def test_an_end_that_is_wished_for_leaves_a_report(tmp_path: Path) -> None:
    stop = Stop()
    stop.ask()
    night = await run_night(night_options(tmp_path, parts=tuple(WEIGHTS)), stop)
    assert {part.status for part in night.parts} == {SKIPPED}
    told = NightReport.of(night, None)
    assert told.summary() == "nothing new; ended early"
    told.write(tmp_path)
    assert (tmp_path / "index.html").is_file()


async def test_a_part_that_is_ended_is_called_so(tmp_path: Path) -> None:
    stop = Stop()
    parts: list[NightPart] = []
    asked = night_options(tmp_path, targets=("model", MUTANT), requests=50)

    def heard(part: NightPart) -> None:
        parts.append(part)
        stop.ask()

    await run_night(asked, stop, heard)
    assert [part.status for part in parts] == [DONE, SKIPPED]
    assert CUT not in {part.status for part in parts}


@pytest.mark.parametrize(
    ("named", "newest", "summary"),
    [
        (False, "4.9.0", "nothing new; Kafka 4.9.0 is out: certify kafka:4.9.0"),
        (False, NEWEST_KAFKA, "nothing new"),
        (False, "", "nothing new"),
        (True, "4.9.0", "nothing new"),
    ],
)
async def test_a_newer_kafka_is_named(
    named: bool, newest: str, summary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The registry is asked beside the searches; one that can't be asked fails no night."""

    async def asked(artifact: str, least: str) -> str:
        assert (artifact, least) == ("org.apache.kafka:kafka_2.13", NEWEST_KAFKA)
        if not newest:
            raise TargetUnavailableError("mvn failed with exit code 1")
        return newest

    monkeypatch.setattr(schedule, "newest_version", asked)
    options = night_options(tmp_path, parts=(TARGETS,), targets=("model",), requests=50)
    night = await run_night(replace(options, named=named), Stop())
    assert NightReport.of(night, None).summary() == summary


def test_the_kafka_of_every_night_is_the_newest_that_was_tried() -> None:
    assert parse_kafka_version(NEWEST_KAFKA).number[:2] == NEWEST


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_night_with_a_report(tmp_path: Path, number: int) -> None:
    words = ("--minutes", "60", "--jobs", "2", "--part", "model", "--part", "mutants")
    with subprocess.Popen(
        [sys.executable, "-c", NIGHT, *words, "--report", str(tmp_path / "night")],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    ) as night:
        try:
            assert night.stdout is not None
            assert night.stdout.readline().startswith("night of")
            night.send_signal(number)
            said, _ = night.communicate(timeout=LONG_S)
        finally:
            night.kill()
    assert night.returncode == 0
    assert "nothing new; ended early" in said
    document = json.loads((tmp_path / "night" / "nightly.json").read_text("utf-8"))
    assert document["stopped"]
    assert [part["status"] for part in document["parts"]] == [CUT, SKIPPED]


def run(*words: str) -> int:
    return exit_code(nightly_command, list(words), "python -m tools.nightly")


@pytest.mark.slow
def test_a_mutant_planted_among_the_targets_is_new_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("--part", "targets", "--target", MUTANT, "--requests", "400", "--jobs", "1")
    night = (*words, "--seed", "3", "--minutes", "30")
    assert run(*night, "--report", "one") == 1
    assert "new: " + MUTANT in capsys.readouterr().out
    document = json.loads(Path("one/nightly.json").read_text("utf-8"))
    assert {entry["status"] for entry in document["entries"]} == {NEW}
    # The next night, in the same folder.
    assert run(*night, "--report", "one", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert {entry["status"] for entry in document["entries"]} == {OPEN}
    # Adopted: not new in another folder either.
    for entry in document["entries"]:
        with pytest.raises(SystemExit) as ended:
            main(["adopt", f"one/{entry['trace']}", "--into", "mine"])
        assert ended.value.code == 0
    assert run(*night, "--report", "two", "--corpus", "mine") == 0
    assert capsys.readouterr().out.endswith("nothing new: two/index.html\n")


def test_a_target_that_is_named_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("--part", "targets", "--minutes", "1", "--jobs", "1")
    assert run(*words, "--target", "tcp://127.0.0.1:1") == 69
    assert "tcp://127.0.0.1:1 not available" in capsys.readouterr().out
    assert run(*words, "--target", "nonesuch") == 64
