"""Read a user's scenarios from a file, and refuse names that don't exist.

A file holds a list of scenarios, as traces have them; `SCHEMA` describes it.  The schema can't say
that a consumer has to run before it is closed, or which names are near one that is wrong: so each
name is looked up here, before the types are checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec

from fencepost.conformance.cases.clients.scenario import (
    AnyCondition,
    Condition,
    Scenario,
    ScenarioStep,
    Setting,
    Settled,
    Until,
    process_of,
)
from fencepost.conformance.cases.clients.scenario_catalogue import SCENARIOS
from fencepost.conformance.serve.broker_apis import ReleaseError, parse_release
from fencepost.conformance.wire.codec import API_KEYS
from fencepost.conformance.wire.provocation import CODES
from fencepost.model.bad_input import BadInputError
from fencepost.model.history.words import first_names
from fencepost.model.plans.steps import Close, Crash, Settings, Start
from fencepost.model.suggestions import nearest
from fencepost.properties.requirements.driver_messages import FEATURES
from fencepost.properties.requirements.requirements import REQUIREMENTS
from fencepost.traces.files.bounded import read_json
from fencepost.traces.files.document_schema import DocumentSchema

SCHEMA = DocumentSchema(
    "scenarios-1",
    "fencepost scenarios 1",
    "Your own scenarios: `fencepost certify-client CLIENT --scenarios FILE`.",
    list[Scenario],
)

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MOST = 12
"""Limit of the names that a message lists where none is near."""


def _tagged(kinds: Iterable[type[msgspec.Struct]]) -> Mapping[str, type[msgspec.Struct]]:
    return {str(kind.__struct_config__.tag): kind for kind in kinds}


_ACTS = _tagged(get_args(ScenarioStep))
_CONDITIONS = _tagged(get_args(AnyCondition))


class ScenarioFileError(BadInputError):
    """A file holds no scenarios that can be run.  `str()` names the place and the remedy."""


def read_scenarios(paths: Sequence[Path]) -> dict[str, Scenario]:
    """Read files of scenarios, by id.  Raises ScenarioFileError, DocumentError."""
    scenarios: dict[str, Scenario] = {}
    for path in paths:
        for scenario in _read(path):
            if scenario.id in SCENARIOS:
                raise ScenarioFileError(
                    f"{path}: fencepost has a scenario {scenario.id}; choose another id"
                )
            if scenario.id in scenarios:
                raise ScenarioFileError(
                    f"{path}: two scenarios have the id {scenario.id}; choose another id for one"
                )
            scenarios[scenario.id] = scenario
    return scenarios


def _read(path: Path) -> list[Scenario]:
    document = read_json(path)
    if not isinstance(document, list) or not document:
        raise ScenarioFileError(
            f"{path}: is not a list of scenarios; `fencepost schema scenarios` describes one"
        )
    for number, scenario in enumerate(document):
        for problem in _wrong_names(scenario, f"scenario {number + 1}"):
            raise ScenarioFileError(f"{path}: {problem}")
    try:
        scenarios = msgspec.convert(document, list[Scenario])
    except msgspec.ValidationError as error:
        raise ScenarioFileError(
            f"{path}: {error}; `fencepost schema scenarios` describes the file"
        ) from None
    for scenario in scenarios:
        for problem in _wrong_order(scenario):
            raise ScenarioFileError(f"{path}: {scenario.id}: {problem}")
    return scenarios


def _wrong_names(document: Any, place: str) -> Iterator[str]:
    """Yield what is wrong with the names in a scenario, as a sentence with those that exist."""
    if not isinstance(document, dict):
        yield f"{place} is not a JSON object"
        return
    yield from _fields(document, Scenario, place)
    name = document.get("id")
    if isinstance(name, str):
        place = name
        if not _ID.fullmatch(name):
            yield f"{place}: an id may have only a-z, 0-9, and single dashes between them"
    obligations = _list_in(document, "obligations")
    if not obligations:
        yield f"{place}: `obligations` is empty; name at least one obligation to judge"
    yield from _names(obligations, REQUIREMENTS, "obligation", place)
    yield from _names(_list_in(document, "needs"), FEATURES, "feature", place)
    broker = document.get("broker", {})
    if isinstance(broker, dict):
        yield from _fields(broker, Setting, f"{place}, broker")
        yield from _release(broker.get("as_of"), place)
    for number, act in enumerate(_list_in(document, "acts"), start=1):
        yield from _wrong_act(act, f"{place}, act {number}")


def _wrong_act(act: Any, place: str) -> Iterator[str]:
    if not isinstance(act, dict):
        yield f"{place} is not a JSON object"
        return
    yield from _tag(act, "act", _ACTS, place)
    kind = _ACTS[act["act"]]
    yield from _fields(act, kind, f"{place} ({act['act']})", "act")
    if isinstance(settings := act.get("settings"), dict):
        yield from _fields(settings, Settings, f"{place}, settings")
    yield from _release(act.get("as_of"), place)
    condition = act.get("until")
    if kind is not Until or not isinstance(condition, dict):
        return
    yield from _tag(condition, "until", _CONDITIONS, f"{place}, condition")
    waited = _CONDITIONS[condition["until"]]
    yield from _fields(condition, waited, f"{place} ({condition['until']})", "until")
    yield from _names([condition["api"]] if "api" in condition else (), API_KEYS, "API", place)
    yield from _names([condition["error"]] if "error" in condition else (), CODES, "error", place)


def _list_in(document: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = document.get(key, ())
    return value if isinstance(value, list) else ()


def _fields(
    document: Mapping[str, Any], kind: type[msgspec.Struct], place: str, tag: str = ""
) -> Iterator[str]:
    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    yield from _names([key for key in document if key != tag], known, "field", place)


def _tag(document: Mapping[str, Any], key: str, kinds: Iterable[str], place: str) -> Iterator[str]:
    known = list(kinds)
    if key not in document:
        yield f"{place} has no `{key}`: {_listed(known)}"
    yield from _names([document[key]], known, f"`{key}`", place)


def _names(names: Iterable[Any], known: Iterable[str], kind: str, place: str) -> Iterator[str]:
    existing = list(known)
    for name in names:
        if name not in existing:
            near = nearest(str(name), existing)
            there = f"did you mean {' or '.join(near)}?" if near else _listed(existing)
            yield f"{place}: there is no {kind} {msgspec.json.encode(name).decode()}: {there}"


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "there are none"
    return f"give one of {first_names(names, _MOST)}"


def _release(name: Any, place: str) -> Iterator[str]:
    if isinstance(name, str):
        try:
            parse_release(name)
        except ReleaseError as error:
            yield f"{place}: {error}"


def _wrong_order(scenario: Scenario) -> Iterator[str]:
    """Yield what can't be done, since the consumer that is named does not run then."""
    running: dict[str, str] = {}
    started: set[str] = set()
    for number, act in enumerate(scenario.acts, start=1):
        place = f"act {number}"
        match act:
            case Start(consumer=consumer):
                if consumer in running:
                    yield f"{place} starts {consumer}, which is running; close or kill it first"
                running[consumer] = process_of(act)
                started.add(consumer)
            case Crash(process=process):
                if process not in running.values():
                    yield f"{place} kills process {process}, in which no consumer is running"
                running = {name: of for name, of in running.items() if of != process}
            case Until(condition=condition):
                yield from _unstarted(condition, started, place)
            case _:
                name = getattr(act, "consumer", None)
                if name is not None and name not in running:
                    yield f"{place} names {name}, which is not running; start it first"
                if isinstance(act, Close):
                    running.pop(act.consumer, None)
    if not started:
        yield "no act starts a consumer"


def _unstarted(condition: Condition, started: set[str], place: str) -> Iterator[str]:
    if isinstance(condition, Settled):
        names: Sequence[str] = condition.consumers
    else:
        names = [name for name in [getattr(condition, "consumer", None)] if name is not None]
    for name in names:
        if name not in started:
            yield f"{place} waits for {name}, which no earlier act starts"
