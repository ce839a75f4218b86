"""Print a certificate on the screen: the verdict on one line, the counts, then what failed and why.

Failures are grouped by cause, and one case stands for each, with its sentence; the first also
with their steps.  Known failures are one line for each reason, since a target may have hundreds.
All of it fits on two screens, and the report has the rest.  The output is plain text where it does
not go to a terminal.

Failures of a client are grouped by requirement, with the scenarios that show them.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fencepost.model.coordinator import spans
from fencepost.model.history.words import first_names, plural, with_names
from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions
from fencepost.model.revisions.revisions import is_in_a_file
from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.judging.explain import explained
from fencepost.properties.judging.known_failures import UNEXPLAINED, stale_note
from fencepost.properties.judging.outcome import NOT_LISTED, CaseResult, CheckResult, Outcome
from fencepost.properties.judging.report import Certificate, Overall, Report
from fencepost.properties.requirements.requirements import REQUIREMENTS
from fencepost.traces.report.certificate_data import CaseRow, Cause, causes_of, masking
from fencepost.traces.report.client_certificate import ClientCertificate, ClientResult

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
"""The reason of a case that is unsupported since it needs one version of an API."""

_MOST_CAUSES, _FULL_CAUSES, _MOST_STEPS = 12, 3, 8
"""The numbers of causes that are printed, of those with steps, and of steps each."""

_MOST_WORDS = 6
"""The number of lines of a driver's stderr that are printed."""


def print_certificate(
    report: Certificate | ClientCertificate, console: Console, *, reported: bool = False
) -> None:
    """Print a report for people.  `reported`: files are written, too, which have the rest."""
    rest = "the report" if reported else "--report DIR"
    style = EXCUSED if report.excused() else OVERALL[report.overall()]
    say(console, report.summary(), style)
    console.print()
    if report.results:
        console.print(_counts_table(report, console))
        console.print()
    for detail in report.details():
        say(console, f"  - {detail}")
    if isinstance(report, Certificate):
        _broken_versions(report, console)
    if report.details():
        console.print()
    if isinstance(report, ClientCertificate):
        _client_failures(report, console, rest)
        _client_cases(report, Outcome.UNKNOWN, "Undecided", console, rest)
        _client_cases(report, Outcome.KNOWN_FAILURE, "Known failures", console, rest)
    else:
        _failures(report, revisions.find(report.revision), console, rest)
        _undecided(report, console)
        _known(report, console, rest)
        _unsupported(report, console, rest)
        _noted(report, console, rest)
        _rules(report, console)


def _broken_versions(certificate: Certificate, console: Console) -> None:
    """Print the versions of APIs that the target advertises and can't speak, with the reason."""
    for api, versions in certificate.broken_versions().items():
        say(console, f"advertised but broken: {api} {spans(versions)}", "yellow")
        reasons = certificate.broken.get(api, {})
        for why in dict.fromkeys(reasons.get(version, "") for version in versions):
            own = [version for version in versions if reasons.get(version, "") == why]
            if why:
                say(console, f"  {spans(own)}: {why}", "dim")


def print_cut_short(results: Sequence[CheckResult], total: int, console: Console) -> None:
    """Print what a run had when it was interrupted: no verdict, since cases are missing."""
    bad = [result for result in results if result.outcome is Outcome.FAIL]
    failures = f"{len(bad)} failed, known failures included" if bad else "none failed"
    say(console, f"{len(results)} of {plural(total, 'case')} done, no verdict; {failures}", "bold")
    for result in bad[:_MOST_CAUSES]:
        _title(result.outcome, result.level, result.case.id, console)
        say(console, f"  {_shortened(result.message)}")
    if len(bad) > _MOST_CAUSES:
        say(console, f"and {len(bad) - _MOST_CAUSES} more")


def _client_failures(report: ClientCertificate, console: Console, rest: str) -> None:
    """Print what failed: each requirement once, with its sentence and the scenarios."""
    bad = report.of(*NOT_LISTED)
    for name in dict.fromkeys(result.obligation for result in bad):
        own = [result for result in bad if result.obligation == name]
        _title(own[0].outcome, own[0].level, name, console)
        say(console, f"  {REQUIREMENTS[name].sentence}", "italic")
        for result in own:
            say(console, f"  {result.case.scenario.id}: {result.message}")
            for note in result.all_notes:
                say(console, f"    note: {note}", "dim")
            _stderr(result, console, rest)
        console.print()


def _stderr(result: ClientResult, console: Console, rest: str) -> None:
    """Print the end of what drivers wrote to stderr; `rest`: where more of it is."""
    for process, lines in result.stderr.items():
        say(console, f"    stderr of {process}:", "dim")
        if (more := len(lines) - _MOST_WORDS) > 0:
            say(console, f"      … {plural(more, 'line')} before: {rest} has them", "dim")
        for line in lines[-_MOST_WORDS:]:
            say(console, f"      {line}", "dim")


def _client_cases(
    report: ClientCertificate, outcome: Outcome, title: str, console: Console, rest: str
) -> None:
    results = report.of(outcome)
    if not results:
        return
    say(console, f"{title} ({len(results)}):", "bold")
    for result in results:
        say(console, f"  {result.level.value}  {result.case.id}", COLOURS[outcome])
        known = result.message if result.known is None else result.known.reason
        say(console, f"      {known}")
        if outcome is Outcome.UNKNOWN:
            _stderr(result, console, rest)
    console.print()


def _failures(certificate: Certificate, revision: Revision, console: Console, report: str) -> None:
    """Print one case of each cause, and what else fails for it."""
    failed = {r.case.id: r for r in certificate.of(*NOT_LISTED)}
    causes = causes_of(_row(result, revision) for result in failed.values())
    most = _MOST_STEPS if len(causes) > _FULL_CAUSES else None
    if mend_first := masking(causes):
        say(console, mend_first, "bold")
        console.print()
    for number, cause in enumerate(causes[:_MOST_CAUSES]):
        first = failed[cause.cases[0].id]
        if number < _FULL_CAUSES:
            _violation(first, revision, console, most)
        else:
            _title(first.outcome, first.level, first.case.id, console)
            say(console, f"  {_shortened(first.message)}")
        _others(cause, console)
        console.print()
    if len(causes) > _FULL_CAUSES:
        words = f"steps are printed for the first {_FULL_CAUSES} causes; {report} has the others"
        say(console, words, "dim")
        console.print()
    if rest := causes[_MOST_CAUSES:]:
        cases = sum(len(cause.cases) for cause in rest)
        words = f"{plural(len(rest), 'more cause')} of {plural(cases, 'failure')}"
        say(console, f"{words}: {report} has them all", "bold")
        console.print()


def _others(cause: Cause, console: Console) -> None:
    """List the other cases with the same violation: the same rule and the same wrong answer."""
    first = cause.cases[0]
    if names := [case.id for case in cause.own if case is not first]:
        named = first_names(names, _NAMED)
        say(console, f"  the same violation in {plural(len(names), 'more case')}: {named}")
    if others := sum(case is not first for case in cause.others):
        many = plural(others, "more case")
        say(console, f"  the same violation in {many} about other rules")


def _shortened(sentence: str) -> str:
    """Return a sentence without its source."""
    return sentence.partition(" Source: ")[0]


def _row(result: CaseResult, revision: Revision) -> CaseRow:
    return CaseRow(
        id=result.case.id,
        outcome=result.outcome.value,
        level=result.level.value,
        rule=next(iter(result.case.rules), ""),
        message=result.message,
        trace=None,
        rules=result.case.rules,
        broken=result.broken(revision),
        observed=result.observed,
    )


def _title(outcome: Outcome, level: Level, name: str, console: Console) -> None:
    title = Text(f"{outcome.value.upper()}  {level.value}  ", style="bold red")
    console.print(title + Text(name, style="bold"), soft_wrap=True)


def _violation(
    result: CaseResult, revision: Revision, console: Console, most_steps: int | None
) -> None:
    """Print a failure; `most_steps`: as many of its last steps, None for all."""
    _title(result.outcome, result.level, result.case.id, console)
    say(console, f"  {result.case.about}", "italic")
    say(console, f"  {result.message}")
    if result.stale:
        say(console, f"  {stale_note(result.stale)}")
    explanation = explained(result, revision)
    if explanation is not None and explanation.rule is not None:
        width = len(str(len(explanation.steps))) + 1
        steps = explanation.steps
        excerpt = _excerpt(steps, most_steps)
        if cut := excerpt.start:
            say(console, f"    {'…':>{width}} {plural(cut, 'step')} before", "dim")
        for step in steps[excerpt.start : excerpt.stop]:
            number, _, words = step.partition(" ")
            style = "red" if step.endswith("← wrong") else ""
            say(console, f"    {number:>{width}} {words}", style)
    for note in result.notes:
        say(console, f"    note: {note}", "dim")


def _excerpt(steps: Sequence[str], most: int | None) -> range:
    """Return the places of the steps to show: all, or the last `most` up to the wrong one.

    To a request without an answer belong the steps after it: one of them makes the answer due.
    """
    if most is None:
        return range(len(steps))
    wrong = next((n for n, step in enumerate(steps) if step.endswith("← wrong")), len(steps) - 1)
    silent = "→ no answer " in steps[wrong]
    stop = min(len(steps), wrong + most) if silent else wrong + 1
    return range(max(0, stop - most), stop)


def _known(certificate: Certificate, console: Console, report: str) -> None:
    """Print known failures, a line for each reason, the commonest first."""
    results = certificate.of(Outcome.KNOWN_FAILURE)
    if not results:
        return
    reasons = Counter(_reason(result) for result in results)
    say(console, f"Known failures ({len(results)}) by reason; {report} names the cases:", "bold")
    width = len(str(max(reasons.values())))
    for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        say(console, f"  {count:>{width}}  {reason}", COLOURS[Outcome.KNOWN_FAILURE])
    console.print()


def _reason(result: CaseResult) -> str:
    why = result.observed or result.message if result.known is None else result.known.reason
    return f"{UNEXPLAINED}: say in the list why" if why.startswith(UNEXPLAINED) else why


def _undecided(certificate: Certificate, console: Console) -> None:
    """Print the cases that were not decided, the reason once."""
    results = certificate.of(Outcome.UNKNOWN)
    if not results:
        return
    say(console, f"Undecided ({len(results)}):", "bold")
    reasons: dict[str, list[CaseResult]] = {}
    for result in results:
        reasons.setdefault(result.observed or result.message, []).append(result)
    for why, own in reasons.items():
        for result in own[:_NAMED]:
            say(console, f"  {result.level.value}  {result.case.id}", COLOURS[Outcome.UNKNOWN])
        if rest := own[_NAMED:]:
            say(console, f"  and {plural(len(rest), 'more case')}", COLOURS[Outcome.UNKNOWN])
        say(console, f"      {why}")
    if is_in_a_file(certificate.revision):
        base = revisions.find(certificate.revision).base
        words = f"  The cases are written for {base}: with your rules one may not reach its rule."
        say(console, words, "dim")
    if certificate.clock == "virtual":
        console.print()
        return  # it would be the same again
    cases = [word for result in results[:_AGAIN] for word in ("--case", result.case.id)]
    command = ["fencepost", "certify", certificate.provenance.target]
    suite = ["--suite", certificate.suite["name"]] if certificate.suite else []
    again = shlex.join([*command, "--revision", certificate.revision, *suite, *cases])
    say(console, f"  {'Again' if len(results) <= _AGAIN else 'The first again'}: {again}", "dim")
    console.print()


def _unsupported(certificate: Certificate, console: Console, report: str) -> None:
    """Print what the target lacks, by the number of cases that need it."""
    results = certificate.of(Outcome.UNSUPPORTED)
    if not results:
        return
    reasons = Counter(_lacking([result.message for result in results])).most_common()
    say(console, f"Unsupported ({len(results)}):", "bold")
    width = _counted(reasons, console, COLOURS[Outcome.UNSUPPORTED])
    if rest := reasons[_NAMED:]:
        cases = sum(count for _, count in rest)
        words = f"{plural(len(rest), 'more reason')}, which {report} has"
        say(console, f"  {cases:>{width}}  for {words}", "dim")
    console.print()


def _noted(certificate: Certificate, console: Console, report: str) -> None:
    """Print what passed although Kafka answers otherwise, by the number of answers."""
    noted = [result for result in certificate.of(Outcome.PASS) if result.tolerated]
    if not noted:
        return
    names = ({} if result.recording is None else result.recording.names for result in noted)
    notes = Counter(
        with_names(note.difference, own)
        for result, own in zip(noted, names, strict=True)
        for note in result.tolerated
    ).most_common()
    say(
        console,
        f"Passed with a note ({len(noted)}): no rule forbids it, Kafka answers otherwise",
        "bold",
    )
    width = _counted(notes, console)
    if rest := notes[_NAMED:]:
        say(
            console,
            f"  {'':>{width}}  and {plural(len(rest), 'more note')}, which {report} has",
            "dim",
        )
    console.print()


def _counted(rows: Sequence[tuple[str, int]], console: Console, style: str = "") -> int:
    """Print the first rows, each after its number; return the width of the numbers."""
    width = len(str(rows[0][1]))
    for words, count in rows[:_NAMED]:
        say(console, f"  {count:>{width}}  {words}", style)
    return width


def _lacking(reasons: Sequence[str]) -> Iterator[str]:
    """Yield the reasons, those that name a version of an API with all versions that others name."""
    lacked: dict[str, set[int]] = {}
    for reason in reasons:
        if match := _VERSION.fullmatch(reason):
            lacked.setdefault(match["api"], set()).add(int(match["version"]))
    for reason in reasons:
        match = _VERSION.fullmatch(reason)
        yield f"{match['api']} {spans(sorted(lacked[match['api']]))}" if match else reason


def _rules(certificate: Certificate, console: Console) -> None:
    """Print the rules of which the certificate shows nothing; `missed` only where all cases ran."""
    coverage = certificate.coverage
    for words, rules in (
        ("can't be reached on this target", sorted(coverage.unreachable)),
        ("covered by no case that passed", coverage.missed if certificate.is_whole() else ()),
    ):
        if rules:
            named = first_names(rules, _NAMED)
            say(console, f"{plural(len(rules), 'rule')} {words}: {named}", "dim")


def _counts_table(report: Report[Any], console: Console) -> Table:
    """Make the table of cases by outcome and level."""
    counts = report.counts()
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
