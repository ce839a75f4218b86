"""Options that commands about client libraries share."""

from __future__ import annotations

import click

from fencepost.conformance.cli.options.common_options import (
    JOB_COUNT,
    REVISION,
)
from fencepost.conformance.clients.certify_client import JOBS
from fencepost.conformance.targets.target_registry import DEFAULT_REVISION

served_revision_option = click.option(
    "--revision",
    type=REVISION,
    default=DEFAULT_REVISION,
    show_default=True,
    metavar="R",
    help="The revision of the served broker, by name or as FILE.py:NAME.",
)
scenario_jobs_option = click.option(
    "--jobs",
    type=JOB_COUNT,
    default=JOBS,
    show_default=True,
    help="Scenarios to run in parallel.",
)
