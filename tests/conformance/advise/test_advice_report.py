"""What is printed: settings, reasons, and the same in JSON."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from fencepost.conformance.advise.advice import Advice, advice_for
from fencepost.conformance.advise.advice_document import advice_document
from fencepost.conformance.advise.advice_report import print_advice
from fencepost.conformance.advise.known_facts import assumptions, known_group
from fencepost.model.history.words import LONGEST_VERDICT
from fencepost.traces.operations.client_libraries import JAVA


def printed(advice: Advice, given: list[str]) -> str:
    out = StringIO()
    print_advice("", advice, None, given, Console(file=out, width=120))
    return out.getvalue()


def verdict(advice: Advice) -> str:
    document = advice_document(advice, None, []).plain()
    line: str = document["verdict"]
    assert len(line) <= LONGEST_VERDICT
    return line


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
    assert "\nKeep today's settings: static+" in printed(advice(**own), list(own))
    assert verdict(advice(**own)).startswith("Nothing to change: static+")


def test_another_heartbeat_interval_is_a_change() -> None:
    today = {"is_static": False, "strategy": "cooperative", "session_s": 45.0}
    found = advice(**today, restart_s=20.0, pause_s=30.0)
    assert found.advised.is_set_as(found.today) is False
    assert verdict(found).startswith("Set heartbeat interval 1 s: ")
    text = printed(found, list(today))
    assert "Keep today's settings" not in text
    assert "Keep dynamic members: " in text
    assert "Static members would save rebalances" not in text  # the choice names both sums
    keep = {**today, "restart_s": 20.0, "pause_s": 30.0, "heartbeat_s": 3.0}
    assert "Static members would save rebalances" in printed(advice(**keep), list(keep))
    assert "\n  heartbeat.interval.ms=1000\n" in text


@pytest.mark.parametrize(
    ("today", "line"),
    [
        ({}, "Set dynamic+cooperative, session 15 s, heartbeat 1 s: 331 instead of 1,438 "),
        ({"session_s": 15.0}, "Set dynamic+cooperative, heartbeat interval 1 s: 331 "),
        ({"strategy": "cooperative", "is_static": False}, "Set session timeout 15 s, heartbeat "),
        ({"strategy": "cooperative", "session_s": 15.0, "heartbeat_s": 1.0}, "Nothing to change: "),
        ({"heartbeat_s": 1.0, "session_s": 15.0}, "Set dynamic+cooperative: "),
    ],
)
def test_the_first_line_names_every_setting_that_changes(today: dict[str, Any], line: str) -> None:
    found = advice(**today)
    assert verdict(found).startswith(line)
    assert ("\nSet\n" in printed(found, list(today))) == ("Set " in line)


def test_long_sums_leave_room_for_the_settings() -> None:
    line = verdict(advice(members=100, topics=(90_000,), deployments=30.0, at_a_time=2))
    assert line.startswith("Set dynamic+cooperative, session 15 s, heartbeat 1 s: ")
    assert line.endswith(" partition-seconds a week.")
    line = verdict(advice(members=100, topics=(90_000,), gap_s=5.0))
    assert line.startswith("Limits conflict; set dynamic+cooperative, session timeout 11 s, heart")


def test_the_cost_of_one_deployment_and_of_longer_restarts_is_near_the_top() -> None:
    text = printed(advice(warmup_s=20.0), [])
    assert "\nOne deployment loses 196 partition-seconds instead of " in text
    assert "a simulation with the same inputs. Real groups vary more. If restarts take tw" in text
    own = {"is_static": True, "strategy": "eager", "session_s": 45.0, "warmup_s": 20.0}
    loses = advice(**own, restart_s=16.0).today.lost_s
    assert f"twice as long, a week loses {loses:,.0f} partition-s" in printed(advice(**own), [])
    assert "twice as long" not in printed(advice(restart_s=15_000.0), [])


def test_longer_restarts_that_call_for_another_setting_name_it() -> None:
    near = advice(warmup_s=4.0)
    assert str(near.advised.form) != str(advice(warmup_s=4.0, restart_s=16.0).advised.form)
    assert ". Then dynamic+cooperative, 15 s would be advised." in printed(near, [])
    assert ". Then static+eager, 20 s would be advised." in printed(advice(warmup_s=20.0), [])


def test_what_was_said_is_not_assumed() -> None:
    known = advice().known
    every = assumptions(known, [])
    assert any("--members" in line for line in every)
    assert any("every restart takes 8 s" in line for line in every)
    assert not any("--members" in line for line in assumptions(known, ["members"]))


def test_a_conflict_comes_first() -> None:
    found = advice(gap_s=5.0)
    assert "\nNo session timeout keeps a gap of 5 s" in printed(found, [])
    assert verdict(found).startswith("Limits conflict; set dynamic+cooperative, session 11 s, ")
    assert advice_document(found, None, []).words[0].startswith("No session")


@pytest.mark.slow
def test_a_gap_that_static_members_break_is_told() -> None:
    spread = {"median": 40, "p95": 90}
    text = printed(advice(restart_s=spread, gap_s=60.0), [])
    assert "static members need a session of 120 s" in text
    assert "120 s would lose" in text
    assert "That breaks the gap of 60 s" in text
    assert "breaks the gap" not in printed(advice(restart_s=spread, gap_s=500.0), [])
    slow = advice(restart_s=spread, gap_s=60.0, warmup_s=60.0, heartbeat_s=3.0)
    assert "60.0 s at most when its process restarts" in printed(slow, [])


def test_a_gap_that_only_shorter_heartbeats_keep_is_told() -> None:
    assert "with 3000 no session that is safe keeps a gap of 15.9 s" in printed(
        advice(gap_s=15.9), []
    )


def test_a_session_that_breaks_the_gap_is_told_beside_the_advice_too() -> None:
    assert "advised: longer than a gap of 5 s" in printed(advice(gap_s=5.0), [])


def test_nothing_is_saved_where_figures_are_the_same() -> None:
    text = printed(advice(restart_s=3000.0), [])
    assert "Static members would save no rebalances" in text
    for line in text.splitlines():
        one, _, other = line.partition(" instead of ")
        assert not other or one.split()[-2:] != other.split()[:2]


def test_members_without_a_partition_are_told() -> None:
    assert "16 members of 24 will have no partition" in printed(advice(members=24, topics=(8,)), [])
    assert "nothing to do" not in printed(advice(members=24, topics=(24,)), [])


def test_a_new_group_has_no_today() -> None:
    text = printed(advice(warmup_s=20.0), [])
    assert "today" not in text.replace("as today", "")
    assert "Kafka's defaults" in text
    assert "today" in printed(advice(warmup_s=20.0), ["session_s"])


def test_what_crashes_waits_for_its_session() -> None:
    for strategy, others in (
        ("eager", ", and so do the partitions of all others"),
        ("cooperative", "."),
    ):
        text = printed(advice(only=(strategy, "dynamic")), [])
        assert (
            f"16.2 s at most when its process crashes, even if it is back earlier{others}" in text
        )
    assert "even if it is back" not in printed(advice(warmup_s=20.0), [])


def test_how_to_get_there_is_told_where_something_changes() -> None:
    def steps(only: str, **today: Any) -> str:
        text = printed(advice(only=(only,), warmup_s=20.0, **today), list(today))
        return text.partition("How to get there")[2].partition("\n\n")[0]

    both = "RangeAssignor,org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    eager = steps("cooperative", is_static=True, strategy="eager")
    assert f"Deployment 1 of 2: offer both assignors, {JAVA.assignors['eager']}" in eager
    assert both in eager
    assert "Deployment 2 of 2: leave RangeAssignor out." in eager
    assert "if yours do, the second is enough (--strategy both)" in eager
    assert "from today" in eager
    java = steps("cooperative", is_static=True)
    assert "One deployment: leave RangeAssignor out" in java
    assert "Members with RangeAssignor alone need two" in java
    assert "Back, by 1 deployment: offer both assignors" in java
    static = steps("static", strategy="eager", is_static=False)
    assert "One deployment: set group.instance.id, set session.timeout.ms=" in static
    assert "--strategy eager --dynamic --restart-s 8 --session-timeout-ms 45000 --set " in static
    dynamic = steps("dynamic", is_static=True, session_s=60.0)
    assert "Deployment 1 of 2: set session.timeout.ms=15000." in dynamic
    assert "An old static process sends no LeaveGroup when it stops" in dynamic
    assert "Deployment 1 of 2" not in steps("dynamic", is_static=True, session_s=13.0)
    assert "if the group runs already" in steps("static")
    best = advice(warmup_s=20.0).advised
    own = {"is_static": True, "strategy": best.form.strategy, "session_s": best.session_s}
    assert "How to get there" not in printed(advice(warmup_s=20.0, **own), list(own))


def test_what_is_too_close_to_call_is_told() -> None:
    text = printed(advice(warmup_s=20.0, crashes=0.0), [])
    assert "Equally good: static+cooperative" in text
    assert "the advised setting needs no other assignor" in text
    assert "or less (assumed: 20) dynamic+" in text
    own = {"is_static": True, "strategy": "eager", "session_s": 45.0, "warmup_s": 20.0}
    assert "the advised setting is today's" in printed(advice(**own), list(own))


def test_forms_that_are_not_worth_it_are_told_where_nothing_else_may_be() -> None:
    text = printed(advice(only=("static",), restart_s=60.0), [])
    assert "that --only allows." in text
    assert ", more than " in verdict(advice(only=("static",), restart_s=60.0))
    assert "that --only allows." not in printed(advice(only=("static",), warmup_s=20.0), [])


@pytest.mark.slow
def test_a_longest_restart_is_one_of_many() -> None:
    spread = {"median": 8, "p95": 18}
    found = advice(restart_s=spread, warmup_s=10.0, members=12)
    longest_s = found.advised.session_s + 3.18
    assert f"{longest_s:.1f} s at most when its process restarts" in printed(found, [])
    assert "8.2 s at most when its process restarts" in printed(advice(warmup_s=10.0), [])
    seen = advice(restart_s={"values": [4, 5, 6]}, warmup_s=10.0)
    assert "causes no rebalance: 100 % of 3 seen" in printed(seen, [])


def test_lines_of_what_never_happens_are_left_out() -> None:
    assert "simulate crash " in printed(advice(), [])
    assert "simulate crash " not in printed(advice(crashes=0.0), [])


def test_shorter_heartbeats_and_long_silences_are_named() -> None:
    text = printed(advice(strategy="cooperative"), ["strategy"])
    assert "heartbeat.interval.ms=1000\n" in text.partition("In a week ")[0]
    assert "6.0 heartbeats a second from this group instead of 2.0" in text
    kept = printed(advice(strategy="cooperative", heartbeat_s=3.0), ["strategy", "heartbeat_s"])
    assert "heartbeat.interval.ms=1000 would lose " in kept
    assert "heartbeat.interval.ms" not in kept.partition("In a week ")[0]
    text = printed(advice(pause_s=80.0), [])
    assert "may be silent for 80 s (--longest-pause-s)" in text
