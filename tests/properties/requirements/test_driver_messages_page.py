"""The page for authors of drivers shows lines of the protocol, and the libraries that there are."""

from __future__ import annotations

import json
import re

from support.places import ROOT

from fencepost.conformance.clients.driver_programs import LIBRARIES
from fencepost.properties.requirements.driver_messages import (
    COMMAND_NAMES,
    FEATURES,
    AnyEvent,
    Introduction,
    command_of,
    event_of,
    reply_of,
)

PAGE = (ROOT / "docs" / "clients" / "drivers.md").read_text("utf-8")


def test_the_exchange_is_one() -> None:
    asked = {}
    seen = set()
    for arrow, line in re.findall(r"^([→←]) (\{.*\})$", PAGE, re.MULTILINE):
        said = json.loads(line)
        if arrow == "→":
            command = command_of(said)
            asked[command.id] = type(command)
        elif "event" in said:
            seen.add(type(event_of(said)))
        else:
            reply = reply_of(said, asked.pop(said["id"]))
            if isinstance(reply, Introduction):
                assert set(reply.features) <= set(FEATURES)
    assert seen
    assert asked == {}


def test_every_command_and_event_is_described() -> None:
    events = [kind.__struct_config__.tag for kind in AnyEvent.__args__]
    for name in (*COMMAND_NAMES, *events):
        assert re.search(rf"^\| .*`{name}`", PAGE, re.MULTILINE), name


def test_every_library_is_in_the_table_with_its_versions() -> None:
    for name, library in LIBRARIES.items():
        (row,) = re.findall(rf"^\| `{name}` \|.*$", PAGE, re.MULTILINE)
        assert all(version in row for version in library.versions)
