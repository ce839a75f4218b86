"""What a liar builds on: an honest adapter with a virtual clock that answers at once.

A liar replaces one reply.  Run by itself, this is an adapter that tells no lies.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

HELLO: Json = {
    "protocol": 1,
    "implementation": "liar",
    "version": "1",
    "clock": "virtual",
    "apis": {"Heartbeat": [0, 4]},
    "features": ["disconnect", "restart"],
}


def say(*replies: Json) -> None:
    sys.stdout.write("".join(json.dumps(reply) + "\n" for reply in replies))
    sys.stdout.flush()


def answer(request_id: str, at_ms: int = 0, **changes: Any) -> Json:
    return {"id": request_id, "at_ms": at_ms, "body": {"errorCode": 0, **changes}}


def run(**lies: Callable[[Json], Json | None]) -> None:
    """Answer commands; `lies` has other replies by command, None for saying nothing."""
    now = 0
    for line in sys.stdin:
        command = json.loads(line)
        name = command["cmd"]
        if name in {"advance", "reset"}:
            now = now + command["ms"] if name == "advance" else 0
        honest: Json = {
            "hello": HELLO,
            "reset": {"ok": True, "config": {}, "dropped": []},
            "send": {"answers": [answer(command.get("id", ""), now)]},
            "advance": {"answers": []},
            "disconnect": {"answers": [], "dropped": []},
            "restart": {"answers": [], "dropped": []},
            "move-coordinator": {"answers": []},
            "bye": {"ok": True},
        }
        reply = lies[name](command) if name in lies else honest[name]
        if reply is not None:
            say(reply)
        if name == "bye":
            break


if __name__ == "__main__":
    run()
