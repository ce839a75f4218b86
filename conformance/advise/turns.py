"""Where an advice turns: with which other value of what was said another form loses least."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from fencepost.conformance.advise.known import Form, KnownGroup
from fencepost.conformance.advise.setting_cost import setting_cost

_PROBES = {
    "resume_s": (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0),
    "processing_s": (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0),
    "warmup_s": (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0),
}
"""Values in s at which it is looked: what is hard to know."""
_STEPS = 8
"""Halvings between two of them."""


@dataclass(frozen=True, slots=True)
class Turn:
    """From a value of a fact on, upwards or downwards, `form` loses least, not `instead_of`."""

    name: str
    value: float
    is_upwards: bool
    form: Form
    instead_of: Form


def turns_of(known: KnownGroup, sessions: Mapping[Form, Sequence[float]]) -> tuple[Turn, ...]:
    """The nearest turns by each fact; `sessions`: those that each form may have."""
    if len(sessions) < 2:
        return ()
    found = []
    for name, probes in _PROBES.items():
        least = partial(_least, known, sessions, name)
        now = getattr(known, name)
        ways = (
            [each for each in probes if each > now],
            [each for each in probes if each < now][::-1],
        )
        for is_upwards, way in zip((True, False), ways, strict=True):
            form, same = least(now), now
            for probe in way:
                other = least(probe)
                if other != form:
                    value = _between(least, same, probe, form)
                    found.append(Turn(name, value, is_upwards, least(value), form))
                    break
                same = probe
    return tuple(found)


def _between(least: partial[Form], same: float, other: float, form: Form) -> float:
    """The value at which the form is another one, nearly, on the side of the other one."""
    for _ in range(_STEPS):
        middle = (same + other) / 2
        same, other = (middle, other) if least(middle) == form else (same, middle)
    return other


def _least(
    known: KnownGroup, sessions: Mapping[Form, Sequence[float]], name: str, value: float
) -> Form:
    """Which form loses least with another value; of equals the first."""
    changed = msgspec.structs.replace(known, **{name: value})
    lost = {
        form: min(setting_cost(changed, form, each).lost_s for each in own)
        for form, own in sessions.items()
    }
    return min(lost, key=lambda form: round(lost[form], 3))
