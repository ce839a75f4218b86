"""What a target can't be led to, and that what it can is not excused."""

from __future__ import annotations

from dataclasses import replace

from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.model.coordinator import Config
from fencepost.model.machine import Machine
from fencepost.model.plans.steps import Plan
from fencepost.model.revisions import revisions
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.table import Level
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.judging.target_coverage import coverage_of, unreachable

HELLO = ModelCoordinator(KAFKA_4).hello()
PROMPT: Config = Machine(KAFKA_4, {"group.initial.rebalance.delay.ms": 0}).config
CLEANED: Config = {"offsets.retention.check.interval.ms": 50}
LIMITED: Config = {"offset.metadata.max.bytes": 10, "message.max.bytes": 100}
DELAYED: Config = Machine(KAFKA_4, {"group.max.size": 2}).config


def test_with_everything_only_what_is_proved_or_needs_a_cluster_is_out_of_reach() -> None:
    reasons = unreachable(KAFKA_4, HELLO, [PROMPT, DELAYED, CLEANED, LIMITED])
    for rule, why in reasons.items():
        proved = KAFKA_4.rule(rule).defensive
        assert why == proved or rule.endswith(("-LOADING", "-ELSEWHERE"))
    assert "JOIN-COORDINATOR-LOADING" in reasons


def test_each_want_shuts_out_its_rules() -> None:
    settings = unreachable(KAFKA_4, HELLO, [PROMPT])
    assert "group.max.size" in settings["JOIN-GROUP-FULL"]
    assert "message.max.bytes" in settings["SYNC-COMPLETING-LEADER-TOO-LARGE"]
    assert "offset.metadata.max.bytes" in settings["COMMIT-METADATA"]
    assert "JOIN-PHASE-DELAY-EXTENDED" in settings
    assert "JOIN-PHASE-ALL-JOINED" not in settings

    steady = replace(HELLO, features=frozenset())
    assert "fail over" in unreachable(KAFKA_4, steady, [DELAYED])["FAILOVER-STABLE"]
    assert "can be deleted" in unreachable(KAFKA_4, steady, [DELAYED])["TOPICS-DELETED"]

    old = replace(HELLO, apis={**HELLO.apis, "SyncGroup": (0, 3)})
    assert unreachable(KAFKA_4, old, [DELAYED])["SYNC-PROTOCOL-NULL"].endswith("versions 0 to 3")

    mute = replace(HELLO, apis={k: v for k, v in HELLO.apis.items() if k != "ListGroups"})
    assert unreachable(KAFKA_4, mute, [DELAYED])["LIST-GROUP"] == "the target has no ListGroups"


def test_without_instances_what_needs_none_can_be_reached() -> None:
    old = replace(HELLO, apis={**HELLO.apis, "JoinGroup": (0, 4), "Heartbeat": (0, 2)})
    reasons = unreachable(KAFKA_4, old, [DELAYED])
    assert reasons["JOIN-STATIC-EMPTY-NEW"].endswith("versions 0 to 4, which name no instance")
    assert reasons["SYNC-INSTANCE-FENCED"].endswith("versions 0 to 4, so no static members")
    assert reasons["JOIN-PHASE-POSTPONED"].endswith("versions 0 to 4, so no static members")
    assert "SYNC-INSTANCE-UNMAPPED" not in reasons
    assert not {"HEARTBEAT-GROUP-ABSENT", "SYNC-GROUP-ABSENT", "JOIN-PENDING"} & reasons.keys()


def test_without_joins_no_group_has_members() -> None:
    alone = replace(HELLO, apis={"Heartbeat": (0, 4)})
    reasons = unreachable(KAFKA_4, alone, [DELAYED])
    assert (
        reasons["HEARTBEAT-STABLE"] == reasons["SESSION-EXPIRED"] == "the target has no JoinGroup"
    )
    assert not {"HEARTBEAT-GROUP-ID-INVALID", "HEARTBEAT-GROUP-ABSENT"} & reasons.keys()
    awaited = replace(HELLO, apis={k: v for k, v in HELLO.apis.items() if k != "SyncGroup"})
    reasons = unreachable(KAFKA_4, awaited, [DELAYED])
    assert reasons["HEARTBEAT-STABLE"] == "the target has no SyncGroup"
    assert "HEARTBEAT-COMPLETING" not in reasons


def test_rules_of_a_part_count_only_where_a_case_is_about_them() -> None:
    mixed = revisions.find("mixed-4.4")
    plan = Plan("CG-A/a", "", ("CG-JOIN-TAKE-CLASSIC", "MG-UPGRADE"), Level.SHOULD, ())
    result = CaseResult(plan, Outcome.UNKNOWN, Level.SHOULD)
    coverage = coverage_of(mixed, ModelCoordinator(mixed).hello(), [result])
    listed = {*coverage.missed, *coverage.unreachable}
    assert listed == {rule.id for _, rule in mixed.own_rules()} | {"CG-JOIN-TAKE-CLASSIC"}
