"""`fuzz --before`: what is new since an earlier run, what is open, and what is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.in_this_process import invoke

from fencepost.conformance.runtime.unavailable import EXIT_USAGE

MUTANT = "mutant:pending-does-not-block"
CAUSE = "pending-not-awaited"
FOUND = ("fuzz", MUTANT, "--requests", "400", "--seed", "1")
ELSEWHERE = ("fuzz", MUTANT, "--requests", "20", "--seed", "2")


def document(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / "fuzz.json").read_text("utf-8"))
    return read


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reports of three nights: one alone, one that sees the same, one that sees nothing."""
    folder = tmp_path_factory.mktemp("nights")
    first = invoke(*FOUND, "--report", str(folder / "1"))
    assert (first.code, "since the run before" in first.out) == (1, False)
    second = invoke(*FOUND, "--report", str(folder / "2"), "--before", str(folder / "1"))
    assert second.code == 1
    assert "\nopen finding 1: JOIN-PHASE-WAIT" in second.out
    assert "\nsince the run before  0 new, 1 open, 0 known, 0 not seen" in second.out
    assert ": 1 violation found (bugs: 0 new, 1 open)\n" in second.out
    before = str(folder / "2" / "fuzz.json")
    third = invoke(*ELSEWHERE, "--report", str(folder / "3"), "--before", before)
    assert third.code == 0
    assert f"\nnot seen this time: {CAUSE} (last in run 2)\n" in third.out
    assert third.out.splitlines()[0].endswith(": no violation found")
    return folder


def test_a_report_says_which_run_it_is_of_and_what_became_of_each_bug(nights: Path) -> None:
    assert "before" not in document(nights / "1")
    second, third = document(nights / "2"), document(nights / "3")
    (finding,) = second["findings"]
    (bug,) = second["before"]["bugs"]
    assert (finding["status"], bug["status"], bug["trace"]) == ("open", "open", finding["trace"])
    assert (bug["first_run"], bug["last_run"], second["before"]["run"]) == (1, 2, 2)
    assert [third["before"][key] for key in ("run", "new", "open", "known")] == [3, 0, 0, 0]
    (unseen,) = third["before"]["bugs"]
    assert (unseen["seen"], unseen["cause"], unseen["last_run"]) == (0, CAUSE, 2)
    kept = nights / "3" / unseen["trace"]
    assert kept.read_text("utf-8") == (nights / "2" / bug["trace"]).read_text("utf-8")
    page = (nights / "3" / "index.html").read_text("utf-8")
    assert "last seen in run 2; open" in page


def test_what_one_night_did_not_see_is_still_open_in_the_next(nights: Path) -> None:
    fourth = invoke(*FOUND, "--json", "--before", str(nights / "3"))
    (bug,) = json.loads(fourth.out)["before"]["bugs"]
    assert (fourth.code, bug["status"], bug["first_run"]) == (1, "open", 1)


def test_what_no_run_saw_before_is_new(tmp_path: Path) -> None:
    alone = invoke(*ELSEWHERE, "--report", str(tmp_path / "1"))
    assert alone.code == 0
    found = invoke(*FOUND, "--before", str(tmp_path / "1"))
    assert (found.code, "\nnew finding 1: " in found.out) == (1, True)
    assert ": 1 violation found (bugs: 1 new, 0 open)\n" in found.out


def test_what_a_list_covers_is_known(nights: Path, tmp_path: Path) -> None:
    entry = {"case": "A/b", "rule": "A", "observed": "o", "why": "a reason", "link": ""}
    entry |= {"target": MUTANT, "versions": "*", "cause": CAUSE}
    listed = {"format": "fencepost-known-failures", "version": 1, "entries": [entry]}
    file = tmp_path / "known.json"
    file.write_text(json.dumps(listed), "utf-8")
    # What leads into a listed failure is drawn rarely, so more is sent.
    words = ("fuzz", MUTANT, "--requests", "4000", "--seed", "1", "--known-failures", str(file))
    ran = invoke(*words, "--json", "--before", str(nights / "2"))
    told = json.loads(ran.out)
    (bug,) = told["before"]["bugs"]
    assert (ran.code, bug["status"], bug["why"]) == (0, "known", "a reason")
    assert {row["status"] for row in told["known_findings"]} == {"known"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "can't be read (No such file or directory)"),
        ("{", "isn't JSON"),
        ("{}", "is no report of `fencepost fuzz` (Object missing required field `format`)"),
        ('{"format": "fencepost-certificate"}', "is no report of `fencepost fuzz` (Invalid enum"),
    ],
)
def test_a_report_that_can_t_be_read_is_a_clear_error(
    text: str | None, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "fuzz.json"
    if text is not None:
        file.write_text(text, "utf-8")
    ran = invoke(*FOUND, "--before", str(file))
    assert (ran.code, ran.out) == (EXIT_USAGE, "")
    assert problem in ran.err
    assert "name the folder or the fuzz.json that an earlier `fencepost fuzz --report`" in ran.err


def test_the_report_of_another_target_is_refused(nights: Path) -> None:
    ran = invoke("fuzz", "model", "--before", str(nights / "1"))
    assert ran.code == EXIT_USAGE
    assert f"is a report of {MUTANT}, not of model; give --before" in ran.err


def test_a_report_names_no_file_outside_its_folder(nights: Path, tmp_path: Path) -> None:
    told = document(nights / "2")
    told["before"]["bugs"][0]["trace"] = "../outside.json"
    (tmp_path / "fuzz.json").write_text(json.dumps(told), "utf-8")
    ran = invoke(*ELSEWHERE, "--json", "--before", str(tmp_path))
    assert json.loads(ran.out)["before"]["bugs"][0]["trace"] is None
