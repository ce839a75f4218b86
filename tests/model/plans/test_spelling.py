from __future__ import annotations

import json
from typing import Any

import pytest
from support.runs import LEVELS, entries, entry

from fencepost.conformance.cases.case_registry import Entry
from fencepost.model.coordinator import MIGRATION_POLICY
from fencepost.model.plans.spelling import PlanError, plan_json, read, read_plan, written
from fencepost.model.plans.steps import (
    DeleteTopics,
    Disconnect,
    Failover,
    GenerationOf,
    IdOf,
    MoveCoordinator,
    Ms,
    Needs,
    Pause,
    PlanStep,
    ProtocolOf,
    Request,
    Settle,
)
from fencepost.model.table.table import Level

ENTRIES = list(entries())


def through_text(document: Any) -> Any:
    return json.loads(json.dumps(document))


@pytest.mark.parametrize("found", ENTRIES, ids=lambda e: e.id)
@pytest.mark.parametrize("delayed", [False, True])
def test_every_case_comes_back_as_it_was(found: Entry, delayed: bool) -> None:
    case = found.case(LEVELS, delayed=delayed)
    assert read_plan(through_text(plan_json(case))) == case


def test_there_are_cases() -> None:
    assert len(ENTRIES) > 10


@pytest.mark.parametrize(
    "step",
    [
        Failover(),
        MoveCoordinator(),
        DeleteTopics(("own", "other")),
        Settle(),
        Disconnect("A1"),
        Pause((Ms("session"), Ms("short rebalance")), 3, minus=True),
        Request(
            "A1 SyncGroup 1",
            "A1",
            "SyncGroup",
            {
                "generation_id": GenerationOf("A1", plus=-1),
                "member_id": IdOf("A1", back=1),
                "protocol_name": ProtocolOf("A1", "name"),
                "group_instance_id": None,
            },
            5,
            None,
            "second",
            ("g", "h"),
        ),
    ],
)
def test_every_kind_of_step_comes_back(step: PlanStep) -> None:
    assert read(through_text(written(step))) == step


def test_what_a_case_needs_comes_back() -> None:
    case = ENTRIES[0].case(LEVELS, delayed=False)
    needs = Needs((("JoinGroup", 9),), frozenset({"restart"}), {"group.max.size": None})
    bare = type(case)(case.id, "", (), Level.MAY, (), needs, isolated=True)
    assert read_plan(through_text(plan_json(bare))) == bare


def a_plan() -> dict[str, Any]:
    found: dict[str, Any] = through_text(
        plan_json(entry("JOIN-STATIC-EMPTY-STABLE/follower").case(LEVELS, delayed=False))
    )
    return found


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("level",), "SHALL", "$.level: is 'SHALL'"),
        (("isolated",), 1, "$.isolated: is 1; Expected `bool`, got `int`"),
        (("more",), 1, "$.more: is unknown"),
        (("rules",), [3], "$.rules: is (3,); Expected `str`, got `int` - at `$[0]`"),
        (("needs", "apis"), [["JoinGroup"]], "$.needs.apis"),
        (("needs", "config"), {"group.max.size": "9"}, "$.needs.config: group.max.size=9"),
        (("needs", "config"), {MIGRATION_POLICY: "never"}, "are disabled, upgrade, downgrade, bi"),
        (("steps", 0, "do"), "dance", "$.steps[0].do: is 'dance'"),
        (("steps", 0, "api"), "Fetch", "$.steps[0].api"),
        (("steps", 0, "version"), "9", "$.steps[0].version"),
        (("steps", 0, "fields", "nonsense"), 1, "$.steps[0].fields.nonsense: is no field of"),
        (("steps", 0, "fields", "member_id"), {"ref": "who"}, "$.steps[0].fields.member_id.ref"),
        (("steps", 0, "fields", "member_id"), {"ref": "id", "who": "A1"}, "back: is missing"),
        (("steps", 0, "fields", "member_id"), {"ref": "ms", "name": "margin"}, "none of delay"),
        (("steps", 0, "fields", "member_id"), {"bytes": "*"}, "not base64"),
        (("steps", 0, "fields", "member_id"), 1.5, "which no plan holds"),
        (
            ("steps", 0, "fields", "protocols"),
            [{"message": "JoinProtocol", "fields": {}}],
            "protocols[0].fields",
        ),
        (("steps", 0, "fields", "protocols"), [{"message": "Joy", "fields": {}}], "is no message"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    path: tuple[str | int, ...], value: Any, said: str
) -> None:
    plan: Any = a_plan()
    place = plan
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(PlanError) as raised:
        read_plan(plan)
    assert said in str(raised.value)


@pytest.mark.parametrize("key", ["id", "steps", "needs"])
def test_what_is_missing_is_named(key: str) -> None:
    plan = a_plan()
    del plan[key]
    with pytest.raises(PlanError, match=rf"\$\.{key}: is missing"):
        read_plan(plan)


def test_what_has_no_json_form_is_refused() -> None:
    step = Request("x", "A1", "Heartbeat", {"member_id": object()})
    with pytest.raises(PlanError, match=r"fields\.member_id: object"):
        written(step)
