"""Run the command line: `fencepost COMMAND`.

All commands share these exit codes: 64 for bad usage or input (click's own errors, too), 69 for a
target or tool that is not available, 70 for a fault of fencepost.  Each command defines 0, 1 and 2;
its help lists all.

A command needs up to a second of processor time for its imports.  So the group holds stubs: a name
and a line of help.  `--help` and shell completion need no more.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import traceback
from collections.abc import Mapping
from typing import Any

import click

from fencepost.conformance.runtime import standard_streams
from fencepost.conformance.runtime.standard_streams import EXIT_OUTPUT
from fencepost.conformance.runtime.unavailable import (
    EXIT_OWN_FAULT,
    EXIT_UNAVAILABLE,
    EXIT_USAGE,
    TargetUnavailableError,
)
from fencepost.model.bad_input import BadInputError
from fencepost.traces.files.text_files import NO_ROOM, OutputError

_SHARED = {
    EXIT_USAGE: "wrong usage, or input that can't be read",
    EXIT_UNAVAILABLE: "a target or a tool is not available",
    EXIT_OWN_FAULT: "an error in fencepost",
}


def exit_codes(
    fine: str = "it was done", wrong: str | None = None, unknown: str | None = None
) -> str:
    """Return the epilog of a command: the exit codes.

    `wrong`, `unknown`: the meanings of 1 and 2; None where they don't occur.

    The words fit behind a code in 80 columns.
    """
    own = {0: fine, 1: wrong, 2: unknown}
    texts = {code: text for code, text in own.items() if text is not None} | _SHARED
    return "\b\nExit codes:\n" + "\n".join(f"  {code:<4}{text}" for code, text in texts.items())


_WIDTH = 80
_ROOM = "fencepost.conformance.cli"


class Stub(click.Command):
    """Stands for a command: `place` is its module in this room and its name there, `MODULE:NAME`.

    `line`: its line in the help of the group, the first sentence of its docstring.
    """

    def __init__(self, name: str, place: str, line: str) -> None:
        super().__init__(name, short_help=line)
        self.place = place

    def load(self) -> click.Command:
        """Import the command."""
        module, _, name = self.place.partition(":")
        command: click.Command = getattr(importlib.import_module(f"{_ROOM}.{module}"), name)
        return command


class LazyGroup(click.Group):
    """A group whose commands may be stubs, with sections in its help."""

    def __init__(self, *args: Any, sections: Mapping[str, tuple[Stub, ...]], **other: Any) -> None:
        super().__init__(*args, **other)
        self.sections = sections
        for stubs in sections.values():
            for stub in stubs:
                self.add_command(stub)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name, imported if it was a stub, and the rest.

        Raises click.UsageError.
        """
        name, command, rest = super().resolve_command(ctx, args)
        if isinstance(command, Stub):
            command = command.load()
        if command is not None and command.epilog is None:
            command.epilog = exit_codes()
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each command, by section; commands of none come last."""
        del ctx
        named = {stub.name for stubs in self.sections.values() for stub in stubs}
        others = tuple(c for name, c in sorted(self.commands.items()) if name not in named)
        width = max(map(len, self.commands))
        for heading, commands in (*self.sections.items(), ("Commands", others)):
            if commands:
                rows = [(str(c.name).ljust(width), c.get_short_help_str(_WIDTH)) for c in commands]
                with formatter.section(heading):
                    formatter.write_dl(rows)


_EXIT_PIPE = 141
"""The reader of the output has gone: a shell's code for a program that SIGPIPE ended."""
_EXIT_INTERRUPTED = 130
# A command is one line here: its name, its place, and the first sentence of its docstring.
_SECTIONS = {
    "Judge a coordinator": (
        Stub("certify", "certify:certify_command", "Run the test cases against a target."),
        Stub("fuzz", "fuzz:fuzz_command", "Search a target for violations, with generated plans."),
        Stub("compare", "compare:compare_command", "Find where two targets differ."),
        Stub("site", "site:site_command", "Write certificates of many targets as a static site."),
        Stub("start", "run:start_command", "Start a target and print its address."),
        Stub("doctor", "doctor:doctor_command", "Say what is installed, and what for."),
    ),
    "Judge a client": (
        Stub(
            "certify-client",
            "certify_client:certify_client_command",
            "Test whether a client library fulfils its obligations.",
        ),
        Stub(
            "fuzz-client",
            "fuzz_client:fuzz_client_command",
            "Search a client library for violations, in random scenarios.",
        ),
    ),
    "Logs": (
        Stub(
            "audit",
            "audit:audit_command",
            "Report from logs why groups rebalance, and check the broker.",
        ),
    ),
    "Deployments": (
        Stub(
            "simulate",
            "simulate:simulate_command",
            "Compute the cost of a deployment for a consumer group.",
        ),
        Stub(
            "advise",
            "advise:advise_command",
            "Recommend the settings with the least loss of consumption.",
        ),
    ),
    "Traces": (
        Stub("replay", "certify:replay_command", "Judge a trace again, or run its plan again."),
        Stub("shrink", "convert:shrink_command", "Make a trace as small as can be."),
        Stub("convert", "convert:convert_command", "Write a trace in another format."),
        Stub("view", "view:view_command", "Write a page of traces, certificates or a fuzz run."),
    ),
    "The model": (
        Stub("table", "show:table_command", "Print the decision table: checks, then rows."),
        Stub("revisions", "show:revisions_command", "List the revisions, or explain one."),
        Stub("explain", "explain:explain_command", "Explain a rule, a property or a case."),
        Stub("cases", "explain:cases_command", "List the test cases."),
        Stub("properties", "explain:properties_command", "List the properties."),
        Stub(
            "diff",
            "diff:diff_command",
            "Find the shortest runs that two revisions answer differently.",
        ),
        Stub("check", "check:check_command", "Check a revision in a few small worlds."),
        Stub("explore", "explore:explore_command", "Visit every world within bounds."),
        Stub("step", "step:step_command", "Go through a revision by hand, step by step."),
        Stub("prove", "prove:prove_command", "Prove the properties for any number of members."),
    ),
    "In your tests": (
        Stub(
            "serve",
            "serve:serve_command",
            "Run the model as a broker on a local TCP port.",
        ),
        Stub("adapter", "run:adapter_command", "Run the model as a program on stdin and stdout."),
        Stub("schema", "schema:schema_command", "Print a JSON schema; without a NAME, list them."),
    ),
    "For contributors": (
        Stub(
            "mutants",
            "mutants:mutants_command",
            "List the models broken on purpose.",
        ),
        Stub("adopt", "convert:adopt_command", "Add a trace to the regression corpus."),
        Stub("corpus", "corpus:corpus_group", "Generate and check traces by the million."),
    ),
}


@click.group(
    cls=LazyGroup,
    sections=_SECTIONS,
    help="Test whether a Kafka group coordinator keeps to the protocol, above all to static "
    "membership (KIP-345).",
    epilog=exit_codes("nothing is wrong", "something is wrong", "unknown"),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="fencepost", prog_name="fencepost")
def fencepost() -> None:
    """Run one of the commands."""


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code."""
    standard_streams.prepare()
    before = threading.enumerate()
    code = exit_code(fencepost, arguments, "fencepost")
    if code == _EXIT_INTERRUPTED and any(t not in before for t in threading.enumerate()):
        os._exit(code)  # at its end Python would wait for a judge, which may take half a minute
    sys.exit(code)


def exit_code(group: click.Command, arguments: list[str] | None, prog_name: str) -> int:
    """Run a command of a group, and report its error; return the exit code."""
    try:
        code = _ended(group, arguments, prog_name)
        standard_streams.flush()
    except OutputError as error:
        standard_streams.discard_stdout()
        click.echo(f"Error: {error}", err=True)
        return EXIT_OUTPUT
    except BrokenPipeError:
        standard_streams.discard_stdout()
        return _EXIT_PIPE
    return code


def _ended(group: click.Command, arguments: list[str] | None, prog_name: str) -> int:
    try:
        code = group.main(arguments, prog_name=prog_name, standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return _EXIT_INTERRUPTED
    except click.ClickException as error:
        error.show()
        return EXIT_USAGE
    except BadInputError as error:
        click.echo(f"Error: {error}", err=True)
        return EXIT_USAGE
    except TargetUnavailableError as error:
        click.echo(f"Error: {error}", err=True)
        return EXIT_UNAVAILABLE
    except ModuleNotFoundError as error:
        return _missing(error)
    except (BrokenPipeError, OutputError):
        raise
    except SystemExit as ended:
        # Click exits by itself: with 1 for this alone, which would be a finding, and to complete.
        return _EXIT_PIPE if ended.code == 1 else int(ended.code or 0)
    except BaseExceptionGroup as several:
        if several.subgroup(KeyboardInterrupt) is not None:
            click.echo("interrupted", err=True)
            return _EXIT_INTERRUPTED
        unavailable, rest = several.split(TargetUnavailableError)
        if unavailable is not None and rest is None:
            click.echo(f"Error: {unavailable.exceptions[0]}", err=True)
            return EXIT_UNAVAILABLE
        return _fault(several)
    except OSError as error:
        if error.errno not in NO_ROOM:
            return _fault(error)
        where = f"{error.filename}: " if error.filename else ""
        raise OutputError(f"{where}can't be written ({error.strerror}); make room") from error
    except Exception as error:  # noqa: BLE001  (whatever it is, it must be said whose fault it is)
        return _fault(error)
    return code if isinstance(code, int) else 0


def _missing(error: ModuleNotFoundError) -> int:
    """Report a module that an extra installs; another one that is missing is a fault."""
    from fencepost.conformance.runtime.toolchain.doctor import missing_extra  # noqa: PLC0415

    if sentence := missing_extra(error.name or ""):
        click.echo(f"Error: {sentence}", err=True)
        return EXIT_UNAVAILABLE
    return _fault(error)


def _fault(error: BaseException) -> int:
    """Report the error that stopped a command: a fault of the user's own revision, else of ours."""
    from fencepost.conformance.targets.own_revision import own_fault  # noqa: PLC0415

    if stopped := own_fault(error):
        click.echo(f"Error: {stopped}", err=True)
        return EXIT_USAGE
    traceback.print_exception(error)
    return EXIT_OWN_FAULT
