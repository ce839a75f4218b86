"""Where an advice turns: with which other value of what was said another form is advised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from fencepost.conformance.advise.known_facts import Form, KnownGroup

_PROBES = {
    "resume_s": (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0),
    "processing_s": (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0),
    "warmup_s": (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0),
}
"""Values in s at which it is looked: what is hard to know."""
_STEPS = 7
"""Halvings between two of them."""


@dataclass(frozen=True, slots=True)
class Turn:
    """From a value of a fact on, upwards or downwards, `form` is advised, not `instead_of`."""

    name: str
    value: float
    is_upwards: bool
    form: Form
    instead_of: Form


def turns_of(known: KnownGroup, advised: Callable[[KnownGroup], Form]) -> tuple[Turn, ...]:
    """The nearest turns by each fact; `advised`: the form that a group is advised."""
    if len(known.forms) < 2:
        return ()
    form = advised(known)
    found = []
    for name, probes in _PROBES.items():

        def form_at(value: float, name: str = name) -> Form:
            return advised(msgspec.structs.replace(known, **{name: value}))

        now = getattr(known, name)
        ways = (
            [each for each in probes if each > now],
            [each for each in probes if each < now][::-1],
        )
        for is_upwards, way in zip((True, False), ways, strict=True):
            same = now
            for probe in way:
                if form_at(probe) != form:
                    value = _between(form_at, same, probe, form)
                    found.append(Turn(name, value, is_upwards, form_at(value), form))
                    break
                same = probe
    return tuple(found)


def _between(form_at: Callable[[float], Form], same: float, other: float, form: Form) -> float:
    """The value at which the form is another one, nearly, on the side of the other one."""
    for _ in range(_STEPS):
        middle = (same + other) / 2
        same, other = (middle, other) if form_at(middle) == form else (same, middle)
    return other
