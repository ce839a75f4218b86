"""Replay: check whether a trace still has the same verdict today.

Two verdicts are the same if the outcome is, and for a violation also the request, the way in which
its answer is wrong, and the rule.  Without a target the recorded history is judged again; with a
target the recorded plan is run against it.  Each has its own sentence, since words may change, too.

An audit of trace files judges each as a whole, since it begins with its groups, by the revision
that the file names unless the caller chooses another.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from fencepost.conformance.cases.case_registry import as_entry
from fencepost.conformance.run.certify import Options, open_target
from fencepost.conformance.targets.target import Target
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.consumer.settings import ASSIGNMENT_INTERVAL, SESSION_TIMEOUT
from fencepost.model.coordinator import Provenance
from fencepost.model.history.events import Sent
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.messages import groups_of
from fencepost.model.plans.plan_order import DELAY
from fencepost.model.plans.spelling import read_plan
from fencepost.model.revision import Revision
from fencepost.properties.judging.explain import sentence
from fencepost.properties.judging.outcome import CaseResult, Outcome, graded
from fencepost.properties.judging.trace_verdict import TraceVerdict
from fencepost.properties.oracle.fingerprint import broken_rule
from fencepost.properties.oracle.oracle import judge
from fencepost.properties.oracle.verdict import Verdict, Violation
from fencepost.traces.audit.audit_results import EXPLAINED, UNKNOWN, VIOLATED
from fencepost.traces.files.bounded import own_version
from fencepost.traces.files.run_trace import recording_of, trace_of
from fencepost.traces.files.text_files import write_texts
from fencepost.traces.files.trace_file import TraceFile, TraceFileError
from fencepost.traces.pages.trace_page import PageTrace, trace_page

EXIT_SAME, EXIT_OTHER = 0, 1


@dataclass(frozen=True, slots=True)
class Replayed:
    """The verdict that the file records, and today's.

    `shows`: the subject of which the run is an example, "" where it is none.  An example's verdict
    is about the answers alone, and its message is about the subject.
    """

    recorded: TraceVerdict
    today: TraceVerdict
    shows: str = ""

    @property
    def same(self) -> bool:
        """Return True if the two verdicts agree."""
        return _essence(self.recorded) == _essence(self.today)

    def exit_code(self) -> int:
        """Return 0 if the two verdicts agree."""
        return EXIT_SAME if self.same else EXIT_OTHER

    def text(self) -> str:
        """Return the comparison in a line, then both verdicts."""
        recorded = self.recorded
        lines = [f"the same verdict: {self.today.outcome}"]
        if not self.same:
            lines = [f"another verdict: {self.today.outcome}, recorded {recorded.outcome}"]
        if self.shows:
            lines.append(f"the run shows ({self.shows}): {recorded.message}")
            recorded = replace(recorded, message="Each answer is one that the revision gives.")
        if _words(recorded) == _words(self.today):
            lines.append(f"recorded and today: {_words(recorded)}")
        else:
            lines += [f"recorded: {_words(recorded)}", f"today:    {_words(self.today)}"]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return both verdicts for programs."""
        return {
            "same": self.same,
            "recorded": dict(zip(_ESSENTIAL, _essence(self.recorded), strict=True)),
            "today": dict(zip(_ESSENTIAL, _essence(self.today), strict=True)),
            "message": self.today.message,
            "recorded_message": self.recorded.message,
        }


_ESSENTIAL = ("outcome", "request", "wrong", "rule")


def _essence(verdict: TraceVerdict) -> tuple[object, ...]:
    return tuple(getattr(verdict, name) for name in _ESSENTIAL)


def _words(verdict: TraceVerdict) -> str:
    return f"{verdict.outcome}. {verdict.message}".rstrip(" .") + "."


def _shows(trace: TraceFile) -> str:
    """Return the subject of which a run of the model is an example, by its provenance."""
    return str(trace.provenance.get("shows") or "") if trace.verdict.outcome == "holds" else ""


def rejudge(trace: TraceFile) -> Replayed:
    """Judge the recorded history again, by the revision that the file names."""
    verdict = trace.judge()
    today = _today_of(trace, verdict)
    if verdict.violation is None:
        return Replayed(trace.verdict, replace(today, message=verdict.unknown or ""), _shows(trace))
    revision = find_revision(trace.revision)
    recording = recording_of(replace(trace, plan=None))  # no sentence needs the plan
    message = sentence(graded(verdict, recording, revision), recording, revision)
    return Replayed(trace.verdict, replace(today, message=message), _shows(trace))


def _today_of(trace: TraceFile, verdict: Verdict) -> TraceVerdict:
    """Return a verdict of the recorded history as one of the file, without its sentence."""
    outcome = _outcome(verdict)
    if trace.verdict.outcome == "unknown" and outcome == "holds":
        outcome = "unknown"  # a second judgement of it decides nothing
    today = replace(trace.verdict, outcome=outcome, message="")
    violation = verdict.violation
    if violation is None:
        return replace(today, request=None, wrong=None, rule=None)
    name = _rule_of(trace, violation)
    return replace(today, request=violation.request_id, wrong=violation.wrong.name, rule=name)


def _rule_of(trace: TraceFile, violation: Violation) -> str | None:
    """Return the rule that a violation breaks: that of the file, where it is right, too."""
    right = {allowed.rule for allowed in violation.allowed}
    if violation.wait is not None:
        right.update(violation.decided_by)  # an older file names the rule that received it
    if trace.verdict.rule in right:
        return trace.verdict.rule  # by a smaller lag than the file's; right by both
    rule = broken_rule(violation, find_revision(trace.revision))
    return None if rule is None else rule.id


def _outcome(verdict: Verdict) -> str:
    if verdict.violation is not None:
        return "violated"
    return "unknown" if verdict.unknown is not None else "holds"


def sound_trace(
    result: CaseResult, revision: Revision, provenance: Provenance, *, seed: int = 0
) -> TraceFile | None:
    """Return the trace of a result, such that judging it again gives the same verdict.

    None where nothing was recorded.  On a real clock a verdict may combine two values of lag, and a
    file holds one.  If the verdicts differ for this reason, the file gets the verdict by its own
    lag.
    """
    recording = result.recording
    if recording is None:
        return None

    def trace(verdict: Verdict | None) -> TraceFile:
        return trace_of(
            recording, verdict, revision, provenance, seed=seed, tool_version=own_version()
        )

    first = trace(result.verdict)
    if Replayed(first.verdict, _today_of(first, first.judge())).same:
        return first
    lag_ms = recording.lag_ms
    return trace(judge(revision, recording.config, recording.history, lag_ms=lag_ms).verdict())


async def replay_trace(trace: TraceFile, target: Target) -> Replayed:
    """Run the recorded plan against a target, with the recorded initial delay if it can be chosen.

    Raises TraceFileError if the file has no plan.
    """
    if trace.plan is None:
        raise TraceFileError(
            "the trace", "plan", "is null", "replay it without a target, or record it again"
        )
    case = read_plan(dict(trace.plan))
    async with open_target(target, find_revision(trace.revision), Options()) as suite:
        if suite.chooses_settings and DELAY in trace.config:
            config = {DELAY: trace.config[DELAY], **case.needs.config}
            case = structs.replace(case, needs=structs.replace(case.needs, config=config))
        kept = {key: trace.config[key] for key in _OF_CONSUMERS if key in trace.config}
        (result,) = suite.set_ups.with_refusals(await suite.run([as_entry(case, kept)]))
        return Replayed(trace.verdict, _today(trace, result, target.provenance()))


def _today(trace: TraceFile, result: CaseResult, provenance: Any) -> TraceVerdict:
    if result.recording is None:
        outcome = "violated" if result.outcome is Outcome.FAIL else "unknown"
        return replace(
            trace.verdict,
            outcome=outcome,
            request=None,
            wrong=None,
            rule=None,
            message=result.message,
        )
    today = trace_of(
        result.recording,
        result.verdict,
        find_revision(trace.revision),
        provenance,
        seed=0,
        tool_version=own_version(),
        message=result.message,
    ).verdict
    if (violation := result.violation) is None:
        return today
    today = replace(today, rule=_rule_of(trace, violation))
    if result.outcome is Outcome.UNKNOWN:
        return replace(today, outcome="unknown")  # the violation doesn't count against the target
    return today


_OF_CONSUMERS = (SESSION_TIMEOUT, ASSIGNMENT_INTERVAL)
"""Settings of the consumer protocol that cases choose, and a replay keeps."""

_OUTCOMES = {"holds": EXPLAINED, "violated": VIOLATED, "unknown": UNKNOWN}


@dataclass(frozen=True, slots=True)
class AuditedTrace:
    """A trace and its verdict."""

    path: Path
    trace: TraceFile

    @property
    def outcome(self) -> str:
        """Return `explained`, `violated` or `unknown`."""
        return _OUTCOMES[self.trace.verdict.outcome]

    def to_json(self) -> dict[str, Any]:
        """Return the row of the report."""
        verdict = self.trace.verdict
        return {
            "file": self.path.name,
            "revision": self.trace.revision,
            "outcome": self.outcome,
            "request": verdict.request,
            "rule": verdict.rule,
            "message": verdict.message,
        }

    def line(self) -> str:
        """Return a line of text."""
        result = f"{self.path.name}: {self.outcome} by {self.trace.revision}"
        return f"{result}. {self.trace.verdict.message}".rstrip(" .") + "."


def audit_traces(
    paths: Iterable[Path], revision: str | None, groups: frozenset[str]
) -> list[AuditedTrace]:
    """Judge the traces that name one of the groups; without groups, all of them.

    `revision`: judges instead of the revision that the file names.  Raises TraceFileError.
    """
    audited = []
    for path in paths:
        trace = TraceFile.read(path)
        if groups and not groups & _groups(trace):
            continue
        if revision is not None:
            trace = replace(trace, revision=revision)
        audited.append(AuditedTrace(path, replace(trace, verdict=rejudge(trace).today)))
    return audited


def worst(audited: Sequence[AuditedTrace]) -> str:
    """Return the worst outcome of these traces."""
    outcomes = {row.outcome for row in audited}
    return next((o for o in (VIOLATED, UNKNOWN) if o in outcomes), EXPLAINED)


def traces_json(audited: Sequence[AuditedTrace]) -> str:
    """Return all rows as JSON."""
    return json.dumps({"traces": [row.to_json() for row in audited]}, indent=1)


def write_traces(audited: Sequence[AuditedTrace], folder: Path) -> None:
    """Write the files of `--report`."""
    pages = [PageTrace(row.trace, row.path.stem, str(row.path)) for row in audited]
    texts = {
        "audit.json": traces_json(audited) + "\n",
        "audit.txt": "".join(row.line() + "\n" for row in audited),
        "index.html": trace_page(pages),
    }
    write_texts(texts, folder, "--report")


def _groups(trace: TraceFile) -> set[str]:
    names: set[str] = set()
    for event in trace.events:
        if isinstance(event, Sent):
            request = event.request
            message = ALL_APIS[request.api].request.from_body(dict(request.body), request.version)
            names.update(groups_of(message, request.version) or ())
    return names
