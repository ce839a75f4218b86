"""Scenarios of ordinary days: a life, a close, a session, several members in one process."""

from __future__ import annotations

from fencepost.conformance.cases.clients.provocation import Action, Provocation
from fencepost.conformance.cases.clients.scenario import Scenario, Setting, client_id
from fencepost.conformance.cases.clients.scenario_steps import (
    AnyAct,
    Await,
    Calls,
    Close,
    Commit,
    NotAvailable,
    Parked,
    Passed,
    PollOn,
    Produce,
    Provoke,
    Read,
    Restart,
    Settings,
    Settled,
    Start,
    StopPolling,
    Unsubscribe,
)

A = "a"
I1 = "i-1"
A1 = client_id(A, 1)
SILENCE_MS = 1500
"""So long nothing must happen that should not."""

_STATIC = (
    "CLIENT-IDENTITY-AS-SET",
    "CLIENT-IDENTITY-EVERY-REQUEST",
    "CLIENT-IDENTITY-VERSIONS",
    "CLIENT-JOIN-EMPTY-FIRST",
    "CLIENT-CLOSE-STATIC-STAYS",
    "CLIENT-CLOSE-IN-TIME",
    "CLIENT-SESSION-TIMEOUT",
    "CLIENT-SESSION-REBALANCE-TIMEOUT",
)
_DYNAMIC = (
    "CLIENT-IDENTITY-DYNAMIC",
    "CLIENT-JOIN-EMPTY-FIRST",
    "CLIENT-JOIN-ID-REQUIRED",
    "CLIENT-CLOSE-DYNAMIC-LEAVES",
    "CLIENT-CLOSE-IN-TIME",
)
_ANSWERED = (
    "ApiVersions",
    "FindCoordinator",
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "OffsetCommit",
    "OffsetFetch",
    "ListOffsets",
)


def settled(*consumers: str, needed: bool = True) -> Await:
    """Wait until these are the whole group."""
    return Await(Settled(consumers), needed=needed)


def begun(settings: Settings | None = None) -> tuple[AnyAct, ...]:
    """One static member in a group of its own."""
    return Start(A, I1, settings=settings or Settings()), settled(A)


def passed(ms: int) -> Await:
    """Let so much time pass."""
    return Await(Passed(ms), within_ms=ms + 1000)


def _silence(*apis: str) -> tuple[Provocation, ...]:
    """Answer nothing any more."""
    return tuple(Provocation(api, Action.DELAY, last=None, ms=60_000) for api in apis)


_LIFE: tuple[AnyAct, ...] = (
    settled(A),
    Await(Read(A)),
    Commit(A),
    Await(Calls(A, "Heartbeat", 2)),
    Close(A),
    passed(500),
)

ORDINARY = (
    Scenario(
        "static-life",
        "A static member joins, reads, commits, and closes.",
        _STATIC,
        (Produce(), Start(A, I1), *_LIFE),
    ),
    Scenario(
        "dynamic-life",
        "A dynamic member joins, reads, commits, and closes.",
        _DYNAMIC,
        (Produce(), Start(A), *_LIFE),
        needs=(),
    ),
    Scenario(
        "unsubscribes",
        "The user of a static member unsubscribes.",
        ("CLIENT-CLOSE-UNSUBSCRIBED-STAYS",),
        (*begun(), Unsubscribe(A), passed(SILENCE_MS)),
    ),
    Scenario(
        "closes-in-rebalance",
        "A static member closes while its JoinGroup is parked.",
        ("CLIENT-CLOSE-REBALANCING",),
        (
            *begun(),
            Provoke(
                (
                    Provocation("Heartbeat", Action.ERROR, A1, code="REBALANCE_IN_PROGRESS"),
                    Provocation("JoinGroup", Action.DELAY, A1, ms=6000),
                )
            ),
            Await(Parked(A, "JoinGroup"), needed=True),
            Close(A, timeout_ms=3000),
            passed(500),
        ),
    ),
    Scenario(
        "closes-after-error",
        "A static member that has something to commit closes while no coordinator is available.",
        ("CLIENT-CLOSE-IN-TIME", "CLIENT-CLOSE-STATIC-STAYS"),
        (
            *begun(Settings(auto_commit_ms=300)),
            NotAvailable(30_000),
            Produce(),
            Await(Read(A), within_ms=3000),
            Await(Calls(A, "FindCoordinator"), needed=True),
            Close(A, timeout_ms=3000),
            passed(500),
        ),
    ),
    Scenario(
        "closes-without-broker",
        "A static member closes while it commits, and its broker answers nothing any more.",
        ("CLIENT-CLOSE-BROKER-GONE",),
        (
            *begun(Settings(auto_commit_ms=300)),
            Provoke(_silence(*_ANSWERED)),
            Produce(),
            Await(Read(A), within_ms=3000),
            Await(Parked(A, "OffsetCommit"), within_ms=3000),
            Provoke(_silence("Fetch", "Metadata")),
            passed(300),
            Close(A, timeout_ms=3000),
        ),
    ),
    Scenario(
        "works-long",
        "The user works for longer than the session timeout, and shorter than the poll interval.",
        ("CLIENT-SESSION-HEARTBEATS",),
        (
            *begun(Settings(session_timeout_ms=3000, max_poll_interval_ms=20_000)),
            StopPolling(A),
            passed(5000),
            PollOn(A),
            passed(500),
        ),
    ),
    Scenario(
        "works-too-long",
        "The user works for longer than the poll interval, until the session is over, and goes on.",
        (
            "CLIENT-SESSION-POLL-INTERVAL",
            "CLIENT-SESSION-STATIC-SILENT",
            "CLIENT-SESSION-POLLS-ON",
        ),
        (
            *begun(Settings(session_timeout_ms=3000, max_poll_interval_ms=4000)),
            StopPolling(A),
            passed(10_000),
            PollOn(A),
            Await(Calls(A, "JoinGroup")),
            settled(A, needed=False),
        ),
    ),
    Scenario(
        "streams-process",
        "A process with three static members is rolled, beside another member.",
        ("CLIENT-STREAMS-OWN-IDS", "CLIENT-STREAMS-ROLLED"),
        (
            Start("other", "other"),
            settled("other"),
            *(Start(f"s-{n}", f"s-{n}", "streams") for n in (1, 2, 3)),
            settled("other", "s-1", "s-2", "s-3"),
            *(Close(f"s-{n}") for n in (1, 2, 3)),
            *(Start(f"s-{n}", f"s-{n}", "streams") for n in (1, 2, 3)),
            settled("other", "s-1", "s-2", "s-3", needed=False),
            passed(500),
        ),
    ),
    Scenario(
        "old-broker",
        "Two processes with one instance id start at a broker without static members.",
        ("CLIENT-OLD-BROKER-NOT-TWICE", "CLIENT-OLD-BROKER-TOLD"),
        (Start(A, I1), Start("b", I1), passed(6000)),
        broker=Setting(as_of="2.2"),
    ),
    Scenario(
        "older-broker-after-restart",
        "The broker comes back as an older release that knows static members.",
        ("CLIENT-OLD-BROKER-RESTARTED", "CLIENT-IDENTITY-NEWEST"),
        (
            Produce(),
            *begun(),
            Await(Read(A)),
            Commit(A),
            Restart(as_of="2.3", down_ms=300),
            passed(500),
            settled(A, needed=False),
            Produce(),
            Await(Read(A)),
            Commit(A),
        ),
    ),
)
