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
    assert "a process has that is stopped and started again, after 60.0 s at most" in printed(
        advice(restart_s=spread, gap_s=60.0, warmup_s=60.0), []
    )


def test_nothing_is_saved_where_figures_are_the_same() -> None:
    text = printed(advice(restart_s=3000.0), [])
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


def test_what_crashes_waits_for_its_session() -> None:
    for strategy, others in (("eager", ", and all others"), ("cooperative", ".")):
        text = printed(advice(only=(strategy, "dynamic")), [])
        assert f"even if it is back before: 18.0 s at most{others}" in text
    assert "even if it is back" not in printed(advice(warmup_s=20.0), [])


def test_how_to_get_there_is_told_where_something_changes() -> None:
    def steps(only: str, **today: Any) -> str:
        text = printed(advice(only=(only,), warmup_s=20.0, **today), list(today))
        return text.partition("How to get there")[2].partition("\n\n")[0]

    both = "CooperativeStickyAssignor,org.apache.kafka.clients.consumer.RangeAssignor"
    eager = steps("cooperative", is_static=True, strategy="eager")
    assert both in eager
    assert "leaves RangeAssignor out" in eager
    assert "fencepost simulate to-cooperative --members 6 --partitions 24 --static" in eager
    assert "from today" in eager
    static = steps("static", strategy="eager", is_static=False)
    assert "One bounce, with group.instance.id" in static
    assert "fencepost simulate to-static" in static
    assert "fencepost simulate to-dynamic" in steps("dynamic", is_static=True, session_s=60.0)
    assert "if the group runs already" in steps("static")
    best = advice(warmup_s=20.0).advised
    own = {"is_static": True, "strategy": best.form.strategy, "session_s": best.session_s}
    assert "How to get there" not in printed(advice(warmup_s=20.0, **own), list(own))


def test_what_is_too_close_to_call_is_told() -> None:
    text = printed(advice(warmup_s=20.0, crashes=0.0), [])
    assert "Too close to call: static+cooperative" in text
    assert "It turns at --warmup-s" in text
    assert "It turns at --resume-s 0.22 (assumed: 0.15): dynamic+cooperative loses least" in (
        printed(advice(), [])
    )


def test_forms_that_are_not_worth_it_are_told_where_nothing_else_may_be() -> None:
    text = printed(advice(only=("static",), restart_s=60.0), [])
    assert "It doesn't pay" in text
    assert "It doesn't pay" not in printed(advice(only=("static",), warmup_s=20.0), [])


def test_a_longest_restart_is_one_of_many() -> None:
    spread = {"median": 8, "p95": 18}
    text = printed(advice(restart_s=spread, warmup_s=10.0, members=12), [])
    assert "(for one restart in 500 longer) at most" in text
    assert "more than 99.8 %" in text
    assert "one restart in 500" not in printed(advice(warmup_s=10.0), [])


def test_lines_of_what_never_happens_are_left_out() -> None:
    assert "simulate crash " in printed(advice(), [])
    assert "simulate crash " not in printed(advice(crashes=0.0), [])


def test_shorter_heartbeats_and_long_silences_are_named() -> None:
    assert "With heartbeat.interval.ms=1000 " in printed(advice(strategy="cooperative"), [])
    text = printed(advice(pause_s=80.0), [])
    assert "may be silent for 80 s (--longest-pause-s)" in text
