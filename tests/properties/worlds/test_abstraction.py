from __future__ import annotations

from itertools import product

import pytest
from support.stepping import Walk

from fencepost.model.classic.group import Group
from fencepost.model.classic.vocabulary import GroupState, feasible
from fencepost.model.messages.errors import Error
from fencepost.model.revisions import revisions
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.expr import compile_closure
from fencepost.model.work import Incoming
from fencepost.properties.claims.property_registry import FORMULAS, find_formula
from fencepost.properties.logic.classic_signature import (
    CLASSIC_SIGNATURE,
    FAILOVER,
    GROUP_FEATURES,
    NUMBERS,
)
from fencepost.properties.logic.logic import PropertyKind
from fencepost.properties.proofs.abstract_guards import FEASIBLE
from fencepost.properties.proofs.theory import features_in
from fencepost.properties.worlds.abstraction import (
    AbstractGroup,
    abstract_group,
    abstract_step,
    compiled,
    evaluate,
)
from fencepost.properties.worlds.views import StepView

_BEHIND_THE_REQUEST = {"group id", "coordinator", "session timeout", "version"}


def test_no_group_is_the_group_that_knows_nothing() -> None:
    assert abstract_group(None) == AbstractGroup()


def test_every_relation_has_a_field() -> None:
    relations = (*CLASSIC_SIGNATURE.relations, *CLASSIC_SIGNATURE.step_relations)
    names = {relation.name for relation in relations}
    assert names <= set(AbstractGroup.__dataclass_fields__)
    assert len(names) + len(GROUP_FEATURES) + len(NUMBERS) == len(
        AbstractGroup.__dataclass_fields__
    )


def test_the_list_of_feasible_points_is_the_vocabularys() -> None:
    """`FEASIBLE` says as conditions what `feasible` decides point by point."""
    for table in KAFKA_4.tables.values():
        features = [f for f in table.features if f.name not in _BEHIND_THE_REQUEST]
        asked = frozenset(features)
        conditions = [
            compile_closure(condition, features)
            for condition in FEASIBLE
            if features_in(condition) <= asked
        ]
        for point in product(*(feature.domain for feature in features)):
            answers = {id(f): value for f, value in zip(features, point, strict=True)}
            listed = all(condition(point) for condition in conditions)
            named = {f.name: value for f, value in zip(features, point, strict=True)}
            assert listed is feasible(answers), f"{table.name}: {named}"


def _expected(name: str, revision: str) -> frozenset[str]:
    return find_formula(name).expected_rules.get(revision, frozenset())


@pytest.mark.parametrize("name", ["kafka-4", "kip-345"])
def test_properties_hold_of_random_runs_but_where_they_are_expected_to_fail(name: str) -> None:
    walked = 0
    for seed in range(6):
        for view in Walk(revisions.find(name), seed).views(250):
            step = abstract_step(view)
            walked += 1
            for one in FORMULAS:
                assert one.formula is not None
                if one.kind is PropertyKind.STATE:
                    assert evaluate(one.formula, step.after), (one.id, view)
                elif not evaluate(one.formula, step):
                    assert step.event.deciding_rule in _expected(one.id, name), (one.id, view)
    assert walked > 1500


def test_premises_are_reached_by_random_runs() -> None:
    """What the runs above say is not vacuous."""
    waiting = {one.id: one for one in FORMULAS}
    for seed in range(30):
        for view in Walk(revisions.find("kafka-4"), seed).views(300):
            step = abstract_step(view)
            for one in list(waiting.values()):
                thing = step.after if one.kind is PropertyKind.STATE else step
                assert one.premise is not None
                if evaluate(one.premise, thing):  # type: ignore[arg-type]
                    del waiting[one.id]
        if not waiting:
            return
    assert not waiting


def test_a_formula_is_compiled_once() -> None:
    formula = find_formula("leader-is-member").formula
    assert formula is not None
    assert compiled(formula) is compiled(formula)
    assert evaluate(formula, Group())
    assert evaluate(formula, None)


def _steps_by(rule: str) -> list[StepView]:
    return [
        view
        for seed in range(20)
        for view in Walk(revisions.find("kafka-4"), seed).views(150)
        if view.rules[0].id == rule
    ]


def test_the_answer_of_a_step_is_what_its_own_request_is_told() -> None:
    steps = [abstract_step(view) for view in _steps_by("HEARTBEAT-INSTANCE-FENCED")]
    assert steps
    assert {step.event.answer for step in steps} == {Error.FENCED_INSTANCE_ID}


def test_a_batch_names_all_its_members_and_sends_no_single_id() -> None:
    batches = [
        abstract_step(view)
        for view in _steps_by("LEAVE-ROWS")
        if isinstance(view.event, Incoming) and len(view.names()) > 1
    ]
    assert batches
    assert all(step.event.event == "LeaveGroup" for step in batches)
    assert not any(step.event.mid_given or step.event.inst_given for step in batches)
    assert any(len(step.event.named) > 1 for step in batches)


def test_a_failover_is_an_event_without_a_request() -> None:
    steps = [abstract_step(view) for view in _steps_by("FAILOVER-STABLE")]
    assert steps
    assert {step.event.event for step in steps} == {FAILOVER}
    assert all(step.after.state is GroupState.STABLE for step in steps)
