"""`compare`: the shortest plan on which two targets differ."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from fencepost.conformance.cases.suites import CATALOGUE, NAMES, find_suite
from fencepost.conformance.cli.cli import exit_codes
from fencepost.conformance.cli.options.common_options import (
    MINUTES,
    REVISION,
    SEED,
    Whole,
    echo_json,
    json_option,
    report_option,
)
from fencepost.conformance.cli.options.target_options import jobs_option, target_options
from fencepost.conformance.run.certificate_run import matching_entries
from fencepost.conformance.run.replay import sound_trace
from fencepost.conformance.runtime.event_loop import run
from fencepost.conformance.search.compare.compare import (
    DifferenceFinding,
    TargetComparison,
    compare,
)
from fencepost.conformance.search.compare.compare_report import compare_json, text
from fencepost.conformance.search.compare.compare_search import (
    KINDS,
    LINGER_S,
    CompareOptions,
    CompareStage,
    CompareTally,
    stage_of,
    usual_stages,
    walks_stage,
)
from fencepost.conformance.search.fuzz.plans_by_protocol import PLANS
from fencepost.conformance.targets.target_registry import (
    TargetOptions,
    check_known,
    find_both,
    judge_for_both,
)
from fencepost.model.history.words import plural
from fencepost.model.revision import Revision
from fencepost.traces.files.text_files import write_texts

_REQUESTS = 5_000


@click.command("compare", epilog=exit_codes("no difference was found", "they differ", "unknown"))
@click.argument("first", type=REVISION, metavar="TARGET")
@click.argument("other", type=REVISION, metavar="TARGET")
@click.option(
    "--revision",
    type=REVISION,
    metavar="R",
    help="The revision that judges; consumer: that of the newer one in the consumer protocol "
    "[default: kafka-4; for two old Kafkas that of the newer one].",
)
@click.option(
    "--suite",
    type=click.Choice(NAMES),
    help="Run only this suite [default: catalogue, then cover, then generated plans].",
)
@click.option(
    "--case", "cases", multiple=True, metavar="GLOB", help="Run only these cases (may be repeated)."
)
@click.option(
    "--requests",
    type=Whole(1),
    help=f"Requests to send to each target [default: {_REQUESTS}, unless --minutes is given].",
)
@click.option(
    "--minutes",
    type=MINUTES,
    help="Minutes to search, before shrinking.",
)
@click.option(
    "--kinds",
    type=Whole(1),
    default=KINDS,
    show_default=True,
    help="Stop after this number of kinds of difference.",
)
@click.option(
    "--seed", type=SEED, default=0, show_default=True, help="The seed of the generated plans."
)
@jobs_option
@target_options
@json_option
@report_option("Write compare.json and two traces of each difference there.")
def compare_command(
    *,
    first: str,
    other: str,
    revision: str | None,
    suite: str | None,
    cases: tuple[str, ...],
    requests: int | None,
    minutes: float | None,
    kinds: int,
    seed: int,
    jobs: int | None,
    target_settings: TargetOptions,
    as_json: bool,
    report: Path | None,
) -> int:
    """Find where two targets differ.

    fencepost sends the same plans to both, and prints the shortest plan on which they answer
    differently.  Plans use only what both targets support.  One revision judges both.  Members are
    compared by name, generations by their order.

    Two answers that the protocol permits are no difference: who leads, for example.  If both
    targets made the same mistake before, only errors and missing answers are compared.  A
    difference counts if it occurs in three more runs.  fencepost shrinks it on both targets, on a
    real clock for a minute at most.  Differences with one known cause, or with one fingerprint
    where no cause is known, are one kind.

    The search ends after the stage (catalogue, cover, generated plans) that has a difference, or,
    on a real clock, a minute after the first difference, unless --minutes or --case is given.
    """
    judge = judge_for_both(revision, first, other)
    check_known(judge, "compare", PLANS)
    if requests is None and minutes is None:
        requests = _REQUESTS
    options = CompareOptions(
        judge,
        _stages(suite, cases, judge, seed),
        requests,
        None if minutes is None else minutes * 60,
        jobs,
        seed,
        kinds,
        None if cases else LINGER_S,
        _progress,
    )
    comparison = run(compare(*find_both(first, other, target_settings), options))
    if report is not None:
        write_texts(_files(comparison), report, "--report")
    if as_json:
        echo_json(compare_json(comparison))
    else:
        click.echo("\n".join(text(comparison)))
    return comparison.exit_code()


def _stages(
    suite: str | None, globs: tuple[str, ...], revision: Revision, seed: int
) -> list[CompareStage]:
    if globs:
        chosen = find_suite(suite or CATALOGUE, revision)
        return [stage_of(chosen.name, matching_entries(chosen, globs))]
    if suite == CATALOGUE:
        return usual_stages(revision, seed)[:1]
    return [walks_stage(suite, revision)] if suite else usual_stages(revision, seed)


def _files(comparison: TargetComparison) -> dict[str, str]:
    """Return the files of a report: the comparison, and both runs of each difference."""
    files = {
        "compare.json": json.dumps(compare_json(comparison), indent=1, ensure_ascii=False) + "\n"
    }
    for number, confirmed in enumerate((*comparison.differences, *comparison.unsteady), 1):
        files |= _traces(comparison, confirmed, number)
    return files


def _traces(
    comparison: TargetComparison, confirmed: DifferenceFinding, number: int
) -> dict[str, str]:
    files = {}
    sides = zip(("one", "other"), confirmed.result.both.results, strict=True)
    for (side, result), origin in zip(sides, (comparison.left, comparison.right), strict=True):
        trace = sound_trace(result, comparison.revision, origin, seed=comparison.seed)
        if trace is not None:
            files[f"traces/{number:02}-{side}.json"] = trace.text()
    return files


def _progress(tally: CompareTally) -> None:
    """Print a line on stderr after each batch, where that is a terminal."""
    if sys.stderr.isatty():
        plans = sum(tally.stages.values())
        click.echo(
            f"{plural(plans, 'plan')}, {plural(tally.requests, 'request')} to each, "
            f"{tally.differing} differ",
            err=True,
        )
