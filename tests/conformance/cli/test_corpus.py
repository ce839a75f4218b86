from __future__ import annotations

from pathlib import Path

import pytest
from support.in_this_process import ran_json, run


def test_from_traces_to_small_violations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, few, bugs = (str(tmp_path / name) for name in ("corpus", "few", "bugs"))
    options = ("--traces", "40", "--mutants", "kafka-8500", "--per-shard", "10", "--out", corpus)
    assert ran_json("generate", *options, capsys=capsys)[1]["shards"] == 4
    assert ran_json("generate", *options, capsys=capsys)[1]["shards_before"] == 4

    code, checked = ran_json("check", corpus, capsys=capsys)
    assert code == 1
    assert checked["rows"] == 40
    assert run("check", corpus, "--revision", "kafka-4", capsys=capsys)[0] == 1

    assert ran_json("coverage", corpus, capsys=capsys)[1]["traces"] == 40
    assert "reachable missing" in run("coverage", corpus, capsys=capsys)[1]
    assert ran_json("minimise-corpus", corpus, "--out", few, capsys=capsys)[1]["of"] == 40

    code, found = ran_json("triage", corpus, "--out", bugs, capsys=capsys)
    assert (code, len(found)) == (0, len(list(Path(bugs).glob("*.trace.json"))))
    assert "made smaller" in run("triage", corpus, capsys=capsys)[1]


def test_a_corpus_of_the_judge_itself_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("generate", "--traces", "5", "--out", str(tmp_path), capsys=capsys)[0] == 0
    code, out, _ = run("check", str(tmp_path), capsys=capsys)
    assert (code, out.splitlines()[-1]) == (0, "holds: 5")


def test_levels_are_explored_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bounds = ("--clients", "1", "--members", "1", "--out", str(tmp_path))
    code, found = ran_json("explore", *bounds, "--max-depth", "3", capsys=capsys)
    assert (code, found["complete"]) == (0, False)
    code, out, _ = run("explore", *bounds, capsys=capsys)
    assert (code, "complete: yes" in out) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check", "nowhere"), "nowhere holds no corpus.json"),
        (("check", "nowhere", "--revision", "kafka-5"), "kafka-5"),
        (("generate", "--traces", "1", "--out", "x", "--mutants", "no"), "no mutant 'no'"),
        (("coverage", "nowhere", "--master", "local[2]"), "needs --engine spark"),
        (("coverage", "nosuch://place"), "give a folder that Arrow can open"),
    ],
)
def test_bad_input_is_named(
    arguments: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = run(*arguments, capsys=capsys)
    assert code == 64
    assert said in " ".join(err.split())


def test_spark_without_java_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    code, _, err = run("coverage", "x", "--engine", "spark", capsys=capsys)
    assert code == 69
    assert "install a JDK or JRE, version 17" in err


def test_the_entry_point_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert Path(run("entry-point", capsys=capsys)[1].strip()).is_file()
