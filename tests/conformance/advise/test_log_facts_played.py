"""Advice on groups that are played, with the client ids of many libraries: no contradictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.logs.played_groups import PlayedGroup

from fencepost.conformance.advise.advice import Advice, advice_for
from fencepost.conformance.advise.advice_report import head_words, log_words, reasons, settings
from fencepost.conformance.advise.known_facts import AdviceError, known_group
from fencepost.conformance.advise.log_facts import facts_of, log_facts, read_reports
from fencepost.traces.operations.problem_words import AIMS

KAFKA_GO = "worker@pod-{} (github.com/segmentio/kafka-go)"
THREAD = "wc-11111111-2222-3333-4444-555555555555-StreamThread-{}-consumer"


@dataclass
class PlayedAdvice:
    advice: Advice
    text: str
    settings: list[str]


Advise = Callable[..., PlayedAdvice]


@pytest.fixture
def advise(tmp_path: Path) -> Advise:
    def advise_played(group: PlayedGroup, **options: float) -> PlayedAdvice:
        log = log_facts(read_reports([group.write(tmp_path / "server.log")], None), None)
        facts = facts_of(log, options)
        advice = advice_for(known_group(facts))
        words = [*head_words(advice, log), *reasons(advice, list(facts), log)]
        return PlayedAdvice(advice, " ".join([*words, *log_words(advice, log)]), settings(advice))

    return advise_played


def rolled(clients: list[str], away_s: list[float], **how: object) -> PlayedGroup:
    group = PlayedGroup("g", **how)  # type: ignore[arg-type]
    group.start(clients)
    group.roll(away_s)
    return group


def test_a_session_shorter_than_absences(advise: Advise) -> None:
    played = advise(rolled(4 * ["consumer-g-1"], [60.0, 75.0]))
    assert "4 restarts with a rebalance took 60.0 s to 75.0 s" in played.text
    assert "avoided 8 of 9 rebalances with session.timeout.ms=120000" in played.text
    assert played.text.count(AIMS) == 1
    assert "need a session of" not in played.text  # one static session is named, the audit's
    assert "no group.instance.id" in played.settings


def test_a_session_much_longer_than_absences(advise: Advise) -> None:
    played = advise(rolled(3 * ["consumer-g-1"], [4.0, 5.0, 6.0], session_ms=300_000))
    assert "With a session of 15 s a dead host is noticed 285 s sooner" in played.text
    assert "with session.timeout.ms=10000" in played.text
    assert "that --only allows." not in played.text


def test_a_session_that_is_cheaper_and_not_safe_is_said_to_be(
    advise: Advise,
) -> None:
    played = advise(rolled(3 * ["rdkafka"], [3.0, 4.0, 5.0], session_ms=6_000))
    assert played.advice.advised.lost_s > played.advice.today.lost_s
    assert "It loses more than dynamic+eager, 6 s, which is not advised: 6 s are shorter" in (
        played.text
    )
    assert "that --only allows." not in played.text
    assert "partition.assignment.strategy=range,roundrobin" in played.settings


@pytest.mark.parametrize(
    ("client", "name", "line"),
    [
        (KAFKA_GO, "kafka-go", "ReaderConfig.SessionTimeout = 15000 * time.Millisecond"),
        ("kafkajs", "KafkaJS", "sessionTimeout: 15000"),
    ],
)
def test_libraries_without_static_members_are_advised_none(
    client: str, name: str, line: str, advise: Advise
) -> None:
    played = advise(rolled([client.format(n) for n in range(3)], [15.0], is_new=True))
    assert played.settings[0] == line
    assert not any("instance" in each.lower() for each in played.settings)
    assert played.text.count(f"{name} has no static members") == 1
    assert {str(form) for form in played.advice.known.forms} == {"dynamic+eager"}


@pytest.mark.parametrize(
    ("client", "line"),
    [
        ("sarama", "Consumer.Group.Session.Timeout = 15000 * time.Millisecond"),
        ("kgo", "kgo.SessionTimeout(15000 * time.Millisecond)"),
        ("kafka-python-2.0.2", "session_timeout_ms=15000"),
    ],
)
def test_settings_have_the_names_of_each_library(client: str, line: str, advise: Advise) -> None:
    assert advise(rolled(3 * [client], [12.0], session_ms=10_000)).settings[0] == line


def test_streams_threads_keep_their_own_assignor(advise: Advise) -> None:
    group = PlayedGroup("g")
    for number, member_id in enumerate(group.start([THREAD.format(n) for n in (1, 2, 3)])):
        at_s = 60.0 + 120 * number
        group.join(group.members[member_id], at_s + 12, waits_for=member_id)
        group.expire(member_id, at_s + 45, is_waited_for=True)
    with pytest.raises(AdviceError, match="3 new members waited for the session of a dead pre"):
        advise(group)
    played = advise(group, restart_s=12.0)
    assert "Kafka Streams has an assignor of its own" in played.text
    assert not any("assign" in line.lower() for line in played.settings)
    assert {form.strategy for form in played.advice.known.forms} == {"cooperative"}


def test_connect_workers_are_no_consumers(advise: Advise) -> None:
    group = rolled(3 * ["connect-1"], [50.0], protocols="sessioned, compatible, default")
    with pytest.raises(AdviceError, match=r"scheduled\.rebalance\.max\.delay\.ms .* up to 50\.0 s"):
        advise(group)


def test_processes_that_never_come_back_are_no_restarts(
    advise: Advise,
) -> None:
    group = PlayedGroup("g", session_ms=30_000)
    first, second, third, _ = group.start([f"app-{n}" for n in range(4)])
    group.expire(first, 60)
    group.leave(second, 120)
    group.join("app-1", 128)
    group.expire(third, 200)
    played = advise(group)
    assert "1 restart with a rebalance took 8.0 s." in played.text
    assert "avoided 2 of 5 rebalances" in played.text
    assert "came back" not in played.text
    gone = PlayedGroup("g")
    (only,) = gone.start(["app-0"])
    gone.expire(only, 60)
    with pytest.raises(AdviceError, match="Its last member expired, and none joined before"):
        advise(gone)
