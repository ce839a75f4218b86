"""Rows that no property speaks of are found, and a row that one speaks of is not among them."""

from __future__ import annotations

import pytest

from fencepost.model.classic.cells import when
from fencepost.model.classic.effects import Do
from fencepost.model.messages.errors import Error
from fencepost.model.revision import DropRule, SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.model.revisions.base import KAFKA_4, RULES
from fencepost.model.table.table import Rule
from fencepost.properties.checking import row_properties
from fencepost.properties.checking.consumer_promises import ALL_PROMISES
from fencepost.properties.checking.row_properties import (
    BREAKS_DOWN,
    TRIALS,
    changed_rows,
    known_rows,
    own_rules,
    speaking_property,
    tries_rows,
    uncovered_rows,
    without_rebalance,
)
from fencepost.properties.claims.property_registry import ALL_PROPERTIES
from fencepost.properties.logic.logic import Engine, Property, PropertyKind
from fencepost.properties.worlds.scope import NamedScope, Scope

HEARTBEATS, JOINS = KAFKA_4.tables["Heartbeat"], KAFKA_4.tables["JoinGroup"]


def test_what_is_known_is_of_rules_and_properties_that_there_are() -> None:
    named = ALL_PROPERTIES.keys() | {one.id for one in ALL_PROMISES} | {"", BREAKS_DOWN}
    for name, found in known_rows().items():
        assert set(found.values()) <= named
        assert found.keys() <= {rule.id for _, rule in revisions.find(name).rules()}
    assert {trial.base.name for trial in TRIALS.values()} <= known_rows().keys()


def test_each_row_that_refuses_was_tried() -> None:
    refusing = {
        rule.id
        for _, rule in own_rules(KAFKA_4)
        if rule.answer not in {None, Error.NONE} and not rule.effect
    }
    assert refusing <= known_rows()["kafka-4"].keys()


def test_a_row_may_do_less_in_these_ways() -> None:
    fenced = dict(changed_rows(HEARTBEATS, RULES["HEARTBEAT-INSTANCE-FENCED"]))
    assert {words: rule.answer for words, rule in fenced.items()} == {"answered NONE": Error.NONE}
    rejoin = dict(changed_rows(JOINS, RULES["JOIN-FOLLOWER-STABLE-CHANGED"]))
    assert [rule.effect for rule in rejoin.values()] == [
        (Do.ANSWER_CURRENT,),
        (Do.REBALANCE, Do.PARK_JOIN),
        (Do.UPDATE_MEMBER, Do.PARK_JOIN),
    ]
    waits = KAFKA_4.tables["session timeout"]
    assert not dict(changed_rows(waits, RULES["SESSION-WAITING"]))
    granted = RULES["HEARTBEAT-INSTANCE-FENCED"].but(answer=Error.NONE, because="ours")
    refused = dict(changed_rows(HEARTBEATS, granted))
    assert {rule.answer for rule in refused.values()} == {Error.UNKNOWN_SERVER_ERROR}


def test_a_property_speaks_of_a_row_of_the_consumer_protocol() -> None:
    base = revisions.find("consumer-4.3")
    tables = {rule.id: (table, rule) for table, rule in own_rules(base)}
    assert tries_rows(base)
    refused = "CG-JOIN-UNRELEASED"
    spoken = speaking_property(base, *tables[refused])
    assert spoken == known_rows()["consumer-4.3"][refused] == "a-newcomer-hears-unreleased"


@pytest.mark.slow
def test_a_property_speaks_of_a_row_unless_it_is_broken_anyway() -> None:
    fenced, stable = RULES["HEARTBEAT-INSTANCE-FENCED"], RULES["HEARTBEAT-STABLE"]
    assert speaking_property(KAFKA_4, HEARTBEATS, fenced) == "zombie-is-told"
    assert speaking_property(KAFKA_4, HEARTBEATS, stable) == "a-heartbeat-keeps-alive"
    known = {"a-heartbeat-keeps-alive"}
    assert speaking_property(KAFKA_4, HEARTBEATS, stable, known) not in known


@pytest.mark.parametrize(
    ("table", "rule_id"),
    [
        ("LeaveGroup member", "LEAVE-MEMBER-BY-INSTANCE"),
        ("LeaveGroup member", "LEAVE-MEMBER"),
        ("session timeout", "SESSION-EXPIRED"),
    ],
)
def test_a_rebalance_that_is_left_out_while_others_remain_must_be_found(
    table: str, rule_id: str
) -> None:
    handed_on = "what-a-member-had-is-handed-on"
    asked = (KAFKA_4, KAFKA_4.tables[table], RULES[rule_id])
    assert speaking_property(*asked) == handed_on == known_rows()["kafka-4"][rule_id]
    assert speaking_property(*asked, {handed_on}) == ""


def test_a_row_that_removes_nobody_has_no_rebalance_for_others() -> None:
    assert without_rebalance(KAFKA_4, JOINS, RULES["JOIN-LEADER-STABLE"]) is None
    assert without_rebalance(KAFKA_4, JOINS, RULES["JOIN-GROUP-FULL"]) is None


def test_nothing_can_be_left_out_of_a_row_that_does_nothing() -> None:
    waits = KAFKA_4.tables["session timeout"]
    assert speaking_property(KAFKA_4, waits, RULES["SESSION-WAITING"]) is None


def test_ones_own_property_speaks_of_a_row_in_ones_own_world() -> None:
    rule_id = "HEARTBEAT-GROUP-ABSENT"
    assert known_rows()["kafka-4"][rule_id] == ""
    own = Property(
        id="nobody-beats-alone",
        meaning="A heartbeat to a group that is absent is refused.",
        source="ours",
        kind=PropertyKind.STEP,
        scope="heartbeats",
        engines=frozenset({Engine.EXPLORATION}),
        holds=lambda step: "it was not" if step.rules[0].answer is Error.NONE else None,
        premise=lambda step: step.rules[0].id == rule_id,
        not_by={engine: "ours" for engine in Engine if engine is not Engine.EXPLORATION},
    )
    worlds = (NamedScope("alone", "a zombie", Scope(clients=1, zombies=1, acts=("heartbeat",))),)
    asked = (KAFKA_4, HEARTBEATS, RULES[rule_id])
    assert speaking_property(*asked, properties=(own,), worlds=worlds) == own.id


def test_only_what_is_ones_own_is_tried_again() -> None:
    refused = RULES["HEARTBEAT-STABLE"].but(because="ours")
    own = derive(
        KAFKA_4,
        "own",
        "own",
        (
            SetRule("Heartbeat", refused, "x"),
            DropRule("JoinGroup", "JOIN-COORDINATOR-ELSEWHERE", "x"),
        ),
    )
    tried: list[str] = []
    found = uncovered_rows(own, progress=tried.append).uncovered
    assert {line.partition(":")[0] for line in tried} == {"whether HEARTBEAT-STABLE is covered"}
    assert [rule.id for _, rule in own_rules(own)] == ["HEARTBEAT-STABLE"]
    assert "HEARTBEAT-STABLE" not in found
    uncovered = {rule_id for rule_id, one in known_rows()["kafka-4"].items() if not one}
    assert uncovered - {"JOIN-COORDINATOR-ELSEWHERE"} == set(found)


def test_a_violated_property_hides_whether_a_row_is_covered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = (RULES["HEARTBEAT-STABLE"].but(because="ours"), Rule("HEARTBEAT-NEW", when()))
    own = derive(KAFKA_4, "own", "own", tuple(SetRule("Heartbeat", one, "x") for one in ours))
    monkeypatch.setattr(row_properties, "speaking_property", lambda *_, **__: "")
    whole = uncovered_rows(own).uncovered
    hidden = uncovered_rows(own, {"a-heartbeat-keeps-alive"}).uncovered
    assert whole["HEARTBEAT-STABLE"] == ""
    assert hidden["HEARTBEAT-STABLE"] == "a-heartbeat-keeps-alive"
    assert whole["HEARTBEAT-NEW"] == hidden["HEARTBEAT-NEW"] == ""


def test_rows_for_which_no_time_is_left_are_named() -> None:
    ours = RULES["HEARTBEAT-STABLE"].but(because="ours")
    own = derive(KAFKA_4, "own", "own", (SetRule("Heartbeat", ours, "x"),))
    tried = uncovered_rows(own, is_over=lambda: True)

    assert tried.untried == ("HEARTBEAT-STABLE",)
    assert "HEARTBEAT-STABLE" not in tried.uncovered
