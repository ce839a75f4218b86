"""Judge the records that users read, and the offsets at which they begin."""

from __future__ import annotations

import pytest
from support.client_story import (
    TOPIC,
    Piece,
    action,
    assert_told_apart,
    assigned,
    call,
    commit,
    ended,
    evidence,
    heartbeat,
    join,
    lost,
    read,
    revoked,
    run,
    saw,
    settled,
    sync,
    told,
)

from fencepost.model.messages.errors import Error as Code
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.driver_messages import Records
from fencepost.properties.requirements.evidence import ConsumerRun
from fencepost.properties.requirements.judge_reading import is_caught_up
from fencepost.properties.requirements.requirements import judge

A, B = run(), run("b", instance="i-2")
COOPERATIVE = run(assignor="cooperative-sticky")
ASSIGNED, NOTHING_ELSE = "CLIENT-READ-ASSIGNED", "CLIENT-READ-NOTHING-ELSE"
NO_GAP, NOT_TWICE = "CLIENT-READ-NO-GAP", "CLIENT-READ-NOT-TWICE"
END = 20_000


def member(of: ConsumerRun, at: float, *numbers: int, generation: int = 1) -> list[Piece]:
    """Return a join, a sync with partitions, and their assignment to the user."""
    return [
        join(of, at, generation=generation),
        sync(of, at + 10, generation=generation, gets=numbers),
        assigned(of, at + 20, *numbers),
    ]


def produced(at: float, count: int = 2) -> Piece:
    return action("produce", at=at, count=count, partitions=2)


def reads(of: ConsumerRun, at: float, number: int, first: int, count: int = 2) -> Piece:
    return read(of, at, number, first=first, count=count)


BEGUN = [A, *member(A, 10, 0, 1), produced(50), reads(A, 60, 0, 0), reads(A, 60, 1, 0)]
GOES_ON = [produced(5000), reads(A, 5010, 0, 2)]


def test_each_partition_is_read() -> None:
    right = evidence(BEGUN, GOES_ON, reads(A, 5010, 1, 2), end=END)
    assert_told_apart(ASSIGNED, right, evidence(BEGUN, GOES_ON, end=END), "does not read")
    verdict = judge(ASSIGNED, evidence(BEGUN, GOES_ON, end=END))
    assert verdict.sentence == (
        "a has had t-1 for 20.0 s, but its user got no record of it from offset 2 on in the last "
        "15.0 s"
    )


def test_an_assignment_that_the_library_does_not_even_report_fails_in_another_way() -> None:
    again = [revoked(A, 990, 0, 1), *member(A, 1000, 0, 1, generation=2)]
    reported = judge(ASSIGNED, evidence(BEGUN, again, GOES_ON, end=END))
    forgotten = judge(ASSIGNED, evidence(BEGUN, again[:-1], GOES_ON[:1], end=END))
    assert reported.observed == "does not read a partition that it is assigned"
    assert forgotten.observed == "does not use an assignment"
    assert "but the library didn't report it to its user, who got no rec" in forgotten.sentence
    silent = [A, join(A, 10), sync(A, 20, gets=(0,)), produced(50)]
    assert judge(ASSIGNED, evidence(silent, end=END)).observed == reported.observed


def test_what_was_kept_is_read_after_a_rebalance() -> None:
    again = member(A, 1000, 0, generation=2)
    assert judge(ASSIGNED, evidence(BEGUN, again, GOES_ON, end=END)).outcome is Outcome.PASS
    late = evidence(BEGUN, again, produced(5000), end=END)
    assert judge(ASSIGNED, late).outcome is Outcome.FAIL


@pytest.mark.parametrize(
    "excuse",
    [
        join(A, 6000, "m1", generation=2),
        told(A, 6000),
        heartbeat(A, 6000, error=Code.FENCED_INSTANCE_ID),
        action("stop-polling", A, 6000),
        action("unsubscribe", A, 6000),
        action("move", at=12_500),
        action("commit", A, 6000),
    ],
    ids=lambda piece: f"{getattr(piece, 'api', '')}{getattr(piece, 'name', '')}",
)
def test_who_has_no_time_to_read_is_not_judged_by_what_it_left(excuse: Piece) -> None:
    verdict = judge(ASSIGNED, evidence(BEGUN, GOES_ON, excuse, end=END))
    is_excused = getattr(excuse, "name", "") != "commit"
    assert verdict.outcome is (Outcome.PASS if is_excused else Outcome.FAIL)


def test_who_polls_on_reads_on() -> None:
    acts = [action("stop-polling", A, 4900), action("poll-on", A, 6000)]
    right = [reads(A, 6100, 0, 2), reads(A, 6100, 1, 2)]
    wrong = evidence(BEGUN, acts, produced(5000), right[0], end=END)
    assert_told_apart(
        ASSIGNED, evidence(BEGUN, acts, produced(5000), right, end=END), wrong, "does not read"
    )


def test_a_machine_that_stalls_gives_more_time() -> None:
    slow = evidence(BEGUN, GOES_ON, end=END, stalls=((6000.0, 9000.0),))
    assert judge(ASSIGNED, slow).outcome is Outcome.PASS


def test_what_another_one_committed_needs_not_be_read() -> None:
    done = [B, commit(B, 100, offset=2)]
    only = [A, *member(A, 200, 0), *done, produced(50)]
    assert judge(ASSIGNED, evidence(only, end=END)).outcome is Outcome.UNKNOWN
    assert is_caught_up(evidence(only, end=END), A)
    assert not is_caught_up(evidence(only, produced(300), end=END), A)


def test_who_joins_has_not_caught_up() -> None:
    read_all = evidence(BEGUN, end=100)
    assert is_caught_up(read_all, A)
    assert not is_caught_up(evidence(BEGUN, join(A, 90, "m1"), end=100), A)
    assert not is_caught_up(evidence(A, end=100), A)
    assert is_caught_up(evidence(BEGUN, told(A, 70), produced(80), end=100), A)


def test_no_record_of_what_was_given_back() -> None:
    gone = [revoked(A, 1000, 0, 1), *member(A, 1010, 0, generation=2)]
    right = evidence(BEGUN, gone, reads(A, 1200, 1, 2), reads(A, 2000, 0, 2))
    wrong = evidence(BEGUN, gone, reads(A, 2000, 1, 2))
    assert_told_apart(NOTHING_ELSE, right, wrong, "doesn't have")
    assert "1.0 s after it had given it up" in judge(NOTHING_ELSE, wrong).sentence
    stranger = judge(NOTHING_ELSE, evidence(BEGUN, reads(A, 2000, 5, 0)))
    assert "that it was not assigned" in stranger.sentence
    assert judge(NOTHING_ELSE, evidence(BEGUN, lost(A, 100, 1), reads(A, 2000, 1, 2))).observed


def test_what_a_library_doesn_t_report_is_taken_from_its_syncs() -> None:
    silent = [A, join(A, 10), sync(A, 20, gets=(0,)), reads(A, 60, 0, 0)]
    assert judge(NOTHING_ELSE, evidence(silent)).outcome is Outcome.PASS
    assert judge(NOTHING_ELSE, evidence(silent, reads(A, 60, 1, 0))).outcome is Outcome.FAIL


def test_a_record_may_come_between_the_sync_and_its_callback() -> None:
    """sarama-cluster fetches what SyncGroup gave it, and tells its user afterwards."""
    begun = [A, join(A, 10), sync(A, 20, gets=(0,))]
    late = [*begun, assigned(A, 900, 0)]
    right = evidence(late, reads(A, 60, 0, 0))
    assert judge(NOTHING_ELSE, right).outcome is Outcome.PASS
    wrong = evidence(late, reads(A, 60, 1, 0))
    assert_told_apart(NOTHING_ELSE, right, wrong, "doesn't have")
    given_up = evidence(late, revoked(A, 1000, 0), reads(A, 2000, 0, 0))
    assert_told_apart(NOTHING_ELSE, right, given_up, "doesn't have")
    told_before = [*begun, assigned(A, 30, 0), revoked(A, 40, 0)]
    joins = evidence(told_before, join(A, 50, "m1", generation=2), reads(A, 2000, 0, 0))
    assert_told_apart(NOTHING_ELSE, right, joins, "doesn't have")
    lost_before = evidence(begun, lost(A, 30, 0), reads(A, 2000, 0, 0), assigned(A, 3000, 0))
    assert_told_apart(NOTHING_ELSE, right, lost_before, "doesn't have")


def test_records_on_their_way_are_of_the_assignment_before() -> None:
    """A worker of node-rdkafka hands over a batch after the callbacks of the next generation."""
    begun = [*BEGUN, produced(500), revoked(A, 1000, 0, 1), *member(A, 1010, 0, 1, generation=2)]
    on_its_way, anew = reads(A, 1090, 0, 2), reads(A, 1110, 0, 0, 4)
    again = reads(A, 3000, 0, 2)
    right = evidence(begun, on_its_way, anew, reads(A, 3000, 0, 4))
    assert_told_apart(NOT_TWICE, right, evidence(begun, on_its_way, anew, again), "to give up")
    too_late = evidence(begun, reads(A, 1600, 0, 2), reads(A, 1620, 0, 0, 4))
    assert_told_apart(NOT_TWICE, right, too_late, "to give up")
    elsewhere = evidence(begun, reads(A, 1090, 0, 3, 1), anew)
    assert_told_apart(NOT_TWICE, right, elsewhere, "to give up")
    others = [*BEGUN, produced(500), revoked(A, 1000, 1), *member(A, 1010, 0, 1, generation=2)]
    assert_told_apart(NOT_TWICE, right, evidence(others, on_its_way, anew), "to give up")


@pytest.mark.parametrize(
    ("api", "code", "version"), [("OffsetFetch", 88, 6), ("Fetch", 56, 5)], ids=str
)
def test_what_no_broker_answers_in_that_version_is_not_held_against_it(
    api: str, code: int, version: int
) -> None:
    def refused(of: int, **fields: str) -> Piece:
        return call(A, api, 70, None, None, of, code=code, **fields)

    wrong = [*BEGUN, *GOES_ON]
    older = judge(ASSIGNED, evidence(wrong, refused(version, fault="error"), end=END))
    assert older.outcome is Outcome.UNSUPPORTED
    assert f"it sends {api} v{version}" in older.sentence
    newer = evidence(wrong, refused(version + 1, fault="error"), end=END)
    assert judge(ASSIGNED, newer).outcome is Outcome.FAIL
    by_itself = evidence(wrong, refused(version), end=END)
    assert judge(ASSIGNED, by_itself).outcome is Outcome.FAIL
    before = evidence(A, reads(A, 60, 5, 0), refused(version, fault="error"))
    assert judge(NOTHING_ELSE, before).outcome is Outcome.FAIL
    nothing = evidence(A, refused(version, fault="error"))
    assert judge(ASSIGNED, nothing).outcome is Outcome.UNSUPPORTED
    whole = [*BEGUN, refused(version, fault="error")]
    assert judge(ASSIGNED, evidence(whole)).outcome is Outcome.PASS
    broken = judge(ASSIGNED, evidence(whole, broken="b read nothing"))
    assert broken.outcome is Outcome.UNSUPPORTED


def test_what_rests_on_a_version_that_is_gone_is_not_held_against_it() -> None:
    versions = ((0.0, {"ListOffsets": (1, 11)}),)

    def list_offsets(version: int, **fields: int) -> Piece:
        return call(A, "ListOffsets", 70, None, None, version, **fields)

    wrong = [*BEGUN, *GOES_ON]
    verdict = judge(ASSIGNED, evidence(wrong, list_offsets(0), end=END, versions=versions))
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert "it sent ListOffsets v0, which the broker lacks (1 to 11)" in verdict.sentence
    assert "--broker kafka:3.8.1" in verdict.sentence
    for other in (list_offsets(1), list_offsets(12), list_offsets(0, code=0)):
        assert judge(ASSIGNED, evidence(wrong, other, end=END, versions=versions)).observed
    before = evidence(A, reads(A, 60, 5, 0), list_offsets(0), versions=versions)
    assert judge(NOTHING_ELSE, before).outcome is Outcome.FAIL


def test_a_verdict_says_that_a_start_failed() -> None:
    refused = action("start", A, 10, outcome="COORDINATOR_NOT_AVAILABLE", message="not yet")
    verdict = judge(ASSIGNED, evidence(A, refused, end=END))
    assert verdict.outcome is Outcome.UNKNOWN
    why = "; the start of a failed with COORDINATOR_NOT_AVAILABLE: not yet"
    assert verdict.sentence.endswith(why)
    broken = judge(ASSIGNED, evidence(A, refused, end=END, broken="a sent no JoinGroup"))
    assert broken.sentence == f"a sent no JoinGroup{why}"
    started = evidence(A, action("start", A, 10), end=END)
    assert "failed" not in judge(ASSIGNED, started).sentence


def test_no_record_is_skipped() -> None:
    right = evidence(BEGUN, GOES_ON)
    assert_told_apart(NO_GAP, right, evidence(BEGUN, reads(A, 5010, 0, 3)), "skipped")
    other = [B, *member(B, 200, 0), reads(B, 300, 0, 2)]
    assert judge(NO_GAP, evidence(BEGUN, other)).outcome is Outcome.PASS
    assert judge(NO_GAP, evidence(A, B, member(B, 200, 0), reads(B, 300, 0, 2))).observed


def test_what_the_dead_committed_they_had_seen() -> None:
    dead = run("c", instance="i-3", ended=100, how="crashed")
    begun = [dead, B, *member(B, 200, 0), reads(B, 300, 0, 2)]
    assert judge(NO_GAP, evidence(begun, commit(dead, 90, offset=2))).outcome is Outcome.PASS


def test_what_was_committed_is_not_read_again() -> None:
    done = [*BEGUN, commit(A, 70, offset=2), B]
    right = evidence(done, member(B, 200, 0), produced(250), reads(B, 300, 0, 2))
    wrong = evidence(done, member(B, 200, 0), reads(B, 300, 0, 0))
    assert_told_apart(NOT_TWICE, right, wrong, "committed")
    for refusal in (
        commit(A, 70, offset=2, error=Code.ILLEGAL_GENERATION),
        commit(A, 199, offset=2),  # too late to be sure that it was answered before
    ):
        undecided = evidence(*BEGUN, refusal, B, member(B, 190, 0), reads(B, 300, 0, 0))
        assert judge(NOT_TWICE, undecided).outcome is Outcome.UNKNOWN


def test_nothing_is_read_again_while_nothing_is_revoked() -> None:
    right = evidence(BEGUN, GOES_ON)
    wrong = evidence(BEGUN, reads(A, 5010, 0, 0))
    assert_told_apart(NOT_TWICE, right, wrong, "not asked to give up")
    anew = [revoked(A, 1000, 0, 1), *member(A, 1010, 0, generation=2), reads(A, 1100, 0, 0)]
    assert judge(NOT_TWICE, evidence(BEGUN, anew)).outcome is Outcome.UNKNOWN


def test_a_cooperative_member_goes_on_with_what_it_keeps() -> None:
    begun = [
        COOPERATIVE,
        *member(COOPERATIVE, 10, 0),
        reads(COOPERATIVE, 60, 0, 0),
        join(COOPERATIVE, 1000, "m1", generation=2),
        sync(COOPERATIVE, 1010, generation=2, gets=(0,)),
        assigned(COOPERATIVE, 1020),
    ]
    right = evidence(begun, reads(COOPERATIVE, 1100, 0, 2))
    wrong = evidence(begun, reads(COOPERATIVE, 1100, 0, 0))
    assert_told_apart(NOT_TWICE, right, wrong, "not asked to give up")
    removed = heartbeat(COOPERATIVE, 900, error=Code.UNKNOWN_MEMBER_ID)
    lost_place = evidence(begun, removed, reads(COOPERATIVE, 1100, 0, 0))
    assert judge(NOT_TWICE, lost_place).outcome is Outcome.UNKNOWN


P = run(instance=None, pattern="^t.*$", metadata_max_age_ms=500)
"""Subscribes by a pattern."""


def test_a_topic_that_is_made_later_is_read() -> None:
    made = action("create-topic", at=100, topic="t-new")
    read = saw(P, 900, Records("a", 900, ("t-new", 0), 0, 2))
    begun = [P, *settled(P, 10, 0, instance=None), made]
    right, wrong = evidence(begun, read, end=20_000), evidence(begun, end=20_000)
    assert_told_apart("CLIENT-READ-NEW-TOPIC", right, wrong, "made later")
    other = action("create-topic", at=100, topic="other")
    for pieces in ([P, other], [run(), made], [made], [P, *settled(P, 10, 0), made]):
        end = 8000 if P in pieces and made in pieces else 20_000
        verdict = judge("CLIENT-READ-NEW-TOPIC", evidence(pieces, end=end))
        assert verdict.outcome is Outcome.UNKNOWN


def test_other_topics_are_read_on_when_one_is_deleted() -> None:
    name = "CLIENT-READ-DELETED-TOPIC"
    deleted = action("delete-topic", at=100, topic="t-old")
    after = action("produce", at=200, count=2, partitions=1, topic=TOPIC)
    begun = [A, *settled(A, 10, 0), deleted, after]
    read = saw(A, 300, Records("a", 300, (TOPIC, 0), 0, 2))
    right = evidence(begun, read, end=20_000)
    assert_told_apart(name, right, evidence(begun, end=20_000), "does not read on")
    assert_told_apart(name, right, evidence(begun, read, told(A, 250, "X")), "ends after")
    assert_told_apart(name, right, evidence(begun, read, ended(A, 250)), "ends after")
    for pieces in ([A, deleted], begun[:-2], [begun]):
        assert judge(name, evidence(*pieces, end=5000)).outcome is Outcome.UNKNOWN


def test_what_came_right_before_a_sync_is_of_the_generation_before() -> None:
    quick = [
        join(A, 61, generation=2),
        sync(A, 62, generation=2, gets=(0, 1)),
        assigned(A, 66, 0, 1),
    ]
    again = evidence(BEGUN, quick, reads(A, 70, 0, 0), reads(A, 70, 1, 0))
    assert judge(NOT_TWICE, again).outcome is not Outcome.FAIL


def test_nobody_has_to_read_a_topic_that_is_deleted() -> None:
    deleted = action("delete-topic", at=5100, topic=TOPIC)
    assert judge(ASSIGNED, evidence(BEGUN, GOES_ON, deleted, end=END)).outcome is not Outcome.FAIL


FIRST = ((TOPIC, 0),)
PAUSED = action("pause-partitions", A, 1000, named=FIRST)
RESUMED = action("resume-partitions", A, 5000, named=FIRST)


def test_a_paused_partition_delivers_nothing() -> None:
    name = "CLIENT-READ-PAUSED"
    begun = [*BEGUN, PAUSED, produced(1500), RESUMED]
    right = evidence(begun, reads(A, 1600, 1, 2), reads(A, 5100, 0, 2))
    wrong = evidence(begun, reads(A, 1600, 0, 2))
    assert_told_apart(name, right, wrong, "records of a paused partition")
    again = member(A, 1550, 0, 1, generation=2)  # no rebalance need preserve a pause
    assert judge(name, evidence(begun, again, reads(A, 1600, 0, 2))).outcome is Outcome.PASS
    under_way = evidence(begun, reads(A, 1100, 0, 2))
    assert judge(name, under_way).outcome is Outcome.PASS
    assert judge(name, evidence(BEGUN, PAUSED, RESUMED)).outcome is Outcome.UNKNOWN
    refused = action("pause-partitions", A, 1000, named=FIRST, outcome="unsupported")
    nothing = evidence(BEGUN, refused, produced(1500), reads(A, 1600, 0, 2))
    assert judge(name, nothing).outcome is Outcome.UNKNOWN


def test_a_resumed_partition_is_read_on_from_where_it_was() -> None:
    name = "CLIENT-READ-RESUMED"
    begun = [*BEGUN, PAUSED, produced(1500), RESUMED]
    right = evidence(begun, reads(A, 5100, 0, 2), end=END)
    assert_told_apart(name, right, evidence(begun, end=END), "does not read")
    assert_told_apart(name, right, evidence(begun, reads(A, 5100, 0, 3)), "goes on elsewhere")
    assert_told_apart(name, right, evidence(begun, reads(A, 5100, 0, 0)), "goes on elsewhere")
    early = evidence(begun, end=9000)
    assert judge(name, early).outcome is Outcome.UNKNOWN
    assert judge(name, evidence(BEGUN, PAUSED)).outcome is Outcome.UNKNOWN


def test_records_on_their_way_belong_to_the_generation_before_where_no_user_is_told() -> None:
    """A library without callbacks for partitions, such as kafka-go, begins anew in silence."""
    before = [A, join(A, 10), sync(A, 20, gets=(0,)), produced(50), reads(A, 60, 0, 0)]
    rebalance = [join(A, 1000, generation=2), sync(A, 1010, generation=2, gets=(0,))]
    late, anew = reads(A, 1012, 0, 2), reads(A, 1020, 0, 0, 4)
    again, told = reads(A, 5000, 0, 0), assigned(A, 25, 0)
    right = evidence(before, produced(900), rebalance, late, anew, reads(A, 5000, 0, 4))
    wrong = evidence(before, produced(900), rebalance, late, anew, again)
    assert_told_apart(NOT_TWICE, right, wrong, "not asked to give up")
    much_later = evidence(before, produced(900), rebalance, reads(A, 3000, 0, 2), again)
    assert judge(NOT_TWICE, much_later).outcome is Outcome.FAIL
    told_before = evidence(before, told, produced(900), rebalance, late, anew)
    assert judge(NOT_TWICE, told_before).outcome is Outcome.FAIL
    committed = evidence(before, commit(A, 500, offset=2), rebalance, late, reads(A, 1020, 0, 0))
    assert judge(NOT_TWICE, committed).outcome is Outcome.FAIL


def test_eight_quiet_seconds_are_enough_whatever_is_done_afterwards() -> None:
    moved = action("move", at=15_000)
    unread = evidence(BEGUN, GOES_ON, moved, end=16_000)
    assert judge(ASSIGNED, unread).outcome is Outcome.FAIL
