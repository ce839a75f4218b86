"""List the scenarios of users that commit what they read in transactions, with group metadata."""

from __future__ import annotations

from fencepost.conformance.cases.clients.scenario import (
    Assigned,
    InjectFaults,
    Read,
    Scenario,
    ScenarioStep,
    Until,
)
from fencepost.conformance.cases.clients.scenario_parts import (
    I1,
    SILENCE_MS,
    A,
    begin_static,
    passed,
)
from fencepost.conformance.wire.provocation import Action, Provocation
from fencepost.model.plans.steps import (
    Close,
    CommitInTransaction,
    Produce,
    RemoveMember,
    Settings,
    Start,
)

_NEEDS = ("static", "transactions")
_SELDOM_BEATING = Settings(heartbeat_interval_ms=5000)
"""A member that lost its place learns it from what its user does, not from a heartbeat."""

_BEGIN: tuple[ScenarioStep, ...] = (
    Start(A, I1, settings=_SELDOM_BEATING),
    Until(Assigned(A), needed=True),
    Produce(),
    Until(Read(A), needed=True),
)

TRANSACTIONS = (
    Scenario(
        "transaction-life",
        "A static member reads, and commits in transactions.",
        ("CLIENT-TRANSACTION-MEMBER", "CLIENT-TRANSACTION-NEWEST"),
        (
            Produce(),
            *begin_static(),
            Until(Read(A), needed=True),
            CommitInTransaction(A),
            Produce(),
            Until(Read(A)),
            CommitInTransaction(A),
            passed(500),
            Close(A),
        ),
        needs=_NEEDS,
    ),
    Scenario(
        "replaced-commits-in-transaction",
        "A second process starts with the instance id of a running member, whose user then "
        "commits in a transaction.",
        ("CLIENT-TRANSACTION-FENCED",),
        (
            *_BEGIN,
            Start("b", I1, settings=_SELDOM_BEATING),
            Until(Assigned("b"), needed=True),
            CommitInTransaction(A),
            passed(SILENCE_MS),
        ),
        needs=_NEEDS,
    ),
    Scenario(
        "removed-commits-in-transaction",
        "An administrator removes a static member, whose user then commits in a transaction.",
        ("CLIENT-TRANSACTION-REFUSED",),
        (*_BEGIN, RemoveMember(A), CommitInTransaction(A), passed(SILENCE_MS)),
        needs=_NEEDS,
    ),
    Scenario(
        "illegal-generation-in-transaction",
        "A static member sends offsets of an earlier generation to a transaction.",
        ("CLIENT-TRANSACTION-REFUSED",),
        (
            *_BEGIN,
            InjectFaults(
                (
                    Provocation(
                        "TxnOffsetCommit", Action.ERROR, last=None, code="ILLEGAL_GENERATION"
                    ),
                )
            ),
            CommitInTransaction(A),
            passed(SILENCE_MS),
        ),
        needs=_NEEDS,
    ),
)
