"""`doctor`: say what is installed, and what for."""

from __future__ import annotations

import click
from rich.table import Table
from rich.text import Text

from fencepost.conformance.cli.cli import exit_codes
from fencepost.conformance.cli.options.common_options import console, echo_json, json_option
from fencepost.conformance.runtime.toolchain.doctor import CHECKS, examine
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
        found.check.name
        for found in findings
        if not found.is_there and (found.check.always or found.check.name in names)
    ]
    if as_json:
        rows = {
            found.check.name: {
                "there": found.is_there,
                "found": found.result,
                "for": found.check.what_for,
            }
            for found in findings
        }
        echo_json({"checks": rows, "missing": missing})
        return int(bool(missing))
    table = Table(box=None, pad_edge=False, show_header=False)
    for found in findings:
        sign = Text("yes", "green") if found.is_there else Text("no", "yellow")
        told = Text.assemble((found.result, ""), "\n", (f"for {found.check.what_for}", "dim"))
        table.add_row(Text(found.check.name, "bold"), sign, told)
    console().print(table)
    return int(bool(missing))
