"""Compute the cost of a deployment for a consumer group (`simulate`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from fencepost.conformance.cli.cli import exit_codes
from fencepost.conformance.cli.options.common_options import (
    AMOUNT,
    JOB_COUNT,
    REVISION,
    SEED,
    Whole,
    console,
    echo_json,
    json_option,
    report_option,
)
from fencepost.conformance.cli.options.log_options import (
    STRATEGY,
    check_master,
    engine_of,
    engine_option,
    master_option,
    partitions_option,
    restart_duration,
    restart_options,
    resume_option,
)
from fencepost.conformance.simulate.deployment_scenario import find_scenario, scenario_names
from fencepost.conformance.simulate.simulate import Cost, SimulationRun, costs_json
from fencepost.conformance.simulate.simulation_report import print_variants, write_simulation
from fencepost.conformance.simulate.sweep import (
    Runner,
    in_processes,
    own_revisions,
    simulate_all,
    variant_name,
    variants_of,
    varied,
    with_changes,
    with_values,
)
from fencepost.model.revisions.revisions import is_in_a_file

_JOBS = 2


@click.command("simulate", epilog=exit_codes())
@click.argument("scenario", required=False, metavar="[SCENARIO]")
@click.option("--members", type=Whole(), metavar="N", help="Number of processes.")
@partitions_option
@click.option(
    "--strategy",
    type=STRATEGY,
    metavar="[eager|cooperative|both]",
    help="Assignors of the members: eager (range), cooperative (cooperative-sticky), or both, "
    "which rebalance eagerly.",
)
@click.option(
    "--static/--dynamic", "static", default=None, help="Members with instance ids, or without."
)
@restart_options
@click.option(
    "--processing-s",
    type=AMOUNT,
    metavar="S",
    help="Longest work on the records of one poll; a member joins a rebalance at its next poll.",
)
@resume_option
@click.option("--session-timeout-ms", type=Whole(), metavar="MS", help="session.timeout.ms.")
@click.option("--heartbeat-interval-ms", type=Whole(), metavar="MS", help="heartbeat.interval.ms.")
@click.option(
    "--at-a-time", type=Whole(), metavar="K", help="Processes that a deployment restarts at a time."
)
@click.option(
    "--revision",
    type=REVISION,
    metavar="R",
    help="Revision of the coordinator, by name or as FILE.py:NAME.",
)
@click.option(
    "--target-size",
    type=Whole(),
    metavar="N",
    help="Number of members that an experimental revision expects.",
)
@click.option(
    "--seed", type=SEED, default=0, show_default=True, metavar="N", help="The first seed."
)
@click.option(
    "--seeds",
    type=Whole(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of seeds; of several, print the median and the 95th percentile.",
)
@click.option(
    "--compare",
    metavar="FORMS",
    help="Compare several forms, such as eager,static+cooperative,static+kip-345; a revision may "
    "be FILE.py:NAME.",
)
@click.option(
    "--vary",
    multiple=True,
    metavar="NAME=V[,V...]",
    help="Run each of these values of a field of the scenario, its settings or its steps, such as "
    "restart_s=5,20 (may be repeated: all combinations).",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=V",
    help="Setting of the processes that a deployment starts, such as membership=static (may be "
    "repeated): a migration.",
)
@click.option(
    "--jobs",
    type=JOB_COUNT,
    default=_JOBS,
    show_default=True,
    help="Processes of this machine that share several runs.",
)
@engine_option
@master_option
@json_option
@report_option(
    "Write simulation.json, runs.csv, and index.html with the time line of each partition there."
)
def simulate_command(
    *,
    scenario: str | None,
    members: int | None,
    partitions: tuple[int, ...] | None,
    strategy: str | None,
    static: bool | None,
    restart_s: tuple[float, ...] | None,
    restart_p95_s: float | None,
    processing_s: float | None,
    resume_s: float | None,
    session_timeout_ms: int | None,
    heartbeat_interval_ms: int | None,
    at_a_time: int | None,
    revision: str | None,
    target_size: int | None,
    seed: int,
    seeds: int,
    compare: str | None,
    vary: tuple[str, ...],
    changes: tuple[str, ...],
    jobs: int,
    engine: str,
    master: str | None,
    as_json: bool,
    report: Path | None,
) -> int:
    """Compute the cost of a deployment for a consumer group.

    It runs many reference clients against the model of the coordinator, on a virtual clock, and
    reports rebalances with their causes, partitions that move, and the time without a consumer.

    SCENARIO is a name, or a TOML file; examples/deployments/every-field.toml shows all fields.
    Without one, the names are listed.
    """
    if scenario is None:
        for name in scenario_names():
            console().print(f"{name:26} {find_scenario(name).about}", soft_wrap=True)
        return 0
    values = {
        "members": members,
        **_topics(partitions),
        "strategy": strategy,
        "membership": None if static is None else "static" if static else "dynamic",
        "restart_s": restart_duration(restart_s, restart_p95_s),
        "processing_s": processing_s,
        "resume_s": resume_s,
        "session_timeout_ms": session_timeout_ms,
        "heartbeat_interval_ms": heartbeat_interval_ms,
        "at_a_time": at_a_time,
        "revision": revision,
        "target_size": target_size,
    }
    values_ = {name: value for name, value in values.items() if value is not None}
    chosen = with_changes(with_values(find_scenario(scenario), values_, "the options"), changes)
    named = own_revisions(compare, vary)
    for name in named:
        REVISION.convert(name, None, None)
    forms = (
        {variant_name(chosen.settings): chosen} if compare is None else variants_of(chosen, compare)
    )
    runner = _runner(engine, master, jobs, [name for name in (revision, *named) if name])
    variants = simulate_all(varied(forms, vary), range(seed, seed + seeds), runner)
    if report is not None:
        write_simulation(chosen, variants, report)
    if as_json:
        echo_json(costs_json(variants))
        return 0
    print_variants(chosen, variants, console(), as_rows=bool(vary))
    if report is not None:
        console().print(f"Read {report / 'index.html'}", soft_wrap=True, highlight=False)
    return 0


def _topics(partitions: tuple[int, ...] | None) -> dict[str, object]:
    if partitions is None or len(partitions) == 1:
        return {"partitions": partitions and partitions[0]}
    return {"topics": {f"topic-{number}": count for number, count in enumerate(partitions, 1)}}


def _runner(engine: str, master: str | None, jobs: int, revisions: Sequence[str]) -> Runner:
    """Choose the runner by the options.  Raises click.UsageError where they don't go together."""
    check_master(engine, master)
    own = [name for name in revisions if is_in_a_file(name)]
    if engine == "local":
        return in_processes(1 if own else jobs)  # a file is loaded in this process alone
    if own:
        raise click.UsageError(
            f"the revision {own[0]} is in a file, which Spark's machines don't have: leave "
            "--engine spark out"
        )
    return partial(_run_on_spark, master=master)


def _run_on_spark(runs: Sequence[SimulationRun], master: str | None) -> Sequence[Cost]:
    with engine_of("spark", master, more_floors=("conformance",)) as running:
        from fencepost.conformance.simulate.sweep_job import run_on_engine  # noqa: PLC0415

        return run_on_engine(running, runs)
