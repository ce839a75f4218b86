"""The workflows of this project: what they run is there, and a night keeps what the next needs."""

from __future__ import annotations

import configparser
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tools.nightly.__main__ import nightly_command

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = ("ci", "nightly", "pages", "release")
NEEDED_ELSEWHERE = {"pip"}  # it needs a registry, and is none of ours


def workflow(name: str) -> dict[Any, Any]:
    return dict(yaml.safe_load((FOLDER / f"{name}.yml").read_text("utf-8")))


def steps(document: dict[Any, Any]) -> list[dict[str, Any]]:
    return [step for job in document["jobs"].values() for step in job["steps"]]


def tox() -> configparser.ConfigParser:
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "tox.ini")
    return config


def missing(command: str) -> str | None:
    """What a step's command needs and this project doesn't have."""
    words = shlex.split(command)
    if words[0] in NEEDED_ELSEWHERE:
        return None
    if words[:2] == ["tox", "-e"]:
        return None if f"testenv:{words[2]}" in tox() else f"tox has no {words[2]}"
    path = ROOT / words[0]
    return None if path.is_file() and os.access(path, os.X_OK) else f"{words[0]} isn't there"


def test_all_are_looked_at() -> None:
    assert {path.stem for path in FOLDER.glob("*.yml")} == set(WORKFLOWS)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_what_it_runs_is_there(name: str) -> None:
    document = workflow(name)
    assert document["permissions"] == {"contents": "read"}
    assert all(("uses" in step) != ("run" in step) for step in steps(document))
    for job in document["jobs"].values():
        assert set(job.get("needs", "").split()) <= document["jobs"].keys()
        if "write" in job.get("permissions", {}).values():
            assert job["environment"], "who may write is asked first"
            assert not any("run" in step for step in job["steps"]), "and runs none of our code"
    runs = [step["run"] for step in steps(document) if "run" in step]
    assert runs
    assert [wrong for command in runs if (wrong := missing(command))] == []


def wrong_python(row: dict[str, str]) -> bool:
    """Whether a row of the matrix asks an environment of tox for another Python than it has."""
    asked = row["tox"] or tox()["tox"]["env_list"]
    plain = {name for name in re.split(r"[,\s]+", asked) if re.fullmatch(r"py\d+", name)}
    return plain != {"py" + row["python"].replace(".", "")}


def test_each_python_is_asked_of_its_own_environment() -> None:
    (job,) = workflow("ci")["jobs"].values()
    rows = job["strategy"]["matrix"]["include"]
    assert [row["python"] for row in rows] == ["3.11", "3.12", "3.13", "3.14"]
    assert [row for row in rows if wrong_python(row) or missing(f".ci/run {row['tox']}")] == []
    assert all(f"testenv:{row['tox']}" in tox() for row in rows if row["tox"])
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    told = {c.rpartition(" ")[2] for c in classifiers["classifiers"] if ":: 3." in c}
    assert told == {row["python"] for row in rows if not row.get("may_fail")}
    assert set(workflow("release")["jobs"]["test"]["strategy"]["matrix"]["python"]) == told


@pytest.mark.parametrize(("python", "names"), [("3.13", ""), ("3.13", "py311"), ("3.11", "py312")])
def test_another_python_is_seen(python: str, names: str) -> None:
    assert wrong_python({"python": python, "tox": names})


def test_a_release_is_built_once_tested_and_published_without_a_password() -> None:
    jobs = workflow("release")["jobs"]
    assert list(jobs) == ["build", "test", "publish"]
    assert (jobs["test"]["needs"], jobs["publish"]["needs"]) == ("build", "test")
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets" not in (FOLDER / "release.yml").read_text("utf-8")


@pytest.mark.parametrize(("tag", "said"), [("", ""), ("v0.0.0", "The tag is v0.0.0, but")])
def test_a_tag_that_names_another_version_is_refused(tag: str, said: str) -> None:
    command = [sys.executable, str(ROOT / ".ci" / "check_tag.py"), *filter(None, [tag])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr.startswith(said)
    assert bool(done.returncode) is bool(said)


@pytest.mark.parametrize(
    ("changelog", "fragment", "said"),
    [
        ("## 1.2.3, 2026-12-24\n", "", ""),
        ("## 1.2.2, 2026-12-24\n", "", "CHANGELOG.md has no section for 1.2.3"),
        ("## 1.2.3, 2026-12-24\n", "+a.fixed.md", "changes/ still has +a.fixed.md"),
    ],
)
def test_a_tag_without_its_section_of_the_changelog_is_refused(
    tmp_path: Path, changelog: str, fragment: str, said: str
) -> None:
    check = runpy.run_path(str(ROOT / ".ci" / "check_tag.py"))["main"]
    (tmp_path / "changes").mkdir()
    for name in filter(None, ("README.md", fragment)):
        (tmp_path / "changes" / name).touch()
    (tmp_path / "CHANGELOG.md").write_text(changelog)
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nversion = "1.2.3"\n[tool.towncrier]\ndirectory = "changes"\n'
    )
    assert (check("v1.2.3", tmp_path) or "").startswith(said)
    assert bool(check("v1.2.3", tmp_path)) is bool(said)


@pytest.mark.parametrize("command", ["tox -e nonesuch", ".ci/nonesuch", "README.md"])
def test_what_is_not_there_is_seen(command: str) -> None:
    assert missing(command) is not None


def test_the_night_is_scheduled_and_keeps_what_the_next_one_needs() -> None:
    document = workflow("nightly")
    when = document[True]  # YAML's `on`
    assert when["schedule"][0]["cron"]
    assert {step["run"] for step in steps(document) if "run" in step} >= {"tox -e nightly"}
    folder = "nightly"
    kept = [s for s in steps(document) if folder in str(s.get("with", {}).get("path"))]
    restored, saved, uploaded = kept
    assert "cache/restore" in restored["uses"]
    assert "cache/save" in saved["uses"]
    assert "upload-artifact" in uploaded["uses"]
    assert saved["with"]["path"] == restored["with"]["path"]
    assert saved["with"]["key"].startswith(restored["with"]["restore-keys"])
    assert {saved["if"], uploaded["if"]} == {"always()"}, "a night that found something counts most"
    command = tox()["testenv:nightly"]["commands"].strip()
    assert f"{{env:NIGHTLY_REPORT:{folder}}}" in command


def test_toxs_command_is_one_of_ours() -> None:
    words = shlex.split(tox()["testenv:nightly"]["commands"].replace("{posargs}", "--help"))
    assert words[:3] == ["python", "-m", "tools.nightly"]
    settings = dict(
        line.split(" = ")
        for line in tox()["testenv:nightly"]["set_env"].splitlines()
        if "=" in line
    )
    path = settings["PYTHONPATH"].partition("#")[0].strip().replace("{tox_root}", str(ROOT))
    started = subprocess.run(
        [sys.executable, *words[1:3], "--help"],
        env={
            **os.environ,
            "PYTHONSAFEPATH": "1",
            "PYTHONPATH": os.pathsep.join((path, os.environ.get("PYTHONPATH", ""))),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (started.returncode, started.stderr) == (0, "")
    given = [word.partition(":")[2].rpartition(":")[2].rstrip("}") or word for word in words[3:]]
    done = CliRunner().invoke(nightly_command, given)
    assert done.exit_code == 0, done.output
    assert "Run every search" in done.output
