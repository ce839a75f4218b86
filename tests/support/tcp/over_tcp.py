"""Cases against a model that is served on a port, beside the same cases in this process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache

from support.command import RUN
from support.runs import KAFKA_4

from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.cases.suites import find_suite
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.targets.in_process import (
    InProcessCoordinator,
    InProcessTarget,
    ModelCoordinator,
)
from fencepost.conformance.targets.model_coordinator import Choose, RunningModel, first
from fencepost.conformance.targets.target_registry import SIDE_BY_SIDE
from fencepost.conformance.targets.tcp.tcp import TcpTarget
from fencepost.model.coordinator import MOVES, AsyncCoordinator, Config, Reset, Topics
from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions
from fencepost.model.work import Outcome as Done
from fencepost.properties.departures.known_departures import DEPARTURES, departed
from fencepost.properties.judging.outcome import CaseResult, Outcome

Settings = Mapping[str, int]
Results = dict[str, CaseResult]

START_S = 60.0
END_S = 20.0
DELAYED: Settings = {"group.initial.rebalance.delay.ms": 3000}
"""Kafka's own settings: an initial delay is extended within the members' R, so that must be longer
than it, and R follows the least session."""
AT_ONCE: Settings = {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 100,
}

WITH_A_DELAY = frozenset({"no-initial-delay"})
"""On a real clock, a delay of 0 ms can't be told from none."""


@cache
def catalogue() -> dict[str, Entry]:
    """All cases, by id."""
    return {entry.id: entry for entry in find_suite("catalogue", KAFKA_4).entries}


def settings_for(case: str) -> Settings | None:
    """What a server must be started with for this case; None if it would have to be restarted."""
    entry = catalogue()[case]
    if not entry.needs.features.isdisjoint({"restart", MOVES}):
        return None
    wanted = {k: v for k, v in entry.needs.config.items() if v is not None}
    return {**(DELAYED if entry.delayed else AT_ONCE), **wanted}


def by_settings(cases: Iterable[str] | None = None) -> dict[str, tuple[Settings, list[str]]]:
    """The cases (all, if none are given) that one server can be asked; those for most come first.

    By what the settings are called.
    """
    found: dict[str, tuple[Settings, list[str]]] = {}
    for case in cases or catalogue():
        settings = settings_for(case)
        if settings is not None:
            name = ", ".join(f"{key}={value}" for key, value in sorted(settings.items()))
            found.setdefault(name, (settings, []))[1].append(case)
    return dict(sorted(found.items(), key=lambda item: -len(item[1][1])))


SERVE_DEPARTURE = f"""
from fencepost.conformance.cli import serve
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.departures.known_departures import departed
from fencepost.properties.departures.known_departures import DEPARTURES
serve.find_coordinator = lambda name: departed(KAFKA_4, [DEPARTURES[name.partition(":")[2]]])
{RUN}
"""
"""`fencepost serve departure:NAME`, for tests alone."""


def revision_of(name: str) -> Revision:
    """`model`, `mutant:NAME` or `departure:NAME`."""
    kind, _, rest = name.partition(":")
    if kind == "departure":
        return departed(KAFKA_4, [DEPARTURES[rest]])
    return revisions.find("kafka-4" if name == "model" else name)


@asynccontextmanager
async def serving(name: str, settings: Settings = AT_ONCE, *options: str) -> AsyncIterator[str]:
    """`fencepost serve NAME` in a process of its own: its address.  It must end well."""
    said = [f"{key}={value}" for key, value in settings.items()]
    given = [word for setting in said for word in ("--set", setting)]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", SERVE_DEPARTURE if name.startswith("departure:") else RUN),
        *("serve", name, "--json", *given, *options),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_S):
            line = await process.stdout.readline()
        yield json.loads(line)["address"]
        process.terminate()
        async with asyncio.timeout(END_S):
            assert await process.wait() == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def over_tcp(
    address: str | TcpTarget, cases: Iterable[str], options: Options | None = None
) -> Results:
    """These cases against a broker, by id."""
    target = address
    if isinstance(target, str):
        target = TcpTarget(target, capacity=SIDE_BY_SIDE)
    entries = [catalogue()[case] for case in cases]
    certificate = await certify(target, KAFKA_4, entries, options or Options())
    return {result.case.id: result for result in certificate.results}


async def served(name: str, cases: Iterable[str], settings: Settings = AT_ONCE) -> Results:
    """These cases against `fencepost serve NAME`."""
    async with serving(name, settings) as address:
        return await over_tcp(address, cases)


def last(outcomes: Sequence[Done]) -> Done:
    """The last of what the model may do: another choice than `first` wherever there is one."""
    return outcomes[-1]


class _Settled(ModelCoordinator):
    """A model whose settings nobody can change, as a broker's."""

    def __init__(self, revision: Revision, settings: Settings, choose: Choose) -> None:
        super().__init__(revision)
        self._settings, self._choose = settings, choose

    def reset(self, config: Config, topics: Topics | None = None) -> Reset:
        del config, topics
        done = super().reset(self._settings)
        self._running = RunningModel(self._running.machine, choose=self._choose)
        return done


class SettledTarget(InProcessTarget):
    """`model`, a mutant or a departure in this process, with these settings."""

    def __init__(self, name: str, settings: Settings, choose: Choose = first) -> None:
        self._settled = revision_of(name), settings, choose
        super().__init__(name, self._settled[0], "0")

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        del label, isolated, restarts
        yield InProcessCoordinator(_Settled(*self._settled))


def in_process(
    name: str, settings: Settings, cases: Iterable[str], choose: Choose = first
) -> dict[str, Outcome]:
    """The same with `model` or a mutant in this process."""
    entries = [catalogue()[case] for case in cases]
    target = SettledTarget(name, settings, choose)
    certificate = asyncio.run(certify(target, KAFKA_4, entries, Options()))
    return {result.case.id: result.outcome for result in certificate.results}


def whatever_is_chosen(name: str, settings: Settings, cases: Iterable[str]) -> dict[str, Outcome]:
    """Of these cases those that end alike, whichever outcome is taken where there is a choice.

    A served model draws: a leader, or one of two protocols with as many votes.  Where that decides
    whether a fault shows, nobody can say beforehand how the case ends.
    """
    here = in_process(name, settings, cases, first)
    other = in_process(name, settings, here, last)
    return {case: outcome for case, outcome in here.items() if other[case] is outcome}


def failed(results: Results) -> dict[str, str]:
    """What failed, and the sentence for it."""
    return {c: r.message for c, r in results.items() if r.outcome is Outcome.FAIL}


def killers(name: str) -> tuple[Settings, dict[str, Outcome]] | None:
    """The settings with which it can be killed, and how all cases end with them in process."""
    for settings, cases in by_settings().values():
        if name.removeprefix("mutant:") in WITH_A_DELAY and settings != DELAYED:
            continue
        here = in_process(name, settings, cases)
        if Outcome.FAIL in here.values():
            return settings, here
    return None
