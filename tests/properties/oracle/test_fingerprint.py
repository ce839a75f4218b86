"""Failures are compared without what differs from plan to plan."""

from __future__ import annotations

import pytest

from fencepost.properties.oracle.fingerprint import Fingerprint, bug_of, without_names

_ALONE = "JoinGroup: NONE, generation 3, follows"
_REFUSED = "JoinGroup: UNKNOWN_MEMBER_ID, member id"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (f"B2 {_ALONE}", "x JoinGroup #4: NONE, generation 17, follows", True),
        ("a JoinGroup: leads [A, B]", "A1 JoinGroup: leads [A]", True),
        ("a Heartbeat: NONE", "a Heartbeat: UNKNOWN_MEMBER_ID", False),
        ("a Heartbeat: NONE", "a SyncGroup: NONE", False),
        (f"b {_REFUSED} b", f"A2 {_REFUSED} A2 (id 2)", True),
    ],
)
def test_observed_words_without_names_and_numbers(one: str, other: str, same: bool) -> None:
    assert (without_names(one) == without_names(other)) is same


def test_equal_fingerprints_need_not_have_the_same_observed_words() -> None:
    one = Fingerprint("HEARTBEAT-STABLE", "Heartbeat", "ANSWER", "NONE", "Heartbeat: NONE")
    other = Fingerprint("HEARTBEAT-STABLE", "Heartbeat", "ANSWER", "NONE", "Heartbeat: …")
    assert one == other
    assert one.by_observed != other.by_observed
    assert (
        Fingerprint("HEARTBEAT-STABLE", observed="Heartbeat: NONE").by_observed == one.by_observed
    )


def test_a_bug_is_its_cause_or_its_fingerprint_in_one_implementation() -> None:
    one = Fingerprint("FETCH-DEAD", "OffsetFetch", "EARLY", "NONE")
    assert bug_of("kafka:3.9.1", one) == bug_of("kafka:2.4", str(one))
    assert bug_of("kafka:3.9.1", one) != bug_of("kfake", one)
    assert bug_of("kfake", one, "parked-sync") == bug_of("kfake", "", "parked-sync")
