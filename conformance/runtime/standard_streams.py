"""Prepare stdin, stdout and stderr: closed ones, full ones, and encodings that lack a character.

The verdict of a command is its exit code and its stdout.  So what goes to a full or closed stdout
raises OutputError, which ends the command with a code of its own.  What goes to stderr is help for
a reader: if it can't be written, nothing changes.
"""

from __future__ import annotations

import io
import os
import re
import sys
from contextlib import suppress
from typing import Any, TextIO

from fencepost.traces.files.text_files import OutputError, escaped

EXIT_OUTPUT = 74
"""Output can't be written; EX_IOERR of sysexits.h."""

_STDIN, _STDOUT, _STDERR = range(3)


class _Stdout(io.FileIO):
    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(
                f"stdout can't be written ({error.strerror}); send it to another file or device"
            ) from error


class _Stderr(io.FileIO):
    def write(self, data: Any, /) -> int:
        with suppress(OSError):
            return super().write(data)
        return memoryview(data).nbytes


class _Text(io.TextIOWrapper):
    """Text for files and pipes: nothing in it steers the terminal of whoever reads it there."""

    def write(self, text: str, /) -> int:
        super().write(escaped(text))
        return len(text)


_STYLES = r"\x1b\[(?:(?:[0-4]|2[2-4]|[39][0-7]|[34]9|38;5;\d{1,3})(?:;(?!m)|(?=m)))*m"
_BARS = r"\x1b\[(?:2K|\d{0,3}[AG]|\?25[lh])|\r"
_OWN = {_STDOUT: re.compile(f"({_STYLES})"), _STDERR: re.compile(f"({_STYLES}|{_BARS})")}
"""Sequences that fencepost itself writes, by file descriptor."""


class _Terminal(io.TextIOWrapper):
    """Text for a terminal: styles and bars are ours, other control characters are escaped."""

    def write(self, text: str, /) -> int:
        parts = _OWN[self.fileno()].split(text)  # text and our own sequences by turns
        super().write("".join(p if n % 2 else escaped(p) for n, p in enumerate(parts)))
        return len(text)


def prepare() -> None:
    """Open closed descriptors, and write what an encoding lacks as escapes.

    A closed descriptor would be given to the next file or socket, which would then get our text.
    Streams that are no files (of a test, of an embedding program) stay as they are.
    """
    for number, flags in ((_STDIN, os.O_RDONLY), (_STDOUT, os.O_RDONLY), (_STDERR, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # the lowest free number: this one; stdout fails at a write
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(_STDIN, "r", closefd=False)))
    sys.stdout = _prepared(sys.stdout, _Stdout, _STDOUT)
    sys.stderr = _prepared(sys.stderr, _Stderr, _STDERR)


def _prepared(stream: TextIO | None, raw: type[io.FileIO], number: int) -> TextIO:
    if stream is not None and not _is_descriptor(stream, number):
        return stream
    if stream is not None:
        stream.flush()
    kind = _Terminal if stream is not None and stream.isatty() else _Text
    return kind(
        io.BufferedWriter(raw(number, "w", closefd=False)),
        encoding="utf-8" if stream is None else stream.encoding,
        errors="backslashreplace",
        line_buffering=number == _STDERR or (stream is not None and stream.isatty()),
        write_through=number == _STDERR,
    )


def _is_descriptor(stream: TextIO, number: int) -> bool:
    try:
        return stream.fileno() == number
    except (OSError, ValueError, AttributeError):
        return False


def flush() -> None:
    """Write out stdout.  Raises OutputError or BrokenPipeError."""
    if sys.stdout is not None and not sys.stdout.closed:
        sys.stdout.flush()


def discard_stdout() -> None:
    """Send the rest of stdout nowhere, so that the end of the process raises nothing."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, _STDOUT)
    os.close(nowhere)
