"""Print a certificate on the screen: first what failed and why, then the counts, last the verdict.

Failures are grouped by cause, and each cause is told by one case, with its sentence; the first also
with their steps.  Known failures are one line for each reason, since a target may have hundreds.
All of it fits on two screens, and the report has the rest.  The output is plain text where it does
not go to a terminal.

The verdict of a certificate in one line, and the figures that every form of it shows.

A target is certified if all that was tested holds and no case was left out.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fencepost.model.history.words import made_by, plural
from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions
from fencepost.model.revisions.revisions import is_in_a_file
from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.judging.explain import explained
from fencepost.properties.judging.outcome import (
    CaseResult,
    Certificate,
    Certified,
    Outcome,
    Overall,
)
from fencepost.properties.oracle.fingerprint import broken_rule
from fencepost.traces.report.certificate_data import CaseRow, Cause, causes_of, masking
from fencepost.traces.report.known_failures import KNOWN, STALE, UNEXPLAINED

FAILED = (Outcome.FAIL, Outcome.STALE_KNOWN_FAILURE)


def left_out(certificate: Certificate) -> tuple[str, ...]:
    """What a certificate says nothing about: cases that were not run, and its own notes."""
    count = Counter(result.outcome for result in certificate.results)
    reasons = [
        f"{count[outcome]} {outcome.value}"
        for outcome in (Outcome.UNSUPPORTED, Outcome.SKIPPED)
        if count[outcome]
    ]
    return (*reasons, *certificate.notes)


def is_whole(certificate: Certificate) -> bool:
    """Whether the whole catalogue was run: no case was skipped or not chosen."""
    skipped = any(result.outcome is Outcome.SKIPPED for result in certificate.results)
    return not (certificate.suite or certificate.notes or skipped)


def certified(certificate: Certificate) -> bool:
    """Whether it holds and nothing was left out."""
    return certificate.overall() is Overall.HOLDS and not left_out(certificate)


def excused(certificate: Certificate) -> bool:
    """Whether it holds only because failures at MUST are listed as known."""
    return certificate.overall() is Overall.HOLDS and any(
        result.outcome is Outcome.KNOWN_FAILURE and result.level is Level.MUST
        for result in certificate.results
    )


def broken_versions(certificate: Certificate) -> dict[str, list[int]]:
    """API → the versions that the target advertises and can't speak."""
    broken = {}
    for api, (low, high) in sorted(certificate.advertised.items()):
        working = certificate.working.get(api)
        rest = [
            version
            for version in range(low, high + 1)
            if working is None or not working[0] <= version <= working[1]
        ]
        if rest:
            broken[api] = rest
    return broken


def spans(versions: Iterable[int]) -> str:
    """Versions in order as people write them: `version 3`, `versions 0, 4 and 7 to 9`."""
    runs: list[list[int]] = []
    for version in versions:
        if runs and version == runs[-1][-1] + 1:
            runs[-1].append(version)
        else:
            runs.append([version])
    parts: list[str] = []
    for run in runs:
        is_long = run[-1] - run[0] > 1
        parts += [f"{run[0]} to {run[-1]}"] if is_long else map(str, run)
    if len(parts) == 1:
        return f"versions {parts[0]}" if len(runs[0]) > 1 else f"version {parts[0]}"
    return f"versions {', '.join(parts[:-1])} and {parts[-1]}"


def subject(certificate: Certificate) -> str:
    """What was held to what, e.g. `mock (librdkafka 2.16.1) under kafka-4`.

    A suite other than the catalogue is named, too.
    """
    provenance = certificate.provenance
    suite = f", suite {certificate.suite['name']}" if certificate.suite else ""
    made = made_by(provenance.implementation, provenance.version)
    return f"{provenance.target} ({made}) under {certificate.revision}{suite}"


def verdict_line(certificate: Certificate) -> str:
    """The verdict, e.g. `mock (librdkafka 2.16.1) under kafka-4: holds; certified`.

    One that rests on known failures at MUST begins with how many cases pass.
    """
    deciding = Counter(r.outcome for r in certificate.results if certificate.deciding(r))
    others = [r for r in certificate.results if not certificate.deciding(r)]
    known = sum(r.outcome is Outcome.KNOWN_FAILURE for r in certificate.results)
    overall = certificate.overall()
    if overall is Overall.VIOLATED:
        failed, stale = deciding[Outcome.FAIL], deciding[Outcome.STALE_KNOWN_FAILURE]
        parts = [plural(failed, "case")] if failed else []
        parts += [plural(stale, "stale known failure")] if stale else []
        said = f"violated by {' and '.join(parts)}"
        if undecided := deciding[Outcome.UNKNOWN]:
            said += f", {undecided} undecided"
    elif not certificate.tested():
        said = f"unknown: no case {'could be tested' if certificate.results else 'was run'}"
    elif overall is Overall.UNKNOWN:
        said = f"unknown: {plural(deciding[Outcome.UNKNOWN], 'case')} could not be decided"
    elif excused(certificate):
        passed = sum(r.outcome is Outcome.PASS for r in certificate.results)
        said = f"passes {passed} of {len(certificate.results)}; {plural(known, 'known failure')}; "
        said += "holds apart from " + ("it" if known == 1 else "them")
    else:
        said = "holds"
    if known and not excused(certificate):
        said += f", with {plural(known, 'known failure')}"
    if below := _below(others):
        said += f", and {below} below {certificate.level.value} (not counted)"
    rest = ", ".join(left_out(certificate))
    if certified(certificate):
        said += "; certified"
    elif rest:
        said += f"; not certified: {rest}" if overall is Overall.HOLDS else f"; {rest}"
    return f"{subject(certificate)}: {said}"


def _below(others: Iterable[CaseResult]) -> str:
    count = Counter(r.outcome for r in others)
    failed = count[Outcome.FAIL] + count[Outcome.STALE_KNOWN_FAILURE]
    parts = [plural(failed, "failure")] if failed else []
    parts += [f"{count[Outcome.UNKNOWN]} unknown"] if count[Outcome.UNKNOWN] else []
    return " and ".join(parts)


COLOURS = {
    Outcome.PASS: "green",
    Outcome.FAIL: "bold red",
    Outcome.KNOWN_FAILURE: "yellow",
    Outcome.STALE_KNOWN_FAILURE: "bold red",
    Outcome.UNKNOWN: "magenta",
    Outcome.UNSUPPORTED: "cyan",
    Outcome.SKIPPED: "dim",
}
OVERALL = {
    Overall.HOLDS: "bold green",
    Overall.VIOLATED: "bold red",
    Overall.UNKNOWN: "bold magenta",
}
EXCUSED = "bold yellow"
_NAMED = 4
"""One line names at most this many rules or cases."""

_AGAIN = 20
"""A command to paste names at most this many cases."""

_VERSION = re.compile(r"(?P<api>the target lacks \w+) v(?P<version>\d+)")
"""Why a case is unsupported that needs one version of an API."""

_MOST_CAUSES, _TOLD_IN_FULL, _MOST_STEPS = 12, 3, 8
"""So many causes are told, so many of them with steps, and with so many steps each."""


def print_certificate(
    certificate: Certificate, console: Console, *, reported: bool = False
) -> None:
    """Print a certificate for people.  `reported`: a report is written, too, which has the rest."""
    revision = revisions.find(certificate.revision)
    report = "the report" if reported else "--report DIR"
    _failures(certificate, revision, console, report)
    _known(certificate, console, report)
    _undecided(certificate, console)
    _unsupported(certificate, console, report)
    if certificate.results:
        console.print(counts_table(certificate, console))
        console.print()
    for api, versions in broken_versions(certificate).items():
        say(console, f"advertised but broken: {api} {spans(versions)}", "yellow")
    _rules(certificate, console)
    style = EXCUSED if excused(certificate) else OVERALL[certificate.overall()]
    say(console, verdict_line(certificate), style)


def _failures(certificate: Certificate, revision: Revision, console: Console, report: str) -> None:
    """Print one case of each cause, and what else fails for it."""
    failed = {r.case.id: r for r in certificate.results if r.outcome in FAILED}
    causes = causes_of(_row(result, revision) for result in failed.values())
    most = _MOST_STEPS if len(causes) > _TOLD_IN_FULL else None
    for number, cause in enumerate(causes[:_MOST_CAUSES]):
        first = failed[cause.cases[0].id]
        if number < _TOLD_IN_FULL:
            _violation(first, revision, console, most)
        else:
            _title(first, console)
            say(console, f"  {_shortened(first.message)}")
        _others(cause, console)
        console.print()
    if len(causes) > _TOLD_IN_FULL:
        said = f"the steps of all but the first {_TOLD_IN_FULL} causes are in what --report writes"
        say(console, said, "dim")
        console.print()
    if rest := causes[_MOST_CAUSES:]:
        cases = sum(len(cause.cases) for cause in rest)
        said = f"{plural(len(rest), 'more cause')} of {plural(cases, 'failure')}"
        say(console, f"{said}: {report} has them all", "bold")
        console.print()
    if mend_first := masking(causes):
        say(console, mend_first, "bold")
        console.print()


def _others(cause: Cause, console: Console) -> None:
    """Say which other cases fail for the same reason."""
    first = cause.cases[0]
    if names := [case.id for case in cause.own if case is not first]:
        named = ", ".join(names[:_NAMED])
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        say(console, f"  the same in {plural(len(names), 'more case')}: {named}{more}")
    if others := sum(case is not first for case in cause.others):
        say(console, f"  the same in {plural(others, 'more case')} about other rules")


def _shortened(sentence: str) -> str:
    """A sentence without its source."""
    return sentence.partition(" Source: ")[0]


def _row(result: CaseResult, revision: Revision) -> CaseRow:
    rule = broken_rule(result.violation, revision) if result.violation is not None else None
    return CaseRow(
        id=result.case.id,
        outcome=result.outcome.value,
        level=result.level.value,
        rule=next(iter(result.case.rules), ""),
        message=result.message,
        trace=None,
        rules=result.case.rules,
        broken=None if rule is None else rule.id,
        observed=result.observed,
    )


def _title(result: CaseResult, console: Console) -> None:
    title = Text(f"{result.outcome.value.upper()}  {result.level.value}  ", style="bold red")
    console.print(title + Text(result.case.id, style="bold"), soft_wrap=True)


def _violation(
    result: CaseResult, revision: Revision, console: Console, most_steps: int | None
) -> None:
    """Print a failure; `most_steps`: as many of its last steps, None for all."""
    _title(result, console)
    say(console, f"  {result.case.about}", "italic")
    say(console, f"  {result.message}")
    for note in result.notes:
        if note.startswith(STALE):
            say(console, f"  {note}")
    explanation = explained(result, revision)
    if explanation is not None and explanation.rule is not None:
        width = len(str(len(explanation.steps))) + 1
        steps = explanation.steps
        shown = _excerpt(steps, most_steps)
        if cut := shown.start:
            say(console, f"    {'…':>{width}} {plural(cut, 'step')} before", "dim")
        for step in steps[shown.start : shown.stop]:
            number, _, words = step.partition(" ")
            style = "red" if step.endswith("← wrong") else ""
            say(console, f"    {number:>{width}} {words}", style)
    for note in result.notes:
        if not note.startswith(STALE):
            say(console, f"    note: {note}", "dim")


def _excerpt(steps: Sequence[str], most: int | None) -> range:
    """The places of the steps to show: all, or the last `most` up to the wrong one.

    To a request without an answer belong the steps after it: one of them makes the answer due.
    """
    if most is None:
        return range(len(steps))
    wrong = next((n for n, step in enumerate(steps) if step.endswith("← wrong")), len(steps) - 1)
    silent = "→ no answer " in steps[wrong]
    stop = min(len(steps), wrong + most) if silent else wrong + 1
    return range(max(0, stop - most), stop)


def _known(certificate: Certificate, console: Console, report: str) -> None:
    """Known failures, a line for each reason, the commonest first."""
    results = [r for r in certificate.results if r.outcome is Outcome.KNOWN_FAILURE]
    if not results:
        return
    reasons = Counter(_reason(result) for result in results)
    say(console, f"Known failures ({len(results)}) by reason, {report} names the cases:", "bold")
    width = len(str(max(reasons.values())))
    for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        say(console, f"  {count:>{width}}  {reason}", COLOURS[Outcome.KNOWN_FAILURE])
    console.print()


def _reason(result: CaseResult) -> str:
    listed = (n.removeprefix(KNOWN) for n in result.notes if n.startswith(KNOWN))
    why = next(listed, result.observed or result.message)
    return f"{UNEXPLAINED}: say in the list why" if why.startswith(UNEXPLAINED) else why


def _undecided(certificate: Certificate, console: Console) -> None:
    """The cases that were not decided, two lines each."""
    results = [r for r in certificate.results if r.outcome is Outcome.UNKNOWN]
    if not results:
        return
    say(console, f"Not decided ({len(results)}):", "bold")
    for result in results:
        say(console, f"  {result.level.value}  {result.case.id}", COLOURS[Outcome.UNKNOWN])
        say(console, f"      {result.observed or result.message}")
    if is_in_a_file(certificate.revision):
        base = revisions.find(certificate.revision).base
        said = f"  A case that was written for {base} may not come to its rule by yours."
        say(console, said, "dim")
    if certificate.clock == "virtual":
        console.print()
        return  # it would be the same again
    cases = [word for result in results[:_AGAIN] for word in ("--case", result.case.id)]
    command = ["fencepost", "certify", certificate.provenance.target]
    again = shlex.join([*command, "--revision", certificate.revision, *cases])
    say(console, f"  {'Again' if len(results) <= _AGAIN else 'The first again'}: {again}", "dim")
    console.print()


def _unsupported(certificate: Certificate, console: Console, report: str) -> None:
    """What the target lacks, by the number of cases that need it."""
    results = [r for r in certificate.results if r.outcome is Outcome.UNSUPPORTED]
    if not results:
        return
    reasons = Counter(_lacking([result.message for result in results])).most_common()
    say(console, f"Unsupported ({len(results)}):", "bold")
    width = len(str(reasons[0][1]))
    for reason, count in reasons[:_NAMED]:
        say(console, f"  {count:>{width}}  {reason}", COLOURS[Outcome.UNSUPPORTED])
    if rest := reasons[_NAMED:]:
        cases = sum(count for _, count in rest)
        said = f"{plural(len(rest), 'more reason')}, which {report} has"
        say(console, f"  {cases:>{width}}  for {said}", "dim")
    console.print()


def _lacking(reasons: Sequence[str]) -> Iterator[str]:
    """The reasons, those that name a version of an API with all versions that others name."""
    lacked: dict[str, set[int]] = {}
    for reason in reasons:
        if found := _VERSION.fullmatch(reason):
            lacked.setdefault(found["api"], set()).add(int(found["version"]))
    for reason in reasons:
        found = _VERSION.fullmatch(reason)
        yield f"{found['api']} {spans(sorted(lacked[found['api']]))}" if found else reason


def _rules(certificate: Certificate, console: Console) -> None:
    """The rules of which the certificate shows nothing; `missed` only where all cases ran."""
    coverage = certificate.coverage
    for said, rules in (
        ("can't be reached on this target", sorted(coverage.unreachable)),
        ("covered by no case that passed", coverage.missed if is_whole(certificate) else ()),
    ):
        if rules:
            more = len(rules) - _NAMED
            named = ", ".join(rules[:_NAMED]) + (f" and {more} more" if more > 0 else "")
            say(console, f"{plural(len(rules), 'rule')} {said}: {named}", "dim")


def counts_table(certificate: Certified, console: Console) -> Table:
    """How many cases came out how, by level."""
    counts = certificate.counts()
    levels = [level for level in LEVELS if any(counts[level, o] for o in Outcome)]
    table = Table(box=box.SIMPLE_HEAD if console.is_terminal else None, pad_edge=False)
    table.add_column("cases")
    for level in levels:
        table.add_column(level.value, justify="right")
    if len(levels) > 1:
        table.add_column("all", justify="right")
    for outcome in Outcome:
        numbers = [counts[level, outcome] for level in levels]
        if total := sum(numbers):
            cells = [str(number) if number else "-" for number in numbers]
            cells += [str(total)] if len(levels) > 1 else []
            table.add_row(outcome.value, *cells, style=COLOURS[outcome])
    return table


def say(console: Console, text: str, style: str = "") -> None:
    """Print a line as it is: no markup, none of rich's own colours, no line breaks added."""
    console.print(Text(text, style=style), soft_wrap=True)
