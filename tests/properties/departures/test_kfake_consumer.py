"""Each departure of kfake in the consumer protocol explains its own fault, and no other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.consumer_cases import BASE

from fencepost.conformance.cases import entry as catalogued
from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.cases.consumer.consumer_script import (
    SHORT_SESSION,
    ConsumerScript,
    owned,
)
from fencepost.conformance.run.runner import CaseRun, reset_for
from fencepost.conformance.search.findings.trace_causes import known_cause
from fencepost.conformance.targets.in_process import InProcessCoordinator, ModelCoordinator
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.rules.join import IN_PLACE
from fencepost.model.messages.errors import Error
from fencepost.model.plans.steps import EpochOf, Ms
from fencepost.model.revision import Revision
from fencepost.properties.departures.attribution import Attribution, attributed, departures_in
from fencepost.properties.departures.known_departures import (
    DEPARTURES,
    OF_KFAKE_CONSUMERS,
    departed,
)
from fencepost.properties.departures.mutation_operators import otherwise
from fencepost.properties.judging.known_failures import KnownReasons
from fencepost.traces.files.known_failure_lists import load
from fencepost.traces.files.trace_file import TraceFile

STORIES = ConsumerScript.registry()
SHORT = ConsumerScript.registry(**SHORT_SESSION)


@STORIES.case("CG-JOIN-ASSIGNOR-UNKNOWN")
def refused_join(s: ConsumerScript) -> None:
    """A join with an unknown assignor is refused; its instance is asked for."""
    s.join("b")
    s.join("A1", server_assignor="sticky")
    s.beat("A2", epoch=1, owns=())
    s.join("A2")


@STORIES.case("CG-JOIN-RETURN-CHANGED")
def return_to_fewer_topics(s: ConsumerScript) -> None:
    """A member returns, and gives up a topic."""
    s.join("A1", topics=("t", "u"))
    s.release("A1")
    s.join("A2", topics=("t",))


@STORIES.case("CG-BEAT-EPOCH-NEWER")
def heartbeat_after_the_release(s: ConsumerScript) -> None:
    """A released member sends a heartbeat with its epoch of before."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.beat("A1", epoch=EpochOf("A1", back=2))


@SHORT.case("CG-SESSION-EXPIRED")
def instance_of_a_silent_member(s: ConsumerScript) -> None:
    """The session of a member ends, and another brings its instance."""
    s.join("A1", "b")
    s.outlast_session(beating=("b",))
    s.join("A2")


@STORIES.case("CG-BEAT-EPOCH-OLDER")
def older_epoch_while_giving_up(s: ConsumerScript) -> None:
    """A member that is to give partitions up sends the epoch before its last one."""
    s.reconciled("A1", "B1")
    s.join("C1", "D1")
    s.beat("A1")
    s.beat("A1", epoch=EpochOf("A1", back=1), owns=())


@STORIES.case("CG-REBALANCE-EXPIRED")
def slow_revocation(s: ConsumerScript) -> None:
    """A member sends heartbeats, but gives no partition up within its time."""
    s.join("A1", rebalance=Ms("short rebalance"))
    s.join("B1")
    s.keep("A1")
    s.pause("short rebalance", minus=True)
    s.keep("A1")
    s.pause("short rebalance", minus=True)
    s.keep("A1")


@STORIES.case("CG-REBALANCE-EXPIRED")
def one_partition_is_given_up(s: ConsumerScript) -> None:
    """A member gives partitions up one at a time; another gets the first of them at once."""
    s.join("A1")
    s.join("B1", "C1", "D1")
    s.beat("A1")
    for number in range(4):
        s.beat("A1", owns=owned(*(n for n in range(4) if n != number)))
        s.beat("B1", "C1", "D1")


@STORIES.case("CG-JOIN-ASSIGNOR-UNKNOWN")
def refused_join_with_another_topic(s: ConsumerScript) -> None:
    """A member that is to give up partitions joins again with another topic, and is refused."""
    s.join("m", "n")
    s.join("m", topics=("u",), server_assignor="sticky")
    s.beat("m")
    s.describe()


SHOWN = {
    "made-by-any-heartbeat": "CG-BEAT-GROUP-ABSENT/absent-group",
    "assignor-last": "CG-JOIN-ASSIGNOR-UNKNOWN/refused-join",
    "join-fields-unchecked": "CG-JOIN-FIELDS-MISSING/incomplete-join",
    "epoch-from-zero": "CG-JOIN-DYNAMIC-NEW-IDLE/empty-subscription",
    "rejoin-in-place": "CG-JOIN-AGAIN-UNRELEASED/lost-answer-to-the-first-join",
    "return-unheard": "CG-JOIN-RETURN-CHANGED/return-to-fewer-topics",
    "heartbeat-by-id": "CG-BEAT-INSTANCE-UNMAPPED/unmapped-instance",
    "full-heartbeat-alone": "CG-BEAT-ALIVE-CHANGED/another-topic",
    "released-revived + released-for-ever": "CG-BEAT-EPOCH-NEWER/heartbeat-after-the-release",
    "released-for-ever": "CG-SESSION-EXPIRED-RELEASED/released-member-expires",
    "expired-entry-stays": "CG-SESSION-EXPIRED/instance-of-a-silent-member",
    "leave-by-id": "CG-LEAVE-INSTANCE-UNMAPPED/unmapped-instance",
    "removes-nobody": "CG-REMOVE-BY-INSTANCE/removal-by-instance",
    "ids-unchecked": "CG-JOIN-ID-BLANK/blank-instance-or-rack",
    "commit-checks": "CG-COMMIT-GROUP-NOT-FOUND/commit-of-a-stranger-to-an-absent-group",
    "transaction-checks": "CG-TXN-COMMIT-PARTITION-HELD/transaction-for-partitions-that-stay",
    "absent-group-fetch": "CG-FETCH-GROUP-ABSENT/fetch-from-an-absent-group",
    "released-group-deleted": "CG-DELETE-MEMBERS/deletion-of-a-group-with-a-released-member",
    "unknown-topic-fetch": "CG-FETCH-MEMBER/fetch-by-an-unknown-id",
    "nameless-group-absent": "CG-REMOVE-GROUP-ID-INVALID/removal-without-group",
    "offset-deletion-by-state": "CG-OFFSET-DELETE-SUBSCRIBED/deletion-of-offsets-by-subscription",
    "untyped-list": "CG-LIST-GROUP/list-while-partitions-move",
    "described-as-classic": "CG-DESCRIBE-CLASSIC/description-as-a-classic-group",
    "absent-group-removal": "CG-REMOVE-GROUP-ABSENT/removal-from-an-absent-group",
    "previous-epoch-kept": "CG-BEAT-EPOCH-OLDER/older-epoch-while-giving-up",
    "hurried-again": "CG-REBALANCE-EXPIRED/slow-revocation",
    "given-up-singly": "CG-REBALANCE-EXPIRED/one-partition-is-given-up",
    "target-of-the-live": "CG-LEAVE-FOR-GOOD/leave-for-good-by-its-id",
    "described-by-the-live": "CG-LEAVE-RELEASE/release",
}
"""Each departure, with a case that it alone explains, or it with the one that leads to it."""
SHOWN_AMONG_ALL = {
    "refused-topics-kept": "CG-JOIN-ASSIGNOR-UNKNOWN/refused-join-with-another-topic"
}
"""Departures that show only beside several others."""


def find(case_id: str) -> Entry:
    own = {case.id: case for case in (*STORIES.entries, *SHORT.entries)}
    return own.get(case_id) or catalogued(case_id)


async def _explained(case: Entry, target: Revision) -> Attribution:
    levels = {rule.id: rule.level for _, rule in BASE.rules()}
    coordinator = InProcessCoordinator(ModelCoordinator(target))
    hello = await coordinator.hello()
    settings = {**case.settings, **case.needs.config}
    config = await reset_for(BASE, hello, coordinator, settings)
    run = CaseRun(case.case(levels, delayed=False), coordinator, hello, config, BASE, 0)
    recording = await run.run()
    return attributed(BASE, recording.config, recording.history, lag_ms=0)


def explained(case_id: str, target: Revision) -> Attribution:
    return asyncio.run(_explained(find(case_id), target))


def named(names: str) -> list[str]:
    return names.split(" + ")


def with_departures(names: Iterable[str], base: Revision = BASE) -> Revision:
    return departed(base, [DEPARTURES[name] for name in names])


@pytest.mark.parametrize("names", SHOWN)
def test_a_departure_explains_what_it_does(names: str) -> None:
    found = explained(SHOWN[names], with_departures(named(names)))
    assert (found.cause, found.behind) == (names, "")


@pytest.mark.parametrize("name", SHOWN_AMONG_ALL)
def test_a_departure_is_part_of_a_cause(name: str) -> None:
    found = explained(SHOWN_AMONG_ALL[name], departed(BASE, OF_KFAKE_CONSUMERS))
    assert name in departures_in(found.cause)


def test_each_departure_is_shown() -> None:
    assert {*SHOWN_AMONG_ALL, *(name for names in SHOWN for name in named(names))} == {
        departure.name for departure in OF_KFAKE_CONSUMERS
    }


def test_a_target_that_lists_a_partition_twice_for_a_member_has_its_cause() -> None:
    """A trace of kfake: two live members have the same target, and one of them has too much."""
    trace = TraceFile.read(Path(__file__).with_name("kfake") / "partition-listed-twice.json")
    assert known_cause(trace) == "target-of-the-live"


ANOTHER = Error.GROUP_ID_NOT_FOUND
LIARS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "CG-JOIN-UNRELEASED/second-process-of-a-live-member": (
        "CG-JOIN-UNRELEASED",
        {"effect": (Do.ADD_STATIC, Do.BUMP_EPOCH, *IN_PLACE), "answer": None},
    ),
    "CG-BEAT-UNKNOWN-MEMBER/unknown-member": ("CG-BEAT-UNKNOWN-MEMBER", {"answer": ANOTHER}),
    "CG-BEAT-EPOCH-OLDER/older-epoch": ("CG-BEAT-EPOCH-OLDER", {"answer": ANOTHER}),
    "CG-LEAVE-RELEASE/release": ("CG-LEAVE-RELEASE", {"effect": (Do.ANSWER_EPOCH,)}),
    "CG-LEAVE-FOR-GOOD/leave-for-good": ("CG-LEAVE-FOR-GOOD", {"effect": (Do.ANSWER_EPOCH,)}),
    "CG-COMMIT-UNKNOWN-MEMBER/zombie-commits": (
        "CG-COMMIT-UNKNOWN-MEMBER",
        {"effect": (Do.STORE_OFFSETS,), "answer": Error.NONE},
    ),
    "CG-FETCH-MEMBER/fetch-with-another-epoch": ("CG-FETCH-STALE", {"answer": ANOTHER}),
}
"""A case, and a rule that is wrong in it, in another way than kfake's is."""


@pytest.mark.parametrize("case_id", LIARS)
def test_a_fault_of_another_kind_beside_all_of_them_is_not_excused(case_id: str) -> None:
    rule_id, changes = LIARS[case_id]
    whole = departed(BASE, OF_KFAKE_CONSUMERS)
    tables = {name: otherwise(rule_id, **changes)(table) for name, table in whole.tables.items()}
    known = KnownReasons.of(load("kfake", ""))
    found = explained(case_id, replace(whole, tables=tables))
    assert found.verdict.violation is not None
    assert not known.of_cause(found.cause)
