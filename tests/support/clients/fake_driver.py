"""A driver without a library: it says what a good one would, or lies as its argument names.

`python fake_driver.py [LIE]`; `LIES` tells each lie at the command where it is told.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

MEBI = 1 << 20
WHOLE = "no name 'CooperativeSticky'\nin " + "a module with a long name " * 40
"""A long message of more than one line."""


def say(**fields: Any) -> None:
    write(json.dumps(fields))


def write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def tell(event: str, consumer: str = "a", **fields: Any) -> None:
    say(event=event, consumer=consumer, at_ms=time.monotonic() * 1000, **fields)


def honest(command: dict[str, Any]) -> None:
    """Do what a good driver does."""
    number, name = command["id"], command["cmd"]
    match command["cmd"]:
        case "hello":
            say(
                id=number,
                protocol=1,
                client="fake",
                version="1",
                language="python",
                features=["static"],
                assignors=["range"],
            )
        case "start":
            say(id=number, ok=True)
            tell("assigned", command["consumer"], partitions=[["t", 0], ["t", 1]])
            tell("records", command["consumer"], partition=["t", 0], first=0, count=3)
            tell("records", command["consumer"], partition=["t", 1], first=7, count=1)
        case "commit":
            error = {"code": "FENCED_INSTANCE_ID", "fatal": True, "message": "another has it"}
            say(id=number, error=error)
        case "unsubscribe":
            say(id=number, unsupported="it keeps its topics")
        case "close":
            say(id=number, ok=True, took_ms=12.5)
        case "bye":
            say(id=number, ok=True)
            sys.exit(0)
        case "stop-polling" | "poll-on" | "subscribe":
            say(id=number, ok=True)
        case _:
            say(id=number, unsupported=f"there is no command {name}")


def accept(command: dict[str, Any]) -> None:
    say(id=command["id"], ok=True)


def refuse(command: dict[str, Any], **error: Any) -> None:
    say(id=command["id"], error=error)


def die() -> None:
    sys.stderr.write("out of luck\n")
    sys.exit(3)


def die_like_node() -> None:
    """Die with the error before its stack, as Node does."""
    stack = [f"    at step{number} (file.mjs:1:1)" for number in range(8)]
    sys.stderr.write("\n".join(["Error [CODE]: no package", *stack, "}", "", "Node.js v22", ""]))
    sys.exit(1)


def leave_child() -> None:
    """Start a child that would outlive us; its number is told in a log line."""
    child = subprocess.Popen(["sleep", "600"])
    say(event="log", level="info", message=str(child.pid))


Act = Callable[[dict[str, Any]], object]


def all_of(*acts: Act) -> Act:
    """All of these, in turn."""

    def act(command: dict[str, Any]) -> None:
        for one in acts:
            one(command)

    return act


LIES: dict[str, tuple[str, Act]] = {
    "garbage": ("start", lambda _: write("out of luck")),
    "no-object": ("start", lambda _: write("[1]")),
    "unknown-event": ("start", lambda _: tell("confused")),
    "field-missing": ("start", lambda _: tell("records", partition=["t", 0], first=1)),
    "field-too-many": ("start", lambda _: tell("ended", why="tired")),
    "no-records": ("start", lambda _: tell("records", partition=["t", 0], first=1, count=0)),
    "ghost": ("start", lambda _: tell("ended", "ghost")),
    "wrong-id": ("start", lambda command: say(id=command["id"] + 1, ok=True)),
    "id-no-number": ("start", lambda _: say(id=[1], ok=True)),
    "not-ok": ("start", lambda command: say(id=command["id"], ok=False)),
    "answers-twice": ("start", all_of(honest, honest)),
    "introduces-itself": ("start", lambda command: honest({**command, "cmd": "hello"})),
    "starts-nothing": (
        "start",
        lambda command: say(
            id=command["id"], error={"code": "ImportError", "fatal": True, "message": WHOLE}
        ),
    ),
    "starts-static-alone": (
        "start",
        lambda command: (
            honest(command)
            if command["instance"]
            else say(id=command["id"], unsupported="there are no dynamic members")
        ),
    ),
    "dies": ("start", lambda _: die()),
    "dies-like-node": ("start", lambda _: die_like_node()),
    "dies-at-commit": ("commit", lambda _: die()),
    "is-killed": ("start", lambda _: os.kill(os.getpid(), signal.SIGKILL)),
    "long-line": ("start", lambda _: write("x" * 17 * MEBI)),
    "floods": ("start", all_of(*[lambda _: tell("ended")] * 30)),
    "leaves-child": ("start", all_of(lambda _: leave_child(), honest)),
    "wrong-protocol": (
        "hello",
        lambda command: say(id=command["id"], protocol=2),
    ),
    "refuses-hello": (
        "hello",
        lambda command: say(id=command["id"], unsupported="no time"),
    ),
    "dies-at-once": ("hello", lambda _: die()),
    "library-hangs": ("commit", lambda _: None),
    "driver-hangs": ("commit", lambda _: sys.stdin.read()),
    "bye-with-code": ("bye", all_of(accept, lambda _: die())),
    "stays": ("bye", all_of(accept, lambda _: signal.pause())),
}


def main(lie: str | None) -> None:
    at, told = LIES[lie] if lie else ("", honest)
    late = None
    for line in sys.stdin:
        command = json.loads(line)
        if command["cmd"] == at:
            told(command)
            late = command
        else:
            honest(command)
            if late and lie == "library-hangs" and command["cmd"] == "poll-on":
                honest(late)  # long after it was given up


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
