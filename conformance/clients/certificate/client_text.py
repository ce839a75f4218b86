"""Print a client's certificate on the screen: failures, what is known, counts, the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from fencepost.conformance.clients.certificate.client_certificate import ClientCertificate
from fencepost.conformance.clients.certify_client import ClientResult
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.requirements import OBLIGATIONS
from fencepost.traces.report.known_failures import KNOWN
from fencepost.traces.report.report_text import COLOURS, EXCUSED, OVERALL, counts_table, say


def print_certificate(certificate: ClientCertificate, console: Console) -> None:
    """Print a certificate for people."""
    _failures(certificate.results, console)
    _listed(certificate.results, Outcome.KNOWN_FAILURE, "Known failures", console)
    _listed(certificate.results, Outcome.UNKNOWN, "Not decided", console)
    if certificate.results:
        console.print(counts_table(certificate, console))
        console.print()
    style = EXCUSED if certificate.is_excused() else OVERALL[certificate.overall()]
    say(console, certificate.summary(), style)


def _failures(results: Sequence[ClientResult], console: Console) -> None:
    """Print what failed: each obligation once, with its sentence and the scenarios."""
    bad = {Outcome.FAIL, Outcome.STALE_KNOWN_FAILURE}
    for name in dict.fromkeys(r.obligation for r in results if r.outcome in bad):
        own = [r for r in results if r.obligation == name and r.outcome in bad]
        first = own[0]
        title = Text(f"{first.outcome.value.upper()}  {first.level.value}  ", style="bold red")
        console.print(title + Text(name, style="bold"), soft_wrap=True)
        say(console, f"  {OBLIGATIONS[name].sentence}", "italic")
        for result in own:
            say(console, f"  {result.scenario.id}: {result.message}")
            for note in result.notes:
                say(console, f"    note: {note}", "dim")
        console.print()


def _listed(
    results: Sequence[ClientResult], outcome: Outcome, title: str, console: Console
) -> None:
    found = [result for result in results if result.outcome is outcome]
    if not found:
        return
    say(console, f"{title} ({len(found)}):", "bold")
    for result in found:
        known = (note.removeprefix(KNOWN) for note in result.notes if note.startswith(KNOWN))
        say(console, f"  {result.level.value}  {result.id}", COLOURS[outcome])
        say(console, f"      {next(known, result.message)}")
    console.print()
