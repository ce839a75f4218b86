"""What the answer to a request is when it is refused with a code that nothing led to.

Where an API has a code for the whole answer, that one is used, else one in each row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fencepost.conformance.targets.tcp.wire import RequestFrame

Json = dict[str, Any]


class Rows(NamedTuple):
    """Where the topics and partitions of a request are, and where those of its answer."""

    topics: str
    partitions: str
    number: str
    answered_topics: str
    answered_partitions: str
    answered_number: str


_ROWS = {
    "Produce": Rows(
        "topicData", "partitionData", "index", "responses", "partitionResponses", "index"
    ),
    "Fetch": Rows("topics", "partitions", "partition", "responses", "partitions", "partitionIndex"),
    "ListOffsets": Rows(
        "topics", "partitions", "partitionIndex", "topics", "partitions", "partitionIndex"
    ),
    "OffsetForLeaderEpoch": Rows(
        "topics", "partitions", "partition", "topics", "partitions", "partition"
    ),
}
_FETCH_WHOLE_SINCE = 7
_NAMES = ("name", "topic", "topicId")
_DEFAULTS: Mapping[str, Json] = {
    "Produce": {"baseOffset": -1},
    "Fetch": {"highWatermark": -1, "abortedTransactions": None, "records": ""},
}

REFUSABLE = frozenset({*_ROWS, "ApiVersions", "FindCoordinator", "InitProducerId", "Metadata"})
"""The APIs besides the groups' that can be refused."""


def refused_rows(request: RequestFrame, code: int) -> Json | None:
    """The refusal of a request about partitions; None for one about something else."""
    rows = _ROWS.get(request.api)
    if rows is None:
        return None
    if request.api == "Fetch" and request.version >= _FETCH_WHOLE_SINCE:
        return {"errorCode": code, "sessionId": 0, rows.answered_topics: []}
    default = _DEFAULTS.get(request.api, {})

    def topic(row: Mapping[str, Any]) -> Json:
        named = {key: row[key] for key in _NAMES if key in row}
        parts = [
            {rows.answered_number: part[rows.number], "errorCode": code, **default}
            for part in row[rows.partitions]
        ]
        return {**named, rows.answered_partitions: parts}

    return {rows.answered_topics: [topic(row) for row in request.body[rows.topics]]}


def recoded(body: Any, code: int, instead_of: int | None = None) -> Any:
    """The body with this code wherever there is one, or wherever there was that one."""
    if isinstance(body, list):
        return [recoded(row, code, instead_of) for row in body]
    if not isinstance(body, dict):
        return body
    inner = {key: recoded(value, code, instead_of) for key, value in body.items()}
    if "errorCode" in inner and instead_of in {None, inner["errorCode"]}:
        inner["errorCode"] = code
    return inner
