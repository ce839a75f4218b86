"""The command line: `fencepost COMMAND`.

Decides the exit codes that all commands share: 64 for usage (click's own errors, too), 69 for a
target or tool that isn't to be had, 70 for our own fault.  What 0, 1 and 2 mean is each command's.
"""

from __future__ import annotations

import sys
import traceback

import click

from fencepost.conformance.certify.known_failures import KnownFailuresError
from fencepost.conformance.certify.report import ReportError
from fencepost.conformance.cli.adopt import adopt_command
from fencepost.conformance.cli.audit import audit_command
from fencepost.conformance.cli.certify import certify_command, replay_command
from fencepost.conformance.cli.compare import compare_command
from fencepost.conformance.cli.convert import convert_command, shrink_command
from fencepost.conformance.cli.corpus import corpus_group
from fencepost.conformance.cli.corpus_logs import LOG_COMMANDS
from fencepost.conformance.cli.diff import diff_command
from fencepost.conformance.cli.explore import check_command, explore_command, properties_command
from fencepost.conformance.cli.fuzz import fuzz_command
from fencepost.conformance.cli.mutants import mutants_command
from fencepost.conformance.cli.nightly import nightly_command
from fencepost.conformance.cli.prove import prove_command
from fencepost.conformance.cli.run import adapter_command, bench_command
from fencepost.conformance.cli.serve import serve_command
from fencepost.conformance.cli.show import (
    cases_command,
    explain_command,
    revisions_command,
    table_command,
)
from fencepost.conformance.cli.start import start_command
from fencepost.conformance.cli.view import view_command
from fencepost.conformance.plans.json_form import PlanError
from fencepost.conformance.runtime.errors import (
    EXIT_OWN_FAULT,
    EXIT_UNAVAILABLE,
    EXIT_USAGE,
    TargetUnavailableError,
)
from fencepost.conformance.runtime.provenance import own_version
from fencepost.conformance.targets.registry import UnknownTargetError
from fencepost.conformance.targets.tcp.address import AddressError
from fencepost.traces.files.trace_file import TraceFileError
from fencepost.traces.pipeline.storage.manifest import CorpusError

_EXIT_INTERRUPTED = 130
_BAD_INPUT = (
    UnknownTargetError,
    AddressError,
    TraceFileError,
    PlanError,
    KnownFailuresError,
    ReportError,
    CorpusError,
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(own_version(), prog_name="fencepost")
def fencepost() -> None:
    """The outside judge of Kafka's group protocol: static membership (KIP-345), one table."""


for _command in (
    certify_command,
    replay_command,
    shrink_command,
    convert_command,
    adopt_command,
    view_command,
    table_command,
    cases_command,
    explain_command,
    revisions_command,
    mutants_command,
    prove_command,
    audit_command,
    fuzz_command,
    nightly_command,
    compare_command,
    diff_command,
    check_command,
    explore_command,
    properties_command,
    adapter_command,
    start_command,
    serve_command,
    bench_command,
    corpus_group,
):
    fencepost.add_command(_command)
for _command in LOG_COMMANDS:
    corpus_group.add_command(_command)


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code."""
    sys.exit(exit_code(fencepost, arguments, "fencepost"))


def exit_code(group: click.Group, arguments: list[str] | None, prog_name: str) -> int:
    """Run a command of a group, and say what is wrong; the code to exit with."""
    try:
        code = group.main(arguments, prog_name=prog_name, standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return _EXIT_INTERRUPTED
    except click.ClickException as error:
        error.show()
        return EXIT_USAGE
    except _BAD_INPUT as error:
        click.echo(f"Error: {error}", err=True)
        return EXIT_USAGE
    except TargetUnavailableError as error:
        click.echo(f"Error: {error}", err=True)
        return EXIT_UNAVAILABLE
    except BrokenPipeError:
        return 0
    except BaseExceptionGroup as several:
        unavailable, rest = several.split(TargetUnavailableError)
        if unavailable is not None and rest is None:
            click.echo(f"Error: {unavailable.exceptions[0]}", err=True)
            return EXIT_UNAVAILABLE
        traceback.print_exception(several)
        return EXIT_OWN_FAULT
    except Exception:  # noqa: BLE001  (whatever it is, it is our fault and must say so)
        traceback.print_exc()
        return EXIT_OWN_FAULT
    return code if isinstance(code, int) else 0
