"""`schema`: print the JSON Schema of a file or message of the project, or of one part of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from importlib.resources import files
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import click

from fencepost.conformance.cli.options.common_options import console, echo_json
from fencepost.model.bad_input import BadInputError
from fencepost.model.suggestions import nearest

_DERIVED = {
    "advice-1": "fencepost.conformance.advise.advice_document:SCHEMA.schema",
    "audit-1": "fencepost.traces.audit.log_audit:SCHEMA.schema",
    "certificate-1": "fencepost.traces.report.certificate_schema:SCHEMA.schema",
    "client-certificate-1": "fencepost.traces.report.certificate_schema:CLIENT_SCHEMA.schema",
    "client-driver-1": "fencepost.properties.requirements.driver_messages:protocol_schema",
    "corpus-1": "fencepost.conformance.search.findings.trace_causes:SCHEMA.schema",
    "known-failures-1": "fencepost.traces.files.known_failure_lists:SCHEMA.schema",
    "operator-report-1": "fencepost.traces.operations.operator_words:SCHEMA.schema",
    "provocations-1": "fencepost.conformance.wire.provocation:SCHEMA.schema",
    "scenarios-1": "fencepost.conformance.clients.scenario_file:SCHEMA.schema",
    "simulation-1": "fencepost.conformance.simulate.simulate:SCHEMA.schema",
    "server-log-audit-1": "fencepost.traces.audit.server_log_audit:SCHEMA.schema",
}
"""The functions that derive schemas from types, by module and name there."""
_MOST = 50
"""More names than that are too many for a message."""
_ENDING = ".schema.json"
_FLOORS = ("fencepost.traces", "fencepost.conformance")


class UnknownSchemaError(BadInputError):
    """No schema, or no definition in it, has such a name.  `str()` says which there are."""


@click.command("schema")
@click.argument("name", required=False)
@click.argument("definition", required=False)
def schema_command(name: str | None, definition: str | None) -> int:
    """Print a JSON schema; without a NAME, list them.

    NAME without a version is the newest version.  With DEFINITION, one entry of the schema's
    `$defs` is printed as a schema of its own: `adapter-protocol reset.reply` for one message,
    `message-bodies JoinGroup.v9.response` for one body.

    Exit code 64: no schema or definition has this name.
    """
    known = schemas()
    if name is None:
        for each, text in known.items():
            console().print(f"{each:22} {json.loads(text())['title']}")
        return 0
    newest = {re.sub(r"-\d+$", "", each): each for each in known}
    text = _named(newest.get(name, name), known, "schema")()
    if definition is None:
        click.echo(text, nl=False)
    else:
        echo_json(definition_in(json.loads(text), definition))
    return 0


def schemas() -> dict[str, Callable[[], str]]:
    """Return the texts of all schemas, by name, such as `trace-1`, each made when it is called."""
    folders = [Path(str(files(floor).joinpath("."))) for floor in _FLOORS]
    texts: dict[str, Callable[[], str]] = {
        path.name.removesuffix(_ENDING): partial(path.read_text, "utf-8")
        for folder in folders
        for path in folder.rglob(f"*{_ENDING}")
    }
    texts |= {name: partial(_derived, place) for name, place in _DERIVED.items()}
    return {name: texts[name] for name in sorted(texts, key=_by_version)}


def _derived(place: str) -> str:
    return json.dumps(resolve_name(place)(), indent=2) + "\n"


def definition_in(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a definition with those that it refers to, as a schema of its own.

    Raises UnknownSchemaError.
    """
    definitions: dict[str, Any] = document.get("$defs", {})
    definitions_ = dict(_named(name, definitions, f"definition in {document['title']!r}"))
    used: dict[str, Any] = {}
    waiting = [definitions_]
    while waiting:
        for ref in re.findall(r'"\$ref": "#/\$defs/([^"]+)"', json.dumps(waiting.pop())):
            if ref not in used:
                used[ref] = definitions[ref]
                waiting.append(used[ref])
    schema = {"$schema": document["$schema"], **definitions_}
    return {**schema, "$defs": used} if used else schema


def _named(name: str, known: Mapping[str, Any], kind: str) -> Any:
    if name in known:
        return known[name]
    near = nearest(name, known)
    names = dict.fromkeys([*near, *known] if len(known) <= _MOST else near or list(known)[:_MOST])
    raise UnknownSchemaError(f"no {kind} is called {name!r}; there is {', '.join(names)}")


def _by_version(schema: str) -> tuple[str, int]:
    name, _, version = schema.rpartition("-")
    return (name, int(version)) if version.isdecimal() else (schema, 0)
