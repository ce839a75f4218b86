"""What is advised: the least of all forms and timeouts, within what was wished."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.conformance.advise.advice import Advice, advice_for
from fencepost.conformance.advise.known import FORMS, known_group


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


def test_the_longest_session_that_keeps_the_gap_is_a_candidate() -> None:
    facts = {"restart_s": {"median": 40, "p95": 90}, "members": 24, "warmup_s": 30.0}
    found = advice(**facts, gap_s=60.0)
    assert found.advised.session_s == 57.0
    assert next(p for p in found.curve if p.session_s == 57.0).longest_detection_s == 60.0
    assert advice(**facts, gap_s=60.0, processing_s=4.5).advised.session_s == 52.5
    tight = advice(gap_s=17.0)
    assert (tight.conflict, tight.advised.session_s) == ("", 14.0)
    torn = advice(gap_s=15.9)
    assert "the shortest that is safe is 13 s" in torn.conflict
    assert torn.advised.session_s == 13.0


def test_only_what_may_be_is_advised() -> None:
    assert not advice().advised.is_static
    for only, forms in (
        (("static",), {"static+eager", "static+cooperative"}),
        (("cooperative",), {"dynamic+cooperative", "static+cooperative"}),
        (("static", "eager"), {"static+eager"}),
        (("static", "dynamic"), {str(form) for form in FORMS}),
    ):
        found = advice(only=only)
        assert {str(each.form) for each in found.best} == forms
        assert str(found.today.form) == "dynamic+eager"


def test_what_static_members_need_is_told_whatever_the_gap() -> None:
    found = advice(restart_s={"median": 40, "p95": 90}, gap_s=60.0)
    assert found.enough is not None
    assert found.enough.session_s > 57.0
    assert next(p for p in found.curve if p.session_s == found.enough.session_s).outlives <= 0.05
    assert advice(only=("dynamic",)).enough is None
