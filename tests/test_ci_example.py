"""The workflows of `examples/ci`: their commands run on brokers with and without new faults."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from fencepost.traces.files.known_failure_lists import read

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "ci"
COMMANDS = Path(sys.executable).parent
ELSEWHERE = {"pip", "docker"}  # they need a registry or a daemon, and are none of ours
SECONDS = 120

needs_command = pytest.mark.skipif(
    not (COMMANDS / "fencepost").exists(), reason="needs the installed command: run tox, or install"
)


def job(name: str = "certify") -> dict[str, Any]:
    workflow = yaml.safe_load((FOLDER / f"{name}.yml").read_text("utf-8"))
    (found,) = workflow["jobs"].values()
    return dict(found)


def commands(name: str = "certify") -> list[str]:
    return [step["run"] for step in job(name)["steps"] if "run" in step]


@contextmanager
def serving(target: str) -> Iterator[str]:
    """The address of a broker that is the model, or a mutant of it."""
    with subprocess.Popen(
        [COMMANDS / "fencepost", "serve", target, "--set", "group.initial.rebalance.delay.ms=0"],
        stdout=subprocess.PIPE,
        text=True,
    ) as broker:
        try:
            assert broker.stdout is not None
            yield broker.stdout.readline().strip()
        finally:
            broker.terminate()


def run_steps(
    folder: Path, address: str, name: str = "certify", **variables: str
) -> subprocess.CompletedProcess[str] | None:
    """What the first command of ours that fails says, or the last one."""
    shutil.copytree(FOLDER, folder / "ci", dirs_exist_ok=True)
    (entry,) = read(FOLDER / "known-failures.json")
    environment = (
        os.environ
        | job(name)["env"]
        | {"BROKER": address, "CASES": entry.case, **variables}
        | {"PATH": f"{COMMANDS}{os.pathsep}{os.environ['PATH']}"}
    )
    done = None
    for command in commands(name):
        if shlex.split(command)[0] in ELSEWHERE:
            continue
        done = subprocess.run(
            ["/bin/sh", "-e", "-c", command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if done.returncode:
            break
    return done


@pytest.mark.parametrize(("name", "first"), [("certify", "fencepost"), ("nightly", "if")])
def test_each_step_does_one_thing(name: str, first: str) -> None:
    steps = job(name)["steps"]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    assert {shlex.split(command)[0] for command in commands(name)} == {*ELSEWHERE, first}
    kept = next(step for step in steps if "upload-artifact" in step.get("uses", ""))
    assert kept["if"] == "always()", "a failed run is the one that is read"
    assert f"--report {kept['with']['path']}" in " ".join(commands(name))


def test_a_night_gets_the_report_of_the_night_before_also_when_that_failed() -> None:
    (restored, saved) = (
        next(step for step in job("nightly")["steps"] if f"cache/{word}" in step.get("uses", ""))
        for word in ("restore", "save")
    )
    assert restored["with"]["path"] == saved["with"]["path"] == "night"
    assert saved["with"]["key"].startswith(restored["with"]["restore-keys"])
    assert saved["if"] == "always()"


@pytest.mark.slow
@needs_command
def test_the_second_night_is_compared_with_the_first(tmp_path: Path) -> None:
    nights = []
    with serving("mutant:pending-does-not-block") as address:
        for _ in range(2):
            done = run_steps(tmp_path, address, "nightly", MINUTES="0.1")
            assert done is not None
            nights.append(done.stdout)
            assert (tmp_path / "night" / "fuzz.json").is_file(), done.stdout
    assert "since the run before" not in nights[0]
    assert "since the run before" in nights[1]


@pytest.mark.slow
@needs_command
@pytest.mark.parametrize(
    ("target", "exit_code", "said"),
    [
        ("mutant:zombie-heartbeats", 0, "holds apart from 1 known failure"),
        ("model", 1, "stale"),
    ],
)
def test_the_steps_pass_with_a_broker_that_fails_as_listed_and_no_other(
    tmp_path: Path, target: str, exit_code: int, said: str
) -> None:
    with serving(target) as address:
        done = run_steps(tmp_path, address)
    assert done is not None
    assert done.returncode == exit_code, done.stdout
    assert said in done.stdout
    assert {path.name for path in (tmp_path / "certificate").iterdir()} >= {
        "certificate.json",
        "index.html",
        "junit.xml",
    }
