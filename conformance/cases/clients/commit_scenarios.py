"""List the scenarios of commits while something else happens, and of members without a place.

A commit meets an error outside of a rebalance, while one is prepared, or behind a join; its member
has a long heartbeat interval, so it learns of the error from its commit first.
"""

from __future__ import annotations

from fencepost.conformance.cases.clients.scenario import (
    Assigned,
    Calls,
    InjectFaults,
    Parked,
    Read,
    Scenario,
    ScenarioStep,
    Setting,
    Until,
    client_id,
)
from fencepost.conformance.cases.clients.scenario_parts import passed, settled
from fencepost.conformance.wire.provocation import Action, Provocation
from fencepost.model.plans.steps import (
    AddPartitions,
    ClearFaults,
    Close,
    Commit,
    Produce,
    RemoveMember,
    Settings,
    Start,
    Subscribe,
    Unsubscribe,
)

_A, _B = "a", "b"
_A1, _B1 = client_id(_A, 1), client_id(_B, 1)
_STATIC, _DYNAMIC = "i-1", None
_JOIN, _HEARTBEAT, _COMMIT = "JoinGroup", "Heartbeat", "OffsetCommit"
_REBALANCE = "REBALANCE_IN_PROGRESS"
_MANUAL = "manual-commit"

_SELDOM = Settings(session_timeout_ms=20_000, heartbeat_interval_ms=6000)
"""A member that learns what happens from its commit, long before its next heartbeat."""

_QUICK = Settings(auto_commit_ms=300)
_SHORT = Settings(session_timeout_ms=4000)
"""A static member's place is given to another soon after it has closed."""

_QUIET_MS = 1500


def _needs(instance: str | None, *features: str) -> tuple[str, ...]:
    return features if instance is None else ("static", *features)


def _kind(instance: str | None) -> str:
    return "dynamic" if instance is None else "static"


def _suffix(instance: str | None) -> str:
    return "" if instance is None else "-static"


def _reads(instance: str | None, settings: Settings) -> tuple[ScenarioStep, ...]:
    """Start a member that has read records."""
    return (
        Produce(),
        Start(_A, instance, settings=settings),
        Until(Read(_A), needed=True),
    )


def _refused(code: str, instance: str | None) -> Scenario:
    """Answer a commit of the user's with an error that asks for a join, in a stable group."""
    return Scenario(
        f"commit-{code.lower().replace('_', '-')}{_suffix(instance)}",
        f"A {_kind(instance)} member that seldom sends heartbeats gets {code} for its commit.",
        ("CLIENT-COMMIT-COMES-BACK", "CLIENT-COMMIT-REFUSED"),
        (
            *_reads(instance, _SELDOM),
            InjectFaults((Provocation(_COMMIT, Action.ERROR, _A1, code=code),)),
            Commit(_A),
            Until(Calls(_A, _JOIN), within_ms=4000),
            passed(_QUIET_MS),
        ),
        needs=_needs(instance, _MANUAL),
    )


def _passes(code: str, times: int) -> Scenario:
    """Answer a commit of the user's with an error that passes."""
    return Scenario(
        f"commit-{code.lower().replace('_', '-')}",
        f"A dynamic member gets {code} for its commits for a moment.",
        ("CLIENT-COMMIT-RETRIED", "CLIENT-COMMIT-REFUSED"),
        (
            *_reads(_DYNAMIC, Settings()),
            InjectFaults((Provocation(_COMMIT, Action.ERROR, _A1, last=times, code=code),)),
            Commit(_A),
            passed(_QUIET_MS),
        ),
        needs=(_MANUAL,),
    )


_JOINS_LATE = InjectFaults(
    (
        Provocation(_HEARTBEAT, Action.ERROR, _A1, code=_REBALANCE),
        Provocation(_JOIN, Action.DELAY, _A1, ms=1500),
    )
)
"""A member joins again, and its answer takes a while."""


def _behind_join(instance: str | None, assignor: str | None) -> Scenario:
    """Commit while a join waits for its answer: the generation is over when the commit comes."""
    of = "" if assignor is None else f"-{assignor}"
    return Scenario(
        f"commit-behind-join{of}{_suffix(instance)}",
        f"The user of a {_kind(instance)} member commits while its JoinGroup is parked"
        f"{'' if assignor is None else f', with assignor {assignor}'}.",
        (
            "CLIENT-COMMIT-LATE",
            # An eager member has given back what it could commit.
            *(() if assignor is None else ("CLIENT-COMMIT-REFUSED",)),
        ),
        (
            *_reads(instance, Settings()),
            settled(_A, needed=False),
            Produce(),
            Until(Read(_A), needed=True),
            _JOINS_LATE,
            Until(Parked(_A, _JOIN), needed=True),
            Commit(_A),
            settled(_A, needed=False),
            passed(_QUIET_MS),
        ),
        needs=_needs(instance, _MANUAL),
        assignor=assignor,
    )


_AUTO_BEHIND_JOIN = Scenario(
    "commit-behind-join-auto-cooperative",
    "A dynamic member commits by itself while its JoinGroup is parked, with assignor cooperative.",
    ("CLIENT-COMMIT-LATE",),
    (
        *_reads(_DYNAMIC, Settings(auto_commit_ms=100)),
        settled(_A, needed=False),
        _JOINS_LATE,
        Until(Parked(_A, _JOIN), needed=True),
        Produce(),
        passed(_QUIET_MS),
        settled(_A, needed=False),
        passed(_QUIET_MS),
    ),
    needs=("auto-commit",),
    assignor="cooperative",
)

_WHILE_PREPARED = Scenario(
    "commit-while-another-joins",
    "A member gets REBALANCE_IN_PROGRESS for its commit while another member joins.",
    ("CLIENT-COMMIT-COMES-BACK", "CLIENT-COMMIT-REFUSED"),
    (
        *_reads(_DYNAMIC, _SELDOM),
        Start(_B, settings=_SELDOM),
        Until(Parked(_B, _JOIN), needed=True),
        InjectFaults((Provocation(_COMMIT, Action.ERROR, _A1, code=_REBALANCE),)),
        Commit(_A),
        Until(Calls(_A, _JOIN), within_ms=4000),
        passed(_QUIET_MS),
    ),
    needs=(_MANUAL,),
)

_ON_REVOKE = Settings(commit_on_revoke=True)


def _on_revoke(code: str, assignor: str | None) -> Scenario:
    """Refuse the commit that a user makes when its partitions are taken away."""
    of = "" if assignor is None else f"-{assignor}"
    return Scenario(
        f"commit-on-revoke-{code.lower().replace('_', '-')}{of}",
        "The user of a dynamic member commits in the revocation callback, and gets "
        f"{code}{'' if assignor is None else f', with assignor {assignor}'}.",
        ("CLIENT-COMMIT-ON-REVOKE",),
        (
            *_reads(_DYNAMIC, _ON_REVOKE),
            settled(_A),
            Produce(),
            Until(Read(_A), needed=True),
            InjectFaults((Provocation(_COMMIT, Action.ERROR, _A1, code=code),)),
            Start(_B, settings=_ON_REVOKE),
            settled(_A, _B, needed=False),
            passed(_QUIET_MS),
        ),
        needs=(_MANUAL, "commit-on-revoke"),
        assignor=assignor,
    )


_GROWS = Scenario(
    "partitions-added",
    "A topic that two dynamic members read gets more partitions.",
    ("CLIENT-SUBSCRIBE-GROWS",),
    (
        Start(_A, settings=Settings(metadata_max_age_ms=1000)),
        settled(_A),
        Start(_B, settings=Settings(metadata_max_age_ms=1000)),
        settled(_A, _B),
        AddPartitions(4),
        settled(_A, _B, needed=False),
        Produce(),
        passed(_QUIET_MS),
    ),
    needs=("metadata-age",),
    broker=Setting(partitions=2),
)


def _idle(instance: str | None) -> Scenario:
    """Start more members than there are partitions; then the one that has it goes."""
    second = None if instance is None else "i-2"
    return Scenario(
        f"more-members-than-partitions{_suffix(instance)}",
        f"More {_kind(instance)} members than partitions join; then the member with the "
        "partition closes.",
        ("CLIENT-SUBSCRIBE-IDLE",),
        (
            Start(_A, instance, settings=_SHORT),
            settled(_A),
            Start(_B, second, settings=_SHORT),
            Until(Calls(_B, _HEARTBEAT, 3), needed=True),
            passed(2500),
            Close(_A),
            Produce(),
            Until(Assigned(_B), within_ms=10_000),
            Until(Read(_B), within_ms=5000),
        ),
        needs=_needs(instance),
        broker=Setting(partitions=1),
    )


_REMOVED = Scenario(
    "commit-when-removed",
    "An administrator removes a static member that seldom sends heartbeats, and its user commits.",
    ("CLIENT-COMMIT-COMES-BACK", "CLIENT-COMMIT-REFUSED", "CLIENT-COMMIT-OF-MEMBER"),
    (
        *_reads(_STATIC, _SELDOM),
        RemoveMember(_A),
        Commit(_A),
        Until(Calls(_A, _JOIN), within_ms=4000),
        passed(_QUIET_MS),
    ),
    needs=("static", _MANUAL),
)


def _resubscribes(instance: str | None, pause_ms: int) -> Scenario:
    """Unsubscribe and subscribe again: at once, or when no member is left."""
    at_once = pause_ms == 0
    return Scenario(
        f"resubscribes{'-at-once' if at_once else ''}{_suffix(instance)}",
        f"The user of a {_kind(instance)} member that commits by itself unsubscribes and "
        f"subscribes again {'at once' if at_once else 'later'}.",
        (
            "CLIENT-COMMIT-OF-MEMBER",
            "CLIENT-SUBSCRIBE-AGAIN",
            *(() if instance is None else ("CLIENT-SUBSCRIBE-NOT-FENCED",)),
        ),
        (
            *_reads(instance, _QUICK),
            settled(_A, needed=False),
            Produce(),
            Until(Read(_A)),
            Unsubscribe(_A),
            *(() if at_once else (passed(pause_ms),)),
            Subscribe(_A),
            settled(_A, needed=False),
            Produce(),
            Until(Read(_A)),
            passed(_QUIET_MS),
        ),
        needs=_needs(instance, "auto-commit"),
    )


_RESUBSCRIBES_LATE = Scenario(
    "resubscribes-commit-held",
    "A static member unsubscribes while its commit is parked, and subscribes again.",
    ("CLIENT-SUBSCRIBE-AGAIN", "CLIENT-SUBSCRIBE-NOT-FENCED"),
    (
        *_reads(_STATIC, _QUICK),
        settled(_A, needed=False),
        InjectFaults((Provocation(_COMMIT, Action.HOLD, _A1),)),
        Produce(),
        Until(Parked(_A, _COMMIT), needed=True),
        Unsubscribe(_A),
        Subscribe(_A),
        passed(_QUIET_MS),
        ClearFaults(),
        settled(_A, needed=False),
        Produce(),
        Until(Read(_A)),
        passed(_QUIET_MS),
    ),
    needs=("static", "auto-commit"),
)

COMMITS = (
    _refused("UNKNOWN_MEMBER_ID", _STATIC),
    _refused("ILLEGAL_GENERATION", _DYNAMIC),
    _refused("ILLEGAL_GENERATION", _STATIC),
    _refused(_REBALANCE, _DYNAMIC),
    _refused(_REBALANCE, _STATIC),
    _passes("COORDINATOR_LOAD_IN_PROGRESS", 3),
    _passes("NOT_COORDINATOR", 1),
    _passes("COORDINATOR_NOT_AVAILABLE", 2),
    _behind_join(_DYNAMIC, None),
    _behind_join(_DYNAMIC, "cooperative"),
    _behind_join(_STATIC, "cooperative"),
    _AUTO_BEHIND_JOIN,
    _WHILE_PREPARED,
    _REMOVED,
    *(
        _on_revoke(code, assignor)
        for code in ("ILLEGAL_GENERATION", _REBALANCE)
        for assignor in (None, "cooperative")
    ),
    _GROWS,
    _idle(_DYNAMIC),
    _idle(_STATIC),
    _resubscribes(_DYNAMIC, 0),
    _resubscribes(_STATIC, 0),
    _resubscribes(_DYNAMIC, 1500),
    _resubscribes(_STATIC, 1500),
    _RESUBSCRIBES_LATE,
)
"""Commits and subscriptions."""
