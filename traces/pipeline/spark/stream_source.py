"""A folder of growing logs as a source of Spark's Structured Streaming.

Progress is counted in bytes and lines of each file, by its inode and not its name, so that a
rotated log is still the same.  A line is read when it is complete.  A file that became shorter is
read from its beginning.  Compressed files are left out, since they were read before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from fencepost.traces.files.bounded import LINE_LIMIT, bounded_lines
from fencepost.traces.pipeline.storage.ddl import ddl

NAME = "fencepost-logs"
RAW = pa.schema(
    [
        ("broker", pa.string()),
        ("source", pa.string()),
        ("line", pa.int64()),
        ("text", pa.binary()),
    ]
)
"""A line of a log, wherever it comes from; `source` and `line` are its place."""

LINES_AT_ONCE = 200_000
_BYTES_AT_ONCE = 1 << 20
_BATCH_BYTES = 1 << 24
"""A batch ends with the line that takes it over so many."""
_COMPRESSED = (".gz", ".zip", ".zst", ".bz2")

Offsets = dict[str, dict[str, int]]


class LogFolder(DataSource):  # type: ignore[misc]  # PySpark is not followed
    """The options: `path` names the folder; `lineLimit`: a line of more bytes comes cut."""

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return NAME

    def schema(self) -> str:
        """Return `RAW` as DDL."""
        return ddl(RAW)

    def streamReader(self, schema: Any) -> GrowingLogs:  # noqa: ARG002, N802  (PySpark's)
        """Return the reader."""
        return GrowingLogs(Path(self.options["path"]), int(self.options["lineLimit"]))


@dataclass(frozen=True)
class FileRange(InputPartition):  # type: ignore[misc]
    """Bytes of a file, from the beginning of a line to the end of one; `line`: lines before."""

    path: str
    broker: str
    begin: int
    end: int
    line: int


class GrowingLogs(DataSourceStreamReader):  # type: ignore[misc]
    """Reads the lines that were added."""

    def __init__(self, folder: Path, line_limit: int = LINE_LIMIT) -> None:
        self._folder = folder
        self._line_limit = line_limit

    def initialOffset(self) -> Offsets:  # noqa: N802
        """Return the offset at which nothing was read."""
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return how much is read at once."""
        return ReadMaxRows(LINES_AT_ONCE)

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802
        """Return how far each file can be read."""
        left = 2**62 if isinstance(limit, ReadAllAvailable) else limit.max_rows
        found: Offsets = {}
        for number, path in sorted(self._files().items()):
            before = start.get(number, {"bytes": 0, "lines": 0})
            if path.stat().st_size < before["bytes"]:
                before = {"bytes": 0, "lines": 0}
            size, lines = _whole_lines(path, before["bytes"], left)
            left -= lines
            found[number] = {"bytes": before["bytes"] + size, "lines": before["lines"] + lines}
        return found

    def partitions(self, start: Offsets, end: Offsets) -> list[FileRange]:
        """Return the new range of each file that grew."""
        files = self._files()
        found = []
        for number, until in end.items():
            since = start.get(number, {"bytes": 0, "lines": 0})
            if until["bytes"] < since["bytes"]:
                since = {"bytes": 0, "lines": 0}
            if until["bytes"] == since["bytes"]:
                continue
            if number not in files:
                raise FileNotFoundError(
                    f"a log of {self._folder} is gone before {until['bytes'] - since['bytes']} "
                    "bytes of it were read: keep logs for longer, and begin with an empty --out"
                )
            path = files[number]
            name = path.name.partition(".log")[0]
            found.append(FileRange(str(path), name, since["bytes"], until["bytes"], since["lines"]))
        return found

    def read(self, partition: FileRange) -> Iterator[pa.RecordBatch]:
        """Yield the lines of a range."""
        rows: list[tuple[str, str, int, bytes]] = []
        held = 0
        source = Path(partition.path).name
        with Path(partition.path).open("rb") as file:
            file.seek(partition.begin)
            lines = bounded_lines(file, self._line_limit)
            number = partition.line
            while file.tell() < partition.end and (text := next(lines, b"")):
                number += 1
                rows.append((partition.broker, source, number, text))
                held += len(text)
                if len(rows) == 5_000 or held > _BATCH_BYTES:
                    yield _batch(rows)
                    rows.clear()
                    held = 0
        if rows:
            yield _batch(rows)

    def _files(self) -> dict[str, Path]:
        found = {}
        for path in self._folder.iterdir():
            if path.is_file() and ".log" in path.name and path.suffix not in _COMPRESSED:
                status = path.stat()
                found[f"{status.st_dev}:{status.st_ino}"] = path
        return found


def _batch(rows: list[tuple[str, str, int, bytes]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, RAW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=RAW)


def _whole_lines(path: Path, begin: int, most: int) -> tuple[int, int]:
    """Return how many bytes from there on are whole lines, at most so many, and how many lines."""
    size = lines = 0
    with path.open("rb") as file:
        file.seek(begin)
        while lines < most and (data := file.read(_BYTES_AT_ONCE)):
            count = data.count(b"\n")
            before = file.tell() - begin - len(data)
            if lines + count > most:
                held = 0
                for _ in range(most - lines):
                    held = data.index(b"\n", held) + 1
                return before + held, most
            lines += count
            if count:
                size = before + data.rindex(b"\n") + 1
    return size, lines
