"""One cause has one name in all versions, whether a list of known failures has it or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.kept import kept, write_kept

from fencepost.conformance.site.comparison import causes, compare
from fencepost.conformance.site.site_results import Reasons, Result, read_results
from fencepost.properties.judging.known_failures import UNEXPLAINED

RULE = "HEARTBEAT-STABLE"
BUG = "beats are not heard (https://issues.apache.org/jira/browse/KAFKA-9801)"


def failed(step: int, observed: str, known: str = "") -> dict[str, Any]:
    """A failure in the full form of a certificate."""
    message = f"a's Heartbeat v4 (step {step}) should have been answered NONE. Instead: nothing."
    row: dict[str, Any] = {
        "outcome": "fail",
        "rule": RULE,
        "observed": observed,
        "why": message,
        "level": "MUST",
    }
    if known:
        row |= {"outcome": "known-failure", "notes": [f"known failure: {known}"]}
    return row


def versions(folder: Path, *cases: dict[str, Any]) -> list[Result]:
    made = ({**kept("own", {}), "version": f"0.{n}", "cases": one} for n, one in enumerate(cases))
    return read_results(write_kept(folder, *made))


def test_steps_make_no_causes(tmp_path: Path) -> None:
    rows = {f"{RULE}/{n}": failed(n, "a Heartbeat: UNKNOWN_MEMBER_ID") for n in range(9)}
    (found,) = causes(versions(tmp_path, rows, {f"{RULE}/0": {"outcome": "pass"}}))
    assert found.why == f"Heartbeat: UNKNOWN_MEMBER_ID, against {RULE}"
    assert found.marks == ("seen", "gone")


def test_a_reason_is_found_where_nobody_listed_it(tmp_path: Path) -> None:
    observed = "a Heartbeat: UNKNOWN_MEMBER_ID"
    old = {"SYNC-A/x": failed(3, observed), "SYNC-A/y": failed(7, observed)}
    new = {"SYNC-A/x": failed(4, observed, BUG)}
    results = versions(tmp_path, old, new)
    (found,) = causes(results)
    assert found.why == "beats are not heard"
    assert (found.marks, found.cases) == (("seen", "seen"), ("SYNC-A/x", "SYNC-A/y"))
    assert [row.total() for row in compare(*results).parts] == [1]  # tested in one alone
    assert compare(*results).differing() == 0


def test_an_answer_that_two_reasons_go_with_is_put_down_to_none(tmp_path: Path) -> None:
    observed = "a Heartbeat: UNKNOWN_MEMBER_ID"
    listed = {"SYNC-A/x": failed(4, observed, BUG), "SYNC-A/y": failed(4, observed, "another")}
    results = versions(tmp_path, {"SYNC-A/z": failed(3, observed)}, listed)
    reasons = Reasons(results)
    names = [reasons.of(case) for result in results for case in result.view.cases]
    assert names == [f"Heartbeat: UNKNOWN_MEMBER_ID, against {RULE}", BUG, "another"]


def test_a_reason_that_nobody_wrote_yet_is_none(tmp_path: Path) -> None:
    known = f"{UNEXPLAINED}: it was answered so and so in step 3"
    (one,) = versions(tmp_path, {"SYNC-A/x": failed(3, "a Heartbeat: NONE", known)})
    (group,) = Reasons([one]).groups(one.view.cases)
    assert group[:2] == ("known-failure", f"Heartbeat: NONE, against {RULE}")


def test_versions_of_one_target_are_told_apart(tmp_path: Path) -> None:
    rows = {"SYNC-A/x": failed(3, "a Heartbeat: NONE")}
    found = compare(*versions(tmp_path, rows, {"SYNC-A/x": {"outcome": "pass"}}))
    assert [part.title for part in found.parts] == ["Fails in own 0.0, passes in own 0.1"]
