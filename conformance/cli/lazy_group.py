"""A group of commands, each imported when it is used.

A command needs up to a second of processor time for what it imports.  So the group holds stubs: a
name and a line of help.  `--help` and shell completion need no more.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

from fencepost.conformance.cli.exit_codes import exit_codes

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
        """The command that the arguments name, imported if it was a stub, and the other arguments.

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
