"""`start` and `adapter`: run a target, or the model on stdio."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Protocol, cast

import click

from fencepost.conformance.cli.options.common_options import (
    REVISION,
    json_option,
    output_option,
    report_option,
)
from fencepost.conformance.cli.options.target_options import GivenSettings, settings_option
from fencepost.conformance.runtime.event_loop import at_a_signal
from fencepost.conformance.serve.adapter import serve
from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.conformance.targets.target import Target
from fencepost.conformance.targets.target_registry import (
    TargetOptions,
    UnknownTargetError,
    find_coordinator,
    find_target,
)
from fencepost.traces.files.bounded import own_version


class _Listening(Target, Protocol):
    """A target that is started here and listens on a port."""

    @property
    def address(self) -> str:
        """`HOST:PORT`; while it is open."""
        ...


def _can_be_added_to(
    context: click.Context, parameter: click.Parameter, path: Path | None
) -> Path | None:
    """Return the absolute path.  Checked here, since Java goes on without it."""
    del context, parameter
    if path is None:
        return None
    try:
        if not path.is_fifo():  # whose reader may come later
            path.open("ab").close()
    except OSError as error:
        raise click.BadParameter(f"{path} can't be written ({error.strerror})") from None
    return path.absolute()


@click.command("start")
@click.argument("target")
@settings_option
@json_option
@report_option("Keep the target's log there.")
@output_option(
    "Append each request that a kafka:VERSION answers to this file, for `fencepost audit`.  In a "
    "cluster each node has a file of its own, with its number: FILE-2.log.",
    "--request-log",
    "request_log",
    callback=_can_be_added_to,
)
def start_command(
    *,
    target: str,
    settings: GivenSettings,
    as_json: bool,
    report: Path | None,
    request_log: Path | None,
) -> int:
    """Start a target and print its address.

    The target runs until Ctrl-C or SIGTERM.  TARGET is kafka:VERSION[+old|+new][*NODES], kfake,
    tansu, seaweedfs, rivine, nafka or mock.  The first start of a version downloads or builds it
    into the user's cache folder, or into the folder that the variable FENCEPOST_CACHE names.
    """
    logs = None if report is None else report.absolute()
    options = TargetOptions(
        settings=settings.group, properties=settings.other, logs=logs, request_log=request_log
    )
    held = find_target(target, options)
    if not hasattr(type(held), "address"):
        raise UnknownTargetError(
            f"{target} can't be started: give kafka:VERSION, kfake, tansu, seaweedfs, rivine, "
            "nafka or mock; for the model itself use `fencepost serve`"
        )
    asyncio.run(_stay(cast("_Listening", held), as_json=as_json))
    return 0


async def _stay(held: _Listening, *, as_json: bool) -> None:
    async with held as target:
        provenance = target.provenance()
        ended = asyncio.Event()
        with at_a_signal(ended.set):  # before the address is told: whoever has it may end us
            if as_json:
                click.echo(json.dumps({"address": target.address, "version": provenance.version}))
            else:
                click.echo(target.address)
            await ended.wait()


@click.command("adapter")
@click.argument("name", type=REVISION, metavar="model[:REVISION]|mutant:NAME")
def adapter_command(name: str) -> int:
    """Run the model as a program on stdin and stdout.

    It speaks adapter protocol 1 (`fencepost schema adapter-protocol`).  mutant:NAME is the model
    with one fault.  A release of the consumer protocol, such as model:consumer-4.4, has classic
    groups too, and groups with members of both protocols.

    Where the protocol permits several choices, the model takes the first: the leader by member id,
    the protocol by name.  A new member id is the instance id (or client id) and a number.
    """
    coordinator = ModelCoordinator(find_coordinator(name), own_version())
    return serve(coordinator, sys.stdin.buffer, sys.stdout.buffer)
