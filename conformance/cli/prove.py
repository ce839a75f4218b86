"""Prove every obligation of a revision with Z3 (`prove`).

Proved obligations are one table; a failure is printed as a step in words.  Z3 is an extra: without
it the command says how to install it.
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
    strict_option,
)
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.own_revision import own_parts, promises_for, properties_for
from fencepost.conformance.targets.target_registry import check_known, find_revision
from fencepost.model.history.words import plural, verdict_line
from fencepost.model.revision import Revision
from fencepost.model.table.expr import Column
from fencepost.properties.checking.checking import promises_of
from fencepost.properties.claims.property_classes import SHORTER, headline
from fencepost.properties.claims.property_registry import (
    FORMULAS_BY_PROTOCOL,
    find_formula,
    properties_of,
)
from fencepost.properties.logic.logic import Engine, Property, PropertyClass
from fencepost.properties.mutants.abstract_mutants import abstract_twists
from fencepost.traces.files.bounded import pip_install
from fencepost.traces.files.run_trace import run_lines

if TYPE_CHECKING:
    from fencepost.properties.proofs.proof_results import Obligation, Proof

_EXIT_FAILED = 1
_EXIT_UNKNOWN = 2
_REMEDY = f"proofs need Z3: {pip_install('prove')}"
_OF_PROPERTIES = {"state", "step"}
_KINDS = {
    "table": "tables: total, unambiguous, feasible points",
    "reachable": "rules that can decide",
    "defensive": "rules that never decide",
    "premise": "premises that are reached",
}


@click.command(
    "prove",
    epilog=exit_codes(
        "all is proved, or a promise or a cost alone fails",
        "an obligation fails (--strict: also a promise or a cost)",
        "something is not covered",
    ),
)
@revision_option
@click.option(
    "--property",
    "names",
    multiple=True,
    metavar="ID",
    help="Only this property, with the invariants assumed (may be repeated).",
)
@strict_option
@json_option
def prove_command(revision: str, names: tuple[str, ...], *, strict: bool, as_json: bool) -> int:
    """Prove the properties for any number of members.

    Z3 proves that every step keeps the properties that are formulas, for any number of members and
    instances.  It needs the extra `prove`.  All proofs of a revision take less than two minutes,
    also on a busy machine with two cores.

    In the consumer protocol a proof knows members and their instances, owners of partitions, the
    target, the order of epochs, and which timers run.  It knows no subscriptions: a target may give
    each partition to any member, and to one at most.  It knows no times, so a target may be made
    at once or later.  A property that the revision breaks on purpose is not assumed for others.

    The output has only properties that are not fully proved; with --property it has each count, and
    each expected violation as a step.  A property that the base violates, and your revision keeps,
    is a note and no failure.  A rule is not covered if it has a step of your own, or a step that
    the code of a mutant performs in another way than its name says.  A column of your own may have
    any value.
    """
    revision_ = find_revision(revision)
    check_known(revision_, "prove", FORMULAS_BY_PROTOCOL)
    for name in names:
        _check_provable(name, revision_)
    if importlib.util.find_spec("z3") is None:
        raise TargetUnavailableError(_REMEDY)
    start = time.monotonic()
    proof = _proof(revision_, names)
    seconds = time.monotonic() - start
    runs = _runs(revision_, proof)
    if as_json:
        document = {
            **proof.to_json(),
            "is_safe": _is_safe(proof),
            "verdict": _verdict(proof),
            "free_columns": _free_columns(revision_),
            "only_elsewhere": {Engine.EXPLORATION.value: _only_explored(revision_)},
            "runs": [runs[key] for key in sorted(runs)],
        }
        echo_json(document)
    else:
        _show(proof, seconds, runs, _only_explored(revision_), in_full=bool(names))
        for table, column in _free_columns(revision_):
            left_out = "its function is not in the proof, where it may have any value"
            console().print(Text(f"column {column} of table {table}: {left_out}"), soft_wrap=True)
    if proof.failures if strict else not _is_safe(proof):
        return _EXIT_FAILED
    return _EXIT_UNKNOWN if proof.uncovered else 0


def _free_columns(revision: Revision) -> list[tuple[str, str]]:
    """Return the tables and columns of a user's own whose meaning proofs don't know."""
    from fencepost.properties.proofs.theories import theory_of  # noqa: PLC0415  (Z3 is an extra)

    meanings = theory_of(revision).guards.meanings
    return [
        (table.name, feature.name)
        for table in revision.tables.values()
        for feature in table.features
        if isinstance(feature, Column) and feature not in meanings
    ]


def _violated(proof: Proof) -> dict[str, PropertyClass]:
    """Return the properties that fail, each with its class."""
    from fencepost.properties.proofs.proof_results import Result  # noqa: PLC0415  (Z3 is an extra)

    formulas = _formulas(proof.revision, proof.protocol)
    return {
        obligation.about: formulas[obligation.about].property_class
        for obligation in proof.failures
        if obligation.result is Result.FAILED
        and obligation.kind in _OF_PROPERTIES
        and obligation.about in formulas
    }


def _formulas(revision: str, protocol: str) -> dict[str, Property]:
    """Return the properties that are proved, by id: the shipped ones, and those of a file."""
    shipped = FORMULAS_BY_PROTOCOL[protocol]
    own = [claim for claim in own_parts(revision).properties if claim.formula is not None]
    return {claim.id: claim for claim in (*shipped, *own) if Engine.PROOF in claim.engines}


def _is_safe(proof: Proof) -> bool:
    """Return True if nothing fails but promises and costs."""
    violated = _violated(proof)
    others = [o for o in proof.failures if o.about not in violated or o.kind not in _OF_PROPERTIES]
    return not others and PropertyClass.SAFETY not in violated.values()


def _verdict(proof: Proof, most: int | None = None) -> str:
    """Return the headline, "" where no property fails; `most`: as for `headline`."""
    violated = _violated(proof)
    safe = "safe by what is proved" if _is_safe(proof) else ""
    return headline(violated.items(), safe=safe, most=most) if violated else ""


def _verdict_line(proof: Proof) -> str:
    """Return the verdict on one line."""
    others = len(proof.failures)
    rest = f"{plural(others, 'obligation')} failed" if others else "every obligation is proved"
    if not others and proof.uncovered:
        rest = f"{plural(len(proof.uncovered), 'step')} not covered"
    elif not others and proof.expected:
        rest = "every obligation is proved, or fails as expected"
    return verdict_line(
        (proof.revision, proof.revision.rpartition("/")[2]),
        [_verdict(proof, most) or rest for most in SHORTER],
    )


def _only_explored(revision: Revision) -> list[str]:
    """Return the properties that exploration checks, and no proof does."""
    explored = [p for p in properties_of(revision).values() if Engine.EXPLORATION in p.engines]
    unproved = [p.id for p in explored if p.formula is None]
    return [*unproved, *(promise.id for promise in promises_of(revision))]


def _check_provable(name: str, revision: Revision) -> None:
    """Raise UsageError for a property without a proof, with the reason where it is known."""
    provable = _formulas(revision.name, revision.protocol.name)
    if name in provable:
        return
    try:
        find_formula(name, tuple(provable.values()))
    except KeyError as error:
        if name in promises_for(revision.name):
            message = f"{name} is about endless runs, which `fencepost check` looks for"
            raise click.UsageError(message) from None
        there = {property_.id: property_ for property_ in properties_for(revision.name)}
        if name not in there:
            raise click.UsageError(str(error.args[0])) from None
        if Engine.PROOF in there[name].engines:
            raise click.UsageError(f"{name} is a function; give a formula to prove it") from None
        raise click.UsageError(there[name].why_not_by(Engine.PROOF)) from None


def _proof(revision: Revision, names: tuple[str, ...]) -> Proof:
    from fencepost.properties.proofs.proofs import interruptible, prove  # noqa: PLC0415  (Z3 is an extra)

    with interruptible() as ask:
        return prove(
            revision,
            names,
            properties=tuple(_formulas(revision.name, revision.protocol.name).values()),
            overrides=abstract_twists(revision),
            ask=ask,
        )


Runs = dict[tuple[str, str], dict[str, Any]]
"""(property, rule) of a failure with a counterexample → the run to such a step, if there is one."""


def _runs(revision: Revision, proof: Proof) -> Runs:
    from fencepost.properties.proofs.counterexamples import reach  # noqa: PLC0415  (as above)

    runs: Runs = {}
    formulas = _formulas(proof.revision, proof.protocol)
    for obligation in proof.failures:
        if obligation.counterexample is None or obligation.about not in formulas:
            continue
        reached = reach(revision, formulas[obligation.about], obligation.rule)
        row: dict[str, Any] = {
            "property": obligation.about,
            "rule": obligation.rule,
            "worlds": reached.states,
        }
        if reached.run is not None and reached.worlds is not None and reached.question is not None:
            row["question"] = reached.question.name
            row["run"] = [line.strip() for line in run_lines(reached.worlds, reached.run)]
        runs[obligation.about, obligation.rule] = row
    return runs


def _show(
    proof: Proof, seconds: float, runs: Runs, only_explored: Sequence[str], *, in_full: bool
) -> None:
    """Print what isn't simply proved, and how much `only_explored` has.

    `in_full`: every row, and each expected violation's step.
    """
    from fencepost.properties.proofs.proof_results import Result  # noqa: PLC0415  (as above)

    screen = console()
    line = _verdict_line(proof)
    screen.print(Text(line, style="bold"), soft_wrap=True)
    screen.print()
    proved = sum(obligation.result is Result.PROVED for obligation in proof.obligations)
    screen.print(
        f"{len(proof.obligations)} obligations, {proved} proved, "
        f"{len(proof.expected)} fail as expected, {len(proof.failures)} failed"
        + (f", {len(proof.kept)} proved here alone" if proof.kept else "")
        + (f", {plural(len(proof.uncovered), 'step')} not covered" if proof.uncovered else "")
    )
    if in_full:
        screen.print("The other state properties are assumed: this run doesn't prove them.")
    if (verdict := _verdict(proof)) and not line.endswith(verdict):
        screen.print(Text(verdict), soft_wrap=True)
    _show_rows(screen, proof, in_full=in_full)
    if proof.expected:
        screen.print("\nExpected violations", style="bold")
    by_property = dict.fromkeys(obligation.about for obligation in proof.expected)
    for about in by_property:
        mine = [obligation for obligation in proof.expected if obligation.about == about]
        if in_full:
            for obligation in mine:
                _show_one(screen, obligation)
            _show_rest(screen, mine)
        else:
            rules = ", ".join(dict.fromkeys(obligation.rule for obligation in mine))
            screen.print(Text(f"  {about}, by {rules}: {mine[0].detail}"), soft_wrap=True)
    if proof.kept:
        screen.print("\nProved here alone, not of what this is made from", style="bold")
    for obligation in proof.kept:
        screen.print(Text(f"  {obligation.about}: {obligation.detail}"))
    for title, chosen in (("Not covered", proof.uncovered), ("Failures", proof.failures)):
        if chosen:
            screen.print(f"\n{title}", style="bold")
        printed: dict[str, str] = {}
        for obligation in chosen:
            _show_one(screen, obligation)
            if (
                obligation.failed
                and (obligation.about, obligation.rule) in runs
                and _is_first(obligation)
            ):
                _show_run(screen, runs[obligation.about, obligation.rule], printed)
        _show_rest(screen, chosen)
    if not in_full:
        subjects = "answers, deadlines, bytes, what clients know, and what comes in the end"
        more = f"{len(only_explored)} more properties (--json)"
        line = f"only `fencepost check {proof.revision}` sees {subjects}: {more}"
        screen.print(Text(line), soft_wrap=True)
    click.echo(f"({seconds:.1f} s)", err=True)


def _show_rows(screen: Console, proof: Proof, *, in_full: bool) -> None:
    """Print the number of proved obligations of each kind, and complete kinds as one line."""
    from fencepost.properties.proofs.proof_results import FAILURES, Result  # noqa: PLC0415  (as above)

    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column("property", no_wrap=True)
    for title in ("proved", "expected", "failed", *(("here alone",) if proof.kept else ())):
        grid.add_column(title, justify="right")
    rows = list(proof.rows())
    printed = [row for row in rows if in_full or set(row[2]) - {Result.PROVED}]
    for kind, about, row in printed:
        failed = sum(row.get(result, 0) for result in FAILURES)
        grid.add_row(
            Text(_KINDS.get(kind, about)),
            str(row.get(Result.PROVED, 0)),
            str(row.get(Result.EXPECTED, 0) or ""),
            Text(str(failed or ""), style="bold red"),
            *((str(row.get(Result.KEPT, 0) or ""),) if proof.kept else ()),
        )
    if printed:
        screen.print(grid)
    if whole := len(rows) - len(printed):
        more = "other " if printed else ""
        screen.print(Text(f"all proved in {whole} {more}rows (--json counts them)"))


def _is_first(obligation: Obligation) -> bool:
    """Return True if it shows its step: one of all that fail by the same rule does."""
    from fencepost.properties.proofs.proof_results import Result  # noqa: PLC0415  (as above)

    repeated = {Result.EXPECTED, Result.FAILED}
    return (
        obligation.counterexample is not None
        or not obligation.rule
        or obligation.result not in repeated
    )


def _show_run(screen: Console, row: dict[str, Any], printed: dict[str, str]) -> None:
    """Print a run, or under which property it was printed before."""
    if "run" not in row:
        looked = f"none of the {row['worlds']:,} searched worlds has such a step"
        lines = [f"{looked}; larger groups and other acts were not searched"]
    else:
        run = "\n".join(row["run"])
        lines = [f"a run to such a step ({row['question']}):", *(f"  {x}" for x in row["run"])]
        if run in printed:
            lines = [f"the run shown for {printed[run]} has such a step"]
        printed.setdefault(run, row["property"])
    for line in lines:
        screen.print(Text(f"      {line}"), soft_wrap=True)


def _show_rest(screen: Console, obligations: Sequence[Obligation]) -> None:
    """Print how many of these show no step, since one by the same rule does."""
    if rest := sum(not _is_first(obligation) for obligation in obligations):
        screen.print(f"  {plural(rest, 'more step')} by the same rules (--json)")


def _show_one(screen: Console, obligation: Obligation) -> None:
    """Print an obligation with its step; nothing of those that show none."""
    if not _is_first(obligation):
        return
    step = obligation.step or obligation.kind
    screen.print(Text(f"  {obligation.about}, by {step}: {obligation.result.value}"))
    if obligation.detail:
        screen.print(Text(f"    {obligation.detail}"), soft_wrap=True)
    for line in obligation.counterexample.words if obligation.counterexample is not None else ():
        screen.print(Text(f"      {line}"), soft_wrap=True)
