"""One JSON object per line: how a line of adapter protocol 1 is read and written.

A line is UTF-8, at most 16 MiB without its newline, one JSON object, and strict JSON: `NaN`, which
Python's own parser accepts, is refused, since an adapter in another language would refuse it.  Both
sides of the protocol use these functions, so they cannot differ.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from fencepost.model.history.words import with_article
from fencepost.traces.files.bounded import LINE_LIMIT, TooDeepError, refuse_deep

_SHORT = 240


class LineError(ValueError):
    """A line that is no JSON object.  `str()` completes the sentence "the line …"."""


def decode_line(line: bytes) -> dict[str, Any]:
    """The object that a line says.  Raises LineError."""
    try:
        value = json.loads(line.decode(), parse_constant=_refuse)
        refuse_deep(value)
        if b"\\u" in line:  # half of a pair can only be escaped
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise LineError("has half of a surrogate pair, which is no text") from None
    except UnicodeDecodeError as error:
        raise LineError(f"is not UTF-8 ({error.reason} at byte {error.start})") from None
    except (RecursionError, TooDeepError):
        raise LineError("is nested too deeply") from None
    except ValueError as error:
        raise LineError(f"is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise LineError(f"is JSON, but {with_article(type(value).__name__)} and not an object")
    return value


def encode_line(message: dict[str, Any]) -> bytes:
    """The line, without its newline, that says an object.  Raises LineError over the limit."""
    line = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    if len(line) > LINE_LIMIT:
        raise LineError(f"has {len(line)} bytes; the limit is {LINE_LIMIT}")
    return line


def shortened(value: object, limit: int = _SHORT) -> str:
    """A value as one line for people: bytes as the text they are, cut in the middle."""
    if isinstance(value, bytes):
        text = value[: 4 * limit].decode(errors="backslashreplace")
        text += value[max(4 * limit, len(value) - 4 * limit) :].decode(errors="backslashreplace")
    else:
        text = str(value)
    text = text.strip().replace("\n", "\\n")
    if len(text) <= limit:
        return text
    return f"{text[: limit * 2 // 3]} … {text[-limit // 3 :]}"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON value")
