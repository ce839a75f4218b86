"""Scenarios in which something goes wrong: errors, lost answers, another process, removal."""

from __future__ import annotations

from fencepost.conformance.cases.clients.ordinary import (
    A1,
    I1,
    SILENCE_MS,
    A,
    begun,
    passed,
    settled,
)
from fencepost.conformance.cases.clients.provocation import Action, Provocation
from fencepost.conformance.cases.clients.scenario import Scenario, Setting
from fencepost.conformance.cases.clients.scenario_steps import (
    Answered,
    AnyAct,
    Assigned,
    Await,
    Calls,
    Close,
    Commit,
    Expire,
    Load,
    Move,
    NotAvailable,
    PollOn,
    Produce,
    Provoke,
    Read,
    Remove,
    Settings,
    Start,
    Told,
)

_JOIN, _SYNC, _HEARTBEAT, _COMMIT = "JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit"
_FENCED, _UNKNOWN, _GENERATION, _REBALANCE = (
    "FENCED_INSTANCE_ID",
    "UNKNOWN_MEMBER_ID",
    "ILLEGAL_GENERATION",
    "REBALANCE_IN_PROGRESS",
)
_OUTAGE = ("CLIENT-JOIN-BACKOFF", "CLIENT-JOIN-SILENT")
_OUTAGE_MS = 2500
_COMMITTING = Settings(auto_commit_ms=300)
_SELDOM_BEATING = Settings(heartbeat_interval_ms=5000)
"""A member that was replaced learns it from what its user does, not from a heartbeat."""


def _error(api: str, code: str, last: int | None = 1) -> Provocation:
    return Provocation(api, Action.ERROR, A1, last=last, code=code)


def _told_in(name: str, api: str, code: str, *obligations: str) -> Scenario:
    """A member is answered an error once, and is expected to be back afterwards."""
    provoked = [_error(api, code)]
    if api == _JOIN:
        provoked.insert(0, _error(_HEARTBEAT, _REBALANCE))
    act = Provoke(tuple(provoked))
    start = begun()
    return Scenario(
        f"{name}-in-{api.lower().removesuffix('group')}",
        f"A static member is answered {code} in {api}.",
        obligations,
        (
            *((act, *start[:1]) if api == _SYNC else (*start, act)),
            Await(Answered(A, api, code), needed=True),
            Await(Calls(A, _JOIN)),
            settled(A, needed=False),
        ),
    )


def _fenced_in(api: str, *begin: AnyAct) -> Scenario:
    return Scenario(
        f"fenced-in-{api.lower().removesuffix('group')}",
        f"A static member is answered {_FENCED} in {api}.",
        (f"CLIENT-FENCED-{api.upper().removesuffix('GROUP')}", "CLIENT-FENCED-NO-JOIN"),
        (
            *begin,
            Await(Answered(A, api, _FENCED), needed=True),
            Await(Told(A, "FENCED"), within_ms=5000),
            passed(SILENCE_MS),
        ),
    )


_COMMIT_FENCED = Scenario(
    "fenced-in-offsetcommit",
    f"A static member is answered {_FENCED} in an OffsetCommit that its user asked for.",
    ("CLIENT-FENCED-COMMIT",),
    (
        Produce(),
        *begun(),
        Await(Read(A), needed=True),
        Provoke((_error(_COMMIT, _FENCED, last=None),)),
        Commit(A),
        passed(SILENCE_MS),
    ),
    needs=("static", "manual-commit"),
)

_COMES_BACK = (
    Await(Assigned(A), within_ms=8000),
    PollOn(A),  # a user whose library raises an error may have a loop that goes on
    settled(A, needed=False),
)

TROUBLE = (
    Scenario(
        "two-processes",
        "A second process is started with the instance id of a running one.",
        (
            "CLIENT-FENCED-HEARTBEAT",
            "CLIENT-FENCED-NO-JOIN",
            "CLIENT-FENCED-QUIET",
            "CLIENT-FENCED-NO-RECORDS",
            "CLIENT-FENCED-POLLED-ON",
            "CLIENT-FENCED-TAKEOVERS",
            "CLIENT-CLOSE-FENCED",
        ),
        (
            *begun(),
            Produce(),
            Await(Read(A)),
            Start("b", I1),
            Await(Assigned("b"), needed=True),
            Await(Told(A, "FENCED"), within_ms=6000),
            passed(500),
            Produce(),
            passed(SILENCE_MS),
            PollOn(A),
            passed(500),
            Produce(),
            passed(SILENCE_MS),
            Close(A),
            passed(500),
        ),
    ),
    Scenario(
        "two-processes-commit",
        "A second process is started with the instance id of one that reads and commits.",
        (
            "CLIENT-FENCED-QUIET",
            "CLIENT-FENCED-NO-RECORDS",
            "CLIENT-FENCED-NO-COMMITS",
            "CLIENT-FENCED-TAKEOVERS",
        ),
        (
            *begun(_COMMITTING),
            Produce(),
            Await(Read(A)),
            Start("b", I1, settings=_COMMITTING),
            Produce(),
            Await(Told(A, "FENCED"), within_ms=6000),
            passed(500),
            Produce(),
            passed(SILENCE_MS),
            PollOn(A),
            passed(SILENCE_MS),
            Close(A),
            passed(500),
        ),
    ),
    Scenario(
        "replaced-commits",
        "A second process is started with the instance id of a running one, whose user then "
        "commits.",
        ("CLIENT-FENCED-LATE-COMMIT",),
        (
            Start(A, I1, settings=_SELDOM_BEATING),
            Await(Assigned(A), needed=True),
            Produce(),
            Await(Read(A), needed=True),
            Start("b", I1, settings=_SELDOM_BEATING),
            Await(Assigned("b"), needed=True),
            Commit(A),
            passed(SILENCE_MS),
        ),
        needs=("static", "manual-commit"),
    ),
    _fenced_in(
        _JOIN, *begun(), Provoke((_error(_HEARTBEAT, _REBALANCE), _error(_JOIN, _FENCED, None)))
    ),
    _fenced_in(_SYNC, Provoke((_error(_SYNC, _FENCED),)), *begun()[:1]),
    _COMMIT_FENCED,
    Scenario(
        "removed",
        "An administrator removes a static member that reads and commits.",
        ("CLIENT-REMOVED-COMES-BACK", "CLIENT-REMOVED-NO-COMMITS", "CLIENT-REMOVED-TOLD"),
        (
            *begun(_COMMITTING),
            Produce(),
            Await(Read(A)),
            Remove(A),
            Produce(),
            Await(Calls(A, _JOIN)),
            settled(A, needed=False),
        ),
    ),
    Scenario(
        "expired",
        "The session of a static member ends at the coordinator.",
        ("CLIENT-REMOVED-EXPIRED", "CLIENT-REMOVED-NO-COMMITS", "CLIENT-REMOVED-TOLD"),
        (
            *begun(_COMMITTING),
            Produce(),
            Await(Read(A)),
            Expire(A),
            Produce(),
            Await(Calls(A, _JOIN)),
            settled(A, needed=False),
        ),
    ),
    Scenario(
        "join-answer-lost",
        "The answer to the JoinGroup of a static member is lost.",
        ("CLIENT-JOIN-LOST-ANSWER", "CLIENT-JOIN-SILENT"),
        (Provoke((Provocation(_JOIN, Action.LOSE, A1),)), Start(A, I1), *_COMES_BACK),
    ),
    Scenario(
        "join-cut",
        "The connection of a static member is cut while its JoinGroup is parked.",
        ("CLIENT-JOIN-CUT", "CLIENT-JOIN-SILENT"),
        (Provoke((Provocation(_JOIN, Action.CUT, A1, ms=500),)), Start(A, I1), *_COMES_BACK),
        broker=Setting(delay_ms=2000),
    ),
    *(
        _told_in(
            "unknown-member",
            api,
            _UNKNOWN,
            "CLIENT-JOIN-UNKNOWN-MEMBER",
            "CLIENT-JOIN-UNKNOWN-EMPTY",
        )
        for api in (_HEARTBEAT, _SYNC, _JOIN)
    ),
    *(
        _told_in("illegal-generation", api, _GENERATION, "CLIENT-JOIN-ILLEGAL-GENERATION")
        for api in (_HEARTBEAT, _SYNC)
    ),
    *(
        _told_in("rebalance", api, _REBALANCE, "CLIENT-JOIN-REBALANCE")
        for api in (_HEARTBEAT, _SYNC)
    ),
    Scenario(
        "coordinator-moves",
        "The coordinator moves to another node.",
        ("CLIENT-JOIN-COORDINATOR", "CLIENT-JOIN-SILENT"),
        (*begun(), Move(), passed(SILENCE_MS), settled(A, needed=False)),
        broker=Setting(nodes=2),
    ),
    Scenario(
        "coordinator-not-available",
        "No coordinator is available for a while.",
        ("CLIENT-JOIN-COORDINATOR", *_OUTAGE),
        (*begun(), NotAvailable(_OUTAGE_MS), passed(_OUTAGE_MS), settled(A, needed=False)),
    ),
    Scenario(
        "coordinator-loads",
        "The coordinator loads for a while, and a member goes on and another starts.",
        ("CLIENT-JOIN-LOADING", *_OUTAGE),
        (
            *begun(_COMMITTING),
            Produce(),
            Load(_OUTAGE_MS),
            Start("b", "i-2", settings=_COMMITTING),
            passed(_OUTAGE_MS),
            settled(A, "b", needed=False),
        ),
    ),
)
