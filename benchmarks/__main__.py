"""Every benchmark: `python -m benchmarks NAME`, in a checkout.  Figures are printed as JSON."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import click

from benchmarks.audit import audit_figures, write_log
from benchmarks.explore import WAYS, explore_figures
from benchmarks.kip345_small import CONFIGURATIONS
from benchmarks.large_groups import fuzz_figures, group_figures
from benchmarks.model import model_figures, walk_beside
from benchmarks.worlds import real_model_figures
from fencepost.conformance.cli.cli import exit_code
from fencepost.conformance.runtime.errors import TargetUnavailableError
from fencepost.properties.worlds.scopes import BOUNDS
from fencepost.traces.text.install import pip_install

PIPELINE_WAYS = ("bare", "local", "local[1]", "local[2]")


@click.group("bench")
def bench_group() -> None:
    """Print figures as JSON."""


@bench_group.command("model")
@click.option("--seconds", default=5.0, show_default=True, help="How long to measure.")
@click.option(
    "--beside",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A kip345_small.py whose random walk is measured in the same run.",
)
def bench_model(seconds: float, beside: Path | None) -> None:
    """Requests per second of the pure model, and memory per 10,000 live groups."""
    figures: dict[str, object] = {"model": model_figures(seconds)}
    if beside is not None:
        try:
            figures["beside"] = walk_beside(beside, seconds)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    click.echo(json.dumps(figures, indent=2))


@bench_group.command("groups")
@click.option(
    "--members",
    "sizes",
    type=click.IntRange(2),
    multiple=True,
    default=(250, 1000),
    show_default=True,
    help="Of a group; may be given several times.",
)
@click.option("--requests", type=click.IntRange(1), default=10_000, show_default=True)
def bench_groups(sizes: tuple[int, ...], requests: int) -> None:
    """One rebalance and one heartbeat of a large group, and a fuzz of the model, in CPU time."""
    figures: dict[str, object] = {str(size): group_figures(size) for size in sizes}
    click.echo(json.dumps({"members": figures, "fuzz": fuzz_figures(requests)}, indent=2))


@bench_group.command("audit")
@click.argument("log", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--lines", type=click.IntRange(min=1), default=200_000, show_default=True)
@click.option("--groups", type=click.IntRange(min=1), default=200, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--keep",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to leave the log that was made.",
)
def bench_audit(log: Path | None, lines: int, groups: int, seed: int, keep: Path | None) -> None:
    """Lines per second of the audit, beside plain JSON parsing of the same LOG (or of one made)."""
    with tempfile.TemporaryDirectory() as folder:
        path = log or keep or Path(folder) / "kafka-request.log"
        if log is None:
            write_log(path, lines, groups, seed)
        click.echo(json.dumps(audit_figures(path), indent=2))


@bench_group.command("explore")
@click.option(
    "--configuration",
    "configurations",
    type=click.Choice(sorted(CONFIGURATIONS)),
    multiple=True,
    default=("E",),
    show_default=True,
    help="Of kip345-small; may be given several times.",
)
@click.option(
    "--way",
    "ways",
    type=click.Choice(list(WAYS)),
    multiple=True,
    default=("frontier",),
    show_default=True,
    help="How it is explored; may be given several times.",
)
@click.option(
    "--bound",
    type=click.Choice(list(BOUNDS)),
    default="quick",
    show_default=True,
    help="Of the real model, with one process and with two.",
)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True)
@click.option(
    "--beside",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder with kip345_small.py and stateright/, measured in the same run.",
)
def bench_explore(
    configurations: tuple[str, ...],
    ways: tuple[str, ...],
    bound: str,
    jobs: int,
    beside: Path | None,
) -> None:
    """States per second of the explorer: a published state space, and the real model beside it."""
    figures = explore_figures(configurations, ways, jobs=jobs, beside=beside)
    figures["real_model"] = real_model_figures(bound)
    click.echo(json.dumps(figures, indent=2))


@bench_group.command("pipeline")
@click.option(
    "--traces", type=click.IntRange(10), default=20_000, show_default=True, help="So many."
)
@click.option(
    "--way",
    "ways",
    type=click.Choice(PIPELINE_WAYS),
    multiple=True,
    default=PIPELINE_WAYS,
    show_default=True,
    help="A bare loop, one process, or Spark on so many cores; may be given several times.",
)
def bench_pipeline(traces: int, ways: tuple[str, ...]) -> None:
    """Traces per second, drawn and checked: a bare loop, one process, and Spark beside it."""
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
        figures = pipeline_figures(traces, ways, lambda line: click.echo(line, err=True))
        click.echo(json.dumps(figures, indent=2))
    except BenchError as error:
        raise TargetUnavailableError(str(error)) from error


if __name__ == "__main__":
    sys.exit(exit_code(bench_group, None, "python -m benchmarks"))
