"""Brokers that are started here: who shares one, and who has one in turns."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.brokers.started import BrokerPlace, StartedTarget, until_ready
from fencepost.conformance.targets.target import ScopeNeeds
from fencepost.model.coordinator import METADATA_LIMIT, RECORD_LIMIT


class Broker:
    def __init__(self) -> None:
        self.settings: dict[str, int | None] = {}
        self.consumer_settings: dict[str, int | None] = {}
        self.working: dict[str, tuple[int, int]] = {}

    @asynccontextmanager
    async def scope(self, label: str, *, restarts: bool) -> AsyncIterator[str]:
        del restarts
        yield label


class Started(StartedTarget):
    settable = frozenset({METADATA_LIMIT, RECORD_LIMIT})

    async def start_broker(self, place: BrokerPlace) -> Any:
        del place
        return Broker()


@pytest.mark.parametrize(
    ("setting", "at_once"), [(RECORD_LIMIT, ["one"]), (METADATA_LIMIT, ["one", "two"])]
)
async def test_where_records_may_be_too_large_cases_have_the_broker_in_turns(
    setting: str, at_once: list[str]
) -> None:
    entered: list[str] = []
    end = asyncio.Event()

    async def case(target: Started, label: str) -> None:
        async with target.scope_with(label, ScopeNeeds(settings={setting: 2000})):
            entered.append(label)
            await end.wait()

    async with Started("toy", None, None, 2) as target:
        await target.prepare([ScopeNeeds(settings={setting: 2000})])
        cases = [asyncio.create_task(case(target, label)) for label in ("one", "two")]
        for _ in range(10):
            await asyncio.sleep(0)
        assert entered == at_once
        end.set()
        await asyncio.gather(*cases)
    assert entered == ["one", "two"]


@pytest.mark.parametrize(("load", "seconds"), [(0.1, "0.1"), (1, "0.1"), (2, "0.2"), (50, "0.4")])
async def test_on_a_busy_machine_a_start_may_take_longer(
    monkeypatch: pytest.MonkeyPatch, load: float, seconds: str
) -> None:
    running = load * (os.cpu_count() or 1)
    monkeypatch.setattr(os, "getloadavg", lambda: (running, 0.0, 0.0))

    async def ask() -> None:
        raise ConnectionRefusedError

    child: Any = SimpleNamespace(ended=False)
    with pytest.raises(TargetUnavailableError, match=f"toy was not ready within {seconds} s: "):
        await until_ready(child, ask, "toy", 0.1)
