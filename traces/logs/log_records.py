"""Find the records in lines that people export, copy and paste.

A line may be JSON with the message and its time as fields, also nested or in lists; a file may be
one JSON document; a window may have wrapped long lines.  Exports often have the newest line first.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import orjson

Record = tuple[str, object]
"""The text of a record, and its time where a field beside the text has it, else None."""
_MESSAGES = (
    *("message", "msg", "log", "line", "@message", "_raw", "raw", "text", "MESSAGE", "body"),
    *("short_message", "full_message", "textPayload", "event", "original", "content"),
)
_TIMES = (
    *("@timestamp", "timestamp", "time", "ts", "_time", "@t", "datetime", "date", "asctime"),
    *("timeMillis", "timestamp_ms", "eventTime", "timeStamp", "Timestamp", "TimeGenerated"),
    *("_SOURCE_REALTIME_TIMESTAMP", "__REALTIME_TIMESTAMP", "instant", "ingestionTime"),
)
_DEEPEST = 12
_BETWEEN = re.compile(r"[\s,]*")
_BEGINS_JSON = re.compile(rb"[\[{]\s*[\"\[{]")


def json_records(line: bytes, is_of_interest: Callable[[str], bool]) -> list[Record] | None:
    """Return the chosen records in the JSON of a line; None if it has no JSON.

    JSON may stand behind a prefix, such as the name of a container.
    """
    begin = _BEGINS_JSON.search(line)
    if begin is None:
        return None
    end = max(line.rfind(b"}"), line.rfind(b"]")) + 1
    try:
        value = orjson.loads(line[begin.start() : end])
    except orjson.JSONDecodeError:
        return None
    return list(_records(value, None, is_of_interest, 0))


def document_records(text: bytes, is_of_interest: Callable[[str], bool]) -> list[Record] | None:
    """Return the records of a file of JSON values that take several lines; None if it is none.

    What stands behind the last value, such as one that is cut off, is a record, too.
    """
    try:
        values, rest = [orjson.loads(text)], ""
    except orjson.JSONDecodeError:
        values, rest = _values(text.decode(errors="replace"))
    if not values:
        return None
    return [*_records(values, None, is_of_interest, 0), *_records(rest, None, is_of_interest, 0)]


def _values(text: str) -> tuple[list[Any], str]:
    """Return the JSON values one after the other in a text, and what follows them."""
    decoder, at = json.JSONDecoder(), 0
    values: list[Any] = []
    while True:
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # it matches anywhere
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return values, text[at:]
        values.append(value)


def begins_document(first: bytes) -> bool:
    """Return True if the first line of a file may be that of a JSON document of many lines."""
    first = first.strip()
    return first in {b"[", b"{"} or (_BEGINS_JSON.match(first) is not None and not _is_json(first))


def _is_json(text: bytes) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _records(
    value: Any, at: object, is_of_interest: Callable[[str], bool], depth: int
) -> Iterator[Record]:
    if depth > _DEEPEST:
        return
    if isinstance(value, str):
        if value.lstrip()[:1] == "{":
            inner = json_records(value.encode(), is_of_interest)
            if inner is not None:
                yield from ((text, at if time is None else time) for text, time in inner)
                return
        if _is_message(value, is_of_interest):
            yield value, at
    elif isinstance(value, dict):
        yield from _of_object(value, at, is_of_interest, depth)
    elif isinstance(value, list):
        if len(value) == 2 and isinstance(value[1], str) and not isinstance(value[0], list | dict):
            yield from _records(
                value[1], value[0], is_of_interest, depth + 1
            )  # [time, line], as Loki
            return
        for each in value:
            yield from _records(each, at, is_of_interest, depth + 1)


def _of_object(
    value: Mapping[str, Any], at: object, is_of_interest: Callable[[str], bool], depth: int
) -> Iterator[Record]:
    """Yield the records of an object: of its own text, else of the first value that has some."""
    at = next((_time(value[name]) for name in _TIMES if value.get(name)), at)
    texts = {name: text for name, text in value.items() if isinstance(text, str)}
    names = [name for name in _MESSAGES if name in texts] + [
        name for name in texts if name not in _MESSAGES
    ]
    chosen = next((texts[name] for name in names if _is_message(texts[name], is_of_interest)), None)
    if chosen is None and names and names[0] in _MESSAGES:
        # A logger may be the field that shows whose line it is, and the message another.
        logger = _logger_in(value, is_of_interest, depth)
        chosen = None if logger is None else f"{texts[names[0]]} ({logger})"
    if chosen is not None:
        if chosen.lstrip()[:1] == "{":
            yield from _records(chosen, at, is_of_interest, depth + 1)
        else:
            yield chosen, at
        return
    for inner in value.values():
        records = list(_records(inner, at, is_of_interest, depth + 1))
        if records:
            yield from records
            return


def _is_message(text: str, is_of_interest: Callable[[str], bool]) -> bool:
    """Return True if a text is a message of interest, and not the name of a logger."""
    return " " in text and is_of_interest(text)


def _logger_in(value: Any, is_of_interest: Callable[[str], bool], depth: int) -> str | None:
    """Return the name of a logger of interest in a value, also in objects in it."""
    if isinstance(value, str):
        return value if " " not in value and is_of_interest(value) else None
    if not isinstance(value, dict) or depth > _DEEPEST:
        return None
    inner = (_logger_in(each, is_of_interest, depth + 1) for each in value.values())
    return next((name for name in inner if name is not None), None)


def _time(value: object) -> object:
    """Return a time as it stands; of log4j's `instant` its ms."""
    if isinstance(value, dict):
        seconds = value.get("epochSecond")
        nanos = value.get("nanoOfSecond", 0)
        if isinstance(seconds, int) and isinstance(nanos, int):
            return seconds * 1000 + nanos // 1_000_000
        return None
    return value


# Lines that a window wrapped

MOST_PARTS = 12
_LEAST_WIDTH = 40
_BEFORE = re.compile(r"^(?:[>|│┃║]\s?)+")
_BEHIND = re.compile(r"\s?[|│┃║]\s*$")
"""Marks of quotes and borders of boxes, before a part and behind it."""


def wrap_width(lengths: Sequence[int]) -> int | None:
    """Return the width at which a window cut lines, where several lines have just that length."""
    counts = Counter(length for length in lengths if length >= _LEAST_WIDTH)
    if not counts:
        return None
    widest = max(counts)
    return widest if counts[widest] > 1 and len(lengths) > counts[widest] else None


def rejoined(parts: Sequence[str], width: int | None) -> Iterator[str]:
    """Yield the texts that the parts of a line may have been, the most likely first.

    A window cuts a line at its width, within a word or not; a mail puts line ends for spaces; a box
    fills the rest of a line with spaces.
    """
    lines = [part.rstrip("\r\n") for part in parts]
    inner = [_BEHIND.sub("", line) for line in lines]
    inner = [inner[0], *(_BEFORE.sub("", text) for text in inner[1:])]
    as_cut, as_words = "".join(inner), " ".join(text.strip() for text in inner)
    if all(_BEHIND.search(line) for line in lines):
        is_filled = all(len(text) - len(text.rstrip()) <= 1 for text in inner[:-1])
        yield from (as_cut, as_words) if is_filled else (as_words, as_cut)
        return
    made = inner[0]
    for before, text in zip(lines, inner[1:], strict=False):
        is_cut = width is not None and len(before) == width
        made = made + text if is_cut else f"{made.rstrip()} {text.lstrip()}"
    yield from (made, as_cut, as_words)


# Order

BACK_MS = 5_000
"""Tolerance for dates that go back: threads that write, a clock that is set a little."""


def is_newest_first(times: Sequence[int], forward: int, backward: int) -> bool:
    """Return True if the lines of a file certainly stand with the newest first.

    `times`: of its first lines, in ms; `forward`, `backward`: how often generations contradict each
    order.  Times that fall by less than the tolerance are no evidence without generations.
    """
    steps = [after - before for before, after in pairwise(times)]
    falls = sum(step < 0 for step in steps)
    rises = sum(step > 0 for step in steps)
    if falls <= rises or any(step > BACK_MS for step in steps):
        return False
    return sum(steps) < -BACK_MS or forward > backward == 0
