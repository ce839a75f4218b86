"""What a control saw, made up: meters for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fencepost.conformance.runtime.lag_meter import LagMeter, Samples, TimerRound


def meter_of(
    samples: Sequence[float] = (0.01,),
    fired: Sequence[bool] = (True,),
    *,
    at: float = 10.5,
    began: float = 5,
    ended: float = 25,
    **changes: Any,
) -> LagMeter:
    """A control that was answered every 50 ms; `samples` and rounds of its timers ended `at`."""
    said: dict[str, Any] = {
        "samples": Samples((at, seconds) for seconds in samples),
        "answered": [began + number * 0.05 for number in range(int((ended - began) * 20) + 1)],
        "rounds": [TimerRound(at - 6, at, timer) for timer in fired],
    }
    return LagMeter(**{**said, **changes})
