"""`certify` and `replay`: hold a target to the model, and run a trace again."""

from __future__ import annotations

import json
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Self

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from fencepost.conformance.catalogue.registry import Entry
from fencepost.conformance.catalogue.suites import Chosen, find_suite
from fencepost.conformance.certify.certify import Options, certify
from fencepost.conformance.certify.known_failures import aliases_of, apply, load
from fencepost.conformance.certify.pages import INDEX
from fencepost.conformance.certify.replay import rejudge, replay
from fencepost.conformance.certify.report import certificate_json, print_certificate, write_report
from fencepost.conformance.cli.options.target import known_failures_options, target_options
from fencepost.conformance.cli.show import console, json_option, report_option, suite_option
from fencepost.conformance.execution.outcome import CaseResult, Outcome
from fencepost.conformance.runtime.provenance import all_versions
from fencepost.conformance.runtime.signals import run
from fencepost.conformance.targets.registry import (
    TargetOptions,
    find_revision,
    find_target,
    revision_for,
)
from fencepost.model.table.table import Level
from fencepost.traces.forms.formats import read_any

jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Cases side by side [default: what the target takes; exec: 2 processes].",
)


revision_of_target_option = click.option(
    "--revision",
    metavar="R",
    help="The revision that judges [default: kafka-4; for kafka:V the release profile of V].",
)


@click.command("certify")
@click.argument("target")
@revision_of_target_option
@suite_option
@click.option(
    "--level",
    type=click.Choice([level.value.lower() for level in Level]),
    default="should",
    show_default=True,
    help="The least binding level that decides the exit code.",
)
@click.option("--case", "cases", multiple=True, metavar="GLOB", help="Run only these cases.")
@click.option("--skip", multiple=True, metavar="GLOB", help="Leave these cases out.")
@known_failures_options
@click.option("--seed", default=0, show_default=True, help="Recorded in the certificate.")
@jobs_option
@target_options
@json_option
@report_option(
    "Write certificate.json, junit.xml, a page to read (index.html) and the traces there."
)
def certify_command(
    *,
    target: str,
    revision: str | None,
    suite: str,
    level: str,
    cases: tuple[str, ...],
    skip: tuple[str, ...],
    lists: tuple[Path, ...],
    no_known_failures: bool,
    seed: int,
    jobs: int | None,
    told: TargetOptions,
    as_json: bool,
    report: Path | None,
) -> int:
    """Hold a target to the decision table, case by case.

    The catalogue's cases are written by hand, one for each rule at least.  The suite `cover` walks
    every transition of small groups, `pairs` every two rules that can follow each other.

    TARGET is mock, model[:REVISION], mutant:NAME, kafka:VERSION[+old|+new], kfake, tcp://HOST:PORT
    or exec:COMMAND.  Exit code 0: it holds (known failures aside); 1: a rule is violated; 2:
    unknown; 64: usage; 69: the target isn't to be had.
    """
    judge = find_revision(revision or revision_for(target))
    logs = None if report is None else report.absolute() / "logs"
    held = find_target(target, replace(told, jobs=jobs or told.jobs, logs=logs))
    chosen = find_suite(suite, judge)
    entries = _chosen(chosen, cases)
    skipped = tuple(e.id for e in entries if any(fnmatchcase(e.id, glob) for glob in skip))
    # What was not chosen is skipped by the user, too: such a run certifies nothing.
    unchosen = len(chosen.entries) - len(entries)
    if not as_json:
        for line in chosen.heading:
            console().print(line, soft_wrap=True)
    with _progress(len(entries)) as show:
        options = Options(Level[level.upper()], jobs, seed, skipped, show)
        certificate = run(certify(held, judge, entries, options))
    certificate = replace(certificate, versions=all_versions(), suite=chosen.figures)
    if unchosen:
        certificate = replace(certificate, notes=(f"{unchosen} cases were not chosen",))
    if not no_known_failures:
        known = load(target, certificate.provenance.version, lists, aliases_of(held))
        results = apply(certificate.results, known, judge)
        certificate = replace(certificate, results=results)
    if report is not None:
        write_report(certificate, report)
    if as_json:
        click.echo(json.dumps(certificate_json(certificate), indent=2, ensure_ascii=False))
    else:
        print_certificate(certificate, console())
        if report is not None:
            console().print(f"Read {report / INDEX}", soft_wrap=True, highlight=False, markup=False)
    return certificate.exit_code()


def _chosen(suite: Chosen, globs: tuple[str, ...]) -> list[Entry]:
    if not globs:
        return list(suite.entries)
    wanted = {entry.id for glob in globs for entry in suite.matching(glob)}
    if not wanted:
        cases = f"fencepost cases --suite {suite.name}"
        raise click.UsageError(f"no case matches {', '.join(globs)}; see `{cases}`")
    return [entry for entry in suite.entries if entry.id in wanted]


class _progress:  # noqa: N801  (used as a context manager, reads as a function)
    """A bar on stderr while cases run; nothing where stderr is no terminal."""

    def __init__(self, total: int) -> None:
        screen = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=screen,
            transient=True,
            disable=not screen.is_terminal,
        )
        self._task = self._bar.add_task("certifying", total=total)
        self._failed = 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, result: CaseResult) -> None:
        """One more case is done."""
        self._failed += result.outcome is Outcome.FAIL
        said = f"certifying ({self._failed} failed)" if self._failed else "certifying"
        self._bar.update(self._task, advance=1, description=said)


@click.command("replay")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("target", required=False)
@target_options
@json_option
def replay_command(
    file: Path,
    target: str | None,
    *,
    told: TargetOptions,
    as_json: bool,
) -> int:
    """Run a trace again; exit 1 if its verdict is another than the file records.

    With a TARGET its plan is run against that; without one, the recorded history is judged again by
    the revision that the file names.
    """
    trace = read_any(file)
    result = rejudge(trace) if target is None else run(replay(trace, find_target(target, told)))
    if as_json:
        click.echo(json.dumps(result.to_json(), indent=2, ensure_ascii=False))
    else:
        click.echo(result.text())
    return result.exit_code()
