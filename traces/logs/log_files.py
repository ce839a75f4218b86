"""Read the log files of several brokers as one stream, in the order of time.

Files may be gzipped, rotated, and of several brokers.  A broker's files are read in the order of
their first date; the lines of several brokers are merged by time.  Lines that are not read are
counted by reason.
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
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, Generic, Protocol, TypeVar

from fencepost.traces.files.bounded import LINE_LIMIT, bounded_lines
from fencepost.traces.logs.log_dates import LogDates

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
    `examples`: its text, where a reason has one; `listeners`: called for each with its broker,
    place and reason, and the time of the line before (ms).
    """

    lines: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)
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


ANY_PROTOCOL = "consumer, share or streams"
"""The protocol of a group that is not classic, where a line shows no more."""
_MOST_OTHERS = 100_000

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
    `other_groups`: the protocol of each group that is not classic, by name; `line_limit`: bytes; a
    line with more is passed over.  `progress`: called with the bytes of the
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
        self.other_groups: dict[str, str] = {}
        self._names = _names(paths)
        self.brokers = _by_broker(self._once(paths))
        if unknown := sorted(set(self.skew) - set(self.brokers)):
            raise LogFileError(
                f"no log is of a broker {unknown[0]!r}; there are {', '.join(self.brokers)}"
            )
        for broker, files in self.brokers.items():
            files.sort(key=lambda path: (self._first_ms(path), path.name))
            self.brokers[broker] = files

    def plan(self, brokers: Mapping[str, Sequence[Path]]) -> None:
        """Take files whose brokers and order are known."""
        self.brokers = {broker: list(paths) for broker, paths in brokers.items()}
        self._names = _names([path for paths in brokers.values() for path in paths])

    def _once(self, paths: Sequence[Path]) -> list[Path]:
        """Leave out files that are the same as an earlier one, and say so."""
        kept: dict[bytes, list[tuple[Path, bytes]]] = {}
        left: list[Path] = []
        for path in paths:
            alike = kept.setdefault(_digest(path, _BEGINNING)[0], [])
            digest, count = _digest(path) if alike else (b"", 0)
            if count and digest in {known or _digest(first)[0] for first, known in alike}:
                self.skipped.lines += count
                name = self.name_of(path)
                self.skipped.skip(REPEATED, name, name, 1, 0)
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

    def note_other(self, group: str, protocol: str) -> None:
        """Note a group of another protocol; ANY_PROTOCOL tells less than what is known."""
        known = self.other_groups.get(group)
        if known is None and len(self.other_groups) >= _MOST_OTHERS:
            return
        if known is None or protocol != ANY_PROTOCOL:
            self.other_groups[group] = protocol

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all files."""
        return tuple(self.name_of(path) for files in self.brokers.values() for path in files)

    def _of_broker(self, broker: str) -> Iterator[_T]:
        for path in self.brokers[broker]:
            yield from self.of_file(broker, path)

    def of_file(self, broker: str, path: Path) -> Iterator[_T]:
        """Yield the contents of the lines of one file of a broker.  Raises LogFileError."""
        with opened(path) as lines:
            yield from self._read(broker, self.name_of(path), lines)

    def name_of(self, path: Path) -> str:
        """Return the name of a file in a place: with its folders where several share a name."""
        return self._names.get(path, path.name)

    def _read(self, broker: str, source: str, lines: IO[bytes]) -> Iterator[_T]:
        skipped, skew = self.skipped, self.skew.get(broker, 0)
        last_ms = 0
        for number, line in self.numbered(source, lines):
            made = BROKEN_FILE if line is None else self.of_line(broker, source, number, line, skew)
            if isinstance(made, str):
                skipped.skip(made, broker, source, number, last_ms)
            else:
                last_ms = self.at_ms(made)
                yield made

    def numbered(self, source: str, lines: IO[bytes]) -> Iterator[tuple[int, bytes | None]]:
        """Yield the lines of a file with their numbers; last None, where the rest is damaged.

        Raises LogFileError.
        """
        number = reported = 0
        try:
            for number, line in enumerate(bounded_lines(lines, self.line_limit), start=1):
                self.skipped.lines += 1
                if self.progress is not None and number % _PROGRESS_LINES == 0:
                    reported = self._tell(lines, reported)
                yield number, line
        except (OSError, *ENDS) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise LogFileError(f"{source} can't be read ({error.strerror})") from error
            yield number + 1, None
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


def _names(paths: Sequence[Path]) -> dict[Path, str]:
    """Return a name for each file: its own, behind as many folders as tell it from the others."""
    parts = {path: path.resolve().parts for path in paths}
    names: dict[Path, str] = {}
    for path, own in parts.items():
        others = [each for each in parts.values() if each != own]
        for count in range(1, len(own) + 1):
            if all(each[-count:] != own[-count:] for each in others):
                break
        names[path] = "/".join(own[-count:])
    return names


def _by_broker(paths: Sequence[Path]) -> dict[str, list[Path]]:
    """Return the files of each broker.

    The broker is the folder where the files are in several, else the part of the name before
    `.log`: `kafka-request.log.2026-11-21-06.gz` and `kafka-request.log` are of one broker.
    """
    folders = sorted({path.resolve().parent for path in paths})
    labels = _names(folders) if len(folders) > 1 else {}
    files_: dict[str, list[Path]] = {}
    for path in paths:
        label = labels.get(path.resolve().parent) or path.name.partition(".log")[0]
        files_.setdefault(label, []).append(path)
    return files_
