"""`simulate`: what a deployment costs a consumer group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from fencepost.conformance.cli.exit_codes import exit_codes
from fencepost.conformance.cli.options.common import (
    REVISION,
    console,
    echo_json,
    json_option,
    report_option,
)
from fencepost.conformance.cli.options.seconds import restart_duration, restart_options
from fencepost.conformance.simulator.cost import costs_json
from fencepost.conformance.simulator.member_settings import MemberSettings
from fencepost.conformance.simulator.report import print_variants, write_report
from fencepost.conformance.simulator.scenario import (
    DeploymentScenario,
    checked_scenario,
    find_scenario,
    scenario_names,
)
from fencepost.conformance.simulator.simulate import simulate_all, variant_name, variants_of
from fencepost.model.revisions.revisions import is_in_a_file

_JOBS = 2


@click.command("simulate", epilog=exit_codes())
@click.argument("scenario", required=False, metavar="[SCENARIO]")
@click.option("--members", type=int, metavar="N", help="So many processes.")
@click.option("--partitions", type=int, metavar="P", help="So many partitions, of one topic.")
@click.option(
    "--strategy",
    type=click.Choice(["eager", "cooperative"]),
    help="How members rebalance: with the assignor range, or cooperative-sticky.",
)
@click.option("--static/--dynamic", "static", default=None, help="With instance ids, or without.")
@restart_options
@click.option("--processing-s", type=float, metavar="S", help="Work on what one poll returned.")
@click.option("--session-timeout-ms", type=int, metavar="MS", help="session.timeout.ms.")
@click.option("--heartbeat-interval-ms", type=int, metavar="MS", help="heartbeat.interval.ms.")
@click.option("--at-a-time", type=int, metavar="K", help="A bounce restarts so many at a time.")
@click.option(
    "--revision",
    type=REVISION,
    metavar="R",
    help="What the coordinator does, by name or as FILE.py:NAME.",
)
@click.option(
    "--target-size",
    type=int,
    metavar="N",
    help="How many members an experimental revision is told that there will be.",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="The first seed.")
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Run so many seeds, and print percentiles.",
)
@click.option(
    "--compare",
    metavar="FORMS",
    help="Run several forms side by side, such as eager,static+cooperative,static+kip-345.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=_JOBS,
    show_default=True,
    help="Processes, where there are several runs.",
)
@json_option
@report_option("Write simulation.json and index.html, with the timeline of each partition, there.")
def simulate_command(
    *,
    scenario: str | None,
    members: int | None,
    partitions: int | None,
    strategy: str | None,
    static: bool | None,
    restart_s: tuple[float, ...] | None,
    restart_p95_s: float | None,
    processing_s: float | None,
    session_timeout_ms: int | None,
    heartbeat_interval_ms: int | None,
    at_a_time: int | None,
    revision: str | None,
    target_size: int | None,
    seed: int,
    seeds: int,
    compare: str | None,
    jobs: int,
    as_json: bool,
    report: Path | None,
) -> int:
    """Compute what a deployment costs a group.

    The group is the reference client, many times, and the model of the coordinator, on a virtual
    clock: rebalances with their causes, partitions that move, and how long each is not consumed.

    SCENARIO is a name, or a file that ends in .toml; without one, the names are listed.
    """
    if scenario is None:
        for name in scenario_names():
            console().print(f"{name:26} {find_scenario(name).about}", soft_wrap=True)
        return 0
    chosen = find_scenario(scenario)
    changes: dict[str, Any] = {}
    if members is not None:
        changes["members"] = members
    if partitions is not None:
        changes |= {"partitions": partitions, "topics": {}}
    if target_size is not None:
        changes["target_size"] = target_size
    restart = restart_duration(restart_s, restart_p95_s)
    if restart is not None:
        changes["restart_s"] = restart
    if processing_s is not None:
        changes["processing_s"] = processing_s
    if revision is not None:
        changes["revision"] = revision
        jobs = 1 if is_in_a_file(revision) else jobs  # a file is loaded in this process alone
    settings = {
        "strategy": strategy,
        "membership": None if static is None else "static" if static else "dynamic",
        "session_timeout_ms": session_timeout_ms,
        "heartbeat_interval_ms": heartbeat_interval_ms,
    }
    chosen = _changed(chosen, changes, settings, at_a_time)
    forms = {variant_name(chosen.settings): chosen} if compare is None else None
    variants = simulate_all(
        forms or variants_of(chosen, compare or ""), range(seed, seed + seeds), jobs
    )
    if report is not None:
        write_report(chosen, variants, report)
    if as_json:
        echo_json(costs_json(variants))
        return 0
    print_variants(chosen, variants, console())
    if report is not None:
        console().print(f"Read {report / 'index.html'}", soft_wrap=True, highlight=False)
    return 0


def _changed(
    scenario: DeploymentScenario,
    changes: dict[str, Any],
    settings: dict[str, Any],
    at_a_time: int | None,
) -> DeploymentScenario:
    """A scenario with what the options say.  Raises ScenarioError."""
    given = msgspec.to_builtins(scenario) | changes
    own = {name: value for name, value in settings.items() if value is not None}
    given["settings"] = msgspec.to_builtins(checked_settings(own).over(scenario.settings))
    if at_a_time is not None:
        given["step"] = [
            {**step, "at_a_time": at_a_time} if step["do"] == "bounce" else step
            for step in given.get("step", ())
        ]
    return checked_scenario(given, "the options")


def checked_settings(given: dict[str, Any]) -> MemberSettings:
    """Settings of plain values, which the options have checked but for their range."""
    return checked_scenario({"settings": given}, "the options").settings
