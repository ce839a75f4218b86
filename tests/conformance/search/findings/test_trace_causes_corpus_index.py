"""The corpus: whole, and what it says is still so; every form of every trace can be made."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import itf_py
import pytest
from jsonschema import Draft202012Validator
from support.committed import CORPUS, INDEX, NAMES, ROWS, committed
from support.make_corpus import entries, trace_of_mutant
from support.places import ROOT

from fencepost.conformance.run.replay import rejudge
from fencepost.conformance.search.findings.trace_causes import SCHEMA, CorpusIndex
from fencepost.conformance.serve.adapter import serve
from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.conformance.targets.stdio.protocol_schemas import check_command, check_reply
from fencepost.model.history.events import Sent
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.mutants.mutants import MUTANTS
from fencepost.traces.files.trace_file import TraceFile, TraceFileError
from fencepost.traces.forms.formats import COLUMNS, TRACE_FORMATS
from fencepost.traces.forms.itf import from_itf_json, to_itf_json

LARGEST = 3_000_000
REMADE = ("kafka-8500", pytest.param("zombie-commits", marks=pytest.mark.slow))
BUGS = {m.source for m in MUTANTS.values() if not m.source.startswith("systematic")}

each = pytest.mark.parametrize("name", NAMES)


def test_the_index_says_what_there_is() -> None:
    Draft202012Validator(SCHEMA.schema()).validate(INDEX)
    assert CorpusIndex.of(entries()).plain() == INDEX
    assert json.loads(CorpusIndex.of(reversed([*entries()])).text()) == INDEX
    kinds = {kind: {r["name"] for r in ROWS if r["kind"] == kind} for kind in ("mutant", "finding")}
    assert kinds["mutant"] == set(MUTANTS)
    assert kinds["finding"] == {p.stem for p in (ROOT / "docs" / "findings").glob("*.json")}
    assert {row["bug"] for row in ROWS} >= BUGS
    assert len(set(NAMES)) == len(NAMES)


def test_it_is_small_and_holds_nothing_else() -> None:
    files = [path for path in CORPUS.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < LARGEST
    listed = {row["file"] for row in ROWS} | {"traces/corpus/index.json"}
    assert {path.relative_to(ROOT).as_posix() for path in files} <= listed


@each
def test_its_verdict_is_the_same_today(name: str) -> None:
    trace = committed(name)
    assert trace.verdict.outcome in {"violated", "holds"}
    assert rejudge(trace).same


def test_a_trace_with_another_verdict_is_seen() -> None:
    trace = committed("kafka-8500")
    other = replace(trace, verdict=replace(trace.verdict, rule="HEARTBEAT-STABLE"))
    assert not rejudge(other).same


@pytest.mark.parametrize("name", REMADE)
def test_it_is_what_the_generator_makes(name: str) -> None:
    made, kept = trace_of_mutant(MUTANTS[name]), committed(name)
    assert made.events == kept.events
    assert made.verdict == kept.verdict


# Its forms.


@each
def test_itf_comes_back_byte_by_byte(name: str) -> None:
    trace = committed(name)
    document = to_itf_json(trace)
    assert from_itf_json(json.loads(json.dumps(document))).text() == trace.text()
    theirs = itf_py.trace_to_json(itf_py.trace_from_json(document))
    assert from_itf_json(json.loads(json.dumps(theirs))).text() == trace.text()


STATEMENT = re.compile(
    r"\s*(sequenceDiagram|(accTitle|accDescr): [^;#]*(#\d+;[^;#]*)*"
    r"|participant \w+ as [^;]+|\w+(->>|-->>|--x)\w+: .+"
    r"|Note (over \w+(,\w+)?|left of \w+): .+|rect rgba\([\d., ]+\)|loop .+|end)"
)


@each
def test_mermaid_has_only_statements_that_there_are(name: str) -> None:
    lines = TRACE_FORMATS["mermaid"](committed(name)).splitlines()
    assert lines[0] == "sequenceDiagram"
    for line in lines:
        assert STATEMENT.fullmatch(line), line
        text = line.partition(": ")[2]
        assert ";" not in re.sub(r"#\w+;", "", text), line
    is_violated = committed(name).verdict.outcome == "violated"
    assert sum("VIOLATED" in line for line in lines) == is_violated
    opened = sum(line.strip().startswith(("rect", "loop")) for line in lines)
    assert opened == sum(line.strip() == "end" for line in lines)


@each
def test_csv_has_a_row_for_each_step(name: str) -> None:
    trace = committed(name)
    rows = list(csv.DictReader(io.StringIO(TRACE_FORMATS["csv"](trace))))
    assert list(rows[0]) == list(COLUMNS)
    assert [int(row["step"]) for row in rows] == [*range(1, len(trace.events) + 1)]
    wrong = 1 + len(trace.verdict.besides)
    assert sum(row["wrong"] == "yes" for row in rows) <= wrong


@each
def test_pytest_compiles_and_has_one_test(name: str) -> None:
    trace = committed(name)
    if any(isinstance(e, Sent) and e.request.api == "TxnOffsetCommit" for e in trace.events):
        with pytest.raises(TraceFileError, match="needs a transaction around it"):
            TRACE_FORMATS["pytest"](trace)
        return
    text = TRACE_FORMATS["pytest"](trace)
    functions = [n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]
    assert sum(function.startswith("test_") for function in functions) == 1
    assert "import fencepost" not in text
    compile(text, name, "exec")


@each
def test_what_is_said_in_the_adapter_form_is_the_protocol(name: str) -> None:
    for command, reply in exchanges(committed(name)):
        named = check_command(command)
        if reply is not None:
            check_reply(named, reply)


@pytest.mark.parametrize("name", [row["name"] for row in ROWS if row["kind"] == "mutant"])
def test_fed_by_hand_a_mutant_answers_as_recorded(name: str) -> None:
    told = exchanges(committed(name))
    typed = "".join(json.dumps(command) + "\n" for command, _ in told)
    replies = io.BytesIO()
    coordinator = ModelCoordinator(find_revision(f"mutant:{name}"))
    serve(coordinator, io.BytesIO(typed.encode()), replies)
    got = [json.loads(line) for line in replies.getvalue().splitlines()]
    for (command, reply), answered in zip(told, got, strict=True):
        if command["cmd"] not in {"hello", "reset"}:
            assert answered == reply, command


def exchanges(trace: TraceFile) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Commands and their replies (None: not recorded) of the adapter form."""
    found: list[tuple[dict[str, Any], dict[str, Any] | None]] = []
    for line in TRACE_FORMATS["adapter"](trace).splitlines():
        mark, _, said = line.partition(" ")
        if mark == "→":
            found.append((json.loads(said), None))
        elif mark == "←":
            found[-1] = (found[-1][0], json.loads(said))
    return found


def test_made_twice_each_form_is_the_same_in_another_process_too(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    committed("kafka-9801").write(path)
    program = (
        "import json, sys; from pathlib import Path; from fencepost.traces.forms.formats import *; "
        "trace = read_trace(Path(sys.argv[1])); "
        "json.dump({name: form(trace) for name, form in TRACE_FORMATS.items()}, sys.stdout)"
    )
    again = subprocess.run(
        [sys.executable, "-c", program, path], check=True, capture_output=True, timeout=120
    ).stdout
    made = {name: form(committed("kafka-9801")) for name, form in TRACE_FORMATS.items()}
    assert json.loads(again) == made
