"""Durations are numbers or distributions; each is drawn by name."""

from __future__ import annotations

from statistics import median

import msgspec
import pytest

from fencepost.conformance.simulate.deployment_scenario import Duration, Spread, draw_ms, longest_s


def drawn(duration: Duration, count: int = 2000) -> list[int]:
    return [draw_ms(duration, f"draw {number}") for number in range(count)]


def test_a_number_is_itself() -> None:
    assert drawn(1.5, 2) == [1500, 1500]
    assert longest_s(1.5) == 1.5


def test_between_two_ends_anything_is_drawn() -> None:
    found = drawn(Spread(least=2, most=4))
    assert 2000 <= min(found) < 2010
    assert 3990 < max(found) <= 4000
    assert 2900 < median(found) < 3100


def test_a_median_and_a_95th_percentile_are_met() -> None:
    found = sorted(drawn(Spread(median=5, p95=20), 4000))
    assert 4700 < median(found) < 5300
    assert 18_000 < found[3800] < 22_000
    assert longest_s(Spread(median=5, p95=20)) == 20


def test_of_values_each_is_drawn() -> None:
    assert set(drawn(Spread(values=(1, 2, 9)))) == {1000, 2000, 9000}


def test_the_same_name_draws_the_same() -> None:
    spread = Spread(least=0, most=1000)
    assert draw_ms(spread, "a") == draw_ms(spread, "a") != draw_ms(spread, "b")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "a duration is a number of seconds"),
        ({"least": 1}, "a duration is a number of seconds"),
        ({"least": 1, "most": 2, "median": 3}, "a duration is a number of seconds"),
        ({"least": 3, "most": 2}, "3.0 is more than 2.0"),
        ({"median": 0, "p95": 2}, "`median` can't be 0"),
        ({"values": [-1]}, "seconds can't be -1"),
        (-1, ">= 0"),
    ],
)
def test_what_is_none_is_refused(given: object, said: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=said):
        msgspec.convert(given, Duration)
