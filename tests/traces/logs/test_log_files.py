"""What all logs share: how far they were read, and files that can't be."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from support.places import TESTS

from fencepost.traces.logs.log_files import BROKEN_FILE, REPEATED, LogFileError
from fencepost.traces.logs.server_log import ServerLog

SERVER = TESTS / "traces" / "server_logs" / "server-4.3.0.log.gz"


def test_all_bytes_are_told_once(tmp_path: Path) -> None:
    plain = tmp_path / "server.log"
    plain.write_text("nothing\n" * 12_000)
    for path, least in ((plain, 3), (SERVER, 1)):
        told: list[int] = []
        for _ in ServerLog([path], progress=told.append):
            pass
        assert sum(told) == path.stat().st_size
        assert len(told) == least


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(LogFileError, match=r"nowhere\.log can't be read"):
        ServerLog([Path("nowhere.log")])


def zipped(text: bytes) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("logs/", b"")
        archive.writestr("logs/server.log", text)
    return written.getvalue()


def as_utf_16(text: bytes, encoding: str = "utf-16") -> bytes:
    return text.decode().encode(encoding)


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zip": zipped,
    "zstd": lambda text: pa.compress(text, codec="zstd", asbytes=True),
    "utf-16": as_utf_16,
    "utf-16-be": lambda text: b"\xfe\xff" + as_utf_16(text, "utf-16-be"),
    "utf-16 in xz": lambda text: lzma.compress(as_utf_16(text)),
}


@pytest.mark.parametrize("form", PACKED)
def test_a_packed_log_reads_as_the_plain_one(tmp_path: Path, form: str) -> None:
    text = gzip.decompress(SERVER.read_bytes())
    plain, packed = tmp_path / "plain" / "server.log", tmp_path / "packed" / "server.log"
    for path, data in ((plain, text), (packed, PACKED[form](text))):
        path.parent.mkdir()
        path.write_bytes(data)
    expected = list(ServerLog([plain]))
    assert list(ServerLog([packed])) == expected
    assert len(expected) > 100


@pytest.mark.parametrize("form", ["gzip", "xz", "bz2", "zstd"])
def test_the_rest_of_a_packed_log_that_is_cut_off_is_named(tmp_path: Path, form: str) -> None:
    path = tmp_path / "server.log"
    whole = PACKED[form](gzip.decompress(SERVER.read_bytes()))
    path.write_bytes(whole[: len(whole) * 3 // 4])
    log = ServerLog([path])
    list(log)
    assert log.skipped.counts[BROKEN_FILE] == 1


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x04\x22\x4d\x18rest", "compressed by lz4"),
        (b"7z\xbc\xaf\x27\x1crest", "compressed by 7-Zip"),
        (b"\0" * 257 + b"ustar" + b"\0" * 300, None),
        (gzip.compress(b"\0" * 257 + b"ustar" + b"\0" * 300, mtime=0), "a tar archive"),
        (b"PK\x03\x04broken", "can't be read"),
    ],
)
def test_a_form_that_is_not_read_is_named(tmp_path: Path, data: bytes, kind: str | None) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(data)
    if kind is None:
        assert list(ServerLog([path])) == []
        return
    with pytest.raises(LogFileError, match=kind):
        ServerLog([path])


def test_a_log_that_is_given_twice_counts_once(tmp_path: Path) -> None:
    copied = tmp_path / "copy.log"
    copied.write_bytes(gzip.decompress(SERVER.read_bytes()))
    once = ServerLog([SERVER])
    events = list(once)
    twice = ServerLog([SERVER, copied, SERVER])
    assert [event.at_ms for event in twice] == [event.at_ms for event in events]
    assert twice.skipped.counts[REPEATED] == 2 * once.skipped.lines
    assert twice.skipped.lines == 3 * once.skipped.lines
