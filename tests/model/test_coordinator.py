"""The description that a coordinator gives of itself, in words."""

from __future__ import annotations

from fencepost.model.coordinator import Hello, spans


def test_versions_are_told_as_people_write_them() -> None:
    assert spans([3]) == "version 3"
    assert spans([0, 4, 7, 8]) == "versions 0, 4, 7 and 8"
    assert spans([3, 7, 8, 9]) == "versions 3 and 7 to 9"
    assert spans(range(7)) == "versions 0 to 6"


def test_a_revision_bounds_the_newest_versions() -> None:
    hello = Hello(
        "kafka", "4", "real", {"OffsetCommit": (2, 10), "Heartbeat": (3, 4), "Own": (0, 7)}
    )
    within = hello.within({"OffsetCommit": (0, 9), "Heartbeat": (0, 2)})
    assert within.apis == {"OffsetCommit": (2, 9), "Heartbeat": (3, 4), "Own": (0, 7)}
