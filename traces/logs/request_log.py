"""Read Kafka's request logs as exchanges.

Only lines `Completed request:{JSON}` about the APIs of the model are read.  All other lines (other
loggers, stack traces, other APIs, damaged lines) are skipped and counted by reason.

A line is written when the answer is sent, so the request arrived `totalTimeMs` before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from fencepost.model.messages.messages import APIS
from fencepost.traces.files.bounded import DEPTH_LIMIT, TooDeepError, is_too_long, refuse_deep
from fencepost.traces.logs.log_files import LogFiles
from fencepost.traces.logs.logged_exchange import LoggedExchange, by_name

MARK = b"Completed request:"
_KEY = re.compile(rb'"requestApiKey":\s*(\d+)')
_NAMES = {str(api.key).encode(): api.name for api in APIS.values()}
_LONGEST_MS = 2**48
"""No request takes longer: a time that is out of range is no evidence."""
_BY_ID = 10
"""The version of OffsetCommit that says topics by id, and is else as the one before."""


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
            if api == "OffsetCommit" and version == _BY_ID:
                version -= 1
                request, response = by_name(request), by_name(response)
            known = APIS[api]
            if not known.lowest <= version <= known.highest:
                return OTHER_VERSION
            answered_ms -= skew
            return LoggedExchange(
                source,
                number,
                broker,
                int(answered_ms - took_ms),
                answered_ms,
                connection,
                client_id,
                api,
                version,
                request,
                response,
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
