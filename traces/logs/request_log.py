"""Read Kafka's request logs as exchanges: a request and its answer, as a broker logs them.

Only lines `Completed request:{JSON}` about the APIs of the model are read.  All other lines (other
loggers, stack traces, other APIs, damaged lines) are skipped and counted by reason.

A line is written when the answer is sent, so the request arrived `totalTimeMs` before.  It took
effect somewhere between its arrival and its answer.  Bodies are kept as the log has them until a
message is read, since most lines of a log are heartbeats that are never decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import orjson

from fencepost.model.coordinator import Body
from fencepost.model.history.history import Exchange
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.messages import APIS, BY_ID_SINCE, groups_of
from fencepost.model.messages.shapes import Message
from fencepost.traces.files.bounded import DEPTH_LIMIT, TooDeepError, is_too_long, refuse_deep
from fencepost.traces.logs.log_files import LogFiles

OWN_GROUPS = "fencepost-"
"""The groups that fencepost makes on a broker have names that begin so."""


def is_included(group_id: str, only: frozenset[str]) -> bool:
    """Return True if an audit includes a group: one of `only`, or else any but our own."""
    return group_id in only if only else not group_id.startswith(OWN_GROUPS)


@dataclass(slots=True)
class LoggedExchange(Exchange[Message, Message]):
    """An exchange with the place of its line.

    `source`, `line`: file name and line number (from 1); `broker`: of the log.  Times are ms since
    1970 on the clock of the audit (skew taken away), each rounded down.  `connection`: as in the
    log; `api`, `version`: the model's name, and Kafka's version.
    """

    at_ms: int
    answered_ms: int
    request_body: Body
    answer_body: Body
    client_id: str
    connection: str
    source: str = ""
    line: int = 0
    broker: str = ""

    def columns(self) -> tuple[Any, ...]:
        """Return the columns of a table beside source, line and broker; bodies are JSON."""
        bodies = orjson.dumps(self.request_body), orjson.dumps(self.answer_body)
        times = self.at_ms, self.answered_ms
        return (*times, self.connection, self.client_id, self.api, self.version, *bodies)

    @classmethod
    def from_columns(cls, source: str, line: int, broker: str, columns: Sequence[Any]) -> Self:
        """Make an exchange of the values that `columns` returned."""
        arrived, answered, connection, client_id, api, version, *bodies = columns
        request, answer = map(orjson.loads, bodies)
        return cls(
            api,
            int(version),
            int(arrived),
            int(answered),
            request,
            answer,
            client_id,
            connection,
            source,
            int(line),
            broker,
        )

    def _message(self, kind: Literal["request", "response"], body: Body) -> Message:
        read: type[Message] = getattr(ALL_APIS[self.api], kind)
        return read.from_body(shaped(self.api, body), self.version)

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
        """The groups that it names; none where it is about all."""
        group_id = self.request_body.get("groupId")
        if isinstance(group_id, str):
            return (group_id,)
        return tuple(groups_of(self.request, self.version) or ())

    @property
    def place(self) -> str:
        """The place of its line: `FILE:LINE`."""
        return f"{self.source}:{self.line}"


def shaped(api: str, body: Body) -> dict[str, Any]:
    """Return a logged body with the field names that the model uses.

    Commits named their generation `generationId` until Kafka 3.6; the additions of a later Kafka to
    a version are optional (tagged) fields that the model does not know.
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


MARK = b"Completed request:"
_KEY = re.compile(rb'"requestApiKey":\s*(\d+)')
_NAMES = {str(api.key).encode(): api.name for api in APIS.values()}
_LONGEST_MS = 2**48
"""No request takes longer: a time that is out of range is no evidence."""

_GROUP_ID = re.compile(rb'"groupId":\s*"((?:[^"\\\\]|\\\\.)*)"')
_OTHER_PROTOCOLS = {
    **dict.fromkeys((b"68", b"69"), "consumer"),
    **dict.fromkeys((b"76", b"77", b"78", b"79"), "share"),
    **dict.fromkeys((b"88", b"89"), "streams"),
}
"""APIs whose requests are about groups that are not classic, by key: heartbeats, descriptions."""

OTHER_LINE = "no line of the request logger"
OTHER_API = "a request of another API"
BAD_JSON = "cut off or garbled"
NO_DATE = "no date at the start of the line"
TEXT_FORMAT = "not JSON (Kafka before 2.8)"
NO_REQUEST = "lacks a part that every line has"
OTHER_VERSION = "a version that the model does not have"
TOO_LONG = "longer than a line may be (--line-limit)"


class RequestLog(LogFiles[LoggedExchange]):
    """Request logs as one stream of exchanges, in the order of the answers; see LogFiles."""

    def _note_other(self, key: bytes, line: bytes, begin: int) -> None:
        """Note the group of a request that only groups of other protocols send."""
        group = _GROUP_ID.search(line, begin)
        if group is not None:
            self.note_other(group[1].decode(errors="replace"), _OTHER_PROTOCOLS[key])

    def of_line(
        self, broker: str, source: str, number: int, line: bytes, skew: int
    ) -> LoggedExchange | str:
        """Read the exchange of a line; return the reason if there is none."""
        cut = is_too_long(line, self.line_limit)
        start = line.find(MARK)
        if start < 0:
            return TOO_LONG if cut else OTHER_LINE
        begin = start + len(MARK)
        if line[begin : begin + 1] != b"{":
            return TEXT_FORMAT if line[begin : begin + 7] == b"Request" else BAD_JSON
        key = _KEY.search(line, begin)
        api = None if key is None else _NAMES.get(key[1])
        if api is None:
            if key is not None and key[1] in _OTHER_PROTOCOLS:
                self._note_other(key[1], line, begin)
            return OTHER_API if key is not None else TOO_LONG if cut else BAD_JSON
        if cut:
            return TOO_LONG
        answered_ms = self.dates.read(line[:start])
        if answered_ms is None:
            return NO_DATE
        try:
            record = orjson.loads(line[begin : line.rfind(b"}") + 1])
            if line.count(b"{") + line.count(b"[") > DEPTH_LIMIT:
                refuse_deep(record)
        except (orjson.JSONDecodeError, TooDeepError):
            return BAD_JSON
        try:
            header = record["requestHeader"]
            version = header["requestApiVersion"]
            request, response = record["request"], record["response"]
            took_ms = record["totalTimeMs"]
            connection, client_id = record["connection"], header["clientId"] or ""
            if not (
                isinstance(request, dict)
                and isinstance(response, dict)
                and isinstance(connection, str)
                and isinstance(client_id, str)
                and type(version) is int
                and -_LONGEST_MS < took_ms < _LONGEST_MS
            ):
                return NO_REQUEST
            if api == "OffsetCommit" and version == BY_ID_SINCE:
                version -= 1
                request, response = by_name(request), by_name(response)
            known = APIS[api]
            if not known.lowest <= version <= min(known.highest, BY_ID_SINCE - 1):
                return OTHER_VERSION
            answered_ms -= skew
            return LoggedExchange(
                api,
                version,
                int(answered_ms - took_ms),
                answered_ms,
                request,
                response,
                client_id,
                connection,
                source,
                number,
                broker,
            )
        except (KeyError, TypeError, AttributeError):
            return NO_REQUEST

    def at_ms(self, item: LoggedExchange) -> int:
        """Return when the answer was sent."""
        return item.answered_ms

    def date_of(self, line: bytes) -> int | None:
        """Return the date of a request."""
        start = line.find(MARK)
        return None if start < 0 else self.dates.read(line[:start])


def read_request_log(paths: Iterable[Path]) -> Iterator[LoggedExchange]:
    """Read the exchanges of log files with the default settings.  Raises LogFileError."""
    return iter(RequestLog(list(paths)))
