"""History properties hold of right answers, and each catches the lie that it is there for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace
from support.id_first import ID_FIRST
from support.tape import REBALANCE_MS, History, Tape, lie, saying, two_stable_members

from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.model.history.events import Answered, Handled
from fencepost.model.messages.errors import Error
from fencepost.model.revisions import revisions
from fencepost.properties.claims.answer_properties import (
    HISTORY_PROPERTIES,
    broken_properties,
)
from fencepost.properties.claims.history_index import read
from fencepost.properties.stateful.strategies import histories
from fencepost.properties.worlds.classic_worlds import CLASSIC_WORLDS

Told = tuple[History, History]
"""What a right coordinator answered, and the same with a lie."""

SCOPES = CLASSIC_WORLDS.drawing.scopes
STORIES: dict[str, Callable[[], Told]] = {}


def story(property_id: str) -> Callable[[Callable[[], Told]], Callable[[], Told]]:
    def register(tell: Callable[[], Told]) -> Callable[[], Told]:
        STORIES[f"{property_id}: {tell.__name__.replace('_', ' ')}"] = tell
        return tell

    return register


@story("two-clients-are-never-told-one-id")
def a_second_process_gets_the_id_of_the_first() -> Told:
    tape, a, _ = two_stable_members()
    again = tape.join("A")
    return tape.history, lie(tape.history, again, saying(memberId=a, leader=a))


@story("two-clients-are-never-told-one-id")
def an_id_is_handed_out_to_join_with_twice() -> Told:
    tape = Tape()
    first, second = tape.join(None), tape.join(None)
    return tape.history, lie(tape.history, second, saying(memberId=tape.id_of(first)))


@story("a-replaced-id-stays-out")
def the_old_process_goes_on() -> Told:
    tape, a, _ = two_stable_members()
    tape.join("A")
    beat = tape.beat("A", a, 2)
    return tape.history, lie(tape.history, beat, saying(errorCode=0))


@story("a-replaced-id-stays-out")
def it_comes_back_with_a_failover_though_its_successor_was_stored() -> Told:
    tape, a, _ = two_stable_members()
    tape.join("A")
    tape.failover()
    beat = tape.beat("A", a, 2)
    return tape.history, lie(tape.history, beat, saying(errorCode=0))


@story("fenced-stays-fenced")
def a_fenced_process_is_asked_to_join_again() -> Told:
    tape, a, _ = two_stable_members()
    tape.join("A")
    tape.beat("A", a, 2)
    beat = tape.beat("A", a, 2)
    return tape.history, lie(tape.history, beat, saying(errorCode=27))


@story("one-member-for-each-instance")
def an_instance_is_listed_twice() -> Told:
    tape, a, _ = two_stable_members()
    again = tape.join("A", a)
    tape.join("B")
    members = [
        {"memberId": tape.id_of(again), "groupInstanceId": "B", "metadata": ""},
        {"memberId": "B-9", "groupInstanceId": "B", "metadata": ""},
    ]
    return tape.history, lie(tape.history, again, saying(members=members))


@story("only-ids-that-were-given-count")
def a_stranger_may_heartbeat() -> Told:
    tape, _, _ = two_stable_members()
    beat = tape.beat(None, "stranger", 2)
    return tape.history, lie(tape.history, beat, saying(errorCode=0))


@story("only-ids-that-were-given-count")
def a_dynamic_member_claims_an_instance() -> Told:
    tape = Tape()
    mid = tape.id_of(tape.join(None, version=3))
    tape.sync(None, mid, 1, mid)
    beat = tape.beat("Z", mid, 1)
    return tape.history, lie(tape.history, beat, saying(errorCode=0))


@story("generations-never-fall")
def a_later_join_is_told_an_earlier_generation() -> Told:
    tape, _, _ = two_stable_members()
    again = tape.join("B")
    return tape.history, lie(tape.history, again, saying(generationId=1))


@story("generations-never-fall")
def a_failover_forgets_what_was_stored() -> Told:
    tape, _, b = two_stable_members()
    tape.failover()
    again = tape.join("B", b)
    return tape.history, lie(tape.history, again, saying(generationId=1))


@story("one-generation-one-protocol")
def one_of_them_is_told_another_protocol() -> Told:
    tape, _, _ = two_stable_members()
    again = tape.join("B")
    return tape.history, lie(tape.history, again, saying(protocolName="sticky"))


@story("one-generation-one-leader-seat")
def a_follower_that_restarts_is_told_that_it_leads() -> Told:
    tape, _, _ = two_stable_members()
    again = tape.join("B")
    mid = tape.id_of(again)
    members = [{"memberId": mid, "groupInstanceId": "B", "metadata": ""}]
    return tape.history, lie(tape.history, again, saying(leader=mid, members=members))


@story("one-generation-one-assignment")
def a_restart_finds_another_assignment() -> Told:
    tape, _, _ = two_stable_members()
    mid = tape.id_of(tape.join("B"))
    sync = tape.sync("B", mid, 2)
    return tape.history, lie(tape.history, sync, saying(assignment=""))


@story("exactly-one-leader-is-given-members")
def the_leader_is_given_nobody() -> Told:
    tape, _, _ = two_stable_members()
    again = tape.join("A")
    return tape.history, lie(tape.history, again, saying(members=[]))


@story("exactly-one-leader-is-given-members")
def a_follower_is_given_the_members_too() -> Told:
    tape, _, _ = two_stable_members()
    again = tape.join("B")
    members = [{"memberId": tape.id_of(again), "groupInstanceId": "B", "metadata": ""}]
    return tape.history, lie(tape.history, again, saying(members=members))


@story("restart-in-a-stable-group-is-quiet")
def a_restart_begins_a_generation() -> Told:
    tape, _, _ = two_stable_members()
    again = tape.join("A")
    return tape.history, lie(tape.history, again, saying(generationId=3))


@story("restart-in-a-stable-group-is-quiet")
def a_restart_waits_for_a_rebalance() -> Told:
    tape, _, _ = two_stable_members()
    again = tape.join("A")
    return tape.history, lie(tape.history, again, lambda _: None)


@story("restart-in-a-stable-group-is-quiet")
def after_ten_restarts_another_member_hears_of_a_rebalance() -> Told:
    tape, _, b = two_stable_members()
    for _ in range(10):
        tape.join("A")
    beat = tape.beat("B", b, 2)
    return tape.history, lie(tape.history, beat, saying(errorCode=27))


@story("rebalance-has-a-visible-cause")
def a_member_hears_of_a_rebalance_that_nobody_began() -> Told:
    tape, _, b = two_stable_members()
    tape.beat("B", b, 2)
    beat = tape.beat("B", b, 2)
    return tape.history, lie(tape.history, beat, saying(errorCode=27))


@story("no-answer-has-a-forbidden-shape")
def a_field_of_a_later_version() -> Told:
    tape = Tape()
    join = tape.join("A", version=8)
    return tape.history, lie(tape.history, join, saying(skipAssignment=True))


@story("no-answer-has-a-forbidden-shape")
def bytes_that_end_too_early() -> Told:
    tape = Tape()
    join = tape.join("A")
    return tape.history, lie(tape.history, join, lambda a: replace(a, findings=("cut short",)))


@story("every-request-is-answered-in-bounded-time")
def a_join_is_never_answered() -> Told:
    tape = Tape()
    tape.join("A")
    join = tape.join("B")
    tape.wait(REBALANCE_MS + 1)
    return tape.history, lie(tape.history, join, lambda _: None)


@story("every-request-is-answered-in-bounded-time")
def a_heartbeat_takes_a_millisecond() -> Told:
    tape, _, b = two_stable_members()
    beat = tape.beat("B", b, 2)
    tape.wait(1)
    late = lie(tape.history, beat, lambda a: replace(a, at_ms=1))
    answered = next(e for e in late if isinstance(e, Answered) and e.answer.id == beat)
    rest = tuple(e for e in late if e is not answered)
    return tape.history, (*rest[:-1], answered, rest[-1])


@story("every-request-is-answered-in-bounded-time")
def a_connection_is_closed_instead() -> Told:
    tape = Tape()
    join = tape.join("A")
    return tape.history, lie(tape.history, join, lambda a: replace(a, body=None))


@pytest.mark.parametrize("name", STORIES)
def test_a_lie_is_caught_and_the_truth_is_not(name: str) -> None:
    property_id = name.partition(":")[0]
    truth, told = STORIES[name]()

    assert broken_properties(truth) == {}
    assert property_id in broken_properties(told)


def reached_properties(history: History) -> frozenset[str]:
    """Return the ids of the properties whose premise a history reaches; it tests no others."""
    reading = read(history)
    return frozenset(
        each.id for each in HISTORY_PROPERTIES if callable(each.premise) and each.premise(reading)
    )


def test_every_property_has_a_lie_and_a_history_that_it_is_about() -> None:
    told = {name.partition(":")[0] for name in STORIES}
    reached = frozenset().union(*(reached_properties(tell()[0]) for tell in STORIES.values()))

    assert told == {one.id for one in HISTORY_PROPERTIES}
    assert reached == told


def test_a_history_without_a_case_says_nothing() -> None:
    assert reached_properties(()) == frozenset()
    assert broken_properties(()) == {}


def test_a_failover_may_bring_back_what_was_not_stored() -> None:
    tape, a, _ = two_stable_members()
    tape.join("C")  # a rebalance is under way, so the restart of A is not stored
    tape.join("A")
    tape.beat("A", a, 2)
    tape.failover()
    back = tape.beat("A", a, 2)

    assert tape.body(back)["errorCode"] == 0
    assert broken_properties(tape.history) == {}


def test_a_restarted_leader_is_told_its_old_id_in_old_versions_which_is_its_seat() -> None:
    tape, a, _ = two_stable_members()
    again = tape.join("A", version=8)

    assert tape.body(again)["leader"] == a != tape.id_of(again)
    assert broken_properties(tape.history) == {}


def test_a_request_that_was_given_up_is_owed_nothing() -> None:
    tape = Tape()
    tape.join("A")
    join = tape.join("B")
    tape.drop(join)
    tape.wait(REBALANCE_MS + 1)
    silent = tuple(e for e in tape.history if not (isinstance(e, Answered) and e.answer.id == join))

    assert broken_properties(silent) == {}


def test_under_a_real_clock_silence_alone_proves_nothing() -> None:
    truth, told = a_join_is_never_answered()
    assert "every-request-is-answered-in-bounded-time" in broken_properties(told)

    real = tuple(e for e in told if not isinstance(e, Handled))

    assert broken_properties(real) == {}
    assert truth != told


def test_a_sentence_names_the_requests() -> None:
    _, told = the_old_process_goes_on()

    assert broken_properties(told)["a-replaced-id-stays-out"] == (
        "r6 (JoinGroup v9) gave instance A another id, so 'A-1' was out; "
        "yet r7 (Heartbeat v4) under that id was answered NONE"
    )


def test_who_takes_an_instance_over_under_a_pending_id_replaces_its_holder() -> None:
    tape = Tape()
    tape.model = ModelCoordinator(ID_FIRST)
    tape.model.reset({"group.initial.rebalance.delay.ms": 0})
    old, new = tape.id_of(tape.join("A")), tape.id_of(tape.join("A"))
    tape.join("A", old)
    tape.sync("A", old, 1, old)
    tape.join("A", new)
    beat = tape.beat("A", old, 1)

    assert "a-replaced-id-stays-out" not in broken_properties(tape.history)
    told = lie(tape.history, beat, saying(errorCode=0))
    assert "a-replaced-id-stays-out" in broken_properties(told)


def a_pending_id(tape: Tape) -> tuple[str, int]:
    return tape.id_of(tape.join(None)), 0


def a_dynamic_member(tape: Tape) -> tuple[str, int]:
    mid = tape.id_of(tape.join(None))
    tape.join(None, mid)
    tape.wait(REBALANCE_MS)
    return mid, 3


def a_member_of_another_instance(tape: Tape) -> tuple[str, int]:
    return tape.id_of(tape.join("B")), 2


@pytest.mark.parametrize(
    "lives",
    [a_pending_id, a_dynamic_member, a_member_of_another_instance],
    ids=lambda f: f.__name__,
)
def test_who_names_anothers_instance_is_fenced_and_lives_on(
    lives: Callable[[Tape], tuple[str, int]],
) -> None:
    tape, _, _ = two_stable_members()
    mid, generation = lives(tape)
    fenced = tape.beat("A", mid, generation)
    assert tape.body(fenced)["errorCode"] == Error.FENCED_INSTANCE_ID.value

    instance = "B" if lives is a_member_of_another_instance else None
    if lives is not a_pending_id:
        assert tape.body(tape.beat(instance, mid, generation))["errorCode"] in {0, 27}
    row = {"memberId": mid, "groupInstanceId": instance, "reason": None}
    gone = tape.ask("x", "LeaveGroup", 5, members=[row])
    assert tape.body(gone)["members"][0]["errorCode"] == 0

    assert broken_properties(tape.history) == {}


MODELS = ("kafka-4", "kip-345", "kafka-3.9", "two-list-leave-draft", "comment-table-2")
FEW = settings(max_examples=12, suppress_health_check=list(HealthCheck), deadline=None)


@pytest.mark.parametrize("scope", SCOPES, ids=("one instance", "zombie", "old and dynamic"))
@pytest.mark.parametrize("name", MODELS)
def test_they_hold_of_the_model(name: str, scope: object) -> None:
    held = [one for one in HISTORY_PROPERTIES if name not in one.expected]

    @FEW
    @given(histories(revisions.find(name), scope=scope))  # type: ignore[arg-type]
    def every(history: History) -> None:
        assert broken_properties(history, held) == {}

    every()


def test_an_expected_violation_is_seen() -> None:
    seen: set[str] = set()

    @FEW
    @given(histories(revisions.find("comment-table-1"), scope=SCOPES[0]))
    def every(history: History) -> None:
        seen.update(broken_properties(history))

    every()
    assert "two-clients-are-never-told-one-id" in seen
