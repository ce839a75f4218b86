"""The reference pages have all that `--help` and the schemas say, as they say it today."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner
from support.places import ROOT

from fencepost.conformance.cli.cli import LazyGroup, Stub, fencepost
from fencepost.conformance.cli.schema import schemas
from tools.docs.commands_page import (
    FOLDER,
    INDEX,
    SCHEMAS,
    anchor,
    cell,
    escaped,
    examples,
    is_of,
    meaning,
    pages,
    prose,
)

DOCS = ROOT / "docs"
REMEDY = "make them anew: python -m tools.docs.commands_page docs"


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return pages(DOCS)


def commands() -> Iterator[tuple[str, ...]]:
    """Each command, and each that is below one."""
    for name, command in fencepost.commands.items():
        yield (name,)
        loaded = command.load() if isinstance(command, Stub) else command
        if isinstance(loaded, LazyGroup):
            yield from ((name, inner) for inner in loaded.commands)


def test_the_pages_are_what_is_made_now(texts: dict[str, str]) -> None:
    kept = {str(path.relative_to(DOCS)): path for path in (DOCS / FOLDER).glob("*.md")}
    assert sorted(kept) == sorted(texts), REMEDY
    stale = [name for name, path in kept.items() if path.read_text("utf-8") != texts[name]]
    assert stale == [], REMEDY


def test_a_page_has_every_option_and_exit_code_of_the_help(texts: dict[str, str]) -> None:
    missing = []
    for words in commands():
        printed = CliRunner().invoke(fencepost, [*words, "--help"]).output
        options, _, codes = printed.partition("Options:")[2].partition("Exit codes:")
        page = texts[f"{FOLDER}/{words[0]}.md"]
        flags = set(re.findall(r"^  .*?(--[a-z][\w-]*)", options, re.MULTILINE)) - {"--help"}
        numbers = re.findall(r"^ +(\d+) ", codes, re.MULTILINE)
        assert numbers, words
        missing += [(*words, flag) for flag in sorted(flags) if flag not in page]
        missing += [(*words, code) for code in numbers if f"\n| {code} | " not in page]
    assert missing == []


def test_the_index_leads_to_every_command(texts: dict[str, str]) -> None:
    index = texts[f"{FOLDER}/{INDEX}.md"]
    assert [name for name in fencepost.commands if f"]({name}.md)" not in index] == []


def test_every_command_has_an_example() -> None:
    lines = [example.line for example in examples(DOCS)]
    without = [
        words
        for words in commands()
        if not any(is_of(line, " ".join(("fencepost", *words))) for line in lines)
    ]
    assert without == [], "show it in a page, in a block ```console"


def test_every_schema_is_on_one_page() -> None:
    counts = Counter(name for names in SCHEMAS.values() for name in names)
    assert counts == dict.fromkeys(schemas(), 1), "add it to SCHEMAS of tools/docs/commands_page.py"


def test_a_command_with_the_same_beginning_is_another_one() -> None:
    assert is_of("fencepost certify mock", "fencepost certify")
    assert not is_of("fencepost certify-client java", "fencepost certify")


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("model[:R]|mutant:NAME", r"model\[:R\]\|mutant:NAME"),
        ("kafka:V[*NODES] <x>", r"kafka:V\[\*NODES\] \<x\>"),
        ("see `a --b` and --as-it-is", "see `a --b` and `--as-it-is`"),
        ("unavailable_s, _private_", r"unavailable_s, \_private\_"),
    ],
)
def test_signs_stand_for_themselves(text: str, markdown: str) -> None:
    assert escaped(text) == markdown


def test_a_cell_is_one_line_and_closes_no_column() -> None:
    assert cell("a `b|c`\n  d") == r"a `b\|c` d"


def test_blocks_of_a_help_text_stay_as_they_are() -> None:
    text = "One\n    two.\n\n\b\n  a  b\n  c  d\n"
    assert list(prose(text)) == ["One two.", "", "```text", "  a  b", "  c  d", "```", ""]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (
            click.Option(["--a"], help="An a [default: the target's]."),
            "An a. Default: the target's.",
        ),
        (
            click.Option(["--a"], help="An a.", type=click.Choice(["b", "c"])),
            "An a. One of `b`, `c`.",
        ),
        (
            click.Option(
                ["--a"], help="An a.", type=click.IntRange(1, 9), default=3, show_default=True
            ),
            "An a. From 1 to 9. Default: `3`.",
        ),
        (click.Option(["--a"], help="An a.", type=click.IntRange(1)), "An a. At least 1."),
        (
            click.Option(["--a"], help="An a.", type=click.FloatRange(0, 9, min_open=True)),
            "An a. Above 0, at most 9.",
        ),
        (click.Option(["--a"], help="An a.", type=click.IntRange(-9, 9)), "An a."),
        (click.Option(["--a"], help="An a.", required=True), "An a. Required."),
    ],
)
def test_an_option_has_its_values_its_range_and_its_default(
    option: click.Option, words: str
) -> None:
    assert meaning(option, click.Context(click.Command("x"))) == words


def test_an_anchor_is_as_mkdocs_makes_it() -> None:
    assert anchor("adapter-protocol-1: hello.done") == "adapter-protocol-1-hellodone"
