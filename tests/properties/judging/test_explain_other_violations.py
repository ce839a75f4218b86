"""What is wrong beside a verdict's violation is told in its sentence, and marked in all forms."""

from __future__ import annotations

import csv
import io
import json

from support.runs import KAFKA_4, entries, run

from fencepost.model.coordinator import Provenance
from fencepost.properties.judging.answer_diff import Recording
from fencepost.properties.judging.explain import explain
from fencepost.properties.oracle.verdict import Verdict
from fencepost.traces.files.run_trace import trace_of
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.forms.formats import to_adapter, to_csv
from fencepost.traces.forms.mermaid import to_mermaid
from fencepost.traces.forms.pytest_form import to_pytest
from fencepost.traces.pages.decisions import Decisions
from fencepost.traces.pages.trace_page import PageTrace, trace_json

MUTANT = "mutant:seaweedfs-evicted-entry"
BESIDE = "SESSION-EXPIRED/instance-of-an-expired-member"
"""Its verdict is about step 31; eight answers deviate before."""


def told() -> tuple[Recording, Verdict]:
    return run(next(entry for entry in entries() if entry.id == BESIDE), MUTANT)


def test_what_was_wrong_before_the_verdict_is_told_and_marked() -> None:
    recording, verdict = told()
    explained = explain(verdict, recording, KAFKA_4)
    assert (
        " Also wrong before that: B1's Heartbeat v4 (step 17): errorCode "
        "FENCED_INSTANCE_ID instead of UNKNOWN_MEMBER_ID (rule HEARTBEAT-INSTANCE-UNMAPPED, MUST); "
    ) in explained.sentence
    assert "; and 5 more fields, which the steps mark." in explained.sentence
    places = [n for n, step in enumerate(explained.steps, 1) if step.endswith("← also wrong")]
    assert places == [*range(17, 21), *range(25, 29)]
    (last,) = [n for n, step in enumerate(explained.steps, 1) if step.endswith("← wrong")]
    assert last == 31


def test_all_forms_of_a_trace_mark_what_was_wrong_before_the_verdict() -> None:
    recording, verdict = told()
    made = Provenance("x", "y", "1")
    written = trace_of(recording, verdict, KAFKA_4, made, seed=0, tool_version="0")
    assert TraceFile.from_json(json.loads(written.text())).verdict == written.verdict
    assert len(written.verdict.besides) == 8
    rows = csv.DictReader(io.StringIO(to_csv(written)))
    wrong = [row["request"] for row in rows if row["wrong"] == "yes"]
    assert wrong == [*(b.request for b in written.verdict.besides), written.verdict.request]
    assert to_adapter(written).count("# also wrong: ") == 8
    assert to_mermaid(written).count("also wrong: ") == 8
    asserted = to_pytest(written)
    assert asserted.count("'error_code': 25") + asserted.count("answers_otherwise('") >= 8
    data = trace_json(PageTrace(written, "x.json", "x"), Decisions(KAFKA_4))
    assert sum(step.get("also", False) for step in data["steps"]) == 8
    assert sum(line.endswith("← also wrong") for line in data["lines"]) == 8
