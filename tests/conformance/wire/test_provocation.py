"""Provocations: which requests they are about, how they are counted, and what none can be."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator
from support.places import ROOT

from fencepost.conformance.cli.schema import schemas
from fencepost.conformance.wire.provocation import (
    CODES,
    Action,
    Provocation,
    Provocations,
    ProvocationsError,
    names_in,
    read_provocations,
)
from fencepost.model.messages.errors import Error


def lost(who: str = "*", first: int = 1, last: int | None = 1) -> Provocation:
    return Provocation(api="JoinGroup", action=Action.LOSE, who=who, first=first, last=last)


def met(one: Provocation, times: int) -> list[int]:
    """The requests, counted from 1, that meet it."""
    script = Provocations([one])
    return [n for n in range(1, times + 1) if script.meet("JoinGroup", ["a"]) is one]


@pytest.mark.parametrize(
    ("first", "last", "expected"), [(1, 1, [1]), (2, 3, [2, 3]), (3, None, [3, 4, 5]), (6, 6, [])]
)
def test_requests_are_counted_from_one(first: int, last: int | None, expected: list[int]) -> None:
    assert met(lost(first=first, last=last), 5) == expected


def test_without_a_last_one_it_is_one() -> None:
    assert met(Provocation(api="JoinGroup", action=Action.LOSE, first=3), 5) == [3]


def test_only_what_fits_is_counted() -> None:
    script = Provocations([lost("i1", first=2, last=2)])
    seen = [("JoinGroup", ["i1"]), ("JoinGroup", ["i2"]), ("SyncGroup", ["i1"])]
    assert [script.meet(*one) for one in seen] == [None, None, None]
    assert script.meet("JoinGroup", ["m", "i1"]) is not None


def test_the_first_of_several_is_met_and_all_count() -> None:
    early, later = lost(), lost(last=2)
    script = Provocations([early, later])
    assert [script.meet("JoinGroup", []) for _ in range(3)] == [early, later, None]


def test_a_request_bears_its_clients_members_and_instances_names() -> None:
    body = {"memberId": "m", "groupInstanceId": None, "members": [{"groupInstanceId": "i"}]}
    assert names_in("c", body) == {"c", "m", "i"}
    assert names_in(None, {}) == set()
    assert names_in("c", {"members": None}) == {"c"}


def test_the_json_form_comes_back() -> None:
    one = Provocation(api="Heartbeat", action=Action.ERROR, last=None, code="FENCED_INSTANCE_ID")
    text = msgspec.json.encode([one])
    assert text == b'[{"api":"Heartbeat","action":"error","last":null,"code":"FENCED_INSTANCE_ID"}]'
    assert msgspec.json.decode(text, type=list[Provocation]) == [one]


def test_codes_are_named_as_the_model_names_them() -> None:
    named = {error.name: error.value for error in Error if isinstance(error.value, int)}
    named.pop("NONE")
    named.pop("UNKNOWN_SERVER_ERROR")
    assert {name: CODES[name] for name in named} == named


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"api": "JoinGroop", "action": "lose"}', "(did you mean JoinGroup?)"),
        ('{"api": "JoinGroup", "action": "loose"}', "Invalid enum value 'loose'"),
        ('{"api": "JoinGroup"}', "missing required field `action`"),
        ('{"api": "JoinGroup", "action": "lose", "hwo": "i"}', "unknown field `hwo`"),
        ('{"api": "JoinGroup", "action": "lose", "first": 0}', "must be at least 1"),
        ('{"api": "JoinGroup", "action": "lose", "first": 3, "last": 2}', "must be at least 1"),
        ('{"api": "JoinGroup", "action": "lose", "ms": 3}', "`ms` 3 is not valid for"),
        ('{"api": "JoinGroup", "action": "delay", "ms": -3}', "`ms` -3 is not valid for"),
        ('{"api": "JoinGroup", "action": "error"}', "`code` '' is not valid for"),
        (
            '{"api": "JoinGroup", "action": "lose", "code": "NONE"}',
            "`code` 'NONE' is not valid for",
        ),
        (
            '{"api": "JoinGroup", "action": "error", "code": "FENCED_INSTANCE"}',
            "(did you mean FENCED_INSTANCE_ID",
        ),
        (
            '{"api": "CreateTopics", "action": "error", "code": "FENCED_INSTANCE_ID"}',
            "can't be answered with an error",
        ),
    ],
)
def test_what_can_not_be_is_said_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "provocations.json"
    path.write_text(f'[{{"api": "SyncGroup", "action": "lose"}}, {text}]', "utf-8")
    with pytest.raises(ProvocationsError) as caught:
        read_provocations(path)
    assert said in str(caught.value)
    assert "$[1]" in str(caught.value)
    assert str(path) in str(caught.value)


EXAMPLES = ROOT / "examples" / "provocations.json"


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        (EXAMPLES.read_text("utf-8"), True),
        ('[{"api": "Fetch", "action": "throttle", "ms": 5, "who": "c", "first": 2}]', True),
        ('[{"api": "Fetch", "action": "hold"}, {"api": "Fetch", "action": "hold", "ms": 5}]', True),
        ('[{"api": "Fetch", "action": "lose", "code": "CORRUPT_MESSAGE"}]', False),
        ('[{"api": "Fetch", "action": "error"}]', False),
        ('[{"api": "Fetch", "action": "lose", "first": 0}]', False),
        ('[{"api": "Fetch", "action": "delay", "ms": -1}]', False),
        ('[{"api": "Fetch"}]', False),
        ('[{"api": "Fetch", "action": "lose", "hwo": "c"}]', False),
        ('{"api": "Fetch", "action": "lose"}', False),
    ],
)
def test_the_schema_takes_what_the_reader_takes(tmp_path: Path, text: str, fits: bool) -> None:
    schema = json.loads(schemas()["provocations-1"]())
    path = tmp_path / "provocations.json"
    path.write_text(text, "utf-8")
    assert Draft202012Validator(schema).is_valid(json.loads(text)) is fits
    if fits:
        assert len(read_provocations(path)) >= 1
    else:
        with pytest.raises(ProvocationsError):
            read_provocations(path)


def test_the_schema_knows_every_field_and_action() -> None:
    schema = json.loads(schemas()["provocations-1"]())
    fields = schema["$defs"]["provocation"]["properties"]
    assert set(fields) == set(Provocation.__struct_fields__)
    assert set(schema["$defs"]["Action"]["enum"]) == set(Action)
