"""What of ours is on a broker: the groups and topics whose names have our prefix."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

from support.command import PATIENCE_S, RUN

from fencepost.conformance.targets.tcp.broker_connection import Door, Reply, ask
from fencepost.conformance.targets.tcp.namespacing import PREFIX
from fencepost.conformance.targets.tcp.security import parse_address

IGNORING = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); {RUN}"
"""As a shell starts it in the background: Ctrl-C isn't for it."""
MINE = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {RUN}"


def certify(address: str, *options: str, how: str = MINE) -> subprocess.Popen[str]:
    """A run against a broker, just started."""
    return started("certify", f"tcp://{address}", *options, how=how)


def started(*words: str, how: str) -> subprocess.Popen[str]:
    """A command, just started."""
    return subprocess.Popen(
        [sys.executable, "-c", how, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end(process: subprocess.Popen[str], number: int) -> tuple[int, str]:
    """Send a signal; the exit code and stderr.  It has to end before the deadline."""
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, err


async def on(addresses: Iterable[str]) -> list[str]:
    """Names of our groups and topics, on all these brokers."""
    found = []
    for address in addresses:
        at = parse_address(address)
        door = Door(at, at.host)
        for api, rows, name in (
            ("ListGroups", "groups", "groupId"),
            ("Metadata", "topics", "name"),
        ):
            body = {} if api == "ListGroups" else {"topics": None}
            event = await ask(door, api, 2, body, timeout_s=PATIENCE_S)
            assert isinstance(event, Reply)
            assert event.decoded.body is not None
            found += [row[name] for row in event.decoded.body[rows] if row[name].startswith(PREFIX)]
    return sorted(set(found))
