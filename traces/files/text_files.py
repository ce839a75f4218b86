"""Write files as whoever named them expects; refuse documents; make temporary folders.

`write_text` is the one writer of files that somebody names.  Links are followed.  A plain file is
replaced at once, so no reader gets half of it; a device, a pipe, and a file that others hold by
another name or as another user is written in place.

A temporary folder has a lock, which the system frees when its process is gone.  So the next process
knows the folders of those that were killed, and removes them.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from fencepost.model.bad_input import BadInputError

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

INDEX = "index.html"
"""The page of a report."""

_TITLE_END = b"fencepost</title>"
"""The end of the title of each page, near the start of the file."""
_HEAD = 1 << 16

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""Errors of a device that is full or broken, wherever they happen."""

READER_S = 10.0
"""Seconds that a named pipe may have no reader."""
_AGAIN_S = 0.05


class ReportError(BadInputError):
    """A report can't be written.  `str()` names the file, the problem and the remedy."""


class OutputError(Exception):
    """Output got lost on its way: a full device, a reader that left.  `str()` has the remedy."""


def write_texts(texts: Mapping[str, str], directory: Path, option: str) -> None:
    """Write files into a folder, made if missing.

    Raises ReportError that names the option, OutputError.
    """
    for name, text in texts.items():
        write_file(directory / name, text, f"give {option} another folder")


def write_file(path: Path, text: str, remedy: str) -> None:
    """Write a text file, and make its folder if it is missing.  Raises as `write_text` does."""
    make_folder(path.parent, remedy)
    write_text(path, text, remedy)


def write_text(path: Path, text: str, remedy: str) -> None:
    """Write a text file, whole or not at all where that can be.

    Raises ReportError where the file can't be opened, OutputError where what follows gets lost.
    """
    data = text.encode("utf-8", "backslashreplace")  # half a pair: a valid escape in JSON, too
    try:
        if _is_replaceable(path):
            _replace(Path(os.path.realpath(path)), data)
        else:
            _write_to(_opened_in_place(path), data)
    except OSError as error:
        sentence = f"{path}: can't be written ({error.strerror or error})"
        if error.errno in NO_ROOM or isinstance(error, BrokenPipeError):
            raise OutputError(f"{sentence}; make room, or send it elsewhere") from error
        raise ReportError(f"{sentence}; {remedy}") from error


def _is_replaceable(path: Path) -> bool:
    """Return True if the path leads to a plain file of ours alone, or to none yet."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return os.access(os.path.dirname(os.path.realpath(path)), os.W_OK)  # noqa: PTH120
    if not stat.S_ISREG(there.st_mode) or there.st_nlink > 1 or there.st_uid != os.geteuid():
        return False
    real = Path(os.path.realpath(path))
    return os.access(real.parent, os.W_OK) and not _is_a_stream(there) and not real.is_mount()


def _is_a_stream(there: os.stat_result) -> bool:
    """Return True for a file that is our stdin, stdout or stderr, such as `/dev/stdout`."""
    for number in range(3):
        try:
            if os.path.samestat(os.fstat(number), there):
                return True
        except OSError:
            continue
    return False


def _replace(path: Path, data: bytes) -> None:
    """Give a plain file new content at once; it keeps its mode."""
    half = path.with_name(f".fencepost-{os.getpid()}-{time.monotonic_ns():x}.half")
    number = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.fchmod(number, stat.S_IMODE(path.stat().st_mode))
        _write_to(number, data)
        try:
            os.replace(half, path)  # noqa: PTH105  (at once)
        except OSError as error:
            if error.errno not in (errno.EBUSY, errno.EXDEV):  # a file that is mounted by itself
                raise
            _write_to(_opened_in_place(path), data)
    finally:
        half.unlink(missing_ok=True)


def _opened_in_place(path: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOCTTY | os.O_CLOEXEC
    if not path.is_fifo():
        return os.open(path, flags, 0o666)
    until = time.monotonic() + READER_S
    while True:
        try:
            number = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() >= until:
                reason = f"nobody has read this pipe for {READER_S:g} s"
                raise OSError(errno.ENXIO, reason) from error
            time.sleep(_AGAIN_S)
        else:
            os.set_blocking(number, True)
            return number


def _write_to(number: int, data: bytes) -> None:
    with open(number, "wb") as file:
        file.write(data)


def opened_to_append(path: Path) -> BinaryIO:
    """Open a file whose lines are added one by one.  Raises OSError."""
    if path.is_fifo():
        return open(_opened_in_place(path), "wb", buffering=0)
    return path.open("ab", buffering=0)


_LOCK = ".lock"
_PREFIX = "fencepost-"


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a folder that is removed at the end, by the next process if this one is killed."""
    _remove_abandoned(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        unlocked = folder / f"{_LOCK}.new"
        with unlocked.open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            unlocked.rename(folder / _LOCK)  # another process never sees it without its lock
            yield folder


def _remove_abandoned(top: Path) -> None:
    for path in top.glob(f"{_PREFIX}*/{_LOCK}"):
        with contextlib.suppress(OSError):
            if path.stat().st_uid != os.geteuid() or path.parent.is_symlink():
                continue
            with path.open("r+b") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path.parent, ignore_errors=True)


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that steer a terminal, or turn the direction of writing; not tab and newline."""


def escaped(text: str) -> str:
    r"""Return text in which each character that steers a terminal is an escape, as `\u001b`.

    It is the escape of JSON, so that JSON stays what it was.
    """
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def cell(value: object) -> object:
    """Return a value for CSV: a spreadsheet takes no text for a formula."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return value


def file_inside(folder: Path, name: str) -> Path | None:
    """Return the file of this name in a folder; None if there is none, or it lies elsewhere."""
    try:
        path = (folder / name).resolve()
        is_there = path.is_relative_to(folder.resolve()) and path.is_file()
    except (OSError, ValueError):  # a loop of links, a name that can't be one
        return None
    return folder / name if is_there else None


def is_foreign_report(folder: Path) -> bool:
    """Return True if the folder has an index.html that fencepost didn't write.

    Raises ReportError where it can't be read.
    """
    path = folder / INDEX
    try:
        if not path.is_file():
            return path.exists()
        with path.open("rb") as file:
            return _TITLE_END not in file.read(_HEAD)
    except OSError as error:
        raise ReportError(f"{path}: can't be read ({error.strerror})") from error


def make_folder(folder: Path, remedy: str = "choose another folder") -> None:
    """Make a folder, if it is missing.  Raises ReportError, OutputError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        sentence = f"{folder} can't be made ({error.strerror})"
        if error.errno in NO_ROOM:
            raise OutputError(f"{sentence}; make room, or send it elsewhere") from error
        raise ReportError(f"{sentence}; {remedy}") from error


def refuse_wrong(error: ValidationError | None, name: str) -> None:
    """Raise ReportError for a document that its schema refuses; `name`: of the file."""
    if error is not None:
        raise ReportError(
            f"{name}: {error.json_path}: {error.message}; "
            "this is a fault of fencepost: please report it"
        )


def trace_name(case_id: str) -> str:
    """Return the file of a case's trace, relative to the folder of a report."""
    return f"traces/{case_id.replace('/', '__')}.json"
