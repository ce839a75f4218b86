"""Read the dates of log lines.

Patterns of Log4j (`yyyy-MM-dd HH:mm:ss,SSS`) and of strptime (`%Y-%m-%d …`) are both accepted,
since operators have the one in their configuration and scripts the other.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

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
        found = self._text.search(head.decode(errors="replace"))
        return None if found is None else self._parsed(found[0])

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
