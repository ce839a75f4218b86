"""The adapter side of adapter protocol 1, before a coordinator that says what it is told to."""

from __future__ import annotations

import io
import json
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fencepost.conformance.serve.adapter import serve
from fencepost.conformance.targets.stdio.protocol_schemas import check_command, check_reply
from fencepost.model.coordinator import (
    CONFIG_DEFAULTS,
    MOVES,
    Answer,
    Config,
    Coordinator,
    CoordinatorFailure,
    Dropped,
    Hello,
    Reset,
    Send,
    Topics,
    UnsupportedError,
)
from fencepost.model.plans.steps import DeleteTopics, OperatorStep
from fencepost.traces.files.bounded import LINE_LIMIT

LINES = Path(__file__).with_name("adapter-protocol-1.transcript").read_text(encoding="utf-8")
COMMANDS = [line.removeprefix("→ ") for line in LINES.splitlines() if line.startswith("→ ")]
REPLIES = [json.loads(line[2:]) for line in LINES.splitlines() if line.startswith("← ")]
JOINED = REPLIES[3]["answers"][0]["body"]
JOIN = json.loads(COMMANDS[2])
HEARTBEAT = {"groupId": "g", "generationId": 1, "memberId": "m"}


class Scripted(Coordinator):
    """Says what its script says for the next `send`, `advance`, `disconnect` or `restart`."""

    def __init__(
        self,
        *script: Sequence[Answer] | Dropped | Exception,
        features: frozenset[str] = frozenset(),
    ) -> None:
        self.script = deque(script)
        self.features = features
        self.sent: list[Send] = []
        self.deleted: list[tuple[str, ...]] = []
        self.resets: list[Config] = []
        self.closed = 0

    def hello(self) -> Hello:
        apis = {"JoinGroup": (0, 9), "SyncGroup": (0, 5), "Heartbeat": (0, 4)}
        return Hello("toy", "0", "virtual", apis, self.features)

    def reset(self, config: Config, topics: Topics | None = None) -> Reset:
        self.resets.append(config)
        return Reset({**CONFIG_DEFAULTS, **config}, topics=topics or {})

    def send(self, request: Send) -> Sequence[Answer]:
        self.sent.append(request)
        return self._answers()

    def advance(self, ms: int) -> Sequence[Answer]:  # noqa: ARG002 - the script knows
        return self._answers()

    def disconnect(self, connection: str) -> Dropped:  # noqa: ARG002 - the script knows
        return self._dropped()

    def restart(self) -> Dropped:
        return self._dropped()

    def move(self) -> Dropped:
        return self._dropped()

    def operate(self, step: OperatorStep) -> Sequence[Answer]:
        assert isinstance(step, DeleteTopics)
        self.deleted.append(step.topics)
        return self._answers()

    def close(self) -> None:
        self.closed += 1

    def _next(self) -> Sequence[Answer] | Dropped:
        said = self.script.popleft() if self.script else ()
        if isinstance(said, Exception):
            raise said
        return said

    def _answers(self) -> Sequence[Answer]:
        said = self._next()
        assert not isinstance(said, Dropped)
        return said

    def _dropped(self) -> Dropped:
        said = self._next()
        assert isinstance(said, Dropped)
        return said


def converse(
    coordinator: Coordinator, *lines: str | bytes | dict[str, Any]
) -> list[dict[str, Any]]:
    """The replies to some lines; the input ends after them."""

    def raw(line: str | bytes | dict[str, Any]) -> bytes:
        text = json.dumps(line) if isinstance(line, dict) else line
        return text if isinstance(text, bytes) else text.encode()

    replies = io.BytesIO()
    assert serve(coordinator, io.BytesIO(b"".join(raw(x) + b"\n" for x in lines)), replies) == 0
    return [json.loads(line) for line in replies.getvalue().splitlines()]


def heartbeat(request_id: str, connection: str = "c1", **changes: Any) -> dict[str, Any]:
    return {
        "cmd": "send",
        "id": request_id,
        "connection": connection,
        "clientId": "app",
        "api": "Heartbeat",
        "version": 0,
        "body": HEARTBEAT,
        **changes,
    }


def test_the_transcript_of_the_protocol() -> None:
    coordinator = Scripted((), (Answer("r1", 0, JOINED),))

    replies = converse(coordinator, *COMMANDS)

    assert replies == REPLIES
    assert coordinator.sent == [Send("r1", "c1", "app", "JoinGroup", 5, JOIN["body"])]
    assert coordinator.closed == 1


def test_the_transcript_keeps_the_schemas() -> None:
    for command, reply in zip(COMMANDS, REPLIES, strict=True):
        check_reply(check_command(json.loads(command)), reply)


class Flushes(io.BytesIO):
    """Remembers how many lines had been written at each flush."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[int] = []

    def flush(self) -> None:
        self.lines.append(self.getvalue().count(b"\n"))


def test_each_reply_is_flushed() -> None:
    replies = Flushes()

    serve(Scripted(), io.BytesIO(b'{"cmd":"advance","ms":1}\n{"cmd":"bye"}\n'), replies)

    assert replies.lines[:2] == [1, 2]


def test_nothing_is_read_after_bye() -> None:
    assert converse(Scripted(), {"cmd": "bye"}, {"cmd": "bye"}) == [{"ok": True}]


def test_a_judge_that_is_gone_is_the_end_of_input() -> None:
    class Gone(io.BytesIO):
        def flush(self) -> None:
            raise BrokenPipeError

    coordinator = Scripted()

    assert serve(coordinator, io.BytesIO(b'{"cmd":"hello","protocol":1}\n'), Gone()) == 0
    assert coordinator.closed == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "not JSON"),
        ("nonsense", "not JSON"),
        (b"\xff", "not UTF-8"),
        ("[1]", "an array and not an object"),
        ('{"cmd":"advance","ms":NaN}', "NaN"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("{}", "None"),
        ('{"cmd":"dance"}', "dance"),
        ('{"cmd":["hello"]}', "hello"),
        ('{"cmd":"hello"}', "protocol"),
        ('{"cmd":"advance","ms":-1}', "$.ms"),
        ('{"cmd":"advance","ms":1,"s":1}', "'s' was unexpected"),
        ('{"cmd":"reset","config":{"group.max.size":0}}', "$.config"),
        ('{"cmd":"send","id":"r1"}', "required"),
        (b"x" * (LINE_LIMIT + 1), f"more than {LINE_LIMIT} bytes"),
        (b"x" * (3 * LINE_LIMIT), f"more than {LINE_LIMIT} bytes"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_bad_line_is_answered_error_and_the_next_is_read(line: str | bytes, problem: str) -> None:
    bad, good = converse(Scripted(), line, {"cmd": "advance", "ms": 1})

    assert problem in bad["error"]
    assert isinstance(bad["context"], dict)
    assert good == {"answers": []}


def test_a_line_of_exactly_the_limit_is_read() -> None:
    line = b'{"cmd":"advance","ms":1}'

    assert converse(Scripted(), line.ljust(LINE_LIMIT)) == [{"answers": []}]


def test_a_last_line_without_its_newline_is_read() -> None:
    replies = io.BytesIO()

    serve(Scripted(), io.BytesIO(b'{"cmd":"bye"}'), replies)

    assert json.loads(replies.getvalue()) == {"ok": True}


def test_another_protocol_is_unsupported() -> None:
    (reply,) = converse(Scripted(), {"cmd": "hello", "protocol": 2})

    assert reply == {"unsupported": "protocol 2; this adapter speaks 1"}


def test_an_unknown_setting_is_unsupported_and_nothing_is_reset() -> None:
    coordinator = Scripted()

    replies = converse(
        coordinator,
        heartbeat("r1"),
        {"cmd": "reset", "config": {"group.max.size": 3, "group.foo": "x"}},
        heartbeat("r1", "c2"),
    )

    assert replies[1] == {"unsupported": "group.foo"}
    assert coordinator.resets == []
    assert "used before" in replies[2]["error"]


def test_a_request_id_is_used_once_also_after_its_answer() -> None:
    coordinator = Scripted((Answer("r1", 0, {"errorCode": 0}),))

    _, again = converse(coordinator, heartbeat("r1"), heartbeat("r1"))

    assert "'r1' was used before" in again["error"]
    assert again["context"]["id"] == "r1"
    assert len(coordinator.sent) == 1


def test_a_connection_has_one_open_request() -> None:
    coordinator = Scripted((), (Answer("r1", 5, {"errorCode": 0}),))

    _, refused, _, accepted = converse(
        coordinator,
        heartbeat("r1"),
        heartbeat("r2"),
        {"cmd": "advance", "ms": 5},
        heartbeat("r3"),
    )

    assert "'c1' still waits for the answer to 'r1'" in refused["error"]
    assert refused["context"]["open"] == "r1"
    assert accepted == {"answers": []}


def test_a_reset_frees_ids_and_connections() -> None:
    replies = converse(Scripted(), heartbeat("r1"), {"cmd": "reset", "config": {}}, heartbeat("r1"))

    assert replies[2] == {"answers": []}


@pytest.mark.parametrize("feature", ["disconnect", "restart"])
def test_a_feature_is_there_when_hello_lists_it(feature: str) -> None:
    command = {"cmd": feature} | ({"connection": "c1"} if feature == "disconnect" else {})
    outcome = Dropped((Answer("r2", 3, None),), ("r1",))
    able = Scripted((), outcome, features=frozenset({feature}))

    assert converse(Scripted(), command) == [{"unsupported": feature}]
    _, done, free = converse(able, heartbeat("r1"), command, heartbeat("r3"))
    assert done == {"answers": [{"id": "r2", "at_ms": 3, "closed": True}], "dropped": ["r1"]}
    assert free == {"answers": []}


def test_a_coordinator_moves_where_hello_lists_it() -> None:
    command = {"cmd": "move-coordinator"}
    able = Scripted((), Dropped((Answer("r1", 3, None),), ()), features=frozenset({MOVES}))

    assert converse(Scripted(), command) == [{"unsupported": "move-coordinator"}]
    _, done = converse(able, heartbeat("r1"), command)
    assert done == {"answers": [{"id": "r1", "at_ms": 3, "closed": True}]}


def test_topics_are_deleted_where_hello_lists_it() -> None:
    command = {"cmd": "delete-topics", "topics": ["own"]}
    able = Scripted((), (Answer("r1", 3, None),), features=frozenset({"delete-topics"}))

    assert converse(Scripted(), command) == [{"unsupported": "delete-topics"}]
    _, done = converse(able, heartbeat("r1"), command)
    assert done == {"answers": [{"id": "r1", "at_ms": 3, "closed": True}]}
    assert able.deleted == [("own",)]


@pytest.mark.parametrize(
    ("api", "version"), [("JoinGroup", 10), ("OffsetCommit", 8), ("LeaveGroup/two-list", 3)]
)
def test_what_hello_does_not_advertise_is_unsupported(api: str, version: int) -> None:
    (reply,) = converse(Scripted(), heartbeat("r1", api=api, version=version))

    assert reply == {"unsupported": f"{api} version {version}"}


def test_a_body_that_its_version_cannot_have_is_refused() -> None:
    coordinator = Scripted()

    (reply,) = converse(coordinator, heartbeat("r1", body={**HEARTBEAT, "groupInstanceId": "A"}))

    assert reply["context"]["path"] == "groupInstanceId"
    assert coordinator.sent == []


@pytest.mark.parametrize(
    ("raised", "key", "text"),
    [
        (UnsupportedError("no such thing"), "unsupported", "no such thing"),
        (CoordinatorFailure("it hung"), "error", "it hung"),
        (KeyError("a bug"), "error", "KeyError"),
    ],
)
def test_what_the_coordinator_raises_is_a_reply(raised: Exception, key: str, text: str) -> None:
    first, second = converse(
        Scripted(raised), {"cmd": "advance", "ms": 1}, {"cmd": "advance", "ms": 2}
    )

    assert text in first[key]
    assert second == {"answers": []}


def breaks_by_time() -> Answer:
    return Answer("r1", -1, {"errorCode": 0})


def breaks_by_size() -> Answer:
    return Answer("r1", 0, {"errorCode": 0, "x": "x" * LINE_LIMIT})


@pytest.mark.parametrize("broken", [breaks_by_time, breaks_by_size])
def test_a_reply_that_breaks_the_protocol_is_not_sent(broken: Callable[[], Answer]) -> None:
    (reply,) = converse(Scripted((broken(),)), heartbeat("r1"))

    assert set(reply) == {"error", "context"}
