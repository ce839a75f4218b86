"""A world whose history is kept, so that it can be told otherwise: what a liar would have said."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from support.world import Reply, World

from fencepost.model.coordinator import Answer
from fencepost.model.history.events import Answered, Event, Handled, Passed, Sent
from fencepost.model.revisions import revisions
from fencepost.properties.oracle.oracle import Oracle, judge
from fencepost.properties.oracle.verdict import Wrong


class Told(World):
    """Virtual clock; a lie is told about one reply."""

    def __init__(
        self, revision: str = "kafka-4", config: dict[str, int | None] | None = None
    ) -> None:
        super().__init__(revision, config)
        self.history: list[Event] = []
        self._settings = config or {}
        self._judge = revisions.find(revision)

    def send(self, who: str, api: str, version: int, body: dict[str, Any]) -> Reply:
        place = len(self.history)
        reply = super().send(who, api, version, body)
        self.history.insert(place, Sent(self.now, self.coordinator_request(reply)))
        self.history.append(Handled(self.now))
        return reply

    def coordinator_request(self, reply: Reply) -> Any:
        return self.requests[reply._id]

    def wait(self, ms: int) -> None:
        super().wait(ms)
        self.history.append(Passed(self.now))

    def _take(self, answers: Any) -> None:
        super()._take(answers)
        self.history += [Answered(answer) for answer in answers]

    def told(self, reply: Reply, **fields: Any) -> list[Event]:
        """The history in which this reply had these fields instead."""
        return self._instead(reply, lambda a: [replace(a, body={**dict(a.body or {}), **fields})])

    def unanswered(self, reply: Reply) -> list[Event]:
        return self._instead(reply, lambda _: [])

    def closed(self, reply: Reply) -> list[Event]:
        return self._instead(reply, lambda a: [replace(a, body=None)])

    def _instead(self, reply: Reply, change: Any) -> list[Event]:
        events: list[Event] = []
        for event in self.history:
            if isinstance(event, Answered) and event.answer.id == reply._id:
                events += [Answered(answer) for answer in change(event.answer)]
            else:
                events.append(event)
        return events

    def judged(self, history: list[Event] | None = None, *, limit: int = 20_000) -> Oracle:
        chosen = self.history if history is None else history
        return judge(self._judge, self._settings, chosen, lag_ms=0, limit=limit)


def late(history: list[Event], reply: Reply, ms: int) -> list[Event]:
    """The same, but this reply came so much later, and all after it at its own time."""
    moved: list[Event] = []
    kept: list[Event] = []
    for event in history:
        if isinstance(event, Answered) and event.answer.id == reply._id:
            answer: Answer = replace(event.answer, at_ms=event.answer.at_ms + ms)
            moved.append(Answered(answer))
        else:
            kept.append(event)
    return sorted([*kept, *moved], key=lambda e: e.at_ms)


def wrong(oracle: Oracle) -> tuple[Wrong, str]:
    """In which way, and at which request."""
    violation = oracle.verdict().violation
    assert violation is not None
    return violation.wrong, violation.request_id


def holds(oracle: Oracle) -> bool:
    """Tell whether all is explained."""
    verdict = oracle.verdict()
    return verdict.violation is None and verdict.unknown is None
