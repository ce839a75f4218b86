"""Read the log files of several brokers as one stream, in the order of time.

Files may be gzipped, rotated, and of several brokers.  A broker's files are read in the order of
their first date; the lines of several brokers are merged by time.  Lines that are not read are
counted by reason.
"""

from __future__ import annotations

import gzip
import heapq
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Generic, TypeVar

from fencepost.traces.files.bounded import LINE_LIMIT, bounded_lines
from fencepost.traces.logs.log_dates import LogDates

BROKEN_FILE = "the rest of a compressed file that is cut off or damaged"
FIRST_LINES = 2000
"""Where a file's first date, or what kind of file it is, must show."""
_TOLD_EVERY = 5_000
"""How many lines are read between two reports of progress."""

_T = TypeVar("_T")


class LogFileError(ValueError):
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

    def by_reason(self) -> dict[str, tuple[int, str]]:
        """Return how many lines each reason has, and where its first was."""
        return {reason: (count, self.first[reason]) for reason, count in self.counts.items()}


class LogFiles(ABC, Generic[_T]):
    """Log files as one stream of what their lines say.

    `skew`: broker → ms that its clock is ahead; `brokers`: the log's brokers, with their files;
    `line_limit`: bytes; a line with more is passed over.  `progress`: called with the bytes of the
    files that were read since the last call.
    Raises LogFileError for a file that can't be opened, or a skew of no broker.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        dates: LogDates | None = None,
        skew: Mapping[str, int] | None = None,
        line_limit: int = LINE_LIMIT,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.dates = dates or LogDates()
        self.skew = dict(skew or {})
        self.line_limit = line_limit
        self.progress = progress
        self.skipped = Skipped()
        self.brokers = _by_broker(paths)
        if unknown := sorted(set(self.skew) - set(self.brokers)):
            raise LogFileError(
                f"no log is of a broker {unknown[0]!r}; there are {', '.join(self.brokers)}"
            )
        for broker, files in self.brokers.items():
            files.sort(key=lambda path: (self._first_ms(path), path.name))
            self.brokers[broker] = files

    @abstractmethod
    def of_line(self, broker: str, source: str, number: int, line: bytes, skew: int) -> _T | str:
        """Read what a line says; return the reason if it says nothing."""

    @abstractmethod
    def at_ms(self, item: _T) -> int:
        """Return when a line was written."""

    @abstractmethod
    def date_of(self, line: bytes) -> int | None:
        """Return the date of a line that counts for the order of files; None for any other."""

    def __iter__(self) -> Iterator[_T]:
        """Yield what every line says, in the order of time."""
        streams = [self._of_broker(broker) for broker in self.brokers]
        if len(streams) == 1:
            return streams[0]
        return heapq.merge(*streams, key=self.at_ms)

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all files."""
        return tuple(path.name for files in self.brokers.values() for path in files)

    def _of_broker(self, broker: str) -> Iterator[_T]:
        for path in self.brokers[broker]:
            yield from self.of_file(broker, path)

    def of_file(self, broker: str, path: Path) -> Iterator[_T]:
        """Yield what the lines of one file of a broker say.  Raises LogFileError."""
        with opened(path) as lines:
            yield from self._read(broker, path.name, lines)

    def _read(self, broker: str, source: str, lines: IO[bytes]) -> Iterator[_T]:
        skipped, skew = self.skipped, self.skew.get(broker, 0)
        number = last_ms = told = 0
        try:
            for number, line in enumerate(bounded_lines(lines, self.line_limit), start=1):
                skipped.lines += 1
                if self.progress is not None and number % _TOLD_EVERY == 0:
                    told = self._tell(lines, told)
                made = self.of_line(broker, source, number, line, skew)
                if isinstance(made, str):
                    skipped.skip(made, broker, source, number, last_ms)
                else:
                    last_ms = self.at_ms(made)
                    yield made
        except (EOFError, zlib.error, gzip.BadGzipFile):
            skipped.skip(BROKEN_FILE, broker, source, number + 1, last_ms)
        self._tell(lines, told)

    def _tell(self, lines: IO[bytes], told: int) -> int:
        """Report how far a file was read, in bytes on the disk."""
        if self.progress is None:
            return told
        raw = getattr(lines, "fileobj", None) or lines
        here: int = raw.tell()
        self.progress(here - told)
        return here

    def _first_ms(self, path: Path) -> int:
        """Return the first date of a file; a far time if it has none."""
        dates = (self.date_of(line) for line in first_lines(path, self.line_limit))
        return next((at_ms for at_ms in dates if at_ms is not None), 2**62)


def first_lines(path: Path, limit: int = LINE_LIMIT) -> Iterator[bytes]:
    """Yield the first lines of a file, as far as it can be read.  Raises LogFileError."""
    with opened(path) as lines:
        try:
            yield from islice(bounded_lines(lines, limit), FIRST_LINES)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return


def opened(path: Path) -> IO[bytes]:
    """Open a log file, compressed or not.  Raises LogFileError."""
    try:
        with path.open("rb") as file:
            is_gzip = file.read(2) == b"\x1f\x8b"
        if is_gzip:  # opened by gzip itself, or nobody would close it
            return gzip.open(path, "rb")  # type: ignore[return-value]  # reads like a file
        return path.open("rb", buffering=1 << 20)
    except OSError as error:
        raise LogFileError(
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
