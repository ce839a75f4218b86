"""Define the drafts of KIP-345: MEMBER_NAME in JoinGroup, and two forms of LeaveGroup.

The two tables in the comments under the KIP's page, each as differences to the base.
"""

from __future__ import annotations

from dataclasses import replace

from fencepost.model.classic.cells import (
    COMPLETING,
    EMPTY,
    FOLLOWER,
    LEADER,
    MEMBER,
    NONE,
    OTHER,
    OWN,
    PREPARING,
    STABLE,
    UNKNOWN,
    UNMAPPED,
    when,
)
from fencepost.model.classic.effects import Do
from fencepost.model.classic.rules import join, leave
from fencepost.model.messages.draft_messages import MEMBER_NAME, TUPLE_LIST, TWO_LIST
from fencepost.model.messages.errors import Error
from fencepost.model.revision import Difference, DropRule, Revision, SetRule, derive
from fencepost.model.revisions.base import KAFKA_4, RULES, versions
from fencepost.model.table.expr import Expr, all_of
from fencepost.model.table.table import Echo, Rule

_J = "JoinGroup"

_NAME_PASSAGE = "KIP-345's MEMBER_NAME draft, Background: a leader that rejoins causes a rebalance"
MEMBER_NAME_DRAFT = derive(
    KAFKA_4,
    "member-name-draft",
    "the early draft: MEMBER_NAME in JoinGroup alone, nothing to fence other requests with",
    (
        SetRule(
            _J,
            RULES["JOIN-STATIC-EMPTY-STABLE"].but(
                guard=all_of(RULES["JOIN-STATIC-EMPTY-STABLE"].guard, when(role=FOLLOWER)),
                because="a known member that rejoins doesn't change the group's state",
                source=_NAME_PASSAGE,
            ),
            _NAME_PASSAGE,
        ),
        SetRule(
            _J,
            Rule(
                "JOIN-STATIC-EMPTY-STABLE-LEADER",
                all_of(RULES["JOIN-STATIC-EMPTY-STABLE"].guard, when(role=LEADER)),
                (Do.REPLACE_HOLDER, Do.REBALANCE, Do.PARK_JOIN),
                source=_NAME_PASSAGE,
                because="a leader that rejoins causes a rebalance, a restarted one, too",
            ),
            _NAME_PASSAGE,
        ),
    ),
    {
        **versions(
            (0, 3), (0, 2), (0, 2), (0, 2), (2, 6), (1, 5), (0, 3), (0, 2), (0, 1), (0, 2), (0, 0)
        ),
        MEMBER_NAME: (4, 4),
    },
    empty_instance_is_none=True,
)


def _leave_draft(name: str, about: str, api: str) -> Revision:
    draft = derive(KAFKA_4, name, about, (), {**KAFKA_4.apis, "LeaveGroup": (0, 2), api: (3, 3)})
    batch = leave.BATCH
    passage = leave.PASSAGE
    added = tuple(SetRule(batch.name, rule, passage) for rule in batch.rules())
    return replace(draft, tables={**draft.tables, batch.name: batch}, differences=added)


TWO_LIST_LEAVE_DRAFT = _leave_draft(
    "two-list-leave-draft", "LeaveGroup with two aligned lists", TWO_LIST
)
TUPLE_LIST_LEAVE_DRAFT = _leave_draft(
    "tuple-list-leave-draft", "LeaveGroup with one list of tuples", TUPLE_LIST
)


_SETTLED = (COMPLETING, STABLE)

_ROW_1 = "row 1: known, no instance: rebalance"
_ROW_3 = "row 3: empty, no instance: a new id with MEMBER_ID_REQUIRED"


def _comment_rows(where: str, row_4_1: str) -> tuple[Difference, ...]:
    """Make the differences that both tables have in common."""
    mismatch = Rule(
        "JOIN-INSTANCE-FENCED",
        when(mid=MEMBER, inst=OTHER),
        answer=Error.MEMBER_ID_MISMATCH,
        source=where,
        because="the instance is mapped to another member id",
    )
    return (
        SetRule(
            _J,
            RULES["JOIN-DYNAMIC-EMPTY"].but(guard=when(mid=EMPTY, inst=NONE)),
            f"{where}, {_ROW_3}",
        ),
        DropRule(_J, "JOIN-DYNAMIC-EMPTY-LEGACY", f"{where}, {_ROW_3}"),
        SetRule(
            _J,
            Rule(
                "JOIN-KNOWN",
                when(mid=MEMBER, inst=NONE, state=_SETTLED),
                join.REJOIN,
                source=where,
                because="a known member that joins without an instance always causes a rebalance",
            ),
            f"{where}, {_ROW_1}",
        ),
        SetRule(
            _J,
            Rule(
                "JOIN-KNOWN-INSTANCE",
                when(mid=MEMBER, inst=OWN, state=_SETTLED),
                (Do.ANSWER_CURRENT,),
                source=where,
                because="a known member that holds its instance gets its old assignment",
            ),
            f"{where}, {row_4_1}",
        ),
        SetRule(_J, mismatch, f"{where}, {row_4_1}"),
        *(
            DropRule(_J, rule_id, f"{where}, rows 1 and {row_4_1}")
            for rule_id in (
                "JOIN-MEMBER-COMPLETING-SAME",
                "JOIN-MEMBER-COMPLETING-CHANGED",
                "JOIN-LEADER-STABLE",
                "JOIN-FOLLOWER-STABLE-CHANGED",
                "JOIN-FOLLOWER-STABLE-SAME",
            )
        ),
    )


_COMMENT_1 = "KIP-345's page, first comment table"
COMMENT_TABLE_1 = derive(
    KAFKA_4,
    "comment-table-1",
    "the first comment: a mapped instance gets the stored member id",
    (
        *_comment_rows(_COMMENT_1, "row 4: known with instance: match, or mismatch"),
        SetRule(
            _J,
            Rule(
                "JOIN-INSTANCE-UNMAPPED",
                when(mid=MEMBER, inst=UNMAPPED),
                answer=Error.MEMBER_ID_MISMATCH,
                source=_COMMENT_1,
                because="the instance is unmapped, so the id doesn't match it",
            ),
            f"{_COMMENT_1}, row 4: not in the map is no match",
        ),
        SetRule(
            _J,
            Rule(
                "JOIN-UNKNOWN-INSTANCE",
                when(mid=UNKNOWN, inst=(UNMAPPED, OTHER)),
                answer=Error.UNKNOWN_MEMBER_ID,
                source=_COMMENT_1,
                because="an unknown id is refused, with or without an instance",
            ),
            f"{_COMMENT_1}, row 5: unknown with instance, as without",
        ),
        SetRule(
            _J,
            Rule(
                "JOIN-STATIC-EMPTY-MAPPED",
                when(mid=EMPTY, inst=OTHER),
                (Do.HAND_OUT_HOLDER,),
                Error.MEMBER_ID_REQUIRED,
                source=_COMMENT_1,
                because="the instance is mapped, so its member id is returned",
                echo=Echo.NEW,
            ),
            f"{_COMMENT_1}, row 6: empty with a mapped instance",
        ),
        *(
            DropRule(_J, rule_id, f"{_COMMENT_1}, row 6: empty with a mapped instance")
            for rule_id in (
                "JOIN-STATIC-EMPTY-PREPARING",
                "JOIN-STATIC-EMPTY-COMPLETING",
                "JOIN-STATIC-EMPTY-STABLE",
                "JOIN-STATIC-EMPTY-STABLE-SELECTION",
            )
        ),
    ),
)

_COMMENT_2 = "KIP-345's page, second comment table"
_ROW_42 = f"{_COMMENT_2}, row 4.2: a known member becomes static"
_ROW_51 = f"{_COMMENT_2}, row 5.1: an unknown id with a mapped instance replaces the holder"
_ROW_52 = f"{_COMMENT_2}, row 5.2: an unknown id with an unmapped instance is added"
_ROW_61 = f"{_COMMENT_2}, row 6.1: a mapped instance is given the old assignment"


def _row(rule_id: str, guard: Expr, effect: tuple[Do, ...], passage: str, why: str) -> SetRule:
    rule = Rule(rule_id, guard, effect, source=passage, because=why)
    return SetRule(_J, rule, passage)


_UPGRADE = "a dynamic member may become static by bringing an instance"
_TAKEOVER = "any process with the instance takes it over"
_RESTART = "a restarted instance is given the old assignment, whatever the state"
COMMENT_TABLE_2 = derive(
    KAFKA_4,
    "comment-table-2",
    "the second comment: every join with an instance gets it, known or not",
    (
        *_comment_rows(_COMMENT_2, "row 4.1: known with instance: match, or mismatch"),
        _row(
            "JOIN-UPGRADE",
            when(mid=MEMBER, inst=UNMAPPED, state=_SETTLED),
            (Do.MAP_CALLER, Do.ANSWER_CURRENT),
            _ROW_42,
            _UPGRADE,
        ),
        _row(
            "JOIN-UPGRADE-PREPARING",
            when(mid=MEMBER, inst=UNMAPPED, state=PREPARING),
            (Do.MAP_CALLER, Do.UPDATE_MEMBER, Do.PARK_JOIN),
            _ROW_42,
            _UPGRADE,
        ),
        DropRule(_J, "JOIN-INSTANCE-UNMAPPED", _ROW_42),
        _row(
            "JOIN-UNKNOWN-MAPPED",
            when(mid=UNKNOWN, inst=OTHER, state=_SETTLED),
            (Do.REPLACE_HOLDER_AS_SENT, Do.ANSWER_CURRENT),
            _ROW_51,
            _TAKEOVER,
        ),
        _row(
            "JOIN-UNKNOWN-MAPPED-PREPARING",
            when(mid=UNKNOWN, inst=OTHER, state=PREPARING),
            (Do.REPLACE_HOLDER_AS_SENT, Do.PARK_JOIN),
            _ROW_51,
            _TAKEOVER,
        ),
        _row(
            "JOIN-UNKNOWN-UNMAPPED",
            when(mid=UNKNOWN, inst=UNMAPPED),
            (Do.ADD_STATIC_AS_SENT, Do.REBALANCE, Do.PARK_JOIN),
            _ROW_52,
            "a removed consumer that comes back is taken for a new member",
        ),
        _row(
            "JOIN-STATIC-EMPTY-COMPLETING",
            when(mid=EMPTY, inst=OTHER, state=COMPLETING),
            (Do.REPLACE_HOLDER, Do.ANSWER_CURRENT),
            _ROW_61,
            _RESTART,
        ),
        _row(
            "JOIN-STATIC-EMPTY-STABLE",
            when(mid=EMPTY, inst=OTHER, state=STABLE),
            (Do.REPLACE_HOLDER, Do.PERSIST, Do.ANSWER_CURRENT),
            _ROW_61,
            _RESTART,
        ),
        DropRule(_J, "JOIN-STATIC-EMPTY-STABLE-SELECTION", _ROW_61),
    ),
)
