"""Options and arguments of several commands, and the console that they print to."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection, Iterable
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from fencepost.conformance.targets.target_registry import DEFAULT_REVISION
from fencepost.model.revisions.revisions import is_in_a_file
from fencepost.traces.files.text_files import INDEX, escaped, is_foreign_report

_PLAIN_WIDTH = 160


class RevisionType(click.types.StringParamType):
    """The name of a revision, or of a target that is one.

    The revision in a file, `FILE.py:NAME` or `model:FILE.py:NAME`, is loaded here and then known by
    that name.  Raises OwnRevisionError.
    """

    name = "revision"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Load the revision if it is in a file, and return the name as it is."""
        del param, ctx
        if is_in_a_file(value):  # the loader takes a while to import
            from fencepost.conformance.targets.own_revision import load_named  # noqa: PLC0415

            load_named(value)
        return value


class Whole(click.IntRange):
    """A whole number that a machine can count to, so that no run is endless by a slip of a key."""

    MOST = 2**31 - 1

    def __init__(self, least: int = -MOST, most: int = MOST) -> None:
        super().__init__(least, most)

    def _describe_range(self) -> str:
        """Describe, for the help, what is not a matter of course."""
        usual = self.min == -self.MOST, self.max == self.MOST
        if all(usual):
            return "a whole number"
        return f"x>={self.min}" if usual[1] else super()._describe_range()


class Real(click.FloatRange):
    """A finite number; `positive`: above 0."""

    def __init__(self, least: float, most: float, *, positive: bool = False) -> None:
        super().__init__(least, most, min_open=positive)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read the number; refuse what is none, such as `nan`."""
        number: float = click.FLOAT.convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no number to count with; give {self._describe_range()}", param)
        converted: float = super().convert(number, param, ctx)
        return converted


YEAR_MINUTES = 366 * 24 * 60
WEEK_S = 7 * 24 * 3600
SEED = Whole(-(2**63), 2**63 - 1)
JOB_COUNT = Whole(1, 1024)
"""Processes, or cases side by side."""
MINUTES = Real(0, YEAR_MINUTES, positive=True)
AMOUNT = Real(-WEEK_S, WEEK_S)
"""Durations of a simulated or running group; what may not be negative says so itself."""

REVISION = RevisionType()
revision_option = click.option(
    "--revision",
    type=REVISION,
    default=DEFAULT_REVISION,
    show_default=True,
    metavar="R",
    help="The revision that judges, by name or as FILE.py:NAME.",
)

own_revisions_option = click.option(
    "--revision",
    type=REVISION,
    multiple=True,
    expose_value=False,
    metavar="FILE.py:NAME",
    help="Run this file of yours, whose revision a trace names (may be repeated).",
)


_UPDATED = {("lists", "written"), ("finding", "into")}
"""Inputs that are an output, too, because it keeps what they have."""


def _writing(option: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    """Return a decorator that adds an option of what is written, and refuses inputs for it.

    The inputs are known only when all arguments are.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def wrapped(*args: Any, **options: Any) -> Any:
            output = options.get(name)
            if output is not None:
                _refuse_inputs(click.get_current_context(), name, str(output))
            return command(*args, **options)

        added: Callable[..., Any] = option(wrapped)
        return added

    return decorate


def _refuse_inputs(context: click.Context, name: str, output: str) -> None:
    """Raise click.UsageError if an input of the command is what this option would overwrite."""
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        is_read = isinstance(parameter.type, click.Path) and parameter.type.exists
        if not (is_read or parameter.name == "folder") or (parameter.name, name) in _UPDATED:
            continue
        for path in value if isinstance(value, tuple) else () if value is None else (value,):
            if _is_same(str(path), output):
                raise click.UsageError(
                    f"{output} is read by this command and would be overwritten: name another one"
                )


def _is_same(path: str, other: str) -> bool:
    """Return True for two names of one plain file or folder, or for one URI."""
    try:
        return os.path.samefile(path, other) and (os.path.isfile(path) or os.path.isdir(path))  # noqa: PTH112, PTH113, PTH121
    except (OSError, ValueError):
        return path.rstrip("/") == other.rstrip("/")


def report_option(help_text: str, *, required: bool = False) -> Callable[[Any], Any]:
    """Return the option `--report DIR`, with the files that the command writes there.

    And `--force`: without it a folder with a page of somebody else is refused.
    """
    report = folder_option(help_text, "--report", "report", required=required)
    force = click.option(
        "--force", is_flag=True, help="Write into DIR although its index.html is not fencepost's."
    )

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def wrapped(*args: Any, force: bool, **options: Any) -> Any:
            folder = options["report"]
            if folder is not None and not force and is_foreign_report(folder):
                raise click.UsageError(
                    f"{folder / INDEX} is no page of fencepost and might be overwritten: give "
                    "--report another folder, or --force"
                )
            return command(*args, **options)

        added: Callable[..., Any] = report(force(wrapped))
        return added

    return decorate


def folder_option(
    help_text: str, flag: str, name: str, *, required: bool = False
) -> Callable[[Any], Any]:
    """Return an option of a folder to write."""
    kind = click.Path(file_okay=False, path_type=Path)
    return _writing(
        click.option(flag, name, required=required, type=kind, metavar="DIR", help=help_text), name
    )


def is_on_line(context: click.Context, name: str) -> bool:
    """Return True if the command line has the parameter of this name."""
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def options_on_line(context: click.Context, *, without: Collection[str]) -> list[str]:
    """Return the arguments that the command line has, with their options, but for those names."""
    words = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if is_on_line(context, name) and name in context.params and name not in without:
            option = [parameter.opts[0]] if isinstance(parameter, click.Option) else []
            value = context.params[name]
            for each in value if isinstance(value, tuple) else (value,):
                words += [*option, str(each)]
    return words


def place_option(help_text: str, flag: str, name: str) -> Callable[[Any], Any]:
    """Return an option of a folder to write, a path or a URI."""
    return _writing(click.option(flag, name, required=True, metavar="DIR", help=help_text), name)


def output_option(
    help_text: str,
    flag: str = "-o",
    name: str = "output",
    *,
    required: bool = False,
    callback: Callable[..., Any] | None = None,
) -> Callable[[Any], Any]:
    """Return an option of a file to write, by default `-o`, `--output FILE`."""
    flags = (flag, "--output") if flag == "-o" else (flag,)
    kind = click.Path(dir_okay=False, path_type=Path)
    return _writing(
        click.option(
            *flags,
            name,
            required=required,
            type=kind,
            callback=callback,
            metavar="FILE",
            help=help_text,
        ),
        name,
    )


def files_argument(
    name: str, metavar: str, *, folders: bool = False, required: bool = True
) -> Callable[[Any], Any]:
    """One file or more, that exist; `folders`: or folders."""
    return click.argument(
        name,
        nargs=-1,
        required=required,
        metavar=metavar,
        type=click.Path(exists=True, dir_okay=folders, path_type=Path),
    )


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON on stdout and nothing else."
)


strict_option = click.option(
    "--strict", is_flag=True, help="Exit with 1 for every violation, also of a promise or a cost."
)


def echo_json(value: Any) -> None:
    """Print a value as `--json` has it."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


class _SafeConsole(Console):
    """A console whose only sequences for the terminal are its own: of styles."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield what is printed, without the control characters of a text."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(escaped(segment.text), segment.style)


def console() -> Console:
    """Return a console for stdout, as wide as the terminal, or else wide enough for tables.

    Text is printed as it is: a name such as `mine.py:NEW` holds what rich takes for an emoji.
    """
    screen = _SafeConsole(highlight=False, markup=False, emoji=False)
    if not screen.is_terminal:
        screen.width = _PLAIN_WIDTH
    return screen


def print_lines(screen: Console, lines: Iterable[tuple[str, str]]) -> None:
    """Print names and values, each pair on a line of its own."""
    for name, value in lines:
        screen.print(Text.assemble((f"{name:<12}", "bold"), " ", value))
