"""A request and its answer, as a broker's log shows them.

A request took effect somewhere between its arrival and its answer.  Bodies are kept as the log has
them until a message is asked for, since most lines of a log are heartbeats that are never decoded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import orjson

from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.messages import groups_of
from fencepost.model.messages.shapes import Message

Body = Mapping[str, Any]

OWN_GROUPS = "fencepost-"
"""The groups that fencepost makes on a broker have names that begin so."""


def is_wanted(group_id: str, only: frozenset[str]) -> bool:
    """Return whether an audit looks at a group: one of `only`, or else any but our own."""
    return group_id in only if only else not group_id.startswith(OWN_GROUPS)


@dataclass(slots=True)
class LoggedExchange:
    """A request and its answer.  Not frozen, since one is made for each line; nobody changes it.

    `source`, `line`: file name and line number (from 1); `broker`: whose log it is.  `arrived_ms`,
    `answered_ms`: ms since 1970 on the clock of the audit (skew taken away), each rounded down.
    `connection`: as in the log; `api`, `version`: the model's name, and Kafka's version.
    `request_body`, `response_body`: as in the log.
    """

    source: str
    line: int
    broker: str
    arrived_ms: int
    answered_ms: int
    connection: str
    client_id: str
    api: str
    version: int
    request_body: Body
    response_body: Body
    _request: Message | None = field(default=None, init=False, repr=False, compare=False)
    _response: Message | None = field(default=None, init=False, repr=False, compare=False)

    def columns(self) -> tuple[Any, ...]:
        """Return what a table keeps beside source, line and broker; bodies are JSON."""
        bodies = orjson.dumps(self.request_body), orjson.dumps(self.response_body)
        times = self.arrived_ms, self.answered_ms
        return (*times, self.connection, self.client_id, self.api, self.version, *bodies)

    @classmethod
    def from_columns(cls, source: str, line: int, broker: str, columns: Sequence[Any]) -> Self:
        """Make it from what `columns` returned."""
        arrived, answered, connection, client_id, api, version, *bodies = columns
        head = (source, int(line), broker, int(arrived), int(answered))
        return cls(*head, connection, client_id, api, int(version), *map(orjson.loads, bodies))

    @property
    def request(self) -> Message:
        """The request.  Raises ShapeError for one that its version can't have."""
        if self._request is None:
            body = shaped(self.api, self.request_body)
            made = ALL_APIS[self.api].request.from_body(body, self.version)
            self._request = made
            return made
        return self._request

    @property
    def response(self) -> Message:
        """The answer.  Raises ShapeError for one that its version can't have."""
        if self._response is None:
            body = shaped(self.api, self.response_body)
            made = ALL_APIS[self.api].response.from_body(body, self.version)
            self._response = made
            return made
        return self._response

    @property
    def host(self) -> str:
        """The client's address; "" if the log's connection has none.

        A connection is `BROKER:PORT-CLIENT:PORT-NUMBER`, with one number more in Kafka 4.
        """
        return self.address.rpartition(":")[0]

    @property
    def address(self) -> str:
        """The client's address and port, HOST:PORT; "" if the log's connection has none."""
        return self.connection.partition("-")[2].partition("-")[0]

    @property
    def group_ids(self) -> tuple[str, ...]:
        """The groups that it names; none where it asks for all."""
        group_id = self.request_body.get("groupId")
        if isinstance(group_id, str):
            return (group_id,)
        return tuple(groups_of(self.request, self.version) or ())

    @property
    def place(self) -> str:
        """Where it was read: `FILE:LINE`."""
        return f"{self.source}:{self.line}"


def shaped(api: str, body: Body) -> dict[str, Any]:
    """Return a logged body with the field names that the model uses.

    Commits named their generation `generationId` until Kafka 3.6; what a later Kafka adds to a
    version is an optional (tagged) field that the model does not know, and means nothing to it.
    """
    changed = dict(body)
    if api == "OffsetCommit" and "generationId" in changed:
        changed["generationIdOrMemberEpoch"] = changed.pop("generationId")
    return changed


def by_name(body: Body) -> dict[str, Any]:
    """Return a body with topic ids in place of topic names; neither matters to a group."""
    topics = [
        {"name": topic["topicId"], **{k: v for k, v in topic.items() if k != "topicId"}}
        for topic in body["topics"]
    ]
    return {**body, "topics": topics}
