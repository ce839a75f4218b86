"""Each case of the consumer protocol has each form of a trace, whatever it names and lists."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.cases.consumer.consumer_script import ConsumerScript
from fencepost.conformance.cases.suites import find_suite
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.run.replay import sound_trace
from fencepost.conformance.targets.target_registry import TargetOptions, find_target
from fencepost.model.history.events import Event, Sent
from fencepost.model.messages.consumer_messages import CONSUMER_APIS
from fencepost.model.messages.streams_messages import STREAMS_APIS
from fencepost.model.revisions import revisions
from fencepost.traces.files.trace_file import TraceFile, TraceFileError
from fencepost.traces.forms.formats import TRACE_FORMATS

LIBRARY = "pytest"
"""The form that sends requests by a library, which has not all of them."""
BEYOND_LIBRARY = {*CONSUMER_APIS, *STREAMS_APIS, "TxnOffsetCommit"}


def traces_of(name: str, cases: Sequence[Entry] = ()) -> list[TraceFile]:
    revision = revisions.find(name)
    target = find_target(f"model:{name}", TargetOptions())
    cases = cases or find_suite("catalogue", revision).entries
    report = asyncio.run(certify(target, revision, cases, Options()))
    traces = (sound_trace(result, revision, report.provenance) for result in report.results)
    return [trace for trace in traces if trace is not None]


@pytest.mark.parametrize("name", ["consumer-4.4", "streams-4.4"])
def test_each_case_has_each_form(name: str) -> None:
    traces = traces_of(name)
    made: Counter[str] = Counter()
    for trace in traces:
        for form, make in TRACE_FORMATS.items():
            if form == LIBRARY and any(api_of(e) in BEYOND_LIBRARY for e in trace.events):
                with pytest.raises(TraceFileError, match=r"kafka-python can't send|transaction"):
                    make(trace)
            else:
                made[form] += bool(make(trace))
    others = TRACE_FORMATS.keys() - {LIBRARY}
    assert {form: made[form] for form in others} == dict.fromkeys(others, len(traces))


def api_of(event: Event) -> str:
    return event.request.api if isinstance(event, Sent) else ""


STORIES = ConsumerScript.registry()


@STORIES.case("CG-COMMIT-GROUP-NOT-FOUND")
def commit_by_an_id(s: ConsumerScript) -> None:
    """A commit of nobody names a topic by its id."""
    s.commit("x", member_id="", epoch=-1, version=10)
    s.commit("x", member_id="x", epoch=1, version=10)


def test_a_commit_by_the_id_of_a_topic_has_a_pytest_form() -> None:
    """Its trace has no heartbeat, so kafka-python can send each request."""
    (trace,) = traces_of("consumer-4.4", STORIES.entries)
    form = TRACE_FORMATS[LIBRARY](trace)
    assert "topic_id" in form
    assert "{'t': 1}" in form
