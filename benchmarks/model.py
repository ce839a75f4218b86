"""Measure the speed of the pure model, and its memory.

The figures are requests handled per second by `Machine.handle` along a realistic run of a group
(joins, syncs, mostly heartbeats, restarts, leaves), and memory for 10,000 live groups of three
members.  Figures can only be compared with others of the same run, so another Python model can walk
the same way beside ours.
"""

from __future__ import annotations

import gc
import importlib.util
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fencepost.model.classic.group import Group
from fencepost.model.machine import Machine
from fencepost.model.messages.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinProtocol,
    SyncAssignment,
    SyncGroupRequest,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.work import Incoming, Span

_CONFIG = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 1}
_HEARTBEATS = 24
_INSTANCES = ("a", "b", "c")
_GROUPS = 10_000


class _GroupRun:
    """One group through its phases; counts the requests it handled."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.group: Group | None = None
        self.requests = 0
        self.now = 0

    def ask(self, api: str, version: int, message: Message) -> None:
        self.requests += 1
        request_id = str(self.requests)
        incoming = Incoming(request_id, "bench", api, version, message, f"m-{request_id}")
        span = Span(self.now, self.now)
        self.group = self.machine.handle(self.group, incoming, span)[0].group

    def expire_join(self) -> None:
        assert self.group is not None
        timer = next(t for t in self.group.timers if t.kind == "join")
        self.group = self.machine.expire(self.group, timer, Span(self.now, self.now))[0].group

    def join(self, instance: str, member_id: str = "") -> None:
        protocols = (JoinProtocol(name="range", metadata=b"subscription"),)
        message = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=60_000,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type="consumer",
            protocols=protocols,
        )
        self.ask("JoinGroup", 9, message)

    def holder(self, instance: str) -> str:
        assert self.group is not None
        return self.group.holder(instance) or ""

    def form(self) -> None:
        """Form a Stable group of three static members."""
        for instance in _INSTANCES:
            self.join(instance)
        self.expire_join()
        for instance in reversed(_INSTANCES):
            self.sync(instance)

    def sync(self, instance: str) -> None:
        assert self.group is not None
        assignments = tuple(
            SyncAssignment(member_id=m.member_id, assignment=b"partitions")
            for m in self.group.members
        )
        message = SyncGroupRequest(
            **self.member(instance),
            protocol_type="consumer",
            protocol_name="range",
            assignments=assignments,
        )
        self.ask("SyncGroup", 5, message)

    def beat(self, instance: str) -> None:
        self.ask("Heartbeat", 4, HeartbeatRequest(**self.member(instance)))

    def member(self, instance: str) -> dict[str, Any]:
        assert self.group is not None
        return {
            "group_id": "g",
            "generation_id": self.group.generation_id,
            "member_id": self.holder(instance),
            "group_instance_id": instance,
        }

    def live(self) -> None:
        """Send heartbeats before and after a restart, let the leader rejoin, begin a generation."""
        for _ in range(_HEARTBEATS):
            self.now += 3000
            for instance in _INSTANCES:
                self.beat(instance)
        self.join("b")
        self.sync("b")
        self.join("a", self.holder("a"))
        for instance in ("b", "c"):
            self.beat(instance)
            self.join(instance, self.holder(instance))
        for instance in ("c", "b", "a"):
            self.sync(instance)


def model_figures(seconds: float) -> dict[str, Any]:
    """Return requests per second of the pure model, and bytes for 10,000 live groups."""
    machine = Machine(KAFKA_4, _CONFIG)
    run = _GroupRun(machine)
    run.form()
    run.live()
    handled, elapsed = _repeat(run, seconds)
    return {
        "requests_per_second": round(handled / elapsed),
        "requests": handled,
        "seconds": round(elapsed, 3),
        "bytes_per_10000_groups": _memory(machine),
    }


def _repeat(run: _GroupRun, seconds: float) -> tuple[int, float]:
    before = run.requests
    begun = time.perf_counter()
    while (elapsed := time.perf_counter() - begun) < seconds:
        run.live()
    return run.requests - before, elapsed


def _memory(machine: Machine) -> int:
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    groups = list(_stable_groups(machine))
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(groups) == _GROUPS
    return after - before


def _stable_groups(machine: Machine) -> Iterator[Group | None]:
    for _ in range(_GROUPS):
        run = _GroupRun(machine)
        run.form()
        yield run.group


def walk_beside(path: Path, seconds: float) -> dict[str, Any]:
    """Return steps per second of the random walk in another model's file, in this same run.

    The file has `CFGS`, `Model` and `walk(model, seconds)` as kip345_small.py.  Raises ValueError
    for a file that has not.
    """
    spec = importlib.util.spec_from_file_location("fencepost_bench_beside", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is no Python file; name a kip345_small.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not all(hasattr(module, name) for name in ("CFGS", "Model", "walk")):
        raise ValueError(f"{path} has no CFGS, Model and walk; name a kip345_small.py")
    walk: Callable[[Any, float], tuple[int, int, float]] = module.walk
    steps, distinct, elapsed = walk(module.Model(*module.CFGS["E"]), seconds)
    return {
        "file": path.name,
        "steps_per_second": round(steps / elapsed),
        "distinct_states": distinct,
    }
