"""Define the profiles of releases before 4: the base without later changes."""

from __future__ import annotations

from fencepost.model.classic.cells import (
    ABSENT,
    COMPLETING,
    DEAD,
    EMPTY,
    MEMBER,
    NONE,
    PENDING,
    PREPARING,
    UNKNOWN,
    UNMAPPED,
    WITH_MEMBERS,
    when,
)
from fencepost.model.classic.effects import Do
from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.classic.rules.offsets import ANONYMOUS_TXN
from fencepost.model.classic.vocabulary import Generation, GroupState
from fencepost.model.messages.errors import Error
from fencepost.model.revision import DropRule, Gate, Release, Revision, SetRule, derive
from fencepost.model.revisions.base import KAFKA_4, RULES, versions
from fencepost.model.table.expr import Expr, all_of, negate
from fencepost.model.table.shared_features import Record, Room
from fencepost.model.table.table import Level

_OLDER = "KIP-848 (another coordinator); seen on 2.8.0 and 3.9.1 (old)"
_TXN = "TxnOffsetCommit"
_RETENTION = "offset retention"
_BEFORE_13636 = f"{src.KAFKA_13636}; seen on 2.4.1 to 2.8.0 and 3.1.0, and otherwise on 3.0.1"
_BEFORE_3_3 = f"{src.KAFKA_447}; seen on 3.0.2 to 3.2.3, and otherwise on 3.3.2"
_BEFORE_3 = f"{src.KAFKA_447}; seen on 2.5.1 to 2.8.2, and otherwise on 3.0.2"
_NAMELESS_TXN = when(generation=Generation.NEGATIVE, mid=EMPTY, inst=(NONE, UNMAPPED))
_ABSENT_TXN = RULES["TXN-COMMIT-GROUP-ABSENT"].but(
    effect=(Do.CREATE_GROUP,),
    answer=Error.UNKNOWN_MEMBER_ID,
    because="the group is created first, and then has no members",
)


def _held_loosely(absent: Expr, nameless: Expr, passage: str) -> tuple[SetRule, ...]:
    """Return the rules of transactions where `nameless` commits alone need no member.

    `absent`: the commits that find no member in a group that comes to exist.
    """
    without_members = all_of(when(state=(ABSENT, GroupState.EMPTY)), nameless)
    rules = (
        _ABSENT_TXN.but(guard=absent),
        RULES["TXN-COMMIT-OUTSIDE-TOO-LARGE"].but(
            guard=all_of(nameless, when(record=Record.TOO_LARGE)),
            answer=Error.INVALID_COMMIT_OFFSET_SIZE,
        ),
        RULES["TXN-COMMIT-OUTSIDE-METADATA"].but(guard=all_of(nameless, when(metadata=True))),
        RULES["TXN-COMMIT-NO-MEMBERS"].but(
            guard=without_members, because="the group has no members, and the commit names none"
        ),
    )
    return tuple(SetRule(_TXN, rule, passage) for rule in rules)


GATES = (
    Gate(
        (4, 0, 0),
        "a commit of version 9 to a group that doesn't exist has its own error",
        (
            SetRule(
                "OffsetCommit",
                RULES["COMMIT-GROUP-NOT-FOUND"].but(answer=Error.ILLEGAL_GENERATION),
                "KIP-848 (OffsetCommit version 9), as the new coordinator has it",
            ),
        ),
    ),
    Gate(
        (4, 0, 0),
        "a sync while the coordinator loads gets COORDINATOR_LOAD_IN_PROGRESS",
        (
            SetRule(
                "SyncGroup",
                RULES["SYNC-COORDINATOR-LOADING"].but(
                    answer=Error.REBALANCE_IN_PROGRESS,
                    because=(
                        "older clients don't know the error of a loading coordinator, so they "
                        "must rejoin"
                    ),
                ),
                "KIP-848 (another coordinator); seen on 3.9.1 (old) and 4.3.0 while they loaded",
            ),
        ),
    ),
    Gate(
        (4, 0, 0),
        "a commit that is too large to be stored is UNKNOWN_SERVER_ERROR",
        tuple(
            SetRule(
                "OffsetCommit",
                RULES[rule].but(answer=Error.INVALID_COMMIT_OFFSET_SIZE),
                _OLDER,
            )
            for rule in ("COMMIT-TOO-LARGE", "COMMIT-OUTSIDE-TOO-LARGE")
        ),
    ),
    Gate(
        (4, 0, 0),
        "a group whose last offsets are deleted stays until the cleaner removes it",
        (
            SetRule(
                "OffsetDelete",
                RULES["OFFSET-DELETE-LAST"].but(
                    effect=(Do.FORGET,),
                    because="the group has no offsets left, so it is removed",
                ),
                _OLDER,
            ),
        ),
    ),
    Gate(
        (4, 0, 0),
        "a transaction with a generation for a group that doesn't exist is ILLEGAL_GENERATION",
        (
            SetRule(
                _TXN,
                _ABSENT_TXN,
                "KIP-848 (another coordinator); seen on 3.3.2 to 3.9.1 (old)",
            ),
            *(
                SetRule(_TXN, RULES[rule].but(answer=Error.INVALID_COMMIT_OFFSET_SIZE), _OLDER)
                for rule in ("TXN-COMMIT-TOO-LARGE", "TXN-COMMIT-OUTSIDE-TOO-LARGE")
            ),
        ),
    ),
    Gate(
        (3, 3, 0),
        "a transaction without a generation may name any id in an Empty group",
        _held_loosely(
            all_of(when(state=ABSENT), negate(ANONYMOUS_TXN)), ANONYMOUS_TXN, _BEFORE_3_3
        ),
    ),
    Gate(
        (3, 0, 0),
        "a transaction that names a member, an instance or a generation is checked for each",
        (
            *_held_loosely(when(state=ABSENT, mid=UNKNOWN), _NAMELESS_TXN, _BEFORE_3),
            SetRule(_TXN, RULES["TXN-COMMIT-ANONYMOUS"].but(guard=_NAMELESS_TXN), _BEFORE_3),
            DropRule(_TXN, "TXN-COMMIT-INSTANCE-UNMAPPED", _BEFORE_3),
            SetRule(
                _TXN,
                RULES["TXN-COMMIT-UNKNOWN-MEMBER"].but(guard=when(mid=(PENDING, UNKNOWN))),
                _BEFORE_3,
            ),
            SetRule(
                _TXN,
                RULES["TXN-COMMIT-ILLEGAL-GENERATION"].but(
                    guard=when(generation=(Generation.BEFORE, Generation.AFTER)),
                    effect=(Do.CREATE_GROUP,),
                ),
                _BEFORE_3,
            ),
            SetRule(
                _TXN,
                RULES["TXN-COMMIT-MEMBER"].but(
                    guard=negate(when(state=DEAD)),
                    because="the ids and the generation of the commit are right, or it has none",
                ),
                _BEFORE_3,
            ),
        ),
    ),
    Gate(
        (3, 0, 0),
        "a full group drops the pending id that it refuses",
        (
            DropRule(
                "JoinGroup",
                "JOIN-GROUP-FULL-PENDING",
                "KIP-389 (group.max.size), as seen on 2.6.0 to 2.8.1: it stays pending",
            ),
        ),
    ),
    Gate(
        (3, 0, 1),
        "offsets stay while a group rebalances (KAFKA-13636)",
        (
            SetRule(
                _RETENTION,
                RULES["RETENTION-REBALANCING"].but(
                    guard=when(state=(PREPARING, COMPLETING), subscribed=True),
                    because="a member of the generation subscribes to the topic",
                ),
                _BEFORE_13636,
            ),
            SetRule(
                _RETENTION,
                RULES["RETENTION-UNSUBSCRIBED"].but(
                    guard=when(state=WITH_MEMBERS, consumers=True, subscribed=False),
                    because="no member of the generation subscribes to the topic",
                ),
                _BEFORE_13636,
            ),
        ),
        frozenset({(3, 1, 0)}),
    ),
    Gate(
        (2, 8, 1),
        "a member that never syncs is removed (KAFKA-12890)",
        (
            SetRule(
                "join phase",
                RULES["JOIN-PHASE-ALL-JOINED"].but(effect=(Do.COMPLETE_JOIN,)),
                src.KAFKA_12890,
            ),
            SetRule(
                "join phase",
                RULES["JOIN-PHASE-DELAY-OVER"].but(
                    effect=(Do.REMOVE_ABSENT_DYNAMIC, Do.COMPLETE_JOIN)
                ),
                src.KAFKA_12890,
            ),
            SetRule(
                "join phase",
                RULES["JOIN-PHASE-EXPIRED"].but(
                    effect=(Do.REMOVE_ABSENT_DYNAMIC, Do.COMPLETE_JOIN)
                ),
                src.KAFKA_12890,
            ),
            SetRule(
                "sync phase",
                RULES["SYNC-PHASE-EXPIRED"].but(
                    level=Level.MAY, defensive="no wait for syncs before 2.8.1"
                ),
                src.KAFKA_12890,
            ),
        ),
    ),
    Gate(
        (2, 6, 1),
        "a heartbeat in the sync phase is answered NONE (KAFKA-10134)",
        (
            SetRule(
                "Heartbeat",
                RULES["HEARTBEAT-COMPLETING"].but(
                    effect=(),
                    answer=Error.REBALANCE_IN_PROGRESS,
                    level=Level.SHOULD,
                    because="a rebalance is in progress until the leader has assigned",
                ),
                src.KAFKA_10134,
            ),
        ),
    ),
    Gate(
        (2, 6, 0),
        "a full group also refuses pending ids from before it was full (KAFKA-9844)",
        (
            SetRule(
                "JoinGroup",
                RULES["JOIN-GROUP-FULL"].but(
                    guard=when(room=Room.FULL, mid=(EMPTY, MEMBER, UNKNOWN)),
                    because="the group has group.max.size members, and the join has no pending id",
                ),
                "KAFKA-9844, since 2.6.0; seen on 2.5.1 and 2.6.0",
            ),
        ),
    ),
    Gate(
        (2, 4, 0),
        "offsets of topics that no member subscribes to are removed",
        (
            SetRule(
                _RETENTION,
                RULES["RETENTION-UNSUBSCRIBED"].but(
                    guard=when(state=WITH_MEMBERS, consumers=True, subscribed=False),
                    effect=(),
                    level=Level.SHOULD,
                    because="the group has members, so its offsets stay",
                ),
                "KIP-211; seen on 2.3.0, and otherwise on 2.4.1",
            ),
        ),
    ),
)

# Highest versions by first release: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, OffsetCommit,
# OffsetFetch, DescribeGroups, ListGroups, DeleteGroups, TxnOffsetCommit, OffsetDelete (since 2.4).
_HIGHEST: tuple[tuple[Release, tuple[int, ...]], ...] = (
    ((2, 3), (5, 3, 3, 2, 7, 5, 3, 2, 1, 2, 0)),
    ((2, 4), (6, 4, 4, 4, 8, 6, 5, 3, 2, 2, 0)),
    ((2, 5), (7, 5, 4, 4, 8, 7, 5, 3, 2, 3, 0)),
    ((2, 6), (7, 5, 4, 4, 8, 7, 5, 4, 2, 3, 0)),
    ((3, 0), (7, 5, 4, 4, 8, 8, 5, 4, 2, 3, 0)),
    ((3, 2), (9, 5, 4, 5, 8, 8, 5, 4, 2, 3, 0)),
    ((3, 7), (9, 5, 4, 5, 9, 9, 5, 4, 2, 3, 0)),
    ((3, 8), (9, 5, 4, 5, 9, 9, 5, 5, 2, 4, 0)),
)
RELEASES: tuple[Release, ...] = (
    *((2, minor) for minor in range(3, 9)),
    *((3, minor) for minor in range(10)),
)
_LAST_PATCH = 99
_LAST_PATCHES: dict[Release, int] = {
    (2, 3): 1,
    (2, 4): 1,
    (2, 5): 1,
    (2, 6): 3,
    (2, 7): 2,
    (2, 8): 2,
    (3, 0): 2,
    (3, 1): 2,
    (3, 2): 3,
    (3, 3): 2,
    (3, 4): 1,
    (3, 5): 2,
    (3, 6): 2,
    (3, 7): 2,
    (3, 8): 1,
}
"""The last patch of each release that is at its end."""


def was_released(version: Release) -> bool:
    """Return True if there is such a release before 4, or may be: 3.9 may still have patches."""
    patch = version[2] if len(version) > 2 else 0
    return version[:2] in RELEASES and patch <= _LAST_PATCHES.get(version[:2], _LAST_PATCH)


def gates_ahead(version: Release) -> tuple[Gate, ...]:
    """Return the changes that a release doesn't have yet; without a number, its last patch."""
    return tuple(gate for gate in GATES if gate.is_ahead(_full(version)))


def release(version: Release, *, ahead: Gate | None = None) -> Revision:
    """Make the profile of a Kafka release before 4; without a patch number, of its last patch.

    `ahead`: a change that it has already, to find the effect of that alone.
    """
    gates = [gate for gate in gates_ahead(version) if gate is not ahead]
    highest = [row for since, row in _HIGHEST if since <= _full(version)][-1]
    bounds = versions(*((0, high) for high in highest))
    name = "kafka-" + ".".join(map(str, version))
    return derive(
        KAFKA_4,
        name,
        "; ".join(["Apache Kafka " + name[6:], *(f"not yet: {g.about}" for g in gates)]),
        # Of two gates about one rule, the older change counts.
        tuple({(d.table, d.rule_id): d for gate in gates for d in gate.before}.values()),
        {api: v for api, v in bounds.items() if api != "OffsetDelete" or _full(version) >= (2, 4)},
    )


def _full(version: Release) -> Release:
    return version if len(version) > 2 else (*version, _LAST_PATCH)
