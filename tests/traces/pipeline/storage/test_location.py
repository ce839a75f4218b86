"""A folder with tables that somebody damaged is bad input, not a crash."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from fencepost.traces.pipeline.storage.location import (
    CorpusError,
    Manifest,
    ManifestKind,
    Place,
    manifest,
)

TABLE = pa.table({"shard": list(range(10_000)), "text": ["x" * (n % 97) for n in range(10_000)]})
KIND = ManifestKind("f", 1, "noun", "make it anew", "give another")


def damaged(path: Path, how: str) -> None:
    whole = path.read_bytes()
    middle = len(whole) // 3
    said = {
        "empty": b"",
        "text": b"no table",
        "cut": whole[: len(whole) // 2],
        "no footer": whole[:-8] + b"\xff\xff\xff\x7fPAR1",
        "page": whole[:8] + bytes(middle) + whole[8 + middle :],
    }
    path.write_bytes(said[how])


@pytest.mark.parametrize("how", ["empty", "text", "cut", "no footer", "page"])
def test_a_damaged_table_is_named(tmp_path: Path, how: str) -> None:
    place = Place(str(tmp_path))
    place.write("t/a.parquet", TABLE)
    assert place.read("t/a.parquet").equals(TABLE)
    damaged(tmp_path / "t" / "a.parquet", how)
    with pytest.raises(CorpusError, match=r"t/a\.parquet is no whole Parquet file"):
        place.read("t/a.parquet")
    with (
        pytest.raises(CorpusError, match=r"t/a\.parquet is no whole Parquet file"),
        place.opened("t/a.parquet") as table,
    ):
        list(table.iter_batches())


def test_what_the_system_says_stays_the_system_s(tmp_path: Path) -> None:
    place = Place(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        place.read("t/b.parquet")
    place.write("t/a.parquet", TABLE)
    with pytest.raises(BlockingIOError), place.opened("t/a.parquet"):
        raise BlockingIOError(11, "of somebody else")


@pytest.mark.parametrize("text", ["{", "[" * 10**6, "9" * 5_000])
def test_a_damaged_manifest_is_named(text: str) -> None:
    with pytest.raises(CorpusError, match=r"audit\.json: .*make it anew"):
        manifest(text, "audit.json", KIND, Manifest)
