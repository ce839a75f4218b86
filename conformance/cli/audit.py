"""`audit`: check recordings that others made: request logs, server logs, or traces."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import click
from rich.console import Console

from fencepost.conformance.cli.cli import exit_codes
from fencepost.conformance.cli.options.common_options import (
    files_argument,
    is_on_line,
    json_option,
    output_option,
    report_option,
)
from fencepost.conformance.cli.options.log_options import EXITS, log_options
from fencepost.conformance.run.replay import audit_traces, traces_json, worst, write_traces
from fencepost.model.history.words import plural
from fencepost.traces.audit.audit_results import UNKNOWN
from fencepost.traces.audit.audit_settings import LogOptions
from fencepost.traces.audit.log_audit import audit_log
from fencepost.traces.audit.server_log_audit import audit_server_log
from fencepost.traces.files.text_files import INDEX
from fencepost.traces.logs.log_dates import why_unread
from fencepost.traces.logs.log_files import LogFileError
from fencepost.traces.logs.request_log import OTHER_API, RequestLog
from fencepost.traces.logs.server_log import UNREAD, LogKind, ServerLog, common_kind, files_in
from fencepost.traces.operations.group_lines import GroupLines
from fencepost.traces.report.audit_folder import LogRun, audit_lines, write_audit, write_metrics

_KINDS = {kind.value: kind for kind in (LogKind.REQUESTS, LogKind.SERVER, LogKind.TRACE)}
_VERDICTS = {"gaps": "--gaps", "lag_ms": "--lag", "config": "--config", "revision": "--revision"}
_LINES = {
    "skew": "--skew",
    "date_pattern": "--date-pattern",
    "line_limit": "--line-limit",
    "timezone": "--timezone",
}
VIOLATIONS, PROBLEMS, AVOIDABLE = "violations", "problems", "avoidable"

_Log = TypeVar("_Log", RequestLog, ServerLog)


@click.command(
    "audit",
    epilog=exit_codes(
        "all groups are explained; for server.log: all its lines were read",
        "a group is violated, or --fail-on applies",
        "no violation, but a group is unknown or not judged, or a line not read",
    ),
)
@files_argument("files", "FILE...", folders=True)
@click.option(
    "--format",
    "form",
    type=click.Choice(["auto", *_KINDS]),
    default="auto",
    show_default=True,
    help="Format of the files, detected from their first lines by default.  They may be compressed "
    "(gzip, xz, bz2, zip, zstd).  With a format, a log without lines about groups is no error.",
)
@click.option(
    "--fail-on",
    type=click.Choice([VIOLATIONS, PROBLEMS, AVOIDABLE]),
    multiple=True,
    default=(VIOLATIONS,),
    show_default=True,
    help="Exit code 1 also if a client has a problem (problems), or if another setting would have "
    "avoided a rebalance (avoidable).  May be repeated.",
)
@output_option(
    "Write figures for Prometheus there; as OpenMetrics if the name ends with .om.",
    "--prometheus",
    "prometheus",
)
@log_options
@json_option
@report_option("Write index.html, audit.json, audit.txt and a trace of each violated group there.")
def audit_command(
    *,
    files: tuple[Path, ...],
    form: str,
    fail_on: tuple[str, ...],
    prometheus: Path | None,
    log_settings: LogOptions,
    as_json: bool,
    report: Path | None,
) -> int:
    """Report from logs why groups rebalance, and check the broker.

    The report names processes that fenced each other, the cause of each rebalance, and the setting
    that would have avoided it.  A request log also shows whether the broker was right: each group
    gets one of three results.  Explained: the model can give every answer.  Violated: the report
    has the first line that it can't give.  Unknown: the report has the reason.

    FILE: request logs, server.log, traces, or folders of them.  One audit reads files of one kind.
    Put the files of each broker into a folder, or name them BROKER.log.  A log may begin after the
    group.  A trace is judged as a whole, by the revision that it names or by --revision.
    """
    try:
        named = _KINDS.get(form)
        files = tuple(files_in(files, named))
        kind = named or common_kind(files)
        if kind is LogKind.TRACE:
            return _traces(files, log_settings.groups, as_json=as_json, report=report)
        if kind is LogKind.OLD_REQUESTS:
            raise click.UsageError(
                f"{files[0]} is {kind.value}: its lines are no JSON, and are not read. "
                "Audit server.log of that broker, or a request log of Kafka 2.8 or later"
            )
        read = _server if kind is LogKind.SERVER else _requests
        lines = None if report is None else GroupLines()
        run = read(files, log_settings, lines, may_be_quiet=form in _KINDS)
    except LogFileError as error:
        raise click.UsageError(str(error)) from error
    if unknown := sorted(set(log_settings.groups) - set(run.groups)):
        protocol = run.other_groups.get(unknown[0])
        raise click.UsageError(
            f"no line names the group {unknown[0]!r}"
            if protocol is None
            else f"the group {unknown[0]!r} is of another protocol ({protocol}): not judged"
        )
    # Files first: whoever reads the text may stop in the middle of it.
    if report is not None:
        write_audit(run, report)
    if prometheus is not None:
        write_metrics(run, prometheus)
    _say(run, as_json=as_json)
    _say_where(report, as_json=as_json)
    if PROBLEMS in fail_on and run.report.problems:
        return 1
    if AVOIDABLE in fail_on and run.report.avoidable:
        return 1
    code = EXITS.get(run.outcome, 0)
    if not code and run.other_groups:
        return EXITS[UNKNOWN]  # what was not judged may have a problem
    return code


def _requests(
    files: Sequence[Path], log_settings: LogOptions, lines: GroupLines | None, *, may_be_quiet: bool
) -> LogRun:
    """Audit request logs; quiet ones have requests, but none about groups.  Raises LogFileError."""
    with _opened(RequestLog, files, log_settings) as log:
        run = audit_log(log, log_settings.settings(), frozenset(log_settings.groups), lines)
    is_quiet = bool(run.other_groups) or (may_be_quiet and log.skipped.counts[OTHER_API] > 0)
    if not run.exchanges and not is_quiet:
        raise click.UsageError(
            f"no line of {files[0]} can be read; is it a request log (the logger "
            "kafka.request.logger at DEBUG), and is --date-pattern that of the appender?"
        )
    return run


def _server(
    files: Sequence[Path], log_settings: LogOptions, lines: GroupLines | None, *, may_be_quiet: bool
) -> LogRun:
    """Audit server logs; quiet ones have no line about a group.  Raises LogFileError."""
    _refuse(_VERDICTS, "what is judged, and server.log has no answers to judge")
    with _opened(ServerLog, files, log_settings) as log:
        run = audit_server_log(log, frozenset(log_settings.groups), lines)
    if run.events or may_be_quiet or run.other_groups:
        return run
    for unread in run.unread:
        if unread.reason is UNREAD:
            return run
        raise click.UsageError(
            f"no date of {plural(unread.lines, 'line')} of a group coordinator is read: "
            f"{why_unread(unread.example)}.  {unread.first}: {unread.example}"
        )
    raise click.UsageError(
        f"no line of {files[0]} is one of a group coordinator about a group; does this broker "
        "coordinate groups, and is the level of kafka.coordinator.group and "
        "org.apache.kafka.coordinator.group INFO?"
    )


def _say(run: LogRun, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(run.document().plain(), indent=1))
        return
    for line in audit_lines(run):
        click.echo(line)


def _say_where(report: Path | None, *, as_json: bool) -> None:
    if report is not None and not as_json:
        click.echo(f"Read {report / INDEX}")


@contextmanager
def _opened(kind: type[_Log], files: Sequence[Path], log_settings: LogOptions) -> Iterator[_Log]:
    """Open the logs, to be read with a bar while that lasts.  Raises LogFileError."""
    with _progress(files) as progress:
        yield kind(
            files,
            dates=log_settings.dates(),
            skew=dict(log_settings.skew),
            line_limit=log_settings.line_limit,
            progress=progress,
        )


@contextmanager
def _progress(files: Sequence[Path]) -> Iterator[Callable[[int], None] | None]:
    """Yield a bar on stderr while files are read; None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    # Here, since it takes 20 ms to import.
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True, emoji=False), transient=True) as bar:
        task = bar.add_task("reading", total=sum(path.stat().st_size for path in files))
        yield lambda read: bar.advance(task, read)


def _refuse(options: dict[str, str], why: str) -> None:
    """Raise click.UsageError for an option that was given and has no meaning here."""
    context = click.get_current_context()
    for name, option in options.items():
        if is_on_line(context, name):
            raise click.UsageError(f"{option} is for {why}; leave it out")


def _traces(
    files: tuple[Path, ...], groups: tuple[str, ...], *, as_json: bool, report: Path | None
) -> int:
    unfit = {**_VERDICTS, **_LINES}
    del unfit["revision"]
    _refuse(unfit, "request logs, and a trace has its own settings")
    context = click.get_current_context()
    revision = context.params["revision"] if is_on_line(context, "revision") else None
    audited = audit_traces(files, revision, frozenset(groups))
    if not audited:
        raise click.UsageError(f"no trace names the group {groups[0]!r}")
    if report is not None:
        write_traces(audited, report)
    if as_json:
        click.echo(traces_json(audited))
    else:
        for row in audited:
            click.echo(row.line())
    _say_where(report, as_json=as_json)
    return EXITS.get(worst(audited), 0)
