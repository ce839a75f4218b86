"""All revisions by name: the base, the accepted KIP, the seeds' drafts and comments, the releases.

Decides which revisions exist.  `kafka-4` is the base: what a correct current coordinator does.
Every other one is the base and a list of differences, each with the passage it comes from.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from fencepost.model.drafts import MEMBER_NAME, TUPLE_LIST, TWO_LIST
from fencepost.model.effects import Do, Echo
from fencepost.model.errors import Error
from fencepost.model.expr import all_of
from fencepost.model.revision import Change, Difference, Drop, Gate, Release, Revision, derive
from fencepost.model.rules import admin, draft_leave, heartbeat, join, leave, offsets, sync, timers
from fencepost.model.rules import sources as src
from fencepost.model.table import Level, Rule
from fencepost.model.vocabulary import INST, MID, ROLE, STATE, GroupState, Inst, Mid, Role

_TABLES = {
    table.name: table
    for table in (
        join.TABLE,
        sync.TABLE,
        heartbeat.TABLE,
        leave.TABLE,
        leave.MEMBER_TABLE,
        offsets.COMMIT,
        offsets.FETCH,
        admin.DESCRIBE,
        admin.LIST,
        timers.SESSION,
        timers.JOIN_PHASE,
        timers.SYNC_PHASE,
        timers.FAILOVER,
    )
}
_NAMES = (
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "OffsetCommit",
    "OffsetFetch",
    "DescribeGroups",
    "ListGroups",
)


def _versions(*pairs: tuple[int, int]) -> dict[str, tuple[int, int]]:
    return dict(zip(_NAMES, pairs, strict=True))


KAFKA_4 = Revision(
    "kafka-4",
    "what a correct current coordinator does",
    _TABLES,
    _versions((0, 9), (0, 5), (0, 4), (0, 5), (2, 9), (1, 9), (0, 6), (0, 5)),
)

_RULES = {rule.id: rule for _, rule in KAFKA_4.rules()}
_J = "JoinGroup"
_STATIC_CALLER = all_of(MID.among(Mid.MEMBER), INST.among(Inst.OWN))
_DYNAMIC_CALLER = all_of(MID.among(Mid.MEMBER), INST.among(Inst.NONE))
_SETTLED = STATE.among(GroupState.COMPLETING, GroupState.STABLE)
_PREPARING = STATE.among(GroupState.PREPARING)
_EMPTY_MAPPED = all_of(MID.among(Mid.EMPTY), INST.among(Inst.OTHER))


def _only_dynamic(rule_id: str) -> Rule:
    rule = _RULES[rule_id]
    return rule.but(guard=all_of(rule.guard, INST.among(Inst.NONE)))


_CAUSES = f'{src.KIP_BACKGROUND}: the four causes of a rebalance under "Static Membership"'
KIP_345 = derive(
    KAFKA_4,
    "kip-345",
    "the accepted text, strictly: where Kafka knows a further cause or error, the KIP rules",
    (
        Change(
            _J,
            _RULES["JOIN-STATIC-EMPTY-STABLE-SELECTION"].but(
                effect=_RULES["JOIN-STATIC-EMPTY-STABLE"].effect,
                because="a static member that restarts in a stable group causes no rebalance",
            ),
            f"{src.KIP_JOIN}: the reply is immediate when the group is stable",
        ),
        Change(_J, _only_dynamic("JOIN-MEMBER-COMPLETING-CHANGED"), _CAUSES),
        Change(_J, _only_dynamic("JOIN-FOLLOWER-STABLE-CHANGED"), _CAUSES),
        Change(
            _J,
            Rule(
                "JOIN-STATIC-CHANGED",
                all_of(
                    _STATIC_CALLER,
                    join.SUBSCRIPTION_CHANGED,
                    _SETTLED,
                    join.NOT_LEADER_IN_STABLE,
                ),
                (Do.UPDATE_MEMBER, Do.ANSWER_CURRENT),
                source=_CAUSES,
                because="a known static member that rejoins is given what it has, no rebalance",
            ),
            _CAUSES,
        ),
        Change(
            _J,
            Rule(
                "JOIN-PENDING-INSTANCE",
                all_of(MID.among(Mid.PENDING), INST.among(Inst.OTHER)),
                answer=Error.FENCED_INSTANCE_ID,
                source=src.KIP_JOIN,
                because="a member id that is given must be the one that the instance is mapped to",
            ),
            f"{src.KIP_JOIN}: the member id must match the stored one",
        ),
        Change(
            _J,
            Rule(
                "JOIN-PENDING-INSTANCE-UNMAPPED",
                all_of(MID.among(Mid.PENDING), INST.among(Inst.UNMAPPED)),
                answer=Error.UNKNOWN_MEMBER_ID,
                source=src.KIP_JOIN,
                because="a static member is never pending, and the instance has no member",
            ),
            f"{src.KIP_JOIN}: static members are never pending",
        ),
        Change(
            _J,
            _RULES["JOIN-GROUP-FULL"].but(effect=()),
            f"{src.KIP_ROLLING}: a member is removed only by its session timeout",
        ),
        Change(
            "LeaveGroup",
            _RULES["LEAVE-GROUP-ABSENT"].but(
                effect=(),
                answer=Error.INVALID_GROUP_ID,
                source=src.KIP_COMMAND,
                because="the consumer group does not exist",
            ),
            f"{src.KIP_COMMAND}: error 2",
        ),
        Change(
            "sync phase",
            _RULES["SYNC-PHASE-EXPIRED"].but(
                effect=(Do.REMOVE_UNSYNCED_DYNAMIC, Do.REBALANCE),
                because="only dynamic members go for a missing sync; a static one has its session",
            ),
            f"{src.KIP_ROLLING}: a member is removed only by its session timeout",
        ),
    ),
)

_ROW_1 = "row 1: known, no instance: rebalance"
_ROW_3 = "row 3: empty, no instance: a new id with MEMBER_ID_REQUIRED"


def _comment_rows(where: str, row_4_1: str) -> tuple[Difference, ...]:
    """What both comment tables have in common."""
    mismatch = Rule(
        "JOIN-INSTANCE-FENCED",
        all_of(MID.among(Mid.MEMBER), INST.among(Inst.OTHER)),
        answer=Error.MEMBER_ID_MISMATCH,
        source=where,
        because="the instance is mapped to another member id",
    )
    return (
        Change(_J, _RULES["JOIN-DYNAMIC-EMPTY"].but(guard=join.EMPTY_DYNAMIC), f"{where}, {_ROW_3}"),
        Drop(_J, "JOIN-DYNAMIC-EMPTY-LEGACY", f"{where}, {_ROW_3}"),
        Change(
            _J,
            Rule(
                "JOIN-KNOWN",
                all_of(_DYNAMIC_CALLER, _SETTLED),
                join.REJOIN,
                source=where,
                because="a known member without an instance always causes a rebalance",
            ),
            f"{where}, {_ROW_1}",
        ),
        Change(
            _J,
            Rule(
                "JOIN-KNOWN-INSTANCE",
                all_of(_STATIC_CALLER, _SETTLED),
                (Do.ANSWER_CURRENT,),
                source=where,
                because="a known member that matches the map is given its old assignment",
            ),
            f"{where}, {row_4_1}",
        ),
        Change(_J, mismatch, f"{where}, {row_4_1}"),
        *(
            Drop(_J, rule_id, f"{where}, rows 1 and {row_4_1}")
            for rule_id in (
                "JOIN-MEMBER-COMPLETING-SAME",
                "JOIN-MEMBER-COMPLETING-CHANGED",
                "JOIN-LEADER-STABLE",
                "JOIN-FOLLOWER-STABLE-CHANGED",
                "JOIN-FOLLOWER-STABLE-SAME",
            )
        ),
    )


_COMMENT_1 = "seed 003, first comment table"
_UNMAPPED_KNOWN = all_of(MID.among(Mid.MEMBER), INST.among(Inst.UNMAPPED))
COMMENT_TABLE_1 = derive(
    KAFKA_4,
    "comment-table-1",
    "the first comment: a mapped instance is told the stored member id",
    (
        *_comment_rows(_COMMENT_1, "row 4: known with instance: match, or mismatch"),
        Change(
            _J,
            Rule(
                "JOIN-INSTANCE-UNMAPPED",
                _UNMAPPED_KNOWN,
                answer=Error.MEMBER_ID_MISMATCH,
                source=_COMMENT_1,
                because="the map has no such entry, so the id doesn't match it",
            ),
            f"{_COMMENT_1}, row 4: not in the map is no match",
        ),
        Change(
            _J,
            Rule(
                "JOIN-UNKNOWN-INSTANCE",
                all_of(MID.among(Mid.UNKNOWN), INST.among(Inst.UNMAPPED, Inst.OTHER)),
                answer=Error.UNKNOWN_MEMBER_ID,
                source=_COMMENT_1,
                because="an unknown id is refused, with an instance or without",
            ),
            f"{_COMMENT_1}, row 5: unknown with instance, as without",
        ),
        Change(
            _J,
            Rule(
                "JOIN-STATIC-EMPTY-MAPPED",
                _EMPTY_MAPPED,
                (Do.HAND_OUT_HOLDER,),
                Error.MEMBER_ID_REQUIRED,
                source=_COMMENT_1,
                because="the instance is in the map, so its id is returned",
                echo=Echo.NEW,
            ),
            f"{_COMMENT_1}, row 6: empty with a mapped instance",
        ),
        *(
            Drop(_J, rule_id, f"{_COMMENT_1}, row 6: empty with a mapped instance")
            for rule_id in (
                "JOIN-STATIC-EMPTY-PREPARING",
                "JOIN-STATIC-EMPTY-COMPLETING",
                "JOIN-STATIC-EMPTY-STABLE",
                "JOIN-STATIC-EMPTY-STABLE-SELECTION",
            )
        ),
    ),
)

_COMMENT_2 = "seed 003, second comment table"
_ROW_42 = f"{_COMMENT_2}, row 4.2: a known member becomes static"
_ROW_51 = f"{_COMMENT_2}, row 5.1: an unknown id with a mapped instance replaces the holder"
_ROW_52 = f"{_COMMENT_2}, row 5.2: an unknown id with an unmapped instance is added"
_ROW_61 = f"{_COMMENT_2}, row 6.1: a mapped instance is given the old assignment"
_UNKNOWN_MAPPED = all_of(MID.among(Mid.UNKNOWN), INST.among(Inst.OTHER))


def _row(rule_id: str, guard: object, effect: tuple[Do, ...], passage: str, why: str) -> Change:
    rule = Rule(rule_id, guard, effect, source=passage, because=why)  # type: ignore[arg-type]
    return Change(_J, rule, passage)


_UPGRADE = "a dynamic member may become static by bringing an instance"
_TAKEOVER = "whoever brings the instance takes it over"
_RESTART = "a restarted instance is given the old assignment, whatever the state"
COMMENT_TABLE_2 = derive(
    KAFKA_4,
    "comment-table-2",
    "the second comment: every join with an instance gets it, known or not",
    (
        *_comment_rows(_COMMENT_2, "row 4.1: known with instance: match, or mismatch"),
        _row(
            "JOIN-UPGRADE",
            all_of(_UNMAPPED_KNOWN, _SETTLED),
            (Do.MAP_CALLER, Do.ANSWER_CURRENT),
            _ROW_42,
            _UPGRADE,
        ),
        _row(
            "JOIN-UPGRADE-PREPARING",
            all_of(_UNMAPPED_KNOWN, _PREPARING),
            (Do.MAP_CALLER, Do.UPDATE_MEMBER, Do.PARK_JOIN),
            _ROW_42,
            _UPGRADE,
        ),
        Drop(_J, "JOIN-INSTANCE-UNMAPPED", _ROW_42),
        _row(
            "JOIN-UNKNOWN-MAPPED",
            all_of(_UNKNOWN_MAPPED, _SETTLED),
            (Do.REPLACE_HOLDER_AS_SENT, Do.ANSWER_CURRENT),
            _ROW_51,
            _TAKEOVER,
        ),
        _row(
            "JOIN-UNKNOWN-MAPPED-PREPARING",
            all_of(_UNKNOWN_MAPPED, _PREPARING),
            (Do.REPLACE_HOLDER_AS_SENT, Do.PARK_JOIN),
            _ROW_51,
            _TAKEOVER,
        ),
        _row(
            "JOIN-UNKNOWN-UNMAPPED",
            all_of(MID.among(Mid.UNKNOWN), INST.among(Inst.UNMAPPED)),
            (Do.ADD_STATIC_AS_SENT, Do.REBALANCE, Do.PARK_JOIN),
            _ROW_52,
            "a removed consumer that comes back is taken for a new member",
        ),
        _row(
            "JOIN-STATIC-EMPTY-COMPLETING",
            all_of(_EMPTY_MAPPED, STATE.among(GroupState.COMPLETING)),
            (Do.REPLACE_HOLDER, Do.ANSWER_CURRENT),
            _ROW_61,
            _RESTART,
        ),
        _row(
            "JOIN-STATIC-EMPTY-STABLE",
            all_of(_EMPTY_MAPPED, STATE.among(GroupState.STABLE)),
            (Do.REPLACE_HOLDER, Do.PERSIST, Do.ANSWER_CURRENT),
            _ROW_61,
            _RESTART,
        ),
        Drop(_J, "JOIN-STATIC-EMPTY-STABLE-SELECTION", _ROW_61),
    ),
)

_NAME_PASSAGE = "seed 004, Background: a leader that rejoins causes a rebalance"
MEMBER_NAME_DRAFT = derive(
    KAFKA_4,
    "member-name-draft",
    "the early draft: MEMBER_NAME in JoinGroup alone, nothing to fence other requests with",
    (
        Change(
            _J,
            _RULES["JOIN-STATIC-EMPTY-STABLE"].but(
                guard=all_of(
                    _RULES["JOIN-STATIC-EMPTY-STABLE"].guard, ROLE.among(Role.FOLLOWER)
                ),
                because="an old member that rejoins does not change the group's state",
                source=_NAME_PASSAGE,
            ),
            _NAME_PASSAGE,
        ),
        Change(
            _J,
            Rule(
                "JOIN-STATIC-EMPTY-STABLE-LEADER",
                all_of(_RULES["JOIN-STATIC-EMPTY-STABLE"].guard, ROLE.among(Role.LEADER)),
                (Do.REPLACE_HOLDER, Do.REBALANCE, Do.PARK_JOIN),
                source=_NAME_PASSAGE,
                because="a leader that rejoins causes a rebalance, also when it restarted",
            ),
            _NAME_PASSAGE,
        ),
    ),
    {
        **_versions((0, 3), (0, 2), (0, 2), (0, 2), (2, 6), (1, 5), (0, 3), (0, 2)),
        MEMBER_NAME: (4, 4),
    },
    empty_instance_is_none=True,
)


def _leave_draft(name: str, about: str, api: str) -> Revision:
    draft = derive(
        KAFKA_4, name, about, (), {**KAFKA_4.apis, "LeaveGroup": (0, 2), api: (3, 3)}
    )
    batch = draft_leave.BATCH
    passage = draft_leave.PASSAGE
    added = tuple(Change(batch.name, rule, passage) for rule in batch.rules())
    return replace(draft, tables={**draft.tables, batch.name: batch}, differences=added)


TWO_LIST_LEAVE_DRAFT = _leave_draft(
    "two-list-leave-draft", "LeaveGroup with two aligned lists", TWO_LIST
)
TUPLE_LIST_LEAVE_DRAFT = _leave_draft(
    "tuple-list-leave-draft", "LeaveGroup with one list of tuples", TUPLE_LIST
)

GATES = (
    Gate(
        (2, 8, 1),
        "a member that never syncs is removed (KAFKA-12890)",
        (
            Change(
                "join phase",
                _RULES["JOIN-PHASE-ALL-JOINED"].but(effect=(Do.COMPLETE_JOIN,)),
                src.KAFKA_12890,
            ),
            Change(
                "join phase",
                _RULES["JOIN-PHASE-DELAY-OVER"].but(
                    effect=(Do.REMOVE_ABSENT_DYNAMIC, Do.COMPLETE_JOIN)
                ),
                src.KAFKA_12890,
            ),
            Change(
                "join phase",
                _RULES["JOIN-PHASE-EXPIRED"].but(
                    effect=(Do.REMOVE_ABSENT_DYNAMIC, Do.COMPLETE_JOIN)
                ),
                src.KAFKA_12890,
            ),
            Change(
                "sync phase",
                _RULES["SYNC-PHASE-EXPIRED"].but(
                    level=Level.MAY, defensive="no wait for syncs before 2.8.1"
                ),
                src.KAFKA_12890,
            ),
        ),
    ),
)

# Highest versions by first release: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, OffsetCommit,
# OffsetFetch, DescribeGroups, ListGroups.
_HIGHEST: tuple[tuple[Release, tuple[int, ...]], ...] = (
    ((2, 3), (5, 3, 3, 2, 7, 5, 3, 2)),
    ((2, 4), (6, 4, 4, 4, 8, 6, 5, 3)),
    ((2, 5), (7, 5, 4, 4, 8, 7, 5, 3)),
    ((2, 6), (7, 5, 4, 4, 8, 7, 5, 4)),
    ((3, 0), (7, 5, 4, 4, 8, 8, 5, 4)),
    ((3, 2), (9, 5, 4, 5, 8, 8, 5, 4)),
    ((3, 6), (9, 5, 4, 5, 9, 8, 5, 4)),
    ((3, 7), (9, 5, 4, 5, 9, 9, 5, 4)),
    ((3, 8), (9, 5, 4, 5, 9, 9, 5, 5)),
)
RELEASES: tuple[Release, ...] = (
    *((2, minor) for minor in range(3, 9)),
    *((3, minor) for minor in range(10)),
)
_LAST_PATCH = 99


def release(version: Release) -> Revision:
    """The profile of a Kafka release before 4; without a patch number, of its last patch."""
    full = version if len(version) > 2 else (*version, _LAST_PATCH)
    gates = [gate for gate in GATES if full < gate.since]
    highest = [row for since, row in _HIGHEST if since <= full][-1]
    name = "kafka-" + ".".join(map(str, version))
    return derive(
        KAFKA_4,
        name,
        "; ".join(["Apache Kafka " + name[6:], *(f"not yet: {g.about}" for g in gates)]),
        tuple(d for gate in gates for d in gate.before),
        _versions(*((0, high) for high in highest)),
    )


_NAMED = {
    revision.name: revision
    for revision in (
        KAFKA_4,
        KIP_345,
        MEMBER_NAME_DRAFT,
        TWO_LIST_LEAVE_DRAFT,
        TUPLE_LIST_LEAVE_DRAFT,
        COMMENT_TABLE_1,
        COMMENT_TABLE_2,
    )
}
NAMES: tuple[str, ...] = (*_NAMED, *(f"kafka-{a}.{b}" for a, b in RELEASES))


@cache
def find(name: str) -> Revision:
    """The revision of this name; `kafka-X.Y[.Z]` below 4 is a release profile.

    Raises KeyError that names the value and what there is.
    """
    if name in _NAMED:
        return _NAMED[name]
    if match := re.fullmatch(r"kafka-(\d+)\.(\d+)(?:\.(\d+))?", name):
        version = tuple(int(part) for part in match.groups() if part is not None)
        if version[:2] in RELEASES:
            return release(version)
        if version[0] >= 4:
            return replace(KAFKA_4, name=name)
    raise KeyError(f"no revision {name!r}; there are {', '.join(NAMES)}")
