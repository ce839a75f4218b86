"""Read the lines of group coordinators in Kafka's `server.log`; tell the kind of a log file.

A line is read in any layout: of log4j and its successors, with what collectors put around it, as
JSON, exported, pasted.  What a coordinator says of a group is an event, or is passed over for a
reason, or is unread, which an audit says.  Groups of other protocols are counted by their names.

Source: `coordinator_messages` for the words.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import IO

from fencepost.traces.files.bounded import FILE_LIMIT, LINE_LIMIT, is_too_long
from fencepost.traces.logs.coordinator_messages import (
    Message,
    MessageKind,
    is_about_group,
    is_of_coordinator,
    mended,
    other_protocol,
    passed_over,
    read_message,
)
from fencepost.traces.logs.log_dates import LogDates
from fencepost.traces.logs.log_files import (
    BROKEN_FILE,
    LogFileError,
    LogFiles,
    first_lines,
    opened,
)
from fencepost.traces.logs.log_records import (
    BACK_MS,
    MOST_PARTS,
    begins_document,
    document_records,
    is_newest_first,
    json_records,
    rejoined,
    wrap_width,
)
from fencepost.traces.logs.request_log import MARK, TOO_LONG

OTHER_LINE = "no line of a group coordinator about a group"
OTHER_PROTOCOL = "about a group of another protocol (consumer, share or streams)"
PASSED_OVER = (
    "of a group coordinator that repeat or confirm another line, or are about offsets, partitions, "
    "or groups without a member"
)
STORAGE = "of other loggers about trouble with partitions of __consumer_offsets"
UNREAD = "about a group, in words or a layout that is not read"
UNDATED = "about a group, but without a date that is read"


@dataclass(slots=True)
class CoordinatorEvent:
    """A line of a coordinator; not frozen, since that takes an eighth of the time of reading it.

    `group` is empty where neither the line nor another one about the member names it.  `member_id`:
    its subject; the new id of a replacement (empty where the line lacks it).  `is_new`: the new
    coordinator wrote it.  `fields`: further words of the line, by the names of the patterns:
    `reason` as it stands, `statement` of the client in it, `client_id`, `host`, `protocols`,
    `session_ms`, `rebalance_ms`, `partition`.  `text`: the line as it stands.
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
    text: str = ""

    @property
    def place(self) -> str:
        """The place of its line: `FILE:LINE`."""
        return f"{self.source}:{self.line}"


_ENDS = re.compile(rb"Group[\w.$]*(?::\d+)?\)|\}\s*$")
"""The logger behind a message, or the end of JSON: the line was not wrapped."""
_OF_ITS_OWN = re.compile(r"^\s+at |^Caused by|^\w+(?:\.\w+)+(?:Exception|Error)|^--|\[Group")


@dataclass(frozen=True, slots=True)
class UnreadLines:
    """Lines about groups that are not understood.

    `reason`: UNREAD or UNDATED; `first`: place of the first, `example`: its text.
    """

    reason: str
    lines: int
    first: str
    example: str


@dataclass(slots=True)
class StorageLines:
    """Lines of other loggers about trouble with partitions of __consumer_offsets, of one form.

    `first`: place of the first, `says`: its message; `lines`: their number; `from_ms`, `until_ms`:
    the times of the first and of the last.
    """

    says: str
    first: str
    from_ms: int
    until_ms: int
    lines: int = 0


@dataclass(slots=True)
class FencedLines:
    """Lines about fenced members of a group that is not classic, for one reason.

    `says`: their words; `first`: place of the first; `lines`: their number, from `from_ms` to
    `until_ms`; `members`: ids of the members, the first of many.
    """

    group: str
    says: str
    first: str
    from_ms: int | None
    until_ms: int | None
    lines: int = 0
    members: dict[str, None] = field(default_factory=dict)


_FENCED = re.compile(
    r"\b[Mm]ember (?P<member>\S+) (?P<says>fenced from the (?:\w+ )?group because "
    r".{1,200}?)(?:\.?\s*$|\.?[\s\"'`|]+\(|\.[\s\"'`|]|\.?\\)"
)
_MOST_FENCED, _MOST_MEMBERS = 1_000, 20
_OFFSETS = "__consumer_offsets"
_OFFSETS_BYTES = _OFFSETS.encode()
_TROUBLE = re.compile(r"\b(?:WARN|ERROR|FATAL)\b|\bShrinking ISR\b|Exception\b")
_FRAME = re.compile(r"^.*?\b(?:INFO|WARN|ERROR|FATAL)\b[\s:\]-]*|\s*\([\w.$]+(?::\d+)?\)\s*$")
"""Text around the message in common layouts."""
_MOST_FORMS = 20
_BORDER = " \t\r\n|│┃║-=+─━═┌┐└┘├┤┬┴┼╔╗╚╝"
_HEAD = 400
"""Characters before a message, and behind it, in which its date is looked for."""
_PREFIX = re.compile(r"\[GroupCoordinator ")
_LONG_HEAD = 2000
"""Bytes of any line in which a date is looked for."""
_EXAMPLE = 300
_SAMPLE = 60
"""Characters of a text by which its line is found in a JSON document."""
_SURVEYED = 200
"""Lines of coordinators that show the order of a file."""
_MOST_IDS = 100_000


@dataclass(frozen=True, slots=True)
class _Survey:
    """The form of a file: newest first, wrapped at a width; `records`: of one JSON document."""

    is_newest_first: bool = False
    width: int | None = None
    records: Sequence[tuple[str, object]] | None = None


class ServerLog(LogFiles[CoordinatorEvent]):
    """The `server.log` files of brokers as one stream of their coordinators' messages."""

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        dates: LogDates | None = None,
        skew: Mapping[str, int] | None = None,
        line_limit: int = LINE_LIMIT,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self._groups: dict[str, str] = {}
        """The group of each member id, as far as lines name it."""
        self._are_groups_known = False
        self._storage: dict[str, StorageLines] = {}
        """By the text without its numbers."""
        self._storage_ms: int | None = None
        self._fenced: dict[tuple[str, str], FencedLines] = {}
        """By group, and the words without their numbers."""
        self.others_from_ms: int | None = None
        self.others_until_ms: int | None = None
        """The times of the first and of the last line about a group that is not classic."""
        super().__init__(paths, dates=dates, skew=skew, line_limit=line_limit, progress=progress)

    @property
    def unread(self) -> tuple[UnreadLines, ...]:
        """The lines about groups that are not understood, by reason."""
        skipped = self.skipped
        return tuple(
            UnreadLines(reason, count, skipped.first[reason], skipped.examples[reason])
            for reason in (UNREAD, UNDATED)
            if (count := skipped.counts[reason])
        )

    @property
    def storage(self) -> tuple[StorageLines, ...]:
        """The trouble with partitions of __consumer_offsets, in which groups are stored."""
        return tuple(self._storage.values())

    @property
    def fenced(self) -> tuple[FencedLines, ...]:
        """The lines about fenced members of groups that are not classic, the most first."""
        return tuple(sorted(self._fenced.values(), key=lambda each: (-each.lines, each.group)))

    def of_line(
        self, broker: str, source: str, number: int, line: bytes, skew: int
    ) -> CoordinatorEvent | str:
        """Read a coordinator's message in a line; return the reason if it has none."""
        if _may_be_several(line):
            return next(self._of_several((broker, source, number), line, skew))
        return self._of_one((broker, source, number), line, skew)

    def _of_one(
        self, where: tuple[str, str, int], line: bytes, skew: int
    ) -> CoordinatorEvent | str:
        """Read a line that has one message at most, and no JSON."""
        if is_too_long(line, self.line_limit):
            return _of_long(line)
        if b"roup" not in line and b"static member" not in line:
            if _OFFSETS_BYTES not in line:
                return OTHER_LINE
            return self._other(where, line.decode(errors="replace"), None, skew)
        text = line.decode(errors="replace")
        message = read_message(text)
        if message is None:
            reason = self._unread(where, text, None, skew)
            if reason is not UNREAD:
                return reason
        if message is None or "*" in text or "\x1b" in text:
            return self._of_part(where, "", text, None, skew)
        head = text[max(0, message.start - _HEAD) : message.start]
        at_ms = self.dates.around(head, text[message.end : message.end + _HEAD])
        return UNDATED if at_ms is None else _event(where, at_ms - skew, message, text)

    def _of_several(
        self, where: tuple[str, str, int], line: bytes, skew: int
    ) -> Iterator[CoordinatorEvent | str]:
        """Yield the messages in a line that may be JSON, or have several."""
        if is_too_long(line, self.line_limit):
            yield _of_long(line)
            return
        records = json_records(line, is_of_coordinator) if b'"' in line else None
        for text, at in records or [(line.decode(errors="replace"), None)]:
            yield from self._of_record(where, text, at, skew)

    def _of_record(
        self, where: tuple[str, str, int], text: str, at: object, skew: int
    ) -> Iterator[CoordinatorEvent | str]:
        """Yield the messages in a text whose time is `at`, unless the text has its own.

        A text without line ends may have several messages, each with its date before it.
        """
        starts = [match.start() for match in _PREFIX.finditer(text)]
        if len(starts) < 2:
            yield self._of_part(where, "", text, at, skew)
            return
        ends = [*starts[1:], len(text)]
        before = text[: starts[0]]
        for start, end in zip(starts, ends, strict=True):
            part = text[start:end]
            yield self._of_part(where, before, part, at, skew)
            before = part

    def _of_part(
        self, where: tuple[str, str, int], before: str, text: str, at: object, skew: int
    ) -> CoordinatorEvent | str:
        """Read a text that has one message at most; `before`: what stands before it."""
        message = read_message(text)
        if message is None or "*" in text or "\x1b" in text:
            whole = mended(text)
            message = message if whole == text else read_message(whole)
            text = whole
        if message is None:
            return self._unread(where, text, at, skew)
        head = f"{before[-_HEAD:]}{text[max(0, message.start - _HEAD) : message.start]}"
        at_ms = self.dates.around(head, text[message.end : message.end + _HEAD])
        if at_ms is None:
            at_ms = self.dates.at(at)
        return UNDATED if at_ms is None else _event(where, at_ms - skew, message, text)

    def _other(self, where: tuple[str, str, int], text: str, at: object, skew: int) -> str:
        """Return the reason of a line of another logger; note it where it tells of trouble.

        A line without a date, as of an exception, belongs to the one before.
        """
        if _OFFSETS not in text or _TROUBLE.search(text) is None:
            return OTHER_LINE
        _, source, number = where
        at_ms = self.dates.first(text[:_LONG_HEAD])
        at_ms = self.dates.at(at) if at_ms is None else at_ms
        at_ms = self._storage_ms if at_ms is None else at_ms - skew
        if at_ms is None or not number:  # a survey reads the first lines twice
            return STORAGE
        self._storage_ms = at_ms
        says = _FRAME.sub("", text.strip())[:_EXAMPLE]
        form = re.sub(r"\d+", "", says)
        if form not in self._storage and len(self._storage) < _MOST_FORMS:
            self._storage[form] = StorageLines(says, f"{source}:{number}", at_ms, at_ms)
        if (kept := self._storage.get(form)) is not None:
            kept.lines += 1
            kept.from_ms, kept.until_ms = min(kept.from_ms, at_ms), max(kept.until_ms, at_ms)
        return STORAGE

    def _unread(self, where: tuple[str, str, int], text: str, at: object, skew: int) -> str:
        """Return the reason why a text is no event."""
        if not is_of_coordinator(text):
            return self._other(where, text, at, skew)
        if passed_over(text) is not None:  # first: also commits of classic groups name a GroupId
            return PASSED_OVER
        other = other_protocol(text)
        if other is not None:
            self.note_other(*other)
            if where[2]:  # a survey reads the first lines twice
                self._note_line(where, other[0], text, at, skew)
            return OTHER_PROTOCOL
        return UNREAD if is_about_group(text) else OTHER_LINE

    def _note_line(
        self, where: tuple[str, str, int], group: str, text: str, at: object, skew: int
    ) -> None:
        """Note the time of a line about a group that is not classic, and who was fenced."""
        at_ms = self.dates.around(text[: max(text.find("[Group"), 0)][-_HEAD:])
        at_ms = self.dates.at(at) if at_ms is None else at_ms
        if at_ms is not None:
            at_ms -= skew
            self.others_from_ms = min(self.others_from_ms or at_ms, at_ms)
            self.others_until_ms = max(self.others_until_ms or at_ms, at_ms)
        match = _FENCED.search(text)
        if match is None:
            return
        key = group, re.sub(r"\d+", "", match["says"])
        if key not in self._fenced and len(self._fenced) < _MOST_FENCED:
            place = f"{where[1]}:{where[2]}"
            self._fenced[key] = FencedLines(group, match["says"], place, at_ms, at_ms)
        if (kept := self._fenced.get(key)) is not None:
            kept.lines += 1
            kept.from_ms = kept.from_ms if at_ms is None else min(kept.from_ms or at_ms, at_ms)
            kept.until_ms = kept.until_ms if at_ms is None else max(kept.until_ms or at_ms, at_ms)
            if len(kept.members) < _MOST_MEMBERS:
                kept.members[match["member"]] = None

    def at_ms(self, item: CoordinatorEvent) -> int:
        """Return when the line was written."""
        return item.at_ms

    def date_of(self, line: bytes) -> int | None:
        """Return the date of any line."""
        return self.dates.first(line[:_LONG_HEAD].decode(errors="replace"))

    def of_file(self, broker: str, path: Path) -> Iterator[CoordinatorEvent]:
        """Yield the events of one file, the oldest first.  Raises LogFileError."""
        survey = self._survey(path)
        events: Iterable[CoordinatorEvent] = self._events(broker, path, survey)
        is_newest_first = survey.is_newest_first
        if survey.records is not None:
            events = list(events)
            is_newest_first = _has_newest_first(events)
        yield from self._placed(_oldest_first(list(events)) if is_newest_first else events)

    def _survey(self, path: Path) -> _Survey:
        """Look at the first lines of a file."""
        lengths: list[int] = []
        events: list[CoordinatorEvent] = []
        first = b""
        for line in first_lines(path, self.line_limit):
            first = first or line.strip()
            text = line.decode(errors="replace")
            lengths.append(len(text.rstrip("\r\n")))
            if b"roup" in line and len(events) < _SURVEYED:
                self.dates.learn(text)
                made = self._of_several(("", path.name, 0), line, 0)
                events += [each for each in made if isinstance(each, CoordinatorEvent)]
        records = self._document(path) if begins_document(first) else None
        if records is not None:
            return _Survey(records=records)
        return _Survey(_has_newest_first(events), wrap_width(lengths))

    @staticmethod
    def _document(path: Path) -> list[tuple[str, object]] | None:
        """Return the records of a file that is one JSON document of a size that is read at once."""
        with opened(path) as file:
            text = file.read(FILE_LIMIT + 1)
        return document_records(text, is_of_coordinator) if len(text) <= FILE_LIMIT else None

    def _events(self, broker: str, path: Path, survey: _Survey) -> Iterator[CoordinatorEvent]:
        """Yield the events of a file in the order of its lines; count the lines without one."""
        source, skew, skipped = self.name_of(path), self.skew.get(broker, 0), self.skipped
        last_ms = 0
        for number, made, text in self._contents(broker, source, path, survey, skew):
            if not isinstance(made, str):
                last_ms = made.at_ms
                yield made
                continue
            if made in {UNREAD, UNDATED} and made not in skipped.examples:
                skipped.examples[made] = text.decode(errors="replace").strip()[:_EXAMPLE]
            skipped.skip(made, broker, source, number, last_ms)

    def _contents(
        self, broker: str, source: str, path: Path, survey: _Survey, skew: int
    ) -> Iterator[tuple[int, CoordinatorEvent | str, bytes]]:
        """Yield each event, or reason of a line without one, with its line and its text."""
        if survey.records is not None:
            yield from self._of_document(broker, source, path, survey.records, skew)
            return
        with opened(path) as lines:
            for number, line in self._whole_lines(source, lines, survey.width):
                if line is None:
                    yield number, BROKEN_FILE, b""
                    continue
                where = broker, source, number
                if _may_be_several(line):
                    for made in self._of_several(where, line, skew):
                        yield number, made, line
                else:
                    yield number, self._of_one(where, line, skew), line

    def _of_document(
        self,
        broker: str,
        source: str,
        path: Path,
        records: Iterable[tuple[str, object]],
        skew: int,
    ) -> Iterator[tuple[int, CoordinatorEvent | str, bytes]]:
        """Yield the events of a JSON document; a record's line is that of its text."""
        with opened(path) as file:
            lines = file.read().splitlines()
        self.skipped.lines += len(lines)
        at_line = 0
        for text, at in records:
            begin = text.strip()[:_SAMPLE].encode()
            at_line = next((n for n in range(at_line, len(lines)) if begin in lines[n]), at_line)
            where = broker, source, at_line + 1
            for made in self._of_record(where, text, at, skew):
                yield at_line + 1, made, text.encode()

    def _whole_lines(
        self, source: str, lines: IO[bytes], width: int | None
    ) -> Iterator[tuple[int, bytes | None]]:
        """Yield the lines of a file, those that a window wrapped as one."""
        held: list[tuple[int, bytes]] = []
        for number, line in self.numbered(source, lines):
            if held:
                if line is not None and len(held) < MOST_PARTS and self._goes_on(line):
                    held.append((number, line))
                    continue
                yield from _rejoined(held, width)
                held = []
            if (
                line is not None
                and b"roup" in line
                and line[-2:] != b")\n"
                and not _ENDS.search(line)
            ):
                held = [(number, line)]
            else:
                yield number, line
        yield from _rejoined(held, width)

    def _goes_on(self, line: bytes) -> bool:
        """Return True if a line may be the rest of the one before: it has no date of its own."""
        text = line.decode(errors="replace")
        if not text.strip(_BORDER) or _OF_ITS_OWN.search(text):
            return False
        return self.dates.first(text[:_HEAD]) is None

    def _placed(self, events: Iterable[CoordinatorEvent]) -> Iterator[CoordinatorEvent]:
        """Name the group of messages about members of which other lines name it."""
        for event in events:
            if event.group or event.kind not in _WITHOUT_GROUP:
                if event.kind is MessageKind.REPLACED:
                    self._learn(event)
                yield event
                continue
            group = self._group_of(event)
            if not group and not self._are_groups_known:
                self._learn_all()
                group = self._group_of(event)
            placed = replace(event, group=group)
            self._learn(placed)
            yield placed

    def _group_of(self, event: CoordinatorEvent) -> str:
        ids = _ids(event)
        return next((self._groups[each] for each in ids if each in self._groups), "")

    def _learn(self, event: CoordinatorEvent) -> None:
        """Remember the group of a replaced member, and of its successor."""
        if event.kind is MessageKind.REPLACED and event.group:
            for each in _ids(event):
                self._groups[each] = event.group
            while len(self._groups) > _MOST_IDS:
                del self._groups[next(iter(self._groups))]

    def _learn_all(self) -> None:
        """Read all files for the groups of members, which a later line may name."""
        self._are_groups_known = True
        reader = ServerLog([], dates=self.dates, line_limit=self.line_limit)
        known: dict[str, str] = {}
        same: dict[str, set[str]] = {}
        for broker, paths in self.brokers.items():
            for path in paths:
                for event in reader._events(broker, path, self._survey(path)):
                    ids = _ids(event)
                    if event.group:
                        known.update((each, event.group) for each in ids)
                    elif event.kind in _WITHOUT_GROUP:
                        for each in ids:
                            same.setdefault(each, set()).update(ids)
        reached = [each for each in same if each in known]
        while reached:
            here = reached.pop()
            for other in same[here]:
                if other not in known:
                    known[other] = known[here]
                    reached.append(other)
        self._groups |= {each: known[each] for each in same if each in known}


_WITHOUT_GROUP = frozenset({MessageKind.FENCED, MessageKind.REPLACED})
_IN_REASON = re.compile(r"\bmember (\S+) (?:with group instance|on |during )")


def _ids(event: CoordinatorEvent) -> list[str]:
    """Return the member ids in a message."""
    fields = event.fields
    named = _IN_REASON.search(fields.get("reason", ""))
    ids = [event.member_id, fields.get("old", ""), fields.get("holder", "")]
    return [each for each in [*ids, named[1] if named else ""] if each]


_TOPIC = "topic=__consumer_offsets partition="
"""The text of the new coordinator before the number of a group's partition."""


def _event(
    where: tuple[str, str, int], at_ms: int, message: Message, text: str
) -> CoordinatorEvent:
    broker, source, number = where
    if (at := text.find(_TOPIC)) >= 0:
        begin = at + len(_TOPIC)
        message.fields["partition"] = text[begin : text.find("]", begin)]
    return CoordinatorEvent(
        source,
        number,
        broker,
        at_ms,
        message.kind,
        message.group,
        message.member_id,
        message.instance_id,
        message.generation,
        "GroupCoordinator id=" in text or "apache.kafka.coord" in text or "o.a.k.c.g." in text,
        message.fields,
        text,
    )


_NUMBER = re.compile(r"\[Group(?:Coordinator|MetadataManager) (?:id=|brokerId=)?(\d+)")


def coordinator_number(text: str) -> str:
    """Return the number of the broker that wrote a line of a coordinator, "" without one."""
    match = _NUMBER.search(text)
    return match[1] if match is not None else ""


def _of_long(line: bytes) -> str:
    """Return the reason why a line is not read that is longer than a line may be."""
    return UNREAD if is_of_coordinator(line[:_LONG_HEAD].decode(errors="replace")) else TOO_LONG


def _may_be_several(line: bytes) -> bool:
    return b'"' in line or line.count(b"[GroupCoordinator ") > 1


def _may_go_on(line: bytes) -> bool:
    """Return True if a coordinator's line may have been cut by a window."""
    return b"roup" in line and line[-2:] != b")\n" and not _ENDS.search(line)


def _rejoined(held: list[tuple[int, bytes]], width: int | None) -> Iterator[tuple[int, bytes]]:
    """Yield some lines as one, if together they are a message that the first alone is not."""
    if len(held) > 1:
        parts = [line.decode(errors="replace") for _, line in held]
        alone = None if width else read_message(parts[0])
        for whole in rejoined(parts, width):
            message = read_message(mended(whole))
            if message is None or " " in message.member_id:
                continue
            if alone is None or len(message.fields) > len(alone.fields):
                yield held[0][0], mended(whole).encode()
                return
    yield from held


_STAGES = {MessageKind.PREPARING: 0, MessageKind.STABILIZED: 1, MessageKind.ASSIGNED: 2}


def _contradictions(events: Sequence[CoordinatorEvent]) -> int:
    """Return how often the generations of a group go back in this order of lines."""
    last: dict[str, tuple[int, int]] = {}
    count = 0
    for event in events:
        stage = _STAGES.get(event.kind)
        if stage is None or event.generation is None:
            continue
        here = event.generation + (stage == 0), stage
        count += here < last.get(event.group, here)
        last[event.group] = here
    return count


def _has_newest_first(events: Sequence[CoordinatorEvent]) -> bool:
    """Return True if the events of a file certainly stand with the newest first."""
    times = [event.at_ms for event in events]
    return is_newest_first(times, _contradictions(events), _contradictions(events[::-1]))


def _oldest_first(events: list[CoordinatorEvent]) -> list[CoordinatorEvent]:
    """Turn a file round that has its newest line first.  Raises LogFileError where that fails."""
    for newer, older in pairwise(events):
        if older.at_ms > newer.at_ms + BACK_MS:
            raise LogFileError(
                f"{older.place} is dated after {newer.place}, but the lines before it have the "
                "newest first: sort the file by time, the oldest first"
            )
    turned = events[::-1]
    by_time = sorted(events, key=lambda event: event.at_ms)  # lines of one ms keep their order
    return min((turned, by_time), key=_contradictions)


_LEVEL = re.compile(rb"\b(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b")
_TRACE = re.compile(rb'"format"\s*:\s*"fencepost-trace"')
_COORDINATOR = re.compile(
    rb"\[Group(?:Coordinator|MetadataManager) |coordinator\.group\.|\b[\w.]+\.c\.g\.Group"
    rb"|\(Group(?:Coordinator|Metadata)"
)
_QUOTED_BYTES = 60


class LogKind(Enum):
    """The kind of a log file."""

    REQUESTS = "kafka-request-log"
    OLD_REQUESTS = "a request log of a Kafka before 2.8"
    SERVER = "server-log"
    TRACE = "trace"


def log_kind(path: Path) -> LogKind:
    """Return the kind of a file, by its first lines.  Raises LogFileError for an unknown one."""
    return _kind_and_evidence(path)[0]


def _kind_and_evidence(path: Path) -> tuple[LogKind, bool]:
    """Return the kind of a file; False for a log of a program, with no line of a coordinator."""
    is_log = False
    first = b""
    for line in first_lines(path):
        first = first or line.strip()
        start = line.find(MARK)
        if start >= 0:
            is_json = line[start + len(MARK) :].lstrip()[:1] == b"{"
            return LogKind.REQUESTS if is_json else LogKind.OLD_REQUESTS, True
        if _TRACE.search(line):
            return LogKind.TRACE, True
        if _COORDINATOR.search(line) or (
            (b"roup" in line or b"static member" in line)
            and read_message(line.decode(errors="replace")) is not None
        ):
            return LogKind.SERVER, True
        is_log = is_log or _LEVEL.search(line[:_LONG_HEAD]) is not None
    if not is_log:
        beginning = first[:_QUOTED_BYTES].decode(errors="replace")
        problem = f"begins with {beginning!r}" if beginning else "is empty"
        raise LogFileError(
            f"{path} is neither a request log of Kafka, nor its server.log, nor a trace: "
            f"it {problem}"
        )
    return LogKind.SERVER, False


def files_in(paths: Iterable[Path], kind: LogKind | None = None) -> list[Path]:
    """Return some files, and those of some folders that are logs, of one kind if that is named.

    Of a broker's folder the logs without a line of a coordinator are left out where others have
    some, and the copy of server.log that a start script writes as `.out`.  Raises LogFileError for
    a folder without such a file.
    """
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        kinds: dict[Path, tuple[LogKind, bool]] = {}
        for file in sorted(each for each in path.rglob("*") if each.is_file()):
            if not file.name.startswith("."):
                with contextlib.suppress(LogFileError):
                    kinds[file] = _kind_and_evidence(file)
        chosen = [file for file in kinds if kind is None or kinds[file][0] is kind]
        clear = [file for file in chosen if kinds[file][1]] or chosen
        logs = [file for file in clear if file.suffix != ".out"] or clear
        if not logs:
            name = "log of Kafka or trace" if kind is None else kind.value
            raise LogFileError(f"the folder {path} has no {name}: name a folder with the logs")
        files += logs
    return files


def common_kind(paths: Iterable[Path]) -> LogKind:
    """Return the common kind of some files.  Raises LogFileError where they differ."""
    kinds: dict[LogKind, Path] = {}
    for path in paths:
        kinds.setdefault(log_kind(path), path)
    if len(kinds) > 1:
        (first_kind, first), (second_kind, second) = list(kinds.items())[:2]
        raise LogFileError(
            f"{first} is of the kind {first_kind.value}, and {second} of the kind "
            f"{second_kind.value}; audit one kind at a time (of a folder: --format)"
        )
    return next(iter(kinds))
