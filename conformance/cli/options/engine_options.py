"""`--engine` and `--master`: where many small jobs run, one process or Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.traces.files.install import pip_install

if TYPE_CHECKING:
    from fencepost.traces.pipeline.corpus.job_engine import JobEngine

engine_option = click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="This machine, or Spark.",
)
master_option = click.option(
    "--master",
    metavar="URL",
    help="Spark's master [default: local[*], or that of spark-submit].",
)


def check_master(engine: str, master: str | None) -> None:
    """Raise click.UsageError where a master is named that nobody needs."""
    if engine == "local" and master is not None:
        raise click.UsageError(f"--master {master} needs --engine spark; give both")


@contextmanager
def engine_of(
    name: str, master: str | None, *, more_floors: tuple[str, ...] = ()
) -> Iterator[JobEngine]:
    """An engine while the block lasts.

    `more_floors`: what its machines need of fencepost, beside what jobs of the pipeline do.

    Raises TargetUnavailableError with what is missing.
    """
    check_master(name, master)
    try:
        from fencepost.traces.pipeline.corpus.job_engine import (  # noqa: PLC0415  (an extra)
            LocalEngine,
        )
        from fencepost.traces.pipeline.spark.spark import (  # noqa: PLC0415  (an extra)
            SparkEngine,
            SparkUnavailableError,
            spark_session,
        )
    except ImportError as error:
        raise TargetUnavailableError(
            f"Arrow can't be imported ({error}): {pip_install('corpus')}"
        ) from error
    if name == "local":
        yield LocalEngine()
        return
    try:
        with spark_session(master, more_floors=more_floors) as session:
            yield SparkEngine(session)
    except SparkUnavailableError as error:
        raise TargetUnavailableError(str(error)) from error
