"""Tell what a file of a log is: a request log, an old one, server.log, a trace, or none of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from pathlib import Path

from fencepost.traces.logs.log_files import LogFileError, first_lines
from fencepost.traces.logs.request_log import MARK

_LEVEL = re.compile(rb"\b(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b")
_TRACE = re.compile(rb'"format"\s*:\s*"fencepost-trace"')
_COORDINATOR = re.compile(rb"\[Group(?:Coordinator|MetadataManager) ")
_SHOWN = 60


class LogKind(Enum):
    """What a file is."""

    REQUESTS = "kafka-request-log"
    OLD_REQUESTS = "a request log of a Kafka before 2.8"
    SERVER = "server-log"
    TRACE = "trace"


def log_kind(path: Path) -> LogKind:
    """Return what a file is, by its first lines.  Raises LogFileError for one that is none."""
    kind = None
    first = b""
    for line in first_lines(path):
        first = first or line.strip()
        start = line.find(MARK)
        if start >= 0:
            is_json = line[start + len(MARK) :].lstrip()[:1] == b"{"
            return LogKind.REQUESTS if is_json else LogKind.OLD_REQUESTS
        if _COORDINATOR.search(line):
            return LogKind.SERVER
        if _TRACE.search(line):
            return LogKind.TRACE
        if kind is None and _LEVEL.search(line[:80]):
            kind = LogKind.SERVER
    if kind is None:
        shown = first[:_SHOWN].decode(errors="replace")
        said = f"begins with {shown!r}" if shown else "is empty"
        raise LogFileError(
            f"{path} is neither a request log of Kafka, nor its server.log, nor a trace: it {said}"
        )
    return kind


def common_kind(paths: Iterable[Path]) -> LogKind:
    """Return what all of some files are.  Raises LogFileError where they differ."""
    kinds: dict[LogKind, Path] = {}
    for path in paths:
        kinds.setdefault(log_kind(path), path)
    if len(kinds) > 1:
        (one, first), (other, second) = list(kinds.items())[:2]
        raise LogFileError(
            f"{first} is of the kind {one.value}, and {second} of the kind {other.value}; "
            "audit one kind at a time"
        )
    return next(iter(kinds))
