"""A target of old versions is held to every rule that it can be led to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from fencepost.conformance.cases import ENTRIES, matching
from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.targets.in_process import (
    InProcessCoordinator,
    InProcessTarget,
    ModelCoordinator,
)
from fencepost.model.coordinator import AsyncCoordinator, Hello
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.judging.report import Certificate, Overall

BEFORE_INSTANCES = {
    "JoinGroup": 4,
    "SyncGroup": 2,
    "Heartbeat": 2,
    "LeaveGroup": 2,
    "OffsetCommit": 6,
    "DescribeGroups": 3,
    "TxnOffsetCommit": 2,
}
FEW = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")
BEFORE_IDS = {**BEFORE_INSTANCES, "JoinGroup": 3}


class OldModel(ModelCoordinator):
    """The model, in no versions above these; or, without features, with few APIs."""

    def __init__(self, highest: Mapping[str, int], *, few: bool) -> None:
        super().__init__(KAFKA_4)
        self._highest = highest
        self._few = few

    def hello(self) -> Hello:
        """As of the model."""
        hello = super().hello()
        apis = {
            a: (low, min(top, self._highest.get(a, top))) for a, (low, top) in hello.apis.items()
        }
        return replace(hello, apis=apis)


class OldTarget(InProcessTarget):
    """Each scope is such a model."""

    def __init__(self, highest: Mapping[str, int], *, few: bool = False) -> None:
        super().__init__("old", KAFKA_4, "0")
        self._highest = highest
        self._few = few

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        """A fresh one."""
        del label, isolated, restarts
        yield InProcessCoordinator(OldModel(self._highest, few=self._few))


async def certified(
    highest: Mapping[str, int], cases: Sequence[Entry] = ENTRIES, *, few: bool = False
) -> Certificate:
    return await certify(OldTarget(highest, few=few), KAFKA_4, cases, Options())


@pytest.mark.parametrize(
    ("highest", "few"),
    [(BEFORE_INSTANCES, False), (BEFORE_IDS, True)],
    ids=["without instances", "few APIs, without ids first"],
)
async def test_every_rule_that_old_versions_reach_is_shown(
    highest: Mapping[str, int], *, few: bool
) -> None:
    certificate = await certified(highest, few=few)
    assert certificate.overall() is Overall.HOLDS
    assert not certificate.coverage.missed
    out = certificate.coverage.unreachable
    assert {"JOIN-STATIC-EMPTY-NEW", "SYNC-PROTOCOL-MISMATCH", "JOIN-PHASE-POSTPONED"} <= set(out)
    assert ("JOIN-DYNAMIC-EMPTY" in out) is (highest is BEFORE_IDS)


async def test_a_rule_whose_only_case_asks_for_more_is_not_out_of_reach() -> None:
    certificate = await certified(BEFORE_INSTANCES, matching("SYNC-GROUP-ABSENT/no-group"))
    assert [result.outcome for result in certificate.results] == [Outcome.UNSUPPORTED]
    assert "SYNC-GROUP-ABSENT" in certificate.coverage.missed
