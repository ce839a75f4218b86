"""`exec:` targets against programs that lie: each lie is a clear failure, and nothing is left."""

from __future__ import annotations

import asyncio
import os
import select
import shlex
import subprocess
import sys
from typing import Any

import pytest
from support.places import ROOT, TESTS

from fencepost.conformance.runtime.toolchain.child import PASSWORD
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.stdio import line_process
from fencepost.conformance.targets.stdio.line_process import LineProcess
from fencepost.conformance.targets.stdio.stdio import ExecTarget
from fencepost.model.coordinator import (
    CONFIG_DEFAULTS,
    Answer,
    AsyncCoordinator,
    CoordinatorFailure,
    Dropped,
    Reset,
    Send,
    UnsupportedError,
)
from fencepost.traces.files.bounded import LINE_LIMIT

LIARS = TESTS / "conformance" / "stdio_liars"
TOY = ROOT / "examples" / "toy-coordinator.mjs"
PATIENCE_S = 60.0

pytestmark = pytest.mark.skipif(
    not hasattr(os, "pidfd_open"), reason="needs Linux: whether a process is gone is asked by pidfd"
)


def command(name: str, *arguments: str) -> str:
    return " ".join([sys.executable, "-u", str(LIARS / f"{name}.py"), *arguments])


def heartbeat(request_id: str, version: int = 0) -> Send:
    body = {"groupId": "g", "generationId": 1, "memberId": "m"}
    return Send(request_id, f"c-{request_id}", "app", "Heartbeat", version, body)


def is_gone(pid: int) -> bool:
    """Whether a process has ended, or does so within a while."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        return bool(poll.poll(PATIENCE_S * 1000))
    finally:
        os.close(fd)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ids of all processes that a test's targets start."""
    pids: list[int] = []
    start = LineProcess.start

    async def remembering(argv: list[str]) -> LineProcess:
        process = await start(argv)
        pids.append(process.pid)
        return process

    monkeypatch.setattr(LineProcess, "start", remembering)
    return pids


async def provoke(coordinator: AsyncCoordinator) -> None:
    """All that makes some liar lie."""
    await coordinator.advance(10)
    await coordinator.send(heartbeat("r1"))
    await coordinator.disconnect("c1")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("exits_midway", "exited with code 1 instead of answering"),
        ("wrong_schema", "$.answers"),
        ("goes_back_in_time", "'r1' is answered at 0 ms, but it was 10 ms already"),
        ("runs_ahead", "'r1' is answered at 5000 ms, but its virtual clock was advanced to 10 ms"),
        ("answers_unasked", "'r99' is answered, which was never sent"),
        ("drops_unasked", "'r99' is dropped, which was never sent"),
        ("speaks_twice", "wrote an unrequested line"),
        ("huge_line", f"a line of more than {LINE_LIMIT} bytes"),
        ("huge_reply", f"a line of more than {LINE_LIMIT} bytes"),
        ("closes_stdout", "closed its stdout"),
    ],
)
async def test_a_liar_is_found_out_and_ended(name: str, problem: str, started: list[int]) -> None:
    async with ExecTarget(command(name)) as target:
        async with target.scope("case") as coordinator:
            with pytest.raises(CoordinatorFailure) as caught:
                await provoke(coordinator)
            assert is_gone(started[0])
            with pytest.raises(CoordinatorFailure):
                await coordinator.advance(0)
        assert target.pids() == ()
        async with target.scope("next") as coordinator:
            assert await coordinator.advance(0) == ()

    assert problem in str(caught.value)
    assert f"{name}.py" in str(caught.value)
    assert '"cmd":' in str(caught.value)
    assert "stderr" in str(caught.value)
    assert len(str(caught.value)) < 5000
    assert len(started) == 2
    assert all(is_gone(pid) for pid in started)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 3", "the program exited with code 3 instead of answering."),
        ("kill -TERM $$", "the program was ended by SIGTERM instead of answering."),
        ("kill -KILL $$", "the program was ended by SIGKILL instead of answering."),
        ("echo rubbish; read line", "(char 0)). It was killed. Received: 'rubbish'."),
        (
            "exec >&-; read line",
            "the program closed its stdout instead of answering. It was killed.",
        ),
    ],
)
async def test_how_a_program_ended_is_told_once(
    script: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_process, "END_S", 0.3)
    with pytest.raises(TargetUnavailableError) as caught:
        async with ExecTarget(f"sh -c {shlex.quote(f'read line; {script}')}"):
            pass
    assert f"{said} It wrote nothing on stderr." in str(caught.value)


async def test_an_answer_given_twice_is_found_out(started: list[int]) -> None:
    async with (
        ExecTarget(command("answers_twice")) as target,
        target.scope("case") as coordinator,
    ):
        with pytest.raises(CoordinatorFailure, match="'r1' is answered, which was answered before"):
            await coordinator.send(heartbeat("r1"))

    assert all(is_gone(pid) for pid in started)


async def test_a_program_that_hangs_is_ended(started: list[int]) -> None:
    async with (
        ExecTarget(command("hangs_midway"), grace_s=3) as target,
        target.scope("case") as coordinator,
    ):
        with pytest.raises(CoordinatorFailure, match="did not answer within 3 s"):
            await coordinator.send(heartbeat("r1"))

    assert all(is_gone(pid) for pid in started)


@pytest.mark.parametrize(
    ("name", "grace_s", "problem"),
    [
        ("prints_rubbish", 10, "Welcome to the coordinator!"),
        ("exits_at_once", 10, "no licence file"),
        ("hangs", 1, "did not answer within 1 s"),
        ("wrong_protocol", 10, "speaks protocol 2; this judge speaks 1"),
        ("upside_down", 10, "Heartbeat from version 4 down to 0"),
    ],
)
async def test_a_program_that_does_not_say_hello_is_unavailable(
    name: str, grace_s: float, problem: str, started: list[int]
) -> None:
    with pytest.raises(TargetUnavailableError) as caught:
        await ExecTarget(command(name), grace_s=grace_s).__aenter__()

    assert problem in str(caught.value)
    assert "by hand" in str(caught.value)
    assert is_gone(started[0])


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("/nowhere/adapter --fast", "give its path"),
        (str(LIARS), "give its path"),
        ("python 'unclosed", "Close its quotes"),
        ("  ", "exec:COMMAND"),
    ],
)
async def test_a_program_that_cannot_be_started_is_unavailable(text: str, remedy: str) -> None:
    with pytest.raises(TargetUnavailableError, match=remedy):
        await ExecTarget(text).__aenter__()


async def test_a_flood_of_stderr_blocks_nobody(started: list[int]) -> None:
    async with (
        ExecTarget(command("floods_stderr"), grace_s=PATIENCE_S) as target,
        target.scope("case") as coordinator,
    ):
        assert await coordinator.send(heartbeat("r1")) == (Answer("r1", 0, {"errorCode": 0}),)

    assert all(is_gone(pid) for pid in started)


async def test_an_adapter_that_fails_is_not_used_again(started: list[int]) -> None:
    async with ExecTarget(command("reports_errors")) as target:
        async with target.scope("case") as coordinator:
            with pytest.raises(CoordinatorFailure, match=r'disk full .*"?id"?.*r1'):
                await coordinator.send(heartbeat("r1"))
            assert await coordinator.advance(0) == ()
        async with target.scope("next"):
            assert target.pids() == (started[1],)


async def test_what_is_unsupported_is_no_failure(started: list[int]) -> None:
    async with ExecTarget(command("unsupporting")) as target:
        async with target.scope("case") as coordinator:
            with pytest.raises(UnsupportedError, match="Heartbeat on Sundays"):
                await coordinator.send(heartbeat("r1"))
        async with target.scope("next"):
            assert target.pids() == (started[0],)


async def test_a_body_of_another_shape_is_a_finding() -> None:
    async with (
        ExecTarget(command("strange_body")) as target,
        target.scope("case") as coordinator,
    ):
        (answer,) = await coordinator.send(heartbeat("r1"))

    assert answer.body == {"errorCode": 0}
    assert answer.findings == ("memberId: is a field that version 0 doesn't have",)


async def test_a_request_id_is_used_once() -> None:
    async with ExecTarget(command("honest")) as target, target.scope("case") as coordinator:
        await coordinator.send(heartbeat("r1"))
        with pytest.raises(ValueError, match="'r1' was used before"):
            await coordinator.send(heartbeat("r1"))
        await coordinator.reset({})
        await coordinator.send(heartbeat("r1"))


async def test_a_command_over_the_limit_is_unsupported() -> None:
    big: dict[str, Any] = {"groupId": "g" * LINE_LIMIT}
    async with ExecTarget(command("honest")) as target, target.scope("case") as coordinator:
        with pytest.raises(UnsupportedError, match="the limit is"):
            await coordinator.send(Send("r1", "c1", "app", "Heartbeat", 0, big))
        assert await coordinator.advance(0) == ()


async def test_an_honest_adapter() -> None:
    async with ExecTarget(command("honest")) as target:
        assert target.hello().apis == {"Heartbeat": (0, 4)}
        assert (target.provenance().implementation, target.provenance().version) == ("liar", "1")
        async with target.scope("case") as coordinator:
            assert await coordinator.hello() == target.hello()
            assert await coordinator.reset({"group.max.size": 3}) == Reset(CONFIG_DEFAULTS)
            assert await coordinator.restart() == Dropped((), ())
    with pytest.raises(RuntimeError, match="not open"):
        target.provenance()


async def test_scopes_share_processes_unless_isolated(started: list[int]) -> None:
    async with ExecTarget(command("counts"), jobs=2) as target:
        async with target.scope("a") as a, target.scope("b") as b:
            versions = {(await a.hello()).version, (await b.hello()).version}
        assert len(versions) == 2
        for _ in range(3):
            async with target.scope("again"):
                pass
        assert len(started) == 2
        async with target.scope("alone", isolated=True) as alone:
            assert (await alone.hello()).version not in versions
            assert len(target.pids()) == 2
        assert is_gone(started[2])

    assert all(is_gone(pid) for pid in started)


async def test_a_scope_waits_for_a_process_to_be_free() -> None:
    order: list[str] = []

    async def case(name: str, target: ExecTarget) -> None:
        async with target.scope(name) as coordinator:
            order.append(f"{name} in")
            await coordinator.advance(1)
            order.append(f"{name} out")

    async with ExecTarget(command("honest"), jobs=1) as target:
        await asyncio.gather(case("a", target), case("b", target))

    assert order == ["a in", "a out", "b in", "b out"]


@pytest.mark.parametrize("manner", ["", "stubborn"])
async def test_what_the_program_started_is_ended_too(manner: str, started: list[int]) -> None:
    async with ExecTarget(command("leaves_a_child", manner)) as target:
        child = int(target.hello().version)

    assert is_gone(started[0])
    assert is_gone(child)


async def test_cancelling_leaves_nothing_behind(started: list[int]) -> None:
    asked = asyncio.Event()

    async def work() -> None:
        async with (
            ExecTarget(command("hangs_midway"), grace_s=PATIENCE_S) as target,
            target.scope("case") as coordinator,
            target.scope("other"),
        ):
            asked.set()
            await coordinator.send(heartbeat("r1"))

    task = asyncio.create_task(work())
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert len(started) == 2
    assert all(is_gone(pid) for pid in started)


async def test_a_scope_closed_by_hand_ends_its_process(started: list[int]) -> None:
    async with ExecTarget(command("honest")) as target:
        async with target.scope("case") as coordinator:
            await coordinator.close()
            assert is_gone(started[0])
        async with target.scope("next"):
            assert target.pids() == (started[1],)


JOIN: dict[str, Any] = {
    "groupId": "g",
    "sessionTimeoutMs": 6000,
    "rebalanceTimeoutMs": 6000,
    "memberId": "",
    "groupInstanceId": "A",
    "protocolType": "consumer",
    "protocols": [{"name": "range", "metadata": "AAE="}],
}


@pytest.mark.needs("node")
async def test_the_toy_and_its_two_mistakes(started: list[int]) -> None:
    async with ExecTarget(f"node {TOY}") as target, target.scope("case") as toy:
        with pytest.raises(UnsupportedError, match=r"group\.foo"):
            await toy.reset({"group.foo": 1})
        reset = await toy.reset({"group.initial.rebalance.delay.ms": 300})
        assert reset.config["group.initial.rebalance.delay.ms"] == 300

        assert await toy.send(Send("r1", "c1", "app", "JoinGroup", 5, JOIN)) == ()
        assert await toy.advance(299) == ()
        (joined,) = await toy.advance(1)
        assert joined.body is not None
        member = joined.body["memberId"]
        row = {"memberId": member, "groupInstanceId": "A", "metadata": "AAE="}
        assert joined.at_ms == 300
        assert (joined.body["leader"], joined.body["members"]) == (member, [row])

        sync = {
            "groupId": "g",
            "generationId": 1,
            "memberId": member,
            "groupInstanceId": "A",
            "assignments": [{"memberId": member, "assignment": "AQ=="}],
        }
        (synced,) = await toy.send(Send("r2", "c1", "app", "SyncGroup", 3, sync))
        assert synced.body == {"errorCode": 0, "assignment": "AQ=="}

        (again,) = await toy.send(Send("r3", "c2", "app", "JoinGroup", 5, JOIN))
        assert again.body is not None
        assert again.body["memberId"] == member, "mistake (a)"

        wrong = {"groupId": "g", "members": [{"memberId": "zombie", "groupInstanceId": "A"}]}
        (left,) = await toy.send(Send("r4", "c3", "app", "LeaveGroup", 3, wrong))
        assert left.body is not None
        assert left.body["members"][0]["errorCode"] == 0, "mistake (b)"
        assert [a.findings for a in (joined, synced, again, left)] == [()] * 4

    assert all(is_gone(pid) for pid in started)


_PARENT = """
import asyncio, sys
from fencepost.conformance.targets.stdio.line_process import LineProcess

async def start():
    process = await LineProcess.start(sys.argv[1:])
    print((await process.ask(b"", 60)).decode(), flush=True)
    await asyncio.sleep(600)

asyncio.run(start())
"""


def test_a_mute_program_ends_with_us_whatever_ended_us() -> None:
    """It reads nothing more, and so sees no end of its input."""
    mute = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    argv = [sys.executable, "-c", _PARENT, sys.executable, "-c", mute]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    assert is_gone(pid)


async def test_a_program_gets_no_secrets_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD, "s3cret")
    text = f"import os; input(); print({PASSWORD!r} in os.environ, flush=True); input()"
    process = await LineProcess.start([sys.executable, "-c", text])
    assert await process.ask(b"", 60) == b"False"
    await process.kill()


async def test_a_program_that_there_is_not_is_named_at_once() -> None:
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        await LineProcess.start(["no-such-program"])
