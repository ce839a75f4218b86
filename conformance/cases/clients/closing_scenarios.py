"""List the scenarios of members that close at a bad moment: while they sync, commit or revoke.

What rests on a moment is forced: the served broker holds the request back, or delays its answer.
"""

from __future__ import annotations

from fencepost.conformance.cases.clients.scenario import (
    Calls,
    InjectFaults,
    Parked,
    Scenario,
    Setting,
    Settled,
    Until,
)
from fencepost.conformance.cases.clients.scenario_parts import (
    A1,
    I1,
    A,
    begin_static,
    passed,
    settled,
)
from fencepost.conformance.wire.provocation import Action, Provocation
from fencepost.model.plans.steps import Close, Produce, Settings, Start, StopPolling

_LATE_MS = 6000
_TIMEOUT_MS = 3000
_AGAIN_MS = 6000
"""Ms within which a member that came back, and another one, have all partitions."""
_WITHOUT_SKIPS = Setting(as_of="3.1")
"""A broker below JoinGroup 9: a leader that came back may else join once more by itself."""

CLOSING = (
    Scenario(
        "closes-while-syncing",
        "A static member closes while its SyncGroup is parked.",
        ("CLIENT-CLOSE-IN-TIME", "CLIENT-CLOSE-STATIC-STAYS"),
        (
            *begin_static(),
            InjectFaults(
                (
                    Provocation("Heartbeat", Action.ERROR, A1, code="REBALANCE_IN_PROGRESS"),
                    Provocation("SyncGroup", Action.DELAY, A1, ms=_LATE_MS),
                )
            ),
            Until(Parked(A, "SyncGroup"), needed=True),
            Close(A, timeout_ms=_TIMEOUT_MS),
            passed(500),
        ),
    ),
    Scenario(
        "closes-while-committing",
        "A static member closes while its OffsetCommit is parked.",
        ("CLIENT-CLOSE-IN-TIME", "CLIENT-CLOSE-STATIC-STAYS"),
        (
            *begin_static(Settings(auto_commit_ms=300)),
            InjectFaults((Provocation("OffsetCommit", Action.DELAY, A1, last=None, ms=_LATE_MS),)),
            Produce(),
            Until(Parked(A, "OffsetCommit"), needed=True),
            Close(A, timeout_ms=_TIMEOUT_MS),
            passed(500),
        ),
        needs=("static", "auto-commit"),
    ),
    Scenario(
        "closes-again",
        "The user of a dynamic member closes it twice.",
        ("CLIENT-CLOSE-AGAIN",),
        (Start(A), settled(A), Close(A, timeout_ms=_TIMEOUT_MS, twice=True), passed(500)),
        needs=("close-twice",),
    ),
    Scenario(
        "closes-in-revoke-callback",
        "A static member must revoke partitions, closes while its user is busy with that, and "
        "restarts.",
        ("CLIENT-CLOSE-REVOKED",),
        (
            *begin_static(),
            StopPolling(A),
            Start("b", "i-2"),
            Until(Calls(A, "SyncGroup"), within_ms=4000),
            passed(500),
            Close(A, timeout_ms=_TIMEOUT_MS),
            Start(A, I1),
            Until(Settled((A, "b")), within_ms=_AGAIN_MS),
            passed(500),
        ),
        assignor="cooperative",
        broker=_WITHOUT_SKIPS,
    ),
    Scenario(
        "closes-after-revoking",
        "A static member revokes partitions, closes before its next JoinGroup is handled, and "
        "restarts.",
        ("CLIENT-CLOSE-REVOKED",),
        (
            *begin_static(),
            InjectFaults((Provocation("JoinGroup", Action.HOLD, A1, first=2),)),
            Start("b", "i-2"),
            Until(Calls(A, "JoinGroup", 2), needed=True),
            Close(A, timeout_ms=_TIMEOUT_MS),
            Start(A, I1),
            Until(Settled((A, "b")), within_ms=_AGAIN_MS),
            passed(500),
        ),
        assignor="cooperative",
        broker=_WITHOUT_SKIPS,
    ),
)
