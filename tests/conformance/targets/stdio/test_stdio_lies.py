"""Every command of the adapter protocol, every kind of wrong reply: a sentence, no traceback.

Where no case can run without the reply, the target is not available (exit code 69).  In a case a
wrong reply is a failure of that case (1), and `unsupported` leaves it out.  `bye` ends the process
whatever it says.
"""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from support.in_this_process import invoke
from support.places import TESTS
from support.runs import KAFKA_4

from fencepost.conformance.cases.case_registry import as_entry
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.stdio import line_process
from fencepost.conformance.targets.stdio.line_process import LineProcess
from fencepost.conformance.targets.stdio.protocol_schemas import COMMANDS
from fencepost.conformance.targets.stdio.stdio import ExecTarget
from fencepost.model.plans.steps import (
    DeleteTopics,
    Disconnect,
    Failover,
    MoveCoordinator,
    Pause,
    Plan,
    Request,
)
from fencepost.model.table.table import Level
from fencepost.properties.judging.outcome import Outcome

LIAR = TESTS / "conformance" / "stdio_liars" / "any_lie.sh"
SILENT_S = 0.3
"""How long a reply is waited for that never comes."""

HONEST: dict[str, dict[str, Any]] = {
    "hello": {
        "protocol": 1,
        "implementation": "liar",
        "version": "1",
        "clock": "virtual",
        "apis": {"Heartbeat": [0, 4]},
        "features": [],
    },
    "reset": {"ok": True, "config": {}, "dropped": []},
    "send": {"answers": []},
    "advance": {"answers": []},
    "disconnect": {"answers": [], "dropped": []},
    "restart": {"answers": [], "dropped": []},
    "move-coordinator": {"answers": []},
    "delete-topics": {"answers": []},
    "bye": {"ok": True},
}
WRONG_IN_CASE = ("send", "advance", "disconnect", "restart", "move-coordinator", "delete-topics")

SILENT = Plan(
    "SILENCE/every-command",
    "every command of the protocol",
    (),
    Level.MUST,
    (
        Request("r", "a", "Heartbeat", {"group_id": "g", "generation_id": 1, "member_id": "m"}, 0),
        Pause(margins=1),
        Disconnect("a"),
        Failover(),
        MoveCoordinator(),
        DeleteTopics(("own",)),
    ),
)


@dataclass(frozen=True, slots=True)
class Lie:
    """A wrong reply, what happens then, and what must be said of it (a pattern)."""

    reply: str
    said: str
    how: str = "says"


def lies(command: str) -> Iterator[Lie]:
    """Every kind of wrong reply to a command."""
    honest = HONEST[command]
    yield Lie("Welcome to the coordinator!", "is not JSON")
    yield Lie("", "is not JSON")
    yield Lie('{"ok":tr', "is not JSON")
    yield Lie("\\0377\\0376", "is not UTF-8")
    yield Lie('{"version":"\\\\ud800"}', "half of a surrogate pair")
    yield Lie('{"ms":NaN}', "NaN is no JSON value")
    yield Lie("[" * 2000 + "]" * 2000, "nested too deeply")
    for other, kind in (("[]", "an array"), ('"ok"', "a string"), ("7", "a number")):
        yield Lie(other, f"is JSON, but {kind} and not an object")
    yield Lie("null", "is JSON, but null and not an object")
    for key in honest:
        rest = {k: v for k, v in honest.items() if k != key}
        yield Lie(json.dumps(rest), f"'{key}' is a required property")
        yield Lie(json.dumps({**honest, key: {"x": [None]}}), rf"at \$\.{key}|speaks protocol")
    yield Lie(json.dumps({**honest, "surprise": 1}), "'surprise' was unexpected")
    yield Lie('{"unsupported":7}', "not of type 'string'")
    yield Lie('{"error":7}', "not of type 'string'")
    yield Lie('{"error":"disk full","context":{"disk":"sda"}}', "reports an error: disk full")
    line = json.dumps(honest)
    yield Lie(f"{line}\\n{line}", "wrote an unrequested line")
    yield Lie(f"debug\\n{line}", "wrote 'debug', which is not a JSON reply; write nothing else")
    yield Lie("", "exited with code 3 instead of answering", "exits")
    yield Lie(line, "exited with code 3 .*without a newline", "exits")
    yield Lie("", "closed its stdout|did not answer", "closes")
    yield Lie("", "did not answer within", "hangs")
    yield Lie(line, "did not answer within .*without a newline", "hangs")
    yield Lie("", "wrote a line of more than|did not answer", "floods")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for what never comes; the rest has all the time that a busy machine needs."""
    start, ask = LineProcess.start, LineProcess.ask
    silent_at: dict[int, tuple[str, int]] = {}

    async def starting(argv: Sequence[str]) -> LineProcess:
        process = await start(argv)
        if argv[4] in {"closes", "hangs"}:
            silent_at[process.pid] = argv[2], int(argv[3])
        return process

    async def asking(process: LineProcess, line: bytes, within_s: float) -> bytes:
        command, honest = silent_at.get(process.pid, ("", 0))
        if command == json.loads(line)["cmd"]:
            silent_at[process.pid] = command, honest - 1
            within_s = SILENT_S if honest <= 0 else within_s
        return await ask(process, line, within_s)

    monkeypatch.setattr(LineProcess, "start", starting)
    monkeypatch.setattr(LineProcess, "ask", asking)
    monkeypatch.setattr(line_process, "END_S", SILENT_S)


async def told(command: str, lie: Lie, after: int = 0) -> str:
    """What a run with this lie leads to: `69`, or the outcome of its case; and what is said."""
    words = [str(LIAR), command, str(after), lie.how, lie.reply]
    target = ExecTarget(f"sh {shlex.join(words)}", grace_s=60)
    try:
        certificate = await certify(target, KAFKA_4, [as_entry(SILENT)], Options())
    except TargetUnavailableError as error:
        return f"69 {error}"
    finally:
        assert target.pids() == ()
    (result,) = certificate.results
    code = 1 if result.outcome is Outcome.FAIL else 0
    assert certificate.exit_code() in {code, 2}
    return f"{result.outcome.value} {result.message}"


async def all_told(command: str, rows: list[Lie], after: int = 0) -> list[str]:
    return await asyncio.gather(*(told(command, row, after) for row in rows))


def wrong(expected: str, rows: list[Lie], heard: list[str], command: str) -> list[str]:
    """What was heard otherwise than expected."""
    return [
        f"{row}: {said}"
        for row, said in zip(rows, heard, strict=True)
        if not said.startswith(expected)
        or not re.search(row.said, said)
        or command not in said.replace(str(LIAR), "")
        or "Traceback" in said
        or len(said.splitlines()) > 2
    ]


def test_every_command_is_lied_about() -> None:
    assert set(HONEST) == set(COMMANDS)


async def test_without_lies_all_is_well() -> None:
    assert (await told("none", Lie("", ""))).startswith("pass")


@pytest.mark.parametrize("command", ["hello", "reset"])
async def test_who_cannot_begin_is_not_available(command: str) -> None:
    rows = [*lies(command), Lie('{"unsupported":"not today"}', "not today")]

    heard = await all_told(command, rows)

    assert wrong("69 ", rows, heard, command) == []


@pytest.mark.parametrize("command", [*WRONG_IN_CASE, "reset"])
async def test_a_wrong_reply_in_a_case_is_its_failure(command: str) -> None:
    rows = list(lies(command))

    heard = await all_told(command, rows, after=2 if command == "reset" else 0)

    assert wrong("fail the target failed: ", rows, heard, command) == []


@pytest.mark.parametrize("command", WRONG_IN_CASE)
async def test_what_is_unsupported_is_left_out(command: str) -> None:
    heard = await told(command, Lie('{"unsupported":"not today"}', ""))

    assert heard == "unsupported the target lacks not today"


async def test_a_reset_without_settings_cannot_be_refused() -> None:
    refusal = Lie('{"unsupported":"not today"}', "")

    for after, expected in ((0, "69 "), (1, "69 "), (2, "fail ")):
        heard = await told("reset", refusal, after)
        assert heard.startswith(expected)
        assert "every adapter must carry out: not today" in heard


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"group.foo": 1}, "'group.foo' is not one of"),
        ({"group.max.size": 0}, "0 is less than the minimum of 1"),
        ({"group.min.session.timeout.ms": 10**9}, "greater than the maximum of 86400000"),
        ({"group.max.session.timeout.ms": 2**31}, "greater than the maximum of 2147483647"),
    ],
    ids=str,
)
async def test_a_setting_that_nobody_has_is_not_in_force(config: dict[str, int], said: str) -> None:
    reply = {"ok": True, "config": config, "dropped": []}

    heard = await told("reset", Lie(json.dumps(reply), ""))

    assert heard.startswith("69 ")
    assert said in heard


def greeting(**changes: Any) -> str:
    """A target that says hello in another way."""
    reply = json.dumps({**HONEST["hello"], **changes})
    return f"exec:sh {shlex.join([str(LIAR), 'hello', '0', 'says', reply])}"


async def test_of_the_versions_those_count_that_are_known() -> None:
    apis = {"Heartbeat": [3, 99], "JoinGroup": [50, 60], "ElectLeaders": [0, 0]}

    async with ExecTarget(greeting(apis=apis).removeprefix("exec:")) as target:
        assert target.hello().apis == {"Heartbeat": (3, 4)}


@pytest.mark.parametrize(
    ("changes", "command", "code", "said"),
    [
        ({"clock": "real"}, ("certify",), 69, "has a real clock and no JoinGroup"),
        ({}, ("fuzz",), 69, "has no JoinGroup, and plans are drawn of members that join"),
    ],
)
def test_what_a_command_needs_is_told(
    changes: dict[str, Any], command: tuple[str, ...], code: int, said: str
) -> None:
    name, *others = command
    done = invoke(name, greeting(**changes), *others)

    assert (done.code, len(done.err.splitlines())) == (code, 1)
    assert said in done.err


async def test_whatever_is_said_to_bye_is_the_end() -> None:
    rows = [*lies("bye"), Lie('{"unsupported":"not today"}', "")]

    assert [h for h in await all_told("bye", rows) if h != "pass "] == []


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        (("certify", "--case", "HEARTBEAT-GROUP-ABSENT/*"), (69, 69, 1)),
        (("fuzz",), (69, 69)),
        (("compare", "model"), (69, 69)),
    ],
    ids=str,
)
def test_no_command_ends_with_a_traceback(arguments: tuple[str, ...], codes: list[int]) -> None:
    name, *others = arguments
    for after, code in enumerate(codes):
        words = [str(LIAR), "reset", str(after), "says", '{"ok":true,"config":{}}']
        done = invoke(name, f"exec:sh {shlex.join(words)}", *others)
        assert done.code == code
        assert "'dropped' is a required property" in f"{done.out}{done.err}"
        assert len(done.err.splitlines()) == (code == 69)
