from __future__ import annotations

from hypothesis import given, settings
from support.client_story import (
    TOPIC,
    action,
    assert_told_apart,
    assigned,
    evidence,
    heartbeat,
    join,
    leave,
    read,
    run,
    settled,
    sync,
)
from support.member_bytes import STRANGE

from fencepost.model.messages.errors import Error as Code
from fencepost.model.messages.subscription import (
    Subscription,
    TopicPartition,
    encode_assignment,
    encode_subscription,
    named_version,
)
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.requirements import REQUIREMENTS, judge

A = run()
SUBSCRIPTION = encode_subscription(Subscription((TOPIC,)))
OLDEST = encode_subscription(Subscription((TOPIC,)), 0)
LATER = encode_subscription(Subscription((TOPIC,)), 9)
ASSIGNMENT = encode_assignment([TopicPartition(TOPIC, 0)])


def test_a_subscription_has_the_fields_of_its_version() -> None:
    name, observed = "CLIENT-BYTES-SUBSCRIPTION", "version 1 without owned partitions"
    right = evidence(A, join(A, 1, metadata=SUBSCRIPTION), join(A, 9, metadata=LATER))
    wrong = evidence(A, join(A, 1, metadata=named_version(1, OLDEST)))
    assert_told_apart(name, right, wrong, observed)
    assert "00 01 00 00 00 01 00 01 74 ff ff ff ff" in judge(name, wrong).sentence
    assert "no bytes" in judge(name, evidence(A, join(A, 1))).sentence
    assert judge(name, evidence(A)).outcome is Outcome.UNKNOWN


def test_an_assignment_has_the_fields_of_its_version() -> None:
    name, observed = "CLIENT-BYTES-ASSIGNMENT", "version 1 without user data"
    right = evidence(A, sync(A, 1, gives_bytes=[("m1", ASSIGNMENT)]))
    wrong = evidence(A, sync(A, 1, gives_bytes=[("m1", ASSIGNMENT), ("m2", ASSIGNMENT[:-4])]))
    assert_told_apart(name, right, wrong, observed)
    assert "gives m2 " in judge(name, wrong).sentence
    assert judge(name, evidence(A, sync(A, 1))).outcome is Outcome.UNKNOWN


def test_a_leader_gives_something_to_whom_it_can_read() -> None:
    name = "CLIENT-BYTES-READS-MEMBERS"
    led = join(A, 1, metadata=SUBSCRIPTION, others=[("m1", SUBSCRIPTION), ("m9", LATER)])
    right = evidence(A, led, sync(A, 9, gives=[("m1", [0]), ("m9", [1])]))
    wrong = evidence(A, led, sync(A, 9, gives=[("m1", [0, 1]), ("m9", [])]))
    assert_told_apart(name, right, wrong, "subscription of version 9")
    silent = judge(name, evidence(A, led))
    assert "doesn't assign" in silent.observed
    assert silent.waited is not None
    gone = judge(name, evidence(A, led, join(A, 50, "m1")))
    assert (gone.outcome, gone.waited) == (Outcome.FAIL, None)
    assert "JoinGroup where SyncGroup" in gone.sentence
    assert judge(name, evidence(A, led, end=500)).outcome is Outcome.PASS


def test_a_leader_may_leave_out_whom_it_cant_read_or_who_came_too_late() -> None:
    name = "CLIENT-BYTES-READS-MEMBERS"
    unreadable = join(A, 1, others=[("m1", SUBSCRIPTION), ("m9", named_version(1, OLDEST))])
    assert judge(name, evidence(A, unreadable)).outcome is Outcome.UNKNOWN
    many = join(A, 1, others=[("m1", OLDEST), ("m2", OLDEST), ("m3", OLDEST)])
    some = sync(A, 9, gives=[("m1", [0]), ("m2", [1]), ("m3", [])])
    assert judge(name, evidence(A, many, some)).outcome is Outcome.PASS
    by_two = join(A, 1, others=[("m1", OLDEST), ("m2", OLDEST)], protocol="cooperative-sticky")
    assert judge(name, evidence(A, by_two)).outcome is Outcome.UNKNOWN


def test_a_library_whose_assignor_nobody_else_has_is_alone() -> None:
    name = "CLIENT-BYTES-READS-MEMBERS"
    alone = judge(name, evidence(A, join(A, 1, protocol="RoundRobinAssigner")))
    assert (alone.outcome, "RoundRobinAssigner" in alone.sentence) == (Outcome.UNSUPPORTED, True)


def test_a_member_reads_what_another_client_assigned() -> None:
    name = "CLIENT-BYTES-READS-ASSIGNMENT"
    later = encode_assignment([TopicPartition(TOPIC, 0)], 9)
    followed = sync(A, 1, assignment=later)
    right = evidence(A, followed, assigned(A, 2, 0), read(A, 3))
    wrong = evidence(A, followed, assigned(A, 2))
    assert_told_apart(name, right, wrong, "assignment of version 9")
    assert judge(name, evidence(A, followed, end=900)).outcome is Outcome.UNKNOWN
    called = heartbeat(A, 40, error=Code.REBALANCE_IN_PROGRESS)
    assert judge(name, evidence(A, followed, called, join(A, 50))).outcome is Outcome.UNKNOWN
    asked = action("subscribe", A, 40)
    assert judge(name, evidence(A, followed, asked, join(A, 50))).outcome is Outcome.UNKNOWN
    cooperative = run(assignor="cooperative-sticky")
    gives_up = sync(cooperative, 1, assignment=later)
    joins = join(cooperative, 50)
    assert judge(name, evidence(cooperative, gives_up, joins)).outcome is Outcome.UNKNOWN
    own = sync(A, 1, gives_bytes=[("m1", later)], assignment=later)
    assert judge(name, evidence(A, own)).outcome is Outcome.UNKNOWN


def test_who_leaves_because_of_an_assignment_and_joins_again_has_not_read_it() -> None:
    name = "CLIENT-BYTES-READS-ASSIGNMENT"
    later = encode_assignment([TopicPartition(TOPIC, 0)], 9)
    turns = [
        [sync(A, at, assignment=later), leave(A, at + 5), join(A, at + 300)]
        for at in range(1, 9000, 500)
    ]
    verdict = judge(name, evidence(A, *turns))
    assert verdict.observed == "reads nothing of an assignment of version 9"
    assert "before it sent LeaveGroup" in verdict.sentence
    reads_later = evidence(A, *turns, read(A, 9500))
    assert judge(name, reads_later).outcome is Outcome.PASS


def test_a_verdict_says_that_another_client_was_in_the_group() -> None:
    guest = evidence(A, action("guest"), end=900)
    name = "CLIENT-BYTES-READS-ASSIGNMENT"
    assert "no generation with the other client" in judge(name, guest).sentence
    assert judge(name, evidence(A)).sentence == "no other client was in a group with it"


@settings(max_examples=150)
@given(STRANGE, STRANGE)
def test_no_bytes_of_a_client_are_a_fault_of_ours(one: bytes, other: bytes) -> None:
    cooperative = run(assignor="cooperative-sticky")
    for of in (A, cooperative):
        pieces = [
            *settled(of, 1, 0, 1),
            join(of, 500, metadata=one, others=[("m1", other), ("m9", one)]),
            sync(of, 510, gives_bytes=[("m1", one), ("m9", other)], assignment=other),
            sync(of, 900, assignment=one),
        ]
        for found in (evidence(of, pieces), evidence(of, pieces[4:])):
            for requirement in REQUIREMENTS.values():
                assert requirement.verdict(found).outcome in Outcome
            found.owned(of)
