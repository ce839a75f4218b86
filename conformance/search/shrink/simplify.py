"""Smaller plans: shorter waits, lower versions, and requests with fewer or usual values.

Simple is the lowest version that has the fields, the value that a correct client sends, and no
value where none is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.shapes import wire_fields
from fencepost.model.plans.normalise import asking, put
from fencepost.model.plans.plan import Case, Ms, Pause, ProtocolOf, RequestStep
from fencepost.model.plans.plan_order import (
    DELAY,
    PROTOCOLS,
    WAITS,
    Versions,
    rank,
    usual,
    version_of,
)

_PROTOCOL_SINCE = 5


def shorter_waits(case: Case, apis: Versions) -> Iterator[Case]:
    """A pause with fewer or shorter times."""
    del apis
    for place, step in enumerate(case.steps):
        if not isinstance(step, Pause):
            continue
        for at, time in enumerate(step.times):
            around = step.times[:at], step.times[at + 1 :]
            yield put(case, place, replace(step, times=(*around[0], *around[1])))
            for name in WAITS[: rank(time) - 1]:
                yield put(case, place, replace(step, times=(*around[0], Ms(name), *around[1])))
        for margins in range(step.margins):
            yield put(case, place, replace(step, margins=margins))


def no_delay(case: Case, apis: Versions) -> Iterator[Case]:
    """Without an initial delay, where the case sets one."""
    del apis
    if case.needs.config.get(DELAY):
        config = {**case.needs.config, DELAY: 0}
        yield replace(case, needs=replace(case.needs, config=config))


def lower_versions(case: Case, apis: Versions) -> Iterator[Case]:
    """All requests of an API in a lower version, the lowest first; then each by itself."""
    asked = {step.api: step for step in case.steps if isinstance(step, RequestStep)}
    for api in asked:
        low, high = apis.get(api, (0, 0))
        for version in range(low, high):
            yield asking(case, partial(_lowered, api=api, version=version, apis=apis))
    for place, step in enumerate(case.steps):
        if isinstance(step, RequestStep):
            for version in range(apis.get(step.api, (0, 0))[0], version_of(step, apis)):
                if _can_say(step, version):
                    yield put(case, place, replace(step, version=version, at_most=None))


def fitted(case: Case, apis: Versions) -> Case:
    """The case in versions that the target has, where a lower one can express the same.

    A sync may lose its protocol: it repeats it only so that the coordinator can check it.
    """

    def low_enough(ask: RequestStep) -> RequestStep:
        if ask.api not in apis:
            return ask
        if ask.api == "SyncGroup" and apis[ask.api][1] < _PROTOCOL_SINCE:
            said = {k: v for k, v in ask.fields.items() if not k.startswith("protocol_")}
            ask = replace(ask, fields=said)
        return _lowered(ask, ask.api, apis[ask.api][1], apis)

    return asking(case, low_enough)


def _lowered(ask: RequestStep, api: str, version: int, apis: Versions) -> RequestStep:
    if ask.api != api or version_of(ask, apis) <= version or not _can_say(ask, version):
        return ask
    return replace(ask, version=version, at_most=None)


def _can_say(ask: RequestStep, version: int) -> bool:
    """Whether a version has the fields of a request; a leave may be written in another form."""
    forms = dict(wire_fields(ALL_APIS[ask.api].request))
    return ask.api == "LeaveGroup" or all(
        forms[name].carried_by(version) or isinstance(value, ProtocolOf)
        for name, value in ask.fields.items()
    )


def plain_bodies(case: Case, apis: Versions) -> Iterator[Case]:
    """What a correct client sends, in all requests, then in one; then requests that say less."""
    del apis
    yield asking(case, _as_usual)
    for place, step in enumerate(case.steps):
        if isinstance(step, RequestStep):
            yield put(case, place, _as_usual(step))
    for place, step in enumerate(case.steps):
        if isinstance(step, RequestStep):
            for said in _plainer(step):
                yield put(case, place, replace(step, fields=said))
    yield asking(case, _offering_nothing)


def _plainer(ask: RequestStep) -> Iterator[dict[str, Any]]:
    says = usual(ask)
    kind = dict(wire_fields(ALL_APIS[ask.api].request))
    for name, value in ask.fields.items():
        if name == "protocols":
            bare = tuple(msgspec.structs.replace(offered, metadata=b"") for offered in value)
            shorter = [PROTOCOLS, bare, *((offered,) for offered in value), value[:-1]]
            yield from ({**ask.fields, name: said} for said in shorter if said)
            continue
        if name in says:
            yield {**ask.fields, name: says[name]}
        elif kind[name].default is not msgspec.NODEFAULT and name != "group_instance_id":
            yield {key: said for key, said in ask.fields.items() if key != name}
        if isinstance(value, tuple) and len(value) > 1:
            for at in range(len(value)):
                yield {**ask.fields, name: (*value[:at], *value[at + 1 :])}


def _as_usual(ask: RequestStep) -> RequestStep:
    says = usual(ask)
    return replace(ask, fields={name: says.get(name, said) for name, said in ask.fields.items()})


def _offering_nothing(ask: RequestStep) -> RequestStep:
    if "protocols" not in ask.fields:
        return ask
    return replace(ask, fields={**ask.fields, "protocols": PROTOCOLS})
