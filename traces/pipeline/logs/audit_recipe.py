"""Describe an audit in parts: which files, which settings, how many parts.

A group belongs to one part, by its name alone, so any machine sends its lines to the same part.
`audit.json` holds the description, and what doesn't fit it is refused: a log that has grown is
another log.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self
from zlib import crc32

from fencepost.traces.audit.audit_settings import LogOptions
from fencepost.traces.files.run_trace import tool_version
from fencepost.traces.logs.request_log import RequestLog
from fencepost.traces.pipeline.storage.location import Place
from fencepost.traces.pipeline.storage.log_tables import FORMAT, VERSION
from fencepost.traces.pipeline.storage.manifest import CorpusError, ManifestKind, manifest

MANIFEST = "audit.json"
_KIND = ManifestKind(
    FORMAT, VERSION, "audit", "audit into another folder", "give a folder of `corpus audit`"
)
PARTS = 32
"""The number of parts, so the most tasks of an audit."""


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
    made_by: str = field(default_factory=tool_version)

    @classmethod
    def of(
        cls, place: Place, paths: list[Path], options: LogOptions, parts: int = PARTS
    ) -> LogAudit:
        """Plan an audit of these files.  Raises LogFileError and DatePatternError."""
        log = RequestLog(
            [path.resolve() for path in paths],
            dates=options.dates(),
            skew=dict(options.skew),
            line_limit=options.line_limit,
        )
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
        """Return which part a group belongs to."""
        return crc32(str(group).encode()) % self.parts

    def text(self) -> str:
        """Return the text of `audit.json`."""
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
        """Read the audit in a folder.  Raises CorpusError."""
        text = place.read_text(MANIFEST)
        if text is None:
            raise CorpusError(f"{place} holds no {MANIFEST}; give a folder of `corpus audit`")
        said = manifest(text, place.full(MANIFEST), _KIND)
        files = tuple(LogFile(**file) for file in said["files"])
        groups = tuple(said["options"].pop("groups"))
        options = LogOptions(**said["options"], groups=groups)
        return cls(place, files, options, said["parts"], said["made_by"])


def file_table(folder: str, number: int) -> str:
    """Return where a table of a file is."""
    return f"{folder}/file-{number:06d}.parquet"


def part_table(folder: str, number: int) -> str:
    """Return where a table of a part is."""
    return f"{folder}/part-{number:06d}.parquet"
