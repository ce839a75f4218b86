"""Help and completion name every command and import none."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from fencepost.conformance.cli.cli import Stub, fencepost
from fencepost.conformance.cli.corpus import corpus_group
from fencepost.traces.files.bounded import pip_install

STUBS = [
    (name, command)
    for group in (fencepost, corpus_group)
    for name, command in group.commands.items()
    if isinstance(command, Stub)
]
HEAVY = frozenset(
    {
        "confluent_kafka",
        "hypothesis",
        "jinja2",
        "jsonschema",
        "kafka",
        "matplotlib",
        "networkx",
        "numpy",
        "pandas",
        "pyarrow",
        "pyspark",
        "z3",
    }
)
"""What few commands need, and takes long to import."""

_PRINT_MODULES = """
import sys
from fencepost.conformance.cli.cli import main
try:
    main()
finally:
    print(*(name for name in sys.modules if "." not in name or name.startswith("fencepost")),
          file=sys.stderr)
"""


@cache
def imported(*arguments: str) -> frozenset[str]:
    """What `fencepost` imports for these arguments, of other packages their names alone."""
    ran = subprocess.run(
        [sys.executable, "-c", _PRINT_MODULES, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return frozenset(ran.stderr.split())


@pytest.mark.parametrize(("name", "stub"), STUBS, ids=[stub.place for _, stub in STUBS])
def test_a_line_of_help_is_the_first_sentence_of_the_command(name: str, stub: Stub) -> None:
    command = stub.load()
    assert command.name == name
    assert command.help is not None
    sentence = command.help.partition("\n\n")[0]
    assert sentence == stub.short_help


@pytest.mark.parametrize("group", [fencepost, corpus_group], ids=["fencepost", "corpus"])
def test_help_has_one_line_for_each_command(group: click.Group) -> None:
    lines = CliRunner().invoke(group, ["--help"], terminal_width=80).output.splitlines()
    for name, command in group.commands.items():
        assert (
            f"  {name.ljust(max(map(len, group.commands)))}  " + str(command.get_short_help_str(80))
            in lines
        )


def test_no_line_of_help_is_cut_at_80_columns() -> None:
    width = max(map(len, fencepost.commands)) + 4
    for section in fencepost.sections.values():
        for stub in section:
            assert width + len(stub.short_help or "") <= 80, stub.name


def test_every_command_tells_its_exit_codes_within_80_columns() -> None:
    for group, names in ((fencepost, ()), (corpus_group, ("corpus",))):
        for name in group.commands.keys() - {"bench"}:
            lines = (
                CliRunner().invoke(fencepost, [*names, name, "--help"], terminal_width=80).output
            )
            told = lines.partition("Exit codes:\n")[2].splitlines()
            assert [line.split()[0] for line in told[-3:]] == ["64", "69", "70"], name
            assert told[0].split()[0] == "0"
            assert max(map(len, told)) <= 80, name


def test_one_file_to_write_is_o_or_output_everywhere() -> None:
    for name, stub in STUBS:
        for parameter in stub.load().params:
            if {"-o", "--output"} & {*parameter.opts}:
                assert (parameter.opts, parameter.metavar) == (["-o", "--output"], "FILE"), name


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("--version",),
        ("table",),
        ("cases",),
        ("explain", "JOIN-STATIC-EMPTY-STABLE"),
        ("explain", "JOIN-INSTANCE-FENCED/zombie-joins"),
        ("revisions",),
        ("certify", "model:kafka-4", "--case", "*/zombie-joins"),
    ],
    ids=" ".join,
)
def test_a_command_imports_nothing_heavy_that_it_does_not_need(arguments: tuple[str, ...]) -> None:
    assert imported(*arguments) & HEAVY == set()


def test_help_imports_no_command() -> None:
    room = "fencepost.conformance."
    assert {name for name in imported("--help") if name.startswith(room)} == {
        room + name
        for name in (
            "cli",
            "cli.cli",
            "runtime",
            "runtime.standard_streams",
            "runtime.unavailable",
        )
    }


_WITHOUT_EXTRAS = """
import sys
for name in sys.argv.pop(1).split(","):
    sys.modules[name] = None
from fencepost.conformance.cli.cli import fencepost, exit_code, main
if sys.argv[1:]:
    main()
for name, stub in fencepost.commands.items():
    print(name, exit_code(fencepost, [name, "--help"], "fencepost"), file=sys.stderr)
"""
EXTRAS = "confluent_kafka,matplotlib,numpy,pandas,pyarrow,pyspark,z3"


def without_extras(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `fencepost` where no extra is installed; without arguments, the help of each command."""
    return subprocess.run(
        [sys.executable, "-c", _WITHOUT_EXTRAS, EXTRAS, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_extras_every_command_has_help_or_names_its_extra() -> None:
    lines = without_extras().stderr.splitlines()
    assert len(lines) == len(fencepost.commands) + 1
    assert [line for line in lines if not line.endswith(" 0")] == [
        f"Error: pyarrow is missing: {pip_install('corpus')}",
        "corpus 69",
    ]


def test_without_extras_a_simulation_runs() -> None:
    ran = without_extras("simulate", "crash", "--members", "2", "--partitions", "2")
    assert (ran.returncode, ran.stderr) == (0, "")


def completions(*words: str) -> list[str]:
    completer = ShellComplete(fencepost, {}, "fencepost", "_FENCEPOST_COMPLETE")
    return [item.value for item in completer.get_completions(list(words[:-1]), words[-1])]


def test_the_shell_completes_commands_and_options() -> None:
    found = ["cases", "certify", "certify-client", "check", "compare", "convert", "corpus"]
    assert completions("c") == found
    assert completions("certify", "--su") == ["--suite"]
    assert completions("certify", "--suite", "c") == ["catalogue", "cover"]
    assert completions("corpus", "w") == ["watch"]


def test_an_unknown_command_is_named() -> None:
    ran = CliRunner().invoke(fencepost, ["nonesuch"])
    assert "No such command 'nonesuch'" in ran.output
