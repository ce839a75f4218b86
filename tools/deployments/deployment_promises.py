"""Compare promises of KIP-345 and of an article about deployments with simulated and real runs.

The claims are data, `claims.toml`, in our own words and with their sections.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.resources import files

import msgspec

from tools.deployments.simulated_and_real import (
    CASES_BY_NAME,
    LATER,
    CaseResult,
    Range,
    range_of,
    simulated,
)


class Verdict(Enum):
    """The result of a claim."""

    HOLDS = "holds"
    NOT_ALWAYS = "not always"
    FAILS = "not so"
    UNKNOWN = "not run"


@dataclass(frozen=True, slots=True)
class Pooled:
    """All results of a case, of any broker and library."""

    results: tuple[CaseResult, ...]

    def simulated(self, figure: str) -> Range | None:
        """Return the range of a figure over all simulations."""
        spans = [result.simulated.get(figure, (None, None)) for result in self.results]
        return range_of([end for span in spans for end in span])

    @property
    def runs(self) -> int:
        """Number of real runs."""
        return sum(len(result.real) for result in self.results)

    def real(self, figure: str) -> Range | None:
        """Return the range of a figure over all real runs."""
        ranges = [result.happened(figure) for result in self.results]
        if figure in LATER:
            ranges = [result for result in ranges if result is not None]
        return range_of([end for result in ranges for end in result or (None, None)])


def pooled(results: Sequence[CaseResult], case: str) -> Pooled:
    """Return the results of a case."""
    return Pooled(tuple(result for result in results if result.case == case))


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A promise about a figure of a case.

    `promised`: in words; `within`: the promised values of the figure; `at_most`: another figure of
    the same run that it may not exceed.  `why`: the reason for a difference, or a remark, under a
    `title`.
    """

    says: str
    source: str
    case: str
    figure: str
    promised: str
    within: Range = (0, float("inf"))
    at_most: str | None = None
    title: str = ""
    why: str = ""

    def verdict(self, pool: Pooled) -> Verdict:
        """Compare the promise with the real runs."""
        real = pool.real(self.figure)
        if real is None:
            return Verdict.UNKNOWN
        low, high = self.within
        if self.at_most is not None and not all(
            getattr(run, self.figure) <= getattr(run, self.at_most)
            for result in pool.results
            for run in result.real
        ):
            return Verdict.FAILS
        if low <= real[0] and real[1] <= high:
            return Verdict.HOLDS
        return Verdict.FAILS if real[0] > high or real[1] < low else Verdict.NOT_ALWAYS


def simulated_only(results: Sequence[CaseResult]) -> dict[str, dict[str, Range]]:
    """Return the simulated figures of each case that has claims but no real runs yet."""
    performed = {result.case for result in results}
    cases = {claim.case: CASES_BY_NAME[claim.case] for claim in all_claims()}
    return {name: simulated(case.at(), ()) for name, case in cases.items() if name not in performed}


def all_claims() -> list[Claim]:
    """Return the claims, in the order of the table."""
    document = files(__package__ or "").joinpath("claims.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(document)["claim"], list[Claim])
