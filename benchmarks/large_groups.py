"""Measure the model in groups of many members.

A group of static members is formed, each of its members sends heartbeats, and then all rejoin and
sync: one rebalance.  The requests go to the model as a coordinator in this process, with bodies as
an adapter gets them; time passes between heartbeats.  All figures are seconds of the processor.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.model.coordinator import Answer, Body, Send
from fencepost.model.revisions.base import KAFKA_4

_BEATS = 300


class _LargeGroup:
    """A group at a coordinator, whose members have a connection each."""

    def __init__(self, size: int) -> None:
        self.coordinator = ModelCoordinator(KAFKA_4)
        self.coordinator.reset({"group.initial.rebalance.delay.ms": 0})
        self.size = size
        self.ids = [""] * size
        self.generation = 0
        self.roster: list[str] = []
        """Of the leader, which is the first member."""
        self._requests = 0

    def form(self) -> None:
        """Join and sync, for the first time."""
        joins = [self._join(place) for place in range(self.size)]
        self._read([*joins, self.coordinator.advance(0)])
        self._sync()

    def rebalance(self) -> None:
        """Rejoin, the leader first, and sync."""
        self._read([self._join(place) for place in range(self.size)])
        self._sync()

    def beat(self, place: int) -> None:
        (answer,) = self._ask(place, "Heartbeat", 4, self._member(place))
        assert answer.body == {"errorCode": 0}, answer  # noqa: S101  (else the figures lie)

    def _join(self, place: int) -> Sequence[Answer]:
        body = {
            "groupId": "g",
            "sessionTimeoutMs": 1_800_000,
            "rebalanceTimeoutMs": 60_000,
            "memberId": self.ids[place],
            "groupInstanceId": f"pod-{place}",
            "protocolType": "consumer",
            "protocols": [{"name": "range", "metadata": "AAEAAAABAAFhAAAAAA=="}],
            "reason": None,
        }
        return self._ask(place, "JoinGroup", 9, body)

    def _sync(self) -> None:
        assignments = [{"memberId": member_id, "assignment": "AAE="} for member_id in self.roster]
        for place in range(self.size):
            body = {
                **self._member(place),
                "protocolType": "consumer",
                "protocolName": "range",
                "assignments": assignments if place == 0 else [],
            }
            (answer,) = self._ask(place, "SyncGroup", 5, body)
            assert answer.body is not None  # noqa: S101  (else the figures lie)
            assert answer.body["errorCode"] == 0, answer  # noqa: S101

    def _member(self, place: int) -> Body:
        return {
            "groupId": "g",
            "generationId": self.generation,
            "memberId": self.ids[place],
            "groupInstanceId": f"pod-{place}",
        }

    def _ask(self, place: int, api: str, version: int, body: Body) -> Sequence[Answer]:
        self._requests += 1
        named = f"{self._requests}.{place}"
        return self.coordinator.send(Send(named, str(place), "bench", api, version, body))

    def _read(self, rounds: Iterable[Sequence[Answer]]) -> None:
        """Read the answers of a join phase: one for each member."""
        answers = [answer for some in rounds for answer in some]
        assert len(answers) == self.size, len(answers)  # noqa: S101
        for answer in answers:
            assert answer.body is not None  # noqa: S101
            self.ids[int(answer.id.partition(".")[2])] = answer.body["memberId"]
            self.generation = answer.body["generationId"]
            self.roster = [row["memberId"] for row in answer.body["members"]] or self.roster


def group_figures(size: int) -> dict[str, Any]:
    """Return processor seconds for one rebalance of `size` members, and ms for one heartbeat."""
    group = _LargeGroup(size)
    group.form()
    began = time.process_time()
    for number in range(_BEATS):
        group.beat(number % size)
        group.coordinator.advance(1)
    beats = time.process_time() - began
    began = time.process_time()
    group.rebalance()
    rebalance = time.process_time() - began
    return {
        "rebalance_seconds": round(rebalance, 4),
        "heartbeat_ms": round(beats * 1000 / _BEATS, 4),
    }


def groups_figures(sizes: list[int]) -> dict[str, Any]:
    """Return the figures of groups of these sizes, by size."""
    return {str(size): group_figures(size) for size in sizes}
