"""Read the log files of several brokers as one stream, in the order of time.

Files may be gzipped, rotated, and of several brokers.  A broker's files are read in the order of
their first date; the lines of several brokers are merged by time.  Lines that are not read are
counted by reason.

Read the dates of log lines.

Patterns of Log4j (`yyyy-MM-dd HH:mm:ss,SSS`) and of strptime (`%Y-%m-%d …`) are both accepted,
since operators have the one in their configuration and scripts the other.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import hashlib
import heapq
import io
import lzma
import re
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from itertools import islice
from pathlib import Path
from typing import IO, Any, Generic, Protocol, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fencepost.traces.files.bounded import LINE_LIMIT, bounded_lines

DEFAULT_PATTERN = "yyyy-MM-dd HH:mm:ss,SSS"
_LOG4J = {
    "yyyy": "%Y",
    "yy": "%y",
    "MMMM": "%B",
    "MMM": "%b",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "hh": "%I",
    "mm": "%M",
    "ss": "%S",
    "SSSSSS": "%f",
    "SSS": "%f",
    "a": "%p",
    "Z": "%z",
    "XXX": "%z",
}
_NAMED = {
    "ISO8601": "yyyy-MM-dd HH:mm:ss,SSS",
    "ABSOLUTE": "HH:mm:ss,SSS",
    "DATE": "dd MMM yyyy HH:mm:ss,SSS",
}
_TEXTS = {
    "Y": r"\d{4}",
    "y": r"\d{2}",
    "B": r"\w+",
    "b": r"\w{3}",
    "m": r"\d{2}",
    "d": r"\d{2}",
    "H": r"\d{2}",
    "I": r"\d{2}",
    "M": r"\d{2}",
    "S": r"\d{2}",
    "f": r"\d{1,6}",
    "p": r"[APap][Mm]",
    "z": r"(?:Z|[+-]\d{2}:?\d{2})",
}


class DatePatternError(ValueError):
    """A date pattern or time zone that can't be used.  `str()` names it and the remedy."""


class LogDates:
    """Reads the dates of a log.

    `resolution_ms`: how coarse they are.  Raises DatePatternError.
    """

    def __init__(self, pattern: str = DEFAULT_PATTERN, timezone: str = "UTC") -> None:
        self._zone = _zone(timezone)
        self._format = strptime_pattern(pattern)
        self._text = re.compile(_text(self._format))
        self.resolution_ms = 1 if "%f" in self._format else 1000
        self._plain = self._format == "%Y-%m-%d %H:%M:%S,%f"
        self._second = b""
        self._second_ms = 0

    def read(self, head: bytes) -> int | None:
        """Read the date at the start of a line, ms since 1970; None if it has none."""
        if self._plain and head[:1] == b"[" and head[20:21] == b"," and head[24:25] == b"]":
            if head[1:20] != self._second:  # most lines share their second with the one before
                at_ms = self._parsed(head[1:24].decode(errors="replace"))
                if at_ms is None:
                    return None
                self._second, self._second_ms = head[1:20], at_ms - at_ms % 1000
            millis = head[21:24]
            return self._second_ms + int(millis) if millis.isdigit() else None
        match = self._text.search(head.decode(errors="replace"))
        return None if match is None else self._parsed(match[0])

    def _parsed(self, text: str) -> int | None:
        try:
            date = datetime.strptime(text, self._format)  # noqa: DTZ007 - the zone is an option
        except ValueError:
            return None
        if date.tzinfo is None:
            date = date.replace(tzinfo=self._zone)
        since = date - datetime(1970, 1, 1, tzinfo=UTC)
        return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def strptime_pattern(pattern: str) -> str:
    """Convert the pattern to strptime's form.  Raises DatePatternError."""
    pattern = _NAMED.get(pattern, pattern)
    if "%" not in pattern:
        pattern = _from_log4j(pattern)
    used = set(re.findall("%(.)", pattern))
    if unknown := sorted(used - set(_TEXTS) - {"%"}):
        raise DatePatternError(
            f"the date pattern {pattern!r} has %{unknown[0]}, which is not read; "
            f"use {', '.join('%' + letter for letter in _TEXTS)}"
        )
    if not (used & {"Y", "y"} and used & {"m", "b", "B"} and {"d", "M"} <= used):
        raise DatePatternError(
            f"the date pattern {pattern!r} tells no full date; name year, month, day and time, "
            f"such as {DEFAULT_PATTERN!r}"
        )
    return pattern


def _from_log4j(pattern: str) -> str:
    made = ""
    tokens = re.compile(r"'([^']*)'|([A-Za-z])\2*|[^A-Za-z']")
    for token in tokens.finditer(pattern):
        text = token[0]
        if token[1] is not None:
            made += token[1]
        elif text[0].isalpha():
            if text not in _LOG4J:
                raise DatePatternError(
                    f"the date pattern {pattern!r} has {text!r}, which is not read; "
                    f"use {', '.join(_LOG4J)}, or strptime's words"
                )
            made += _LOG4J[text]
        else:
            made += text
    return made


def _text(pattern: str) -> str:
    made = ""
    for token in re.finditer(r"%(.)|(.)", pattern, re.DOTALL):
        letter = token[1]
        made += _TEXTS.get(letter, "%") if letter else re.escape(token[2])
    return made


def _zone(name: str) -> tzinfo:
    if name.upper() in {"UTC", "Z"}:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise DatePatternError(
            f"there is no time zone {name!r}; name one of the tz database, such as Europe/Berlin"
        ) from error


ENDS = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""Errors of a compressed file that is cut off or damaged; others are an OSError without number."""
BROKEN_FILE = "the rest of a compressed file that is cut off or damaged"
FIRST_LINES = 2000
"""Lines in which a file's first date, or its kind, must appear."""
_PROGRESS_LINES = 5_000
"""Lines between two reports of progress."""

_T = TypeVar("_T")


class HasBytes(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes:
        """Read as many bytes, or fewer at the end."""
        ...


class LogFileError(ValueError):
    """A file can't be read at all.  `str()` names it and the remedy."""


@dataclass(slots=True)
class Skipped:
    """The lines that were skipped, by reason.

    `counts`: numbers of lines, by reason; `first`: the place of the first of each reason;
    `listeners`: called for each with its broker, place and reason, and the time of the line before
    (ms).
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
        """Return the number of lines of each reason, and the place of its first."""
        return {reason: (count, self.first[reason]) for reason, count in self.counts.items()}


REPEATED = "of a file that is given twice"


_BEGINNING = 1 << 16


def _digest(path: Path, most: int = 0) -> tuple[bytes, int]:
    """Return a digest of a file, of its first `most` bytes if there is a bound, and its lines."""
    content, lines, left = hashlib.sha256(), 0, most or 1 << 62
    with opened(path) as file, contextlib.suppress(OSError, *ENDS):
        while left and (data := file.read(min(left, 1 << 20))):
            content.update(data)
            lines += data.count(b"\n")
            left -= len(data)
    return content.digest(), lines


class LogFiles(ABC, Generic[_T]):
    """Log files as one stream of the contents of their lines.

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
        self.brokers = _by_broker(self._once(paths))
        if unknown := sorted(set(self.skew) - set(self.brokers)):
            raise LogFileError(
                f"no log is of a broker {unknown[0]!r}; there are {', '.join(self.brokers)}"
            )
        for broker, files in self.brokers.items():
            files.sort(key=lambda path: (self._first_ms(path), path.name))
            self.brokers[broker] = files

    def _once(self, paths: Sequence[Path]) -> list[Path]:
        """Leave out files that are the same as an earlier one, and say so."""
        kept: dict[bytes, list[tuple[Path, bytes]]] = {}
        left: list[Path] = []
        for path in paths:
            alike = kept.setdefault(_digest(path, _BEGINNING)[0], [])
            digest, count = _digest(path) if alike else (b"", 0)
            if count and digest in {known or _digest(first)[0] for first, known in alike}:
                self.skipped.lines += count
                self.skipped.skip(REPEATED, path.name, path.name, 1, 0)
                self.skipped.counts[REPEATED] += count - 1
                continue
            alike.append((path, digest))
            left.append(path)
        return left

    @abstractmethod
    def of_line(self, broker: str, source: str, number: int, line: bytes, skew: int) -> _T | str:
        """Read a line's content; return the reason if it has none."""

    @abstractmethod
    def at_ms(self, item: _T) -> int:
        """Return when a line was written."""

    @abstractmethod
    def date_of(self, line: bytes) -> int | None:
        """Return the date of a line that counts for the order of files; None for any other."""

    def __iter__(self) -> Iterator[_T]:
        """Yield the content of every line, in the order of time."""
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
        """Yield the contents of the lines of one file of a broker.  Raises LogFileError."""
        with opened(path) as lines:
            yield from self._read(broker, path.name, lines)

    def _read(self, broker: str, source: str, lines: IO[bytes]) -> Iterator[_T]:
        skipped, skew = self.skipped, self.skew.get(broker, 0)
        number = last_ms = reported = 0
        try:
            for number, line in enumerate(bounded_lines(lines, self.line_limit), start=1):
                skipped.lines += 1
                if self.progress is not None and number % _PROGRESS_LINES == 0:
                    reported = self._tell(lines, reported)
                made = self.of_line(broker, source, number, line, skew)
                if isinstance(made, str):
                    skipped.skip(made, broker, source, number, last_ms)
                else:
                    last_ms = self.at_ms(made)
                    yield made
        except (OSError, *ENDS) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise LogFileError(f"{source} can't be read ({error.strerror})") from error
            skipped.skip(BROKEN_FILE, broker, source, number + 1, last_ms)
        self._tell(lines, reported)

    def _tell(self, lines: IO[bytes], reported: int) -> int:
        """Report how far a file was read, in bytes on the disk."""
        if self.progress is None:
            return reported
        raw = getattr(lines, "fileobj", None) or lines
        here: int = raw.tell()
        self.progress(here - reported)
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
        except (OSError, *ENDS):
            return


_HEAD = 512
_UNREAD = {
    b"\x04\x22\x4d\x18": "lz4",
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"Rar!\x1a\x07": "RAR",
    b"\x1f\x9d": "compress",
    b"\xff\x06\x00\x00sNaPpY": "Snappy",
}
_UTF_16 = {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}


class _Unpacked(io.RawIOBase):
    """The bytes of `source`, in UTF-8 where they are UTF-16.  `fileobj`: the file on the disk."""

    def __init__(self, source: HasBytes, fileobj: IO[bytes]) -> None:
        self._source, self.fileobj = source, fileobj
        self._left = b""
        with contextlib.suppress(OSError, *ENDS):  # comes again when it is read on
            self._left = source.read(_HEAD)
        self.is_tar = self._left[257:262] == b"ustar"
        is_wide = self._left[:2] in _UTF_16
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace") if is_wide else None
        self._left = self._as_utf_8(self._left)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read some bytes.  Raises what the unpacking raises."""
        while not self._left and (data := self._source.read(1 << 16)):
            self._left = self._as_utf_8(data)
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        return count

    def _as_utf_8(self, data: bytes) -> bytes:
        return data if self._decoder is None else self._decoder.decode(data).encode()

    def close(self) -> None:
        """Close the file, too."""
        super().close()
        self.fileobj.close()


class _Reader(io.BufferedReader):
    """A reader of such bytes."""

    fileobj: IO[bytes]


def opened(path: Path) -> IO[bytes]:
    """Open a log file: plain, or in gzip, xz, bz2, zip or zstd; in UTF-8, or UTF-16 by its mark.

    Raises LogFileError.
    """
    file = None
    try:
        file = path.open("rb", buffering=1 << 20)
        head = file.read(_HEAD)
        file.seek(0)
        source = _source(path, file, head)
        if source is file and head[:2] not in _UTF_16:
            return file
        raw = _Unpacked(source, file)
    except (OSError, *ENDS, zipfile.BadZipFile, RuntimeError) as error:
        if file is not None:
            file.close()
        reason = error.strerror or error if isinstance(error, OSError) else error
        raise LogFileError(
            f"{path} can't be read ({reason}); name a file that is there and whole"
        ) from error
    except BaseException:
        if file is not None:
            file.close()
        raise
    if raw.is_tar:
        raw.close()
        raise _unread(path, "a tar archive")
    reader = _Reader(raw, 1 << 20)
    reader.fileobj = file
    return reader


def _source(path: Path, file: IO[bytes], head: bytes) -> HasBytes:
    """Return what reads the file's content.  Raises LogFileError."""
    for mark, name in _UNREAD.items():
        if head.startswith(mark):
            raise _unread(path, f"compressed by {name}")
    if head.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    if head.startswith(b"\xfd7zXZ\x00"):
        return lzma.LZMAFile(file)
    if head.startswith(b"BZh"):
        return bz2.BZ2File(file)
    if head.startswith(b"PK\x03\x04"):
        archive = zipfile.ZipFile(file)
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) != 1:
            raise _unread(path, f"a zip archive of {len(members)} files")
        return archive.open(members[0])
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        try:
            import pyarrow as pa  # noqa: PLC0415  (an extra)
        except ImportError:
            raise _unread(path, "compressed by zstd") from None
        unpacked: HasBytes = pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")
        return unpacked
    return file


def _unread(path: Path, kind: str) -> LogFileError:
    return LogFileError(f"{path} is {kind}, which is not read: unpack it, and name the file in it")


def _by_broker(paths: Sequence[Path]) -> dict[str, list[Path]]:
    """Return the files of each broker.

    The broker is the folder where the files are in several, else the part of the name before
    `.log`: `kafka-request.log.2026-11-21-06.gz` and `kafka-request.log` are of one broker.
    """
    folders = {path.resolve().parent for path in paths}
    by_folder = len({folder.name for folder in folders}) == len(folders) > 1
    files_: dict[str, list[Path]] = {}
    for path in paths:
        stem = path.name.partition(".log")[0]
        files_.setdefault(path.resolve().parent.name if by_folder else stem, []).append(path)
    return files_
