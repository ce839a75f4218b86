"""`prove`: prove every obligation of a revision with Z3.

What is proved is one table; what fails is shown as a step in words.  Z3 is an extra: without it the
command says how to install it.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from fencepost.conformance.cli.cli import exit_codes
from fencepost.conformance.cli.options.common_options import (
    console,
    echo_json,
    json_option,
    revision_option,
)
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.own_revision import properties_for
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.history.words import plural
from fencepost.model.revision import Revision
from fencepost.properties.claims.property_registry import PROPERTIES, find_formula
from fencepost.properties.logic.logic import Engine
from fencepost.properties.mutants.abstract_mutants import abstract_twists
from fencepost.properties.proofs.counterexamples import reach
from fencepost.traces.files.bounded import pip_install
from fencepost.traces.files.run_trace import run_lines

if TYPE_CHECKING:
    from fencepost.properties.proofs.proof_results import Obligation, Proof

_EXIT_FAILED = 1
_EXIT_UNKNOWN = 2
_REMEDY = f"proofs need Z3: {pip_install('prove')}"
_KINDS = {
    "table": "tables: total, unambiguous, feasible points",
    "reachable": "rules that can decide",
    "defensive": "rules that never decide",
    "premise": "premises that are reached",
}


@click.command(
    "prove", epilog=exit_codes("all is proved", "an obligation fails", "something is not covered")
)
@revision_option
@click.option(
    "--property",
    "names",
    multiple=True,
    metavar="ID",
    help="Only this property, with the invariants assumed (may be repeated).",
)
@json_option
def prove_command(revision: str, names: tuple[str, ...], as_json: bool) -> int:
    """Prove the properties for any number of members.

    Z3 proves that every step keeps them, for any number of members and instances.  What is not
    simply proved is shown; with --property each count, and each expected violation as a step.
    """
    found = find_revision(revision)
    for name in names:
        _check_provable(name, revision)
    if importlib.util.find_spec("z3") is None:
        raise TargetUnavailableError(_REMEDY)
    start = time.monotonic()
    proof = _proof(found, names)
    seconds = time.monotonic() - start
    runs = _runs(found, proof)
    if as_json:
        said = {**proof.to_json(), "runs": [runs[one] for one in sorted(runs)]}
        echo_json(said)
    else:
        _show(proof, seconds, runs, in_full=bool(names))
    if proof.failures:
        return _EXIT_FAILED
    return _EXIT_UNKNOWN if proof.uncovered else 0


def _check_provable(name: str, revision: str) -> None:
    """Raise UsageError for a property that no proof takes, with why where it is known."""
    try:
        find_formula(name)
    except KeyError as error:
        there = {one.id: one for one in properties_for(revision)}
        if name not in there:
            raise click.UsageError(str(error.args[0])) from None
        if Engine.PROOF in there[name].engines:
            raise click.UsageError(
                f"{name} is your own, and only shipped ones are proved"
            ) from None
        raise click.UsageError(there[name].why_not_by(Engine.PROOF)) from None


def _proof(revision: Revision, names: tuple[str, ...]) -> Proof:
    from fencepost.properties.proofs.proofs import prove  # noqa: PLC0415  (Z3 is an extra)

    return prove(revision, names, overrides=abstract_twists(revision))


Runs = dict[tuple[str, str], dict[str, Any]]
"""(property, rule) of a failure with a counterexample → the run to such a step, if there is one."""


def _runs(revision: Revision, proof: Proof) -> Runs:
    runs: Runs = {}
    for one in proof.failures:
        if one.counterexample is None or one.about not in PROPERTIES:
            continue
        found = reach(revision, PROPERTIES[one.about], one.rule)
        row: dict[str, Any] = {"property": one.about, "rule": one.rule, "worlds": found.states}
        if found.run is not None and found.worlds is not None and found.question is not None:
            row["question"] = found.question.name
            row["run"] = [line.strip() for line in run_lines(found.worlds, found.run)]
        runs[one.about, one.rule] = row
    return runs


def _show(proof: Proof, seconds: float, runs: Runs, *, in_full: bool) -> None:
    """Print what isn't simply proved; `in_full`: every row, and each expected violation's step."""
    from fencepost.properties.proofs.proof_results import Result  # noqa: PLC0415  (as above)

    screen = console()
    _show_rows(screen, proof, in_full=in_full)
    if proof.expected:
        screen.print("\nExpected violations", style="bold")
    by_property = dict.fromkeys(one.about for one in proof.expected)
    for about in by_property:
        mine = [one for one in proof.expected if one.about == about]
        if in_full:
            for one in mine:
                _show_one(screen, one)
            _show_rest(screen, mine)
        else:
            rules = ", ".join(dict.fromkeys(one.rule for one in mine))
            screen.print(Text(f"  {about}, by {rules}: {mine[0].detail}"), soft_wrap=True)
    if proof.kept:
        screen.print("\nProved here alone, not of what this is made from", style="bold")
    for one in proof.kept:
        screen.print(Text(f"  {one.about}: {one.detail}"))
    for title, chosen in (("Not covered", proof.uncovered), ("Failures", proof.failures)):
        if chosen:
            screen.print(f"\n{title}", style="bold")
        told: dict[str, str] = {}
        for one in chosen:
            _show_one(screen, one)
            if one.failed and (one.about, one.rule) in runs and _is_first(one):
                _show_run(screen, runs[one.about, one.rule], told)
        _show_rest(screen, chosen)
    proved = sum(one.result is Result.PROVED for one in proof.obligations)
    screen.print(
        f"\n{proof.revision}: {len(proof.obligations)} obligations, {proved} proved, "
        f"{len(proof.expected)} fail as expected, {len(proof.failures)} failed"
        + (f", {len(proof.kept)} proved here alone" if proof.kept else "")
        + (f", {plural(len(proof.uncovered), 'step')} not covered" if proof.uncovered else "")
    )
    click.echo(f"({seconds:.1f} s)", err=True)


def _show_rows(screen: Console, proof: Proof, *, in_full: bool) -> None:
    """Print how many obligations of each kind were proved, and what is whole as one line."""
    from fencepost.properties.proofs.proof_results import FAILURES, Result  # noqa: PLC0415  (as above)

    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column("property", no_wrap=True)
    for title in ("proved", "expected", "failed", *(("here alone",) if proof.kept else ())):
        grid.add_column(title, justify="right")
    rows = list(proof.rows())
    shown = [row for row in rows if in_full or set(row[2]) - {Result.PROVED}]
    for kind, about, row in shown:
        failed = sum(row.get(result, 0) for result in FAILURES)
        grid.add_row(
            Text(_KINDS.get(kind, about)),
            str(row.get(Result.PROVED, 0)),
            str(row.get(Result.EXPECTED, 0) or ""),
            Text(str(failed or ""), style="bold red"),
            *((str(row.get(Result.KEPT, 0) or ""),) if proof.kept else ()),
        )
    if shown:
        screen.print(grid)
    if whole := len(rows) - len(shown):
        more = "other " if shown else ""
        screen.print(Text(f"all proved in {whole} {more}rows (--json counts them)"))


def _is_first(one: Obligation) -> bool:
    """Return True if it shows its step: one of all that fail by the same rule does."""
    from fencepost.properties.proofs.proof_results import Result  # noqa: PLC0415  (as above)

    repeated = {Result.EXPECTED, Result.FAILED}
    return one.counterexample is not None or not one.rule or one.result not in repeated


def _show_run(screen: Console, row: dict[str, Any], told: dict[str, str]) -> None:
    """Print a run, or under which property it was printed before."""
    if "run" not in row:
        lines = [f"no run has such a step in the {row['worlds']:,} worlds that were looked at"]
    else:
        run = "\n".join(row["run"])
        lines = [f"a run to such a step ({row['question']}):", *(f"  {x}" for x in row["run"])]
        if run in told:
            lines = [f"the run shown for {told[run]} has such a step"]
        told.setdefault(run, row["property"])
    for line in lines:
        screen.print(Text(f"      {line}"), soft_wrap=True)


def _show_rest(screen: Console, obligations: Sequence[Obligation]) -> None:
    """Print how many of these show no step, since one by the same rule does."""
    if rest := sum(not _is_first(one) for one in obligations):
        screen.print(f"  {plural(rest, 'more step')} by the same rules (--json)")


def _show_one(screen: Console, one: Obligation) -> None:
    """Print an obligation with its step; nothing of those that show none."""
    if not _is_first(one):
        return
    screen.print(Text(f"  {one.about}, by {one.step or one.kind}: {one.result.value}"))
    if one.detail:
        screen.print(Text(f"    {one.detail}"), soft_wrap=True)
    for line in one.counterexample.words() if one.counterexample is not None else ():
        screen.print(Text(f"      {line}"), soft_wrap=True)
