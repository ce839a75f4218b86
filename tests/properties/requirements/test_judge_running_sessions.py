from __future__ import annotations

import pytest
from support.client_story import (
    Piece,
    action,
    assert_told_apart,
    assigned,
    beats,
    evidence,
    join,
    leave,
    lost,
    run,
    settled,
    sync,
)

from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.requirements import judge

LONG = run(session_timeout_ms=3000, max_poll_interval_ms=20_000)
SHORT = run(session_timeout_ms=3000, max_poll_interval_ms=4000)
WORKS: list[Piece] = [
    LONG,
    *settled(LONG, 10, 0),
    action("stop-polling", LONG, 1000),
    action("poll-on", LONG, 6000),
]
TOO_LONG: list[Piece] = [
    SHORT,
    *settled(SHORT, 10, 0),
    action("stop-polling", SHORT, 1000),
    *beats(SHORT, 1000, 5200),
    action("poll-on", SHORT, 9500),
]
BACK: list[Piece] = [lost(SHORT, 9510, 0), join(SHORT, 9520, gives="m2"), sync(SHORT, 9530, "m2")]

BY_OBLIGATION: list[tuple[str, list[Piece], list[Piece], str]] = [
    (
        "CLIENT-SESSION-TIMEOUT",
        [LONG, join(LONG, 10, session=3000)],
        [LONG, join(LONG, 10, session=10_000)],
        "another session timeout",
    ),
    (
        "CLIENT-SESSION-REBALANCE-TIMEOUT",
        [LONG, join(LONG, 10, rebalance=20_000)],
        [LONG, join(LONG, 10, rebalance=60_000)],
        "another rebalance timeout",
    ),
    (
        "CLIENT-SESSION-HEARTBEATS",
        [*WORKS, *beats(LONG, 1000, 6000)],
        [*WORKS, *beats(LONG, 1000, 1500), *beats(LONG, 5500, 6000)],
        "heartbeats stop",
    ),
    (
        "CLIENT-SESSION-POLL-INTERVAL",
        TOO_LONG,
        [*TOO_LONG, *beats(SHORT, 5200, 9400)],
        "heartbeats go on",
    ),
    (
        "CLIENT-SESSION-STATIC-SILENT",
        TOO_LONG,
        [*TOO_LONG, leave(SHORT, 5300)],
        "LeaveGroup of a static member",
    ),
    (
        "CLIENT-SESSION-POLLS-ON",
        [*TOO_LONG, *BACK, assigned(SHORT, 9540, 0)],
        [*TOO_LONG, *BACK],
        "no partitions",
    ),
    (
        "CLIENT-SESSION-POLLS-ON",
        [*TOO_LONG, *BACK, assigned(SHORT, 9540, 0)],
        TOO_LONG,
        "does not come back",
    ),
]


@pytest.mark.parametrize(("name", "right", "wrong", "observed"), BY_OBLIGATION)
def test_what_is_right_holds_and_what_is_wrong_is_seen(
    name: str, right: list[Piece], wrong: list[Piece], observed: str
) -> None:
    assert_told_apart(name, evidence(right), evidence(wrong), observed)


@pytest.mark.parametrize("name", sorted({name for name, *_ in BY_OBLIGATION}))
def test_nothing_is_said_where_nobody_paused(name: str) -> None:
    assert judge(name, evidence(LONG)).outcome is Outcome.UNKNOWN


def test_who_joins_in_a_version_without_a_rebalance_timeout_has_none() -> None:
    name = "CLIENT-SESSION-REBALANCE-TIMEOUT"
    verdict = judge(name, evidence(LONG, join(LONG, 10, version=0)))
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert "JoinGroup v0" in verdict.sentence
    later = join(LONG, 20, version=1, rebalance=60_000)
    assert judge(name, evidence(LONG, join(LONG, 10, version=0), later)).outcome is Outcome.FAIL


def test_a_library_without_a_poll_interval_is_not_held_to_one() -> None:
    name, beyond = "CLIENT-SESSION-POLL-INTERVAL", [*TOO_LONG, *beats(SHORT, 5200, 9400)]
    features = frozenset({"no-poll-interval"})
    verdict = judge(name, evidence(beyond, features=features))
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert "has no poll interval" in verdict.sentence
    assert judge(name, evidence(beyond, features=frozenset({"static"}))).outcome is Outcome.FAIL
    silent = "CLIENT-SESSION-STATIC-SILENT"
    left = evidence(beyond, leave(SHORT, 5300), features=features)
    assert judge(silent, left).outcome is Outcome.FAIL
