"""Every cell of rules, triggers and versions is shown by a case, or there is a reason why not."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from fencepost.conformance.catalogue import ENTRIES, entry
from fencepost.conformance.execution.rule_matrix import cells_of, forms, shown_by
from fencepost.model.revision import SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.errors import Error

_NO_NAME = "the group of no name is one for a whole cluster, so a case would meet what others left"
_DELAY = "during the initial delay each member has a join that waits, and leaves with it"
_MEMBER = "a static member that restarts in a stable group is a member, so it has its place"
_OVER = "with all members parked, or none left, and nothing pending the wait is over before"
_OLD = "4.0 has no such commits, and the cases of the catalogue hold for kafka-4"

WHY_NOT = {
    'COMMIT-GROUP-ABSENT* · group id ""': _NO_NAME,
    'COMMIT-GROUP-NOT-FOUND · group id ""': _NO_NAME,
    'FETCH-ANYBODY · group id ""': _NO_NAME,
    "JOIN-GROUP-FULL · selected protocol *changed": _MEMBER,
    "JOIN-PHASE-* · trigger *, initial delay *, parked nobody, left somebody": _DELAY,
    "JOIN-PHASE-* · trigger its timer expired, initial delay not running, parked everybody*": _OVER,
    "SESSION-WAITING · state Stable": "in a stable group no request waits",
}
"""Cells that no case shows, as globs, and why not."""

OLD = {
    **WHY_NOT,
    "OffsetCommit * · v0": _OLD,
    "OffsetCommit * · v1": _OLD,
}
REVISIONS = {
    "kafka-4": WHY_NOT,
    "kip-345": WHY_NOT,
    "kafka-2.5": OLD,
}
"""The base, the accepted text, and a release before each gate.

2.3 is left out: its LeaveGroup has no rows, so that cases which set up a group by them can't run.
"""


def gaps(revision: str) -> list[str]:
    chosen = revisions.find(revision)
    return sorted(cells_of(chosen) - shown_by(chosen, ENTRIES).keys())


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_cell_is_shown_or_there_is_a_reason(revision: str) -> None:
    reasons = REVISIONS[revision]
    left = gaps(revision)
    assert [cell for cell in left if not any(fnmatchcase(cell, glob) for glob in reasons)] == []
    if revision == "kafka-4":
        idle = [glob for glob in reasons if not any(fnmatchcase(cell, glob) for cell in left)]
        assert idle == [], "these cells are shown now"


def test_only_what_can_be_thought_of_is_shown() -> None:
    chosen = revisions.find("kafka-4")
    some = [entry(case.id) for case in ENTRIES[::7]]
    assert set(shown_by(chosen, some)) <= cells_of(chosen)


def test_a_rule_without_a_case_is_a_gap() -> None:
    some = [case for case in ENTRIES[::7] if "SESSION-PENDING" not in case.rules]
    missing = cells_of(KAFKA_4) - shown_by(KAFKA_4, some).keys()
    assert any(cell.startswith("SESSION-PENDING · ") for cell in missing)


def test_what_the_model_does_is_what_is_shown() -> None:
    case = entry("HEARTBEAT-STABLE/in-a-stable-group")
    rule = KAFKA_4.rule("HEARTBEAT-STABLE").but(answer=Error.REBALANCE_IN_PROGRESS)
    other = derive(KAFKA_4, "other", "another answer", (SetRule("Heartbeat", rule, "test"),))
    shown = shown_by(other, [case])
    assert "Heartbeat REBALANCE_IN_PROGRESS · v4" in shown
    assert "Heartbeat NONE · v4" not in shown


def test_versions_of_one_form_are_one_class() -> None:
    joins = forms(KAFKA_4, "JoinGroup")
    assert joins[0] == (0,)  # no rebalance timeout
    assert (2, 3, 4) in joins
    assert [version for versions in joins for version in versions] == list(range(10))
