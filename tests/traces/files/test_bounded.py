"""Readers hold no more than a line's limit, however much there is to read."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from fencepost.traces.files.bounded import (
    DEPTH_LIMIT,
    BadJsonError,
    DocumentError,
    TooDeepError,
    bounded_lines,
    is_too_long,
    last_bytes,
    parse_json,
    read_json,
    refuse_deep,
)

ROOT = Path(__file__).resolve().parents[3]


class Endless(io.RawIOBase):
    """A line of `size` bytes, made when it is read, and `after` it; knows what was asked of it."""

    def __init__(self, size: int, after: bytes = b"\n") -> None:
        self.left = size
        self.after = after
        self.asked = 0

    def readable(self) -> bool:
        return True

    def readline(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            raise AssertionError("a line was asked for without a limit")
        self.asked = max(self.asked, size)
        if self.left:
            piece = min(self.left, size)
            self.left -= piece
            return b"x" * piece
        line, newline, self.after = self.after.partition(b"\n")
        return line + newline


def test_a_line_without_end_is_cut_and_the_next_is_read() -> None:
    stream = Endless(2 * 10**9, b"\nnext\n")
    cut, after = bounded_lines(stream, 1000)
    assert (len(cut), is_too_long(cut, 1000)) == (1001, True)
    assert after == b"next\n"
    assert stream.asked <= 1 << 20


@pytest.mark.parametrize(
    ("line", "cut"),
    [(b"1234\n", False), (b"1234", False), (b"12345\n", True), (b"12345", True), (b"\n", False)],
)
def test_the_newline_is_not_counted(line: bytes, cut: bool) -> None:
    (read,) = bounded_lines(io.BytesIO(line), 4)
    assert is_too_long(read, 4) == cut
    assert read == (b"12345" if cut else line)


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize("depth", [DEPTH_LIMIT + 2, 1_000, 1_000_000])
def test_a_deep_document_is_refused(tmp_path: Path, depth: int) -> None:
    path = tmp_path / "deep.json"
    path.write_text(nested(depth), "utf-8")
    with pytest.raises(DocumentError, match="is nested deeper than 100 levels"):
        read_json(path)
    assert parse_json(nested(DEPTH_LIMIT)) is not None


def test_depth_is_counted_in_objects_and_arrays() -> None:
    value: object = 1
    for level in range(DEPTH_LIMIT):
        value = [value] if level % 2 else {"a": value, "b": 0}
    refuse_deep(value)
    with pytest.raises(TooDeepError):
        refuse_deep({"a": value, "b": [value]})


def test_a_document_over_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "big.json"
    path.write_text(json.dumps("x" * 98), "utf-8")
    assert read_json(path, 100) == "x" * 98
    with pytest.raises(DocumentError, match=r"big\.json: the file: has more than 99 bytes"):
        read_json(path, 99)


def test_a_file_that_never_ends_is_not_read_to_its_end() -> None:
    with pytest.raises(DocumentError, match="/dev/zero: the file: has more than 1000 bytes"):
        read_json(Path("/dev/zero"), 1000)


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "line 1, column 2"), ("9" * 5_000, "can't be read"), ("[1,\n?]", "line 2, column 1")],
)
def test_a_text_that_is_no_json_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadJsonError, match=said):
        parse_json(text)


def test_a_file_that_is_no_text_or_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\xff")
    with pytest.raises(DocumentError, match=r"a\.json: byte 0: isn't UTF-8"):
        read_json(tmp_path / "a.json")
    with pytest.raises(DocumentError, match=r"b\.json: file: can't be read"):
        read_json(tmp_path / "b.json")


def test_only_the_end_of_a_long_log_is_held(tmp_path: Path) -> None:
    path = tmp_path / "broker.log"
    path.write_bytes(b"x" * 1_000 + b"\nthe end\n")
    assert last_bytes(path, 9) == "\nthe end\n"
    assert len(last_bytes(path)) == 1_009


OWN = {
    "traces/files/bounded.py",  # schemas of ours, and so on
    "traces/forms/pytest_form.py",
    "traces/pages/html.py",
    "traces/pipeline/spark/spark.py",
    "conformance/targets/stdio/protocol_schemas.py",
    "conformance/targets/brokers/kfake.py",
    "tools/nightly/nightly_search.py",  # and what our own pytest printed
    "conformance/runtime/event_loop.py",  # /proc
    "conformance/clients/driver_programs.py",  # lists of packages that lie beside our drivers
    "conformance/clients/reference_driver.py",  # our own commands, from a stream with a limit
    "conformance/cli/schema.py",
    "tools/deployments/deployment_promises.py",
    "properties/checking/row_properties.py",
    "properties/checking/world_cache.py",  # our own code and results
    "conformance/targets/own_revision.py",  # modules that Python has imported
    "conformance/cli/options/target_options.py",  # a password
}
"""Modules that read whole files: those that no stranger writes."""
UNBOUNDED = re.compile(
    r"(?<!place)(?<!out)\.read_text\(.*(utf|ascii)|\.read_bytes\(|\.readline\(\)"
    r"|\bin (file|stream|lines_of_file):"
)


def unbounded(text: str) -> list[str]:
    """Return the lines of a source that read without a limit."""
    return [line.strip() for line in text.splitlines() if UNBOUNDED.search(line)]


def test_whoever_reads_a_file_of_the_user_does_so_with_a_limit() -> None:
    found = {
        name: lines
        for floor in ("model", "properties", "traces", "conformance")
        for path in sorted((ROOT / floor).rglob("*.py"))
        if (name := str(path.relative_to(ROOT))) not in OWN
        and (lines := unbounded(path.read_text("utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize(
    "line",
    ['x = json.loads(path.read_text("utf-8"))', "text = file.readline()", "for line in file:"],
)
def test_a_reader_without_a_limit_is_caught(line: str) -> None:
    assert unbounded(f"def f():\n    {line}\n") == [line]


def test_a_mark_before_json_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "bom.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_json(path) == {"a": 1}
