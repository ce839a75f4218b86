"""What is printed: settings, reasons, and the same in JSON."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console

from fencepost.conformance.advise.advice import Advice, advice_for
from fencepost.conformance.advise.known import known_group
from fencepost.conformance.advise.report import advice_json, assumptions, print_advice


def printed(advice: Advice, given: list[str]) -> str:
    out = StringIO()
    print_advice(advice, None, given, Console(file=out, width=120))
    return out.getvalue()


def advice(**facts: Any) -> Advice:
    return advice_for(known_group({"restart_s": 8, **facts}))


def test_static_members_get_names_and_dynamic_ones_none() -> None:
    assert "group.instance.id=" in printed(advice(warmup_s=20.0), [])
    assert "no group.instance.id" in printed(advice(), [])


def test_what_is_right_is_left_as_it_is() -> None:
    best = advice(warmup_s=20.0).advised
    own = {
        "is_static": True,
        "strategy": best.form.strategy,
        "session_s": best.session_s,
        "warmup_s": 20.0,
    }
    assert printed(advice(**own), []).startswith("Leave it as it is: static+")


def test_what_was_said_is_not_assumed() -> None:
    known = advice().known
    every = assumptions(known, [])
    assert any("--members" in line for line in every)
    assert any("every restart takes 8 s" in line for line in every)
    assert not any("--members" in line for line in assumptions(known, ["members"]))


def test_a_conflict_comes_first() -> None:
    found = advice(gap_s=5.0)
    assert printed(found, []).startswith("No session timeout keeps a gap of 5 s")
    assert advice_json(found, None, [])["words"][0].startswith("No session")
