from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fencepost.model.coordinator import MIGRATION_POLICY, NAMED_VALUES, Answer, Send
from fencepost.model.history.events import (
    Answered,
    Disconnected,
    Event,
    Handled,
    Moved,
    Passed,
    Restarted,
    Sent,
    TopicsDeleted,
)
from fencepost.properties.judging.trace_verdict import Expected, TraceVerdict
from fencepost.properties.oracle.verdict import Wrong
from fencepost.traces.files.text_files import ReportError
from fencepost.traces.files.trace_file import SCHEMA_FILE, TraceFile, TraceFileError

BEAT = {"groupId": "g", "generationId": 1, "memberId": "nobody", "groupInstanceId": None}
REQUEST = Send("r1", "A1", "app", "Heartbeat", 4, BEAT)
UNKNOWN_MEMBER_ID = 25


def trace(*rest: Event, code: int = 0) -> TraceFile:
    events = (
        Sent(0, REQUEST, 0),
        Answered(Answer("r1", 0, {"errorCode": code})),
        Handled(0),
        *rest,
    )
    return TraceFile(
        revision="kafka-4",
        case="HEARTBEAT-GROUP-ABSENT/x",
        clock="virtual",
        lag_ms=0,
        config={"group.max.size": None, "group.initial.rebalance.delay.ms": 0},
        plan=None,
        events=events,
        senders={"r1": "A1"},
        names={},
        verdict=TraceVerdict(
            "violated",
            "MUST",
            "ANSWER",
            "RULE",
            ("RULE",),
            "r1",
            (Expected({"errorCode": UNKNOWN_MEMBER_ID}, "RULE", "errorCode is …"),),
            {"errorCode": code},
            "why",
            "said",
        ),
        provenance={"tool": "0.1.0", "seed": 3, "target": None},
    )


EVERYTHING = (
    Sent(5, Send("r2", "c2", "app", "Heartbeat", 4, BEAT), 9),
    Answered(Answer("r2", 12, None, ("the connection was reset",))),
    Passed(20),
    Disconnected(21, "A1", ("r3",)),
    Restarted(22, 25, ("r4", "r5")),
    Moved(25, 26, (), 26),
    TopicsDeleted(26, ("own", "other"), 29),
)


def test_it_comes_back_as_it_was() -> None:
    written = trace(*EVERYTHING)
    read = TraceFile.from_json(json.loads(written.text()))
    assert read.history() == list(written.events)
    assert (read.verdict, read.provenance) == (written.verdict, written.provenance)
    assert read.senders == {"r1": "A1", "r2": "c2"}


def test_it_is_the_same_bytes_when_written_twice(tmp_path: Path) -> None:
    written = trace(*EVERYTHING)
    written.write(tmp_path / "a.json")
    TraceFile.read(tmp_path / "a.json").write(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_the_schema_is_one_and_allows_what_is_written() -> None:
    schema = json.loads(SCHEMA_FILE.read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(trace(*EVERYTHING).to_json())
    policy = schema["properties"]["config"]["properties"][MIGRATION_POLICY]["enum"]
    assert policy[:4] == [*NAMED_VALUES[MIGRATION_POLICY]]


def test_a_policy_is_written_by_name_and_read_by_name_or_number() -> None:
    written = replace(trace(), config={MIGRATION_POLICY: 3}).to_json()
    assert written["config"] == {MIGRATION_POLICY: "bidirectional"}
    for value in ("bidirectional", 3):
        read = TraceFile.from_json({**written, "config": {MIGRATION_POLICY: value}})
        assert read.config == {MIGRATION_POLICY: 3}
    with pytest.raises(TraceFileError, match="sometimes"):
        TraceFile.from_json({**written, "config": {MIGRATION_POLICY: "sometimes"}})


def test_a_lie_is_a_violation_when_judged_again() -> None:
    violation = trace(code=0).judge().violation
    assert violation is not None
    assert (violation.wrong, violation.request_id) == (Wrong.ANSWER, "r1")


def test_the_truth_holds_when_judged_again() -> None:
    verdict = trace(code=UNKNOWN_MEMBER_ID).judge()
    assert verdict.violation is None
    assert verdict.unknown is None


def test_of_an_answer_with_values_of_other_types_the_readable_part_is_kept() -> None:
    """As of an adapter's: it is found wrong, and no page or list stumbles over it."""
    made = document("steps", 1, "body", value={"errorCode": [0], "throttleTimeMs": 0})
    read = TraceFile.from_json(made)
    (answer, _) = (e.answer for e in read.events if isinstance(e, Answered))
    assert answer.body == {"throttleTimeMs": 0}
    assert answer.findings == ("errorCode: is [0], not error",)
    violation = read.judge().violation
    assert violation is not None
    assert violation.wrong is Wrong.SHAPE
    seen = TraceFile.from_json(document("verdict", "observed", value={"errorCode": None}))
    assert seen.verdict.observed == {}


def test_a_revision_that_there_is_not_is_named() -> None:
    document = trace().to_json() | {"revision": "kafka-5000"}
    with pytest.raises(TraceFileError, match=r"\$\.revision"):
        TraceFile.from_json({**document, "revision": "nonesuch"}).judge()


def document(*path: str | int, value: Any) -> Any:
    made = json.loads(trace(*EVERYTHING).text())
    place = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return made


EXPECTED = "$.verdict.expected[0].body"


@pytest.mark.parametrize(
    ("made", "place"),
    [
        ([], "$.format"),
        (document("format", value="itf"), "$.format"),
        (document("version", value=2), "$.version"),
        (document("clock", value="sundial"), "$.clock"),
        (document("more", value=1), "$"),
        (document("lag_ms", value=-1), "$.lag_ms"),
        (document("steps", 0, "do", value="dance"), "$.steps[0].do"),
        (document("steps", 0, "at_ms", value=[1]), "$.steps[0].at_ms"),
        (document("steps", 0, "at_ms", value=[2, 1]), "$.steps[0]"),
        (document("steps", 0, "api", value="Fetch"), "$.steps[0]"),
        (document("steps", 0, "version", value=99), "$.steps[0]"),
        (document("steps", 0, "body", value={"groupId": "g"}), "$.steps[0]"),
        (document("steps", 1, "id", value="r9"), "$.steps[1]"),
        (document("steps", 3, "id", value="r1"), "$.steps[3]"),
        (document("steps", 2, "body", value=None), "$.steps[2]"),
        (document("verdict", "wrong", value="EVIL"), "$.verdict.wrong"),
        (document("verdict", "expected", 0, "body", value={"errorCode": []}), EXPECTED),
        (document("provenance", "seed", value=1.5), "$.provenance.seed"),
    ],
)
def test_what_is_wrong_is_named_with_place_and_remedy(
    tmp_path: Path, made: Any, place: str
) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(made), "utf-8")
    with pytest.raises(TraceFileError) as raised:
        TraceFile.read(path)
    assert str(raised.value).startswith(f"{path}: {place}: ")
    assert raised.value.place == place
    assert raised.value.remedy


@pytest.mark.parametrize(
    ("data", "place"), [(b'{"format": ', "line 1, column"), (b'"\xff"', "byte 1"), (None, "file")]
)
def test_what_can_not_be_read_is_named(tmp_path: Path, data: bytes | None, place: str) -> None:
    path = tmp_path / "trace.json"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(TraceFileError) as raised:
        TraceFile.read(path)
    assert str(raised.value).startswith(f"{path}: {place}")


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none" / "trace.json"
    with pytest.raises(ReportError, match="choose another folder"):
        trace().write(path)
