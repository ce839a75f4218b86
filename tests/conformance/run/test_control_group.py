"""A control group in each protocol; what its timers show of a target that removes nobody."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from msgspec.structs import replace
from support.real_clock import RealClockModel, RealClockTarget
from support.virtual_clock import at_once

from fencepost.conformance.cases import entry
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.run.control_group import (
    ClassicControlGroup,
    ConsumerControlGroup,
    Probe,
    control_group,
)
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.consumer.settings import (
    ASSIGNMENT_INTERVAL,
    BROKER_SETTINGS,
    SESSION_TIMEOUT,
)
from fencepost.model.coordinator import Answer, Config, CoordinatorFailure, Hello, Send
from fencepost.model.messages.errors import Error
from fencepost.model.table.table import Level
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.judging.report import Certificate

CONSUMER = find_revision("consumer-4.4")
SETTINGS: Config = {**BROKER_SETTINGS, SESSION_TIMEOUT: 6_000, ASSIGNMENT_INTERVAL: 0}
SILENT = "CG-JOIN-DYNAMIC-NEW/silent-dynamic-member"
STATIC = "CG-SESSION-EXPIRED/silent-member"
JOINED = "CG-JOIN-STATIC-NEW/first-static-member"
NEVER = 10**7
"""A session timeout that ends in no test, in ms."""


def hello(apis: Collection[str]) -> Hello:
    return Hello("a broker", "1", "real", dict.fromkeys(apis, (0, 1)), frozenset())


CLASSIC_APIS = ClassicControlGroup.APIS
CONSUMER_APIS = ConsumerControlGroup.APIS


@pytest.mark.parametrize(
    ("apis", "kind"),
    [
        ((*CLASSIC_APIS, *CONSUMER_APIS), ClassicControlGroup),
        (CLASSIC_APIS, ClassicControlGroup),
        (CONSUMER_APIS, ConsumerControlGroup),
        (("JoinGroup", *CONSUMER_APIS), ConsumerControlGroup),
    ],
)
def test_a_target_is_measured_by_the_protocol_that_it_has(
    apis: Collection[str], kind: type[object]
) -> None:
    assert isinstance(control_group(hello(apis), SETTINGS), kind)


def test_a_target_without_either_protocol_is_not_measured() -> None:
    why = r"no Heartbeat: .* JoinGroup, SyncGroup, Heartbeat, or by ConsumerGroupHeartbeat where"
    with pytest.raises(TargetUnavailableError, match=why):
        control_group(hello(("JoinGroup", "SyncGroup")), SETTINGS)
    classic = {SESSION_TIMEOUT: None}  # a revision that has no such groups
    with pytest.raises(TargetUnavailableError, match="no JoinGroup"):
        control_group(hello(CONSUMER_APIS), classic)


@at_once
async def test_a_join_of_the_consumer_protocol_that_is_refused_is_a_failure() -> None:
    def refused(_: Send, answer: Answer) -> Answer:
        return replace(answer, body={**(answer.body or {}), "errorCode": 42})

    model = RealClockModel(CONSUMER, SETTINGS)
    group, probe = control_group(await model.hello(), SETTINGS), Probe(model, "control", 5)
    member_id, epoch = await group.join(probe, "g")
    assert await group.heartbeat(probe, "g", member_id, epoch) == Error.NONE.value
    assert await group.heartbeat(probe, "g", "nobody", 1) == Error.UNKNOWN_MEMBER_ID.value
    with pytest.raises(CoordinatorFailure, match="the control's join was refused: 42"):
        await group.join(Probe(RealClockModel(CONSUMER, SETTINGS, lie=refused), "control", 5), "g")


async def certified(target: RealClockTarget, *cases: str) -> Certificate:
    return await certify(target, CONSUMER, [entry(case) for case in cases], Options())


@at_once
async def test_a_broker_of_the_consumer_protocol_alone_is_certified() -> None:
    certificate = await certified(RealClockTarget(CONSUMER, settings=SETTINGS), SILENT, STATIC)
    assert [result.outcome for result in certificate.results] == [Outcome.PASS] * 2
    assert certificate.remarks == ()


@at_once
async def test_who_is_never_removed_after_a_join_is_a_failure() -> None:
    mutant = find_revision("mutant:cg-dynamic-join-without-session")
    certificate = await certified(RealClockTarget(mutant, settings=SETTINGS), SILENT, STATIC)
    failed, passed = certificate.results
    assert (failed.outcome, failed.level) == (Outcome.FAIL, Level.MUST)
    assert "Without the removal by rule CG-SESSION-EXPIRED all answers are right" in failed.message
    assert passed.outcome is Outcome.PASS


@at_once
async def test_a_broker_that_removes_nobody_fails_and_is_said_to() -> None:
    target = RealClockTarget(CONSUMER, settings=SETTINGS, in_fact={SESSION_TIMEOUT: NEVER})
    certificate = await certified(target, SILENT, STATIC, JOINED)
    outcomes = {r.case.id: (r.outcome, r.level) for r in certificate.results}
    must = (Outcome.FAIL, Level.MUST)
    assert (outcomes[SILENT], outcomes[STATIC], outcomes[JOINED][0]) == (must, must, Outcome.PASS)
    (remark,) = certificate.remarks
    assert remark.startswith("no session of the control group ended: a member was silent ")
