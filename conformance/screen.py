"""A certificate on the screen: what went wrong and why, the figures, and the verdict last.

Decides what a reader sees first: each violation with its sentence and its steps.  Plain text where
the output is no terminal.
"""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fencepost.conformance.explain import explained
from fencepost.conformance.outcome import CaseResult, Certificate, Outcome, Overall
from fencepost.conformance.summary import FAILED, broken_versions, plural, spans, verdict_line
from fencepost.model import revisions
from fencepost.model.revision import Revision
from fencepost.model.table import LEVELS

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


def print_certificate(certificate: Certificate, console: Console) -> None:
    """Print a certificate for people."""
    revision = revisions.find(certificate.revision)
    for result in certificate.results:
        if result.outcome in FAILED:
            _violation(result, revision, console)
    _shortly(certificate, Outcome.KNOWN_FAILURE, "Known failures", console)
    _shortly(certificate, Outcome.UNKNOWN, "Not decided", console)
    if certificate.results:
        console.print(_counts(certificate, console))
    for api, versions in broken_versions(certificate).items():
        _say(console, f"advertised but broken: {api} {spans(versions)}", "yellow")
    if unreachable := certificate.coverage.unreachable:
        names = ", ".join(sorted(unreachable))
        _say(console, f"{plural(len(unreachable), 'rule')} out of reach here: {names}", "dim")
    if missed := certificate.coverage.missed:
        _say(console, f"{plural(len(missed), 'rule')} covered by no case that passed", "dim")
    _say(console, verdict_line(certificate), _OVERALL[certificate.overall()])


def _violation(result: CaseResult, revision: Revision, console: Console) -> None:
    title = Text(f"{result.outcome.value.upper()}  {result.level.value}  ", style="bold red")
    console.print(title + Text(result.case.id, style="bold"), soft_wrap=True)
    _say(console, f"  {result.case.about}", "italic")
    _say(console, f"  {result.message}")
    explanation = explained(result, revision)
    if explanation is not None:
        width = len(str(len(explanation.steps))) + 1
        for step in explanation.steps:
            number, _, words = step.partition(" ")
            style = "red" if step.endswith("← wrong") else ""
            _say(console, f"    {number:>{width}} {words}", style)
    for note in result.notes:
        _say(console, f"    note: {note}", "dim")
    console.print()


def _shortly(certificate: Certificate, outcome: Outcome, title: str, console: Console) -> None:
    """All cases of an outcome, two lines each."""
    results = [r for r in certificate.results if r.outcome is outcome]
    if not results:
        return
    _say(console, f"{title} ({len(results)}):", "bold")
    for result in results:
        _say(console, f"  {result.level.value}  {result.case.id}", _COLOURS[outcome])
        _say(console, f"      {result.observed or result.message}")
    console.print()


def _counts(certificate: Certificate, console: Console) -> Padding:
    counts = certificate.counts()
    shown = [o for o in Outcome if any(counts[level, o] for level in LEVELS)]
    table = Table(box=box.SIMPLE_HEAD if console.is_terminal else None, pad_edge=False)
    table.add_column("level")
    for outcome in shown:
        table.add_column(outcome.value, justify="right", style=_COLOURS[outcome], no_wrap=True)
    for level in LEVELS:
        numbers = [counts[level, outcome] for outcome in shown]
        if any(numbers):
            table.add_row(level.value, *(str(n) if n else "-" for n in numbers))
    if len({level for level, _ in counts}) > 1:
        sums = [sum(counts[level, outcome] for level in LEVELS) for outcome in shown]
        table.add_row("all", *map(str, sums))
    return Padding(table, (0, 0, 1, 0))


def _say(console: Console, text: str, style: str = "") -> None:
    """A line as it is: no markup, no colours of rich's own, no breaks that weren't there."""
    console.print(Text(text, style=style), soft_wrap=True)
