"""Every cell of rules, triggers and versions is shown by a case, or there is a reason why not."""

from __future__ import annotations

from fnmatch import fnmatchcase

from support.rule_gaps import WHY_NOT, gaps, unexplained

from fencepost.conformance.cases import ENTRIES, entry
from fencepost.model.messages.errors import Error
from fencepost.model.revision import SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.model.revisions.base import KAFKA_4
from tools.kill_matrix.rule_matrix import cells_of, covering_cases, forms


def test_a_cell_is_shown_or_there_is_a_reason() -> None:
    """`big_rule_matrix.py` asks it of other revisions."""
    left = gaps("kafka-4")
    assert unexplained(left, WHY_NOT) == []
    idle = [glob for glob in WHY_NOT if not any(fnmatchcase(cell, glob) for cell in left)]
    assert idle == [], "these cells are shown now"


def test_only_what_can_be_thought_of_is_shown() -> None:
    chosen = revisions.find("kafka-4")
    some = [entry(case.id) for case in ENTRIES[::7]]
    assert set(covering_cases(chosen, some)) <= cells_of(chosen)


def test_a_rule_without_a_case_is_a_gap() -> None:
    some = [case for case in ENTRIES[::7] if "SESSION-PENDING" not in case.rules]
    missing = cells_of(KAFKA_4) - covering_cases(KAFKA_4, some).keys()
    assert any(cell.startswith("SESSION-PENDING · ") for cell in missing)


def test_what_the_model_does_is_what_is_shown() -> None:
    case = entry("HEARTBEAT-STABLE/in-a-stable-group")
    rule = KAFKA_4.rule("HEARTBEAT-STABLE").but(answer=Error.REBALANCE_IN_PROGRESS)
    other = derive(KAFKA_4, "other", "another answer", (SetRule("Heartbeat", rule, "test"),))
    shown = covering_cases(other, [case])
    assert "Heartbeat REBALANCE_IN_PROGRESS · v4" in shown
    assert "Heartbeat NONE · v4" not in shown


def test_versions_of_one_form_are_one_class() -> None:
    joins = forms(KAFKA_4, "JoinGroup")
    assert joins[0] == (0,)  # no rebalance timeout
    assert (2, 3, 4) in joins
    assert [version for versions in joins for version in versions] == list(range(10))
