"""`step`: go through a revision by hand, at the terminal or from a script.

At each step the command lists what may happen next, each with its answer and rules, and prints what
the chosen step changes.  What was done is a run, as those of `explore` and `check` are, and is
saved as a trace.
"""

from __future__ import annotations

import io
import random
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from fencepost.conformance.cli.cli import exit_codes
from fencepost.conformance.cli.explain import explain_rule
from fencepost.conformance.cli.options.common_options import (
    REVISION,
    SEED,
    Whole,
    console,
    options_on_line,
    output_option,
)
from fencepost.conformance.cli.options.log_options import (
    bounds_on_line,
    chosen_scope,
    question_option,
    scope_options,
)
from fencepost.conformance.targets.own_revision import properties_for, stops_reported
from fencepost.conformance.targets.target_registry import DEFAULT_REVISION, find_revision
from fencepost.model.coordinator import Send
from fencepost.model.history.words import plural
from fencepost.properties.checking.stepping import Choice, JudgedWorlds, Stepper
from fencepost.properties.worlds.scope import Scope
from fencepost.traces.files.retrace import retrace
from fencepost.traces.files.run_trace import (
    client_names,
    names_in_words,
    run_lines,
    run_trace,
    sent,
    turn_words,
)
from fencepost.traces.files.text_files import ReportError, write_file
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.forms.formats import read_trace
from fencepost.traces.pages.group_fields import step_changes
from fencepost.traces.pages.situation import situation

HELP = """\
  NUMBER        take this choice
  back [N]      one step back, or N
  next          list again what may happen
  group         show the whole group, and what its clients know
  path          show the run so far
  why NUMBER    explain the rules of a choice
  save FILE     save the run as a trace
  lasso FILE    save it as a run that repeats for ever
  view FILE     write a page of the run
  quit          end
The first letter of a command is enough."""
_COMMANDS = ("back", "next", "group", "path", "why", "save", "lasso", "view", "quit", "help")
_NEEDLESS = frozenset({"take", "output", "walk", "seed"})
"""Options that a run's own choices replace, in the command that has them again."""

_REMEDY = "name another file"


class _WrongLineError(Exception):
    """A line that can't be done.  `str()` says why, and what can be."""


@click.command("step", epilog=exit_codes())
@click.argument(
    "file",
    required=False,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="[FILE]",
)
@click.option(
    "--revision",
    type=REVISION,
    metavar="R",
    help="The revision, by name or as FILE.py:NAME [default: that of FILE, or kafka-4].",
)
@scope_options(Scope(clients=2, members=2), has_depth=False)
@question_option
@click.option("--random", "walk", type=Whole(1, 1_000), metavar="N", help="Take N random steps.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the random steps.")
@click.option("--take", metavar="N[,N...]", help="Take these choices first, by their numbers.")
@output_option("Save the run there as a trace, however it ends.")
@click.pass_context
def step_command(
    ctx: click.Context,
    file: Path | None,
    revision: str | None,
    scope: Scope,
    question: str | None,
    walk: int | None,
    seed: int,
    take: str | None,
    output: Path | None,
) -> None:
    """Go through a revision by hand, step by step.

    It lists the possible events with their answers and rules.  Choose one by its number, or type
    `help`.  A choice that violates a property is marked; `as expected` means that the revision is
    known to violate it.  A choice where no rule applies has the reason, and can't be taken.

    Commands may come from a file on stdin.  A wrong line then ends the session with exit code 64,
    and the last line on stderr is the command that takes the same steps again.  At a terminal,
    `quit` and Ctrl-C first offer to save the run.

    The session starts without a group, with the clients of a scope.  With FILE, a trace of `check`,
    `explore`, `diff` or `step`, it starts at the end of that run; with another --revision, before
    the first step that this revision answers differently.
    """
    if file is not None:
        worlds = [*bounds_on_line(ctx), *([] if question is None else ["--question"])]
        if unused := [option for option in worlds if option != "--act"]:
            raise click.UsageError(f"{file} says who takes part: leave out {unused[0]}")
    trace = None if file is None else read_trace(file)
    name = revision or (DEFAULT_REVISION if trace is None else trace.revision)
    chosen, missing = find_revision(name), None
    scope = chosen_scope(ctx, scope, question, name)
    with stops_reported(name):
        if trace is None:
            stepper = Stepper(JudgedWorlds(chosen, scope, properties_for(name)))
        else:
            done = retrace(trace, chosen, properties_for(name), ctx.params["act"])
            stepper, missing = done.stepper, done.missing
        begun = stepper.numbers
        _prepare(stepper, walk, seed, take)
        session = _Session(stepper, console(), name, saved=begun)
        try:
            session.open(file, missing)
            session.follow(_lines(session))
        finally:
            session.close(output, _again(ctx, begun, stepper.numbers))


def _prepare(stepper: Stepper, walk: int | None, seed: int, take: str | None) -> None:
    """Take the steps before the first prompt."""
    chance = random.Random(seed)  # noqa: S311  (no secret)
    for _ in range(walk or 0):
        possible = [n for n, c in enumerate(stepper.choices(), start=1) if c.turn is not None]
        if not possible:
            break
        stepper.take(chance.choice(possible))
    for number in take.split(",") if take else ():
        try:
            stepper.take(int(number))
        except ValueError as error:
            why = error if number.strip().isdecimal() else f"{number!r} is no number, such as 2"
            done = len(stepper.numbers)
            raise click.UsageError(f"--take {take}: {why} (after {plural(done, 'step')})") from None


def _again(ctx: click.Context, begun: Sequence[int], numbers: Sequence[int]) -> str:
    """Return the command that takes these choices again; `begun`: those of the file."""
    command = ["fencepost", "step", *options_on_line(ctx, without=_NEEDLESS)]
    pairs = zip(begun, numbers, strict=False)
    kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    rest = [str(number) for number in numbers[kept:]]
    if kept == len(begun):
        return shlex.join([*command, "--take", ",".join(rest)])
    lines = shlex.join([f"back {len(begun) - kept}", *rest])
    return f"printf '%s\\n' {lines} | {shlex.join(command)}"


def _lines(session: _Session) -> Iterator[str]:
    """Yield the lines that are typed, or those of a script.

    At the terminal the first Ctrl-C, or the end of input, offers to save what is not saved.
    """
    if not sys.stdin.isatty():
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="backslashreplace")  # bytes that are no text
        for line in sys.stdin:
            session.say(f"> {line.strip()}")
            yield line
        return
    is_warned = False
    while True:
        try:
            yield input("> ")
            is_warned = False
        except (EOFError, KeyboardInterrupt) as ended:
            session.say("")
            if is_warned or not session.unsaved:
                if isinstance(ended, EOFError):
                    return
                raise
            is_warned = True
            session.say(f"{session.unsaved}: `save FILE` saves; once more ends without")


@dataclass(slots=True)
class _Session:
    """A run in progress on a screen.  `saved`: the choices of the run that is in a file."""

    stepper: Stepper
    screen: Console
    revision: str
    saved: tuple[int, ...]
    names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.names = client_names(self.stepper.worlds)

    @property
    def unsaved(self) -> str:
        """The steps that are not saved, in words; "" if there are none."""
        numbers = self.stepper.numbers
        if not numbers or numbers == self.saved:
            return ""
        return f"{plural(len(numbers), 'step')} not saved"

    def open(self, file: Path | None, missing: int | None) -> None:
        """Say where it begins."""
        self.say(f"{self.revision}, {', '.join(self.names)}; `help` lists the commands")
        if self.stepper.numbers:
            self.path("")
        if missing is not None:
            self.say(
                f"{file}: {self.revision} does not take its step {missing}; it goes on before that"
            )
        self.next("")

    def follow(self, lines: Iterator[str]) -> None:
        """Do what the lines say, until they end.  Raises click.UsageError for a wrong script."""
        for number, line in enumerate(lines, start=1):
            try:
                if not self.do(line.partition("#")[0].split()):
                    return
            except (_WrongLineError, ReportError) as error:
                if not sys.stdin.isatty():
                    raise click.UsageError(f"line {number}, {line.strip()!r}: {error}") from None
                self.say(str(error))

    def do(self, words: Sequence[str]) -> bool:
        """Do what a line says; return False where it says that this is the end."""
        if not words:
            if sys.stdin.isatty():
                self.next("")
            return True
        word, rest = words[0], " ".join(words[1:])
        if word.isdecimal():
            self.take(int(word))
            return True
        command = next((c for c in _COMMANDS if word in {c, c[0]} or word + c == "?help"), None)
        if command is None:
            there = ", ".join(_COMMANDS)
            raise _WrongLineError(f"no command {word!r}: give a number, or one of {there}")
        if command == "quit":
            self.offer_to_save()
            return False
        does: Callable[[str], None] = getattr(self, command)
        does(rest)
        return True

    def offer_to_save(self) -> None:
        """Ask at the terminal for a file, if something is not saved."""
        if self.unsaved and sys.stdin.isatty():
            name = input(f"{self.unsaved}; save as (Enter: end without): ").strip()
            if name:
                self.save(name)

    def take(self, number: int) -> None:
        """Take a choice, and say what it changes."""
        before = self._fields()
        try:
            chosen = self.stepper.take(number)
        except ValueError as error:
            raise _WrongLineError(str(error)) from None
        lines = run_lines(self.stepper.worlds, self.stepper.run())
        self._put("     ", Text(lines[-1].lstrip()))
        changed = step_changes(before, self._fields())
        width = max((len(name) for name, *_ in changed), default=0)
        for name, was, is_now in changed:
            value = Text(is_now or "gone", style="green" if is_now else "red")
            if was is not None and is_now is not None:
                value = Text.assemble((was, "red"), " → ", value)
            self._put(f"       {name:{width}}  ", value)
        self._faults(chosen)
        self.next("")

    def _faults(self, choice: Choice) -> None:
        for fault in choice.faults:
            known = ", as expected" if fault.is_expected else ""
            label = (f"violates {fault.id}{known}: ", "yellow" if known else "bold red")
            self._put("       ", Text.assemble(label, fault.sentence))

    def back(self, count: str) -> None:
        """Go back."""
        numbers = self.stepper.numbers
        if not numbers:
            raise _WrongLineError("this is the beginning")
        if count and not (count.isdecimal() and 1 <= int(count) <= len(numbers)):
            raise _WrongLineError(f"can't go back {count}; give 1 to {len(numbers)}")
        self.stepper.go(numbers[: -int(count or 1)])
        self.next("")

    def next(self, _: str) -> None:
        """List what may happen."""
        world, names = self.stepper.world, self.stepper.names
        group = names.group(world.group)
        state = "no group"
        if group is not None:
            who = ", ".join(m.member_id for m in group.members) or "nobody"
            reached = self.stepper.worlds.protocol.counted(group)
            state = f"{group.state.value}, {reached}, {who}"
        self.say("")
        count, repeated = len(self.stepper.numbers), self.stepper.repeated
        back = f", as after {plural(count - repeated, 'step')}" if repeated else ""
        done = plural(count, "step")
        self._put("", Text(f"{done}, at {names.now:,} ms: {state}{back}", style="bold"))
        choices = self.stepper.choices()
        if not choices:
            self.say("  nothing can happen any more")
        sends = sent(self.stepper.run().events)
        for number, choice in enumerate(choices, start=1):
            self._put(f"{number:4}  ", self._offered(choice, sends))

    def _offered(self, choice: Choice, sends: Mapping[str, Send]) -> Text:
        who = self.names[choice.act.client] + "  " if choice.act.client >= 0 else ""
        if choice.turn is None or choice.names is None:
            act = self.stepper.worlds.protocol.acts[choice.act.kind]
            stop = f"{act} → the machine stops: {choice.stop}"
            return Text.assemble((who, "cyan"), (stop, "red"))
        ids = names_in_words(self.stepper.worlds, choice.names.names)
        sends = {**sends, **sent(choice.turn.events)}
        step = turn_words(0, 0, who, choice.turn, sends, ids)
        words = step.did + (f" → {step.answers}" if step.answers else "")
        rules = f"  [{', '.join(step.rules)}]" if step.rules else ""
        wrong = "".join(
            f"  violates {fault.id}" for fault in choice.faults if not fault.is_expected
        )
        return Text.assemble((who, "cyan"), words, (rules, "dim"), (wrong, "bold red"))

    def group(self, _: str) -> None:
        """Show the whole group, and what the clients know."""
        known = self._fields()
        width = max(map(len, known))
        for name, value in known.items():
            self._put(f"       {name:{width}}  ", Text(value))

    def _fields(self) -> dict[str, str]:
        return situation(self.stepper.worlds, self.stepper.world, self.stepper.names)

    def path(self, _: str) -> None:
        """Show the run so far."""
        lines = run_lines(self.stepper.worlds, self.stepper.run())
        for line, choice in zip(lines, self.stepper.taken, strict=True):
            self._put("", Text(line))
            self._faults(choice)

    def why(self, number: str) -> None:
        """Explain the rules of a choice."""
        choices = self.stepper.choices()
        if not (number.isdecimal() and 1 <= int(number) <= len(choices)):
            raise _WrongLineError(f"say of which choice, 1 to {len(choices)}")
        turn = choices[int(number) - 1].turn
        rules = () if turn is None else dict.fromkeys(turn.rules)
        if not rules:
            self.say("no rule: the coordinator does nothing there")
        for rule in rules:
            explain_rule(self.screen, self.stepper.worlds.revision, rule)

    def save(self, name: str) -> None:
        """Save the run as a trace."""
        if not name:
            raise _WrongLineError("name the file, such as: save run.json")
        self._save(Path(name), repeated=0)

    def lasso(self, name: str) -> None:
        """Save the run as one whose last steps repeat for ever."""
        if not name:
            raise _WrongLineError("name the file, such as: lasso run.json")
        if not self.stepper.repeated:
            raise _WrongLineError(
                "this state is a new one, so nothing repeats yet: go on until the line above the "
                "choices says `as after`"
            )
        self._save(Path(name), repeated=self.stepper.repeated)

    def _save(self, path: Path, repeated: int) -> None:
        write_file(path, self._trace(repeated).text(), _REMEDY)
        self.saved = self.stepper.numbers
        again = f", the last {repeated} of them for ever" if repeated else ""
        self.say(f"{path}: {plural(len(self.saved), 'step')}{again}")

    def view(self, name: str) -> None:
        """Write a page of the run, and its trace beside it."""
        if not name.endswith(".html"):
            raise _WrongLineError("name the page, such as: view run.html")
        from fencepost.traces.pages.trace_page import PageTrace, trace_page  # noqa: PLC0415 (Jinja)

        page, file = Path(name), Path(name).with_suffix(".json")
        text = trace_page([PageTrace(self._trace(), file.stem, str(file))])
        write_file(page, text, _REMEDY)
        self.say(f"{page}: a page of the run")
        self.save(str(file))

    def help(self, _: str) -> None:
        """List the commands."""
        self.say(HELP)

    def _trace(self, repeated: int = 0) -> TraceFile:
        if not self.stepper.numbers:
            raise _WrongLineError("nothing has happened yet: take a choice first")
        return run_trace(self.stepper.worlds, self.stepper.run(), repeated=repeated)

    def close(self, output: Path | None, again: str) -> None:
        """Save what has to be saved, or name what is not."""
        if output is not None and self.stepper.numbers:
            self.save(str(output))
        elif self.unsaved:
            click.echo(f"{self.unsaved}; this takes them again: {again}", err=True)

    def say(self, text: str) -> None:
        """Print a text as it is."""
        self.screen.print(Text(text), soft_wrap=True)

    def _put(self, head: str, text: Text) -> None:
        """Print a line; on a terminal what doesn't fit goes on below its beginning."""
        if not self.screen.is_terminal:
            self.screen.print(Text.assemble(head, text), soft_wrap=True)
            return
        room = max(self.screen.width - len(head), 20)
        for number, line in enumerate(text.wrap(self.screen, room)):
            self.screen.print(Text.assemble(" " * len(head) if number else head, line))
