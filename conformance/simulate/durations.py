"""Durations of a scenario: a number of seconds, or a distribution that one is drawn from."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from statistics import NormalDist
from typing import Annotated

import msgspec

_P95 = NormalDist().inv_cdf(0.95)


class Spread(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A distribution of seconds, in one of three forms.

    `least`, `most`: anything between is equally likely.  `median`, `p95`: log-normal, of which one
    in twenty is longer than `p95`.  `values`: each is equally likely, such as those from a log.

    Raises ValueError (msgspec.ValidationError when read) for what can't be.
    """

    least: float | None = None
    most: float | None = None
    median: float | None = None
    p95: float | None = None
    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check that it has one form."""
        given = {name for name in self.__struct_fields__ if getattr(self, name) not in {None, ()}}
        if given not in ({"least", "most"}, {"median", "p95"}, {"values"}):
            raise ValueError(
                "a duration is a number of seconds, {least = 2, most = 8}, {median = 5, p95 = 20} "
                "or {values = [4, 5, 9]}"
            )
        numbers = [*_numbers(self)]
        if not all(0 <= number < math.inf for number in numbers):
            raise ValueError(f"seconds can't be {min(numbers)}: give 0 or more")
        if self.values == () and numbers != sorted(numbers):
            raise ValueError(f"{numbers[0]} is more than {numbers[1]}: give the smaller one first")
        if self.median == 0:
            raise ValueError("`median` can't be 0: give a little more")


Duration = Annotated[float, msgspec.Meta(ge=0, le=10_000_000)] | Spread
"""Seconds, or what they are drawn from."""


def _numbers(spread: Spread) -> Iterator[float]:
    for number in (spread.least, spread.most, spread.median, spread.p95, *spread.values):
        if number is not None:
            yield number


def longest_s(duration: Duration) -> float:
    """The longest that is likely, in seconds: the upper end, or the 95th percentile."""
    return max(_numbers(duration)) if isinstance(duration, Spread) else duration


def draw_ms(duration: Duration, of: str) -> int:
    """Draw ms; the same text `of` what they are draws the same."""
    if not isinstance(duration, Spread):
        return round(duration * 1000)
    source = random.Random(of)  # noqa: S311  (no secret)
    if duration.values:
        seconds = source.choice(duration.values)
    elif duration.median is not None and duration.p95 is not None:
        sigma = math.log(duration.p95 / duration.median) / _P95
        seconds = source.lognormvariate(math.log(duration.median), sigma)
    else:
        seconds = source.uniform(duration.least or 0.0, duration.most or 0.0)
    return round(seconds * 1000)


def quantiles_s(duration: Duration, count: int) -> list[float]:
    """So many durations in seconds that stand for all, each for an equal part of them."""
    if not isinstance(duration, Spread):
        return [duration]
    if duration.values:
        return sorted(duration.values)
    parts = [(number + 0.5) / count for number in range(count)]
    if duration.median is not None and duration.p95 is not None:
        sigma = math.log(duration.p95 / duration.median) / _P95
        return [duration.median * math.exp(sigma * NormalDist().inv_cdf(part)) for part in parts]
    least, most = duration.least or 0.0, duration.most or 0.0
    return [least + (most - least) * part for part in parts]
