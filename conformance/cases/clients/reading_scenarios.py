"""List the scenarios of members that read, whatever befalls the group.

The obligations say who reads which records, and from where on.
"""

from __future__ import annotations

from fencepost.conformance.cases.clients.scenario import (
    TOPIC,
    Answered,
    Calls,
    CaughtUp,
    InjectFaults,
    Scenario,
    ScenarioStep,
    Until,
    client_id,
)
from fencepost.conformance.cases.clients.scenario_parts import A1, SILENCE_MS, A, passed, settled
from fencepost.conformance.wire.provocation import Action, Provocation
from fencepost.model.plans.steps import (
    ClearFaults,
    Close,
    Commit,
    Crash,
    PausePartitions,
    Produce,
    ResumePartitions,
    ResumePolling,
    Start,
    StopPolling,
)

READS = (
    "CLIENT-READ-ASSIGNED",
    "CLIENT-READ-NOTHING-ELSE",
    "CLIENT-READ-NO-GAP",
    "CLIENT-READ-NOT-TWICE",
)
"""Obligations of everybody who reads."""

ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative")
_B, _C = "b", "c"
_READ_MS = 12_000
_REBALANCE_MS = 1500
"""Time in which a rebalance ends, and half a second more: records of a request that was under way
come late then."""
_FIRST = ((TOPIC, 0),)


def read_all(*consumers: str) -> tuple[ScenarioStep, ...]:
    """Append records, and wait until these have read what they are assigned."""
    return Produce(2), Until(CaughtUp(consumers), _READ_MS)


def commit_all(*consumers: str) -> tuple[ScenarioStep, ...]:
    """Read all, and commit it."""
    return *read_all(*consumers), *map(Commit, consumers)


def _named(base: str, assignor: str) -> str:
    return base if assignor == "range" else f"{base}-{assignor}"


def _reading(
    name: str,
    about: str,
    *acts: ScenarioStep,
    needs: tuple[str, ...] = ("manual-commit",),
    assignor: str | None = None,
) -> Scenario:
    """Make a scenario that holds its members to all obligations of readers."""
    return Scenario(name, about, READS, acts, needs=needs, assignor=assignor, reads=True)


def _joined(assignor: str) -> Scenario:
    """Let a member keep some of its partitions when another one joins, and a third."""
    return _reading(
        _named("reads-while-others-join", assignor),
        "A member reads and commits; a second member joins, then a third; all read and commit, "
        f"with assignor {assignor}.",
        Start(A),
        settled(A),
        *commit_all(A),
        *read_all(A),
        Start(_B),
        passed(_REBALANCE_MS),
        settled(A, _B),
        *commit_all(A, _B),
        Start(_C),
        settled(A, _B, _C),
        *read_all(A, _B, _C),
        assignor=assignor,
    )


def _left(assignor: str) -> Scenario:
    return _reading(
        _named("reads-what-others-leave", assignor),
        "Three members read and commit; two of them close, one after the other, with assignor "
        f"{assignor}.",
        *(Start(name) for name in (A, _B, _C)),
        settled(A, _B, _C),
        *commit_all(A, _B, _C),
        Close(_C),
        settled(A, _B),
        *commit_all(A, _B),
        Close(A),
        settled(_B),
        *read_all(_B),
        assignor=assignor,
    )


def _restarted(assignor: str) -> Scenario:
    return _reading(
        _named("reads-after-restart", assignor),
        "Two static members read and commit; one restarts, then the other, with assignor "
        f"{assignor}.",
        Start(A, "i-1"),
        settled(A),
        Start(_B, "i-2"),
        settled(A, _B),
        *commit_all(A, _B),
        Close(_B),
        Produce(2),
        Start(_B, "i-2"),
        settled(A, _B, needed=False),
        *commit_all(A, _B),
        Close(A),
        Produce(2),
        Start(A, "i-1"),
        settled(A, _B, needed=False),
        *read_all(A, _B),
        needs=("static", "manual-commit"),
        assignor=assignor,
    )


def _provoked(api: str, name: str, about: str, *provocations: Provocation) -> Scenario:
    """Let a second member go on where the first one committed, and the provocations happen."""
    return _reading(
        f"reads-after-{name}",
        f"A member starts at the committed offset of another one; {about}.",
        Start(A),
        settled(A),
        *commit_all(A),
        Close(A),
        Produce(2),
        InjectFaults(provocations),
        Start(_B),
        Until(Calls(_B, api), needed=True),
        settled(_B, needed=False),
        *read_all(_B),
    )


def _refused(api: str, code: str, first: int = 1, last: int = 1) -> Scenario:
    error = Provocation(api, Action.ERROR, client_id(_B, 1), first=first, last=last, code=code)
    name = f"{code.lower().replace('_', '-')}-in-{api.lower()}"
    return _provoked(api, name, f"its {api} is answered {code}", error)


def _lost(api: str) -> Scenario:
    lost = Provocation(api, Action.LOSE, client_id(_B, 1))
    return _provoked(api, f"lost-{api.lower()}", f"the answer to its {api} is lost", lost)


def _positions_fail(code: str) -> Scenario:
    """Refuse ListOffsets: nothing was committed, so a member has to ask the log."""
    error = Provocation("ListOffsets", Action.ERROR, A1, last=2, code=code)
    return _reading(
        f"reads-after-{code.lower().replace('_', '-')}-in-listoffsets",
        f"A member starts without a committed offset, and gets {code} in ListOffsets.",
        Produce(2),
        InjectFaults((error,)),
        Start(A),
        settled(A, needed=False),
        *read_all(A),
        needs=(),
    )


_FETCH_ERRORS = ("NOT_LEADER_FOR_PARTITION", "UNKNOWN_TOPIC_OR_PARTITION", "KAFKA_STORAGE_ERROR")
_OFFSET_FETCH_ERRORS = (
    "NOT_COORDINATOR",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "UNSTABLE_OFFSET_COMMIT",
)

READING = (
    *map(_joined, ASSIGNORS),
    *map(_left, ASSIGNORS),
    *map(_restarted, ASSIGNORS),
    _reading(
        "reads-after-close",
        "A member reads and commits, reads more and closes; another member reads on.",
        Start(A),
        settled(A),
        *commit_all(A),
        *read_all(A),
        Close(A),
        Produce(2),
        Start(_B),
        settled(_B),
        *read_all(_B),
    ),
    _reading(
        "reads-after-crash",
        "The process of a static member that reads and commits is killed and restarts.",
        Start(A, "i-1"),
        settled(A),
        Start(_B, "i-2"),
        settled(A, _B),
        *commit_all(A, _B),
        Crash(_B),
        Produce(2),
        Start(_B, "i-2"),
        settled(A, _B, needed=False),
        *read_all(A, _B),
        needs=("static", "manual-commit"),
    ),
    _reading(
        "reads-after-pause",
        "The user of one of two members doesn't poll for a while, and polls on.",
        Start(A),
        Start(_B),
        settled(A, _B),
        *commit_all(A, _B),
        StopPolling(A),
        Produce(2),
        passed(SILENCE_MS),
        ResumePolling(A),
        *read_all(A, _B),
    ),
    _reading(
        "reads-nothing-revoked",
        "A member waits for its committed offsets and must revoke its partitions; the offsets "
        "come while its user is busy.",
        InjectFaults(
            (
                Provocation(
                    "OffsetFetch", Action.ERROR, A1, last=None, code="UNSTABLE_OFFSET_COMMIT"
                ),
            )
        ),
        Start(A),
        Until(Calls(A, "OffsetFetch"), needed=True),
        StopPolling(A),
        Start(_B),
        Until(Answered(A, "Heartbeat", "REBALANCE_IN_PROGRESS"), needed=True),
        passed(300),
        ClearFaults(),
        passed(2000),
        ResumePolling(A),
        settled(A, _B, needed=False),
        *read_all(A, _B),
        needs=(),
    ),
    Scenario(
        "reads-when-resumed",
        "The user of a member pauses a partition, and resumes it later.",
        ("CLIENT-READ-PAUSED", "CLIENT-READ-RESUMED", *READS[1:]),
        (
            Start(A),
            settled(A),
            *read_all(A),
            PausePartitions(A, _FIRST),
            passed(_REBALANCE_MS),
            Produce(2),
            passed(SILENCE_MS),
            ResumePartitions(A, _FIRST),
            *read_all(A),
        ),
        needs=("pause",),
        reads=True,
    ),
    *(_refused("OffsetFetch", code, last=2) for code in _OFFSET_FETCH_ERRORS),
    *(_refused("Fetch", code, first=2, last=3) for code in _FETCH_ERRORS),
    *map(_lost, ("OffsetFetch", "Fetch")),
    *map(_positions_fail, ("NOT_LEADER_FOR_PARTITION", "UNKNOWN_TOPIC_OR_PARTITION")),
)
