"""Processes of drivers: those that are done with a scenario are used again by another.

To start a virtual machine takes longer than most scenarios.  Only a process whose consumers have
all been closed well is used again.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Self

from fencepost.conformance.clients.driver import Driver
from fencepost.conformance.clients.driver_programs import Client

_SIDE_BY_SIDE = 4
"""So many processes are started at once: a virtual machine keeps a processor busy."""


class DriverPool:
    """Drivers of one client, while it is open (`async with`)."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._idle: list[Driver] = []
        self._stacks: dict[int, AsyncExitStack] = {}

    async def __aenter__(self) -> Self:
        """Nothing is started yet."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """End all processes."""
        for stack in list(self._stacks.values()):
            await stack.aclose()
        self._stacks.clear()

    async def take(self) -> Driver:
        """A driver that runs no consumer.  Raises TargetUnavailableError."""
        if self._idle:
            return self._idle.pop()
        stack = AsyncExitStack()
        driver = await stack.enter_async_context(Driver.start(self._client))
        self._stacks[id(driver)] = stack
        return driver

    async def warm(self, count: int) -> None:
        """Have so many drivers that run no consumer.  Raises TargetUnavailableError."""
        drivers: list[Driver] = []
        try:
            while len(drivers) < count:
                some = min(count - len(drivers), _SIDE_BY_SIDE)
                drivers += await asyncio.gather(*(self.take() for _ in range(some)))
        finally:
            for driver in drivers:
                await self.give_back(driver, clean=True)

    async def give_back(self, driver: Driver, *, clean: bool) -> None:
        """Take a driver back; one that isn't clean is ended."""
        if clean and driver.fault is None:
            driver.events.clear()
            self._idle.append(driver)
        elif (stack := self._stacks.pop(id(driver), None)) is not None:
            await stack.aclose()
