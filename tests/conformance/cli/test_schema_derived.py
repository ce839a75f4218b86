"""Derived schemas accept the documents that the schemas written by hand accepted, and no others.

`schemas_before/` has those, without descriptions.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.client_results import FAILED, LACKS, UNDECIDED, certificate, result
from support.in_this_process import invoke
from support.places import ROOT, TESTS

from fencepost.conformance.cli.schema import schemas
from fencepost.traces.files.bounded import read_json
from fencepost.traces.files.known_failure_lists import FOLDER
from fencepost.traces.report.report_folder import certificate_document

BEFORE = Path(__file__).with_name("schemas_before")
REQUESTS = str(TESTS / "traces" / "request_logs" / "kafka-2.8.0.log.gz")
PAYMENTS = str(ROOT / "examples" / "request-logs" / "kafka-request.log.gz")
SERVER = str(TESTS / "traces" / "server_logs" / "server-2.8.0.log.gz")
SUITE = {"name": "cover", "bound": "two", "traces": 2, "steps": 9, "lower_bound": 8}


def printed(*arguments: str) -> Any:
    return json.loads(invoke(*arguments).out)


def certificates() -> Iterator[Any]:
    """Of a virtual clock and the catalogue; of a real one and a suite."""
    document = printed("certify", "mutant:kafka-8500", "--case", "*/zombie*", "--json")
    yield document
    for case in document["cases"]:
        case["seconds"] = 0.5
    yield document | {"clock": "real", "seconds": 1.5, "suite": SUITE}


def client_certificates() -> Iterator[Any]:
    yield certificate_document(certificate(result(), FAILED, LACKS, UNDECIDED))


def known_failures() -> Iterator[Any]:
    """Of each shipped list one entry of each kind."""
    for name in ("kafka", "kfake", "mock"):
        document = read_json(FOLDER / f"{name}.json")
        entries = {tuple(entry): entry for entry in document["entries"]}
        yield document | {"entries": list(entries.values())}


PROVOCATIONS = [
    {"api": "JoinGroup", "action": "delay", "who": "i1", "first": 2, "last": None, "ms": 3000},
    {"api": "SyncGroup", "action": "error", "last": 3, "code": "FENCED_INSTANCE_ID"},
    {"api": "Heartbeat", "action": "lose"},
]
GROUP = ("advise", "--members", "4", "--restart-s", "8")
ALONE = ("--jobs", "1")  # for a run this short a process takes longer to start
LIMITED = ("--only", "static", "--tolerated-gap-s", "20", "--warmup-s", "10")
CORRECT: dict[str, Callable[[], Iterable[Any]]] = {
    "advice-1": lambda: [
        printed(*GROUP, "--json"),
        printed(*GROUP, *LIMITED, "--json"),
        printed("advise", PAYMENTS, "--group", "payments-1", "--json"),
    ],
    "audit-1": lambda: [printed("audit", REQUESTS, "--json")],
    "server-log-audit-1": lambda: [printed("audit", SERVER, "--json")],
    "simulation-1": lambda: [
        printed("simulate", "crash", "--json"),
        printed("simulate", "crash", "--seeds", "2", *ALONE, "--json"),
        printed("simulate", "crash", "--compare", "eager,static+cooperative", *ALONE, "--json"),
    ],
    "operator-report-1": lambda: [
        printed("audit", log, "--json")["operator"] for log in (REQUESTS, SERVER)
    ],
    "certificate-1": certificates,
    "client-certificate-1": client_certificates,
    "corpus-1": lambda: [read_json(ROOT / "traces" / "corpus" / "index.json")],
    "known-failures-1": known_failures,
    "provocations-1": lambda: [PROVOCATIONS],
}
MUTATIONS = 400
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
        place[draw.choice(("more", "unknown", "p50", "seconds", "suite"))] = value
    else:
        place.append(value)


CHANGES: tuple[Callable[[Any, Any, random.Random], None], ...] = (remove, change, change, add)


@pytest.mark.parametrize("mutations", [150, pytest.param(MUTATIONS, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CORRECT)
def test_what_was_accepted_and_refused_still_is(name: str, mutations: int) -> None:
    before = Draft202012Validator(json.loads((BEFORE / f"{name}.json").read_text("utf-8")))
    now = Draft202012Validator(json.loads(schemas()[name]()))
    draw = random.Random(7)
    verdicts: set[bool] = set()
    for whole in CORRECT[name]():
        document = shortened(whole)
        assert before.is_valid(document)
        assert now.is_valid(document)
        for _ in range(mutations):
            changed = copy.deepcopy(document)
            place = draw.choice([each for each in places(changed) if each])
            key = draw.choice(list(place) if isinstance(place, dict) else range(len(place)))
            draw.choice(CHANGES)(place, key, draw)
            verdicts.add(before.is_valid(changed))
            assert now.is_valid(changed) == before.is_valid(changed), (place, key)
    assert verdicts == {True, False}
