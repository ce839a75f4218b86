"""The pytest form does its work: it passes against the model, and fails against the mutant."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

import pytest
from support.committed import ROWS, committed
from support.pasted import PASSED, run_pasted

from fencepost.model.coordinator import Send
from fencepost.model.history.events import Sent
from fencepost.model.messages.draft_messages import TWO_LIST
from fencepost.properties.judging.trace_verdict import Expected, TraceVerdict
from fencepost.traces.files.trace_file import TraceFile, TraceFileError
from fencepost.traces.forms.pytest_form import Literals, to_pytest

QUICK = (
    "kafka-8500",
    "librdkafka-mock-never-fences",
    "deletion-keeps-offsets",
    "zombie-commits",
    "zombie-join-unknown",
    "leave-in-new-shape",
    "deleted-group-stays",
    "unread-offsets-undeletable",
)


@pytest.mark.parametrize("name", QUICK)
def test_it_tells_the_model_from_the_mutant(name: str) -> None:
    trace = committed(name)
    assert run_pasted(trace, "kafka-4") == PASSED
    said = run_pasted(trace, f"mutant:{name}")
    assert said.startswith(("AssertionError: ", "ValueError: ", "IndexError: ")), said


@pytest.mark.parametrize("name", ["full-group", "pending-leave", "protocol-twice"])
def test_what_a_kafka_gets_wrong_the_model_does_right(name: str) -> None:
    assert run_pasted(committed(name), "kafka-4") == PASSED


def test_it_is_skipped_without_kafka_python(monkeypatch: pytest.MonkeyPatch) -> None:
    text = to_pytest(committed("kafka-8500"))
    assert "group.max.size=no limit" in text
    monkeypatch.setitem(sys.modules, "kafka", None)
    with pytest.raises(pytest.skip.Exception, match="could not import 'kafka'"):
        exec(text, {"__name__": "pasted"})


def test_an_early_answer_that_is_due_at_once_is_written_as_that_answer() -> None:
    early = committed("no-initial-delay")
    assert "broker.waits('A1')" in to_pytest(early)
    due = Expected(
        {**(early.verdict.observed or {}), "generationId": 2}, "JOIN-PHASE-DELAY-OVER", ""
    )
    at_once = replace(early, verdict=replace(early.verdict, expected=(due,)))
    text = to_pytest(at_once)
    assert "broker.waits('A1')" not in text
    assert "'generation_id': Gen(2)" in text


def test_the_metadata_of_an_offset_are_a_text() -> None:
    literals = Literals(committed("kafka-8500"))
    offset = {"partitionIndex": 0, "committedOffset": 7, "metadata": "naïve"}
    assert literals.body(offset).endswith("'committed_offset': 7, 'metadata': 'naïve'}")
    assert literals.body({"memberId": "", "metadata": "YQ=="}).endswith("'metadata': b'a'}")


def test_topics_are_made_before_they_are_needed() -> None:
    text = to_pytest(committed("deletion-removes-all-offsets"))
    assert "        broker.create({'t': 1, 'own': 1})\n" in text.partition("broker.send")[0]
    assert "broker.create(" not in to_pytest(committed("kafka-8500"))


def test_without_a_broker_it_is_skipped() -> None:
    assert "BROKER" not in os.environ
    text = to_pytest(committed("kafka-8500"))
    assert "set BROKER=HOST:PORT" in text
    assert "group.initial.rebalance.delay.ms=1000" in text


@pytest.mark.parametrize(
    ("api", "why"),
    [
        (TWO_LIST, "never was in a release"),
        ("ConsumerGroupHeartbeat", "kafka-python can't send"),
        ("TxnOffsetCommit", "needs a transaction around it"),
    ],
)
def test_what_a_pasted_test_can_not_send_is_refused(api: str, why: str) -> None:
    request = Send("r1", "a", "a", api, 0, {})
    trace = TraceFile(
        "kafka-4", None, "virtual", 0, {}, None, (Sent(0, request),), {}, {}, TraceVerdict("holds")
    )
    with pytest.raises(TraceFileError, match=why):
        to_pytest(trace)


def test_all_findings_have_one_too() -> None:
    for row in ROWS:
        if row["kind"] == "finding":
            assert "def test_" in to_pytest(committed(row["name"]))
