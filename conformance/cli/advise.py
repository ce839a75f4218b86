"""Recommend settings, from facts about a group or from its logs (`advise`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from fencepost.conformance.advise.advice import advice_for
from fencepost.conformance.advise.advice_document import advice_document
from fencepost.conformance.advise.advice_page import write_advice
from fencepost.conformance.advise.advice_report import print_advice
from fencepost.conformance.advise.known_facts import (
    FACTS,
    AdviceError,
    KnownGroup,
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
    STRATEGY,
    partitions_option,
    restart_duration,
    restart_options,
    resume_option,
)
from fencepost.model.history.words import plural

_ASSUMED = {field.name: field.default for field in msgspec.structs.fields(KnownGroup)}


def _assumed(name: str) -> str:
    """Return the end of an option's help: the value that is assumed without it."""
    return f"  [default: {_ASSUMED[name]:g}]"


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
@click.option("--group", metavar="NAME", help="The group, if the logs have several.")
@click.option(
    "--members", type=Whole(), metavar="N", help=f"Number of processes.{_assumed('members')}"
)
@partitions_option
@click.option(
    "--at-a-time",
    type=Whole(),
    metavar="K",
    help="Processes that a deployment restarts at a time; the next when the group is balanced."
    + _assumed("at_a_time"),
)
@restart_options
@click.option(
    "--tolerated-gap-s",
    type=AMOUNT,
    metavar="S",
    help="Longest time without a consumer for the partitions of a host that dies; restarts may "
    "take longer.  [default: any]",
)
@click.option(
    "--longest-pause-s",
    type=AMOUNT,
    metavar="S",
    help="Longest silence of a live process, such as a garbage collection; no session is advised "
    f"that isn't a heartbeat longer.{_assumed('pause_s')}",
)
@click.option(
    "--processing-s",
    type=AMOUNT,
    metavar="S",
    help="Longest work on the records of one poll; a member joins a rebalance at its next poll."
    + _assumed("processing_s"),
)
@resume_option
@click.option(
    "--warmup-s",
    type=AMOUNT,
    metavar="S",
    help="Time until a member has caught up with a partition that is new to it: caches, state to "
    f"restore.{_assumed('warmup_s')}",
)
@click.option(
    "--deployments-per-week",
    type=AMOUNT,
    metavar="X",
    help=f"Deployments in a week; each restarts all processes.{_assumed('deployments')}",
)
@click.option(
    "--crashes-per-week",
    type=AMOUNT,
    metavar="X",
    help=f"Processes of the group that die and restart, in a week.{_assumed('crashes')}",
)
@click.option(
    "--deaths-per-week",
    type=AMOUNT,
    metavar="X",
    help=f"Hosts that die and don't come back, in a week.{_assumed('deaths')}",
)
@click.option(
    "--heartbeat-interval-ms",
    type=Whole(),
    metavar="MS",
    help="heartbeat.interval.ms to keep.  [default: 3000, or 1000 if the loss falls by a tenth or "
    "more]",
)
@click.option(
    "--session-timeout-ms",
    type=Whole(),
    metavar="MS",
    help="session.timeout.ms today.  [default: 45000]",
)
@click.option(
    "--strategy",
    type=STRATEGY,
    metavar="[eager|cooperative|both]",
    help="Assignors of the members today: eager (range), cooperative (cooperative-sticky), or "
    "both, as Java consumers by default since 3.0, which rebalance eagerly.  [default: both]",
)
@click.option(
    "--static/--dynamic", "static", default=None, help="Members today.  [default: dynamic]"
)
@click.option(
    "--only",
    type=click.Choice(["static", "dynamic", "eager", "cooperative"]),
    multiple=True,
    help="Advise only this membership or strategy (may be repeated).",
)
@json_option
@report_option("Write advice.json and index.html, with the curve, there.")
def advise_command(
    *, logs: tuple[Path, ...], group: str | None, as_json: bool, report: Path | None, **values: Any
) -> int:
    """Recommend the settings with the least loss of consumption.

    It weighs restarts that exceed the session timeout against deaths that the group notices late,
    for eager and cooperative, dynamic and static members, and names a command of `fencepost
    simulate` that checks each figure.

    LOG: request logs, server.log, or FILE.json of `fencepost audit --json`; they show restart times
    and rebalances.  Options override them.
    """
    options = {name: _value(fact.option, values) for name, fact in FACTS.items()}
    options["restart_s"] = restart_duration(values["restart_s"], values["restart_p95_s"])
    if group is not None and not logs:
        raise AdviceError(f"--group {group} is for logs, and none is given")
    audited = read_reports(logs, group) if logs else {}
    if unread := audited.get("unread_lines"):
        click.echo(
            f"Warning: {plural(unread, 'line')} about groups could not be read, so the log may "
            "show more than this; fencepost audit shows an example.",
            err=True,
        )
    log = log_facts(audited, group) if logs else None
    try:
        facts = facts_of(log, {name: value for name, value in options.items() if value is not None})
    except NoAdviceError as error:
        click.echo(str(error)[0].upper() + str(error)[1:], err=as_json)
        return 2
    advice = advice_for(known_group(facts))
    document = advice_document(advice, log, list(facts)).plain()
    if report is not None:
        write_advice(document, report)
    if as_json:
        echo_json(document)
        return 0
    print_advice(document["verdict"], advice, log, list(facts), console())
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
