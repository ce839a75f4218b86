"""List the scenarios of members that were fenced or removed, in each way of using a client.

The ways: a member learns it from a commit that it makes by itself, from a join or a sync; its user
stops at the error, or polls on after each; its commits are automatic or none.
"""

from __future__ import annotations

from fencepost.conformance.cases.clients.scenario import (
    Answered,
    Assigned,
    Calls,
    ErrorReported,
    InjectFaults,
    Read,
    Scenario,
    ScenarioStep,
    Until,
)
from fencepost.conformance.cases.clients.scenario_parts import (
    A1,
    I1,
    SILENCE_MS,
    A,
    begin_static,
    passed,
    settled,
)
from fencepost.conformance.wire.provocation import Action, Provocation
from fencepost.model.plans.steps import Close, Produce, RemoveMember, ResumePolling, Settings, Start

_FENCED = "FENCED_INSTANCE_ID"
_SELDOM_BEATING = Settings(heartbeat_interval_ms=5000, auto_commit_ms=300)
"""A member that was replaced learns it from a commit of its own, not from a heartbeat."""

_POLLS_ON: tuple[ScenarioStep, ...] = (
    ResumePolling(A),
    Produce(),
    passed(SILENCE_MS),
    ResumePolling(A),
    passed(SILENCE_MS),
    Close(A),
    passed(500),
)
"""Steps of a user that goes on after each error."""


def _polls_on_after(api: str, *begin: ScenarioStep) -> Scenario:
    """Fence a member in an API for ever, and let its user poll on."""
    name = api.lower().removesuffix("group")
    return Scenario(
        f"fenced-in-{name}-polls-on",
        f"A static member gets {_FENCED} in {api}, and its user polls on.",
        (
            f"CLIENT-FENCED-{name.upper()}",
            "CLIENT-FENCED-NO-JOIN",
            "CLIENT-FENCED-NO-RECORDS",
            "CLIENT-CLOSE-FENCED",
        ),
        (
            *begin,
            Until(Answered(A, api, _FENCED), needed=True),
            Until(ErrorReported(A, "FENCED"), within_ms=5000),
            passed(500),
            Produce(),
            passed(SILENCE_MS),
            *_POLLS_ON,
        ),
    )


def _fence(api: str) -> Provocation:
    return Provocation(api, Action.ERROR, A1, last=None, code=_FENCED)


_REBALANCE = Provocation("Heartbeat", Action.ERROR, A1, code="REBALANCE_IN_PROGRESS")

FENCING = (
    Scenario(
        "fenced-in-auto-commit",
        "A second process replaces a member that commits by itself and seldom sends heartbeats; "
        "the user of the first polls on.",
        (
            "CLIENT-FENCED-COMMIT",
            "CLIENT-FENCED-NO-JOIN",
            "CLIENT-FENCED-QUIET",
            "CLIENT-FENCED-NO-RECORDS",
            "CLIENT-FENCED-NO-COMMITS",
            "CLIENT-FENCED-POLLED-ON",
            "CLIENT-FENCED-TAKEOVERS",
            "CLIENT-CLOSE-FENCED",
        ),
        (
            Start(A, I1, settings=_SELDOM_BEATING),
            Until(Assigned(A), needed=True),
            Produce(),
            Until(Read(A), needed=True),
            Start("b", I1, settings=_SELDOM_BEATING),
            Until(Assigned("b"), needed=True),
            Produce(),
            Until(ErrorReported(A, "FENCED"), within_ms=8000),
            passed(500),
            Produce(),
            passed(SILENCE_MS),
            *_POLLS_ON,
        ),
        needs=("static", "auto-commit"),
    ),
    _polls_on_after("JoinGroup", *begin_static(), InjectFaults((_REBALANCE, _fence("JoinGroup")))),
    _polls_on_after("SyncGroup", InjectFaults((_fence("SyncGroup"),)), *begin_static()[:1]),
    Scenario(
        "removed-without-commits",
        "An administrator removes a static member that reads and commits nothing.",
        ("CLIENT-REMOVED-COMES-BACK", "CLIENT-REMOVED-TOLD"),
        (
            *begin_static(),
            Produce(),
            Until(Read(A)),
            RemoveMember(A),
            Produce(),
            Until(Calls(A, "JoinGroup")),
            settled(A, needed=False),
        ),
    ),
)
