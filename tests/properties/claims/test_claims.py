"""The properties are tested, too: each catches a liar, and each notices that it has no case.

Every definition is broken in turn: a premise that is never met, a statement that is always true.
Each time a guard must fail that passes for the definition as it stands.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace as change

from fencepost.model.classic.group import Group, Member, Offset, ParkedRequest
from fencepost.model.classic.rules import join
from fencepost.model.classic.vocabulary import Change, GroupState, Trigger
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    CommittedPartition,
    CommittedTopic,
    DeletedGroup,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.revisions import revisions
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.model.work import Emission, Incoming, Timer
from fencepost.properties.checking.checking import PropertyStatus, check_revision
from fencepost.properties.checking.evaluator import Evaluator, is_quiet
from fencepost.properties.claims.property_registry import PROPERTIES, find_property
from fencepost.properties.claims.world_properties import DECIDED
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.logic.classic_signature import (
    FAILOVER,
    JOIN_PHASE,
    LEAVE_ROW,
    SESSION_END,
    SYNC_PHASE,
)
from fencepost.properties.logic.logic import FALSE, TRUE, Engine, Formula, Property, PropertyKind
from fencepost.properties.logic.structures import AbstractStep
from fencepost.properties.worlds.abstraction import (
    AbstractEvent,
    AbstractGroup,
    evaluate,
)
from fencepost.properties.worlds.scope import CHECK_SCOPES, find_check_scope
from fencepost.properties.worlds.views import Event, StepView, WorldView
from fencepost.properties.worlds.world import Worlds
from fencepost.properties.worlds.world_client import OFFERS

EXPLORED = [p for p in PROPERTIES.values() if Engine.EXPLORATION in p.engines]
FORMULAS = [p for p in PROPERTIES.values() if p.formula is not None]
FUNCTIONS = [p for p in EXPLORED if p.holds is not None and p is not DECIDED]
IDS = ("x", "y", "z")
INSTANCES = ("A", "B")
EVENTS = (
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "OffsetCommit",
    FAILOVER,
    JOIN_PHASE,
    LEAVE_ROW,
    SESSION_END,
    SYNC_PHASE,
)
RULES = ("", *(rule.id for rule in join.ROWS), "JOIN-PHASE-EXPIRED", "SESSION-EXPIRED")
STRUCTURES = 16000
Structure = AbstractGroup | AbstractStep


def without_premise(one: Property) -> Property:
    never: Any = FALSE if isinstance(one.premise, Formula) else lambda _: False
    return replace(one, premise=never)


def always_true(one: Property) -> Property:
    if one.formula is not None:
        return replace(one, formula=TRUE)
    return replace(one, holds=lambda _: None)


# A property must have had a case.


def test_a_premise_that_is_never_met_is_noticed() -> None:
    blind = [without_premise(one) for one in EXPLORED]

    result = check_revision(revisions.find("kip-345"), blind, questions=CHECK_SCOPES[:2])

    held = {r.property.id for r in result.results if r.finding is PropertyStatus.HOLDS}
    assert held == set()


# A formula must exclude something: groups and steps made by chance, not by any model.


def some(chance: random.Random, values: tuple[Any, ...]) -> frozenset[Any]:
    return frozenset(value for value in values if chance.random() < 0.4)


def a_group(chance: random.Random) -> AbstractGroup:
    pairs = tuple((x, i) for x in IDS for i in INSTANCES)
    turned = tuple((i, x) for x, i in pairs)
    make: dict[str, Callable[[], Any]] = {
        "GroupState": lambda: chance.choice(tuple(GroupState)),
        "int": lambda: chance.randrange(3),
        "Ids": lambda: some(chance, IDS),
        "bool": lambda: chance.random() < 0.5,
    }
    values: dict[str, Any] = {}
    for one in fields(AbstractGroup):
        if one.type == "Pairs":
            values[one.name] = some(chance, turned if one.name.endswith("holds") else pairs)
        else:
            values[one.name] = make[str(one.type)]()
    return AbstractGroup(**values)


def a_step(chance: random.Random) -> AbstractStep:
    before = a_group(chance)
    after = before if chance.random() < 0.3 else a_group(chance)
    event = AbstractEvent(
        chance.choice(EVENTS),
        chance.choice(RULES),
        chance.choice((None, *Error)),
        chance.choice(("", *IDS)),
        chance.choice((None, *INSTANCES)),
        chance.choice(IDS),
        chance.choice(("", *IDS)),
        some(chance, IDS),
        chance.choice(tuple(Change)),
        chance.choice(tuple(Change)),
        chance.choice((None, *Trigger)),
    )
    return AbstractStep(before, event, after)


@cache
def structures(make: Callable[[random.Random], Structure]) -> tuple[Structure, ...]:
    chance = random.Random(0)
    return tuple(make(chance) for _ in range(STRUCTURES))


def excludes_something(one: Property) -> bool:
    assert one.formula is not None
    made = structures(a_group if one.kind is PropertyKind.STATE else a_step)
    return any(not evaluate(one.formula, each) for each in made)


@pytest.mark.parametrize("one", FORMULAS, ids=lambda one: one.id)
def test_a_formula_excludes_something(one: Property) -> None:
    assert excludes_something(one)


@pytest.mark.parametrize("one", FORMULAS, ids=lambda one: one.id)
def test_a_formula_that_excludes_nothing_is_noticed(one: Property) -> None:
    assert not excludes_something(always_true(one))


# A function must catch a liar: a broken model, or where no model lies so, a view made by hand.

LIARS = {
    "one-client-per-id": ("tansu-same-id", "two processes"),
    "no-two-consumers-on-one-id": ("tansu-same-id", "two processes"),
    "one-leading-seat": ("generation-not-counted", "two instances"),
    "one-protocol-per-generation": ("generation-not-counted", "zombie"),
    "one-assignment-per-seat": ("replace-loses-assignment", "two processes"),
    "waiting-request-is-parked": ("waiting-syncs-forgotten", "two instances"),
    "leader-assigns-to-the-members": ("kafka-9801", "two instances"),
    "silence-has-an-end": ("kafka-9752", "zombie"),
    "wait-for-syncs-has-an-end": ("kafka-12890", "zombie"),
    "a-generation-is-told-alike": ("members-told-to-all", "two instances"),
    "the-leader-told-is-a-member": ("kafka-13435", "two processes"),
    "nobody-is-left-without-an-answer": ("tansu-same-id", "two instances"),
    "a-restart-in-a-stable-group-is-quiet": ("librdkafka-mock-never-fences", "two processes"),
    "a-rejoin-brings-its-timeouts": ("replace-keeps-protocols", "two instances"),
    "a-heartbeat-keeps-alive": ("heartbeat-keeps-nobody-alive", "zombie"),
    "silence-is-noticed": ("crabka-static-never-expires", "zombie"),
    "a-stranger-is-told-so": ("kafka-8487", "side by side"),
    "another-generation-is-told-so": ("heartbeat-generation-unchecked", "failover"),
    "a-group-keeps-its-size": ("group-size-unchecked", "no room"),
    "a-newcomer-is-told-its-id-first": ("no-id-required", "side by side"),
    "a-session-timeout-is-within-bounds": ("session-bounds-unchecked", "bad manners"),
    "a-refused-join-learns-nothing": ("refused-join-with-generation", "zombie"),
    "the-replaced-is-fenced": ("replaced-told-unknown", "two instances"),
    "the-welcomed-know-the-group": ("members-without-instance", "zombie"),
    "a-leader-that-rejoins-is-heard": ("leader-rejoin-ignored", "zombie"),
    "a-restarted-leader-assigns-nothing": ("restart-never-skips-assignment", "two processes"),
    "a-rebalance-waits-for-all": ("pending-does-not-block", "side by side"),
    "the-leader-alone-assigns": ("follower-assigns", "two instances"),
    "a-heartbeat-tells-of-a-rebalance": ("heartbeat-completing-refused", "zombie"),
    "another-protocol-is-told-so": ("sync-protocol-unchecked", "bad manners"),
    "a-leave-has-a-row-for-each": ("leave-without-instance", "two processes"),
    "exactly-the-named-leave": ("leave-by-instance-refused", "two processes"),
    "an-accepted-commit-is-read": ("commit-forgotten", "operators"),
    "members-commit-and-nobody-else": ("anybody-commits", "operators"),
    "a-commit-keeps-alive": ("commit-keeps-nobody-alive", "zombie"),
    "operators-see-the-group": ("described-without-instance", "operators"),
    "who-must-stop-is-told": ("heartbeat-generation-unchecked", "failover"),
    "a-group-with-members-stays": ("members-deleted", "transactions"),
    "offsets-that-are-read-stay": ("subscribed-offsets-deleted", "transactions"),
    "somebody-is-to-assign": ("kafka-9801", "two processes"),
    "an-assignment-lasts-its-generation": ("replace-loses-assignment", "two processes"),
}
STABLE = Group(
    state=GroupState.STABLE,
    generation_id=3,
    leader="A.1",
    members=(Member("A.1", "A", "", 6000, 9000, OFFERS[0], new=False),),
    static=(("A", "A.1"),),
    timers=(Timer("session", "A.1", 6000, 6000),),
)
_ALIVE = HeartbeatRequest(group_id="g", generation_id=3, member_id="A.1")
_BEAT = Incoming("now", "", "Heartbeat", 4, _ALIVE, "fresh")
_PARTITION = CommittedPartition(partition_index=0, error_code=Error.UNKNOWN_MEMBER_ID.value)
_REFUSED = OffsetCommitResponse(topics=(CommittedTopic(name="t", partitions=(_PARTITION,)),))
_DELETION = Incoming(
    "now", "", "DeleteGroups", 2, DeleteGroupsRequest(groups_names=("g",)), "fresh"
)
_DELETED = DeleteGroupsResponse(results=(DeletedGroup(group_id="g", error_code=0),))
_COMMIT = Incoming(
    "now", "", "OffsetCommit", 8, OffsetCommitRequest(group_id="g", topics=()), "fresh"
)


def step(event: Event, after: Group, answer: Message) -> StepView:
    return StepView(STABLE, event, after, (Emission("now", answer, "RULE"),), ())


PREPARING = change(STABLE, state=GroupState.PREPARING).with_timer("join", "", 9000, 9000)
SYNCING = change(
    STABLE,
    state=GroupState.COMPLETING,
    members=(change(STABLE.members[0], syncing=ParkedRequest("old", 5)),),
)
BESIDE = change(
    STABLE,
    members=tuple(
        Member(f"{instance}.1", instance, "", 6000, 9000, OFFERS[0], new=False, assignment=b"x")
        for instance in INSTANCES
    ),
    static=(("A", "A.1"), ("B", "B.1")),
)
VIEWS: dict[str, WorldView | StepView] = {
    "what-a-member-had-is-handed-on": StepView(BESIDE, _BEAT, BESIDE.without_member("B.1"), (), ()),
    "a-deletion-is-done-or-refused": step(_DELETION, STABLE, _DELETED),
    "a-stable-group-is-assigned": StepView(PREPARING, _BEAT, STABLE, (), ()),
    "the-wait-has-a-fixed-end": StepView(
        PREPARING, _BEAT, PREPARING.with_timer("join", "", 9001, 9001), (), ()
    ),
    "who-waited-has-a-whole-session": StepView(
        SYNCING,
        _BEAT,
        STABLE.with_timer("session", "A.1", 5999, 5999),
        (Emission("old", SyncGroupResponse(error_code=0), "RULE"),),
        (),
    ),
    "nobody-is-assigned-before-the-leader": StepView(
        SYNCING,
        _BEAT,
        change(SYNCING, members=STABLE.members),
        (Emission("old", SyncGroupResponse(error_code=0), "RULE"),),
        (),
    ),
    "no-timer-takes-who-has-synced": StepView(
        SYNCING, Timer("sync", "", 9000, 9000), SYNCING.without_member("A.1"), (), ()
    ),
    "session-within-its-timeout": WorldView(
        change(STABLE, timers=(Timer("session", "A.1", 6001, 6001),)), (), ()
    ),
    "no-timer-of-the-gone": WorldView(
        change(STABLE, timers=(*STABLE.timers, Timer("session", "gone", 1, 1))),
        (),
        (),
    ),
    "answers-have-the-shape-of-their-version": step(
        _BEAT,
        STABLE,
        JoinGroupResponse(error_code=0, member_id=None),  # type: ignore[arg-type]
    ),
    "the-generation-told-is-the-groups": step(
        _BEAT, STABLE, JoinGroupResponse(error_code=0, generation_id=4, member_id="A.1")
    ),
    "a-refused-commit-stores-nothing": step(
        _COMMIT, change(STABLE, offsets=(Offset("t", 0, 1, ""),)), _REFUSED
    ),
}


def caught(one: Property) -> bool:
    """Whether a property sees the liar that is there for it."""
    if one.id in VIEWS:
        view = VIEWS[one.id]
        if isinstance(view, StepView):
            return bool(Evaluator([one], revisions.find("kafka-4")).judge(view)[0])
        assert one.holds is not None
        return one.holds(view) is not None
    name, question = LIARS[one.id]
    revision = find_revision(f"mutant:{name}")
    judging = Evaluator([one], revision)
    worlds = Worlds(revision, find_check_scope(question).scope, judging.judge)
    found = explore(worlds, judging.checks(worlds), quiet=is_quiet, stop_at_first=True, max_depth=6)
    return one.id in found.violations


def test_every_function_has_its_liar() -> None:
    assert {one.id for one in FUNCTIONS} == set(LIARS) | set(VIEWS)


@pytest.mark.parametrize("one", FUNCTIONS, ids=lambda one: one.id)
def test_a_function_catches_its_liar(one: Property) -> None:
    assert caught(one)


@pytest.mark.parametrize("one", FUNCTIONS, ids=lambda one: one.id)
def test_a_function_that_is_always_true_is_noticed(one: Property) -> None:
    assert not caught(always_true(one))


@pytest.mark.parametrize(
    ("answers", "got"),
    [
        ((HeartbeatResponse(error_code=27),), "REBALANCE_IN_PROGRESS"),
        ((), "no answer"),
    ],
)
def test_a_sentence_names_the_answer(answers: tuple[Message, ...], got: str) -> None:
    emissions = tuple(Emission("now", answer, "RULE") for answer in answers)

    def sentence(member_id: str, generation: int, property_id: str) -> str:
        beat = HeartbeatRequest(group_id="g", generation_id=generation, member_id=member_id)
        event = Incoming("now", "", "Heartbeat", 4, beat, "fresh")
        view = StepView(STABLE, event, STABLE, emissions, ())
        (fault,) = Evaluator([find_property(property_id)], revisions.find("kafka-4")).judge(view)[0]
        return fault.partition(": ")[2]

    assert sentence("A.1", 2, "another-generation-is-told-so") == (
        f"another generation got {got} instead of ILLEGAL_GENERATION"
    )
    assert sentence("gone", 3, "a-stranger-is-told-so") == (
        f"an id that is no member's got {got} instead of UNKNOWN_MEMBER_ID"
    )
    assert sentence("A.1", 3, "a-heartbeat-tells-of-a-rebalance") == (
        f"in Stable a member's heartbeat got {got} instead of NONE"
    )


def test_what_a_premise_guards_never_fails_where_the_premise_is_false() -> None:
    """The evaluator doesn't ask there; a property of one's own is asked at each step."""
    guarded = [one for one in FUNCTIONS if one.premise_guards]
    missed = set()

    def note(view: StepView) -> tuple[tuple[str, ...], tuple[str, ...]]:
        for one in guarded:
            assert one.holds is not None
            assert callable(one.premise)
            if one.holds(view) is not None and not one.premise(view):
                missed.add(one.id)
        return (), ()

    for name, question in sorted(set(LIARS.values())):
        scope = find_check_scope(question).scope
        explore(Worlds(find_revision(f"mutant:{name}"), scope, note), max_depth=3, max_states=100)
    assert len(guarded) > 30
    assert missed == set()


def test_a_property_of_ones_own_is_asked_where_its_premise_is_false() -> None:
    own = replace(
        PROPERTIES["silence-is-noticed"],
        id="own",
        holds=lambda _: "no",
        premise=lambda _: False,
        premise_guards=False,
    )
    result = check_revision(revisions.find("kafka-4"), [own], questions=CHECK_SCOPES[:1])

    assert [r.finding for r in result.results] == [PropertyStatus.BROKEN]
