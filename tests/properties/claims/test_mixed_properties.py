"""Properties of mixed groups hold of a release and catch wrong rules; all: `big_mixed.py`."""

from __future__ import annotations

import pytest
from support.mixed_mutants import BASE, MUTANTS, RIVALS, broken, found_in

from fencepost.properties.worlds.mixed_scope import CHECK_SCOPES
from fencepost.properties.worlds.scope import NamedScope

QUICK = [name for name, (_, question, _) in MUTANTS.items() if question is RIVALS]


@pytest.mark.parametrize("question", CHECK_SCOPES, ids=lambda question: question.name)
def test_small_worlds_of_a_release_hold(question: NamedScope) -> None:
    assert broken(BASE, question, 100) == set()


@pytest.mark.parametrize("name", QUICK)
def test_a_wrong_rule_is_caught(name: str) -> None:
    assert MUTANTS[name][2] in found_in(name, 400)
