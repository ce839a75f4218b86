"""Two targets are compared case by case, and no difference gets lost."""

from __future__ import annotations

from pathlib import Path

from support.kept import kept, write_kept
from support.places import ROOT

from fencepost.conformance.site.comparison import compare
from fencepost.conformance.site.site_results import read_results


def test_each_way_to_differ_is_a_part(tmp_path: Path) -> None:
    outcomes = ("pass", "fault", "other fault", "unsupported", "unknown")
    names = {
        f"LEAVE-MEMBER/{one}-{other}".replace(" ", "-"): (one, other)
        for one in outcomes
        for other in outcomes
    }
    one, other = read_results(
        write_kept(
            tmp_path,
            kept("a:1", {name: said[0] for name, said in names.items()}),
            kept("b:1", {name: said[1] for name, said in names.items()} | {"LEAVE-ROWS/x": "pass"}),
        )
    )
    found = compare(one, other)
    parts = {part.title: part.total() for part in found.parts}
    assert parts == {
        "Both fail, for different reasons": 2,
        "Fails in a:1, passes in b:1": 2,
        "Passes in a:1, fails in b:1": 2,
        "Undecided in one of them": 6,
        "Tested in a:1 alone": 4,
        "Tested in b:1 alone": 5,
    }
    assert (found.alike, found.untested) == (4, 1)
    assert (found.differing(), found.undecided()) == (6, 6)
    assert sum(parts.values()) + found.alike + found.untested == len(names) + 1
    both = found.parts[0].groups[0]
    assert both.reasons == ("a:1: fault", "b:1: other fault")


def test_a_target_is_like_itself() -> None:
    (one,) = read_results([ROOT / "docs" / "certificates" / "kfake.json"])
    found = compare(one, one)
    assert (found.parts, found.alike + found.untested) == ((), len(one.cases))
    assert found.untested == one.counts()["unsupported"]
