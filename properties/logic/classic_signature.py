"""Define the relations by which formulas describe a group of the classic protocol, and an event.

The abstraction keeps which ids are members, pending, mapped, lead, wait, are new, owe a sync, have
a session timer; whether the group waits for joins or syncs; its state and generation; the group
that a failover would load.  It leaves out deadlines, bytes, protocols, assignments, the contents of
offsets, and the senders of parked requests.
"""

from __future__ import annotations

from fencepost.model.classic.vocabulary import STATE, GroupState
from fencepost.model.table.expr import Feature
from fencepost.properties.logic.logic import (
    EVENT_FEATURES,
    Formula,
    Number,
    Relation,
    Signature,
    Sort,
    Term,
    all_of,
    an_id,
    an_instance,
    any_of,
    exists,
    same,
)

_ID = (Sort.ID,)

# Of a group.
MEMBER = Relation("member", _ID, "{0} is a member")
PENDING = Relation("pending", _ID, "{0} is pending")
SEAT = Relation("seat", (Sort.ID, Sort.INSTANCE), "{0} carries instance {1}")
HOLDS = Relation("holds", (Sort.INSTANCE, Sort.ID), "{0} is mapped to {1}")
LEADS = Relation("leads", _ID, "{0} leads")
PARKED = Relation("parked", _ID, "a join of {0} waits")
SYNCING = Relation("syncing", _ID, "a sync of {0} waits")
NEW = Relation("new", _ID, "{0} never completed a join")
OWES = Relation("owes", _ID, "{0} owes a sync")
SESSION = Relation("session", _ID, "a session timer of {0} runs")
JOIN_TIMER = Relation("join_timer", (), "the join phase has a timer")
SYNC_TIMER = Relation("sync_timer", (), "the wait for syncs has a timer")
DELAYED = Relation("delayed", (), "the initial delay runs")
OFFSETS = Relation("offsets", (), "offsets are stored")
STORED_MEMBER = Relation("stored_member", _ID, "{0} is stored as a member")
STORED_SEAT = Relation("stored_seat", (Sort.ID, Sort.INSTANCE), "{0} is stored with instance {1}")
STORED_HOLDS = Relation("stored_holds", (Sort.INSTANCE, Sort.ID), "{0} is stored as mapped to {1}")
STORED_LEADS = Relation("stored_leads", _ID, "{0} is stored as the leader")

# Of a step in the making.
CALLER = Relation("caller", _ID, "the answer is about {0}")
DEFERRED = Relation("deferred", (), "a batch has still to rebalance")

GROUP_RELATIONS = (
    MEMBER,
    PENDING,
    SEAT,
    HOLDS,
    LEADS,
    PARKED,
    SYNCING,
    NEW,
    OWES,
    SESSION,
    JOIN_TIMER,
    SYNC_TIMER,
    DELAYED,
    OFFSETS,
    STORED_MEMBER,
    STORED_SEAT,
    STORED_HOLDS,
    STORED_LEADS,
)

# Of what happens.
NAMED = Relation("named", _ID, "{0} is named, by its id or by its instance", of_event=True)
MID_GIVEN = Relation("mid_given", (), "a member id is sent", of_event=True)
INST_GIVEN = Relation("inst_given", (), "an instance is sent", of_event=True)

MID = Term("the id sent", Sort.ID, fixed=True)
INST = Term("the instance sent", Sort.INSTANCE, fixed=True)
FRESH = Term("the fresh id", Sort.ID, fixed=True)
SUBJECT = Term("the timer's id", Sort.ID, fixed=True)
EVENT_TERMS = (MID, INST, FRESH, SUBJECT)

# Numbers and finite questions.
GENERATION = Number("the generation")
STORED_GENERATION = Number("the stored generation")
NUMBERS = (GENERATION, STORED_GENERATION)

STORED_STATE = Feature("stored state", tuple(GroupState), "what is stored; absent: nothing")
GROUP_FEATURES = (STATE, STORED_STATE)
EVENT, RULE, ANSWER = EVENT_FEATURES
CLASSIC_SIGNATURE = Signature(
    GROUP_RELATIONS,
    GROUP_FEATURES,
    EVENT_TERMS,
    (CALLER, DEFERRED),
    (NAMED, MID_GIVEN, INST_GIVEN),
    NUMBERS,
)

JOIN_GROUP = "JoinGroup"
DELETE_GROUPS = "DeleteGroups"
DELETE_OFFSETS = "OffsetDelete"
FETCH_OFFSETS = "OffsetFetch"
LEAVE_ROW = "LeaveGroup member"
SESSION_END = "session timeout"
JOIN_PHASE = "join phase"
SYNC_PHASE = "sync phase"
FAILOVER = "failover"
CLEANUP = "cleanup"
RETENTION = "offset retention"

X, Y, Z = an_id("x"), an_id("y"), an_id("z")
I, J = an_instance("i"), an_instance("j")  # noqa: E741  (an instance)


def is_mid(term: Term) -> Formula:
    """Return a formula: the term is the id that was sent."""
    return all_of(MID_GIVEN.now(), same(term, MID))


def is_inst(term: Term) -> Formula:
    """Return a formula: the term is the instance that was sent."""
    return all_of(INST_GIVEN.now(), same(term, INST))


def is_static(term: Term) -> Formula:
    """Return a formula: the member carries some instance."""
    return exists(J, SEAT.now(term, J))


def is_valid(term: Term) -> Formula:
    """Return a formula: the id is a member's or pending."""
    return any_of(MEMBER.now(term), PENDING.now(term))


def is_valid_then(term: Term) -> Formula:
    """Return a formula: the id is a member's or pending after the step."""
    return any_of(MEMBER.then(term), PENDING.then(term))
