"""The fields that a step changes."""

from __future__ import annotations

from fencepost.traces.pages.group_fields import step_changes


def test_changes_name_the_field_the_value_before_and_after() -> None:
    before = {"state": "Stable", "leader": "A-1", "member A-1": "instance A"}
    after = {"state": "Stable", "leader": "A-2", "member A-2": "instance A"}

    assert step_changes(before, after) == [
        ("leader", "A-1", "A-2"),
        ("member A-2", None, "instance A"),
        ("member A-1", "instance A", None),
    ]


def test_what_a_join_brings_is_left_out_until_it_changes() -> None:
    small = {"member A-1": "instance A"}
    brought = {**small, "member A-1: S, R": "6, 9 ms", "member A-1: offers": "range"}
    changed = {**brought, "member A-1: offers": "sticky"}

    assert step_changes({}, brought) == [("member A-1", None, "instance A")]
    assert step_changes(brought, {}) == [("member A-1", "instance A", None)]
    assert step_changes(brought, changed) == [("member A-1: offers", "range", "sticky")]
