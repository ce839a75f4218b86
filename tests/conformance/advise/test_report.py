"""What is printed: settings, reasons, and the same in JSON."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console

from fencepost.conformance.advise.advice import Advice, advice_for
from fencepost.conformance.advise.known import known_group
from fencepost.conformance.advise.report import advice_json, print_advice
from fencepost.conformance.advise.words import assumptions


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
    assert printed(advice(**own), list(own)).startswith("Leave it as it is: static+")


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


def test_a_gap_that_static_members_break_is_told() -> None:
    spread = {"median": 40, "p95": 90}
    text = printed(advice(restart_s=spread, gap_s=60.0), [])
    assert "static members need a session of about 120 s" in text
    assert "that breaks the gap of 60 s" in text
    assert "breaks the gap" not in printed(advice(restart_s=spread, gap_s=500.0), [])
    assert "a process has that is restarted, after 60.0 s at most" in printed(
        advice(restart_s=spread, gap_s=60.0, warmup_s=60.0), []
    )


def test_nothing_is_saved_where_figures_are_the_same() -> None:
    text = printed(advice(restart_s=400.0), [])
    assert "Static members would save no rebalances" in text
    for line in text.splitlines():
        one, _, other = line.partition(" instead of ")
        assert not other or one.split()[-2:] != other.split()[:2]


def test_members_without_a_partition_are_told() -> None:
    assert "16 members of 24 will have nothing to do" in printed(
        advice(members=24, topics=(8,)), []
    )
    assert "nothing to do" not in printed(advice(members=24, topics=(24,)), [])


def test_a_new_group_has_no_today() -> None:
    text = printed(advice(warmup_s=20.0), [])
    assert "today" not in text.replace("as today", "")
    assert "Kafka's defaults" in text
    assert "today" in printed(advice(warmup_s=20.0), ["session_s"])
