"""Deletions and commits in transactions: a lying coordinator is caught, by the right property."""

from __future__ import annotations

from enum import Enum

import pytest

from fencepost.model.classic.effects import Do
from fencepost.model.messages.errors import Error
from fencepost.model.revision import Revision, SetRule, derive
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.checking.checking import (
    CheckBudget,
    Checked,
    PropertyStatus,
    check_revision,
)
from fencepost.properties.claims.property_registry import find_property
from fencepost.properties.worlds.scope import find_check_scope

IDS = (
    "zombie-changes-nothing",
    "who-must-stop-is-told",
    "a-refused-commit-stores-nothing",
    "a-group-with-members-stays",
    "offsets-that-are-read-stay",
    "a-deletion-is-done-or-refused",
)


def lie(table: str, rule_id: str, answer: Error, *effect: Enum) -> Revision:
    """Make kafka-4 with another effect and answer of one rule."""
    row = KAFKA_4.rule(rule_id).but(effect=effect, answer=answer, because="it lies")
    return derive(KAFKA_4, "liar", "", (SetRule(table, row, "x"),))


def checked(revision: Revision) -> Checked:
    asked = [find_property(name) for name in IDS]
    return check_revision(revision, asked, questions=[find_check_scope("transactions")])


def broken(revision: Revision) -> set[str]:
    return {r.property.id for r in checked(revision).results if r.finding is PropertyStatus.BROKEN}


def test_kafka_deletes_and_commits_rightly_and_each_property_has_a_case() -> None:
    assert {r.finding for r in checked(KAFKA_4).results} == {PropertyStatus.HOLDS}


@pytest.mark.parametrize(
    ("revision", "names"),
    [
        (
            lie("DeleteGroups", "DELETE-MEMBERS", Error.NONE, Do.FORGET),
            {"a-group-with-members-stays"},
        ),
        (
            lie("DeleteGroups", "DELETE-MEMBERS", Error.NON_EMPTY_GROUP, Do.FORGET),
            {"a-group-with-members-stays", "a-deletion-is-done-or-refused"},
        ),
        (
            lie("OffsetDelete", "OFFSET-DELETE-SUBSCRIBED", Error.NONE, Do.REMOVE_NAMED_OFFSETS),
            {"offsets-that-are-read-stay"},
        ),
        (lie("DeleteGroups", "DELETE-EMPTY", Error.NONE), {"a-deletion-is-done-or-refused"}),
        (lie("OffsetDelete", "OFFSET-DELETE-LAST", Error.NONE), {"a-deletion-is-done-or-refused"}),
        (
            lie("TxnOffsetCommit", "TXN-COMMIT-INSTANCE-FENCED", Error.NONE, Do.STORE_OFFSETS),
            {"zombie-changes-nothing", "who-must-stop-is-told"},
        ),
        (
            lie(
                "TxnOffsetCommit",
                "TXN-COMMIT-INSTANCE-FENCED",
                Error.FENCED_INSTANCE_ID,
                Do.STORE_OFFSETS,
            ),
            {"zombie-changes-nothing", "a-refused-commit-stores-nothing"},
        ),
    ],
    ids=lambda value: "" if isinstance(value, set) else str(value.differences[0].rule.answer),
)
def test_a_liar_is_caught(revision: Revision, names: set[str]) -> None:
    assert broken(revision) == names


def test_a_release_without_offset_delete_is_not_held_to_it_unless_it_is_named() -> None:
    name, scope = "offsets-that-are-read-stay", [find_check_scope("operators")]
    revision = find_revision("kafka-2.3")
    every = check_revision(revision, questions=scope)
    named = check_revision(revision, [find_property(name)], questions=scope)
    assert name not in {result.property.id for result in every.results}
    assert [result.finding for result in named.results] == [PropertyStatus.UNTESTED]


@pytest.mark.parametrize("name", ["kafka-2.5", "kafka-3.9", "kafka-4"])
def test_a_world_in_which_groups_end_has_an_end(name: str) -> None:
    """The generations of a group that is made anew come back, so they aren't shifted."""
    result = check_revision(
        find_revision(name),
        [find_property("a-group-with-members-stays")],
        questions=[find_check_scope("transactions")],
        budget=CheckBudget(max_states=2_000),
    )
    assert result.is_finished
