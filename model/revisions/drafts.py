"""The drafts of KIP-345: MEMBER_NAME in JoinGroup, and two forms of LeaveGroup."""

from __future__ import annotations

from dataclasses import replace

from fencepost.model.classic.rules import draft_leave
from fencepost.model.messages.draft_messages import MEMBER_NAME, TUPLE_LIST, TWO_LIST
from fencepost.model.revision import Revision, SetRule, derive
from fencepost.model.revisions.base import KAFKA_4, RULES, versions
from fencepost.model.table.cells import FOLLOWER, LEADER, when
from fencepost.model.table.effects import Do
from fencepost.model.table.expr import all_of
from fencepost.model.table.table import Rule

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
                because="an old member that rejoins does not change the group's state",
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
                because="a leader that rejoins causes a rebalance, also when it restarted",
            ),
            _NAME_PASSAGE,
        ),
    ),
    {
        **versions((0, 3), (0, 2), (0, 2), (0, 2), (2, 6), (1, 5), (0, 3), (0, 2)),
        MEMBER_NAME: (4, 4),
    },
    empty_instance_is_none=True,
)


def _leave_draft(name: str, about: str, api: str) -> Revision:
    draft = derive(KAFKA_4, name, about, (), {**KAFKA_4.apis, "LeaveGroup": (0, 2), api: (3, 3)})
    batch = draft_leave.BATCH
    passage = draft_leave.PASSAGE
    added = tuple(SetRule(batch.name, rule, passage) for rule in batch.rules())
    return replace(draft, tables={**draft.tables, batch.name: batch}, differences=added)


TWO_LIST_LEAVE_DRAFT = _leave_draft(
    "two-list-leave-draft", "LeaveGroup with two aligned lists", TWO_LIST
)
TUPLE_LIST_LEAVE_DRAFT = _leave_draft(
    "tuple-list-leave-draft", "LeaveGroup with one list of tuples", TUPLE_LIST
)
