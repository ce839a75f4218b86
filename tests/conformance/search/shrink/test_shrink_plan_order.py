"""Plans shrink by the same runs, in the same order, to the same plan as they always did."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from support.message_samples import NEWER

from fencepost.conformance.search.fuzz.drawn_plans import PlanContext, Planner
from fencepost.conformance.search.fuzz.generator import SETTINGS
from fencepost.conformance.search.shrink.shrink_plan import shrinking_plan
from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.conformance.targets.target import Hints
from fencepost.model.machine import Machine
from fencepost.model.plans.plan_order import asks_of
from fencepost.model.plans.spelling import plan_json
from fencepost.model.plans.steps import Plan
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.checking.shrinking import Reproducer, shrink

MEMBERSHIP = ("JoinGroup", "SyncGroup", "Heartbeat")
LEAVING = ("LeaveGroup", "OffsetCommit")
READING = ("OffsetFetch", "DescribeGroups", "JoinGroup")
# fmt: off
SHRUNK = (
    (1, MEMBERSHIP, 1, 4000, 33, True, "00dbfc6306b3", "3867d94afd62"),
    (1, MEMBERSHIP, 5, 4000, 57, True, "9b1359b81b8c", "3867d94afd62"),
    (1, MEMBERSHIP, 1, 37, 33, True, "00dbfc6306b3", "3867d94afd62"),
    (1, LEAVING, 1, 4000, 23, True, "ce2e4525acf2", "99cd31cd2748"),
    (1, LEAVING, 5, 4000, 55, True, "be1203466c6d", "99cd31cd2748"),
    (1, LEAVING, 1, 37, 23, True, "ce2e4525acf2", "99cd31cd2748"),
    (1, READING, 1, 4000, 35, True, "62dd94e40881", "43ff80b61ab2"),
    (1, READING, 5, 4000, 71, True, "d8d423b31695", "43ff80b61ab2"),
    (1, READING, 1, 37, 35, True, "62dd94e40881", "43ff80b61ab2"),
    (2, MEMBERSHIP, 1, 4000, 34, True, "29e6c14972dc", "dc54efbcb9fc"),
    (2, MEMBERSHIP, 5, 4000, 65, True, "2be9918fe646", "dc54efbcb9fc"),
    (2, MEMBERSHIP, 1, 37, 34, True, "29e6c14972dc", "dc54efbcb9fc"),
    (2, LEAVING, 1, 4000, 27, True, "4ad00cd615fc", "39bbaf8fbeea"),
    (2, LEAVING, 5, 4000, 53, True, "01eab735d91c", "39bbaf8fbeea"),
    (2, LEAVING, 1, 37, 27, True, "4ad00cd615fc", "39bbaf8fbeea"),
    (2, READING, 1, 4000, 51, True, "e91530826f93", "957472d8e04e"),
    (2, READING, 5, 4000, 83, True, "3d38600ee6d4", "957472d8e04e"),
    (2, READING, 1, 37, 37, False, "18ff18dbef65", "6dc3f42c86bf"),
    (3, MEMBERSHIP, 1, 4000, 34, True, "d725e7185815", "625bb8eaa855"),
    (3, MEMBERSHIP, 5, 4000, 67, True, "b58496484611", "625bb8eaa855"),
    (3, MEMBERSHIP, 1, 37, 34, True, "d725e7185815", "625bb8eaa855"),
    (3, LEAVING, 1, 4000, 20, True, "3bb5914e66a4", "066b9a64a9ce"),
    (3, LEAVING, 5, 4000, 47, True, "72bd0ab7cfb8", "066b9a64a9ce"),
    (3, LEAVING, 1, 37, 20, True, "3bb5914e66a4", "066b9a64a9ce"),
    (3, READING, 1, 4000, 47, True, "2e3cb33ce140", "6206d9b76296"),
    (3, READING, 5, 4000, 97, True, "9d65449dbb3c", "6206d9b76296"),
    (3, READING, 1, 37, 37, False, "b8f288d4691d", "8cbc1dc2d533"),
)
# fmt: on


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


@pytest.mark.parametrize(
    ("seed", "apis", "at_once", "tries", "runs", "is_minimal", "order", "least"), SHRUNK
)
async def test_a_plan_shrinks_by_the_same_runs(
    seed: int,
    apis: tuple[str, ...],
    at_once: int,
    tries: int,
    runs: int,
    is_minimal: bool,
    order: str,
    least: str,
) -> None:
    configs = [(wanted, Machine(KAFKA_4, wanted).config) for wanted in SETTINGS]
    known = ModelCoordinator(KAFKA_4).hello()
    older = {api: bounds for api, bounds in known.apis.items() if api not in NEWER}
    hello = replace(known, apis=older)
    planner = Planner(PlanContext(KAFKA_4, hello, Hints(), 0, configs), seed)
    tried = []

    def asks_all(case: Plan) -> bool:
        return {*apis} <= {ask.api for ask in asks_of(case.steps)}

    async def judge(case: Plan) -> str | None:
        tried.append(plan_json(case)["steps"])
        return "shown" if asks_all(case) else None

    first = planner.next().case
    while not asks_all(first):
        first = planner.next().case
    work = shrinking_plan(Reproducer(first, "shown"), KAFKA_4.apis, at_once=at_once, tries=tries)
    minimal = await shrink(work, judge)
    assert (len(tried), digest(tried)) == (runs, order)
    assert (minimal.tried, minimal.is_minimal) == (runs, is_minimal)
    assert digest(plan_json(minimal.smallest.value)["steps"]) == least
