"""Make a scenario shorter, as long as it still shows the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

import msgspec

from fencepost.conformance.cases.clients.scenario import Scenario, Setting, process_of
from fencepost.conformance.cases.clients.scenario_steps import (
    AnyAct,
    Await,
    Close,
    Crash,
    Provoke,
    Settings,
    Settled,
    Start,
)

Shows = Callable[[Scenario], Awaitable[bool]]


def makes_sense(scenario: Scenario) -> bool:
    """Whether everybody who is named runs then, and nobody is started twice."""
    running: dict[str, str] = {}
    for act in scenario.acts:
        match act:
            case Start(consumer=consumer):
                if consumer in running:
                    return False
                running[consumer] = process_of(act)
            case Crash(process=process):
                gone = [name for name, of in running.items() if of == process]
                if not gone:
                    return False
                for name in gone:
                    del running[name]
            case _:
                if not _named(act) <= set(running):
                    return False
                if isinstance(act, Close):
                    del running[act.consumer]
    return any(isinstance(act, Start) for act in scenario.acts)


def _named(act: AnyAct) -> set[str]:
    told = act.until if isinstance(act, Await) else act
    if isinstance(told, Settled):
        return set(told.consumers)
    name = getattr(told, "consumer", None)
    return set() if name is None else {name}


def smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Scenarios that are a bit smaller, those that save most first; not all make sense."""
    names = dict.fromkeys(act.consumer for act in scenario.acts if isinstance(act, Start))
    for name in names:
        yield _without(scenario, name)
    size = len(scenario.acts) // 2
    while size:
        for begin in range(len(scenario.acts) - size, -1, -size):
            yield _with(scenario, scenario.acts[:begin] + scenario.acts[begin + size :])
        size //= 2
    for changed in (
        msgspec.structs.replace(scenario, broker=Setting()),
        msgspec.structs.replace(scenario, assignor=None),
    ):
        if changed != scenario:
            yield changed
    for index, act in enumerate(scenario.acts):
        if (plain := _plainer(act)) != act:
            yield _with(scenario, (*scenario.acts[:index], plain, *scenario.acts[index + 1 :]))


def _with(scenario: Scenario, acts: tuple[AnyAct, ...]) -> Scenario:
    return msgspec.structs.replace(scenario, acts=acts)


def _without(scenario: Scenario, name: str) -> Scenario:
    """It without one of its consumers."""
    kept: list[AnyAct] = []
    for act in scenario.acts:
        if isinstance(act, Await) and isinstance(act.until, Settled):
            rest = tuple(one for one in act.until.consumers if one != name)
            if rest:
                kept.append(msgspec.structs.replace(act, until=Settled(rest)))
        elif name not in _named(act) and not (isinstance(act, Crash) and act.process == name):
            kept.append(act)
    return _with(scenario, tuple(kept))


def _plainer(act: AnyAct) -> AnyAct:
    """An act that asks for less."""
    match act:
        case Start(settings=settings) if settings != Settings():
            return msgspec.structs.replace(act, settings=Settings())
        case Provoke(provocations=provocations):
            once = (msgspec.structs.replace(p, last=msgspec.UNSET) for p in provocations)
            return Provoke(tuple(once))
    return act


async def shortest(scenario: Scenario, shows: Shows, tries: int) -> Scenario:
    """The smallest scenario that was found to show it, with so many runs at most."""
    tried = {scenario}
    while True:
        for candidate in smaller(scenario):
            if candidate in tried or not makes_sense(candidate):
                continue
            if tries <= 0:
                return scenario
            tried.add(candidate)
            tries -= 1
            if await shows(candidate):
                scenario = candidate
                break
        else:
            return scenario
