"""`doctor` says what is there, and fails only for what is needed."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from fencepost.conformance.cli import doctor
from fencepost.conformance.cli.cli import fencepost
from fencepost.conformance.runtime.toolchain.doctor import Check
from fencepost.conformance.runtime.unavailable import TargetUnavailableError


def lacking() -> str:
    raise TargetUnavailableError("beam is not on the PATH: build one")


CHECKS = (
    Check("python", "everything", lambda: "Python 3", always=True),
    Check("beam", "roofs", lacking),
)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(fencepost, ["doctor", *arguments], standalone_mode=False)


@pytest.fixture(autouse=True)
def two_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "CHECKS", CHECKS)
    monkeypatch.setattr(doctor, "_NAMES", {check.name: check for check in CHECKS})


def test_what_is_missing_is_told_with_its_use_and_its_remedy() -> None:
    ran = invoke()
    assert ran.return_value == 0
    verdict, _, *rows = ran.output.splitlines()
    assert verdict == "Everything needed is there."
    assert [line.split()[:2] for line in rows[::2]] == [
        ["python", "yes"],
        ["beam", "no"],
    ]
    assert "beam is not on the PATH: build one" in ran.output
    assert "for roofs" in ran.output


def test_what_is_asked_for_and_missing_fails() -> None:
    assert invoke("python").return_value == 0
    assert invoke("python", "beam").return_value == 1
    document = json.loads(invoke("beam", "--json").output)
    assert document["missing"] == ["beam"]
    assert document["checks"]["beam"]["there"] is False


def test_what_every_command_needs_always_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "CHECKS", (Check("python", "everything", lacking, always=True),))
    assert invoke().return_value == 1


def test_a_name_that_is_none_is_refused_with_a_near_one() -> None:
    ran = CliRunner().invoke(fencepost, ["doctor", "beem"])
    assert ran.exit_code != 0
    assert "nothing is called 'beem' (did you mean beam?)" in ran.output
