"""The page of adapters says what the schemas say: every message, every field, and one exchange."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest
from support.exchange import departures, exchange
from support.places import ROOT

from fencepost.conformance.targets.stdio.protocol_schemas import (
    COMMANDS,
    check_command,
    check_reply,
    envelope_schema,
)
from fencepost.model.coordinator import CONFIG_DEFAULTS
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import APIS
from fencepost.model.messages.shapes import BYTES, ListOf, Message, Scalar, wire_fields

PAGE = ROOT / "docs" / "brokers" / "adapters.md"
NEWEST = 99

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="needs the documents of the checkout")


def section(heading: str) -> str:
    """The text of the page below a heading, up to the next one of its level or a higher one."""
    level = heading.split(maxsplit=1)[0]
    _, _, rest = PAGE.read_text("utf-8").partition(f"\n{heading}\n")
    return re.split(rf"\n#{{1,{len(level)}}} ", rest)[0]


def first_cells(text: str) -> list[tuple[str, str]]:
    """The first two cells of the rows of the tables in a text, without what marks them as code."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|", text, re.MULTILINE)
    return [(one.replace("`", "").strip(), other.replace("`", "").strip()) for one, other in rows]


def fields(definition: str) -> set[str]:
    schema = envelope_schema()["$defs"][definition]
    while "$ref" in schema:
        schema = envelope_schema()["$defs"][schema["$ref"].rpartition("/")[2]]
    return set(schema["properties"])


@pytest.mark.parametrize("command", COMMANDS)
def test_every_field_of_a_command_and_its_reply_is_explained(command: str) -> None:
    rows = first_cells(section(f"### `{command}`"))

    for direction, definition in (("command", "command"), ("reply", "done")):
        explained = {field for way, field in rows if way == direction}
        assert explained == fields(f"{command}.{definition}") - {"cmd"}, direction


def test_every_field_of_an_answer_is_explained() -> None:
    answer = envelope_schema()["$defs"]["answers"]["items"]["properties"]

    assert {field for field, _ in first_cells(section("### Answers"))} - {"field"} == set(answer)


def test_every_feature_and_setting_is_explained() -> None:
    features = envelope_schema()["$defs"]["hello.done"]["properties"]["features"]["items"]["enum"]

    assert {name for name, _ in first_cells(section("### Features"))} - {"feature"} == set(features)
    settings = dict(first_cells(section("### Settings")))
    del settings["key"]
    assert settings == {
        key: str(value) if value is not None else "never" if "interval" in key else "no limit"
        for key, value in CONFIG_DEFAULTS.items()
    }


def shape(cls: type[Message], indent: str = "  ") -> Iterator[str]:
    """The fields of a message, a line each: name, type, and the versions that have it."""
    for _, form in wire_fields(cls):
        item = form.type.item if isinstance(form.type, ListOf) else form.type
        kind = "bytes" if item is BYTES else item.name if isinstance(item, Scalar) else ""
        kind = {"error": "error code"}.get(kind, kind)
        kind = f"list of {kind}".removesuffix(" of ") if isinstance(form.type, ListOf) else kind
        if form.nullable is not None:
            since = form.nullable[0]
            kind += " or null" if since <= form.lowest else f" (or null from {since} on)"
        span = ""
        if form.lowest or form.highest != NEWEST:
            ends = {NEWEST: "+", form.lowest: ""}
            span = f"{form.lowest}{ends.get(form.highest, f'-{form.highest}')}"
        span += " may be left out" if form.optional else ""
        yield f"{indent + form.name:34}{kind:32}{span.strip()}".rstrip()
        if not isinstance(item, Scalar):
            yield from shape(item, indent + "  ")


@pytest.mark.parametrize("name", APIS)
def test_every_field_of_every_body_is_shown(name: str) -> None:
    api = APIS[name]
    lines = []
    for direction, cls in (("request", api.request), ("response", api.response)):
        lines += [f"{name} {direction}, versions {api.lowest} to {api.highest}", *shape(cls)]
    shown = "```text\n" + "\n".join(lines) + "\n```"

    assert shown in section("## Bodies"), f"show it as\n{shown}"


def test_the_numbers_of_errors_are_right() -> None:
    cells = re.findall(r"(-?\d+) \| ([A-Z_]+) \|", section("## Bodies"))

    assert {Error[name]: int(number) for number, name in cells} == {
        error: error.value for error in Error if isinstance(error.value, int)
    }


def test_the_exchange_has_every_command_and_keeps_the_schemas() -> None:
    said = [(check_command(command), reply) for command, reply in exchange()]

    assert {name for name, _ in said} == set(COMMANDS)
    for name, reply in said:
        check_reply(name, reply)
    assert any("unsupported" in reply for _, reply in said)
    assert any(row.get("dropped") for _, row in said)


def test_the_model_replies_as_in_the_exchange() -> None:
    main = "from fencepost.conformance.cli.cli import main; main()"

    assert departures([sys.executable, "-c", main, "adapter", "model"]) == []


def test_one_that_replies_otherwise_is_caught() -> None:
    main = "from fencepost.conformance.cli.cli import main; main()"
    mutant = "mutant:no-id-required"

    assert departures([sys.executable, "-c", main, "adapter", mutant]) != []
