"""The text that users see: help, messages and sentences in the product, pages, documentation."""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from fencepost.conformance.cli.cli import Stub

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("conformance", "model", "properties", "traces")
_HTML = re.compile(r"{#.*?#}|{%.*?%}|<(?:style|script|svg)\b.*?</(?:style|script|svg)>", re.DOTALL)
_TAG = re.compile(r"</?(?:b|i|em|strong|code|span|a|kbd|small)\b[^>]*>")
_FENCE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
_WORDS = re.compile(r"[A-Za-z]{2,}'?[a-z]* +[A-Za-z(]")
_SCRIPT_TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`')


class Text(NamedTuple):
    """A text, and its place: `file:line`, or a command."""

    place: str
    text: str


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _strings(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the strings below a node, an f-string as one, without docstrings.

    Calls that certificates and lists of known failures keep the text of are left out.
    """
    match node:
        case ast.Call(func=ast.Name(id="violated" | "unknown"), args=[_, *rest]):
            for argument in rest:
                yield from _strings(argument)
        case ast.keyword(arg="unseen"):
            return
        case ast.JoinedStr(values=values):
            parts = [value.value if isinstance(value, ast.Constant) else "…" for value in values]
            yield node.lineno, "".join(map(str, parts))
            for value in values:
                if isinstance(value, ast.FormattedValue):
                    yield from _strings(value.value)
        case ast.Constant(value=str(text)):
            yield node.lineno, text
        case _:
            for child in ast.iter_child_nodes(node):
                if not (isinstance(child, ast.stmt) and _is_docstring(child)):
                    yield from _strings(child)


def sentences_of_cases(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the docstrings of functions with the decorator `case`: the sentences of cases."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(
            isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "case"
            for decorator in node.decorator_list
        ):
            yield node.lineno, ast.get_docstring(node) or ""


def product_text() -> Iterator[Text]:
    """Yield strings of product modules that have words, and the sentences of cases."""
    for path in (path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))):
        tree = ast.parse(path.read_text("utf-8"))
        file = path.relative_to(ROOT)
        for line, text in (*_strings(tree), *sentences_of_cases(tree)):
            if _WORDS.search(text):
                yield Text(f"{file}:{line}", text)


def help_text(command: click.Command, name: str) -> Iterator[Text]:
    """Yield what `--help` of a command, and of those below it, has besides its epilog."""
    if isinstance(command, Stub):
        yield Text(name, command.get_short_help_str(200))
        command = command.load()
    yield Text(f"{name} --help", command.help or "")
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.help:
            yield Text(f"{name} {parameter.opts[0]}", parameter.help)
    if isinstance(command, click.Group):
        for below, inner in command.commands.items():
            yield from help_text(inner, f"{name} {below}")


def template_text() -> Iterator[Text]:
    """Yield the text of the templates of pages, a line each, and the strings of their scripts."""
    folder = ROOT / "traces" / "pages"
    for path in sorted((folder / "templates").glob("*.html")):
        source = path.read_text("utf-8")
        blank = _HTML.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), source)
        for number, line in enumerate(blank.splitlines(), 1):
            plain = re.sub(r"{{.*?}}", "…", _TAG.sub("", line))
            for part in re.split(r"<[^>]*>", plain):
                if _WORDS.search(part):
                    yield Text(f"{path.relative_to(ROOT)}:{number}", html.unescape(part))
    for path in sorted((folder / "assets").glob("*.js")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            for match in _SCRIPT_TEXT.finditer(line):
                text = match.group(1) or match.group(2) or ""
                if _WORDS.search(text):
                    yield Text(f"{path.relative_to(ROOT)}:{number}", text)


def schema_text() -> Iterator[Text]:
    """Yield the descriptions of the JSON schemas that are files."""

    def descriptions(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            if isinstance(text := node.get("description"), str):
                yield text
            node = list(node.values())
        if isinstance(node, list):
            for child in node:
                yield from descriptions(child)

    for floor in FLOORS:
        for path in sorted((ROOT / floor).rglob("*.schema.json")):
            for text in descriptions(json.loads(path.read_text("utf-8"))):
                yield Text(str(path.relative_to(ROOT)), text)


def page_text(path: Path) -> Iterator[Text]:
    """Yield the paragraphs of a page of documentation, without its code."""
    source = path.read_text("utf-8")
    prose = _FENCE.sub(lambda match: "\n" * match.group().count("\n"), source)
    line = 1
    for paragraph in re.split(r"(\n\s*\n)", prose):
        if _WORDS.search(paragraph):
            yield Text(f"{path.relative_to(ROOT)}:{line}", re.sub(r"`[^`\n]*`", "…", paragraph))
        line += paragraph.count("\n")
