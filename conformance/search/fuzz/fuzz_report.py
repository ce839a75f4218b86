"""Report a fuzz run: lines for people, JSON for programs, and a folder with a page and traces.

On a virtual clock all of it is the same for the same seed, so how long a run took is reported only
where the clock is real.  The page is made from the JSON of the run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from fencepost.conformance.search.findings.findings import PlanFinding
from fencepost.conformance.search.findings.trace_causes import cause_sentence
from fencepost.conformance.search.fuzz.earlier_run import (
    FILE,
    FORMAT,
    VERSION,
    CoverageRow,
    FindingRow,
    FuzzDocument,
)
from fencepost.conformance.search.fuzz.fuzz import FuzzResult
from fencepost.conformance.search.fuzz.tally import Tally
from fencepost.model.consumer.settings import ALL_SETTINGS
from fencepost.model.coordinator import named
from fencepost.model.history.words import first_names, how_often, made_by, plural, verdict_line
from fencepost.model.revision import Revision
from fencepost.properties.judging.outcome import Outcome
from fencepost.traces.files.text_files import file_inside, trace_name, write_texts
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.report.certificate_data import FindingEntry, FindingSection
from fencepost.traces.report.report_writer import FindingsPage, PlainReport, write_report

_LONGEST_LIST = 12
_BUSY = 0.8
"""From this share of the cores on, they are the limit."""


def fuzz_document(fuzzed: FuzzResult) -> FuzzDocument:
    """Make the document of a run."""
    tally, provenance, new = fuzzed.tally, fuzzed.provenance, fuzzed.findings
    document = FuzzDocument(
        format=FORMAT,
        format_version=VERSION,
        target=provenance.target,
        implementation=provenance.implementation,
        version=provenance.version,
        revision=fuzzed.revision.name,
        seed=fuzzed.seed,
        clock=fuzzed.clock,
        exit_code=fuzzed.exit_code(),
        plans=tally.plans,
        requests=tally.requests,
        outcomes={outcome.value: n for outcome in Outcome if (n := tally.outcomes[outcome])},
        unknown=dict(sorted(tally.unknown.items())),
        died=tally.died,
        gave_up=fuzzed.gave_up,
        stopped=fuzzed.stopped,
        ended=fuzzed.ended,
        settings=dict(sorted(tally.settings.items())),
        events=dict(sorted(tally.events.items())),
        sent=dict(sorted(tally.words.items())),
        coverage=CoverageRow(
            rules=tuple(sorted(tally.covered.rules)),
            pairs=len(tally.covered.pairs),
            states=len(tally.covered.states),
            never=tuple(fuzzed.never),
            unreachable=dict(sorted(fuzzed.unreachable.items())),
        ),
        findings=tuple(_row(finding, fuzzed) for finding in new.findings),
        flaky=tuple(_row(finding, fuzzed) for finding in new.flaky),
        unconfirmed=tuple(_row(finding, fuzzed) for finding in new.unconfirmed),
        known=dict(sorted(fuzzed.known.items())),
        known_findings=tuple(
            replace(_row(finding, fuzzed), known=finding.known) for finding in fuzzed.listed
        ),
        before=UNSET if fuzzed.since is None else fuzzed.since.row(),
    )
    if fuzzed.clock != "real":
        return document
    return replace(
        document,
        seconds=round(tally.seconds, 1),
        requests_per_second=round(rate(tally)),
        processor_seconds={work: round(s, 1) for work, s in tally.spent.items()},
        target_processor_seconds=tally.theirs and round(tally.theirs, 1),
        plans_at_once=round(at_once(tally), 1),
    )


def _row(finding: PlanFinding, fuzzed: FuzzResult) -> FindingRow:
    return FindingRow(
        case=finding.case.id,
        rule=finding.fingerprint.rule,
        level=finding.result.level.value,
        shape=str(finding.fingerprint),
        message=finding.sentence,
        cause=finding.fingerprint.cause,
        seen=finding.occurrences,
        first=finding.first.id,
        failed=finding.failed,
        runs=finding.runs,
        tried=finding.tried,
        is_minimal=finding.is_minimal,
        trace=trace_name(finding.case.id) if finding.case.id in fuzzed.traces else None,
        status=UNSET if fuzzed.since is None else fuzzed.since.status_of(finding),
    )


def rate(tally: Tally) -> float:
    """Count requests per second."""
    return tally.requests / tally.seconds if tally.seconds else 0.0


def effort(tally: Tally) -> str:
    """Describe the processor time of a request: our own, and the target's."""
    whole = sum(tally.spent.values())
    shares = ", ".join(f"{100 * s / (whole or 1):.0f} % {w}" for w, s in tally.spent.items())
    seconds = tally.seconds or 1
    theirs = ""
    if tally.theirs:
        ms = 1000 * tally.theirs / tally.requests
        theirs = f"; the target's: {ms:.1f} ms a request, {tally.theirs / seconds:.2f} of a core"
    return (
        f"our own processor time: {1000 * whole / tally.requests:.1f} ms a request ({shares}), "
        f"{whole / seconds:.2f} of a core{theirs}"
    )


def at_once(tally: Tally) -> float:
    """Count the plans under way, on average."""
    return tally.lived / (tally.seconds or 1)


def limit(tally: Tally, cores: int) -> str:
    """Explain the rate of requests: limited by the processors, or by plans that wait."""
    busy = (sum(tally.spent.values()) + (tally.theirs or 0.0)) / (tally.seconds or 1)
    if busy >= _BUSY * cores:
        return f"limited by the processors: {busy:.1f} of {cores} cores were busy with it"
    each = tally.lived / (tally.plans or 1)
    return (
        f"limited by the waits of plans (timeouts, answers): {at_once(tally):.0f} were under way "
        f"at once, {each:.0f} s each; {busy:.2f} of {cores} cores were busy with it"
    )


def _sent(requests: int, plans: int) -> str:
    return f"{plural(requests, 'request')} in {plural(plans, 'plan')}"


def progress_line(tally: Tally) -> str:
    """Write the counts of a run so far, in a line."""
    covered = tally.covered
    failed = f", {plural(len(tally.failures), 'kind')} of failure" if tally.failures else ""
    return (
        f"{_sent(tally.requests, tally.plans)}: {plural(len(covered.rules), 'rule')}, "
        f"{plural(len(covered.pairs), 'pair')}, {plural(len(covered.states), 'state')}{failed}"
    )


def lines(fuzzed: FuzzResult) -> Iterator[str]:
    """Describe a run for people: the verdict, counts, the findings, and the coverage."""
    yield _verdict(fuzzed)
    yield ""
    yield from _counts(fuzzed)
    findings = [each for each in fuzzed.everything if not each.is_only_counted]
    for number, finding in enumerate(findings, start=1):
        status = "" if fuzzed.since is None else fuzzed.since.status_of(finding)
        yield from finding_lines(number, finding, fuzzed.revision, status)
    yield ""
    yield from _coverage_lines(fuzzed)


def finding_line(finding: PlanFinding, status: str = "") -> str:
    """Describe a finding in a line, as it comes.  `status`: since an earlier run."""
    return f"{_kind(finding, status)}: {finding.fingerprint}"


def _counts(fuzzed: FuzzResult) -> Iterator[str]:
    """Write the table: revision, seed, plans with their outcomes, and the end of the search."""
    tally = fuzzed.tally
    speed = ""
    if fuzzed.clock == "real":
        speed = f" in {tally.seconds:.0f} s, {rate(tally):.0f} per second"
    outcomes = ", ".join(f"{tally.outcomes[o]} {o.value}" for o in Outcome if tally.outcomes[o])
    provenance, since = fuzzed.provenance, fuzzed.since
    rows = {
        "target": made_by(provenance.implementation, provenance.version),
        "judged by": f"{fuzzed.revision.name}, seed {fuzzed.seed}",
        "sent": f"{_sent(tally.requests, tally.plans)}{speed}",
        "plans": outcomes,
        "ended": fuzzed.gave_up or ("stopped early" if fuzzed.stopped else fuzzed.ended),
        "died": how_often(tally.died) if tally.died else "",
        "since the run before": "" if since is None else since.counts(),
    }
    width = max(len(name) for name, value in rows.items() if value)
    for name, value in rows.items():
        if value:
            yield f"{name:{width}}  {value}"
    for bug in () if since is None else since.unobserved:
        yield f"not seen this time: {bug.cause or bug.shape} (last in run {bug.last_run})"


def _coverage_lines(fuzzed: FuzzResult) -> Iterator[str]:
    """Describe effort and coverage, and the reasons of undecided and known plans."""
    tally = fuzzed.tally
    if fuzzed.clock == "real" and tally.requests:
        yield effort(tally)
        yield limit(tally, os.cpu_count() or 1)
    for kind, counts in (("settings", tally.settings), ("events", tally.events)):
        if counts:
            rows = "; ".join(f"{n} {word}" for word, n in counts.most_common())
            yield f"plans by {kind}: {rows}"
    covered = tally.covered
    least = len(fuzzed.never) + len(covered.rules)
    yield (
        f"covered: {len(covered.rules)} of {least} rules that can be reached, "
        f"{plural(len(covered.pairs), 'pair')} of rules, "
        f"{plural(len(covered.states), 'state')} of a group"
    )
    if fuzzed.never:
        yield f"never reached: {first_names(fuzzed.never, _LONGEST_LIST)}"
    reasons: dict[str, list[str]] = {}
    for rule, why in fuzzed.unreachable.items():
        reasons.setdefault(why, []).append(rule)
    for why, rules in sorted(reasons.items()):
        yield f"can't be reached, {why}: {first_names(rules, _LONGEST_LIST)}"
    for why, plans in sorted(tally.unknown.items()):
        yield f"undecided, {plans}: {why}"
    for why, met in sorted(fuzzed.known.items()):
        yield f"known, {how_often(met)}: {why}"


def finding_lines(
    number: int, finding: PlanFinding, revision: Revision, status: str = ""
) -> Iterator[str]:
    """Describe one finding.  `status`: since an earlier run, "" without one."""
    kind = _kind(finding, status)
    again = f"failed in {finding.failed} of {plural(finding.runs, 'more run')}"
    if not finding.runs:
        again = "not tried again"
    small = "" if finding.is_minimal else "; not minimal"
    yield ""
    often = how_often(finding.occurrences)
    yield f"{kind} {number}: {finding.fingerprint} (seen {often}; {again}{small})"
    if finding.known:
        yield f"Known: {finding.known}."
    yield finding.sentence
    recording = finding.result.recording
    config = {} if recording is None else recording.config
    changed = {k: v for k, v in sorted(config.items()) if v != ALL_SETTINGS.get(k)}
    if changed:
        values = (f"{k}={'no limit' if v is None else v}" for k, v in named(changed).items())
        yield f"Settings: {', '.join(values)}"
    if finding.fingerprint.cause:
        yield cause_sentence(finding.fingerprint.cause)
    for step in finding.steps(revision):
        yield f"  {step}"


def _kind(finding: PlanFinding, status: str = "") -> str:
    sure = ["flaky"] * finding.is_flaky + ["unconfirmed"] * (not finding.runs)
    known = [status] if status else ["known"] * bool(finding.known)
    return " ".join([*known, *sure, "finding"])


def _verdict(fuzzed: FuzzResult) -> str:
    """Return the verdict on one line."""
    new, known = fuzzed.findings, len(fuzzed.listed)
    findings, flaky, unsure = map(len, (new.findings, new.flaky, new.unconfirmed))
    target = (fuzzed.provenance.target,)
    if not new.all and not fuzzed.gave_up:
        return verdict_line(
            target, [f"no new violation found, {known} known" if known else "no violation found"]
        )
    parts = [f"{plural(findings, 'violation')} found"] if findings else []
    parts += [f"{flaky} flaky"] if flaky else []
    parts += [f"{unsure} not confirmed"] if unsure else []
    parts += [f"{known} known"] if known else []
    parts += ["the target could not be kept alive"] if fuzzed.gave_up else []
    words = "; ".join(parts)
    since = "" if fuzzed.since is None else f" (bugs: {fuzzed.since.new_and_open()})"
    return verdict_line(target, [f"{words}{since}", words])


def write_fuzz(fuzzed: FuzzResult, directory: Path) -> None:
    """Write fuzz.json, a page to read and a trace for each finding.  Raises ReportError."""
    kept = {trace_name(case): trace for case, trace in fuzzed.traces.items()}
    if fuzzed.since is not None:
        kept |= fuzzed.since.traces
    content = fuzz_document(fuzzed).plain()
    traces = {name: trace.text() for name, trace in kept.items()}
    page = fuzz_page(content, kept)
    write_report(PlainReport(FILE, content, page, traces, is_escaped=True), directory)


def write_trace(case: str, trace: TraceFile, directory: Path) -> None:
    """Write the trace of one finding.  Raises ReportError."""
    write_texts({trace_name(case): trace.text()}, directory, "--report")


_KINDS = {
    "findings": ("violation", "fail"),
    "flaky": ("flaky violation", "unknown"),
    "unconfirmed": ("unconfirmed violation", "unknown"),
    "known_findings": ("known failure", "known-failure"),
}
_LONGEST = 60_000


def fuzz_page(document: Mapping[str, Any], traces: Mapping[str, TraceFile]) -> FindingsPage:
    """Make the page of a run.  `traces`: by the names of their files."""
    groups = [
        FindingSection(title, outcome, [_row_entry(row) for row in document.get(key, ())])
        for key, (title, outcome) in _KINDS.items()
    ]
    earlier = [row for row in document.get("before", {}).get("bugs", ()) if not row["seen"]]
    groups.append(FindingSection("unseen violation", "unknown", [_entry(row) for row in earlier]))
    made = f"{document['implementation']} {document['version']}".strip()
    counts = ", ".join(
        plural(len(group.findings), group.title) for group in groups if group.findings
    )
    target = document["target"]
    heading = verdict_line((f"{target} ({made})", target), (counts or "no violation found",))
    outcome = ("holds", "violated", "unknown")[document["exit_code"]]
    return FindingsPage(heading, outcome, list(_facts(document)), groups, traces, _LONGEST)


def traces_of(document: Mapping[str, Any], folder: Path) -> dict[str, TraceFile]:
    """Read the traces of a run that lie in a folder.  Raises TraceFileError for a bad one."""
    rows = [row for key in _KINDS for row in document.get(key, ())]
    rows += document.get("before", {}).get("bugs", ())
    names = [row["trace"] for row in rows if row["trace"] is not None]
    files = {name: file_inside(folder, name) for name in names}
    return {n: TraceFile.read(path) for n, path in files.items() if path is not None}


def _row_entry(row: Mapping[str, Any]) -> FindingEntry:
    times = f"seen {how_often(row['seen'])}"
    if row["runs"]:
        times += f"; failed in {row['failed']} of {plural(row['runs'], 'more run')}"
    sentence = row["message"] + (f" Known: {row['known']}." if row.get("known") else "")
    if row.get("cause"):
        sentence += f" {cause_sentence(row['cause'])}"
    times += f"; {row['status']}" if "status" in row else ""
    rule = row["rule"] or "no rule"
    return FindingEntry(row["shape"], rule, row["level"], sentence, times, row["trace"])


def _entry(bug: Mapping[str, Any]) -> FindingEntry:
    """Describe a bug of runs before that was not seen."""
    times = f"last seen in run {bug['last_run']}; {bug['status']}"
    rule = bug["rule"] or "no rule"
    return FindingEntry(bug["shape"], rule, bug["level"], bug["sentence"], times, bug["trace"])


def _facts(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    covered = document["coverage"]
    rules, never = len(covered["rules"]), len(covered["never"])
    yield "judged by", document["revision"]
    yield "seed", str(document["seed"])
    yield "sent", _sent(document["requests"], document["plans"])
    yield "rules reached", f"{rules} of {rules + never} that can be"
    yield (
        "coverage",
        f"{plural(covered['pairs'], 'pair')} of rules, {plural(covered['states'], 'state')}",
    )
    outcomes = ", ".join(f"{count:,} {word}" for word, count in document["outcomes"].items())
    yield "plans", outcomes or "none"
    if document["gave_up"]:
        yield "ended early", document["gave_up"]
