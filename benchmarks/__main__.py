"""Run a benchmark: `python -m benchmarks NAME`, in a checkout.  Figures are printed as JSON."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import click

from benchmarks.assignors import assignor_figures
from benchmarks.audit import HEALTHY, PROBLEMS, audit_figures, write_log
from benchmarks.before import before_options, measured
from benchmarks.explore import WAYS, explore_figures
from benchmarks.fuzzing import fuzz_figures
from benchmarks.kip345_small import CONFIGURATIONS
from benchmarks.large_groups import groups_figures
from benchmarks.model import model_figures, walk_beside
from benchmarks.simulator import LARGE, simulator_figures
from benchmarks.worlds import real_model_figures
from fencepost.conformance.cli.cli import exit_code
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.properties.worlds.scope import BOUNDS
from fencepost.traces.files.bounded import pip_install

PIPELINE_WAYS = ("bare", "local", "local[1]", "local[2]")


@click.group("bench")
def bench_group() -> None:
    """Measure parts of fencepost, and print the figures as JSON."""


@bench_group.command("model")
@click.option("--seconds", default=5.0, show_default=True, help="Duration of the measurement.")
@click.option(
    "--beside",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Also measure the random walk of this kip345_small.py.",
)
def bench_model(seconds: float, beside: Path | None) -> None:
    """Measure requests per second of the pure model, and memory per 10,000 live groups."""
    figures: dict[str, object] = {"model": model_figures(seconds)}
    if beside is not None:
        try:
            figures["beside"] = walk_beside(beside, seconds)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    click.echo(json.dumps(figures, indent=2))


@bench_group.command("assignors")
@click.option("--members", type=click.IntRange(2), default=1000, show_default=True)
@click.option("--partitions", type=click.IntRange(10), default=10_000, show_default=True)
@click.option("--java/--no-java", default=True, show_default=True, help="Also measure Java's.")
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the figures to this file.",
)
def bench_assignors(members: int, partitions: int, java: bool, save: Path | None) -> None:
    """Measure milliseconds of each assignor for a large group, and of Java's."""
    rows = assignor_figures(members, partitions, java=java)
    for row in rows:
        click.echo(json.dumps(row))
    if save is not None:
        save.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


@bench_group.command("groups")
@click.option(
    "--members",
    "sizes",
    type=click.IntRange(2),
    multiple=True,
    default=(250, 1000),
    show_default=True,
    help="Members of a group (may be repeated).",
)
@before_options
def bench_groups(sizes: tuple[int, ...], before: Path | None, rounds: int) -> None:
    """Measure one rebalance and one heartbeat of a large group, in CPU time."""
    click.echo(json.dumps(measured(groups_figures, (sizes,), before, rounds), indent=2))


@bench_group.command("fuzz")
@click.argument("target", default="model:kafka-4")
@click.option("--requests", type=click.IntRange(1), default=10_000, show_default=True)
@click.option(
    "--minutes", type=click.FloatRange(0, min_open=True), help="Duration, instead of --requests."
)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True)
@before_options
def bench_fuzz(
    *,
    target: str,
    requests: int,
    minutes: float | None,
    jobs: int,
    before: Path | None,
    rounds: int,
) -> None:
    """Measure requests per second of a search of TARGET, and the CPU time of both sides.

    Without a TARGET, the model is searched in this process, and only CPU time counts.
    """
    seconds = None if minutes is None else 60 * minutes
    figures = measured(fuzz_figures, (target, requests, jobs, seconds), before, rounds)
    click.echo(json.dumps(figures, indent=2))


@bench_group.command("audit")
@click.argument("log", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--part",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Divide the lines and the groups of the logs by this number.",
)
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the generated logs in this folder.",
)
@before_options
def bench_audit(
    log: Path | None, part: int, seed: int, keep: Path | None, before: Path | None, rounds: int
) -> None:
    """Measure lines per second of the audit, and of plain JSON parsing of the same LOG.

    Without a LOG, two logs are generated: a healthy one, and one full of problems.
    """
    if log is not None:
        figures = measured(audit_figures, (str(log.absolute()),), before, rounds)
        click.echo(json.dumps(figures, indent=2))
        return
    by_log: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as made:
        folder = keep or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        for name, plan in (("healthy", HEALTHY), ("problems", PROBLEMS)):
            path = folder / f"{name}.log"
            lines, groups = max(1, plan.lines // part), max(1, plan.groups // part)
            write_log(path, replace(plan, lines=lines, groups=groups, seed=seed))
            by_log[name] = measured(audit_figures, (str(path.absolute()),), before, rounds)
    click.echo(json.dumps(by_log, indent=2))


@bench_group.command("explore")
@click.option(
    "--configuration",
    "configurations",
    type=click.Choice(sorted(CONFIGURATIONS)),
    multiple=True,
    default=("E",),
    show_default=True,
    help="Configuration of kip345-small (may be repeated).",
)
@click.option(
    "--way",
    "ways",
    type=click.Choice(list(WAYS)),
    multiple=True,
    default=("frontier",),
    show_default=True,
    help="Implementation (may be repeated).",
)
@click.option(
    "--bound",
    type=click.Choice(list(BOUNDS)),
    default="quick",
    show_default=True,
    help="Bound of the real model.",
)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True)
@click.option(
    "--beside",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Also measure this folder, with kip345_small.py and stateright/.",
)
def bench_explore(
    configurations: tuple[str, ...],
    ways: tuple[str, ...],
    bound: str,
    jobs: int,
    beside: Path | None,
) -> None:
    """Measure states per second of the explorer: a published state space, and the real model."""
    figures = explore_figures(configurations, ways, jobs=jobs, beside=beside)
    figures["real_model"] = real_model_figures(bound)
    click.echo(json.dumps(figures, indent=2))


@bench_group.command("pipeline")
@click.option(
    "--traces", type=click.IntRange(10), default=20_000, show_default=True, help="Number of traces."
)
@click.option(
    "--way",
    "ways",
    type=click.Choice(PIPELINE_WAYS),
    multiple=True,
    default=PIPELINE_WAYS,
    show_default=True,
    help="A bare loop, one process, or Spark on N cores (may be repeated).",
)
@before_options
def bench_pipeline(traces: int, ways: tuple[str, ...], before: Path | None, rounds: int) -> None:
    """Measure traces per second, drawn and checked: a bare loop, one process, and Spark."""
    try:
        from benchmarks.pipeline import (  # noqa: PLC0415  (needs an extra)
            BenchError,
            pipeline_figures,
        )
    except ImportError as error:
        raise TargetUnavailableError(
            f"Arrow can't be imported ({error}): {pip_install('corpus')}"
        ) from error
    try:
        figures = measured(pipeline_figures, (traces, ways), before, rounds)
        click.echo(json.dumps(figures, indent=2))
    except BenchError as error:
        raise TargetUnavailableError(str(error)) from error


@bench_group.command("simulator")
@click.option(
    "--deployment",
    "names",
    type=click.Choice(list(LARGE)),
    multiple=True,
    default=tuple(LARGE),
    show_default=True,
    help="Deployment (may be repeated).",
)
def bench_simulator(names: tuple[str, ...]) -> None:
    """Measure CPU seconds to simulate rolling bounces of large groups."""
    click.echo(json.dumps(simulator_figures(names), indent=2))


if __name__ == "__main__":
    sys.exit(exit_code(bench_group, None, "python -m benchmarks"))
