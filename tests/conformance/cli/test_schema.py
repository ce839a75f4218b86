"""`schema`: every schema that the project has can be printed, whole or a definition alone."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator
from support.in_this_process import invoke
from support.places import ROOT

from fencepost.conformance.cli.schema import definition_in, schemas
from fencepost.conformance.targets.stdio.protocol_schemas import envelope_schema

FILES = {
    path.name.removesuffix(".schema.json"): path
    for floor in ("traces", "conformance")
    for path in (ROOT / floor).rglob("*.schema.json")
}


def test_every_schema_of_the_project_is_listed() -> None:
    listed = [line.split()[0] for line in invoke("schema").out.splitlines()]

    assert set(listed) == set(schemas()) > set(FILES)
    assert {"adapter-protocol-1", "certificate-1", "known-failures-1", "trace-1"} <= set(listed)


@pytest.mark.parametrize("name", FILES)
def test_a_schema_is_printed_as_it_is(name: str) -> None:
    assert invoke("schema", name).out == FILES[name].read_text("utf-8")


@pytest.mark.parametrize("name", schemas())
def test_a_schema_is_one(name: str) -> None:
    document = json.loads(invoke("schema", name).out)

    Draft202012Validator.check_schema(document)
    assert document["$id"] == f"urn:fencepost:{name}"


def test_without_a_version_the_newest_is_meant() -> None:
    assert invoke("schema", "trace").out == invoke("schema", "trace-1").out


def test_a_definition_is_a_schema_of_its_own() -> None:
    schema = json.loads(invoke("schema", "adapter-protocol", "send.reply").out)

    judge = Draft202012Validator(schema)
    assert judge.is_valid({"answers": [{"id": "r1", "at_ms": 0, "body": {}}]})
    assert judge.is_valid({"unsupported": "not today"})
    assert not judge.is_valid({"answers": [{"id": "r1", "at_ms": -1, "body": {}}]})
    assert set(schema["$defs"]) == {"send.done", "answered", "answers", "unsupported", "error"}


@pytest.mark.parametrize("name", envelope_schema()["$defs"])
def test_all_that_a_definition_refers_to_is_there(name: str) -> None:
    schema = definition_in(envelope_schema(), name)

    assert list(Draft202012Validator(schema).iter_errors(None)) is not None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("certficate",), "no schema is called 'certficate'; there is certificate-1"),
        (("message-bodies", "JoinGroup.v5"), "JoinGroup.v5.request"),
        (("client-driver", "ErrorEvent"), "there is event, Error, command"),
        (("client-driver", "ErrorEvent"), "Records, Ended, Log"),
        (("zzz",), "there is adapter-protocol-1, "),
    ],
)
def test_a_name_that_nothing_has_is_told(arguments: tuple[str, ...], said: str) -> None:
    done = invoke("schema", *arguments)

    assert (done.code, done.out) == (64, "")
    assert said in done.err
