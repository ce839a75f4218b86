"""Recommend settings, from facts about a group or from its logs (`advise`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from fencepost.conformance.advise.advice import advice_for
from fencepost.conformance.advise.advice_document import advice_document
from fencepost.conformance.advise.advice_report import advice_verdict, print_advice, write_advice
from fencepost.conformance.advise.known_facts import (
    FACTS,
    AdviceError,
    NoAdviceError,
    known_group,
)
from fencepost.conformance.advise.log_facts import facts_of, log_facts, read_reports
from fencepost.conformance.cli.cli import exit_codes
from fencepost.conformance.cli.options.common_options import (
    AMOUNT,
    Whole,
    console,
    echo_json,
    json_option,
    report_option,
)
from fencepost.conformance.cli.options.log_options import (
    partitions_option,
    restart_duration,
    restart_options,
    resume_option,
)
from fencepost.model.history.words import plural


@click.command(
    "advise",
    epilog=exit_codes(unknown="the log shows no restart with its length, so nothing is advised"),
)
@click.argument(
    "logs",
    nargs=-1,
    metavar="[LOG...]",
    type=click.Path(exists=True, path_type=Path),
)
@click.option("--group", metavar="NAME", help="The group, where logs have several.")
@click.option("--members", type=Whole(), metavar="N", help="Number of processes.")
@partitions_option
@click.option(
    "--at-a-time", type=Whole(), metavar="K", help="Processes that a deployment restarts at a time."
)
@restart_options
@click.option(
    "--tolerated-gap-s",
    type=AMOUNT,
    metavar="S",
    help="Longest time that a partition may be without a consumer when a host dies.",
)
@click.option(
    "--longest-pause-s",
    type=AMOUNT,
    metavar="S",
    help="Longest silence of a live process (garbage collection, network).",
)
@click.option("--processing-s", type=AMOUNT, metavar="S", help="Work on what one poll returned.")
@resume_option
@click.option(
    "--warmup-s",
    type=AMOUNT,
    metavar="S",
    help="Time until a member keeps up with a partition that is new to it.",
)
@click.option("--deployments-per-week", type=AMOUNT, metavar="X", help="Rollouts of all processes.")
@click.option(
    "--crashes-per-week",
    type=AMOUNT,
    metavar="X",
    help="Processes of the group that die and are started again.",
)
@click.option(
    "--deaths-per-week", type=AMOUNT, metavar="X", help="Hosts that die and don't come back."
)
@click.option(
    "--heartbeat-interval-ms",
    type=Whole(),
    metavar="MS",
    help="heartbeat.interval.ms, which is kept; else a shorter one may be advised.",
)
@click.option("--session-timeout-ms", type=Whole(), metavar="MS", help="session.timeout.ms today.")
@click.option(
    "--strategy",
    type=click.Choice(["eager", "cooperative", "both"]),
    help="How members rebalance today; both: eagerly, and they offer RangeAssignor and "
    "CooperativeStickyAssignor, as Java's do by default since 3.0.",
)
@click.option("--static/--dynamic", "static", default=None, help="Kind of today's members.")
@click.option(
    "--only",
    type=click.Choice(["static", "dynamic", "eager", "cooperative"]),
    multiple=True,
    help="Advise no other membership, or strategy.  May be repeated.",
)
@json_option
@report_option("Write advice.json and index.html, with the curve, there.")
def advise_command(
    *, logs: tuple[Path, ...], group: str | None, as_json: bool, report: Path | None, **values: Any
) -> int:
    """Say which session timeout and strategy lose least.

    It weighs restarts that outlive the session against real deaths that are noticed late, for
    eager and cooperative, dynamic and static members, and gives a line of `fencepost simulate` for
    each figure.

    LOG: request logs, server.log, or FILE.json of `fencepost audit --json`; they show restart times
    and rebalances as they were.  An option is taken instead of what a log shows.
    """
    options = {name: _value(fact.option, values) for name, fact in FACTS.items()}
    options["restart_s"] = restart_duration(values["restart_s"], values["restart_p95_s"])
    if group is not None and not logs:
        raise AdviceError(f"--group {group} is for logs, and none is given")
    audited = read_reports(logs, group) if logs else {}
    if unread := audited.get("unread_lines"):
        click.echo(
            f"Warning: {plural(unread, 'line')} about groups not understood, so the log may show "
            "more than this; fencepost audit shows an example.",
            err=True,
        )
    log = log_facts(audited, group) if logs else None
    try:
        facts = facts_of(log, {name: value for name, value in options.items() if value is not None})
    except NoAdviceError as error:
        click.echo(str(error), err=as_json)
        return 2
    advice = advice_for(known_group(facts))
    document = advice_document(advice, log, list(facts)).plain()
    if report is not None:
        write_advice(document, report)
    if as_json:
        echo_json(document)
        return 0
    print_advice(advice_verdict(document), advice, log, list(facts), console())
    if report is not None:
        console().print(f"Read {report / 'index.html'}", soft_wrap=True, highlight=False)
    return 0


def _value(option: str, values: Mapping[str, Any]) -> Any:
    """Return the value of an option, durations in seconds; None where it was not given."""
    name = option.partition(",")[0].removeprefix("--").replace("-", "_")
    value = values[name]
    if value in ((), None):
        return None
    return value / 1000 if name.endswith("_ms") else value
