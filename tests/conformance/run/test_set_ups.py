"""A target that refuses the usual set-up is judged all the same, and its refusal is reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from zlib import crc32

import pytest
from support.real_clock import RealClockTarget
from support.virtual_clock import at_once

from fencepost.conformance.cases import ENTRIES, entry
from fencepost.conformance.cases.script import Entering, SetUp, newer_subscription, subscription
from fencepost.conformance.run import set_ups
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.run.set_ups import other_ways, usual_way
from fencepost.conformance.targets.in_process import (
    InProcessCoordinator,
    InProcessTarget,
    ModelCoordinator,
)
from fencepost.model.coordinator import Answer, AsyncCoordinator, Hello, Send
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import APIS, JoinGroupResponse
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.judging.report import Certificate

LEGACY = "JOIN-DYNAMIC-EMPTY-LEGACY"
FENCED = "HEARTBEAT-INSTANCE-FENCED/instance-of-another"
SECOND = "JOIN-UNKNOWN-MEMBER/unknown-member-id"
LEGACY_CASE = "JOIN-DYNAMIC-EMPTY-LEGACY/legacy-member-is-added-at-once"


@pytest.fixture(params=[set_ups._LONG_S, -1.0], ids=["in turn", "side by side"], autouse=True)
def _long(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other ways are tried in turn, or side by side where attempts take long."""
    monkeypatch.setattr(set_ups, "_LONG_S", request.param)


Lie = Callable[[Send], Send | int]
"""What a liar does with a join: another request in its place, or an error code."""


def ids_for_all(request: Send) -> Send | int:
    """MEMBER_ID_REQUIRED in all versions: a request for an id is taken for one of version 4."""
    body = request.body
    if request.version > 3 or body["memberId"] or body.get("groupInstanceId"):
        return request
    changed = {"rebalanceTimeoutMs": 60_000, **body}
    return Send(request.id, request.connection, request.client_id, "JoinGroup", 4, changed)


def no_ids(request: Send) -> Send | int:
    """Whoever brings no id is given one and joins with it at once, in all versions."""
    if request.body["memberId"] or request.body.get("groupInstanceId"):
        return request
    kept = ("groupId", "sessionTimeoutMs", "rebalanceTimeoutMs", "memberId", "protocolType")
    body = {key: request.body[key] for key in (*kept, "protocols")}
    return Send(request.id, request.connection, request.client_id, "JoinGroup", 3, body)


def no_dynamic_members(request: Send) -> Send | int:
    return request if request.version >= 5 and request.body["groupInstanceId"] else 30


def no_new_static_joins(request: Send) -> Send | int:
    return 35 if request.version > 5 and request.body["groupInstanceId"] else request


def new_subscriptions_only(request: Send) -> Send | int:
    old = any(p["metadata"].startswith("AAA") for p in request.body["protocols"])
    return 23 if old else request


class LyingModel(InProcessCoordinator):
    def __init__(self, lie: Lie, *, fences: bool, oldest: int) -> None:
        super().__init__(ModelCoordinator(KAFKA_4))
        self._oldest = oldest
        self._lie = lie
        self._fences = fences

    async def hello(self) -> Hello:
        hello = await super().hello()
        highest = hello.apis["JoinGroup"][1]
        return replace(hello, apis={**hello.apis, "JoinGroup": (self._oldest, highest)})

    async def send(self, request: Send) -> list[Answer]:
        if request.api == "Heartbeat" and not self._fences:
            body = {k: v for k, v in request.body.items() if k != "groupInstanceId"}
            if request.version >= 3:
                body["groupInstanceId"] = None
            return await super().send(
                Send(request.id, request.connection, request.client_id, "Heartbeat", 3, body)
            )
        if request.api != "JoinGroup":
            return await super().send(request)
        done = self._lie(request)
        if isinstance(done, int):
            return [Answer(request.id, self._inner._running.now_ms, refusal(request, done))]  # type: ignore[attr-defined]
        answers = await super().send(done)
        if done.version == request.version:
            return answers
        shape = APIS["JoinGroup"].response
        return [
            Answer(a.id, a.at_ms, shape.from_body(dict(a.body), 4).to_body(request.version))
            for a in answers
            if a.body is not None
        ]


def refusal(request: Send, code: int) -> dict[str, Any]:
    """A join's answer with an error, as its version has it."""
    return JoinGroupResponse(error_code=code, generation_id=-1).to_body(request.version)


class LyingTarget(InProcessTarget):
    def __init__(self, lie: Lie, *, fences: bool = True, oldest: int = 0) -> None:
        super().__init__("liar", KAFKA_4, "0")
        self._lie = lie
        self._fences = fences
        self._oldest = oldest
        self.scopes: Counter[str] = Counter()

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        del isolated, restarts
        self.scopes[label] += 1
        yield LyingModel(self._lie, fences=self._fences, oldest=self._oldest)


async def certified(target: InProcessTarget, *cases: str) -> Certificate:
    wanted = [entry(case) for case in cases] or ENTRIES
    return await certify(target, KAFKA_4, wanted, Options())


def failed(certificate: Certificate) -> list[CaseResult]:
    return [r for r in certificate.results if r.outcome is Outcome.FAIL]


async def test_ids_that_are_asked_of_all_are_one_fault() -> None:
    certificate = await certified(LyingTarget(ids_for_all))
    results = {r.case.id: r for r in certificate.results}
    assert {str(r.fingerprint(KAFKA_4)) for r in failed(certificate)} == {
        f"{LEGACY} · JoinGroup · EARLY · MEMBER_ID_REQUIRED"
    }
    about = [r for r in failed(certificate) if LEGACY in r.case.rules]
    assert (len(about), len(failed(certificate))) == (4, 6)
    assert results[FENCED].outcome is Outcome.PASS
    assert results[FENCED].notes[0] == (
        "dynamic members enter with the id of a first answer, in JoinGroup from version 4, "
        "since otherwise b JoinGroup: MEMBER_ID_REQUIRED, member id b"
    )
    (note,) = certificate.notes
    assert "cases was refused (JOIN-DYNAMIC-EMPTY-LEGACY: MEMBER_ID_REQUIRED): dynamic" in note
    assert {r.outcome for r in certificate.results} == {Outcome.PASS, Outcome.FAIL}


@pytest.mark.parametrize(
    ("lie", "most", "way"),
    [
        (no_dynamic_members, 30, "as static members"),
        (no_new_static_joins, 11, "in JoinGroup up to 5"),
        (new_subscriptions_only, 6, "with subscriptions of version 3"),
    ],
)
async def test_whatever_is_refused_most_cases_are_judged(lie: Lie, most: int, way: str) -> None:
    """What still fails are acts that the case is about, for which there is no other way."""
    certificate = await certified(
        LyingTarget(lie), *(case.id for case in ENTRIES if crc32(case.id.encode()) % 4 == 2)
    )
    assert 0 < len(failed(certificate)) < most
    assert way in certificate.notes[0]
    assert {r.outcome for r in certificate.results} == {Outcome.PASS, Outcome.FAIL}
    shown = {r.violation.decided_by for r in failed(certificate) if r.violation is not None}
    refused = {note.partition("(")[2].partition(":")[0] for note in certificate.notes}
    assert refused <= {rule for rules in shown for rule in rules}


async def test_a_target_without_ids_is_judged_by_static_members() -> None:
    """It has no version without an id, and gives none: that is the fault of the cases about ids."""
    target = LyingTarget(no_ids, oldest=4)
    certificate = await certified(target, FENCED, SECOND, "JOIN-DYNAMIC-EMPTY/id-before-membership")
    assert [r.outcome for r in certificate.results] == [Outcome.PASS, Outcome.PASS, Outcome.FAIL]
    assert "as static members" in certificate.notes[0]


async def test_a_fault_behind_a_refused_set_up_is_found() -> None:
    certificate = await certified(LyingTarget(ids_for_all, fences=False), FENCED)
    (result,) = certificate.results
    assert result.outcome is Outcome.FAIL
    assert result.fingerprint(KAFKA_4) is not None
    both = await certified(LyingTarget(ids_for_all, fences=False), FENCED, LEGACY_CASE)
    fenced, legacy = both.results
    assert str(fenced.fingerprint(KAFKA_4)).startswith("HEARTBEAT-INSTANCE-FENCED")
    assert str(legacy.fingerprint(KAFKA_4)).startswith(LEGACY)


async def test_a_refusal_that_no_other_case_shows_stays_where_it_was_met() -> None:
    certificate = await certified(LyingTarget(ids_for_all), FENCED, SECOND)
    first, second = certificate.results
    assert (first.outcome, second.outcome) == (Outcome.FAIL, Outcome.PASS)
    assert str(first.fingerprint(KAFKA_4)).startswith(LEGACY)
    assert len(certificate.notes) == 1
    with_its_case = await certified(LyingTarget(ids_for_all), FENCED, SECOND, LEGACY_CASE)
    assert [r.outcome for r in with_its_case.results] == [Outcome.PASS, Outcome.PASS, Outcome.FAIL]


async def test_a_right_target_is_set_up_in_the_usual_way() -> None:
    target = LyingTarget(lambda request: request)
    certificate = await certified(target)
    assert certificate.notes == ()
    assert max(count for label, count in target.scopes.items() if label != "hello") == 1


async def test_a_target_that_refuses_all_ways_fails_as_before() -> None:
    certificate = await certified(LyingTarget(lambda _: 30), FENCED)
    (result,) = certificate.results
    assert (result.outcome, result.notes, certificate.notes) == (Outcome.FAIL, (), ())


@at_once
async def test_a_silence_is_confirmed_in_the_usual_way_alone() -> None:
    """Three times the same may not be the link; that another way fails, too, is no finding."""
    pending = "SESSION-PENDING/pending-id-expires"

    def no_ids(_: Send, answer: Answer) -> Answer | None:
        body = answer.body or {}
        return None if body.get("errorCode") == Error.MEMBER_ID_REQUIRED.value else answer

    target = RealClockTarget(lie=no_ids)
    (result,) = (await certify(target, KAFKA_4, [entry(pending)], Options())).results
    assert (result.outcome, result.attempts) == (Outcome.FAIL, 3)
    assert result.violation is not None
    assert result.violation.decided_by == ("JOIN-DYNAMIC-EMPTY",)
    others = set(other_ways(usual_way(KAFKA_4.apis)))
    assert 3 < target.scopes.count(pending) < 3 + len(others)


def test_ways_are_in_order_of_their_changes() -> None:
    legacy, modern = usual_way({"JoinGroup": (0, 9)}), usual_way({"JoinGroup": (4, 9)})
    assert (legacy.entering, modern.entering) == (Entering.AT_ONCE, Entering.ID_FIRST)
    ways = list(other_ways(legacy))
    assert len(set(ways)) == len(ways) == 11
    assert legacy not in ways
    assert ways[0] == SetUp(Entering.ID_FIRST)
    assert ways[3] == SetUp(Entering.STATIC)
    assert ways[-1] == SetUp(Entering.STATIC, older=True, metadata=True)


def test_a_newer_subscription_says_the_same() -> None:
    old = subscription("t")
    assert newer_subscription(old) == b"\0\3" + old[2:] + bytes(4) + b"\xff" * 6
    assert newer_subscription(newer_subscription(old)) == newer_subscription(old)
