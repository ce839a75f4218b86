"""`corpus audit`: request logs of many brokers by parts, in one process or on Spark.

Decides how it is called and what it prints; what it does is `fencepost.traces.pipeline`'s.
"""

from __future__ import annotations

from pathlib import Path

import click

from fencepost.conformance.cli_corpus import engine_of, out_option, say, with_engine
from fencepost.conformance.cli_log_options import log_options, pairs
from fencepost.conformance.targets import find_revision
from fencepost.traces.audit.results import UNKNOWN, VIOLATED
from fencepost.traces.log_dates import DatePatternError
from fencepost.traces.request_log import RequestLogError

EXITS = {VIOLATED: 1, UNKNOWN: 2}


@click.command("audit")
@click.argument(
    "logs",
    nargs=-1,
    required=True,
    metavar="LOGS...",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@log_options
@with_engine
@click.option(
    "--parts",
    type=click.IntRange(1, 10_000),
    default=32,
    show_default=True,
    help="Deal the groups out to so many tasks.",
)
@out_option
@click.pass_context
def audit_logs_command(
    ctx: click.Context,
    *,
    logs: tuple[Path, ...],
    groups: tuple[str, ...],
    revision: str,
    gaps: str,
    lag_ms: int,
    config: tuple[str, ...],
    skew: tuple[str, ...],
    date_pattern: str,
    timezone: str,
    parts: int,
    out: str,
    engine: str,
    master: str | None,
    as_json: bool,
) -> None:
    """Check Kafka's request logs, as `fencepost audit` does, into tables in DIR.

    A row for each group, violation, rebalance, life line of an instance id, deployment and problem.
    Run again, it does what is missing.  Exit code: 0 all explained, 1 a group is violated, 2 none
    is, but one is unknown.
    """
    find_revision(revision)
    with engine_of(engine, master) as running:
        from fencepost.traces.pipeline.log_commands import audit_logs  # noqa: PLC0415  (an extra)
        from fencepost.traces.pipeline.log_plan import LogAudit, LogOptions  # noqa: PLC0415
        from fencepost.traces.pipeline.place import Place  # noqa: PLC0415

        options = LogOptions(
            revision,
            gaps,
            lag_ms,
            dict(pairs("--config", config)),
            dict(pairs("--skew", skew)),
            date_pattern,
            timezone,
            groups,
        )
        try:
            audit = LogAudit.of(Place(out), list(logs), options, parts)
            done = audit_logs(running, audit)
        except (DatePatternError, RequestLogError) as error:
            raise click.UsageError(str(error)) from error
    told = done.to_json()
    if not as_json:
        counts = told.pop("counts")
        told.pop("skipped")
        told = {"out": out, **told, **counts}
    say(told, as_json=as_json)
    ctx.exit(EXITS.get(done.outcome, 0))


LOG_COMMANDS = (audit_logs_command,)
