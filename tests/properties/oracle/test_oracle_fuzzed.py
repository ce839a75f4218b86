"""Plans that the oracle once judged wrongly, found by the fuzzer: the model itself must hold."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fencepost.conformance.cases.script import RANGE, Script
from fencepost.conformance.run.runner import CaseRun
from fencepost.conformance.targets.in_process import InProcessCoordinator, ModelCoordinator
from fencepost.model.coordinator import Answer
from fencepost.model.plans.steps import Ms, Plan
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.table import Level
from fencepost.properties.oracle.verdict import Verdict


def verdict(script: Script, config: dict[str, int | None]) -> Verdict:
    case = Plan("odd", "", (), Level.MUST, tuple(script.steps))
    model = Patient(KAFKA_4)
    in_force = model.reset(config).config
    run = CaseRun(case, InProcessCoordinator(model), model.hello(), in_force, KAFKA_4, 0)
    asyncio.run(run.run())
    return run.verdict()


class Patient(ModelCoordinator):
    """A model that is asked the time so many times, and not for ever."""

    _left = 1_000

    def advance(self, ms: int) -> list[Answer]:
        self._left -= 1
        assert self._left > 0, "it is asked again and again"
        return super().advance(ms)


def holds(script: Script, **config: Any) -> bool:
    said = verdict(script, config)
    return said.violation is None and said.unknown is None


def test_to_ask_about_no_group_takes_none_away() -> None:
    script = Script(delayed=False)
    script.commit("a", member_id="", generation=-1, group="", version=2)
    script.ask("admin", "DescribeGroups", version=0, groups=())
    script.list_groups(version=0)
    assert holds(script)


@pytest.mark.parametrize("rebalance", [-1, 0, -(2**31)])
def test_a_timeout_below_nothing_is_over_at_once(rebalance: int) -> None:
    script = Script(delayed=False)
    script.join("a", version=2, rebalance=rebalance)
    script.pause("tick of time")
    script.beat("a", version=2)
    assert holds(script, **{"group.initial.rebalance.delay.ms": 0})


@pytest.mark.parametrize("count", [5, 6])
def test_members_that_are_new_together_are_each_told_their_own_id(count: int) -> None:
    script = Script(delayed=True)
    for name in "abcdefg"[:count]:
        script.join(name, version=1, protocols=RANGE)
    script.pause("delay")
    script.wait(*"abcdefg"[:count])
    assert holds(script)


def test_of_more_new_members_nothing_is_said() -> None:
    script = Script(delayed=True)
    for name in "abcdefg":
        script.join(name, version=1, protocols=RANGE)
    script.wait("a")
    said = verdict(script, {})
    assert said.violation is None
    assert said.unknown is not None


def test_a_timer_that_may_have_been_restarted_is_not_waited_for_for_ever() -> None:
    script = Script(delayed=True)
    short, shorter = Ms("short session"), Ms("short rebalance")
    script.join("b", version=1, protocols=RANGE, session=short, rebalance=shorter)
    script.join("B1", version=9, protocols=RANGE, rebalance=shorter)
    script.join("a", version=3, protocols=RANGE, session=short)
    script.disconnect("B1")
    script.pause("rebalance", margins=1)
    script.join("A2", version=9, protocols=RANGE)
    script.wait("A2")
    assert holds(script, **{"group.initial.rebalance.delay.ms": 3000})
