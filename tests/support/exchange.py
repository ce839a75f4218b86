"""The exchange that the page of adapters shows, and whether a program replies so."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from support.places import ROOT

from fencepost.conformance.targets.stdio.protocol_schemas import check_command, check_reply
from fencepost.model.coordinator import MOVES

EXCHANGE = ROOT / "examples" / "adapter-exchange.txt"


def exchange() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The commands of the page's exchange, each with its reply."""
    lines = EXCHANGE.read_text("utf-8").splitlines()
    assert {line[:2] for line in lines[::2]} == {"→ "}
    assert {line[:2] for line in lines[1::2]} == {"← "}
    return [
        (json.loads(a[2:]), json.loads(b[2:])) for a, b in zip(lines[::2], lines[1::2], strict=True)
    ]


def departures(argv: list[str]) -> list[str]:
    """Where a program replies otherwise than in the exchange; what it doesn't offer is left out."""
    lines = "".join(json.dumps(command) + "\n" for command, _ in exchange())
    done = subprocess.run(argv, input=lines, capture_output=True, text=True, timeout=60, check=True)
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    offered = set(replies[0]["features"])
    found = []
    for (command, expected), reply in zip(exchange(), replies, strict=True):
        name = check_command(command)
        check_reply(name, reply)
        if name == "disconnect" and name not in offered:
            offered.discard("restart")  # its join is parked still, and is answered then
        if name == "hello" or (
            name in {"disconnect", "restart", MOVES, "delete-topics"} and name not in offered
        ):
            continue
        if "config" in reply:
            reply["config"] = {key: reply["config"][key] for key in expected["config"]}
        if reply != expected:
            found.append(f"{command}: {reply}")
    return found
