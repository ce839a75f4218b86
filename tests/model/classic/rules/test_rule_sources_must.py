"""Every MUST has its sentence of the KIP or its safety property, and nothing else is listed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fencepost.model.classic.rules import rule_sources
from fencepost.model.classic.rules.rule_sources import BINDING
from fencepost.model.revision import Revision, SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.table import Level, Rule, Safety, Sentence
from fencepost.properties.claims.property_registry import PROPERTIES, expected_in

REVISIONS = [revisions.find(name) for name in revisions.NAMES]
SECTIONS = {text for name, text in vars(rule_sources).items() if name.startswith("KIP_")}
SEEDS = "KIP-345"


def texts_of(revision: Revision, rule: Rule) -> Iterator[str]:
    """The passages of the drafts and comments that ask for a rule."""
    for one in revision.differences:
        if isinstance(one, SetRule) and one.rule.id == rule.id:
            yield one.passage


def unfounded(revision: Revision) -> list[str]:
    """The rules that are MUST for no reason that is given."""
    return [
        rule.id
        for _, rule in revision.rules()
        if rule.level is Level.MUST
        and not revision.basis_of(rule)
        and not any(text.startswith(SEEDS) for text in texts_of(revision, rule))
    ]


@pytest.mark.parametrize("revision", REVISIONS, ids=lambda revision: revision.name)
def test_a_must_has_its_sentence_or_its_property(revision: Revision) -> None:
    assert unfounded(revision) == []


def test_a_must_without_a_reason_is_caught() -> None:
    rule = Rule("JOIN-BECAUSE-I-SAY-SO", KAFKA_4.rule("JOIN-PENDING").guard, source="Kafka")
    change = SetRule("JoinGroup", rule, "our own idea")
    assert unfounded(derive(KAFKA_4, "ours", "a MUST of ours", (change,))) == [rule.id]


def test_what_is_listed_is_a_must_somewhere() -> None:
    must = {r.id for revision in REVISIONS for _, r in revision.rules() if r.level is Level.MUST}
    assert set(BINDING) <= must


def test_sentences_are_of_the_kip_and_properties_exist() -> None:
    for basis in (one for row in BINDING.values() for one in row):
        match basis:
            case Sentence(section, says):
                assert section in SECTIONS
                assert section.startswith('KIP-345 "')
                assert says
                assert not says.endswith(".")
            case Safety(property_id):
                assert property_id in PROPERTIES


def test_a_rule_is_no_must_by_a_property_that_it_breaks_itself() -> None:
    for _, rule in KAFKA_4.rules():
        for basis in KAFKA_4.basis_of(rule):
            if isinstance(basis, Safety):
                known = expected_in(PROPERTIES[basis.property_id], KAFKA_4)
                assert known is None or rule.id not in (known[1] or {rule.id}), rule.id
