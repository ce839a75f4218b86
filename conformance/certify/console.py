"""Print a certificate on the screen: first what failed and why, then the counts, last the verdict.

Each violation is printed with its sentence and its steps.  Known failures are one line for each
reason, since a target may have hundreds; the report names their cases.  The output is plain text
where it does not go to a terminal.
"""

from __future__ import annotations

from collections import Counter

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fencepost.conformance.certify.known_failures import KNOWN, STALE
from fencepost.conformance.certify.summary import (
    FAILED,
    broken_versions,
    is_whole,
    spans,
    verdict_line,
)
from fencepost.conformance.execution.explain import explained
from fencepost.conformance.execution.outcome import CaseResult, Certificate, Outcome, Overall
from fencepost.model.revision import Revision
from fencepost.model.table.table import LEVELS
from fencepost.properties.mutants import catalogue
from fencepost.traces.text.words import plural

_COLOURS = {
    Outcome.PASS: "green",
    Outcome.FAIL: "bold red",
    Outcome.KNOWN_FAILURE: "yellow",
    Outcome.STALE_KNOWN_FAILURE: "bold red",
    Outcome.UNKNOWN: "magenta",
    Outcome.UNSUPPORTED: "cyan",
    Outcome.SKIPPED: "dim",
}
_OVERALL = {
    Overall.HOLDS: "bold green",
    Overall.VIOLATED: "bold red",
    Overall.UNKNOWN: "bold magenta",
}
_NAMED = 4
"""One line names at most this many rules."""


def print_certificate(certificate: Certificate, console: Console) -> None:
    """Print a certificate for people."""
    revision = catalogue.find_revision(certificate.revision)
    for result in certificate.results:
        if result.outcome in FAILED:
            _violation(result, revision, console)
    _known(certificate, console)
    _undecided(certificate, console)
    if certificate.results:
        console.print(_counts(certificate, console))
        console.print()
    for api, versions in broken_versions(certificate).items():
        _say(console, f"advertised but broken: {api} {spans(versions)}", "yellow")
    if unreachable := certificate.coverage.unreachable:
        names = sorted(unreachable)
        said = ", ".join(names[:_NAMED]) + (" and others" if len(names) > _NAMED else "")
        _say(
            console, f"{plural(len(names), 'rule')} can't be reached on this target: {said}", "dim"
        )
    if is_whole(certificate) and (missed := certificate.coverage.missed):
        _say(console, f"{plural(len(missed), 'rule')} covered by no case that passed", "dim")
    _say(console, verdict_line(certificate), _OVERALL[certificate.overall()])


def _violation(result: CaseResult, revision: Revision, console: Console) -> None:
    title = Text(f"{result.outcome.value.upper()}  {result.level.value}  ", style="bold red")
    console.print(title + Text(result.case.id, style="bold"), soft_wrap=True)
    _say(console, f"  {result.case.about}", "italic")
    _say(console, f"  {result.message}")
    for note in result.notes:
        if note.startswith(STALE):
            _say(console, f"  {note}")
    explanation = explained(result, revision)
    if explanation is not None and explanation.rule is not None:
        width = len(str(len(explanation.steps))) + 1
        for step in explanation.steps:
            number, _, words = step.partition(" ")
            style = "red" if step.endswith("← wrong") else ""
            _say(console, f"    {number:>{width}} {words}", style)
    for note in result.notes:
        if not note.startswith(STALE):
            _say(console, f"    note: {note}", "dim")
    console.print()


def _known(certificate: Certificate, console: Console) -> None:
    """Known failures, a line for each reason, the commonest first."""
    results = [r for r in certificate.results if r.outcome is Outcome.KNOWN_FAILURE]
    if not results:
        return
    reasons = Counter(_reason(result) for result in results)
    _say(console, f"Known failures ({len(results)}) by reason, --report names the cases:", "bold")
    width = len(str(max(reasons.values())))
    for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        _say(console, f"  {count:>{width}}  {reason}", _COLOURS[Outcome.KNOWN_FAILURE])
    console.print()


def _reason(result: CaseResult) -> str:
    listed = (n.removeprefix(KNOWN) for n in result.notes if n.startswith(KNOWN))
    return next(listed, result.observed or result.message)


def _undecided(certificate: Certificate, console: Console) -> None:
    """The cases that were not decided, two lines each."""
    results = [r for r in certificate.results if r.outcome is Outcome.UNKNOWN]
    if not results:
        return
    _say(console, f"Not decided ({len(results)}):", "bold")
    for result in results:
        _say(console, f"  {result.level.value}  {result.case.id}", _COLOURS[Outcome.UNKNOWN])
        _say(console, f"      {result.observed or result.message}")
    console.print()


def _counts(certificate: Certificate, console: Console) -> Table:
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
            table.add_row(outcome.value, *cells, style=_COLOURS[outcome])
    return table


def _say(console: Console, text: str, style: str = "") -> None:
    """Print a line as it is: no markup, none of rich's own colours, no line breaks added."""
    console.print(Text(text, style=style), soft_wrap=True)
