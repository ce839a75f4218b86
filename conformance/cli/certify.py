"""`certify` and `replay`: check a target against the model, and judge a trace again."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from fencepost.conformance.cases import ALL_ENTRIES
from fencepost.conformance.cases.suites import CATALOGUE, find_suite
from fencepost.conformance.cases.walk_references import REFERENCES
from fencepost.conformance.cli.cli import exit_codes
from fencepost.conformance.cli.options.common_options import (
    REVISION,
    SEED,
    console,
    echo_json,
    json_option,
    own_revisions_option,
    report_option,
)
from fencepost.conformance.cli.options.target_options import (
    jobs_option,
    kept_entries,
    known_failures_options,
    level_option,
    older_option,
    revision_of_target_option,
    suite_option,
    target_options,
    tell_of_no_use,
    write_list,
    written_list_option,
)
from fencepost.conformance.run.attempts import RunningAttempts
from fencepost.conformance.run.certificate_run import certificate_of, matching_entries, matching_ids
from fencepost.conformance.run.certify import Options
from fencepost.conformance.runtime.event_loop import run
from fencepost.conformance.targets.target_registry import (
    TargetOptions,
    check_known,
    find_known_as,
    find_target,
    in_protocol_of,
    judge_for,
)
from fencepost.model.history.words import plural
from fencepost.model.table.table import Level
from fencepost.properties.judging.known_failures import aliases_of
from fencepost.properties.judging.outcome import CheckResult, Outcome
from fencepost.properties.judging.report import Certificate
from fencepost.traces.files.known_failure_lists import drafted_list
from fencepost.traces.files.text_files import INDEX
from fencepost.traces.report.certificate_data import read_certificate_file
from fencepost.traces.report.certificate_diff import PAGE, CertificateDiff, diff_certificates
from fencepost.traces.report.client_certificate import ClientCertificate
from fencepost.traces.report.report_folder import certificate_document
from fencepost.traces.report.report_text import print_certificate, print_cut_short
from fencepost.traces.report.report_writer import write_report

_EVERY_S = 30.0
"""Seconds between two lines of progress where stderr is no terminal."""


@click.command(
    "certify",
    epilog=exit_codes(
        "the target holds, apart from known failures",
        "a rule is violated, or a known failure is out of date",
        "a case that counts stayed unknown",
    ),
)
@click.argument("target", type=REVISION, metavar="TARGET")
@revision_of_target_option
@suite_option
@level_option
@click.option(
    "--case", "cases", multiple=True, metavar="GLOB", help="Run only these cases (may be repeated)."
)
@click.option("--skip", multiple=True, metavar="GLOB", help="Skip these cases (may be repeated).")
@known_failures_options
@click.option(
    "--as",
    "known_as",
    metavar="TARGET",
    help="Judge the target as this one: with the list of known failures of kafka:VERSION, kfake, "
    "tansu, seaweedfs, rivine, nafka or mock, and with the revision of that Kafka.  For all but "
    "kafka the version, as in tansu:0.6.0, may be left out [default: the newest in the list].",
)
@written_list_option
@older_option
@click.option(
    "--seed", type=SEED, default=0, show_default=True, help="A number that the certificate records."
)
@jobs_option
@target_options
@json_option
@report_option(
    "Write certificate.json, junit.xml, index.html, a trace of each case that did not pass, and "
    "the target's logs there."
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
    known_as: str | None,
    written: Path | None,
    old: Path | None,
    seed: int,
    jobs: int | None,
    target_settings: TargetOptions,
    as_json: bool,
    report: Path | None,
) -> int:
    """Run the test cases against a target.

    A model of the protocol judges every answer.  A violation is certain: the protocol permits these
    answers in no way.

    TARGET is mock, model[:REVISION], mutant:NAME, kafka:VERSION[+old|+new][*NODES],
    kfake, tansu, seaweedfs, rivine, nafka,
    tcp://HOST:PORT or exec:COMMAND.

    \b
    Suites:
      catalogue  at least one case, written by hand, for each rule that a
                 client can reach
      cover      every transition of small groups that clients can force
      pairs      every two rules that can apply one after the other, in far
                 fewer steps

    `cover` and `pairs` are generated from the revision, for one to three clients; each case starts
    without a group.  Transitions that need a choice of the coordinator, such as the leader, are
    left out; the first line has their number, and the smallest possible number of steps.
    The ids of these cases are digests of their steps.  Their cases are unsupported unless the
    target has the API versions of the revision and can set group.initial.rebalance.delay.ms to 0.

    Before the cases, fencepost tries each API version that the target advertises.  It leaves out a
    version that does not work, and reports it as advertised but broken.

    stderr shows a progress bar; where it is no terminal, a line every 30 seconds; with --json
    nothing.

    In junit.xml a suite is an API and a level, and a test is a case.  Known failures, and failures
    below --level, are skipped tests with their reason.  So there is a failure or an error exactly
    if a case makes the exit code 1 or 2.
    """  # noqa: D301  (click reads the mark)
    before = None if old is None else read_certificate_file(old)
    kept = kept_entries(lists, written)
    listed_as = None if known_as is None else find_known_as(known_as)
    judge = judge_for(revision, target if known_as is None else known_as)
    logs = None if report is None else report.absolute() / "logs"
    held = find_target(
        in_protocol_of(target, judge),
        replace(target_settings, jobs=jobs or target_settings.jobs, logs=logs),
    )
    if suite != CATALOGUE:
        check_known(judge, f"certify --suite {suite}", REFERENCES)
    chosen = find_suite(suite, judge)
    entries = matching_entries(chosen, cases)
    if not as_json:
        for line in chosen.heading:
            console().print(line, soft_wrap=True)
    running = RunningAttempts()
    with case_progress(
        len(entries), is_quiet=as_json, report=report, waiting=running.words
    ) as show:
        skipped = matching_ids(entries, skip)
        options = Options(Level[level.upper()], jobs, seed, skipped, show, running=running)
        known = None if no_known_failures else lists
        certificate = run(
            certificate_of(
                held,
                judge,
                chosen,
                entries,
                replace(options, known_as=known_as or ""),
                known_failures=known,
                name=target,
                known_as=listed_as,
            )
        )
    if known is not None:
        version = certificate.provenance.version
        names = {entry.id for entry in (*chosen.entries, *ALL_ENTRIES)}
        tell_of_no_use(known, target, version, aliases_of(held), names)
    return give_out(
        certificate,
        before,
        lambda document: drafted_list(document, target, kept),
        written,
        report,
        as_json=as_json,
    )


def give_out(
    certificate: Certificate | ClientCertificate,
    before: Mapping[str, Any] | None,
    draft: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    written: Path | None,
    report: Path | None,
    *,
    as_json: bool,
) -> int:
    """Print a report, write its files, and return the exit code.

    `before`: an older certificate to compare with.  `draft`: makes the list of known failures that
    goes to `written`.  Raises ReportError.
    """
    document = certificate_document(certificate)
    diff = None if before is None else diff_certificates(before, document)
    if report is not None:
        write_report(certificate, report, diff)
    shipped = len(certificate.of(Outcome.KNOWN_FAILURE))
    about_list = None if written is None else write_list(draft(document), written, shipped)
    if as_json:
        compared = {} if diff is None else {"diff": diff.plain()}
        echo_json({**document, **compared})
    else:
        print_certificate(certificate, console(), reported=report is not None)
        names_diff = diff is not None and isinstance(certificate, Certificate)
        for line in _afterwards(diff, about_list, report, names_diff=names_diff):
            console().print(line, soft_wrap=True, highlight=False, markup=False)
    return certificate.exit_code()


def _afterwards(
    diff: CertificateDiff | None, about_list: str | None, report: Path | None, *, names_diff: bool
) -> Iterator[str]:
    """Yield the lines after the verdict: the comparison, and the files to read."""
    if diff is not None:
        yield from diff.lines()
    if about_list is not None:
        yield about_list
    if report is not None:
        yield f"Read {report / INDEX}" + (f" and {report / PAGE}" if names_diff else "")


@contextmanager
def case_progress(
    total: int, *, is_quiet: bool, report: Path | None, waiting: Callable[[], str] = str
) -> Iterator[Callable[[CheckResult], None]]:
    """Report progress on stderr: a bar, or lines where stderr is no terminal.

    After Ctrl-C or SIGTERM print the results until then, and that `report` was not written.
    `is_quiet`: no lines, as with `--json`.  `waiting`: returns what is being waited for, or "".
    """
    done: list[CheckResult] = []

    def listen(result: CheckResult) -> None:
        done.append(result)
        if show is not None:
            show(result)

    try:
        with _bar_or_lines(total, waiting, is_quiet=is_quiet) as show:
            yield listen
    except KeyboardInterrupt:
        if done and not is_quiet:
            print_cut_short(done, total, console())
        if report is not None:
            click.echo(f"no report was written to {report}: a report is of all cases", err=True)
        raise


@contextmanager
def _bar_or_lines(
    total: int, waiting: Callable[[], str], *, is_quiet: bool
) -> Iterator[Callable[[CheckResult], None] | None]:
    if not sys.stderr.isatty():
        lines = PlainProgress(total, waiting=waiting)
        yield None if is_quiet else lines
        lines.end()
        return
    # Here, since it takes 20 ms to import.
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress import Progress as Bar  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    class WaitColumn(ProgressColumn):
        """Show the reason for the wait, which is read each time that the bar is drawn."""

        def render(self, task: Task) -> Text:
            del task
            return Text(waiting())

    failed = 0
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Bar(
        *columns,
        TimeElapsedColumn(),
        WaitColumn(),
        console=Console(stderr=True, emoji=False),
        transient=True,
    ) as bar:
        task = bar.add_task("certifying", total=total)

        def show(result: CheckResult) -> None:
            nonlocal failed
            failed += result.outcome is Outcome.FAIL
            description = f"certifying ({failed} failed)" if failed else "certifying"
            bar.update(task, advance=1, description=description)

        yield show


class PlainProgress:
    """Lines for a log; none of a run that is over before the first is due."""

    def __init__(
        self,
        total: int,
        clock: Callable[[], float] = time.monotonic,
        waiting: Callable[[], str] = str,
    ) -> None:
        self._total = total
        self._clock = clock
        self._waiting = waiting
        self._began = self._last = clock()
        self._done = self._failed = self._reported = 0

    def __call__(self, result: CheckResult) -> None:
        """One more case is done."""
        self._done += 1
        self._failed += result.outcome is Outcome.FAIL
        if self._clock() - self._last >= _EVERY_S:
            self._say()

    def end(self) -> None:
        """Tell how it ended, if it took long."""
        if 0 < self._reported < self._done:
            self._say()

    def _say(self) -> None:
        self._last, self._reported = self._clock(), self._done
        seconds = f"{self._last - self._began:.0f} s"
        # The last line leaves it to the table, for which some of these cases pass.
        failed = ""
        if self._done < self._total:
            count = f"{self._failed} failed, known failures included"
            failed = f"; {count if self._failed else 'none failed'}"
        done = f"{self._done} of {plural(self._total, 'case')} done after {seconds}{failed}"
        waiting = self._waiting()
        click.echo(f"{done}; {waiting}" if waiting else done, err=True)


@click.command(
    "replay",
    epilog=exit_codes("the verdict is the recorded one, violated or not", "the verdict is another"),
)
@own_revisions_option
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("target", type=REVISION, metavar="[TARGET]", required=False)
@target_options
@json_option
def replay_command(
    file: Path,
    target: str | None,
    *,
    target_settings: TargetOptions,
    as_json: bool,
) -> int:
    """Judge a trace again, or run its plan again.

    FILE is a trace file or an ITF file.  With a TARGET, run the plan of the trace there, with times
    that fit its clock and settings.  Without one, judge the recorded answers again by the revision
    that the file names.

    The exit code compares the two verdicts: a failure that is still there exits with 0, as it does
    in a test that keeps the trace.  `fencepost certify --case` exits with 1 for each failure.
    """
    from fencepost.conformance.run.replay import rejudge, replay_trace  # noqa: PLC0415  (replay alone)
    from fencepost.traces.forms.formats import read_trace  # noqa: PLC0415

    trace = read_trace(file)
    result = (
        rejudge(trace)
        if target is None
        else run(replay_trace(trace, find_target(target, target_settings)))
    )
    if as_json:
        echo_json(result.to_json())
    else:
        click.echo(result.text())
    return result.exit_code()
