"""The page of adapters has every message, body and error code; the schemas describe the fields."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from support.exchange import departures, exchange
from support.places import ROOT

from fencepost.conformance.targets.stdio.protocol_schemas import (
    COMMANDS,
    check_command,
    check_reply,
    envelope_schema,
)
from fencepost.model.consumer.settings import SETTINGS
from fencepost.model.coordinator import CONFIG_DEFAULTS, named
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.errors import Error
from fencepost.model.messages.shapes import BYTES, ListOf, Message, Scalar, wire_fields

PAGE = ROOT / "docs" / "brokers" / "adapters.md"
NEWEST = 99
SHOWN = [name for name, api in ALL_APIS.items() if api.key is not None]

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="needs the documents of the checkout")


def section(heading: str) -> str:
    """The text of the page below a heading, up to the next one of its level or a higher one."""
    level = heading.split(maxsplit=1)[0]
    _, _, rest = PAGE.read_text("utf-8").partition(f"\n{heading}\n")
    return re.split(rf"\n#{{1,{len(level)}}} ", rest)[0]


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema, with what it refers to below its own keys."""
    if "$ref" not in schema:
        return schema
    return resolved(envelope_schema()["$defs"][schema["$ref"].rpartition("/")[2]]) | schema


def undescribed(definition: str) -> list[str]:
    """The fields of a message that the schema doesn't describe."""
    fields = resolved(envelope_schema()["$defs"][definition])["properties"]
    return [name for name, schema in fields.items() if not resolved(schema).get("description", "")]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_has_every_command_and_the_schema_describes_its_fields(command: str) -> None:
    assert f"\n| `{command}` |" in section("## The commands")
    assert undescribed(f"{command}.command") == ["cmd"]
    assert resolved(envelope_schema()["$defs"][f"{command}.command"])["description"]
    assert undescribed(f"{command}.done") == []


def test_the_schema_describes_every_field_of_an_answer() -> None:
    answer = envelope_schema()["$defs"]["answers"]["items"]["properties"]

    assert {name for name, schema in answer.items() if "description" not in schema} == set()


def test_the_page_has_every_feature_and_setting() -> None:
    features = envelope_schema()["$defs"]["hello.done"]["properties"]["features"]["items"]["enum"]

    assert [name for name in features if f"`{name}`" not in section("## The commands")] == []
    defaults = {
        key: str(value) if value is not None else "never" if "interval" in key else "no limit"
        for key, value in CONFIG_DEFAULTS.items()
    }
    assert shown_in("### Settings") == defaults
    others = {k: "no limit" if v is None else str(v) for k, v in named(SETTINGS).items()}
    assert shown_in("## The consumer protocol") == others
    described = envelope_schema()["$defs"]["settings"]["properties"]
    assert {
        key: re.search(r"Default: (\S+)$", schema["description"])[1]  # type: ignore[index]
        for key, schema in described.items()
    } == {
        key: "null" if value is None else str(value)
        for key, value in {**CONFIG_DEFAULTS, **named(SETTINGS)}.items()
    }


def shown_in(heading: str) -> dict[str, str]:
    """The settings below a heading of the page, with their defaults."""
    return dict(re.findall(r"^([a-z.]+\.[a-z.]+) +(.+)$", section(heading), re.MULTILINE))


def shape(cls: type[Message], highest: int, indent: str = "  ") -> Iterator[str]:
    """The fields of a message, a line each: name, type, and the versions that have it.

    `highest`: of the API; what no version of it has is left out.
    """
    for _, form in wire_fields(cls):
        if form.lowest > highest:
            continue
        item = form.type.item if isinstance(form.type, ListOf) else form.type
        kind = "bytes" if item is BYTES else item.name if isinstance(item, Scalar) else ""
        kind = {"error": "error code"}.get(kind, kind)
        kind = f"list of {kind}".removesuffix(" of ") if isinstance(form.type, ListOf) else kind
        if form.nullable is not None:
            since = form.nullable[0]
            kind += " or null" if since <= form.lowest else f" (or null from {since} on)"
        span = ""
        last = form.highest if form.highest < highest else NEWEST
        if form.lowest or last != NEWEST:
            ends = {NEWEST: "+", form.lowest: ""}
            span = f"{form.lowest}{ends.get(last, f'-{last}')}"
        span += " may be left out" if form.optional else ""
        yield f"{indent + form.name:34}{kind:32}{span.strip()}".rstrip()
        if not isinstance(item, Scalar):
            yield from shape(item, highest, indent + "  ")


@pytest.mark.parametrize("name", SHOWN)
def test_every_field_of_every_body_is_shown(name: str) -> None:
    api = ALL_APIS[name]
    lines = []
    for direction, cls in (("request", api.request), ("response", api.response)):
        lines += [
            f"{name} {direction}, versions {api.lowest} to {api.highest}",
            *shape(cls, api.highest),
        ]
    shown = "```text\n" + "\n".join(lines) + "\n```"

    assert shown in section("## Fields of the bodies"), f"show it as\n{shown}"


def test_the_numbers_of_errors_are_right() -> None:
    cells = re.findall(r"^ *(-?\d+)  ([A-Z_]+)$", section("## Error codes"), re.MULTILINE)

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
