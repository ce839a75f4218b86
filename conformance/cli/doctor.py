"""Report the tools that are installed, and their uses (`doctor`)."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.table import Table
from rich.text import Text

from fencepost.conformance.cli.cli import exit_codes
from fencepost.conformance.cli.options.common_options import console, echo_json, json_option
from fencepost.conformance.runtime.toolchain.doctor import CHECKS, examine
from fencepost.model.history.words import first_names
from fencepost.model.suggestions import did_you_mean

_NAMES = {check.name: check for check in CHECKS}


@click.command(
    "doctor", epilog=exit_codes("all that is needed is there", "something needed is missing")
)
@click.argument("names", nargs=-1, metavar="[NAME...]")
@json_option
def doctor_command(*, names: tuple[str, ...], as_json: bool) -> int:
    """Say what is installed, and what for.

    Tools, extras, the cache and ports are looked for.  NAME (such as java, or mock) says what you
    need; without one, only what every command needs.
    """
    for name in names:
        if name not in _NAMES:
            near = did_you_mean(name, _NAMES)
            raise click.UsageError(f"nothing is called {name!r}{near}: {', '.join(_NAMES)}")
    findings = [examine(check) for check in CHECKS if not names or check.name in names]
    missing = [
        finding.check.name
        for finding in findings
        if not finding.is_there and (finding.check.always or finding.check.name in names)
    ]
    if as_json:
        rows = {
            finding.check.name: {
                "there": finding.is_there,
                "found": finding.result,
                "for": finding.check.what_for,
            }
            for finding in findings
        }
        echo_json({"checks": rows, "missing": missing})
        return int(bool(missing))
    console().print(Text(_verdict(missing), "bold red" if missing else "bold green"))
    console().print()
    table = Table(box=None, pad_edge=False, show_header=False)
    for finding in findings:
        sign = Text("yes", "green") if finding.is_there else Text("no", "yellow")
        details = Text.assemble(
            (finding.result, ""), "\n", (f"for {finding.check.what_for}", "dim")
        )
        table.add_row(Text(finding.check.name, "bold"), sign, details)
    console().print(table)
    return int(bool(missing))


def _verdict(missing: Sequence[str]) -> str:
    """Return the verdict on one line."""
    if not missing:
        return "Everything needed is there."
    return f"Missing: {first_names(missing, 3)}."
