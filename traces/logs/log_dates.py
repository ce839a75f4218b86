"""Read the dates of log lines.

Patterns of Log4j (`yyyy-MM-dd HH:mm:ss,SSS`) and of strptime (`%Y-%m-%d …`) are both accepted,
since operators have the one in their configuration and scripts the other.

Where no pattern is named, `around` reads the usual forms wherever they stand in a line: ISO 8601,
names of months, compact dates, and times since 1970.  A date without a year is not read, nor one
that may be of two days (`03/04/2024`) unless other lines show which number is the day.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
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


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ZONE = r"(Z|UTC|GMT|[+-]\d{2}:?\d{2})(?![\w:])"
_CLOCK = (
    r"(\d{1,2}):(\d{2}):(\d{2})(?:[.,:](\d{1,9}))?(?:\s?([AaPp])\.?[Mm]\b\.?)?"
    rf"(?:\s?{_ZONE})?"
)
_GAP = r"(?:[T:_]|,?\s+(?:(?:@|at|-)\s+)?|,)"
_DAY = r"(?<!\d)(\d{1,2})"
_MONTH = r"\b([A-Z][a-z]{2})[a-z]*\.?"
_YEAR = r"(\d{4})"
_NUMERIC = re.compile(rf"{_DAY}([/.-])(\d{{1,2}})\2{_YEAR}{_GAP}{_CLOCK}")
_ISO = re.compile(rf"(?<!\d){_YEAR}[-/.](\d{{1,2}})[-/.](\d{{1,2}}){_GAP}{_CLOCK}")
_FORMS: tuple[tuple[re.Pattern[str], tuple[int, int, int, int]], ...] = tuple(
    (re.compile(pattern), groups)
    for pattern, groups in (
        (rf"{_DAY}[\s/-]{_MONTH}[\s/-]{_YEAR}{_GAP}{_CLOCK}", (3, 2, 1, 4)),
        (rf"{_MONTH}\s+{_DAY},?\s+{_YEAR}{_GAP}{_CLOCK}", (3, 1, 2, 4)),
        (rf"{_MONTH}\s+{_DAY}\s+{_CLOCK}(?:\s[A-Z]{{3,4}})?\s{_YEAR}(?!\d)", (9, 1, 2, 3)),
        (
            (
                r"(?<!\d)(\d{4})(\d{2})(\d{2})[T ](\d{2}):?(\d{2}):?(\d{2})"
                rf"(?:[.,](\d{{1,9}}))?()(?:\s?{_ZONE})?"
            ),
            (1, 2, 3, 4),
        ),
    )
)
"""Each form with its groups of year, month and day, and the first group of its clock."""
_SINCE_1970 = re.compile(r"(?<![\w.-])1\d{9}(?:\.\d{1,9}|\d{3}|\d{6}|\d{9})?(?![\w.:-])")
_MAY_BE_DATE = re.compile(r"\d{8}|\d:\d\d:")
_MS_DIGITS = 13
"""Digits of a time in ms: a shorter number beside a date is no time."""
_COLONS = 2
"""Colons of a time of day: a text with fewer has no date."""


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
        self._second_text = ""
        self._base_ms: int | None = None
        self._is_free = pattern == DEFAULT_PATTERN
        self._at = 0
        """Offset of the last ISO date: most lines have theirs at the same one."""
        self._is_day_first: bool | None = None
        self._known: tuple[tuple[str, ...], int] = ((), 0)

    def read(self, head: bytes) -> int | None:
        """Read the date at the start of a line, ms since 1970; None if it has none."""
        if self._plain and head[:1] == b"[" and head[20:21] == b"," and head[24:25] == b"]":
            if head[1:20] != self._second:  # most lines share their second with the one before
                at_ms = self._of_iso(head[1:20])
                if at_ms is None:
                    return None
                self._second, self._second_ms = head[1:20], at_ms
            millis = head[21:24]
            return self._second_ms + int(millis) if millis.isdigit() else None
        match = self._text.search(head.decode(errors="replace"))
        return None if match is None else self._parsed(match[0])

    def _of_iso(self, second: bytes) -> int | None:
        """Read `yyyy-MM-dd HH:mm:ss`; strptime takes twenty times as long."""
        try:
            date = datetime.fromisoformat(second.decode()).replace(tzinfo=self._zone)
        except ValueError:
            return None
        return (date - _EPOCH) // timedelta(seconds=1) * 1000 if second[10:11] == b" " else None

    def around(self, head: str, tail: str = "") -> int | None:
        """Read the date that is nearest before a message, else the first behind it.

        Without a pattern of the user's own any usual form is read.  Returns ms since 1970, or None.
        """
        if not self._is_free:
            matches = [*self._text.finditer(head)][-1:] or [*self._text.finditer(tail)][:1]
            return self._parsed(matches[0][0]) if matches else None
        if head[:1] == "[" and head[20:21] == "," and head[24:25] == "]":
            second, millis = head[1:20], head[21:24]
            if second != self._second_text:
                base_ms = self._of_iso(second.encode())
                self._second_text, self._base_ms = second, base_ms
            if self._base_ms is not None and millis.isdigit() and head.count(":", 25) < _COLONS:
                return self._base_ms + int(millis)
        match = _ISO.match(head, self._at)
        if match is not None and not _MAY_BE_DATE.search(head, match.end()):
            return self._of_parts(match, (1, 2, 3, 4))
        return self._free(head, is_last=True) or self._free(tail, is_last=False)

    def first(self, text: str) -> int | None:
        """Read the first date in a text, ms since 1970; None if it has none."""
        if self._is_free:
            return self._free(text, is_last=False)
        match = self._text.search(text)
        return None if match is None else self._parsed(match[0])

    def learn(self, text: str) -> None:
        """Learn from a line whether dates such as `03/04/2024` have the day first."""
        for match in _NUMERIC.finditer(text):
            first, second = int(match[1]), int(match[3])
            if (first > 12) != (second > 12):
                self._is_day_first = first > 12

    def at(self, value: object) -> int | None:
        """Read a date that is a value of its own: a text, or a number since 1970."""
        if isinstance(value, bool) or value is None:
            return None
        if isinstance(value, int | float):
            return since_1970(value)
        text = str(value)
        number = _SINCE_1970.fullmatch(text)
        return since_1970(float(text)) if number else self._free(text, is_last=False)

    def _free(self, text: str, *, is_last: bool) -> int | None:
        """Read the last or the first date in a text, of any form."""
        best: tuple[int, re.Match[str], tuple[int, int, int, int]] | None = None
        for pattern, groups in ((_ISO, (1, 2, 3, 4)), (_NUMERIC, (4, 0, 0, 5)), *_FORMS):
            for match in pattern.finditer(text):
                at = match.start() if is_last else -match.start()
                if best is None or at > best[0]:
                    best = at, match, groups
        numbers = list(_SINCE_1970.finditer(text))
        if numbers and is_last and best is not None and numbers[-1].start() > best[0]:
            best = None if len(numbers[-1][0]) >= _MS_DIGITS else best
        if best is None:
            return since_1970(float(numbers[-1 if is_last else 0][0])) if numbers else None
        _, match, groups = best
        if match.re is _ISO:
            self._at = match.start() if is_last else self._at
        return self._of_parts(match, groups)

    def _of_parts(self, match: re.Match[str], groups: tuple[int, int, int, int]) -> int | None:
        year, month, day, clock = groups
        if match.re is _NUMERIC:
            first_is_day = self._is_day_first
            if match[2] == ".":
                first_is_day = True  # nobody writes month.day.year
            elif first_is_day is None:
                self.learn(match[0])
                first_is_day = self._is_day_first
            if first_is_day is None:
                return None
            month, day = (3, 1) if first_is_day else (1, 3)
        hours, minutes, seconds, fraction, half, zone = match.groups("")[clock - 1 : clock + 5]
        parts = (match[year], match[month], match[day], hours, minutes, seconds, half, zone)
        if self._known[0] != parts:
            base_ms = self._second_of(parts)
            if base_ms is None:
                return None
            self._known = parts, base_ms
        return self._known[1] + int(fraction.ljust(3, "0")[:3] or 0)

    def _second_of(self, parts: tuple[str, ...]) -> int | None:
        """Return the ms of a date without its fraction; None where there is no such day."""
        year, month, day, hours, minutes, seconds, half, zone = parts
        try:
            of_year = int(month) if month.isdigit() else _MONTHS.index(month[:3].lower()) + 1
            hour = int(hours)
            if half:
                hour = hour % 12 + (12 if half in "Pp" else 0)
            where = _offset(zone) if zone else self._zone
            day_and_time = int(year), of_year, int(day), hour, int(minutes), int(seconds)
            date = datetime(*day_and_time, tzinfo=where)
        except ValueError:
            return None
        return round((date - _EPOCH) / timedelta(milliseconds=1))

    def _parsed(self, text: str) -> int | None:
        try:
            date = datetime.strptime(text, self._format)  # noqa: DTZ007 - the zone is an option
        except ValueError:
            return None
        if date.tzinfo is None:
            date = date.replace(tzinfo=self._zone)
        since = date - _EPOCH
        return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


_TIME = re.compile(r"(?<!\d)\d{1,2}:\d{2}:\d{2}")


def why_unread(text: str) -> str:
    """Return the reason why the date of a line can't be read, and the remedy."""
    if _NUMERIC.search(text):
        return (
            "no line shows which number of the date is the day; give --date-pattern, such as "
            "'dd/MM/yyyy HH:mm:ss' or 'MM/dd/yyyy HH:mm:ss'"
        )
    if _TIME.search(text):
        return (
            "the date lacks its year or day, or has an unusual form; export the log with whole "
            "dates, or give --date-pattern, that of the appender"
        )
    return "there is no date; export the log with its dates"


_MOST_S = 10**11
"""A time since 1970 that is larger is in ms, µs or ns."""
_LEAST_S = 10**9


def since_1970(value: float) -> int | None:
    """Return the ms since 1970 of a number of s, ms, µs or ns; None for a time before 2001."""
    for factor in (1000.0, 1.0, 1e-3, 1e-6):
        if _LEAST_S <= value * factor / 1000 < _MOST_S:
            return round(value * factor)
    return None


def _offset(text: str) -> timezone:
    if text in {"Z", "UTC", "GMT"}:
        return UTC
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(text[1:3]), minutes=int(text[-2:])))


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
            f"the date pattern {pattern!r} has no full date; name year, month, day and time, "
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
