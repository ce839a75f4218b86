from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.in_this_process import ran_json, run
from support.logs.log_rows import write_logs
from support.places import TESTS

from benchmarks.log_traffic import Plan
from fencepost.conformance.cli.cli import main
from fencepost.conformance.runtime.toolchain import found_tools
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.model.revisions.revisions import find as find_revision

LOGS = TESTS / "traces" / "request_logs"
LOG = str(LOGS / "kafka-4.3.0.log.gz")


def test_an_audit_says_what_it_came_to_and_its_metrics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    code, done = ran_json("audit", LOG, "--out", out, "--parts", "3", capsys=capsys)
    with pytest.raises(SystemExit):
        main(["audit", LOG, "--json"])
    said = json.loads(capsys.readouterr().out)
    assert code == 0
    assert {
        name: said[name] for name in ("lines", "exchanges", "skipped", "outcome", "counts")
    } == {name: done[name] for name in ("lines", "exchanges", "skipped", "outcome", "counts")}
    assert done["groups"] == len(said["groups"])
    assert done["problems"] == len(said["operator"]["problems"])
    code, text, _ = run("audit", LOG, "--out", out, "--parts", "3", capsys=capsys)
    assert (code, f"groups: {done['groups']}" in text) == (0, True)
    code, counted = ran_json("metrics", out, capsys=capsys)
    assert (code, counted["rebalances"]) == (0, said["operator"]["rebalances"]["count"])
    assert Path(counted["page"]).read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_violated_group_is_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = Plan(lines=800, groups=8, members=4, unrest_ms=30_000, seed=3)
    wrong = find_revision("mutant:librdkafka-mock-never-fences")
    logs = [str(path) for path in write_logs(tmp_path / "logs", plan, wrong)]
    options = ("--out", str(tmp_path / "out"), "--parts", "2")
    assert run("audit", *logs, *options, capsys=capsys)[0] == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["audit", LOG, "--out", "{}", "--skew", "b=1"], "no log is of a broker 'b'"),
        (["audit", LOG, "--out", "{}", "--date-pattern", "yy"], "has no full date"),
        (["audit", LOG, "--out", "{}", "--revision", "no"], "no"),
        (["audit", LOG, "--out", "{}", "--master", "local[1]"], "give both"),
        (["metrics", "{}"], "holds no audit.json"),
        (["watch", "--out", "{}"], "give a folder of logs, or --topic"),
        (["watch", "--topic", "t", "--out", "{}"], "give a folder of logs, or --topic"),
        (["watch", str(LOGS), "--topic", "t", "--bootstrap", "h:1", "--out", "{}"], "give a fold"),
    ],
)
def test_bad_input_is_named(
    arguments: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = [argument.replace("{}", str(tmp_path / "out")) for argument in arguments]
    code, _, error = run(*named, capsys=capsys)
    assert code == 64
    assert says in error


def test_without_maven_a_topic_cant_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("pyspark", minversion="4.2")
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    options = ("--topic", "t", "--bootstrap", "localhost:1", "--out", str(tmp_path / "out"))
    code, _, error = run("watch", *options, capsys=capsys)
    assert code == 69
    assert "install Maven" in error


async def test_the_connector_is_that_of_sparks_version_and_fetched_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path))
    asked = []

    async def copy(folder: Path, pom: bytes) -> None:
        asked.append(pom)
        (folder / "lib").mkdir()
        (folder / "lib" / "connector.jar").touch()

    monkeypatch.setattr(found_tools, "copy_jars", copy)
    for _ in range(2):
        assert [jar.name for jar in await found_tools.kafka_source("4.2.0")] == ["connector.jar"]
    (pom,) = asked
    assert pom.count(b"_2.13</artifactId><version>4.2.0<") == 2

    async def fails(folder: Path, pom: bytes) -> None:
        raise TargetUnavailableError(f"{folder} {pom!r}")

    monkeypatch.setattr(found_tools, "copy_jars", fails)
    with pytest.raises(TargetUnavailableError):
        await found_tools.kafka_source("4.2.1")
    assert not (tmp_path / "spark-kafka" / "4.2.1").exists()


async def test_what_a_registry_lacks_of_the_connector_is_taken_from_an_older_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path))
    there = {"spark-sql-kafka-0-10_2.13": "4.1.1", "spark-token-provider-kafka-0-10_2.13": "4.0.0"}

    async def copy(folder: Path, pom: bytes) -> None:
        for name, version in there.items():
            if f"{name}</artifactId><version>{version}<".encode() not in pom:
                raise TargetUnavailableError(
                    f"mvn failed: Could not find artifact org.apache.spark:{name}:jar:x in central"
                )
        (folder / "lib").mkdir()
        (folder / "lib" / "connector.jar").touch()

    monkeypatch.setattr(found_tools, "copy_jars", copy)
    assert [jar.name for jar in await found_tools.kafka_source("4.3.0")] == ["connector.jar"]
    there["spark-sql-kafka-0-10_2.13"] = "3.5.0"  # nothing of Spark 3 is taken
    with pytest.raises(TargetUnavailableError, match="spark-sql-kafka"):
        await found_tools.kafka_source("4.3.1")
