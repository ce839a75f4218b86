"""Compare two targets: run the same plans on both, and report the shortest on which they differ."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fencepost.conformance.run.certify import Options, opened
from fencepost.conformance.search.compare.compare_search import (
    CompareOptions,
    CompareTally,
    DifferenceSearch,
)
from fencepost.conformance.search.compare.confirm_difference import Confirmed, Examiner
from fencepost.conformance.search.compare.difference_origin import Sources
from fencepost.conformance.search.compare.differential import TargetPair
from fencepost.conformance.targets.target import Target
from fencepost.model.coordinator import Provenance
from fencepost.model.revision import Revision
from fencepost.properties.judging.outcome import EXIT_CODES, Overall


@dataclass(frozen=True, slots=True)
class TargetComparison:
    """The result of a comparison.

    `differences`: the shortest plan first; `unsteady`: differences that were not seen each time;
    `more`: how many kinds of difference were not examined; `unlike_settings`: key → the values of
    both sides.
    """

    one: Provenance
    other: Provenance
    revision: Revision
    is_virtual: bool
    seed: int
    tally: CompareTally
    differences: tuple[Confirmed, ...]
    unsteady: tuple[Confirmed, ...]
    more: int
    unlike_settings: dict[str, tuple[int | None, int | None]]

    def overall(self) -> Overall:
        """Violated if the targets differ, unknown if some plan is undecided, else it holds."""
        if self.differences:
            return Overall.VIOLATED
        return Overall.UNKNOWN if self.unsteady or self.tally.unknown else Overall.HOLDS

    def exit_code(self) -> int:
        """1 if they differ, 2 if that is undecided, else 0."""
        return EXIT_CODES[self.overall()]


@asynccontextmanager
async def _paired(one: Target, other: Target, options: CompareOptions) -> AsyncIterator[TargetPair]:
    run_options = Options(jobs=options.jobs, attempts=1, persists=True)
    async with (
        opened(one, options.revision, run_options) as first,
        opened(other, options.revision, run_options) as second,
    ):
        slower = one if first.hello.clock == "real" else other
        yield TargetPair(first, second, slower.hints)


async def compare(one: Target, other: Target, options: CompareOptions) -> TargetComparison:
    """Run the stages on both targets until one finds a difference.

    Raises TargetUnavailableError.
    """
    async with _paired(one, other, options) as pair:
        sources = Sources(one, other)
        search = DifferenceSearch(pair, options, sources)
        await search.run()
        examined = await Examiner(pair, options.revision, sources).examined(
            search.found, options.kinds
        )
        return TargetComparison(
            one=one.provenance(),
            other=other.provenance(),
            revision=options.revision,
            is_virtual=pair.is_virtual,
            seed=options.seed,
            tally=search.tally,
            differences=tuple(found for found in examined if found.is_steady),
            unsteady=tuple(found for found in examined if not found.is_steady),
            more=len(search.found) - len(examined),
            unlike_settings=pair.unlike_settings(),
        )
