"""The functions made for each message and version do what its fields say, field by field."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from support.message_samples import sample

from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.messages import JoinGroupResponse
from fencepost.model.messages.shapes import (
    Message,
    ShapeError,
    make_check,
    make_reader,
    read_field,
    wire_fields,
)

KINDS = sorted(
    {
        (api.name, side, version)
        for api in ALL_APIS.values()
        for side in ("request", "response")
        for version in range(api.lowest, api.highest + 1)
    }
)
ODD: list[Any] = [
    None,
    "",
    "x",
    "AAEC",
    "ž",
    "A",
    True,
    0,
    1,
    -1,
    2**31,
    2**63,
    1.5,
    [],
    {},
    [None],
    [{}],
]


def by_fields(kind: type[Message], body: Any, version: int, path: str = "") -> Message:
    """Read a message as the declared fields say, one after the other."""
    if not isinstance(body, dict):
        where = path.removesuffix(".") or "body"
        raise ShapeError(where, f"is {type(body).__name__}, not an object")
    values: dict[str, Any] = {}
    carried = [(name, form) for name, form in wire_fields(kind) if form.carried_by(version)]
    for name, form in carried:
        if form.name in body:
            value = read_field(form, body[form.name], version, path)
            is_null = value == form.null_as and not form.allows_null(version)
            values[name] = None if is_null else value
        elif not form.optional:
            raise ShapeError(f"{path}{form.name}", f"is missing; version {version} has it")
    if extra := set(body) - {form.name for _, form in carried}:
        raise ShapeError(f"{path}{min(extra)}", f"is a field that version {version} doesn't have")
    return kind(**values)


def said(read: Any, *given: Any) -> object:
    try:
        return read(*given)
    except ValueError as error:
        return type(error), str(error)


def written_and_read(message: Message, version: int) -> Message:
    return type(message).from_body(message.to_body(version), version)


def changed(body: Any, chance: Random) -> Any:
    """The body with one thing in it changed, left out or added."""
    if isinstance(body, dict) and body and chance.random() < 0.9:
        name = chance.choice(sorted(body))
        if chance.random() < 0.2:
            return {key: value for key, value in body.items() if key != name}
        if chance.random() < 0.1:
            return {**body, chance.choice(["aField", "zField"]): 1}
        return {**body, name: changed(body[name], chance)}
    if isinstance(body, list) and body and chance.random() < 0.7:
        place = chance.randrange(len(body))
        return [*body[:place], changed(body[place], chance), *body[place + 1 :]]
    return chance.choice(ODD)


@pytest.mark.parametrize(("api", "side", "version"), KINDS)
def test_what_is_read_is_what_the_fields_say(api: str, side: str, version: int) -> None:
    kind: type[Message] = getattr(ALL_APIS[api], side)
    chance = Random(f"{api} {side} {version}")
    for nulls in (False, True):
        body = sample(kind, version, nulls=nulls)
        assert kind.from_body(body, version) == by_fields(kind, body, version)
        for _ in range(60):
            wrong = changed(body, chance)
            expected = said(by_fields, kind, wrong, version, "here.")
            assert said(kind.from_body, wrong, version, "here.") == expected


@pytest.mark.parametrize(("api", "side", "version"), KINDS)
def test_what_is_carried_is_what_is_read_again(api: str, side: str, version: int) -> None:
    kind: type[Message] = getattr(ALL_APIS[api], side)
    highest = ALL_APIS[api].highest
    for nulls in (False, True):
        full = kind.from_body(sample(kind, highest, nulls=nulls), highest)
        assert said(full.as_carried, version) == said(written_and_read, full, version)


def test_a_reader_of_another_version_is_caught() -> None:
    """The comparison above fails where a function was made for the wrong version."""
    body = sample(JoinGroupResponse, 9)
    wrong = make_reader(JoinGroupResponse, wire_fields(JoinGroupResponse), 8)
    assert said(wrong, body, "") != said(by_fields, JoinGroupResponse, body, 9)


def test_a_check_sees_what_a_version_leaves_out() -> None:
    message = JoinGroupResponse.from_body(sample(JoinGroupResponse, 9), 9)
    fields = wire_fields(JoinGroupResponse)
    assert make_check(fields, 9)(message)
    assert not make_check(fields, 6)(message)
