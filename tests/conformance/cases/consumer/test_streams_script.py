"""The catalogue of streams groups: which wrong answers its cases catch."""

from __future__ import annotations

import pytest
from support.consumer_cases import play

from fencepost.conformance.cases import STREAMS_ENTRIES, entry
from fencepost.conformance.cases.case_registry import Entry
from fencepost.model.consumer.effects import Do
from fencepost.model.messages.errors import Error
from fencepost.model.revision import SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.model.table.table import Level, Rule, replace_steps

NEW, OLD = map(revisions.find, revisions.STREAMS_NAMES)
RULES = {rule.id: (table.name, rule) for table, rule in NEW.rules()}
REFUSED = "CG-JOIN-INSTANCE-REFUSED/streams-refused-instance"


def replaced(rule: Rule, old: Do, *new: Do) -> Rule:
    return replace_steps(rule, {old: new}).but(because="wrong on purpose")


def answered(rule: Rule, error: Error) -> Rule:
    return rule.but(answer=error, because="wrong on purpose")


WRONG = {
    "CG-JOIN-TOPOLOGY-CHANGED/streams-other-topology": lambda rule: answered(
        rule, Error.FENCED_MEMBER_EPOCH
    ),
    "CG-BEAT-TASKS-PARTIAL/streams-tasks-of-one-kind": lambda rule: answered(
        rule, Error.UNKNOWN_MEMBER_ID
    ),
    "CG-BEAT-TASKS-FOREIGN/streams-tasks-of-no-topology": lambda rule: answered(
        rule, Error.UNKNOWN_MEMBER_ID
    ),
    "CG-JOIN-RETURN-CHANGED/streams-restart-with-another-rack": lambda rule: replaced(
        rule, Do.BUMP_EPOCH
    ),
    "CG-BEAT-ALIVE/streams-full-heartbeat": lambda rule: replaced(
        rule, Do.ANSWER_CHANGED_TASKS, Do.ANSWER_CHANGES
    ),
    "CG-JOIN-TARGET-LOST/streams-other-instance-while-reconciling": lambda rule: replaced(
        rule, Do.RECONCILE, Do.RECONCILE_UNMAPPED
    ).but(level=Level.SHOULD),
}


@pytest.mark.parametrize("case", STREAMS_ENTRIES, ids=lambda case: case.id)
def test_a_case_holds_for_the_model(case: Entry) -> None:
    revision = OLD if case.id == REFUSED else NEW
    assert play(case, revision, revision).why is None


@pytest.mark.parametrize("case_id", WRONG)
def test_a_case_catches_a_wrong_rule(case_id: str) -> None:
    table, rule = RULES[case_id.partition("/")[0]]
    judge = derive(
        NEW, "judge", "binding", (SetRule(table, rule.but(level=Level.SHOULD), "a test"),)
    )
    wrong = derive(NEW, "wrong", "one rule", (SetRule(table, WRONG[case_id](rule), "a test"),))
    assert play(entry(case_id), wrong, judge).is_caught
