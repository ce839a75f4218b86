"""Answers that are wrong in one field, of groups in which the coordinator assigns."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace
from support.runs import Liar, Lie

from fencepost.conformance.cases import entry
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.targets.in_process import InProcessCoordinator, InProcessTarget
from fencepost.model.coordinator import Answer, AsyncCoordinator, Send
from fencepost.model.messages.subscription import TopicPartition, encode_assignment
from fencepost.model.revisions import revisions
from fencepost.model.table.table import Level
from fencepost.properties.judging.outcome import CaseResult, Outcome

ALL = encode_assignment([TopicPartition("t", number) for number in range(4)])
SYNC, DESCRIBED = "MG-SYNC/sync-in-time", "CG-JOIN-STATIC-NEW/second-static-member"
COMMITTED = "CG-COMMIT-UNKNOWN-MEMBER/refused-commits-store-nothing"


class _Lying(InProcessTarget):
    def __init__(self, revision: str, lie: Lie) -> None:
        super().__init__(f"model:{revision}", revisions.find(revision), "0")
        self.revision, self.lie = revision, lie

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        del label, isolated, restarts
        yield InProcessCoordinator(Liar(self.revision, self.lie))


def lied(revision: str, case_id: str, api: str, change: Any) -> CaseResult:
    """The result of a case whose answers of an API are changed."""

    def lie(send: Send, answer: Answer) -> Answer:
        if send.api != api or answer.body is None:
            return answer
        return replace(answer, body=change(answer.body))

    target = _Lying(revision, lie)
    certificate = asyncio.run(
        certify(target, revisions.find(revision), [entry(case_id)], Options())
    )
    (result,) = certificate.results
    return result


def test_a_sync_that_gives_a_partition_of_another_away_breaks_a_promise() -> None:
    def gives_all(body: dict[str, Any]) -> dict[str, Any]:
        return (
            {**body, "assignment": base64.b64encode(ALL).decode()} if body["assignment"] else body
        )

    result = lied("mixed-4.4", SYNC, "SyncGroup", gives_all)
    assert (result.outcome, result.level) == (Outcome.FAIL, Level.MUST)
    assert "a partition has one owner, and t-" in result.message
    assert "still B1's" in result.message
    assert " of of " not in result.message


def _members(change: Any) -> Any:
    def changed(body: dict[str, Any]) -> dict[str, Any]:
        rows = [{**row, "members": change(row["members"])} for row in body["groups"]]
        return {**body, "groups": rows}

    return changed


def _called(name: str) -> Any:
    def named(part: dict[str, Any]) -> dict[str, Any]:
        return {"topicPartitions": [{**row, "topicName": name} for row in part["topicPartitions"]]}

    return lambda members: [{**each, "assignment": named(each["assignment"])} for each in members]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda members: [*members, members[0]], "groups.members"),
        (_called("u"), "groups.members.assignment.topicName"),
    ],
    ids=["a member twice", "another topic"],
)
def test_a_description_is_compared_row_by_row(change: Any, field: str) -> None:
    result = lied("consumer-4.4", DESCRIBED, "ConsumerGroupDescribe", _members(change))
    assert result.outcome is Outcome.FAIL
    assert field in result.message


def test_a_description_without_the_names_of_topics_passes_with_a_note() -> None:
    result = lied("consumer-4.4", DESCRIBED, "ConsumerGroupDescribe", _members(_called("")))
    assert result.outcome is Outcome.PASS
    assert {note.difference for note in result.tolerated} == {
        "groups.members.assignment.topicName [''] instead of ['t']"
    }


@pytest.mark.parametrize(("name", "fails"), [("sticky", True), ("", False), (None, False)])
def test_a_sync_has_the_protocol_of_its_join_or_none(name: str | None, fails: bool) -> None:
    result = lied("mixed-4.4", SYNC, "SyncGroup", lambda body: {**body, "protocolName": name})
    assert (result.outcome is Outcome.FAIL) is fails
    assert ("The protocol is that of the member's join." in result.message) is fails


def test_the_reason_of_an_offset_is_the_commit_before() -> None:
    def stored(body: dict[str, Any]) -> dict[str, Any]:
        (group,) = body["groups"]
        (topic,) = group["topics"]
        (row,) = topic["partitions"]
        topic = {**topic, "partitions": [{**row, "committedOffset": 7}]}
        return {**body, "groups": [{**group, "topics": [topic]}]}

    result = lied("consumer-4.4", COMMITTED, "OffsetFetch", stored)
    assert result.outcome is Outcome.FAIL
    assert "because the offsets are those of the last commit that was accepted" in result.message


def test_an_id_that_is_not_the_senders_is_named_as_it_is() -> None:
    result = lied(
        "consumer-4.4",
        DESCRIBED,
        "ConsumerGroupHeartbeat",
        lambda body: {**body, "memberId": "zz"} if body["memberId"] else body,
    )
    assert result.outcome is Outcome.FAIL
    assert "zz" in result.message
