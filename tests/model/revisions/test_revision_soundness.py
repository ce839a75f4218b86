"""A revision of one's own is refused with what is wrong: ids, steps, answers, reasons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fencepost.model.classic.effects import Do
from fencepost.model.messages.errors import Error
from fencepost.model.revision import Difference, Revision, SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.model.revisions.base import KAFKA_4, RULES
from fencepost.model.revisions.release_revisions import GATES
from fencepost.model.revisions.revision_soundness import has_stale_reason, revision_faults
from fencepost.model.table.table import Echo, Table

NEW = "because our brokers do so"


def own(*differences: Difference, base: Revision = KAFKA_4) -> Revision:
    return derive(base, "own", "own", differences)


def but(rule_id: str, table: str = "JoinGroup", **changes: Any) -> SetRule:
    return SetRule(table, RULES[rule_id].but(**changes), "tried")


@pytest.mark.parametrize("name", revisions.NAMES)
def test_what_is_shipped_has_no_fault(name: str) -> None:
    assert revision_faults(revisions.find(name)) == []
    assert revision_faults(own(base=revisions.find(name))) == []


WRONG: dict[str, tuple[SetRule, str]] = {
    "id": (but("JOIN-PENDING", id="join pending"), "'join pending' is no id of a rule"),
    "twice": (
        but("HEARTBEAT-STABLE", because=NEW),
        "HEARTBEAT-STABLE is in table JoinGroup and in Heartbeat; ids are unique",
    ),
    "step": (
        but("JOIN-PENDING", effect=("admit",), because=NEW),
        "JOIN-PENDING: 'admit' is no step; the steps are the members of Do",
    ),
    "no tuple": (but("JOIN-PENDING", effect=Do.PARK_JOIN), "give a tuple of steps"),
    "answer": (but("JOIN-PENDING", answer="NONE"), "its answer is 'NONE'; the answers are"),
    "reason": (but("JOIN-PENDING", because=""), "JOIN-PENDING: say why it does so"),
    "other table": (
        but("JOIN-PENDING", effect=(Do.STORE_OFFSETS, Do.PARK_JOIN), because=NEW),
        'the step "store the offsets" belongs to table OffsetCommit or TxnOffsetCommit, not to',
    ),
    "unanswered": (
        but("HEARTBEAT-STABLE", "Heartbeat", answer=None, because=NEW),
        "HEARTBEAT-STABLE: it neither answers nor parks the request; give it an answer",
    ),
    "answered twice": (
        but("JOIN-PENDING", answer=Error.NONE, because=NEW),
        'JOIN-PENDING: it answers twice: "the join waits", and more',
    ),
    "nobody asked": (
        but("SESSION-WAITING", "session timeout", answer=Error.NONE, because=NEW),
        "SESSION-WAITING: nobody asks in table session timeout",
    ),
    "no member": (
        but("JOIN-UNKNOWN-MEMBER", effect=(Do.UPDATE_MEMBER,), because=NEW),
        "S and R\" can't be done where the caller is no member: version 0, ",
    ),
    "no holder": (
        but("JOIN-STATIC-EMPTY-NEW", effect=(Do.REPLACE_HOLDER, Do.PARK_JOIN), because=NEW),
        "can't be done where nobody holds the instance: ",
    ),
    "nobody is told": (
        but(
            "JOIN-STATIC-EMPTY-STABLE",
            effect=(Do.HAND_OUT_HOLDER,),
            answer=Error.MEMBER_ID_REQUIRED,
            because=NEW,
        ),
        "the answer MEMBER_ID_REQUIRED carries the one sent as id, so no client gets the right one",
    ),
    "added and not told": (
        but(
            "JOIN-STATIC-EMPTY-NEW",
            effect=(Do.ADD_STATIC, Do.REBALANCE),
            answer=Error.MEMBER_ID_REQUIRED,
            because=NEW,
        ),
        "so no client gets the right one; give it echo=Echo.NEW",
    ),
    "another error": (
        but("JOIN-DYNAMIC-EMPTY", answer=Error.UNKNOWN_MEMBER_ID, because=NEW),
        "needs answer=Error.MEMBER_ID_REQUIRED: clients take an id from no other error",
    ),
    "no new id": (
        but("JOIN-INSTANCE-FENCED", echo=Echo.NEW),
        "JOIN-INSTANCE-FENCED: echo=Echo.NEW returns a new id, and no step makes one; add one",
    ),
    "echo of nothing": (
        but("HEARTBEAT-UNKNOWN-MEMBER", "Heartbeat", echo=Echo.EMPTY),
        "echo=Echo.EMPTY says which id an error answer to a join carries, and this rule gives none",
    ),
    "two callers": (
        but(
            "JOIN-STATIC-EMPTY-NEW",
            effect=(Do.ADD_STATIC, Do.ADD_DYNAMIC, Do.REBALANCE, Do.PARK_JOIN),
            because=NEW,
        ),
        "Do.ADD_STATIC and Do.ADD_DYNAMIC both say who the caller is; leave one of them out",
    ),
    "welcome without a generation": (
        but("JOIN-LEADER-STABLE", effect=(), answer=Error.NONE, because=NEW),
        "leave `answer` out and add the step Do.ANSWER_CURRENT or Do.PARK_JOIN",
    ),
    "welcome without an assignment": (
        but("SYNC-STABLE", "SyncGroup", effect=(), answer=Error.NONE, because=NEW),
        "leave `answer` out and add the step Do.ANSWER_ASSIGNMENT or Do.PARK_SYNC",
    ),
    "join that waits for ever": (
        but("JOIN-FOLLOWER-STABLE-SAME", effect=(Do.PARK_JOIN,), because=NEW),
        "can't be done where no rebalance is prepared, so nothing would ever answer the join: ",
    ),
    "sync that waits for ever": (
        but("SYNC-STABLE", "SyncGroup", effect=(Do.PARK_SYNC,), because=NEW),
        "can't be done where no assignment is awaited, so nothing would ever answer the sync: ",
    ),
    "no instance": (
        but(
            "JOIN-DYNAMIC-EMPTY-LEGACY",
            effect=(Do.ADD_STATIC, Do.REBALANCE, Do.PARK_JOIN),
            because=NEW,
        ),
        "can't be done where the request names no instance: ",
    ),
    "not pending": (
        but(
            "JOIN-STATIC-EMPTY-NEW",
            effect=(Do.ADMIT_PENDING, Do.REBALANCE, Do.PARK_JOIN),
            because=NEW,
        ),
        "can't be done where the member id is not pending: ",
    ),
    "no id": (
        but(
            "JOIN-STATIC-EMPTY-STABLE",
            effect=(Do.REPLACE_HOLDER_AS_SENT, Do.ANSWER_CURRENT),
            because=NEW,
        ),
        "; ask for mid=Mid.UNKNOWN, or use Do.REPLACE_HOLDER",
    ),
    "nobody replaced": (
        but(
            "JOIN-STATIC-EMPTY-STABLE",
            effect=(Do.HAND_OUT_HOLDER, Do.ANSWER_RESTARTED),
            because=NEW,
        ),
        "can't be done where nobody was replaced before: ",
    ),
    "after a removal": (
        but(
            "LEAVE-MEMBER",
            "LeaveGroup member",
            effect=(Do.REMOVE_MEMBER, Do.RESTART_SESSION, Do.REBALANCE),
            because=NEW,
        ),
        'its parked requests get UNKNOWN_MEMBER_ID", when the caller is no member: state ',
    ),
    "removed twice": (
        but(
            "LEAVE-MEMBER-BY-INSTANCE",
            "LeaveGroup member",
            effect=(Do.REMOVE_HOLDER, Do.REMOVE_HOLDER),
            because=NEW,
        ),
        'when nobody holds the instance: state CompletingRebalance, mid "", inst mapped to another',
    ),
    "changes nothing": (
        but(
            "DESCRIBE-DEAD",
            "DescribeGroups",
            effect=(Do.REBALANCE, Do.ANSWER_DESCRIPTION),
            because=NEW,
        ),
        "would not be done: a rule of table DescribeGroups answers and changes nothing; leave it",
    ),
    "stale": (
        but("JOIN-FOLLOWER-STABLE-CHANGED", effect=(Do.ANSWER_CURRENT,)),
        'still says `because`: "a changed subscription needs a new assignment"; say why',
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_fault_is_told_in_a_sentence(name: str) -> None:
    difference, said = WRONG[name]
    faults = revision_faults(own(difference))
    assert any(said in fault for fault in faults), faults


def test_a_missing_table_and_another_tables_features_are_told() -> None:
    tables = dict(KAFKA_4.tables)
    del tables["Heartbeat"]
    sync = tables["SyncGroup"]
    tables["SyncGroup"] = Table(sync.name, sync.features[::-1], sync.checks, sync.rows)
    faults = revision_faults(replace(KAFKA_4, name="own", tables=tables))
    assert "there is no table Heartbeat; begin with derive(), which keeps it" in faults
    asks = "table SyncGroup must ask for these features, in this order: version, "
    assert any(fault.startswith(asks) for fault in faults)


def test_a_changed_rule_that_gives_a_new_reason_is_fine() -> None:
    said = but("JOIN-FOLLOWER-STABLE-CHANGED", effect=(Do.ANSWER_CURRENT,), because=NEW)
    assert revision_faults(own(said)) == []
    narrower = but("JOIN-FOLLOWER-STABLE-CHANGED", level=RULES["JOIN-PENDING"].level)
    assert revision_faults(own(narrower)) == []


def test_an_inherited_reason_of_a_shipped_rule_is_known() -> None:
    (early,) = GATES[0].before
    assert isinstance(early, SetRule)
    assert has_stale_reason(early.rule, KAFKA_4)
    assert not has_stale_reason(RULES[early.rule.id], KAFKA_4)
