"""Plan an audit of many logs in parts, and define its jobs.

`LogAudit` describes an audit: files, settings, number of parts.  A group belongs to one part, by
its name alone, so any machine sends its lines to the same part.  `audit.json` holds the
description, and logs that don't fit it are refused: a log that has grown is another log.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Self
from zlib import crc32

import msgspec
import pyarrow as pa

from fencepost.traces.audit.audit_settings import LogOptions
from fencepost.traces.files.run_trace import tool_version
from fencepost.traces.logs.log_files import LogFileError
from fencepost.traces.logs.request_log import RequestLog
from fencepost.traces.logs.server_log import LogKind, ServerLog, common_kind
from fencepost.traces.pipeline.corpus.corpus import DONE
from fencepost.traces.pipeline.corpus.shard_jobs import done_table, unwatched
from fencepost.traces.pipeline.storage.location import (
    CorpusError,
    Manifest,
    ManifestKind,
    Place,
    manifest,
)
from fencepost.traces.pipeline.storage.log_tables import FORMAT, VERSION

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


class _AuditManifest(Manifest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The text of `audit.json`."""

    files: tuple[LogFile, ...]
    options: LogOptions
    parts: Annotated[int, msgspec.Meta(ge=1, le=10_000)]
    made_by: str
    kind: LogKind = LogKind.REQUESTS


@dataclass(frozen=True)
class LogAudit:
    """An audit: its files, and the place of its tables.

    `files`: by broker, and of each broker in order; `parts`: their number; `made_by`: the version
    of fencepost, since another one may judge otherwise; `kind`: of the files, request logs or
    server.log.
    """

    place: Place
    files: tuple[LogFile, ...]
    options: LogOptions = field(default_factory=LogOptions)
    parts: int = PARTS
    made_by: str = field(default_factory=tool_version)
    kind: LogKind = LogKind.REQUESTS

    @classmethod
    def of(
        cls, place: Place, paths: list[Path], options: LogOptions, parts: int = PARTS
    ) -> LogAudit:
        """Plan an audit of these files.  Raises LogFileError and DatePatternError."""
        resolved = [path.resolve() for path in paths]
        is_server = False
        with suppress(LogFileError):  # a request log without a line of its own is one all the same
            is_server = common_kind(resolved) is LogKind.SERVER
        reader = ServerLog if is_server else RequestLog
        log = reader(
            resolved,
            dates=options.dates(),
            skew=dict(options.skew),
            line_limit=options.line_limit,
        )
        files = tuple(
            LogFile(str(path), broker, path.stat().st_size)
            for broker, own in log.brokers.items()
            for path in own
        )
        kind = LogKind.SERVER if is_server else LogKind.REQUESTS
        return cls(place, files, options, parts, kind=kind)

    @cached_property
    def numbers(self) -> dict[str, list[int]]:
        """The numbers of each broker's files, in order."""
        by_broker: dict[str, list[int]] = {}
        for number, file in enumerate(self.files):
            by_broker.setdefault(file.broker, []).append(number)
        return by_broker

    def part_of(self, group: object) -> int:
        """Return which part a group belongs to."""
        return crc32(str(group).encode()) % self.parts

    def text(self) -> str:
        """Return the text of `audit.json`."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "files": [asdict(file) for file in self.files],
            "options": asdict(self.options),
            "parts": self.parts,
            "made_by": self.made_by,
        }
        if self.kind is not LogKind.REQUESTS:
            document["kind"] = self.kind.value
        return json.dumps(document, indent=1) + "\n"

    @classmethod
    def read(cls, place: Place) -> Self:
        """Read the audit in a folder.  Raises CorpusError."""
        text = place.read_text(MANIFEST)
        if text is None:
            raise CorpusError(f"{place} holds no {MANIFEST}; give a folder of `corpus audit`")
        kept = manifest(text, place.full(MANIFEST), _KIND, _AuditManifest)
        return cls(place, kept.files, kept.options, kept.parts, kept.made_by, kept.kind)


@dataclass(frozen=True)
class AuditJob(ABC):
    """A job on a file or on a part of an audit, which `shard_jobs.Job` describes."""

    audit: LogAudit
    schema = DONE

    def __call__(self, number: int) -> pa.Table:
        """Do it to the file or part of this number; return that and the number of its rows."""
        with unwatched():
            rows = self._work(number)
        return done_table(number, rows)

    @abstractmethod
    def _work(self, number: int) -> int:
        """Write the tables; return the number of exchanges, messages or groups."""
