"""`fuzz`: search a target for violations that no case of the catalogue shows."""

from __future__ import annotations

import sys
import time
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from fencepost.conformance.cli.cli import exit_codes
from fencepost.conformance.cli.options.common_options import (
    JOB_COUNT,
    MINUTES,
    REVISION,
    SEED,
    WEEK_S,
    Real,
    Whole,
    echo_json,
    json_option,
    report_option,
)
from fencepost.conformance.cli.options.target_options import (
    known_failures_options,
    revision_of_target_option,
    target_options,
    tell_of_no_use,
)
from fencepost.conformance.runtime.event_loop import run_until_signal
from fencepost.conformance.search.findings.findings import PlanFinding
from fencepost.conformance.search.fuzz.earlier_run import EarlierRun
from fencepost.conformance.search.fuzz.fuzz import (
    FuzzListener,
    FuzzOptions,
    FuzzResult,
    fuzz,
    read_corpus,
    write_corpus,
)
from fencepost.conformance.search.fuzz.fuzz_report import (
    finding_line,
    fuzz_document,
    lines,
    progress_line,
    write_fuzz,
    write_trace,
)
from fencepost.conformance.search.fuzz.plans_by_protocol import PLANS
from fencepost.conformance.search.fuzz.tally import Budget, Tally
from fencepost.conformance.targets.target import Target
from fencepost.conformance.targets.target_registry import (
    TargetOptions,
    check_known,
    find_target,
    judge_for,
)
from fencepost.model.history.words import plural
from fencepost.properties.judging.known_failures import KnownFailure, aliases_of
from fencepost.properties.workers.processes import Stop
from fencepost.traces.files.known_failure_lists import load
from fencepost.traces.files.trace_file import TraceFile

_REQUESTS = 10_000
_EVERY_S = 2.0


@click.command(
    "fuzz",
    epilog=exit_codes(
        "nothing was found, apart from known failures",
        "a rule is violated",
        "a violation is intermittent, or was not confirmed",
    ),
)
@click.argument("target", type=REVISION, metavar="TARGET")
@click.option("--minutes", type=MINUTES, help="Minutes to search.")
@click.option(
    "--requests",
    type=Whole(1),
    help=f"Requests to send [default: {_REQUESTS}, unless --minutes is given].",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="The seed of the plans.")
@click.option(
    "--jobs",
    type=JOB_COUNT,
    help="Processes that search in parallel, each with its own seeds "
    "[default: 1 on a virtual clock; else one for each processor, at most 4].",
)
@click.option(
    "--corpus",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Start with the plans in DIR, and add the plans that reach something new.",
)
@click.option(
    "--examine",
    type=Real(0, WEEK_S),
    metavar="SECONDS",
    help="Seconds to shrink and confirm failures on a real clock.  A failure that doesn't fit is "
    "an unconfirmed finding [default: as long as the search took, at least 300].",
)
@click.option(
    "--before",
    type=click.Path(path_type=Path),
    metavar="REPORT",
    help="Compare with an earlier run: its --report DIR or its fuzz.json.  Each finding is then "
    "new, open (the earlier run had it) or known (a list has it).  New and open findings decide "
    "the exit code.",
)
@revision_of_target_option
@known_failures_options
@target_options
@json_option
@report_option("Write fuzz.json, index.html, a trace of each finding, and the target's logs there.")
def fuzz_command(
    *,
    target: str,
    minutes: float | None,
    requests: int | None,
    seed: int,
    jobs: int | None,
    corpus: Path | None,
    examine: float | None,
    before: Path | None,
    revision: str | None,
    lists: tuple[Path, ...],
    no_known_failures: bool,
    target_settings: TargetOptions,
    as_json: bool,
    report: Path | None,
) -> int:
    """Search a target for violations, with generated plans.

    fencepost generates plans with the model, towards rules, pairs of rules and states of a group
    that no plan has reached yet.  It judges each plan as `certify` does.  It shrinks each failure
    on the target, and confirms it with three more runs, or with twelve if it does not fail each
    time.  A minimal plan needs each of its steps; a finding whose shrinking ended early is `not
    minimal`.

    For a Kafka, fencepost also starts brokers with other group settings, and two for failovers.  It
    restarts a target that crashes, and runs the plans of that time alone; after many crashes the
    search ends with exit code 1.

    The same seed and number of jobs give the same plans, and on a virtual clock with --requests the
    same output.  How many of these plans run in --minutes differs from run to run.
    The first Ctrl-C ends the search and prints a report; the second ends the command.

    A failure is known if an entry of a list has its cause.  An entry without a cause covers all
    failures of its kind: the same rule, the same kind of request, the same errors.  Known failures
    don't change the exit code.

    With --before, bugs that this run did not observe stay open.  fencepost drops a bug that never
    failed each time after seven such runs.  In fuzz.json, `before` then has the number of this
    `run`, how many bugs are `new`, `open`, `known` and `not_seen`, and all `bugs`: fingerprint
    (`shape`; `shapes` of all runs), `cause`, `rule`, `level`, `sentence`, `status`, `sure` (each
    time, now and then, not tried again), `seen` (failures of this run), `first_run`, `last_run` and
    `trace`.
    """
    judge = judge_for(revision, target)
    check_known(judge, "fuzz", PLANS)
    if requests is None and minutes is None:
        requests = _REQUESTS
    if report is not None:
        target_settings = replace(target_settings, logs=report.absolute() / "logs")

    earlier = None
    if before is not None:
        earlier = EarlierRun.read(before, find_target(target, target_settings).name)

    def known(held: Target) -> Sequence[KnownFailure]:
        if no_known_failures:
            return ()
        target_version = target, held.provenance().version
        tell_of_no_use(lists, *target_version, aliases_of(held))
        return load(*target_version, lists, aliases_of(held))

    def searched(stop: Stop) -> Coroutine[Any, Any, FuzzResult]:
        options = FuzzOptions(
            judge,
            Budget(requests, None if minutes is None else minutes * 60),
            seed,
            known,
            read_corpus(corpus) if corpus is not None else None,
            _Progress(),
            jobs,
            target,
            target_settings,
            examine,
            stop,
        )
        return fuzz(lambda: find_target(target, target_settings), options, listener)

    listener = _News(report, earlier, is_printed=not as_json)
    fuzzed = run_until_signal(searched)
    if earlier is not None:
        fuzzed = fuzzed.compared_with(earlier)
    if corpus is not None:
        write_corpus(fuzzed.tally.novel, corpus)
    if report is not None:
        write_fuzz(fuzzed, report)
    if as_json:
        echo_json(fuzz_document(fuzzed).plain())
    else:
        _echo(lines(fuzzed))
    return fuzzed.exit_code()


def _echo(text: Iterable[str]) -> None:
    for line in text:
        click.echo(line)
    sys.stdout.flush()


class _News(FuzzListener):
    """Prints a line for each finding as it comes, and keeps its trace at once."""

    def __init__(
        self, report: Path | None, earlier: EarlierRun | None, *, is_printed: bool
    ) -> None:
        self._report = report
        self._earlier = earlier
        self._is_printed = is_printed

    def searched(self, fuzzed: FuzzResult) -> None:
        """Print the end of the search, where there are findings to shrink and confirm."""
        if self._is_printed and (kinds := len(fuzzed.tally.failures)):
            _echo([f"{plural(kinds, 'kind')} of failure to shrink and confirm"])

    def examined(self, finding: PlanFinding, trace: TraceFile | None) -> None:
        """Print a line for a finding, and write its files."""
        if self._report is not None and trace is not None:
            write_trace(finding.case.id, trace, self._report)
        if self._is_printed and not finding.is_only_counted:
            status = "" if self._earlier is None else self._earlier.status_of(finding)
            _echo([finding_line(finding, status)])


class _Progress:
    """A line on stderr every few seconds, where that is a terminal."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._last = time.monotonic()

    def __call__(self, tally: Tally) -> None:
        """One more plan is done."""
        if self._is_terminal and time.monotonic() - self._last >= _EVERY_S:
            self._last = time.monotonic()
            click.echo(progress_line(tally), err=True)
