"""Make the reference of all commands from their `--help` and the JSON schemas.

`python -m tools.docs.commands_page docs` writes `docs/reference/`: `commands.md`, the index, and a
page for each command, with its subcommands.  The example of a command is the first line that a page
by hand shows of it, in the order of the navigation, where a test runs it.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from os.path import relpath
from pathlib import Path
from typing import Any

import click

from fencepost.conformance.cli.cli import LazyGroup, Stub, exit_codes, fencepost
from fencepost.conformance.cli.schema import schemas
from fencepost.model.history.words import one_line, sentence

FOLDER = "reference"
INDEX = "commands"
SCHEMAS: Mapping[str, tuple[str, ...]] = {
    "adapter": ("adapter-protocol-1", "message-bodies"),
    "advise": ("advice-1",),
    "audit": ("audit-1", "server-log-audit-1", "operator-report-1"),
    "certify": ("certificate-1", "known-failures-1"),
    "certify-client": ("client-certificate-1", "client-driver-1"),
    "corpus": ("corpus-1",),
    "fuzz-client": ("scenarios-1", "provocations-1"),
    "replay": ("trace-1",),
    "simulate": ("simulation-1",),
}
"""The schemas that a command's page shows: each is on one page."""
_MADE = "<!-- Made by `python -m tools.docs.commands_page docs`; don't edit. -->"
_LONG = 2**31 - 1
_OPTIONS = "| option | meaning |\n|---|---|"
_INDEX_HEAD = f"""\
# Commands

{_MADE}

For readers who look up an option, an exit code or a field of JSON. Each page has what
`fencepost COMMAND --help` prints, and the fields of the JSON that the command reads or writes.
"""
_INDEX_END = """\
## For every command

- `-h`, `--help`: print the help of a command. `fencepost --version`: print the version.
- `NO_COLOR=1` in the environment: print without colours.
- [Complete commands with Tab](../install.md#complete-commands-with-tab).

Exit codes mean the same in every command:
"""
_MORE_CODES: Mapping[str, str] = {
    "74": "the output can't be written",
    "130": "interrupted, by Ctrl-C",
    "141": "the program that read the output has ended",
}


@dataclass(frozen=True, slots=True)
class Example:
    """A command line, and the page that shows it."""

    line: str
    page: str
    title: str


def pages(docs: Path) -> dict[str, str]:
    """Return each page's text, by its path below `docs`."""
    known = list(examples(docs))
    context = click.Context(fencepost, info_name="fencepost")
    texts = {f"{FOLDER}/{INDEX}.md": _index()}
    for _, commands in sections(fencepost):
        for stub in commands:
            command = _loaded(stub)
            name = str(command.name)
            lines = _page(name, command, context, known)
            texts[f"{FOLDER}/{name}.md"] = "\n".join(lines)
    return texts


def sections(group: LazyGroup) -> Iterator[tuple[str, Sequence[click.Command]]]:
    """Yield the headings of a group's help, each with its commands."""
    yield from group.sections.items()
    named = {stub.name for stubs in group.sections.values() for stub in stubs}
    others = [command for name, command in sorted(group.commands.items()) if name not in named]
    if others:
        yield "Commands", others


def _loaded(command: click.Command) -> click.Command:
    return command.load() if isinstance(command, Stub) else command


def _index() -> str:
    lines = [_INDEX_HEAD]
    for heading, commands in sections(fencepost):
        lines += [f"## {heading}", "", "| command | what it does |", "|---|---|"]
        lines += [
            f"| [`{stub.name}`]({stub.name}.md) | {cell(stub.get_short_help_str(_LONG))} |"
            for stub in commands
        ]
        lines.append("")
    lines += [_INDEX_END, *_codes(str(fencepost.epilog), _MORE_CODES), ""]
    lines += ["## JSON schemas", "", "| schema | page | what it describes |", "|---|---|---|"]
    lines += [
        f"| `{name}` | [`{command}`]({command}.md#json-{name}) | {cell(_document(name)['title'])} |"
        for name, command in sorted(schema_pages().items())
    ]
    return "\n".join([*lines, ""])


def schema_pages() -> dict[str, str]:
    """Return the command whose page shows a schema, by the schema's name."""
    return {name: command for command, names in SCHEMAS.items() for name in names}


def _page(
    name: str, command: click.Command, parent: click.Context, known: Sequence[Example]
) -> Iterator[str]:
    yield f"# fencepost {name}"
    yield ""
    yield _MADE
    yield ""
    yield from _command(command, parent, known, "##")
    if isinstance(command, click.Group):
        inner = click.Context(command, info_name=name, parent=parent)
        groups = sections(command) if isinstance(command, LazyGroup) else ()
        for each in (_loaded(stub) for _, stubs in groups for stub in stubs):
            yield f"## {name} {each.name}"
            yield ""
            yield from _command(each, inner, known, "###")
    for schema in SCHEMAS.get(name, ()):
        yield from _schema(schema)


def _command(
    command: click.Command, parent: click.Context, known: Sequence[Example], level: str
) -> Iterator[str]:
    context = click.Context(command, info_name=command.name, parent=parent)
    usage = one_line(command.get_usage(context).removeprefix("Usage: "))
    yield from ("```text", usage, "```", "")
    yield from prose(command.help or "")
    if isinstance(command, LazyGroup):
        for heading, stubs in sections(command):
            yield from (f"{level} {heading}", "", "| command | what it does |", "|---|---|")
            for stub in stubs:
                anchor = f"{command.name}-{stub.name}"
                line = cell(stub.get_short_help_str(_LONG))
                yield f"| [`{stub.name}`](#{anchor}) | {line} |"
            yield ""
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    if options := [option for option in options if not option.hidden]:
        yield from (f"{level} Options", "", _OPTIONS)
        for option in options:
            yield f"| {_flags(option)} | {meaning(option, context)} |"
        yield ""
    yield from (f"{level} Exit codes", "", *_codes(command.epilog or exit_codes()), "")
    words = context.command_path
    if isinstance(command, click.Group):
        return
    if example := next((each for each in known if is_of(each.line, words)), None):
        yield from (f"{level} Example", "", "```sh", example.line, "```", "")
        yield f"From [{example.title}]({relpath(example.page, FOLDER)})."
        yield ""


def is_of(line: str, words: str) -> bool:
    """Return True if a command line runs this command, such as `fencepost corpus audit`."""
    return re.search(rf"(?:^|\$\(){re.escape(words)}(?![\w-])", line) is not None


def _flags(option: click.Option) -> str:
    if option.secondary_opts:
        return f"`{' / '.join((*option.opts, *option.secondary_opts))}`"
    flags = ", ".join(sorted(option.opts, key=len))
    return f"`{flags}`" if option.is_flag else f"`{flags} {_metavar(option)}`"


def _metavar(option: click.Option) -> str:
    if option.metavar:
        return option.metavar
    match option.type:
        case click.Choice():
            return str(option.opts[-1]).rpartition("-")[2].upper()
        case click.types.IntParamType() | click.types.FloatParamType():
            return "N"
        case _:
            return option.type.name.upper()


def meaning(option: click.Option, context: click.Context) -> str:
    """Describe an option in a cell of a table: its help, values, range and default."""
    words = re.sub(r"\.? *\[default: (.*)\]\.?", r". Default: \1.", one_line(option.help or ""))
    parts = [cell(words)]
    if isinstance(option.type, click.Choice):
        parts.append(f"One of {', '.join(f'`{choice}`' for choice in option.type.choices)}.")
    if isinstance(option.type, click.IntRange | click.FloatRange):
        parts.append(_range(option.type))
    if option.required:
        parts.append("Required.")
    if isinstance(option.show_default, str):
        parts.append(f"Default: {cell(option.show_default)}.")
    elif option.show_default and not callable(option.default):
        default = option.get_default(context)
        if default not in {None, ()}:
            values = default if isinstance(default, tuple | list) else (default,)
            parts.append(f"Default: {', '.join(f'`{value}`' for value in values)}.")
    return " ".join(filter(None, parts))


def _range(numbers: click.IntRange | click.FloatRange) -> str:
    least, most = (
        None if bound is None or abs(bound) >= _LONG else f"{bound:,}"
        for bound in (numbers.min, numbers.max)
    )
    low = "Above" if numbers.min_open else "From" if most else "At least"
    high = "to" if low == "From" else ", at most"
    if least is None or (numbers.max is not None and numbers.min == -numbers.max):
        return "" if most is None or least else f"At most {most}."
    return f"{low} {least}." if most is None else f"{low} {least} {high} {most}.".replace(" ,", ",")


def prose(text: str) -> Iterator[str]:
    r"""Yield a help text's lines as Markdown: paragraphs, and blocks behind `\b` as they are."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        mark, _, block = paragraph.partition("\n")
        if mark.strip() == "\b":
            yield from ("```text", *block.splitlines(), "```", "")
        else:
            yield from (escaped(one_line(paragraph)), "")


def _codes(epilog: str, more: Mapping[str, str] = {}) -> Iterator[str]:
    yield "| code | meaning |"
    yield "|---|---|"
    codes = dict(re.findall(r"^ +(\d+) +(.+)$", epilog, re.MULTILINE)) | dict(more)
    for code, words in codes.items():
        yield f"| {code} | {cell(words)} |"


def escaped(text: str) -> str:
    """Return a text for Markdown: signs stand for themselves; options and `code` are code."""
    parts = re.split(r"(`[^`]+`|(?<![\w-])--[a-z][a-z-]*)", text)
    return "".join(
        part
        if part.startswith("`")
        else f"`{part}`"
        if part.startswith("--")
        else re.sub(r"[\\*<>\[\]|]|\b_|_\b", r"\\\g<0>", part)
        for part in parts
    )


def cell(text: str) -> str:
    """Return a text for a cell of a table."""
    return re.sub(r"(?<!\\)\|", r"\\|", escaped(one_line(text)))


def examples(docs: Path) -> Iterator[Example]:
    """Yield the command lines of the pages by hand, in the order of the navigation."""
    nav = (docs.parent / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    listed = [docs / name for name in re.findall(r"([\w/-]+\.md)\s*$", nav, re.MULTILINE)]
    for path in dict.fromkeys([*filter(Path.is_file, listed), *sorted(docs.rglob("*.md"))]):
        text = path.read_text("utf-8")
        if _MADE in text:
            continue
        title = re.search(r"^# (.+)$", text, re.MULTILINE)
        for fence in re.findall(r"^ *```(?:console|sh)\b.*?^ *```", text, re.MULTILINE | re.DOTALL):
            for line in re.findall(r"^ *\$ (.*fencepost (?:.*\\\n)*.*)$", fence, re.MULTILINE):
                page = str(path.relative_to(docs))
                yield Example(
                    re.sub(r"\n *>? *", "\n    ", line), page, title[1] if title else page
                )


@cache
def _document(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(schemas()[name]())
    return document


def _schema(name: str) -> Iterator[str]:
    document = _document(name)
    yield from (f"## JSON: {name}", "")
    yield from _description(document)
    yield from (f"`fencepost schema {name}` prints this schema.", "")
    yield from _fields(document, name)
    for inner, definition in document.get("$defs", {}).items():
        yield from (f"### {name}: {inner}", "")
        yield from _description(definition)
        yield from _fields(definition, name)


def _description(schema: Mapping[str, Any]) -> Iterator[str]:
    if text := schema.get("description"):
        yield from prose(str(text))


def _fields(schema: Mapping[str, Any], name: str) -> Iterator[str]:
    fields = schema.get("properties")
    if not fields:
        kind = _type(schema, name)
        if kind != "any value":
            yield from (sentence(kind), "")
        return
    required = schema.get("required", ())
    yield "| field | type | meaning |"
    yield "|---|---|---|"
    for field_name, field in fields.items():
        about = field if isinstance(field, dict) else {}
        kind = _type(field, name) + ("" if field_name in required else ", optional")
        parts = [cell(str(about.get("description", "")))]
        if about.get("default"):
            parts.append(f"Default: {_code(about['default'])}.")
        yield f"| `{field_name}` | {kind} | {' '.join(filter(None, parts))} |"
    yield ""


def _type(schema: Any, name: str) -> str:
    """Describe a type; a definition of the schema `name` is a link."""
    if not isinstance(schema, dict):  # `true`: a schema that all values fit
        return "any value"
    if "$ref" in schema:
        inner = str(schema["$ref"]).rpartition("/")[2]
        return f"[{inner}](#{anchor(f'{name}: {inner}')})"
    if "const" in schema:
        return _code(schema["const"])
    if "enum" in schema:
        return " or ".join(map(_code, schema["enum"]))
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return " or ".join(dict.fromkeys(_type(each, name) for each in schema[word]))
    kind = schema.get("type", "any value")
    if isinstance(kind, list):
        return " or ".join(_type({**schema, "type": each}, name) for each in kind)
    if kind == "array":
        return f"list of {_type(schema.get('items'), name)}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object with any names, of {_type(schema['additionalProperties'], name)}"
    return str(kind)


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as MkDocs and GitHub make it."""
    return re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")


def _code(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False).replace("|", "\\|")
    return f"`{text}`"


def main(docs: Path) -> None:
    """Write all pages, and delete those of commands that are gone."""
    texts = pages(docs)
    (docs / FOLDER).mkdir(exist_ok=True)
    for path in (docs / FOLDER).glob("*.md"):
        if str(path.relative_to(docs)) not in texts:
            path.unlink()
    for name, text in texts.items():
        (docs / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
