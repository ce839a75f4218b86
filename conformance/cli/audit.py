"""`audit`: check recordings that others made: request logs, or traces."""

from __future__ import annotations

import json
from pathlib import Path

import click
from click.core import ParameterSource

from fencepost.conformance.cli.exit_codes import exit_codes
from fencepost.conformance.cli.options.common import files_argument, json_option, report_option
from fencepost.conformance.cli.options.logs import EXITS, log_options
from fencepost.conformance.log_audit.report import audit_lines, write_audit
from fencepost.conformance.log_audit.traces import audit_traces, traces_json, worst, write_traces
from fencepost.traces.audit.judge.settings import LogOptions
from fencepost.traces.audit.run import AuditRun, audit_log
from fencepost.traces.logs.request_log import RequestLog, RequestLogError

REQUEST_LOG, TRACE = "kafka-request-log", "trace"
_OF_LOGS = {
    "gaps": "--gaps",
    "lag_ms": "--lag",
    "config": "--config",
    "skew": "--skew",
    "date_pattern": "--date-pattern",
    "line_limit": "--line-limit",
    "timezone": "--timezone",
}


@click.command(
    "audit",
    epilog=exit_codes(
        "all groups are explained",
        "a group is violated",
        "none is violated, but one is unknown",
    ),
)
@files_argument("files", "FILE...")
@click.option(
    "--format",
    "form",
    type=click.Choice([REQUEST_LOG, TRACE]),
    default=REQUEST_LOG,
    show_default=True,
    help="What the files are.  They may be compressed (.gz).",
)
@log_options
@json_option
@report_option("Write audit.json, audit.txt and a trace of each violated group there.")
def audit_command(
    *,
    files: tuple[Path, ...],
    form: str,
    told: LogOptions,
    as_json: bool,
    report: Path | None,
) -> int:
    """Check recordings: Kafka's request logs, or traces.

    Each group of a log gets one of three results.  Explained: some run of the model gives every
    answer.  Violated: with the first line that no run gives.  Unknown: with the reason.  A log
    need not start when the group did.

    Put each broker's files in a folder of their own, or name them BROKER.log.  A trace is judged as
    a whole, by the revision that it names or by --revision.
    """
    if form == TRACE:
        return _traces(files, told.groups, as_json=as_json, report=report)
    try:
        log = RequestLog(
            files, dates=told.dates(), skew=dict(told.skew), line_limit=told.line_limit
        )
        run = audit_log(log, told.settings(), frozenset(told.groups))
    except RequestLogError as error:
        raise click.UsageError(str(error)) from error
    if not run.exchanges:
        raise click.UsageError(
            f"no line of {files[0]} can be read; is it a request log (the logger "
            "kafka.request.logger at DEBUG), and is --date-pattern that of the appender?"
        )
    if unknown := sorted(set(told.groups) - set(run.groups)):
        raise click.UsageError(f"no line names the group {unknown[0]!r}")
    _say(run, as_json=as_json)
    if report is not None:
        write_audit(run, report)
    return EXITS.get(run.outcome, 0)


def _say(run: AuditRun, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(run.to_json(), indent=1))
        return
    for line in audit_lines(run):
        click.echo(line)


def _traces(
    files: tuple[Path, ...], groups: tuple[str, ...], *, as_json: bool, report: Path | None
) -> int:
    context = click.get_current_context()
    given = {
        name
        for name in context.params
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    for name, option in _OF_LOGS.items():
        if name in given:
            raise click.UsageError(
                f"{option} is for request logs, and a trace has its own settings; "
                f"leave it out, or give --format {REQUEST_LOG}"
            )
    revision = context.params["revision"] if "revision" in given else None
    audited = audit_traces(files, revision, frozenset(groups))
    if not audited:
        raise click.UsageError(f"no trace names the group {groups[0]!r}")
    if as_json:
        click.echo(traces_json(audited))
    else:
        for row in audited:
            click.echo(row.line())
    if report is not None:
        write_traces(audited, report)
    return EXITS.get(worst(audited), 0)
