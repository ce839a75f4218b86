"""Read the lines of group coordinators in Kafka's `server.log`; tell the kind of a log file.

Both coordinators are read: the old one (Scala, to Kafka 3.9) and the new one (Java, since 3.7).
Their words differ, also from release to release; the patterns here are of lines that real brokers
wrote.  Lines about groups of the new consumer protocol (KIP-848) are passed over and counted.

Source: the loggers of `GroupCoordinator`, `GroupMetadata` and `GroupMetadataManager`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from fencepost.traces.files.bounded import is_too_long
from fencepost.traces.logs.log_files import LogFileError, LogFiles, first_lines
from fencepost.traces.logs.request_log import MARK, NO_DATE, TOO_LONG

OTHER_LINE = "no line of a group coordinator about a group"
OTHER_PROTOCOL = "about a group of the new consumer protocol (KIP-848)"


class MessageKind(Enum):
    """The kind of a coordinator's message."""

    PREPARING = "a rebalance is prepared"
    STABILIZED = "all have joined"
    ASSIGNED = "the leader's assignment was received"
    EMPTY = "the group is empty"
    NAMED = "a dynamic member was given an id, to join with"
    JOINED = "a member joined"
    REPLACED = "a static member was replaced"
    FENCED = "a request was answered FENCED_INSTANCE_ID"
    FAILED = "a member's session expired"
    LEFT = "a member left"
    DROPPED = "members that did not join or sync in time were removed"
    LOADED = "a group was read by a new coordinator"


@dataclass(frozen=True, slots=True)
class CoordinatorEvent:
    """A line of a coordinator.

    `group` is empty where the line doesn't name it.  `member_id`: its subject; the new id of a
    replacement (empty where the line lacks it).  `is_new`: the new coordinator wrote it.  `fields`:
    further words of the line, by the names of the patterns.
    """

    source: str
    line: int
    broker: str
    at_ms: int
    kind: MessageKind
    group: str
    member_id: str
    instance_id: str | None
    generation: int | None
    is_new: bool = False
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """The place of its line: `FILE:LINE`."""
        return f"{self.source}:{self.line}"


_GROUP = r"(?P<group>.+?)"
_ANY_STATE = r"(?:(?P<state>\w+) state|state (?P<state2>\w+))"
_PARTITION = r"(?: \(__consumer_offsets-\d+\))?"
_MEMBER = r"(?P<member_id>.+?)"
_INSTANCE = r"(?P<instance>.+?)"
_PATTERNS: tuple[tuple[MessageKind, str, str], ...] = (
    (
        MessageKind.PREPARING,
        "Preparing to rebalance group",
        (
            rf"Preparing to rebalance group {_GROUP} in state (?P<state>\w+) with old generation "
            rf"(?P<generation>-?\d+){_PARTITION} \(reason: (?P<reason>.*?)\)\.?"
        ),
    ),
    (
        MessageKind.STABILIZED,
        "Stabilized group",
        (
            rf"Stabilized group {_GROUP} generation (?P<generation>\d+){_PARTITION}"
            r"(?: with (?P<members>\d+) members)?\.?"
        ),
    ),
    (
        MessageKind.ASSIGNED,
        "Assignment received from leader",
        (
            rf"Assignment received from leader (?:{_MEMBER} )?for group {_GROUP} for "
            r"generation (?P<generation>\d+)"
            r"(?:\. The group has (?P<everyone>\d+) members, (?P<static>\d+) of which are static\.?"
            r"|\. The group has .*?)?"
        ),
    ),
    (
        MessageKind.EMPTY,
        "is now empty",
        rf"Group {_GROUP} with generation (?P<generation>\d+) is now empty{_PARTITION}\.?",
    ),
    (
        MessageKind.REPLACED,
        "rejoins, assigning new member id",
        (
            rf"Static member (?:Some\({_INSTANCE}\)|(?P<instance2>.+?)) of group {_GROUP} with "
            rf"unknown member id rejoins, assigning new member id {_MEMBER}, while old member "
            r"(?:id )?(?P<old>.+?) will be removed\."
        ),
    ),
    (
        MessageKind.REPLACED,
        "Replacing previously mapped member",
        (
            rf"Static member with groupInstanceId={_INSTANCE} and unknown member id joins group "
            rf"{_GROUP} in {_ANY_STATE}\. Replacing previously mapped member (?P<old>.+?) "
            r"with this groupInstanceId\."
        ),
    ),
    (
        MessageKind.JOINED,
        "Static member with groupInstanceId=",
        (
            rf"Static member with groupInstanceId={_INSTANCE} and unknown member id joins group "
            rf"{_GROUP} in {_ANY_STATE}\. Created a new member id {_MEMBER} for this member "
            r"and add(?:ed)? to the group\."
        ),
    ),
    (
        MessageKind.JOINED,
        "Adding new static member",
        (
            rf"Adding new static member Some\({_INSTANCE}\) to group "
            rf"{_GROUP} with member id {_MEMBER}\."
        ),
    ),
    (
        MessageKind.JOINED,
        "ynamic ",
        (
            rf"Dynamic [Mm]ember with unknown member id joins group {_GROUP} in {_ANY_STATE}\. "
            rf"Created a new member id {_MEMBER} (?:for this member and add to the group|"
            r"and added the member to the group)\."
        ),
    ),
    (
        MessageKind.NAMED,
        "ynamic ",
        (
            rf"Dynamic member with unknown member id joins group {_GROUP} in {_ANY_STATE}\. "
            rf"Created a new member id {_MEMBER} and request(?:ing)? the member to "
            r"rejoin with this id\."
        ),
    ),
    (
        MessageKind.FENCED,
        "is fenced by",
        (
            rf"Request memberId={_MEMBER} for static member with groupInstanceId="
            rf"{_INSTANCE} is fenced by (?:current|existing) memberId=(?P<holder>.+?) during "
            r"operation (?P<operation>.+?)"
        ),
    ),
    (
        MessageKind.FENCED,
        "will respond with instance fenced error",
        (
            rf"given member\.id {_MEMBER} is identified as a known static member "
            rf"{_INSTANCE}, but not matching the expected member\.id (?P<holder>.+?) during "
            r"(?P<operation>.+?), will respond with instance fenced error"
        ),
    ),
    (
        MessageKind.FAILED,
        "has failed, removing it",
        rf"Member {_MEMBER} in group {_GROUP} has failed, removing it from the group\.?",
    ),
    (
        MessageKind.LEFT,
        "has left, removing it",
        (
            rf"Member\[group\.instance\.id (?:Some\({_INSTANCE}\)|None), member\.id "
            rf"{_MEMBER}\] in group {_GROUP} has left, removing it from the group"
        ),
    ),
    (
        MessageKind.LEFT,
        "Member MemberMetadata(",
        (
            rf"Member MemberMetadata\(memberId={_MEMBER}, groupInstanceId=(?:Some\("
            rf"{_INSTANCE}\)|None), clientId=(?P<client_id>.*?), clientHost=/?(?P<host>.*?), "
            r"sessionTimeoutMs=(?P<session_ms>\d+), .*\) has left group "
            rf"{_GROUP} through explicit `LeaveGroup`(?:; client reason: (?P<reason>.*?))?"
        ),
    ),
    (
        MessageKind.LEFT,
        "has left group through explicit",
        (
            rf"\[Group {_GROUP}\] (?:(?:Dynamic|Static|Pending) )?[Mm]ember {_MEMBER}"
            rf"(?: with instance id {_INSTANCE})? has left group through explicit `LeaveGroup` "
            r"request; client reason: (?P<reason>.*?)"
        ),
    ),
    (
        MessageKind.DROPPED,
        "removed ",
        (
            rf"Group {_GROUP} removed (?:dynamic )?members who haven't (?:joined|sent their sync "
            rf"requests?): (?:Set|HashSet|List)?[(\[{{](?P<members>.*)[)\]}}]"
        ),
    ),
    (
        MessageKind.LOADED,
        "Loading group metadata for",
        rf"Loading group metadata for {_GROUP} with generation (?P<generation>-?\d+)\.?",
    ),
)
_READ = tuple(
    (kind, mark.encode(), re.compile(pattern + r"(?: \([\w.$]+\))?\s*$"))
    for kind, mark, pattern in _PATTERNS
)
_NEW_PROTOCOL = b"[GroupId "
_NEW_COORDINATOR = b"[GroupCoordinator id="
"""The beginning of the new coordinator's messages; of the old one's: `[GroupCoordinator 1]`."""
_OWN = frozenset({"group", "member_id", "instance", "instance2", "generation", "state2"})


class ServerLog(LogFiles[CoordinatorEvent]):
    """The `server.log` files of brokers as one stream of their coordinators' messages."""

    def of_line(
        self, broker: str, source: str, number: int, line: bytes, skew: int
    ) -> CoordinatorEvent | str:
        """Read a coordinator's message in a line; return the reason if it has none."""
        if is_too_long(line, self.line_limit):
            return TOO_LONG
        for kind, mark, pattern in _READ:
            at = line.find(mark)
            if at < 0:
                continue
            match = pattern.search(line.decode(errors="replace"))
            if match is None:
                continue
            at_ms = self.dates.read(line[:120])
            if at_ms is None:
                return NO_DATE
            words = {name: text for name, text in match.groupdict().items() if text is not None}
            generation = words.get("generation")
            return CoordinatorEvent(
                source,
                number,
                broker,
                at_ms - skew,
                kind,
                words.get("group", ""),
                words.get("member_id", ""),
                words.get("instance") or words.get("instance2"),
                None if generation is None else int(generation),
                _NEW_COORDINATOR in line,
                {name: text for name, text in words.items() if name not in _OWN},
            )
        return OTHER_PROTOCOL if _NEW_PROTOCOL in line else OTHER_LINE

    def at_ms(self, item: CoordinatorEvent) -> int:
        """Return when the line was written."""
        return item.at_ms

    def date_of(self, line: bytes) -> int | None:
        """Return the date of any line."""
        return self.dates.read(line[:120])


_LEVEL = re.compile(rb"\b(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b")
_TRACE = re.compile(rb'"format"\s*:\s*"fencepost-trace"')
_COORDINATOR = re.compile(rb"\[Group(?:Coordinator|MetadataManager) ")
_QUOTED_BYTES = 60


class LogKind(Enum):
    """The kind of a log file."""

    REQUESTS = "kafka-request-log"
    OLD_REQUESTS = "a request log of a Kafka before 2.8"
    SERVER = "server-log"
    TRACE = "trace"


def log_kind(path: Path) -> LogKind:
    """Return the kind of a file, by its first lines.  Raises LogFileError for an unknown one."""
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
        beginning = first[:_QUOTED_BYTES].decode(errors="replace")
        problem = f"begins with {beginning!r}" if beginning else "is empty"
        raise LogFileError(
            f"{path} is neither a request log of Kafka, nor its server.log, nor a trace: "
            f"it {problem}"
        )
    return kind


def common_kind(paths: Iterable[Path]) -> LogKind:
    """Return the common kind of some files.  Raises LogFileError where they differ."""
    kinds: dict[LogKind, Path] = {}
    for path in paths:
        kinds.setdefault(log_kind(path), path)
    if len(kinds) > 1:
        (first_kind, first), (second_kind, second) = list(kinds.items())[:2]
        raise LogFileError(
            f"{first} is of the kind {first_kind.value}, and {second} of the kind "
            f"{second_kind.value}; audit one kind at a time"
        )
    return next(iter(kinds))
