from __future__ import annotations

import pytest

from fencepost.conformance.cases.clients.scenario_catalogue import SCENARIOS
from fencepost.conformance.clients.certify_client import ClientCertifier
from fencepost.conformance.clients.driver_programs import find_client
from fencepost.conformance.clients.stage import SERVE, ServedStage, open_stage
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.serve.application_broker import ApplicationBroker
from fencepost.conformance.targets.target_registry import UnknownTargetError, find_revision
from fencepost.properties.judging.outcome import Outcome

KAFKA_4 = find_revision("kafka-4")


async def test_a_served_broker_is_as_the_scenario_wants_it() -> None:
    async with ServedStage(KAFKA_4).open(SCENARIOS["old-broker"]) as place:
        versions = place.versions()
        assert versions is not None
        assert versions["JoinGroup"] == (0, 4)
    async with ServedStage(KAFKA_4).open(SCENARIOS["join-cut"]) as place:
        assert place.served is not None
        assert place.served.settings["group.initial.rebalance.delay.ms"] == 2000


async def test_a_real_broker_is_recorded_and_gives_the_same_verdict() -> None:
    async with (
        ApplicationBroker(KAFKA_4, {"group.initial.rebalance.delay.ms": 0}) as broker,
        open_stage(f"tcp://{broker.bootstrap}", KAFKA_4) as stage,
    ):
        certifier = ClientCertifier(find_client("reference"), stage)
        results = await certifier.run([SCENARIOS["static-life"], SCENARIOS["expired"]])
    outcomes = {result.case.id: result.outcome for result in results}
    expired = {name for name in outcomes if name.endswith("/expired")}
    assert {outcomes[name] for name in expired} == {Outcome.UNSUPPORTED}
    assert {outcome for name, outcome in outcomes.items() if name not in expired} == {Outcome.PASS}


async def test_a_broker_that_is_not_there_is_unavailable() -> None:
    async with open_stage("tcp://127.0.0.1:9", KAFKA_4) as stage:
        with pytest.raises(TargetUnavailableError, match=r"tcp://127\.0\.0\.1:9"):
            async with stage.open(SCENARIOS["static-life"]):
                pass


async def test_what_listens_on_no_port_is_no_broker_for_clients() -> None:
    with pytest.raises(UnknownTargetError, match="can't test a client against model"):
        async with open_stage("model", KAFKA_4):
            pass
    async with open_stage(SERVE, KAFKA_4) as stage:
        assert stage.provokes
