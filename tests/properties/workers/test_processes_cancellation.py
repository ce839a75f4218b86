"""Work that is cut off ends; what is not goes on."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.properties.workers.processes import Stop


async def forever(ended: list[str]) -> str:
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        ended.append("ended")
    return "never"


async def at_once() -> str:
    return "done"


async def fails() -> str:
    raise ValueError("no")


async def test_what_ends_by_itself_returns() -> None:
    stop = Stop()
    assert await stop.cut(at_once()) == "done"
    with pytest.raises(ValueError, match="no"):
        await stop.cut(fails())
    assert not stop.requested


async def test_what_goes_on_is_cancelled() -> None:
    stop, ended = Stop(), list[str]()
    cutting = asyncio.create_task(stop.cut(forever(ended)))
    await asyncio.sleep(0)
    assert not cutting.done()
    stop.ask()
    assert await cutting is None
    assert ended == ["ended"]


async def test_after_that_nothing_begins() -> None:
    stop, ended = Stop(), list[str]()
    stop.ask()
    stop.ask()
    assert await stop.cut(forever(ended)) is None
    assert ended == []
    await stop.wait()


def test_one_of_them_serves_several_event_loops() -> None:
    stop = Stop()
    for _ in range(2):
        assert asyncio.run(stop.cut(at_once())) == "done"
