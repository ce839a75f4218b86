"""Each server of a target is watched by a control of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from support.real_clock import QUICK, RealClockModel, RealClockTarget
from support.virtual_clock import at_once

from fencepost.conformance.run.controls import Controls
from fencepost.model.coordinator import AsyncCoordinator


class Server:
    """A place; `late_ms`: how late it is."""

    def __init__(self, late_ms: int = 0, *, is_brief: bool = False) -> None:
        self.late_ms = late_ms
        self.is_brief = is_brief
        self.outages: list[tuple[float, float]] = []
        self.open: list[str] = []

    @asynccontextmanager
    async def scope(self, label: str) -> AsyncIterator[AsyncCoordinator]:
        self.open.append(label)
        yield OnServer(self)
        self.open.remove(label)


class OnServer(RealClockModel):
    def __init__(self, place: Server) -> None:
        super().__init__(late_ms=place.late_ms)
        self.place = place


class Servers(RealClockTarget):
    """A target whose scopes are on the first server."""

    def __init__(self, first: Server) -> None:
        super().__init__()
        self.first = first

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        del isolated, restarts
        async with self.first.scope(label) as scope:
            yield scope


async def controls(stack: AsyncExitStack) -> Controls:
    return Controls(await RealClockModel().hello(), QUICK, stack)


@at_once
async def test_the_server_that_a_case_runs_on_is_measured() -> None:
    quick, slow = Server(), Server(late_ms=400)
    async with AsyncExitStack() as stack:
        watch = await controls(stack)
        first = await watch.first(Servers(quick))
        assert quick.open == ["control", "control timers"]
        async with watch.beside(OnServer(quick), first) as same:
            assert same is first
        async with watch.beside(OnServer(slow), first) as other:
            assert first.lag_ms == 300
            assert 3 * 400 <= other.lag_ms <= 3 * 410
            again = watch.beside(OnServer(slow), first)
            assert await stack.enter_async_context(again) is other
        assert slow.open == ["control", "control timers"]  # until all is over
    assert quick.open == slow.open == []


@at_once
async def test_a_server_that_a_case_has_alone_is_watched_meanwhile() -> None:
    async with AsyncExitStack() as stack:
        watch = await controls(stack)
        first = await watch.first(Servers(Server()))
        own = Server(is_brief=True)
        async with watch.beside(OnServer(own), first) as watched:
            assert watched.meter is not first.meter
            assert await watched.meter.recovers(5)
        assert own.open == []


@at_once
async def test_an_outage_on_purpose_is_known() -> None:
    place = Server()
    async with AsyncExitStack() as stack:
        watched = await (await controls(stack)).first(Servers(place))
        place.outages.append((0, float("inf")))
        assert watched.meter.outages == place.outages


@at_once
async def test_a_target_that_has_no_places_has_one_control() -> None:
    async with AsyncExitStack() as stack:
        watch = await controls(stack)
        first = await watch.first(RealClockTarget())
        async with watch.beside(RealClockModel(), first) as watched:
            assert watched is first
