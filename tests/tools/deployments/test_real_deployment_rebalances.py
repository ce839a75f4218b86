"""What a proxy recorded of a deployment, read as a request log: the simulator's own story."""

from __future__ import annotations

import pytest
from support.logs.simulated_logs import PlayedDeployment

from fencepost.conformance.serve.broker_history import Act, History, KeptBody, RecordedExchange
from fencepost.conformance.simulate.deployment_scenario import GROUP_ID, find_scenario
from fencepost.conformance.simulate.sweep import variants_of
from fencepost.model.messages.shapes import Message
from fencepost.traces.operations.operator_rows import Rebalance
from fencepost.traces.operations.rebalances import JudgedRebalance
from tools.deployments.real_deployment import recorded_rebalances


def recorded(deployment: PlayedDeployment) -> History:
    """The history as a proxy would have noted it; a client id is that of one process."""
    history = History()
    for exchange in deployment.sim.history:
        request, answer = exchange.request, exchange.answer
        if not isinstance(request, Message):
            continue
        noted = RecordedExchange(
            exchange.api,
            exchange.version,
            exchange.at_ms,
            client_id=exchange.client_id,
            connection=exchange.connection,
            node=1,
            correlation_id=0,
        )
        noted.request_body = KeptBody.of(request.to_body(exchange.version))
        if isinstance(answer, Message):
            noted.answered_ms = exchange.answered_ms
            noted.answer_body = KeptBody.of(answer.to_body(exchange.version))
        history.exchanges.append(noted)
    for at_ms, instance, code in deployment.removals:
        about = {"group": GROUP_ID, "instance": instance, "code": code}
        history.acts.append(Act(at_ms, "remove", about))
    return history


def outline(rows: list[Rebalance]) -> list[tuple[object, ...]]:
    return [(row.generation, row.cause, row.who, row.members_after, row.remedy) for row in rows]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("rolling-bounce", "eager"),
        ("crash", "eager"),
        ("scale-down-removed", "static"),
        ("failover", "static"),
        ("second-process", "static"),
    ],
)
def test_it_has_the_rebalances_of_the_simulation_and_their_causes(name: str, form: str) -> None:
    deployment = PlayedDeployment(variants_of(find_scenario(name), form)[form], 0)
    judged = [row.row for row in deployment.play() if isinstance(row, JudgedRebalance)]
    recorded_rows = recorded_rebalances(recorded(deployment), GROUP_ID)
    assert outline(recorded_rows) == outline(judged)
    assert recorded_rows


def test_other_groups_are_none_of_ours() -> None:
    deployment = PlayedDeployment(find_scenario("crash"), 0)
    deployment.play()
    assert recorded_rebalances(recorded(deployment), "another") == []
