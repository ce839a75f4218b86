"""Which deployments are held against reality: scenarios in forms, with times that are short."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from fencepost.conformance.simulate.deployment_scenario import DeploymentScenario, find_scenario
from fencepost.conformance.simulate.deployment_steps import BounceStep, ScaleStep, Step
from fencepost.conformance.simulate.member_settings import MemberSettings
from fencepost.conformance.simulate.sweep import variants_of

MEMBERS, PARTITIONS = 12, 60
BROKERS = ("4.3.0", "2.8.0")
CLIENTS = ("java:4.3.0", "confluent-kafka:2.16.1")
SESSION_S, BEAT_S = 10.0, 1.0
_QUICK = MemberSettings(
    session_timeout_ms=round(SESSION_S * 1000),
    heartbeat_interval_ms=round(BEAT_S * 1000),
    max_poll_interval_ms=60_000,
)
_RESTART_S = 2.0
_LATE_S = 15.0
"""Longer than a session."""
_SETTLE_S = 60.0


@dataclass(frozen=True, slots=True)
class DeploymentCase:
    """A scenario in a form.

    `name`: of the case; `form`: as `simulate --compare` names it, None: as the scenario says;
    `share`: of the members, where it takes long.
    """

    name: str
    scenario: str
    form: str | None = None
    restart_s: float = _RESTART_S
    share: int = 1

    def at(self, members: int = MEMBERS, partitions: int = PARTITIONS) -> DeploymentScenario:
        """The scenario, of so many members and partitions, with short times.

        Members read at once: what a rebalance takes longer for real is what is measured.
        """
        scenario = find_scenario(self.scenario)
        members, partitions = members // self.share, partitions // self.share
        quick = msgspec.structs.replace(
            scenario,
            name=self.name,
            members=members,
            partitions=partitions,
            settings=_QUICK.over(scenario.settings),
            restart_s=self.restart_s,
            resume_s=0.0,
            settle_s=_SETTLE_S,
            step=tuple(_scaled(step, scenario.members, members) for step in scenario.step),
        )
        return variants_of(quick, self.form)[self.form] if self.form else quick

    def lacks(self, client: str) -> str:
        """Why a client can't take part; empty: it can."""
        if self.scenario.startswith("to-cooperative") and client.startswith("confluent-kafka"):
            return "librdkafka refuses to offer an eager and a cooperative assignor together"
        return ""


def _scaled(step: Step, before: int, members: int) -> Step:
    """A step that adds or takes away as many hosts as it does in the scenario."""
    if isinstance(step, ScaleStep):
        return msgspec.structs.replace(step, to=members + step.to - before)
    if isinstance(step, BounceStep) and step.set.session_timeout_ms:
        return msgspec.structs.replace(step, set=_with_short_session(step.set))
    return step


def _with_short_session(settings: MemberSettings) -> MemberSettings:
    return msgspec.structs.replace(settings, session_timeout_ms=_QUICK.session_timeout_ms)


CASES = (
    DeploymentCase("bounce-eager", "rolling-bounce", "eager"),
    DeploymentCase("bounce-cooperative", "rolling-bounce", "cooperative"),
    DeploymentCase("bounce-static", "rolling-bounce", "static"),
    DeploymentCase("bounce-static-cooperative", "rolling-bounce", "static+cooperative"),
    DeploymentCase("crash-eager", "crash", "eager"),
    DeploymentCase("crash-static", "crash", "static"),
    DeploymentCase("crash-static-late", "crash", "static", _LATE_S),
    DeploymentCase("scale-up-eager", "scale-up", "eager"),
    DeploymentCase("scale-up-cooperative", "scale-up", "cooperative"),
    DeploymentCase("scale-down-eager", "scale-down", "eager"),
    DeploymentCase("scale-down-static", "scale-down", "static"),
    DeploymentCase("scale-down-removed", "scale-down-removed", "static"),
    DeploymentCase("second-process", "second-process", "static"),
    DeploymentCase("to-static", "to-static", share=3),
    DeploymentCase("to-dynamic", "to-dynamic", share=3),
    DeploymentCase("to-cooperative", "to-cooperative", share=3),
    DeploymentCase("to-cooperative-at-once", "to-cooperative-at-once", share=3),
    DeploymentCase("failover", "failover", "static"),
)
CASES_BY_NAME = {case.name: case for case in CASES}
