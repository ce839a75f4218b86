"""Turn request logs of Kafka before 2.8, whose bodies are text, into today's lines with JSON.

An operator's audit refuses them; here they are held against server.log of the same release.  Such
a line has only the number of bytes of a subscription or an assignment, so zeros stand for them.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from fencepost.model.messages.messages import APIS

_LINE = re.compile(
    r"^(?P<before>.*?Completed request:)RequestHeader\(apiKey=(?P<api>\w+), "
    r"apiVersion=(?P<version>\d+), clientId=(?P<client_id>.*), correlationId=\d+\) -- "
    r"(?P<request>\{.*\}),response:(?P<response>\{.*\}) from connection (?P<connection>[^;]+);"
    r"totalTime:(?P<took>[\d.]+)"
)
_BYTES = re.compile(r"java\.nio\.\w+\[pos=\d+ lim=(\d+) cap=\d+\]")
_NO_FIELDS = re.compile(r",?_tagged_fields=\{\}")
_WORD = re.compile(r"[^,{}\[\]]*")
_NUMBER = re.compile(r"-?\d+")
_TEXTS = frozenset({"clientId", "groupId", "groupInstanceId", "leader", "memberId", "name"})
_KEYS = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", api.name).upper(): api.key for api in APIS.values()}


def as_json(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines about groups, with JSON in them; those that have it stay as they are."""
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            yield line
        elif match["api"] in _KEYS:
            record = {
                "requestHeader": {
                    "requestApiKey": _KEYS[match["api"]],
                    "requestApiVersion": int(match["version"]),
                    "clientId": match["client_id"],
                },
                "request": _body(match["request"]),
                "response": _body(match["response"]),
                "connection": match["connection"],
                "totalTimeMs": float(match["took"]),
            }
            yield f"{match['before']}{json.dumps(record)}\n"


def _body(text: str) -> Any:
    text = _BYTES.sub(lambda size: base64.b64encode(bytes(int(size[1]))).decode(), text)
    return _value(_NO_FIELDS.sub("", text), 0, "")[0]


def _value(text: str, at: int, name: str) -> tuple[Any, int]:
    """Return the value that begins here, and its end."""
    if text[at] == "{":
        fields: dict[str, Any] = {}
        while text[at] != "}" and text[at + 1] != "}":
            equals = text.index("=", at)
            key = _camel(text[at + 1 : equals])
            fields[key], at = _value(text, equals + 1, key)
        return fields, text.index("}", at) + 1
    if text[at] == "[":
        rows: list[Any] = []
        while text[at] != "]" and text[at + 1] != "]":
            row, at = _value(text, at + 1, name)
            rows.append(row)
        return rows, text.index("]", at) + 1
    match = _WORD.match(text, at)
    assert match is not None
    word = match[0]
    if word == "null":
        return None, match.end()
    if name not in _TEXTS and _NUMBER.fullmatch(word):
        return int(word), match.end()
    return word, match.end()


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
