"""What can be known about Spark without it: what executors get, what is said when it is missing."""

from __future__ import annotations

import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

import fencepost.model
from fencepost.traces.pipeline.corpus.corpus import TRACES
from fencepost.traces.pipeline.spark.spark import (
    SparkUnavailableError,
    spark_session,
    write_archive,
)
from fencepost.traces.pipeline.storage.trace_rows import ddl

PROBE = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
import pyarrow
for name in (
    "corpus.shard_jobs", "corpus.corpus_coverage", "corpus.exploring", "logs.part_audit",
    "logs.metrics",
):
    found = importlib.import_module("fencepost.traces.pipeline." + name).__file__
    assert found.startswith(sys.argv[1]), found
from fencepost.traces.pipeline.corpus.corpus import trace_row
print(trace_row("kafka-4", 1, 1)["trace"])
"""


def test_executors_need_no_fencepost_of_their_own(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "fencepost.zip")
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(archive)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "1"), done.stderr


def test_the_archive_is_the_same_each_time_and_holds_no_caches(tmp_path: Path) -> None:
    one, two = (write_archive(tmp_path / name) for name in ("a.zip", "b.zip"))
    assert one.read_bytes() == two.read_bytes()
    names = zipfile.ZipFile(one).namelist()
    assert "fencepost/model/machine.py" in names
    assert not any("__pycache__" in name for name in names)


def test_of_what_is_installed_twice_the_first_is_packed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = tmp_path / "older"
    older.mkdir()
    (older / "coordinator.py").write_text("an older one", encoding="utf-8")
    plain = write_archive(tmp_path / "a.zip")
    monkeypatch.setattr(fencepost.model, "__path__", [*fencepost.model.__path__, str(older)])
    assert write_archive(tmp_path / "b.zip").read_bytes() == plain.read_bytes()


def java(folder: Path, said: str) -> None:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ('openjdk version "11.0.2"', "is Java 11: install a JDK or JRE, version 17"),
        ('java version "1.8.0_202"', "is Java 8"),
        ("hello", "doesn't print its version"),
        (None, "which has no bin/java"),
    ],
)
def test_java_missing_or_wrong_is_said_with_the_remedy(
    said: str | None, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if said is not None:
        java(tmp_path, said)
    with pytest.raises(SparkUnavailableError, match=wrong), spark_session():
        pass


def test_pyspark_missing_is_said_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java(tmp_path, 'openjdk version "17.0.1"')
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    remedy = r"pip install '\.\[spark\]'"
    with pytest.raises(SparkUnavailableError, match=remedy), spark_session():
        pass


def test_schemas_are_said_as_spark_says_them() -> None:
    assert ddl(pa.schema([("a", pa.list_(pa.string())), ("b", pa.int64())])) == (
        "`a` array<string>, `b` bigint"
    )
    assert "`turns` array<struct<`act`: string, `client`: int" in ddl(TRACES)
    with pytest.raises(KeyError):
        ddl(pa.schema([("a", pa.float16())]))
