"""A driver made with `drivers/user.py`, of a toy library in place of a real one.

Each poll gives one record, until the topic `fenced` is subscribed: then it raises.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any, ClassVar

from fencepost.conformance.clients.drivers.driver_user import User, drive


class FencedError(Exception):
    """As kafka-python's errors: it knows Kafka's name."""

    message = "FENCED_INSTANCE_ID"
    retriable = False


class BusyError(FencedError):
    message = "REBALANCE_IN_PROGRESS"
    retriable = True


class Toy(User):
    introduction: ClassVar[dict[str, Any]] = {
        "client": "toy",
        "version": "1",
        "features": [],
        "assignors": ["range"],
    }

    async def start(self, told: dict[str, Any]) -> None:
        if told["group"] == "refused":
            raise BusyError("not now")
        self._consumer = told["topics"]
        self.offset = 0
        print("what a library prints is none of ours")  # noqa: T201  (on purpose)

    async def poll(self) -> None:
        time.sleep(0.001)  # noqa: ASYNC251  (a library that blocks)
        self.offset += 1
        match self._consumer:
            case ["fenced"]:
                raise FencedError("another has it")
            case ["busy"]:
                self._consumer = ["t"]
                raise BusyError("soon")
            case ["slow"]:
                self.tell_records("slow", 0, [self.offset])
                await self._wait()
            case _:
                self.tell_records("t", 0, [self.offset])

    async def _wait(self) -> None:
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            logging.getLogger("toy").warning("a poll was cancelled")
            raise

    async def commit(self) -> None:
        logging.getLogger("toy").warning("committing %d", self.offset)

    async def subscribe(self, topics: list[str]) -> None:
        self._consumer = topics

    async def unsubscribe(self) -> None:
        time.sleep(3600)  # noqa: ASYNC251  (a library that hangs)

    async def close(self, timeout_ms: int) -> None:
        if timeout_ms == 1:
            raise BusyError("there is no time")


if __name__ == "__main__":
    drive(Toy)
