"""Adopting: a finding comes into the corpus once, and only as what it is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from support.committed import CORPUS, committed

from fencepost.conformance.cli.cli import main
from fencepost.conformance.run.replay import rejudge
from fencepost.conformance.search.findings.promote import adopt, corpus_here
from fencepost.conformance.search.findings.trace_causes import SCHEMA, CorpusFolder, TracedVerdict
from fencepost.model.history.events import Sent
from fencepost.traces.files.trace_file import TraceFile, TraceFileError
from fencepost.traces.forms.formats import TRACE_FORMATS


def exit_code(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code if isinstance(ended.value.code, int) else -1


def index(folder: Path) -> dict[str, object]:
    document = json.loads((folder / "index.json").read_text("utf-8"))
    Draft202012Validator(SCHEMA.schema()).validate(document)
    return dict(document)


def names(folder: Path) -> list[str]:
    return [entry.name for entry in CorpusFolder.read(folder).entries]


def checkout(folder: Path) -> Path:
    """A small checkout; where its corpus is."""
    corpus = folder / "traces" / "corpus"
    corpus.mkdir(parents=True)
    text = json.dumps({"format": "fencepost-corpus", "version": 1, "traces": []})
    (corpus / "index.json").write_text(text)
    return corpus


def test_it_comes_in_with_its_verdict_and_is_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = checkout(tmp_path)
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path / "docs")
    committed("kafka-8500").write(tmp_path / "found.json")
    assert exit_code("adopt", "../found.json") == 0
    name = "mutant-kafka-8500-join-static-empty-preparing-joingroup-silence"
    assert capsys.readouterr().out.startswith(
        f"{name}: violated (JOIN-STATIC-EMPTY-PREPARING SILENCE), in "
    )
    (entry,) = CorpusFolder.read(corpus).entries
    assert (entry.name, entry.kind) == (name, "adopted")
    assert entry.file == f"traces/corpus/adopted/{name}.json"
    assert entry.verdict.outcome == "violated"
    index(corpus)
    kept = TraceFile.read(tmp_path / entry.file)
    assert kept == committed("kafka-8500")
    assert rejudge(kept).same


def test_the_order_does_not_hang_on_who_came_first(tmp_path: Path) -> None:
    texts = set()
    for order in (("kafka-9801", "kafka-8500"), ("kafka-8500", "kafka-9801")):
        folder = tmp_path / order[0]
        for name in order:
            adopt(committed(name), CorpusFolder.read(folder), name=name)
        texts.add((folder / "index.json").read_text("utf-8"))
        assert names(folder) == ["kafka-8500", "kafka-9801"]
    assert len(texts) == 1


def test_what_is_there_already_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceFileError, match="is that of kafka-8500, which is in"):
        adopt(committed("kafka-8500"), CorpusFolder.read(CORPUS), name="again")
    adopt(committed("kafka-9801"), CorpusFolder.read(tmp_path), name="kafka-9801")
    with pytest.raises(TraceFileError, match="is that of kafka-9801"):
        adopt(committed("kafka-9801"), CorpusFolder.read(tmp_path), name="other")
    with pytest.raises(TraceFileError, match="is taken in"):
        adopt(committed("kafka-8500"), CorpusFolder.read(tmp_path), name="kafka-9801")
    assert names(tmp_path) == ["kafka-9801"]


def test_the_bug_of_a_mutant_is_new_in_a_broker(tmp_path: Path) -> None:
    mutants = committed("kafka-8500")
    adopt(mutants, CorpusFolder.read(tmp_path), name="a-mutant")
    for version in ("4.3.0", "4.1.1"):
        origin = {**mutants.provenance, "target": f"kafka:{version}"}
        trace = replace(mutants, provenance=origin)
        corpus = CorpusFolder.read(tmp_path)
        if version == "4.3.0":
            adopt(trace, corpus, name="a-broker")
        else:
            with pytest.raises(TraceFileError, match="is that of a-broker"):
                adopt(trace, corpus)


def test_another_verdict_than_todays_must_be_meant(tmp_path: Path) -> None:
    true = committed("kafka-8500")
    lie = replace(true, verdict=replace(true.verdict, rule="HEARTBEAT-STABLE"))
    with pytest.raises(
        TraceFileError,
        match=r"has changed: today it is .*, not violated \(HEARTBEAT-STABLE .*--today",
    ):
        adopt(lie, CorpusFolder.read(tmp_path))
    kept = adopt(lie, CorpusFolder.read(tmp_path), today=True).trace
    assert kept.verdict.rule == true.verdict.rule
    assert rejudge(kept).same


def test_a_false_alarm_is_kept_as_what_holds(tmp_path: Path) -> None:
    alarm = committed("zombie-commits")
    wrong = next(
        n
        for n, event in enumerate(alarm.events)
        if isinstance(event, Sent) and event.request.id == alarm.verdict.request
    )
    begun = replace(alarm, events=alarm.events[:wrong])
    kept = adopt(begun, CorpusFolder.read(tmp_path), name="once-an-alarm", today=True)
    assert kept.text().startswith("once-an-alarm: holds, in ")
    (entry,) = CorpusFolder.read(tmp_path).entries
    assert entry.verdict == TracedVerdict(outcome="holds", rule=None, wrong=None)
    index(tmp_path)
    with pytest.raises(TraceFileError, match="is that of once-an-alarm"):
        adopt(begun, CorpusFolder.read(tmp_path), name="twice", today=True)
    for form in TRACE_FORMATS.values():
        assert form(kept.trace)


def test_elsewhere_it_says_where_to_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    committed("kafka-8500").write(tmp_path / "found.json")
    assert exit_code("adopt", "found.json") == 64
    assert "no checkout of fencepost; go to one, or name" in capsys.readouterr().err
    assert exit_code("adopt", "found.json", "--into", "mine", "--name", "Mine!") == 64
    assert "'Mine!'" in capsys.readouterr().err
    itf = TRACE_FORMATS["itf"](committed("kafka-8500"))
    (tmp_path / "found.itf.json").write_text(itf, encoding="utf-8")
    assert exit_code("adopt", "found.itf.json", "--into", "mine", "--name", "mine") == 0
    assert (tmp_path / "mine" / "adopted" / "mine.json").is_file()
    assert exit_code("adopt", "found.json", "--into", "mine") == 64


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text('{"format": "something"}')
    with pytest.raises(TraceFileError, match="name the folder of a corpus"):
        corpus_here(tmp_path, tmp_path)
    assert corpus_here(None, CORPUS).folder == CORPUS
