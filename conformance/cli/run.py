"""Commands that run the model as a program on stdio, and the benchmarks of a checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

from fencepost.conformance.runtime.errors import TargetUnavailableError
from fencepost.conformance.runtime.provenance import own_version
from fencepost.conformance.serve.adapter import serve
from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.conformance.targets.registry import (
    DEFAULT_REVISION,
    UnknownTargetError,
    find_revision,
)
from fencepost.model.revision import Revision


def find_model(name: str) -> Revision:
    """The revision of `model[:REVISION]` or `mutant:NAME`.  Raises UnknownTargetError."""
    kind, _, revision = name.partition(":")
    match kind:
        case "model":
            return find_revision(revision or DEFAULT_REVISION)
        case "mutant":
            return find_revision(name)
        case _:
            raise UnknownTargetError(f"no model {name!r}; there is model[:REVISION], mutant:NAME")


@click.command("adapter")
@click.argument("name", metavar="model[:REVISION]|mutant:NAME")
def adapter_command(name: str) -> int:
    """Speak adapter protocol 1 on stdin and stdout, as the model or one that is broken on purpose.

    Open choices are resolved in a fixed order: the first leader by member id, the first protocol by
    name.  New member ids are the instance id (or client id) and a running number.
    """
    coordinator = ModelCoordinator(find_model(name), own_version())
    return serve(coordinator, sys.stdin.buffer, sys.stdout.buffer)


@click.command("bench", context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def bench_command(arguments: tuple[str, ...]) -> int:
    """Print figures as JSON: `python -m benchmarks`, in a checkout."""
    if not Path("benchmarks/__main__.py").is_file():
        raise TargetUnavailableError(
            "benchmarks are no part of the package: run this at the root of a checkout of fencepost"
        )
    return subprocess.run([sys.executable, "-m", "benchmarks", *arguments], check=False).returncode  # noqa: S603  (our own)
