"""The tables of the consumer protocol are total and unambiguous, and their steps can be done."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import pytest

from fencepost.model.consumer.cells import COLUMNS, Cells, when
from fencepost.model.consumer.consumer_protocol import CONSUMER
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.perform import effects_with
from fencepost.model.consumer.settings import SETTINGS
from fencepost.model.consumer.vocabulary import RELATED, Inst, feasible
from fencepost.model.revision import Difference, DropRule, Revision, SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.model.revisions.consumer_releases import CONSUMER_4_3, CONSUMER_REVISIONS
from fencepost.model.revisions.revision_soundness import base_of, has_stale_reason, revision_faults
from fencepost.model.table.step_soundness import misplaced_steps, step_faults
from fencepost.model.table.table import Level, Sentence, Table
from fencepost.model.table.table_soundness import decided, table_faults

BASE = CONSUMER_4_3
REVISIONS = [pytest.param(revision, id=revision.name) for revision in CONSUMER_REVISIONS]


def distinct_tables() -> Iterator[tuple[str, Table]]:
    """Each table once, with the first revision that has it."""
    visited = set()
    for revision in CONSUMER_REVISIONS:
        for table in revision.tables.values():
            if id(table) not in visited:
                visited.add(id(table))
                yield revision.name, table


TABLES = [pytest.param(table, id=f"{name}-{table.name}") for name, table in distinct_tables()]


@pytest.mark.parametrize("table", TABLES)
def test_every_point_has_one_rule_that_can_be_done_and_every_rule_a_point(table: Table) -> None:
    chosen: set[str] = set()
    for point in COLUMNS.points(table.features):
        chosen.add(table.decide(point).id)
    assert {rule.id for rule in table.rules() if rule.defensive is None} <= chosen


@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_sound_as_that_of_a_users_own_revision_is(table: Table) -> None:
    points = decided(table, COLUMNS)
    assert table_faults(table, COLUMNS, points) == []
    assert [f for r in table.rules() for f in step_faults(table, r, CONSUMER.steps)] == []
    assert list(misplaced_steps(table, points, CONSUMER.steps)) == []


def test_a_dropped_rule_and_a_step_out_of_place_are_reported() -> None:
    lacking = derive(BASE, "own", "own", (DropRule("failover", "CG-FAILOVER-GROUP", "tried"),))
    (fault,) = revision_faults(lacking)
    assert fault.startswith("table failover: no rule decides: stored a group")
    rule = BASE.rule("CG-LEAVE-RELEASE").but(effect=(Do.REMOVE_HOLDER, Do.ANSWER_EPOCH))
    wrong = derive(BASE, "own", "own", (SetRule("ConsumerGroupHeartbeat leave", rule, "tried"),))
    assert any("belongs to table LeaveGroup member" in fault for fault in revision_faults(wrong))


@pytest.mark.parametrize("revision", REVISIONS)
def test_ids_are_unique_and_each_rule_has_reason_source_and_level(revision: Revision) -> None:
    ids = [rule.id for _, rule in revision.rules()]
    assert sorted(set(ids)) == sorted(ids)
    for _, rule in revision.rules():
        assert re.fullmatch(r"CG(-[A-Z0-9]+)+", rule.id)
        assert rule.source.startswith(("KIP-", "KAFKA-", "Kafka: "))
        assert rule.because
        assert not rule.because.endswith(".")
        assert isinstance(rule.level, Level)


DIFFERENCES = [
    pytest.param(difference, id=f"{revision.name}-{difference.rule_id}")
    for revision in CONSUMER_REVISIONS
    for difference in revision.differences
]


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_each_difference_names_a_passage(difference: Difference) -> None:
    assert difference.passage.startswith(("KIP-", "KAFKA-", "Kafka: "))


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_revision_is_its_base_and_its_differences(revision: Revision) -> None:
    assert revisions.find(revision.name) is revision
    assert revisions.is_shipped(revision)
    assert revision.about
    assert revision_faults(revision) == []
    if revision.base is None:
        assert revision is BASE
        return
    before = revisions.find(revision.base)
    ours = {rule.id: rule for _, rule in revision.rules()}
    theirs = {rule.id: rule for _, rule in before.rules()}
    differ = {i for i in ours.keys() | theirs.keys() if ours.get(i) is not theirs.get(i)}
    assert differ == {difference.rule_id for difference in revision.differences}
    assert [r.id for r in ours.values() if has_stale_reason(r, before)] == []


def test_bases_by_protocol() -> None:
    own = derive(BASE, "own", "own", ())
    assert base_of(own) is BASE
    assert revisions.shipped_base(own) is BASE
    assert revisions.shipped_base(BASE) is BASE
    assert base_of(revisions.find("kafka-3.9")) is revisions.find("kafka-4")


def test_columns_and_effects_are_complete() -> None:
    assert {"version", *COLUMNS.features} == set(Cells.__annotations__)
    assert len({id(feature) for feature in COLUMNS.features.values()}) == len(COLUMNS.features)
    assert set(effects_with(SETTINGS)) == set(Do)
    with pytest.raises(ValueError, match="inst is never"):
        when(inst=Do.RELEASE)  # type: ignore[arg-type]
    assert when(inst=Inst.OWN) is not None


def test_no_other_feature_restricts_any() -> None:
    for feature in COLUMNS.features.values():
        if feature not in RELATED:
            assert all(feasible({id(feature): value}) for value in feature.domain)


def test_values_of_related_features_are_all_possible() -> None:
    missing = {(id(f), value) for f in RELATED for value in f.domain}
    for values in product(*(reversed(f.domain) for f in RELATED)):
        point = dict(zip(map(id, RELATED), values, strict=True))
        if not missing.isdisjoint(point.items()) and feasible(point):
            missing -= point.items()
            if not missing:
                break
    assert not missing


def unfounded(revision: Revision) -> set[str]:
    """The rules that are MUST for no reason that is given."""
    musts = (rule for _, rule in revision.rules() if rule.level is Level.MUST)
    return {rule.id for rule in musts if not revision.basis_of(rule)}


def test_a_must_has_its_sentence_and_only_a_must_has_one() -> None:
    assert {rule_id for revision in CONSUMER_REVISIONS for rule_id in unfounded(revision)} == set()
    must = {
        rule.id
        for revision in CONSUMER_REVISIONS
        for _, rule in revision.rules()
        if revision.basis_of(rule)
    }
    assert must == set(BASE.binding)
    for basis in (one for row in BASE.binding.values() for one in row):
        assert isinstance(basis, Sentence)
        assert basis.section.startswith(("KIP-848 (", 'KIP-345 "'))
        assert not basis.says.endswith(".")


def test_a_must_without_a_reason_is_caught() -> None:
    rule = BASE.rule("CG-LEAVE-RELEASE-AGAIN").but(level=Level.MUST)
    ours = derive(BASE, "ours", "ours", (SetRule("ConsumerGroupHeartbeat leave", rule, "tried"),))
    assert unfounded(ours) == {rule.id}


MAY = {
    "J5": ("CG-JOIN-AGAIN-UNRELEASED",),
    "J7, J8": ("CG-JOIN-REJOIN", "CG-JOIN-RESUME"),
    "J9 to J11, J17": (
        "CG-JOIN-BECOME-STATIC",
        "CG-JOIN-CHANGE-INSTANCE",
        "CG-JOIN-COPY",
        "CG-JOIN-TARGET-LOST",
    ),
    "O1": ("CG-COMMIT-INSTANCE-IGNORED", "CG-TXN-COMMIT-INSTANCE-IGNORED"),
    "O5": ("CG-COMMIT-RELEASED", "CG-TXN-COMMIT-RELEASED"),
}


def test_what_kafka_changes_its_mind_about_is_may_and_a_live_members_commit_is_more() -> None:
    for rule_id in (rule_id for ids in MAY.values() for rule_id in ids):
        assert BASE.rule(rule_id).level is Level.MAY
    assert BASE.rule("CG-COMMIT-MEMBER").level is Level.SHOULD
