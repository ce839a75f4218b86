"""Dates wherever they stand in a line, in any usual form."""

from __future__ import annotations

import pytest

from fencepost.traces.logs.log_dates import LogDates, since_1970, why_unread

AT_MS = 1_732_129_702_974


@pytest.mark.parametrize(
    "head",
    [
        "[2024-11-20 19:08:22,974] INFO ",
        "2024-11-20 19:08:22.974123 UTC INFO ",
        "2024-11-20T20:08:22.974+01:00 ",
        "20 November 2024 19:08:22,974 ",
        "Wed Nov 20 19:08:22.974 UTC 2024 ",
        "2024-11-20T18:00:00Z kafka-0 [2024-11-20 19:08:22,974] INFO [GroupCoordinator 1]: ",
        "2024-11-20T18:00:00Z kafka-0 1732129702974 [GroupCoordinator 1]: ",
        "11/20/2024, 7:08:22.974 PM ",
        "1732129702.974 INFO ",
    ],
)
def test_the_nearest_date_before_a_message_counts(head: str) -> None:
    assert LogDates().around(head) == AT_MS
    assert LogDates().around("INFO ", f" {head}") is not None


def test_a_zone_is_that_of_the_option_unless_the_date_has_one() -> None:
    dates = LogDates(timezone="Europe/Berlin")
    assert dates.around("[2024-11-20 20:08:22,974] ") == AT_MS
    assert dates.around("2024-11-20 20:08:22.974 ") == AT_MS
    assert dates.around("2024-11-20T19:08:22.974Z ") == AT_MS


def test_a_pattern_of_the_user_s_own_is_the_only_one() -> None:
    dates = LogDates("dd/MM/yyyy HH:mm:ss,SSS")
    assert dates.around("2024-01-01 00:00:00,000 20/11/2024 19:08:22,974 ") == AT_MS
    assert dates.around("[2024-11-20 19:08:22,974] ") is None


@pytest.mark.parametrize(
    ("value", "at_ms"),
    [
        (AT_MS, AT_MS),
        (AT_MS / 1000, AT_MS),
        (AT_MS * 1000, AT_MS),
        (str(AT_MS * 1_000_000), AT_MS),
        ("2024-11-20T19:08:22.974Z", AT_MS),
        (None, None),
        (True, None),
        (17, None),
        ("soon", None),
        ({}, None),
    ],
)
def test_a_time_may_be_a_value_of_its_own(value: object, at_ms: int | None) -> None:
    assert LogDates().at(value) == at_ms


@pytest.mark.parametrize(
    "text", ["2024-13-45 12:00:00,447", "30 Foo 2024 12:00:00", "2024-11-20", "19:08:22,974", "x"]
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert LogDates().around(text) is None
    assert why_unread(text)


def test_a_number_that_is_too_small_is_no_time() -> None:
    assert since_1970(0) is None
    assert since_1970(999_999_999) is None
