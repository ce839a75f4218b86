"""Derived schemas accept the documents that the schemas written by hand accepted, and no others.

`schemas_before/` has those, without descriptions.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.in_this_process import invoke
from support.places import TESTS

from fencepost.conformance.cli.schema import schemas

BEFORE = Path(__file__).with_name("schemas_before")
REQUESTS = str(TESTS / "traces" / "request_logs" / "kafka-2.8.0.log.gz")
SERVER = str(TESTS / "traces" / "server_logs" / "server-2.8.0.log.gz")
CORRECT: dict[str, list[tuple[str, ...]]] = {
    "audit-1": [("audit", REQUESTS, "--json")],
    "server-log-audit-1": [("audit", SERVER, "--json")],
    "simulation-1": [
        ("simulate", "crash", "--json"),
        ("simulate", "crash", "--seeds", "2", "--json"),
        ("simulate", "crash", "--compare", "eager,static+cooperative", "--json"),
    ],
    "operator-report-1": [("audit", REQUESTS, "--json"), ("audit", SERVER, "--json")],
}
MUTATIONS = 1_500
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2,
    1.5,
    -0.5,
    "",
    "a",
    "a:1",
    "static",
    "unknown",
    [],
    {},
    ["a"],
    [1],
)


def documents(name: str) -> Iterator[Any]:
    for arguments in CORRECT[name]:
        document = json.loads(invoke(*arguments).out)
        yield document["operator"] if name.startswith("operator") else document


def shortened(value: Any) -> Any:
    """A document with three items of each list, so that a change hits each field as often."""
    if isinstance(value, list):
        return [shortened(each) for each in value[:3]]
    if isinstance(value, dict):
        return {key: shortened(each) for key, each in value.items()}
    return value


def places(value: Any) -> Iterator[Any]:
    """All objects and lists in a document."""
    if isinstance(value, dict | list):
        yield value
        for part in value.values() if isinstance(value, dict) else value:
            yield from places(part)


def remove(place: Any, key: Any, _draw: random.Random) -> None:
    del place[key]


def change(place: Any, key: Any, draw: random.Random) -> None:
    place[key] = copy.deepcopy(draw.choice(VALUES))


def add(place: Any, _key: Any, draw: random.Random) -> None:
    value = copy.deepcopy(draw.choice(VALUES))
    if isinstance(place, dict):
        place[draw.choice(("more", "unknown", "p50"))] = value
    else:
        place.append(value)


CHANGES: tuple[Callable[[Any, Any, random.Random], None], ...] = (remove, change, change, add)


@pytest.mark.parametrize("name", CORRECT)
def test_what_was_accepted_and_refused_still_is(name: str) -> None:
    before = Draft202012Validator(json.loads((BEFORE / f"{name}.json").read_text("utf-8")))
    now = Draft202012Validator(json.loads(schemas()[name]()))
    draw = random.Random(7)
    verdicts: set[bool] = set()
    for whole in documents(name):
        document = shortened(whole)
        assert before.is_valid(document)
        assert now.is_valid(document)
        for _ in range(MUTATIONS):
            changed = copy.deepcopy(document)
            place = draw.choice([each for each in places(changed) if each])
            key = draw.choice(list(place) if isinstance(place, dict) else range(len(place)))
            draw.choice(CHANGES)(place, key, draw)
            verdicts.add(before.is_valid(changed))
            assert now.is_valid(changed) == before.is_valid(changed), (place, key)
    assert verdicts == {True, False}
