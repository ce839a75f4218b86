"""What can't be known of a group is told in one sentence that names the option."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.conformance.advise.known_facts import AdviceError, known_group


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, "how long does a restart take"),
        ({"restart_s": -1.0}, "--restart-s"),
        ({"restart_s": 0.0}, "--restart-s can't be 0"),
        ({"restart_s": {"median": 9, "p95": 2}}, "9.0 is more than 2.0"),
        ({"restart_s": 5, "members": 1}, "--members 2"),
        ({"restart_s": 5, "topics": (8, 0)}, "--partitions can't be 0"),
        ({"restart_s": 5, "at_a_time": 0}, "--at-a-time 0 of 6 members"),
        ({"restart_s": 5, "at_a_time": 6}, "fewer than all"),
        ({"restart_s": 5, "deaths": -1.0}, "--deaths-per-week can't be -1"),
        ({"restart_s": 5, "gap_s": float("nan")}, "--tolerated-gap-s can't be nan"),
        (
            {"restart_s": 5, "heartbeat_s": 50.0},
            "a heartbeat interval of 50000 ms (--heartbeat-interval-ms",
        ),
        ({"restart_s": 5, "processing_s": 400.0}, "--processing-s 400"),
        ({"restart_s": 5, "session_s": 0.0}, "--session-timeout-ms 0 is not longer"),
        (
            {"restart_s": 5, "session_s": 3.0, "heartbeat_s": 3.0},
            "--session-timeout-ms 3000 is not longer",
        ),
        ({"restart_s": 5, "members": -3}, "give --members 2 or more"),
        ({"restart_s": 5, "resume_s": -1.0}, "--resume-s can't be -1"),
        ({"restart_s": 5, "warmup_s": 1e9}, "--warmup-s 1e+09 is longer than a week"),
        ({"restart_s": 5, "deployments": 1e6}, "1e+06 deployments that take 30 s each"),
        ({"restart_s": 1e5}, "5 deployments that take 600,000 s each"),
        (
            {"restart_s": 5, "deployments": 0.0, "crashes": 0.0, "deaths": 0.0},
            "nothing happens to this group",
        ),
    ],
)
def test_what_can_not_be_is_refused(facts: dict[str, Any], said: str) -> None:
    with pytest.raises(AdviceError) as error:
        known_group(facts)
    assert said in str(error.value)


def test_the_last_wave_may_be_smaller() -> None:
    known = known_group({"restart_s": 5, "members": 7, "at_a_time": 3, "topics": (8, 6)})
    assert (known.waves, known.partitions, known.partition_share) == (3, 14, 2)


def test_a_short_session_has_a_shorter_heartbeat_interval() -> None:
    for session_s, beat_s in ((3.0, 1.0), (6.0, 3.0)):
        known = known_group({"restart_s": 5, "session_s": session_s})
        assert (known.heartbeat_s, known.keeps_heartbeat) == (beat_s, False)
    assert known_group({"restart_s": 5, "heartbeat_s": 2.0}).keeps_heartbeat


def test_what_is_known_of_today_is_told_from_what_is_not() -> None:
    new = known_group({"restart_s": 5})
    assert (new.is_new, new.strategy, new.offers_both) == (True, "eager", True)
    for said, both in (("eager", False), ("both", True), ("cooperative", False)):
        known = known_group({"restart_s": 5, "strategy": said})
        assert (known.is_new, known.offers_both) == (False, both)
        assert known.strategy == ("cooperative" if said == "cooperative" else "eager")


def test_a_member_has_four_partitions_unless_told() -> None:
    assert known_group({"restart_s": 5, "members": 9}).partitions == 36
