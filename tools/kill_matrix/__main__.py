"""Run every engine on every mutant: `python -m tools.kill_matrix`, in a checkout.

The result is the kill matrix: each engine's kills, and their cost.  A mutant that survives is a
failure.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from fencepost.conformance.cli.cli import exit_code, exit_codes
from fencepost.conformance.cli.mutants import named_mutants
from fencepost.conformance.cli.options.common_options import console, json_option, report_option
from fencepost.properties.mutants.mutants import ALL_MUTANTS
from fencepost.traces.files.text_files import make_folder
from tools.kill_matrix.kill_matrix import SEARCH_SPACES, Row
from tools.kill_matrix.matrix_report import ENGINES, matrix_json, print_matrix, print_one, rows

_EXIT_SURVIVOR = 1


@click.command(
    "python -m tools.kill_matrix",
    epilog=exit_codes(
        "every mutant is found", "a mutant survives, or an engine misses what it should see"
    ),
)
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option(
    "--engine",
    "engines",
    type=click.Choice(list(ENGINES)),
    multiple=True,
    help="Only this engine (may be repeated).",
)
@click.option(
    "--protocol",
    type=click.Choice(list(SEARCH_SPACES)),
    default="classic",
    show_default=True,
    help="The mutants of this protocol, where no NAME is given.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Processes in parallel.",
)
@report_option("Write the matrix and a trace for each run that shows a mutant there.")
@json_option
def kill_matrix_command(
    names: tuple[str, ...],
    engines: tuple[str, ...],
    protocol: str,
    jobs: int,
    report: Path | None,
    as_json: bool,
) -> int:
    """Run every engine on models broken on purpose.

    The result is the kill matrix: which engine finds which mutant.  With one NAME, the output has
    the evidence of each engine.

    \b
    Two figures of each engine:
      explore, hypothesis             steps of the shortest run that violates
                                      a property; worlds or walks visited
      explore-diff, hypothesis-diff   steps until the answers differ from
                                      the right model's; pairs of worlds,
                                      or walks
      catalogue                       steps of the shortest failing case;
                                      failing cases
      cover                           steps of the first failing walk; walks
      proofs                          failing obligations; obligations

    Bounds are numbers of worlds and walks, not times, so each run has equal results.  A proof is
    n/a if the mutant performs a step without an abstract effect.
    """  # noqa: D301  (click keeps the lines after it)
    every = [n for n, m in ALL_MUTANTS.items() if m.base.protocol.name == protocol]
    chosen_mutants = named_mutants(names or tuple(every))
    chosen = [engine for engine in ENGINES if engine in (engines or ENGINES)]
    if report is not None:
        make_folder(report)
    made, seconds = rows(
        [mutant.name for mutant in chosen_mutants],
        chosen,
        jobs=jobs,
        report=report,
        progress=None if len(chosen_mutants) == 1 else _progress,
    )
    matrix = json.dumps(matrix_json(made, chosen), indent=2, ensure_ascii=False)
    if report is not None:
        (report / "mutants.json").write_text(matrix + "\n", encoding="utf-8")
    if as_json:
        click.echo(matrix)
    elif len(chosen_mutants) == 1:
        print_one(made[0], chosen, console())
    else:
        print_matrix(made, chosen, console())
    spent = ", ".join(f"{engine} {seconds[engine]:.0f}" for engine in chosen)
    click.echo(f"(processor seconds: {spent})", err=True)
    return _EXIT_SURVIVOR if any(row.survives or row.missed for row in made) else 0


def _progress(row: Row) -> None:
    by = sum(bool(result.killed) for result in row.results.values())
    click.echo(f"{row.mutant.name}: {'killed by ' + str(by) if by else 'SURVIVES'}", err=True)


if __name__ == "__main__":
    sys.exit(exit_code(kill_matrix_command, None, "python -m tools.kill_matrix"))
