"""A coordinator without groups, behind adapter protocol 1: it knows Heartbeat and nothing else."""

import json
import sys

NONE, INVALID_GROUP_ID, UNKNOWN_MEMBER_ID = 0, 24, 25

now = 0  # the virtual clock, ms
for line in sys.stdin:
    command = json.loads(line)
    match command["cmd"]:
        case "hello":
            reply = {
                "protocol": 1,
                "implementation": "first-adapter",
                "version": "1",
                "clock": "virtual",
                "apis": {"Heartbeat": [0, 4]},
                "features": [],
            }
        case "reset":
            now = 0
            reply = {"ok": True, "config": command["config"], "dropped": []}
        case "send":
            error = NONE  # wrong: nobody is a member here
            body = {"errorCode": error}
            reply = {"answers": [{"id": command["id"], "at_ms": now, "body": body}]}
        case "advance":
            now += command["ms"]
            reply = {"answers": []}
        case "bye":
            reply = {"ok": True}
        case other:
            reply = {"unsupported": other}
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()
