"""`corpus audit`, `watch` and `metrics`: audit the logs of many brokers.

The pipeline itself is `fencepost.traces.pipeline`.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
from pathlib import Path
from typing import Any

import click

from fencepost.conformance.cli.cli import exit_codes
from fencepost.conformance.cli.corpus import folder_argument, out_option, say, with_engine
from fencepost.conformance.cli.options.common_options import (
    WEEK_S,
    Real,
    files_argument,
)
from fencepost.conformance.cli.options.log_options import (
    EXITS,
    engine_of,
    log_options,
    parts_option,
)
from fencepost.conformance.runtime.event_loop import term_is_interrupt
from fencepost.conformance.runtime.toolchain.found_tools import kafka_source
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.model.history.words import plural
from fencepost.traces.audit.audit_settings import LogOptions
from fencepost.traces.files.bounded import pip_install
from fencepost.traces.logs.log_files import LogFileError


@click.command(
    "audit",
    epilog=exit_codes(
        "all groups are explained, or unjudged",
        "a group is violated",
        "no violation, but a group is unknown, or a line not read",
    ),
)
@files_argument("logs", "LOGS...")
@log_options
@with_engine
@parts_option(32)
@out_option
@click.pass_context
def audit_logs_command(
    ctx: click.Context,
    *,
    logs: tuple[Path, ...],
    log_settings: LogOptions,
    parts: int,
    out: str,
    engine: str,
    master: str | None,
    as_json: bool,
) -> None:
    """Audit many logs of brokers and write the results as tables.

    Each log is checked as by `fencepost audit`; give one kind of log at a time.  After a crash,
    repeat the command: it does the rest.  A log that has grown needs another --out.

    \b
    Tables in the folder of --out, one file for each part.  Their columns are
    the keys of the JSON of `fencepost audit`, which its schemas describe:
      groups/, violations/, rebalances/, restarts/, expirations/, loops/,
      life_lines/, deployments/, chains/, self_fencings/, static_leaves/,
      thrown_out/, near_timeouts/, pending_ids/, empty_spans/,
      removed_offsets/, failovers/, problems/, expired_together.parquet

    \b
    Others:
      figures/      the figures of a group, as for Prometheus; null: the
                    log can't show it.  `rebalances`, `failed_rebalances`,
                    `rebalancing_total_ms` (the length of all of them),
                    `deployments`, `deployment_restarts`,
                    `deployment_rebalances`, `replacements`, `fenced`,
                    `thrown_out`, `expirations`, `expirations_for_good`,
                    `restarts`, `loops`, `unused_member_ids`, `failovers`,
                    `group_lost`, `last_expired_ms`; at the end of the log
                    `static` and `dynamic` members, `rebalancing_ms`,
                    `kind`, `library`; `unshown`: kinds of problems that
                    the log can't show
      files/        the input: lines, skipped lines, and `others`: groups
                    of other protocols
      lines/        requests of a request log
      events/       messages of a coordinator in server.log
      uses/, connections/    connections of a request log
      audit.json    files, options, and the version of the tables, 1
    """  # noqa: D301  (click keeps the lines after it)
    with engine_of(engine, master) as running:
        from fencepost.traces.pipeline.logs.audit_plan import LogAudit  # noqa: PLC0415
        from fencepost.traces.pipeline.logs.part_audit import audit_logs  # noqa: PLC0415
        from fencepost.traces.pipeline.storage.location import Place  # noqa: PLC0415

        try:
            audit = LogAudit.of(Place(out), list(logs), log_settings, parts)
            done = audit_logs(running, audit)
        except LogFileError as error:
            raise click.UsageError(str(error)) from error
    document = done.to_json()
    if not as_json:
        counts = document.pop("counts")
        document.pop("skipped")
        document = {"out": out, **document, **counts}
        outcomes = done.outcomes.most_common()
        results = ", ".join(f"{number:,} {outcome}" for outcome, number in outcomes)
        read = f"{plural(done.groups, 'group')} in {plural(done.files, 'file')}"
        click.echo(f"{read}: {results or 'nothing to judge'}")
        click.echo()
    say(document, as_json=as_json)
    ctx.exit(EXITS.get(done.outcome, 0))


@click.command(
    "watch", epilog=exit_codes("ended on request", "a group is violated", "one is unknown")
)
@click.argument(
    "folder",
    required=False,
    metavar="[DIR]",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option("--topic", metavar="NAME", help="Read a topic instead of a folder.")
@click.option("--bootstrap", metavar="HOST:PORT", help="The brokers of the topic.")
@click.option("--once", is_flag=True, help="Read what is there now, then end.")
@click.option(
    "--every",
    "every_s",
    type=Real(0, WEEK_S),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to look for new lines.",
)
@log_options
@parts_option(16)
@click.option("--master", metavar="URL", help="Spark's master [default: local[*]].")
@out_option
@click.pass_context
def watch_command(
    ctx: click.Context,
    *,
    folder: Path | None,
    topic: str | None,
    bootstrap: str | None,
    once: bool,
    every_s: float,
    log_settings: LogOptions,
    parts: int,
    master: str | None,
    out: str,
) -> None:
    """Audit request logs while they grow, on Spark.

    The logs are a folder of files, or a topic of Kafka with one line in each record, keyed by
    broker.  It prints each violation as a line of JSON, and keeps it in alerts/batch-N.jsonl in the
    folder of --out, with its state.  After a crash, repeat the command: no violation is lost or
    kept twice.  End it with Ctrl-C, or use --once.
    """
    if (folder is None) == (topic is None) or (topic is None) != (bootstrap is None):
        raise click.UsageError("give a folder of logs, or --topic NAME with --bootstrap HOST:PORT")
    try:
        from fencepost.traces.pipeline.spark import spark, stream  # noqa: PLC0415
        from fencepost.traces.pipeline.storage.location import Place  # noqa: PLC0415
    except ImportError as error:
        raise TargetUnavailableError(
            f"{error}: {pip_install('spark')}, with PySpark 4.2 or later"
        ) from error
    settings = dict(stream.SETTINGS)
    if topic is not None:
        settings["spark.jars"] = ",".join(
            map(str, asyncio.run(kafka_source(importlib.metadata.version("pyspark"))))
        )
    source = stream.StreamSource(
        None if folder is None else str(folder.resolve()), topic, bootstrap
    )
    watch = stream.LogWatch(Place(out), source, log_settings, parts)
    try:
        with term_is_interrupt(), spark.spark_session(master, settings) as session:
            stream.watch_logs(session, watch, _tell, every_s=None if once else every_s)
    except spark.SparkUnavailableError as error:
        raise TargetUnavailableError(str(error)) from error
    outcomes = {alert["outcome"] for alert in stream.alerts_in(watch.place)}
    ctx.exit(next((code for outcome, code in EXITS.items() if outcome in outcomes), 0))


@click.command("metrics")
@folder_argument
@with_engine
def metrics_command(folder: str, engine: str, master: str | None, *, as_json: bool) -> None:
    """Draw the figures of an audit: metrics.html.

    The time without consumption is an upper limit: from the cause of a rebalance to its first
    assignment, while members with a cooperative assignor continue.

    \b
    Tables, next to those of the audit:
      metrics/               a group and day, `day_ms`
      metrics_days.parquet, metrics_hours.parquet, metrics_durations.parquet
                             a day; an hour and cause; a class of durations
    Their columns: rebalances, in all and by cause; `rebalance_ms`, their
    duration; `rebalances_of_unknown_length`; `stopped_ms`, the time without
    consumption; rebalances by what would have avoided them, `static_avoids`,
    `longer_session_avoids`, `no_leave_avoids`, `longer_poll_avoids`; and the
    figures of the audit, such as `fenced` and `deployment_rebalances`.
    """  # noqa: D301  (click keeps the lines after it)
    with engine_of(engine, master) as running:
        try:
            from fencepost.traces.pipeline.logs.metrics import (  # noqa: PLC0415  (an extra)
                measure_logs,
                metrics_page,
            )
        except ImportError as error:
            raise TargetUnavailableError(f"{error}: {pip_install('corpus')}") from error
        from fencepost.traces.pipeline.logs.audit_plan import LogAudit  # noqa: PLC0415
        from fencepost.traces.pipeline.logs.part_audit import recorded_totals  # noqa: PLC0415
        from fencepost.traces.pipeline.storage.location import Place  # noqa: PLC0415

        audit = LogAudit.read(Place(folder))
        done = recorded_totals(audit)
        metrics = measure_logs(running, audit)
    name = f"{plural(done.groups, 'group')} in {plural(done.files, 'file')}"
    audit.place.write_text("metrics.html", metrics_page(metrics, name))
    say({"page": audit.place.full("metrics.html"), **metrics.totals}, as_json=as_json)


def _tell(alert: dict[str, Any]) -> None:
    click.echo(json.dumps(alert, ensure_ascii=False))
