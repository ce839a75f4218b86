"""Read Kafka's request logs as exchanges.

Only lines `Completed request:{JSON}` about the APIs of the model are read.  All other lines (other
loggers, stack traces, other APIs, damaged lines) are skipped and counted by reason.  Files may be
gzipped, rotated, and of several brokers.  A broker's files are read in the order of their first
date; the lines of several brokers are merged by time.

A line is written when the answer is sent, so the request arrived `totalTimeMs` before.
"""

from __future__ import annotations

import gzip
import heapq
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO

import orjson

from fencepost.model.messages.messages import APIS
from fencepost.traces.files.bounded import (
    DEPTH_LIMIT,
    LINE_LIMIT,
    TooDeepError,
    bounded_lines,
    is_too_long,
    refuse_deep,
)
from fencepost.traces.logs.exchange import LoggedExchange, by_name
from fencepost.traces.logs.log_dates import LogDates

MARK = b"Completed request:"
_KEY = re.compile(rb'"requestApiKey":\s*(\d+)')
_NAMES = {str(api.key).encode(): api.name for api in APIS.values()}
_FIRST_LINES = 2000
_LONGEST_MS = 2**48
"""No request takes longer: a time that is out of range is no evidence."""
_BY_ID = 10
"""The version of OffsetCommit that says topics by id, and is else as the one before."""


class RequestLogError(ValueError):
    """A file can't be read at all.  `str()` names it and the remedy."""


@dataclass(slots=True)
class Skipped:
    """The lines that were skipped, by reason.

    `counts`: how many lines, by reason; `first`: where the first of each reason was; `listeners`:
    told of each with its broker, place and reason, and when the line before was written (ms).
    """

    lines: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    listeners: list[Callable[[str, str, str, int], None]] = field(default_factory=list)

    def skip(self, reason: str, broker: str, source: str, line: int, at_ms: int) -> None:
        """Count a skipped line."""
        self.counts[reason] += 1
        place = f"{source}:{line}"
        if reason not in self.first:
            self.first[reason] = place
        for listener in self.listeners:
            listener(broker, place, reason, at_ms)


OTHER_LINE = "no line of the request logger"
OTHER_API = "a request of another API"
BAD_JSON = "cut off or garbled"
NO_DATE = "no date at the start of the line"
TEXT_FORMAT = "not JSON (Kafka before 2.8)"
NO_REQUEST = "lacks a part that every line has"
OTHER_VERSION = "a version that the model does not have"
TOO_LONG = "longer than a line may be (--line-limit)"
BROKEN_FILE = "the rest of a compressed file that is cut off or damaged"


class RequestLog:
    """Log files as one stream of exchanges.

    `skew`: broker → ms that its clock is ahead; `brokers`: the log's brokers, with their files;
    `line_limit`: bytes; a line with more is passed over.
    Raises RequestLogError for a file that can't be opened, or a skew of no broker.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        dates: LogDates | None = None,
        skew: Mapping[str, int] | None = None,
        line_limit: int = LINE_LIMIT,
    ) -> None:
        self.dates = dates or LogDates()
        self.skew = dict(skew or {})
        self.line_limit = line_limit
        self.skipped = Skipped()
        self.brokers = _by_broker(paths)
        if unknown := sorted(set(self.skew) - set(self.brokers)):
            raise RequestLogError(
                f"no log is of a broker {unknown[0]!r}; there are {', '.join(self.brokers)}"
            )
        for broker, files in self.brokers.items():
            files.sort(key=lambda path: (self._first_ms(path), path.name))
            self.brokers[broker] = files

    def __iter__(self) -> Iterator[LoggedExchange]:
        """Yield every exchange, in the order of the answers."""
        streams = [self._of_broker(broker) for broker in self.brokers]
        if len(streams) == 1:
            return streams[0]
        return heapq.merge(*streams, key=_answered_ms)

    def _of_broker(self, broker: str) -> Iterator[LoggedExchange]:
        for path in self.brokers[broker]:
            yield from self.of_file(broker, path)

    def of_file(self, broker: str, path: Path) -> Iterator[LoggedExchange]:
        """Yield the exchanges of one file of a broker.  Raises RequestLogError."""
        with _opened(path) as lines:
            yield from self._read(broker, path.name, lines)

    def _read(self, broker: str, source: str, lines: IO[bytes]) -> Iterator[LoggedExchange]:
        skipped, skew = self.skipped, self.skew.get(broker, 0)
        number = last_ms = 0
        try:
            for number, line in enumerate(bounded_lines(lines, self.line_limit), start=1):
                skipped.lines += 1
                made = self.of_line(broker, source, number, line, skew)
                if isinstance(made, str):
                    skipped.skip(made, broker, source, number, last_ms)
                else:
                    last_ms = made.answered_ms
                    yield made
        except (EOFError, zlib.error, gzip.BadGzipFile):
            skipped.skip(BROKEN_FILE, broker, source, number + 1, last_ms)

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

    def _first_ms(self, path: Path) -> int:
        """Return the first date of a file; a far time if it has none."""
        with _opened(path) as lines:
            try:
                for line in islice(bounded_lines(lines, self.line_limit), _FIRST_LINES):
                    start = line.find(MARK)
                    if start >= 0 and (at_ms := self.dates.read(line[:start])) is not None:
                        return at_ms
            except (EOFError, zlib.error, gzip.BadGzipFile):
                pass
        return 2**62


def _opened(path: Path) -> IO[bytes]:
    try:
        with path.open("rb") as file:
            is_gzip = file.read(2) == b"\x1f\x8b"
        if is_gzip:  # opened by gzip itself, or nobody would close it
            return gzip.open(path, "rb")  # type: ignore[return-value]  # reads like a file
        return path.open("rb", buffering=1 << 20)
    except OSError as error:
        raise RequestLogError(
            f"{path} can't be read ({error.strerror or error}); name a file that is there"
        ) from error


def _by_broker(paths: Sequence[Path]) -> dict[str, list[Path]]:
    """Return the files of each broker.

    Brokers are told apart by folder where the files are in several, else by what comes before
    `.log` in a name: `kafka-request.log.2026-11-21-06.gz` and `kafka-request.log` are one's.
    """
    folders = {path.resolve().parent for path in paths}
    by_folder = len({folder.name for folder in folders}) == len(folders) > 1
    found: dict[str, list[Path]] = {}
    for path in paths:
        stem = path.name.partition(".log")[0]
        found.setdefault(path.resolve().parent.name if by_folder else stem, []).append(path)
    return found


def _answered_ms(exchange: LoggedExchange) -> int:
    return exchange.answered_ms


def read_request_log(paths: Iterable[Path]) -> Iterator[LoggedExchange]:
    """Read the exchanges of log files with the default settings.  Raises RequestLogError."""
    return iter(RequestLog(list(paths)))
