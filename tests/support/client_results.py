"""Results and certificates of clients, made by hand."""

from __future__ import annotations

from typing import Any

from support.client_story import action, assigned, evidence, leave, read, run, settled

from fencepost.conformance.cases.clients.scenario_catalogue import SCENARIOS
from fencepost.model.coordinator import Provenance
from fencepost.model.table.table import Level
from fencepost.properties.judging.known_failures import KnownFailure
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.driver_messages import Introduction
from fencepost.traces.report.client_certificate import (
    ClientCase,
    ClientCertificate,
    ClientResult,
)

A = run(ended=1000, how="closed")
RUN = evidence(
    A,
    settled(A, 10, 0, 1),
    read(A, 100),
    read(A, 150, first=1),
    read(A, 900, first=2),
    action("close", A, 1000, 1100, took_ms=95.0),
    leave(A, 1050),
    assigned(A, 1200),
    stalls=((300.0, 80.0),),
    unmet=((400.0, "the user of a read no records within 15 s"),),
)


def result(
    outcome: Outcome = Outcome.PASS,
    obligation: str = "CLIENT-CLOSE-STATIC-STAYS",
    scenario: str = "static-life",
    **fields: Any,
) -> ClientResult:
    case = ClientCase(obligation, SCENARIOS[scenario])
    return ClientResult(case, outcome, case.level, **{"attempts": 0, **fields})


def listed(why: str, link: str) -> KnownFailure:
    """An entry of a list, of which the reason alone counts."""
    return KnownFailure("lib", "*", "A/1", "A", "seen", why, link)


FAILED = result(
    Outcome.FAIL,
    message="a, a static member, sent LeaveGroup v5 with member id m1",
    observed="LeaveGroup of a static member",
    attempts=2,
    evidence=RUN,
    at_ms=1050.0,
)
LACKS = result(
    Outcome.UNSUPPORTED, "CLIENT-RESTART-COOPERATIVE", "follower-restarts-cooperative", message="no"
)
UNDECIDED = result(
    Outcome.UNKNOWN, "CLIENT-CLOSE-IN-TIME", message="nobody closed", attempts=3, evidence=RUN
)


def certificate(
    *results: ClientResult, client: str = "lib:1.2.3", **fields: Any
) -> ClientCertificate:
    introduction = Introduction(1, 1, "lib", "1.2.3", "c", ("static",), ("range",))
    return ClientCertificate(
        **{
            "provenance": Provenance(client, "lib", "1.2.3"),
            "introduction": introduction,
            "broker": "serve",
            "revision": "kafka-4",
            "results": results,
            "level": Level.SHOULD,
            "versions": {"fencepost": "0"},
            "seconds": 1.5,
            **fields,
        }
    )
