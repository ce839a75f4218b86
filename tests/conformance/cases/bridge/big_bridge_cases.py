"""All cases of mixed groups on all their revisions, and each rule that is wrong."""

from __future__ import annotations

from functools import cache

import pytest
from support.consumer_cases import (
    Ran,
    WrongRule,
    applies,
    is_reachable,
    play,
    rules_used,
    wrong_rules,
)

from fencepost.conformance.cases import MIXED_ENTRIES, entry
from fencepost.conformance.cases.case_registry import Entry
from fencepost.model.revisions import revisions

BASE = revisions.find("mixed-4.4")
OF_CLASSIC = ("CG-JOIN-TAKE-CLASSIC", "CG-JOIN-COPY-CLASSIC")
"""Beginnings of the rules of the consumer protocol that are about classic members."""
RULES = (
    *BASE.own_rules(),
    *(row for part in BASE.parts for row in part.rules() if row[1].id.startswith(OF_CLASSIC)),
)


@cache
def played(case_id: str) -> Ran:
    return play(entry(case_id), BASE, BASE)


@pytest.mark.parametrize("name", revisions.MIXED_NAMES)
@pytest.mark.parametrize("case", MIXED_ENTRIES, ids=lambda case: case.id)
def test_a_case_holds_for_each_revision(case: Entry, name: str) -> None:
    revision = revisions.find(name)
    if applies(case, revision):
        ran = play(case, revision, revision)
        assert not ran.is_caught
        assert ran.why is None


def test_every_reachable_rule_is_covered() -> None:
    reachable = {rule.id for _, rule in RULES if is_reachable(rule)}
    assert reachable <= rules_used(MIXED_ENTRIES, played)


_WORD = "says in words what the handler does in any case"
UNSEEN = {
    "MG-FETCH without ANSWER_OFFSETS": _WORD,
    "MG-UPGRADE without UPGRADE": _WORD,
    "MG-UPGRADE-EMPTY without START_ANEW": "a target may count epochs from where it likes",
    "CG-JOIN-COPY-CLASSIC without RECOMPUTE_TARGET": "no case has a copy while a target is due",
}
"""Wrong rules that answer as the right one does, as far as a case can see, and why."""
WRONG = list(wrong_rules(BASE, RULES))


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
def test_a_wrong_rule_is_noticed(wrong: WrongRule) -> None:
    revision = wrong.revision()
    using = wrong.cases(MIXED_ENTRIES, played)
    noticed = any(play(case, revision, BASE).is_caught for case in using)
    assert noticed is (wrong.name not in UNSEEN), UNSEEN.get(wrong.name)
