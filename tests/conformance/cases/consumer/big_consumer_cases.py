"""All cases of the consumer protocol on all its revisions, and each rule that is wrong."""

from __future__ import annotations

from functools import cache

import pytest
from support.consumer_cases import (
    BASE,
    Ran,
    WrongRule,
    applies,
    is_reachable,
    play,
    rules_used,
    wrong_rules,
)

from fencepost.conformance.cases import CONSUMER_ENTRIES, entry
from fencepost.conformance.cases.case_registry import Entry
from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions

WITHOUT_CASE = {
    "CG-FAILOVER-NOTHING": "nothing can be seen of a group that is not there",
    "CG-CLEANUP-UNUSED": "the rule is a MAY: the cleaner may come later, or never",
    "CG-JOIN-TAKE-CLASSIC": "of mixed groups",
    "CG-JOIN-TAKE-CLASSIC-CHANGED": "of mixed groups",
    "CG-JOIN-COPY-CLASSIC": "of mixed groups",
    "CG-JOIN-COPY-CLASSIC-CHANGED": "of mixed groups",
}
"""Rules that no case of this catalogue reaches, and why."""


@cache
def played(case_id: str) -> Ran:
    return play(entry(case_id))


@pytest.mark.parametrize("name", revisions.CONSUMER_NAMES)
@pytest.mark.parametrize("case", CONSUMER_ENTRIES, ids=lambda case: case.id)
def test_a_case_holds_for_each_revision(case: Entry, name: str) -> None:
    """It holds, and is decided, or needs a version that the revision hasn't."""
    revision = revisions.find(name)
    if not applies(case, revision):
        return
    ran = play(case, revision, revision)
    assert not ran.is_caught
    assert ran.is_unsupported or ran.why is None


def test_every_reachable_rule_is_covered() -> None:
    reachable = {rule.id for _, rule in BASE.rules() if is_reachable(rule)}
    assert reachable - rules_used(CONSUMER_ENTRIES, played) == WITHOUT_CASE.keys()


_MAY = "the rule is a MAY: any error will do"
_ROWS = "the rows answer, each for itself"
_WORD = "says in words what the answer is; the answer follows from the state alone"
UNSEEN = {
    "CG-JOIN-AGAIN-UNRELEASED answers UNKNOWN_MEMBER_ID": _MAY,
    "CG-JOIN-INSTANCE-DANGLING answers FENCED_MEMBER_EPOCH": _MAY,
    "CG-REMOVE-GROUP-ABSENT answers UNKNOWN_MEMBER_ID": _ROWS,
    "CG-REMOVE-ROWS answers UNKNOWN_MEMBER_ID": _ROWS,
    "CG-COMMIT-TOPIC-IDS-UNKNOWN answers UNKNOWN_MEMBER_ID": _ROWS,
    "CG-COMMIT-EPOCH-OLDER answers UNKNOWN_MEMBER_ID": _ROWS,
    "CG-TXN-COMMIT-EPOCH-OLDER answers UNKNOWN_MEMBER_ID": _ROWS,
    "CG-DESCRIBE-CLASSIC-LEGACY without ANSWER_DEAD": _WORD,
    "CG-DESCRIBE-CLASSIC without ANSWER_DEAD": _WORD,
    "CG-FETCH-GROUP-ABSENT without ANSWER_OFFSETS": _WORD,
    "CG-FETCH-ANYBODY without ANSWER_OFFSETS": _WORD,
    "CG-FETCH-MEMBER without ANSWER_OFFSETS": _WORD,
    "CG-FETCH-SIMPLE without ANSWER_OFFSETS": _WORD,
    "CG-LIST-GROUP without ANSWER_LISTED": _WORD,
    "CG-LIST-NO-GROUP without ANSWER_UNLISTED": _WORD,
}
"""Wrong rules that answer as the right one does, as far as a case can see, and why."""


WRONG = [wrong for wrong in wrong_rules() if wrong.rule.id not in WITHOUT_CASE]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
def test_a_wrong_rule_is_noticed(wrong: WrongRule) -> None:
    revision = wrong.revision()
    noticed = any(_caught(case, revision) for case in wrong.cases(CONSUMER_ENTRIES, played))
    assert noticed is (wrong.name not in UNSEEN), UNSEEN.get(wrong.name)


def _caught(case: Entry, revision: Revision) -> bool:
    try:
        return play(case, revision).is_caught
    except (AssertionError, AttributeError, KeyError, ValueError):
        return False  # the model is no coordinator any more; that proves nothing
