"""Read foreign files, pipes and documents within limits; know versions and extras.

A file, a pipe or a socket may hold a line without end, or brackets a million deep.  Every reader of
the project takes its limits from here, and checks JSON documents against the schemas of their
formats.

`pip_install` is the one place that changes when a registry has fencepost: on that day `SOURCE` is
the name `fencepost`, `_WHERE` is empty, and `docs/install.md` says so, too.  `all_versions` lists
the versions of everything that a verdict depends on.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fencepost.model.bad_input import BadInputError

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError


LINE_LIMIT = 16 * 1024 * 1024
"""Bytes that a line, or a frame of a socket, may have; the newline is not counted."""

FILE_LIMIT = 64 * 1024 * 1024
"""Bytes that a file of one JSON document may have."""

DEPTH_LIMIT = 100
"""The depth of nested arrays and objects: far from the limit of Python's recursion."""

_AT_ONCE = 1 << 20


class DocumentError(BadInputError):
    """A file holds no JSON document that can be read; `path`, `place` in it, and `problem`."""

    def __init__(self, path: Path, place: str, problem: str) -> None:
        super().__init__(f"{path}: {place}: {problem}")
        self.path = path
        self.place = place
        self.problem = problem


class BadJsonError(ValueError):
    """A text is no JSON that can be read; `place` in it, and `problem`."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}")
        self.place = place
        self.problem = problem


class TooDeepError(ValueError):
    """A JSON value is nested deeper than `DEPTH_LIMIT`."""

    def __init__(self) -> None:
        super().__init__(f"it is nested deeper than {DEPTH_LIMIT} levels")


class HasLines(Protocol):
    """A stream of bytes."""

    def readline(self, size: int, /) -> bytes:
        """Read a line, or as many bytes of it."""
        ...


def bounded_lines(stream: HasLines, limit: int = LINE_LIMIT) -> Iterator[bytes]:
    """Yield the lines of a stream, each with its newline, in bounded memory.

    A line that is too long comes as its first `limit + 1` bytes (`is_too_long` holds); the rest is
    read and thrown away.
    """
    while line := stream.readline(limit + 1):
        if is_too_long(line, limit):
            while (rest := stream.readline(_AT_ONCE)) and not rest.endswith(b"\n"):
                pass
        yield line


def is_too_long(line: bytes, limit: int = LINE_LIMIT) -> bool:
    """Return True if the line has more than `limit` bytes before its newline."""
    return len(line) > limit and not (len(line) == limit + 1 and line.endswith(b"\n"))


def last_bytes(path: Path, most: int = _AT_ONCE) -> str:
    """Return the end of a text file, such as the log of a broker that wrote on and on."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - most))
        return file.read(most).decode(errors="replace")


def refuse_deep(value: Any) -> None:
    """Check that a JSON value is at most `DEPTH_LIMIT` levels deep.  Raises TooDeepError."""
    level = [value]
    for _ in range(DEPTH_LIMIT + 1):
        level = [
            child
            for outer in level
            if isinstance(outer, dict | list)
            for child in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return
    raise TooDeepError


def parse_json(text: str) -> Any:
    """Read JSON that somebody else wrote.  Raises BadJsonError."""
    try:
        value = json.loads(text)
        refuse_deep(value)
    except json.JSONDecodeError as error:
        raise BadJsonError(
            f"line {error.lineno}, column {error.colno}", f"isn't JSON ({error.msg})"
        ) from None
    except (RecursionError, TooDeepError):
        raise BadJsonError("the file", f"is nested deeper than {DEPTH_LIMIT} levels") from None
    except ValueError as error:  # a number of thousands of digits
        raise BadJsonError("the file", f"can't be read ({error})") from None
    return value


def read_json(path: Path, limit: int = FILE_LIMIT) -> Any:
    """Read the JSON document in a file.  Raises DocumentError."""
    try:
        return parse_json(bounded_text(path, limit))
    except BadJsonError as error:
        raise DocumentError(path, error.place, error.problem) from None


def bounded_text(path: Path, limit: int = FILE_LIMIT) -> str:
    """Return the text of a file that has at most `limit` bytes.  Raises DocumentError."""
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        problem = f"can't be read ({error.strerror or error})"
        raise DocumentError(path, "file", problem) from None
    if len(data) > limit:
        raise DocumentError(path, "the file", f"has more than {limit} bytes")
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        raise DocumentError(path, f"byte {error.start}", "isn't UTF-8") from None


def schema_error(document: Any, schema_file: Path) -> ValidationError | None:
    """Return the most relevant error of a document; None if it matches its schema."""
    from jsonschema.exceptions import best_match  # noqa: PLC0415  (loaded when first used: it takes long)

    error: ValidationError | None = best_match(_validator(schema_file).iter_errors(document))
    return error


@cache
def _validator(schema_file: Path) -> Draft202012Validator:
    from jsonschema import Draft202012Validator  # noqa: PLC0415

    return Draft202012Validator(json.loads(schema_file.read_text(encoding="utf-8")))


SOURCE = "."
"""The argument of pip: the checkout in the current folder."""

_WHERE = " in a checkout of fencepost"


def pip_install(extra: str) -> str:
    """Return the command that installs an extra, and its folder."""
    return f"pip install '{SOURCE}[{extra}]'{_WHERE}"


def own_version() -> str:
    """Return this package's version."""
    return _version_of("fencepost")


def all_versions() -> dict[str, str]:
    """List this package, Python, and the packages that speak to targets, as far as installed."""
    import platform  # noqa: PLC0415  (certificates alone)

    names = ("fencepost", "kafka-python", "jsonschema", "confluent-kafka")
    versions = {name: _version_of(name) for name in names}
    return {
        "python": platform.python_version(),
        **{n: v for n, v in versions.items() if v != "none"},
    }


def _version_of(name: str) -> str:
    # Here, since it reads e-mail headers and takes 30 ms to import.
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version(name)
    except PackageNotFoundError:
        return "none"
