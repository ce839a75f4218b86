"""What is advised: the least of all forms and timeouts, within what was wished."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.conformance.advise.advice import Advice, advice_for
from fencepost.conformance.advise.known import known_group


def advice(**facts: Any) -> Advice:
    return advice_for(known_group({"restart_s": {"median": 8, "p95": 25}, **facts}))


def test_nothing_that_fits_loses_less() -> None:
    for facts in ({}, {"warmup_s": 10.0}, {"processing_s": 4.0, "deaths": 3.0}):
        found = advice(**facts)
        fitting = [point for point in found.curve if not point.why_not]
        least = min(lost for point in fitting for lost in point.weekly.values())
        assert found.advised.lost_s == pytest.approx(least)
        assert found.best[0] is found.advised


def test_where_partitions_warm_up_members_are_static_and_sessions_outlive_restarts() -> None:
    found = advice(warmup_s=10.0)
    assert found.advised.is_static
    point = next(p for p in found.curve if p.session_s == found.advised.session_s)
    assert point.outlives < 0.01
    assert found.advised.lost_s < found.today.lost_s


def test_deaths_make_sessions_shorter_and_long_restarts_make_them_longer() -> None:
    long = {"median": 20, "p95": 50}
    some, deadly, slow = (
        next(each.session_s for each in found.best if each.is_static)
        for found in (
            advice(warmup_s=20.0),
            advice(warmup_s=20.0, deaths=500.0),
            advice(warmup_s=20.0, restart_s=long),
        )
    )
    assert deadly < some < slow


def test_it_turns_where_it_says() -> None:
    turn_s = advice().turn_s
    assert turn_s is not None
    assert not advice(warmup_s=turn_s - 0.2).advised.is_static
    assert advice(warmup_s=turn_s + 0.1).advised.is_static
    assert advice(warmup_s=turn_s + 0.1).turn_s == turn_s


def test_a_tolerated_gap_bounds_the_session() -> None:
    found = advice(warmup_s=10.0, gap_s=35.0)
    assert found.advised.session_s <= 35 - 3
    assert not found.conflict


@pytest.mark.parametrize(
    ("facts", "said"),
    [({"gap_s": 5.0}, "keeps a gap of 5 s"), ({"pause_s": 4000.0}, "silent for 4000 s")],
)
def test_wishes_that_no_session_fulfils_are_told(facts: dict[str, Any], said: str) -> None:
    assert said in advice(**facts).conflict


def test_lines_name_what_differs_from_the_default() -> None:
    found = advice(heartbeat_s=2.0, processing_s=1.5)
    for row in found.today.rows:
        assert "--heartbeat-interval-ms 2000 --processing-s 1.5 --seeds 20" in row.line
        assert "--restart-s 8 --restart-p95-s 25" in row.line
    values = advice(restart_s={"values": [4, 5.5]}).today.rows[0].line
    assert "--restart-s 4,5.5 " in values
