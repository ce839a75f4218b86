from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fencepost.conformance.cases.clients.scenario import Scenario
from fencepost.conformance.cases.clients.scenario_catalogue import SCENARIOS
from fencepost.conformance.clients.scenario_file import (
    SCHEMA,
    ScenarioFileError,
    read_scenarios,
)

OWN: dict[str, Any] = {
    "id": "closes-twice",
    "about": "A member is closed and started twice.",
    "obligations": ["CLIENT-CLOSE-STATIC-STAYS"],
    "acts": [
        {"act": "start", "consumer": "a", "instance": "i-1", "settings": {"auto_commit_ms": 300}},
        {"act": "await", "until": {"until": "settled", "consumers": ["a"]}, "needed": True},
        {"act": "provoke", "provocations": [{"api": "Heartbeat", "action": "lose"}]},
        {"act": "await", "until": {"until": "answered", "consumer": "a", "api": "Heartbeat",
                                   "error": "UNKNOWN_MEMBER_ID"}},
        {"act": "close", "consumer": "a"},
    ],
    "broker": {"as_of": "3.1"},
}  # fmt: skip


def written(folder: Path, document: Any) -> Path:
    path = folder / "own.json"
    path.write_text(json.dumps(document), "utf-8")
    return path


def plain(scenario: Scenario) -> Any:
    """Return a scenario as a file has it."""
    return json.loads(json.dumps(scenario.to_json()))


def changed(change: Callable[[dict[str, Any]], None]) -> list[dict[str, Any]]:
    document = copy.deepcopy(OWN)
    change(document)
    return [document]


def test_a_file_is_read(tmp_path: Path) -> None:
    scenarios = read_scenarios([written(tmp_path, [OWN])])
    assert list(scenarios) == ["closes-twice"]
    assert plain(scenarios["closes-twice"]) == OWN
    assert scenarios["closes-twice"].is_provoking


def test_every_scenario_of_the_catalogue_can_be_written_and_read(tmp_path: Path) -> None:
    own = [{**plain(scenario), "id": f"own-{name}"} for name, scenario in SCENARIOS.items()]
    read = read_scenarios([written(tmp_path, own)])
    assert [plain(s) for s in read.values()] == own
    Draft202012Validator(SCHEMA.schema()).validate(own)


WRONG: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "field": (lambda d: d.update(abuot="x"), 'no field "abuot": did you mean about?'),
    "id": (lambda d: d.update(id="A b"), "may have only a-z, 0-9, and single dashes"),
    "own id": (
        lambda d: d.update(id="static-life"),
        "fencepost has a scenario static-life; choose another id",
    ),
    "no obligation": (lambda d: d.update(obligations=[]), "`obligations` is empty"),
    "obligation": (
        lambda d: d.update(obligations=["CLIENT-CLOSE-STATIC"]),
        'no obligation "CLIENT-CLOSE-STATIC": did you mean CLIENT-CLOSE-STATIC-STAYS',
    ),
    "feature": (
        lambda d: d.update(needs=["batches"]),
        'no feature "batches": give one of static, cooperative, auto-commit',
    ),
    "release": (lambda d: d.update(broker={"as_of": "3.99"}), "doesn't know Kafka release '3.99'"),
    "act": (
        lambda d: d["acts"].append({"act": "strat"}),
        'closes-twice, act 6: there is no `act` "strat": did you mean start or restart?',
    ),
    "no act": (
        lambda d: d["acts"].append({}),
        "act 6 has no `act`: give one of start, close, crash",
    ),
    "field of an act": (
        lambda d: d["acts"][4].update(timeout=5),
        'act 5 (close): there is no field "timeout": did you mean timeout_ms?',
    ),
    "setting": (
        lambda d: d["acts"][0].update(settings={"autocommit": 1}),
        'act 1, settings: there is no field "autocommit": did you mean auto_commit_ms?',
    ),
    "condition": (
        lambda d: d["acts"][1].update(until={"until": "stable"}),
        'act 2, condition: there is no `until` "stable"',
    ),
    "API": (
        lambda d: d["acts"][3]["until"].update(api="Hearbeat"),
        'act 4: there is no API "Hearbeat": did you mean Heartbeat?',
    ),
    "error": (
        lambda d: d["acts"][3]["until"].update(error="UNKNOWN_MEMBER"),
        'no error "UNKNOWN_MEMBER": did you mean UNKNOWN_MEMBER_ID',
    ),
    "API of a provocation": (
        lambda d: d["acts"][2]["provocations"][0].update(api="Hearbeat"),
        "did you mean Heartbeat",
    ),
    "type": (lambda d: d["acts"][4].update(timeout_ms="long"), "`fencepost schema scenarios`"),
    "runs": (
        lambda d: d["acts"].insert(1, d["acts"][0]),
        "act 2 starts a, which is running; close or kill it first",
    ),
    "does not run": (
        lambda d: d["acts"].append({"act": "commit", "consumer": "a"}),
        "act 6 names a, which is not running; start it first",
    ),
    "waits for nobody": (
        lambda d: d["acts"][1]["until"].update(consumers=["b"]),
        "act 2 waits for b, which no earlier act starts",
    ),
    "kills nobody": (
        lambda d: d["acts"].append({"act": "crash", "process": "p"}),
        "act 6 kills process p, in which no consumer is running",
    ),
    "nobody": (lambda d: d.update(acts=[]), "no act starts a consumer"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_with_the_remedy(name: str, tmp_path: Path) -> None:
    change, words = WRONG[name]
    with pytest.raises(ScenarioFileError) as raised:
        read_scenarios([written(tmp_path, changed(change))])
    assert words in str(raised.value)


def test_an_id_is_there_once(tmp_path: Path) -> None:
    path = written(tmp_path, [OWN, OWN])
    with pytest.raises(ScenarioFileError, match="two scenarios have the id closes-twice"):
        read_scenarios([path])


@pytest.mark.parametrize("document", [{}, [], "x"])
def test_another_document_is_refused(document: Any, tmp_path: Path) -> None:
    with pytest.raises(ScenarioFileError, match="`fencepost schema scenarios` describes one"):
        read_scenarios([written(tmp_path, document)])


@pytest.mark.parametrize("name", ["field", "act", "field of an act", "setting", "type"])
def test_the_schema_refuses_it_too(name: str) -> None:
    assert SCHEMA.error([OWN]) is None
    assert SCHEMA.error(changed(WRONG[name][0])) is not None
