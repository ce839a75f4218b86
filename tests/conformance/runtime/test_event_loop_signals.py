"""Whatever ends a run against a broker of somebody else: nothing of ours is left there."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from support.command import PATIENCE_S, RUN
from support.tcp.left_behind import IGNORING, MINE, certify, end, on, started

QUICK = ("group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=100")
BUSY = 20
"""So many groups, and the run is in its midst."""


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """The address of a broker that goes on after the run."""
    settings = [word for setting in QUICK for word in ("--set", setting)]
    command = [sys.executable, "-c", RUN, "serve", "model", "--json", *settings]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["address"].removeprefix("tcp://")
        finally:
            process.terminate()


async def in_its_midst(address: str, process: subprocess.Popen[str]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while len(await on([address])) < BUSY:
            assert process.poll() is None, process.communicate()
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("number", "how"),
    [(signal.SIGINT, MINE), (signal.SIGTERM, MINE), (signal.SIGTERM, IGNORING)],
    ids=["ctrl-c", "sigterm", "sigterm-in-the-background"],
)
async def test_nothing_is_left_on_the_broker(served: str, number: int, how: str) -> None:
    process = certify(served, how=how)
    await in_its_midst(served, process)
    code, err = end(process, number)
    assert (code, err.strip()) == (130, "interrupted")
    assert await on([served]) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
@pytest.mark.parametrize("jobs", ["1", "2"])
async def test_a_search_that_is_ended_tells_what_it_has(
    served: str, number: int, jobs: str
) -> None:
    words = ["fuzz", f"tcp://{served}", "--minutes", "10", "--jobs", jobs]
    process = started(*words, how=MINE)
    await in_its_midst(served, process)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert "\nstopped early\n" in out
    assert out.endswith("no violation found\n")
    assert await on([served]) == []


async def test_what_is_left_would_be_seen(served: str) -> None:
    process = certify(served)
    await in_its_midst(served, process)
    end(process, signal.SIGKILL)
    assert len(await on([served])) >= BUSY
