"""`mock`: librdkafka's mock cluster, from the wheel of confluent-kafka.

It is started in a child process, since some input makes it abort; the child cannot outlive this
process.  The mock does not report its settings: they are listed here.

What librdkafka 2.16 was found to do, asked over TCP:

- The initial rebalance delay is 3,000 ms and can't be set; every join is parked by it, those too
  that Kafka refuses at once (session timeout 0, unknown member id, empty group id).
- Any session timeout is taken; one under 3,000 ms expires in the delay, and its join is never
  answered, hence the least session of 4,000 ms here.
- The first generation is 2.  A join of a group that has run is parked for the session timeout less
  1,000 ms, though all members have joined again; a heartbeat at its start still answers NONE.
- It speaks JoinGroup 0-5, SyncGroup 0-3, Heartbeat 0-4, LeaveGroup 0-2, OffsetCommit 0-9 and
  OffsetFetch 0-6.  It advertises JoinGroup 6 and SyncGroup 4 and closes the connection at them;
  LeaveGroup 3 and 4 and answers them with bytes that end too early.  ApiVersions 3 gets an
  unreadable answer.  SyncGroup's assignment is null beside an error, which no version allows.
- In the consumer protocol it speaks ConsumerGroupHeartbeat 1 alone.  A group's session is 30 s, its
  heartbeat interval 3 s.  It aborts on a new member with an empty id, with a null expression or
  without topics, and on any epoch below -2.
- It has no DescribeGroups, ListGroups, DescribeConfigs, CreateTopics, DeleteTopics or DeleteGroups;
  a topic is made when it is asked about.  Everything is gone with the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from fencepost.conformance.runtime.toolchain.child import child_environment, how_it_ended
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.brokers.started import (
    FIRST,
    BrokerPlace,
    BrokerVariant,
    StartedTarget,
)
from fencepost.conformance.targets.target import Hints, ScopeNeeds
from fencepost.conformance.targets.tcp.cluster_admin import DEADLINES, Deadlines
from fencepost.conformance.targets.tcp.tcp import TcpTarget
from fencepost.model.consumer.settings import HEARTBEAT_INTERVAL, SESSION_TIMEOUT
from fencepost.model.history.words import plural
from fencepost.traces.files.bounded import pip_install

SETTINGS: Mapping[str, int | None] = {
    "group.initial.rebalance.delay.ms": 3000,
    "group.min.session.timeout.ms": 4000,
    "group.max.session.timeout.ms": 1_800_000,
    "group.max.size": None,
    SESSION_TIMEOUT: 30_000,
    HEARTBEAT_INTERVAL: 3000,
}
"""The mock's behaviour, in Kafka's settings; see above."""

_HIGHEST = {"JoinGroup": 5, "SyncGroup": 3, "LeaveGroup": 2}
_START_S = 15.0
_END_S = 3.0


@asynccontextmanager
async def mock_server(
    start_s: float = _START_S, on_death: Callable[[str], object] = str
) -> AsyncIterator[tuple[str, str, int]]:
    """Yield a mock in a child process: its address, librdkafka's version, its process id.

    It has ended when the context has.  `on_death`: gets the words for how it ended if it was gone
    before that.  Raises TargetUnavailableError.
    """
    if importlib.util.find_spec("confluent_kafka") is None:
        raise TargetUnavailableError(f"The mock needs confluent-kafka: {pip_install('mock')}")
    with tempfile.TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # what lies in the current folder is not ours
            "-m",
            "fencepost.conformance.targets.brokers.mock_server",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            env=child_environment(),
        )
        try:
            line = await _first_line(process, start_s)
            if line is None:
                log.seek(0)
                last = log.read().decode(errors="replace").strip().splitlines()[-1:]
                code = process.returncode
                how = (
                    f"did not start within {start_s:g} s"
                    if code is None
                    else f"{how_it_ended(code)} while it started"
                )
                raise TargetUnavailableError(f"The mock {how}: {' '.join(last) or 'no output'}")
            address, _, version = line.partition(" ")
            yield address, version, process.pid
        finally:
            code = await _end(process)
            if code:
                on_death(how_it_ended(code))


def _leave_out(target: TcpTarget) -> None:
    """Mark versions that are known to close the connection as broken, also if a delay hides it."""
    for api, highest in _HIGHEST.items():
        low, high = target.working.get(api, (0, 0))
        if high > highest:
            target.working[api] = (low, highest)
            why = "It is known to end the connection or to send unreadable bytes; it kept silent."
            for version in range(highest + 1, high + 1):
                target.broken.setdefault(api, {})[version] = why


async def _first_line(process: asyncio.subprocess.Process, start_s: float) -> str | None:
    if process.stdout is None:
        return None
    try:
        async with asyncio.timeout(start_s):
            line = await process.stdout.readuntil()
    except (TimeoutError, asyncio.LimitOverrunError):
        return None
    except asyncio.IncompleteReadError:  # it is about to exit
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                await process.wait()
        return None
    return line.decode().strip() or None


async def _end(process: asyncio.subprocess.Process) -> int:
    """Ask it to end, then make it end; return its own exit code, 0 where it was made to end."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(_END_S):
            return await process.wait()
    except (TimeoutError, asyncio.CancelledError) as error:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        if isinstance(error, asyncio.CancelledError):
            raise
        return 0


class MockTarget(StartedTarget):
    """The mock cluster; a scope that asks for it gets a mock of its own."""

    hints = Hints(session_ms=7000, patience_ms=8000, tick_ms=1000)
    """A rebalance lasts for the session timeout less a second, so that must be short; the mock
    looks for expired sessions once a second."""
    settable: frozenset[str] = frozenset()
    fragile = True

    def __init__(self, deadlines: Deadlines = DEADLINES, *, capacity: int = 8) -> None:
        super().__init__("mock", None, None, capacity, deadlines)
        self._deaths: dict[str, set[str]] = {}

    @property
    def settings(self) -> dict[str, int | None]:
        """The settings in force."""
        return self.tcp.settings

    @property
    def broken(self) -> dict[str, dict[int, str]]:
        """Versions that are advertised but broken: API → version → reason."""
        return self.tcp.broken

    @property
    def remarks(self) -> tuple[str, ...]:
        """Say which cases a mock of their own did not survive."""
        return tuple(
            f"the process of the mock {how} in {plural(len(cases), 'case')}, each on a mock of its "
            f"own: {', '.join(sorted(cases))}"
            for how, cases in sorted(self._deaths.items())
        )

    async def start_broker(self, place: BrokerPlace) -> TcpTarget:
        """Start a mock; the first one's versions are tried."""

        def note(how: str) -> None:
            if place.case:
                self._deaths.setdefault(how, set()).add(place.case)

        server = mock_server(on_death=note)
        address, version, _ = await place.stack.enter_async_context(server)
        tcp = await self.connected(
            place, address, settings=SETTINGS, implementation="librdkafka-mock", version=version
        )
        if place.working is None:
            _leave_out(tcp)
        return tcp

    def _kind(self, needed: ScopeNeeds) -> BrokerVariant:
        del needed
        return FIRST
