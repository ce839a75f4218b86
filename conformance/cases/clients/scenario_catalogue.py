"""List all scenarios in order, and select some by patterns.

First come ordinary days (a run, a close, a session, several members in one process), then restarts
and the assignments of leaders for each assignor, then errors, lost answers, another process and
removals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

import msgspec

from fencepost.conformance.cases.clients.backoff_scenarios import BACKOFFS
from fencepost.conformance.cases.clients.bytes_scenarios import BYTES
from fencepost.conformance.cases.clients.closing_scenarios import CLOSING
from fencepost.conformance.cases.clients.commit_scenarios import COMMITS
from fencepost.conformance.cases.clients.fencing_scenarios import FENCING
from fencepost.conformance.cases.clients.generation_scenarios import GENERATIONS
from fencepost.conformance.cases.clients.reading_scenarios import READING, READS
from fencepost.conformance.cases.clients.scenario import (
    Answered,
    Assigned,
    Calls,
    ErrorReported,
    InjectFaults,
    Parked,
    Read,
    Scenario,
    ScenarioStep,
    Setting,
    Until,
    client_id,
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
from fencepost.conformance.cases.clients.topic_scenarios import TOPICS
from fencepost.conformance.cases.clients.transaction_scenarios import TRANSACTIONS
from fencepost.conformance.wire.provocation import Action, Provocation
from fencepost.model.bad_input import BadInputError
from fencepost.model.plans.steps import (
    Close,
    Commit,
    Crash,
    ExpireSession,
    Failover,
    Loading,
    Produce,
    RemoveMember,
    RestartBroker,
    ResumePolling,
    Settings,
    Start,
    StopPolling,
    Unavailable,
    Unsubscribe,
)
from fencepost.model.suggestions import did_you_mean
from fencepost.properties.requirements.requirement import Members
from fencepost.properties.requirements.requirements import find_requirement

_STATIC = (
    "CLIENT-IDENTITY-AS-SET",
    "CLIENT-IDENTITY-EVERY-REQUEST",
    "CLIENT-IDENTITY-VERSIONS",
    "CLIENT-CLOSE-STATIC-STAYS",
)
_EITHER = (
    "CLIENT-JOIN-EMPTY-FIRST",
    "CLIENT-CLOSE-IN-TIME",
    "CLIENT-SESSION-TIMEOUT",
    "CLIENT-SESSION-REBALANCE-TIMEOUT",
    "CLIENT-BYTES-SUBSCRIPTION",
    "CLIENT-BYTES-ASSIGNMENT",
)
_DYNAMIC = (
    "CLIENT-IDENTITY-DYNAMIC",
    "CLIENT-JOIN-ID-REQUIRED",
    "CLIENT-CLOSE-DYNAMIC-LEAVES",
)
_READ_ONCE = ("CLIENT-READ-NOTHING-ELSE", "CLIENT-READ-NO-GAP")
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


def _silence(*apis: str) -> tuple[Provocation, ...]:
    """Delay all further answers to these APIs beyond the end of the scenario."""
    return tuple(Provocation(api, Action.DELAY, last=None, ms=60_000) for api in apis)


_RUN: tuple[ScenarioStep, ...] = (
    settled(A),
    Until(Read(A)),
    Commit(A),
    Until(Calls(A, "Heartbeat", 2)),
    Close(A),
    passed(500),
)


def _works_too_long(*meanwhile: ScenarioStep) -> tuple[ScenarioStep, ...]:
    return (
        *begin_static(Settings(session_timeout_ms=3000, max_poll_interval_ms=4000)),
        StopPolling(A),
        *meanwhile,
        passed(10_000),
        ResumePolling(A),
        Until(Calls(A, "JoinGroup")),
        settled(A, needed=False),
    )


ORDINARY = (
    Scenario(
        "static-life",
        "A static member joins, reads, commits, and closes.",
        (*_STATIC, *_EITHER, *_READ_ONCE),
        (Produce(), Start(A, I1), *_RUN),
    ),
    Scenario(
        "dynamic-life",
        "A dynamic member joins, reads, commits, and closes.",
        (*_DYNAMIC, *_EITHER, *_READ_ONCE),
        (Produce(), Start(A), *_RUN),
        needs=(),
    ),
    Scenario(
        "unsubscribes",
        "The user of a static member unsubscribes.",
        ("CLIENT-CLOSE-UNSUBSCRIBED-STAYS",),
        (*begin_static(), Unsubscribe(A), passed(SILENCE_MS)),
    ),
    Scenario(
        "closes-in-rebalance",
        "A static member closes while its JoinGroup is parked.",
        ("CLIENT-CLOSE-REBALANCING",),
        (
            *begin_static(),
            InjectFaults(
                (
                    Provocation("Heartbeat", Action.ERROR, A1, code="REBALANCE_IN_PROGRESS"),
                    Provocation("JoinGroup", Action.DELAY, A1, ms=6000),
                )
            ),
            Until(Parked(A, "JoinGroup"), needed=True),
            Close(A, timeout_ms=3000),
            passed(500),
        ),
    ),
    Scenario(
        "closes-after-error",
        "A static member with offsets to commit closes while no coordinator is available.",
        ("CLIENT-CLOSE-IN-TIME", "CLIENT-CLOSE-STATIC-STAYS"),
        (
            *begin_static(Settings(auto_commit_ms=300)),
            Unavailable(30_000),
            Produce(),
            Until(Read(A), within_ms=3000),
            Until(Calls(A, "FindCoordinator"), needed=True),
            Close(A, timeout_ms=3000),
            passed(500),
        ),
    ),
    Scenario(
        "closes-without-broker",
        "A static member closes while it commits, and its broker no longer answers.",
        ("CLIENT-CLOSE-BROKER-GONE",),
        (
            *begin_static(Settings(auto_commit_ms=300)),
            InjectFaults(_silence(*_ANSWERED)),
            Produce(),
            Until(Read(A), within_ms=3000),
            Until(Parked(A, "OffsetCommit"), within_ms=3000),
            InjectFaults(_silence("Fetch", "Metadata")),
            passed(300),
            Close(A, timeout_ms=3000),
        ),
    ),
    Scenario(
        "works-long",
        "A user works for longer than the session timeout, and shorter than the poll interval.",
        ("CLIENT-SESSION-HEARTBEATS", *READS),
        (
            *begin_static(Settings(session_timeout_ms=3000, max_poll_interval_ms=20_000)),
            StopPolling(A),
            passed(5000),
            ResumePolling(A),
            passed(500),
        ),
        reads=True,
    ),
    Scenario(
        "works-too-long",
        "A user works for longer than the poll interval, until the session expires, and polls on.",
        # A library that calls its user with records alone does not call it here, so this can't
        # show that heartbeats end while it works.
        ("CLIENT-SESSION-STATIC-SILENT", "CLIENT-SESSION-POLLS-ON"),
        _works_too_long(),
    ),
    Scenario(
        "works-too-long-at-records",
        "The user of a static member works on a record for longer than the poll interval, until "
        "the session expires, and polls on.",
        (
            "CLIENT-SESSION-POLL-INTERVAL",
            "CLIENT-SESSION-STATIC-SILENT",
            "CLIENT-SESSION-POLLS-ON",
        ),
        _works_too_long(Produce()),
    ),
    Scenario(
        "streams-process",
        "A process with three static members restarts, while another member runs.",
        ("CLIENT-STREAMS-OWN-IDS", "CLIENT-STREAMS-ROLLED", *READS),
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
        reads=True,
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
        "The broker restarts as Kafka 2.3, an older release.",
        ("CLIENT-OLD-BROKER-RESTARTED", "CLIENT-IDENTITY-NEWEST", *READS),
        (
            Produce(),
            *begin_static(),
            Until(Read(A)),
            Commit(A),
            RestartBroker(as_of="2.3", down_ms=300),
            passed(500),
            settled(A, needed=False),
            Produce(),
            Until(Read(A)),
            Commit(A),
        ),
        reads=True,
    ),
)


RESTART_ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative")
"""Assignors of the restarts; `cooperative` is whichever cooperative one a library has."""

_A, _B, _C = (("a", "i-1"), ("b", "i-2"), ("c", "i-3"))
_LEADER = (
    "CLIENT-LEADER-MEMBERS",
    "CLIENT-LEADER-ONCE",
    "CLIENT-LEADER-WHOLE",
    "CLIENT-BYTES-SUBSCRIPTION",
    "CLIENT-BYTES-ASSIGNMENT",
)


def _group(*members: tuple[str, str]) -> tuple[ScenarioStep, ...]:
    """Start members one after the other; the first one leads."""
    acts: list[ScenarioStep] = []
    for index, (name, instance) in enumerate(members):
        acts += [Start(name, instance), settled(*(m for m, _ in members[: index + 1]))]
    return tuple(acts)


def _restart(name: str, instance: str, *group: tuple[str, str]) -> tuple[ScenarioStep, ...]:
    return (
        Close(name),
        Start(name, instance),
        settled(*(member for member, _ in group), needed=False),
    )


def _scenario_id(base: str, assignor: str) -> str:
    return base if assignor == "range" else f"{base}-{assignor}"


def _follower_restart(assignor: str) -> Scenario:
    requirements: tuple[str, ...] = ("CLIENT-RESTART-FOLLOWER", *READS)
    if assignor == "cooperative":
        requirements += ("CLIENT-RESTART-COOPERATIVE",)
    return Scenario(
        _scenario_id("follower-restarts", assignor),
        f"A follower closes and restarts, with assignor {assignor}.",
        requirements,
        (*_group(_A, _B), *_restart(*_B, _A, _B), passed(1000)),
        assignor=assignor,
        reads=True,
    )


def _rolling_restart(assignor: str) -> Scenario:
    requirements: tuple[str, ...] = ("CLIENT-RESTART-ALL", *_LEADER, *READS)
    if assignor == "cooperative":
        requirements += ("CLIENT-LEADER-COOPERATIVE",)
    acts = [act for member in (_B, _A, _C) for act in _restart(*member, _A, _B, _C)]
    return Scenario(
        _scenario_id("all-restart", assignor),
        f"Three members restart one after the other, with assignor {assignor}.",
        requirements,
        (
            *_group(_A, _B, _C),
            *acts,
            passed(500),
        ),
        assignor=assignor,
        reads=True,
    )


def _rebalance_after_restart(assignor: str) -> Scenario:
    again = Provocation("Heartbeat", Action.ERROR, client_id("a", 1), code="REBALANCE_IN_PROGRESS")
    return Scenario(
        _scenario_id("rebalance-after-restart", assignor),
        f"A follower restarts; then the leader has to rejoin, with assignor {assignor}.",
        (*_LEADER, "CLIENT-LEADER-INSTANCES", *READS),
        (
            *_group(_A, _B, _C),
            *_restart(*_B, _A, _B, _C),
            InjectFaults((again,)),
            Until(Calls("a", "JoinGroup"), needed=True),
            settled("a", "b", "c", needed=False),
        ),
        assignor=assignor,
        reads=True,
    )


RESTARTS = (
    *(_follower_restart(assignor) for assignor in RESTART_ASSIGNORS),
    Scenario(
        "follower-crashes",
        "The process of a follower is killed and restarts.",
        ("CLIENT-RESTART-CRASHED", *READS),
        (*_group(_A, _B), Crash("b"), Start(*_B), settled("a", "b", needed=False), passed(500)),
        reads=True,
    ),
    Scenario(
        "leader-restarts",
        "The leader closes and restarts, with the newest versions.",
        ("CLIENT-RESTART-LEADER", "CLIENT-RESTART-SKIPPED", *READS),
        (*_group(_A, _B), *_restart(*_A, _A, _B), passed(1000)),
        reads=True,
    ),
    Scenario(
        "leader-restarts-below-join-9",
        "The leader closes and restarts, at a broker of Kafka 3.1.",
        ("CLIENT-RESTART-LEADER-OLD", *READS),
        (*_group(_A, _B), *_restart(*_A, _A, _B), passed(1000)),
        broker=Setting(as_of="3.1"),
        reads=True,
    ),
    *(_rolling_restart(assignor) for assignor in RESTART_ASSIGNORS),
    *(_rebalance_after_restart(assignor) for assignor in RESTART_ASSIGNORS),
)


_JOIN, _SYNC, _HEARTBEAT, _COMMIT = "JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit"
_FENCED, _UNKNOWN, _GENERATION, _REBALANCE = (
    "FENCED_INSTANCE_ID",
    "UNKNOWN_MEMBER_ID",
    "ILLEGAL_GENERATION",
    "REBALANCE_IN_PROGRESS",
)
_OUTAGE = ("CLIENT-JOIN-BACKOFF", "CLIENT-JOIN-SILENT", "CLIENT-JOIN-ERROR-HIDDEN")
_OUTAGE_MS = 2500
_COMMITTING = Settings(auto_commit_ms=300)
_SELDOM_BEATING = Settings(heartbeat_interval_ms=5000)
"""A member that was replaced learns it from what its user does, not from a heartbeat."""


def _error(api: str, code: str, last: int | None = 1) -> Provocation:
    return Provocation(api, Action.ERROR, A1, last=last, code=code)


def _refused_in(name: str, api: str, code: str, *obligations: str) -> Scenario:
    """Answer a member an error once, and expect it to be back afterwards."""
    provoked = [_error(api, code)]
    if api == _JOIN:
        provoked.insert(0, _error(_HEARTBEAT, _REBALANCE))
    act = InjectFaults(tuple(provoked))
    start = begin_static()
    return Scenario(
        f"{name}-in-{api.lower().removesuffix('group')}",
        f"A static member gets {code} in {api}.",
        (*obligations, "CLIENT-JOIN-ERROR-HIDDEN", "CLIENT-JOIN-NO-LOOKUP", *READS),
        (
            *((act, *start[:1]) if api == _SYNC else (*start, act)),
            Until(Answered(A, api, code), needed=True),
            Until(Calls(A, _JOIN)),
            settled(A, needed=False),
        ),
        reads=True,
    )


def _fenced_in(api: str, *begin: ScenarioStep) -> Scenario:
    return Scenario(
        f"fenced-in-{api.lower().removesuffix('group')}",
        f"A static member gets {_FENCED} in {api}.",
        (f"CLIENT-FENCED-{api.upper().removesuffix('GROUP')}", "CLIENT-FENCED-NO-JOIN"),
        (
            *begin,
            Until(Answered(A, api, _FENCED), needed=True),
            Until(ErrorReported(A, "FENCED"), within_ms=5000),
            passed(SILENCE_MS),
        ),
    )


_COMMIT_FENCED = Scenario(
    "fenced-in-offsetcommit",
    f"A static member gets {_FENCED} for a commit of its user.",
    ("CLIENT-FENCED-COMMIT",),
    (
        Produce(),
        *begin_static(),
        Until(Read(A), needed=True),
        InjectFaults((_error(_COMMIT, _FENCED, last=None),)),
        Commit(A),
        passed(SILENCE_MS),
    ),
    needs=("static", "manual-commit"),
)

_COMES_BACK = (
    Until(Assigned(A), within_ms=8000),
    ResumePolling(A),  # a user whose library raises an error may have a loop that goes on
    settled(A, needed=False),
)

TROUBLE = (
    Scenario(
        "two-processes",
        "A second process starts with the instance id of a running member.",
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
            *begin_static(),
            Produce(),
            Until(Read(A)),
            Start("b", I1),
            Until(Assigned("b"), needed=True),
            Until(ErrorReported(A, "FENCED"), within_ms=6000),
            passed(500),
            Produce(),
            passed(SILENCE_MS),
            ResumePolling(A),
            passed(500),
            Produce(),
            passed(SILENCE_MS),
            Close(A),
            passed(500),
        ),
    ),
    Scenario(
        "two-processes-commit",
        "A second process starts with the instance id of a member that reads and commits.",
        (
            "CLIENT-FENCED-QUIET",
            "CLIENT-FENCED-NO-RECORDS",
            "CLIENT-FENCED-NO-COMMITS",
            "CLIENT-FENCED-TAKEOVERS",
        ),
        (
            *begin_static(_COMMITTING),
            Produce(),
            Until(Read(A)),
            Start("b", I1, settings=_COMMITTING),
            Produce(),
            Until(ErrorReported(A, "FENCED"), within_ms=6000),
            passed(500),
            Produce(),
            passed(SILENCE_MS),
            ResumePolling(A),
            passed(SILENCE_MS),
            Close(A),
            passed(500),
        ),
    ),
    Scenario(
        "replaced-commits",
        "A second process starts with the instance id of a running member, whose user then "
        "commits.",
        ("CLIENT-FENCED-LATE-COMMIT",),
        (
            Start(A, I1, settings=_SELDOM_BEATING),
            Until(Assigned(A), needed=True),
            Produce(),
            Until(Read(A), needed=True),
            Start("b", I1, settings=_SELDOM_BEATING),
            Until(Assigned("b"), needed=True),
            Commit(A),
            passed(SILENCE_MS),
        ),
        needs=("static", "manual-commit"),
    ),
    _fenced_in(
        _JOIN,
        *begin_static(),
        InjectFaults((_error(_HEARTBEAT, _REBALANCE), _error(_JOIN, _FENCED, None))),
    ),
    _fenced_in(_SYNC, InjectFaults((_error(_SYNC, _FENCED),)), *begin_static()[:1]),
    _COMMIT_FENCED,
    Scenario(
        "removed",
        "An administrator removes a static member that reads and commits.",
        ("CLIENT-REMOVED-COMES-BACK", "CLIENT-REMOVED-NO-COMMITS", "CLIENT-REMOVED-TOLD", *READS),
        (
            *begin_static(_COMMITTING),
            Produce(),
            Until(Read(A)),
            RemoveMember(A),
            Produce(),
            Until(Calls(A, _JOIN)),
            settled(A, needed=False),
        ),
        reads=True,
    ),
    Scenario(
        "expired",
        "The session of a static member expires at the coordinator.",
        ("CLIENT-REMOVED-EXPIRED", "CLIENT-REMOVED-NO-COMMITS", "CLIENT-REMOVED-TOLD", *READS),
        (
            *begin_static(_COMMITTING),
            Produce(),
            Until(Read(A)),
            ExpireSession(A),
            Produce(),
            Until(Calls(A, _JOIN)),
            settled(A, needed=False),
        ),
        reads=True,
    ),
    Scenario(
        "join-answer-lost",
        "A static member loses the answer to its JoinGroup.",
        ("CLIENT-JOIN-LOST-ANSWER", "CLIENT-JOIN-SILENT", *READS),
        (InjectFaults((Provocation(_JOIN, Action.LOSE, A1),)), Start(A, I1), *_COMES_BACK),
        reads=True,
    ),
    Scenario(
        "join-cut",
        "A static member loses its connection while its JoinGroup is parked.",
        ("CLIENT-JOIN-CUT", "CLIENT-JOIN-SILENT", *READS),
        (InjectFaults((Provocation(_JOIN, Action.CUT, A1, ms=500),)), Start(A, I1), *_COMES_BACK),
        broker=Setting(delay_ms=2000),
        reads=True,
    ),
    *(
        _refused_in(
            "unknown-member",
            api,
            _UNKNOWN,
            "CLIENT-JOIN-UNKNOWN-MEMBER",
            "CLIENT-JOIN-UNKNOWN-EMPTY",
        )
        for api in (_HEARTBEAT, _SYNC, _JOIN)
    ),
    *(
        _refused_in("illegal-generation", api, _GENERATION, "CLIENT-JOIN-ILLEGAL-GENERATION")
        for api in (_HEARTBEAT, _SYNC)
    ),
    *(
        _refused_in("rebalance", api, _REBALANCE, "CLIENT-JOIN-REBALANCE")
        for api in (_HEARTBEAT, _SYNC)
    ),
    Scenario(
        "coordinator-moves",
        "The coordinator moves to another node.",
        ("CLIENT-JOIN-COORDINATOR", "CLIENT-JOIN-SILENT", "CLIENT-JOIN-ERROR-HIDDEN", *READS),
        (*begin_static(), Failover(), passed(SILENCE_MS), settled(A, needed=False)),
        broker=Setting(nodes=2),
        reads=True,
    ),
    Scenario(
        "coordinator-not-available",
        "No coordinator is available for a while.",
        ("CLIENT-JOIN-COORDINATOR", *_OUTAGE, *READS),
        (*begin_static(), Unavailable(_OUTAGE_MS), passed(_OUTAGE_MS), settled(A, needed=False)),
        reads=True,
    ),
    Scenario(
        "coordinator-loads",
        "The coordinator loads for a while; a member runs, and another starts.",
        ("CLIENT-JOIN-LOADING", *_OUTAGE, *READS),
        (
            *begin_static(_COMMITTING),
            Produce(),
            Loading(_OUTAGE_MS),
            Start("b", "i-2", settings=_COMMITTING),
            passed(_OUTAGE_MS),
            settled(A, "b", needed=False),
        ),
        reads=True,
    ),
)


_WITHOUT_TWIN = {
    "static-life",
    *(_scenario_id("rebalance-after-restart", a) for a in RESTART_ASSIGNORS),
}
"""Scenarios whose obligations on dynamic members others show: `dynamic-life`, `all-restart`."""


def _with_twins(*scenarios: Scenario) -> Iterator[Scenario]:
    """Yield scenarios, each with its twin for what holds for dynamic members, too."""
    for scenario in scenarios:
        yield scenario
        if "static" not in scenario.needs or scenario.id in _WITHOUT_TWIN:
            continue
        rows = map(find_requirement, scenario.obligations)
        common = tuple(row.id for row in rows if row.members is not Members.STATIC)
        if not set(common) <= set(READS):
            yield scenario.with_dynamic_members(common)


_HAVE_TWINS = (*ORDINARY, *RESTARTS, *TROUBLE, *CLOSING, *FENCING, *TRANSACTIONS)
SCENARIOS = {
    scenario.id: scenario
    for scenario in (
        *_with_twins(*_HAVE_TWINS),
        *BACKOFFS,
        *COMMITS,
        *GENERATIONS,
        *BYTES,
        *READING,
        *TOPICS,
    )
}
"""All scenarios by id."""


class NoScenarioError(BadInputError):
    """No requirement or scenario matches.  `str()` names the pattern, and one that is near."""


def cases_of(scenario: Scenario) -> tuple[str, ...]:
    """List the ids of a scenario's cases: one for each of its requirements."""
    return tuple(f"{obligation}/{scenario.id}" for obligation in scenario.obligations)


def count_cases(scenarios: Mapping[str, Scenario]) -> int:
    """Count the cases of scenarios."""
    return sum(len(scenario.obligations) for scenario in scenarios.values())


def matching_scenarios(
    patterns: Sequence[str], among: Mapping[str, Scenario] = SCENARIOS
) -> dict[str, Scenario]:
    """Select the scenarios of the cases that match, with these cases alone; all without a pattern.

    A pattern is of a case, a requirement or a scenario.  Raises NoScenarioError.
    """
    if not patterns:
        return dict(among)
    matches: dict[str, Scenario] = {}
    for scenario in among.values():
        kept = tuple(
            obligation
            for obligation in scenario.obligations
            if _matches((f"{obligation}/{scenario.id}", obligation, scenario.id), patterns)
        )
        if kept:
            matches[scenario.id] = msgspec.structs.replace(scenario, obligations=kept)
    if not matches:
        names = [case for scenario in among.values() for case in cases_of(scenario)]
        raise NoScenarioError(
            f"no obligation or scenario matches {', '.join(patterns)}"
            f"{did_you_mean(patterns[0], [*among, *names])}"
        )
    return matches


def _matches(names: Iterable[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
