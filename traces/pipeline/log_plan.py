"""An audit of logs by parts: which files, by which settings, into how many parts.

Decides what an audit is before any of it is done.  A group belongs to one part, by its name alone;
so whoever reads a file, on however many machines, sends its lines the same way.  `audit.json` says
all of it, and what doesn't fit it is refused: a log that has grown is another one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from zlib import crc32

from fencepost.properties.mutants import find_revision
from fencepost.traces.audit.settings import Gaps, Settings
from fencepost.traces.log_dates import DEFAULT_PATTERN, LogDates
from fencepost.traces.pipeline.corpus import CorpusError
from fencepost.traces.pipeline.log_tables import FORMAT, VERSION
from fencepost.traces.pipeline.place import Place
from fencepost.traces.request_log import RequestLog
from fencepost.traces.run_trace import tool

MANIFEST = "audit.json"
PARTS = 32
"""So many parts of the groups: tasks of the audit, at most."""


@dataclass(frozen=True)
class LogOptions:
    """How a log is read and judged, in words; as the options of `fencepost audit`."""

    revision: str = "kafka-4"
    gaps: str = Gaps.DEFAULT.value
    lag_ms: int = 500
    config: Mapping[str, int] = field(default_factory=dict)
    skew: Mapping[str, int] = field(default_factory=dict)
    date_pattern: str = DEFAULT_PATTERN
    timezone: str = "UTC"
    groups: tuple[str, ...] = ()

    def settings(self) -> Settings:
        """For the judge.  Raises KeyError for a revision that there isn't."""
        return Settings(
            find_revision(self.revision), dict(self.config), Gaps(self.gaps), self.lag_ms
        )

    def dates(self) -> LogDates:
        """For the reader.  Raises DatePatternError."""
        return LogDates(self.date_pattern, self.timezone)


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file of a broker.  `path` is the same on every machine."""

    path: str
    broker: str
    bytes: int

    @property
    def name(self) -> str:
        """As places in it are named."""
        return Path(self.path).name


@dataclass(frozen=True)
class LogAudit:
    """An audit: what it reads, and where its tables are.

    `files`: by broker, and of each broker in order; `parts`: how many; `made_by`: the version of
    fencepost, since another one may judge otherwise.
    """

    place: Place
    files: tuple[LogFile, ...]
    options: LogOptions = field(default_factory=LogOptions)
    parts: int = PARTS
    made_by: str = field(default_factory=tool)

    @classmethod
    def of(
        cls, place: Place, paths: list[Path], options: LogOptions, parts: int = PARTS
    ) -> LogAudit:
        """Of these files.  Raises RequestLogError and DatePatternError."""
        skew = dict(options.skew)
        log = RequestLog([path.resolve() for path in paths], dates=options.dates(), skew=skew)
        files = tuple(
            LogFile(str(path), broker, path.stat().st_size)
            for broker, own in log.brokers.items()
            for path in own
        )
        return cls(place, files, options, parts)

    @cached_property
    def numbers(self) -> dict[str, list[int]]:
        """The numbers of each broker's files, in order."""
        found: dict[str, list[int]] = {}
        for number, file in enumerate(self.files):
            found.setdefault(file.broker, []).append(number)
        return found

    def part_of(self, group: object) -> int:
        """Which part a group belongs to."""
        return crc32(str(group).encode()) % self.parts

    def text(self) -> str:
        """The text of `audit.json`."""
        said = {
            "format": FORMAT,
            "version": VERSION,
            "files": [asdict(file) for file in self.files],
            "options": asdict(self.options),
            "parts": self.parts,
            "made_by": self.made_by,
        }
        return json.dumps(said, indent=1) + "\n"

    @classmethod
    def read(cls, place: Place) -> Self:
        """The audit in a folder.  Raises CorpusError."""
        where, text = place.full(MANIFEST), place.read_text(MANIFEST)
        if text is None:
            raise CorpusError(f"{place} holds no {MANIFEST}; give a folder of `corpus audit`")
        try:
            said: Any = json.loads(text)
        except json.JSONDecodeError as error:
            raise CorpusError(
                f"{where} isn't JSON ({error.msg}); audit into another folder"
            ) from error
        if not isinstance(said, dict) or said.get("format") != FORMAT:
            raise CorpusError(f"{where} is of no audit; give a folder of `corpus audit`")
        if said.get("version") != VERSION:
            raise CorpusError(
                f"{where} has version {said.get('version')!r}, and this fencepost reads {VERSION}; "
                "use the fencepost that made it"
            )
        files = tuple(LogFile(**file) for file in said["files"])
        groups = tuple(said["options"].pop("groups"))
        options = LogOptions(**said["options"], groups=groups)
        return cls(place, files, options, said["parts"], said["made_by"])


def file_table(folder: str, number: int) -> str:
    """Where a table of a file is."""
    return f"{folder}/file-{number:06d}.parquet"


def part_table(folder: str, number: int) -> str:
    """Where a table of a part is."""
    return f"{folder}/part-{number:06d}.parquet"
