from __future__ import annotations

from dataclasses import replace

import pytest
from support.client_story import (
    Piece,
    action,
    assert_told_apart,
    commit,
    evidence,
    heartbeat,
    join,
    read,
    run,
    settled,
    sync,
    told,
)

from fencepost.model.messages.errors import Error as Code
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.evidence import Call
from fencepost.properties.requirements.requirements import judge

FENCED = Code.FENCED_INSTANCE_ID
A = run()
B = run("b", began=200)
STABLE = [A, *settled(A, 10, 0, 1)]
OUT = [*STABLE, heartbeat(A, 300, error=FENCED)]
RIVAL = [B, *settled(B, 210, 0, 1, member="m2")]
POLLED_ON = action("poll-on", A, 1000)
PRODUCED = action("produce", at=1500)

BY_OBLIGATION: list[tuple[str, list[Piece], list[Piece], str]] = [
    (
        "CLIENT-FENCED-JOIN",
        [A, join(A, 10, error=FENCED), told(A, 20)],
        [A, join(A, 10, error=FENCED)],
        "not told after JoinGroup",
    ),
    (
        "CLIENT-FENCED-SYNC",
        [A, sync(A, 10, error=FENCED), told(A, 20)],
        [A, sync(A, 10, error=FENCED), told(A, 20, "UNKNOWN_SERVER_ERROR")],
        "something else after SyncGroup",
    ),
    ("CLIENT-FENCED-HEARTBEAT", [*OUT, told(A, 310)], OUT, "not told after Heartbeat"),
    (
        "CLIENT-FENCED-COMMIT",
        [*STABLE, commit(A, 300, error=FENCED), action("commit", A, 290, 310, outcome=FENCED.name)],
        [*STABLE, commit(A, 300, error=FENCED), action("commit", A, 290)],
        "not told after OffsetCommit",
    ),
    ("CLIENT-FENCED-NO-JOIN", OUT, [*OUT, join(A, 400)], "empty member id by itself"),
    (
        "CLIENT-FENCED-QUIET",
        [*OUT, heartbeat(A, 500), action("close", A, 1000), commit(A, 1050)],
        [*OUT, join(A, 900, "m1"), action("close", A, 1000)],
        "goes on with JoinGroup",
    ),
    ("CLIENT-FENCED-QUIET", OUT, [*OUT, commit(A, 900, error=FENCED)], "goes on with OffsetCommit"),
    (
        "CLIENT-FENCED-NO-RECORDS",
        [*OUT, told(A, 310), read(A, 320), PRODUCED],
        [*OUT, told(A, 310), PRODUCED, read(A, 1600)],
        "records after",
    ),
    (
        "CLIENT-FENCED-NO-RECORDS",
        [*OUT, read(A, 320), PRODUCED],
        [*OUT, PRODUCED, read(A, 1600)],
        "records after",
    ),
    (
        "CLIENT-FENCED-NO-COMMITS",
        [*OUT, commit(A, 400, error=FENCED)],
        [*OUT, commit(A, 400)],
        "was served",
    ),
    (
        "CLIENT-FENCED-NO-COMMITS",
        OUT,
        [
            *OUT,
            commit(A, 400, "", generation=-1, instance=None, error=Code.UNKNOWN_MEMBER_ID),
        ],
        "nobody's member",
    ),
    (
        "CLIENT-FENCED-LATE-COMMIT",
        [*STABLE, *RIVAL, action("commit", A, 300), commit(A, 301, error=FENCED)],
        [
            *STABLE,
            *RIVAL,
            action("commit", A, 300),
            commit(A, 301, instance=None, error=Code.UNKNOWN_MEMBER_ID),
            join(A, 310, gives="m3"),
            commit(A, 330, "m3", instance=None),
        ],
        "the commit of a replaced member is accepted",
    ),
    (
        "CLIENT-FENCED-POLLED-ON",
        [*OUT, POLLED_ON, told(A, 1010)],
        [*OUT, POLLED_ON, join(A, 1010)],
        "when its user polls on",
    ),
    (
        "CLIENT-FENCED-TAKEOVERS",
        [*OUT, *RIVAL],
        [*OUT, *RIVAL, join(A, 400, gives="m3"), join(B, 500, gives="m4")],
        "takes the instance id back",
    ),
]


@pytest.mark.parametrize(("name", "right", "wrong", "observed"), BY_OBLIGATION)
def test_what_is_right_holds_and_what_is_wrong_is_seen(
    name: str, right: list[Piece], wrong: list[Piece], observed: str
) -> None:
    assert_told_apart(name, evidence(right), evidence(wrong), observed)


@pytest.mark.parametrize("name", sorted({name for name, *_ in BY_OBLIGATION}))
def test_nothing_is_said_where_nobody_was_fenced(name: str) -> None:
    assert judge(name, evidence(STABLE)).outcome is Outcome.UNKNOWN


def test_what_happens_when_the_user_polls_on_is_stated() -> None:
    silent = judge("CLIENT-FENCED-POLLED-ON", evidence(OUT, POLLED_ON))
    assert silent.sentence == "the user of a polls on and gets nothing"
    again = judge("CLIENT-FENCED-POLLED-ON", evidence(OUT, POLLED_ON, told(A, 1010)))
    assert again.sentence == "the user of a polls on and gets FENCED_INSTANCE_ID"


def test_a_join_after_the_user_polled_on_is_not_by_itself() -> None:
    found = evidence(OUT, POLLED_ON, join(A, 1010))
    assert judge("CLIENT-FENCED-NO-JOIN", found).outcome is Outcome.PASS


def test_who_has_the_place_again_may_commit() -> None:
    found = evidence(OUT, POLLED_ON, join(A, 1010, gives="m3"), commit(A, 1500, "m3"))
    assert judge("CLIENT-FENCED-NO-COMMITS", found).outcome is Outcome.PASS


def test_what_rests_on_silence_is_unknown_on_a_slow_machine() -> None:
    slow = replace(evidence(OUT), stalls=((400.0, 900.0),))
    assert judge("CLIENT-FENCED-HEARTBEAT", slow).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("name", "late", "stall"),
    [
        ("CLIENT-FENCED-QUIET", [*OUT, commit(A, 900, error=FENCED)], (350.0, 200.0)),
        ("CLIENT-FENCED-NO-RECORDS", [*OUT, told(A, 310), PRODUCED, read(A, 500)], (390.0, 150.0)),
        (
            "CLIENT-FENCED-NO-RECORDS",
            [*OUT, PRODUCED, read(A, 1600), action("produce", at=2000)],
            (400.0, 350.0),
        ),
    ],
)
def test_what_was_under_way_takes_longer_on_a_slow_machine(
    name: str, late: list[Piece], stall: tuple[float, float]
) -> None:
    assert judge(name, evidence(late)).outcome is Outcome.FAIL
    assert judge(name, replace(evidence(late), stalls=(stall,))).outcome is Outcome.PASS
    afterwards = replace(evidence(late), stalls=((5000.0, stall[1]),))
    assert judge(name, afterwards).outcome is Outcome.FAIL


def test_the_commit_of_who_took_its_place_back_before_is_its_own() -> None:
    back = join(A, 280, gives="m3")
    found = evidence(STABLE, RIVAL, back, action("commit", A, 300), commit(A, 301, "m3"))
    assert judge("CLIENT-FENCED-LATE-COMMIT", found).outcome is Outcome.UNKNOWN


def test_what_a_failed_call_tells_is_told() -> None:
    refused: list[Piece] = [A, sync(A, 10, error=FENCED)]
    fenced = evidence(refused, action("start", A, 0, 20, outcome=FENCED.name))
    assert judge("CLIENT-FENCED-SYNC", fenced).outcome is Outcome.PASS
    other = evidence(refused, action("start", A, 0, 20, outcome="UNKNOWN"))
    verdict = judge("CLIENT-FENCED-SYNC", other)
    assert verdict.observed == "the user is told of something else after SyncGroup"
    assert "its user got UNKNOWN, and not this error," in verdict.sentence
    fatal = evidence(refused, action("start", A, 0, 20, outcome="_FATAL", fatal=True))
    verdict = judge("CLIENT-FENCED-SYNC", fatal)
    assert verdict.observed == "the user is told of something else after SyncGroup"
    assert "its user got a fatal error without the reason (_FATAL) for" in verdict.sentence
    late = evidence(refused, action("start", A, 0, 20, outcome="late"))
    assert judge("CLIENT-FENCED-SYNC", late).observed == "the user is not told after SyncGroup"


@pytest.mark.parametrize(
    ("api", "call"),
    [
        ("JOIN", join(A, 10, version=4, instance=None, error=FENCED)),
        ("SYNC", sync(A, 10, version=2, instance=None, error=FENCED)),
        ("HEARTBEAT", heartbeat(A, 10, version=2, instance=None, error=FENCED)),
        ("COMMIT", commit(A, 10, version=6, instance=None, error=FENCED)),
        ("COMMIT", commit(A, 10, version=9, instance=None, error=FENCED)),
    ],
)
def test_an_answer_that_no_real_broker_gives_to_such_a_request_shows_nothing(
    api: str, call: Call
) -> None:
    found = evidence(A, call, PRODUCED, read(A, 1600), join(A, 1700))
    for name in (f"CLIENT-FENCED-{api}", "CLIENT-FENCED-NO-JOIN", "CLIENT-FENCED-NO-RECORDS"):
        verdict = judge(name, found)
        assert verdict.outcome is Outcome.UNSUPPORTED, name
        assert f"{call.api} v{call.version} has no instance id" in verdict.sentence


def test_who_is_fenced_by_chance_is_not_judged() -> None:
    """Its heartbeats name no instance, and the other one joined before it synced."""
    mute: list[Piece] = [*STABLE[:4], heartbeat(A, 40, version=1, instance=None)]
    swapped: list[Piece] = [
        join(A, 300),
        sync(A, 310, error=FENCED),
        told(A, 320),
        POLLED_ON,
        join(A, 1010),
    ]
    ended: list[Piece] = [PRODUCED, read(A, 1600), action("close", A, 2000)]
    for name in ("NO-JOIN", "QUIET", "NO-RECORDS", "NO-COMMITS", "POLLED-ON"):
        verdict = judge(f"CLIENT-FENCED-{name}", evidence(mute, swapped, ended))
        assert verdict.outcome is Outcome.UNSUPPORTED, name
    verdict = judge("CLIENT-CLOSE-FENCED", evidence(mute, swapped, ended))
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert judge("CLIENT-FENCED-SYNC", evidence(mute, swapped)).outcome is Outcome.PASS


def test_who_cant_be_fenced_is_not_judged() -> None:
    mute = [A, *settled(A, 10, 0, 1)[:3], heartbeat(A, 40, version=1, instance=None)]
    for name in ("CLIENT-FENCED-HEARTBEAT", "CLIENT-FENCED-NO-JOIN", "CLIENT-CLOSE-FENCED"):
        verdict = judge(name, evidence(mute))
        assert verdict.outcome is Outcome.UNSUPPORTED
        assert "Heartbeat v1 has no instance id" in verdict.sentence
