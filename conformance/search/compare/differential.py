"""Run the same plans on two open targets.

Plans use only the API versions and features that both targets have, under settings that both can
have.  If one target can choose its settings, it takes those of the other; if both can, the case
chooses.  Each side is judged by the same revision, by itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.run.certify import OpenTarget
from fencepost.conformance.run.runner import unmet_need
from fencepost.conformance.run.set_ups import usual_way
from fencepost.conformance.search.fuzz.plans_by_protocol import plans_of
from fencepost.conformance.search.shrink.shrink_plan import AT_ONCE, fitted
from fencepost.conformance.targets.target import Hints
from fencepost.model.coordinator import Hello
from fencepost.model.history.events import Sent
from fencepost.model.plans.plan_order import DELAY, Versions
from fencepost.model.plans.steps import Plan
from fencepost.properties.judging.outcome import CaseResult, Outcome

_DELAY_MS = 3000


@dataclass(frozen=True, slots=True)
class Both:
    """One plan, run on both targets."""

    case: Plan
    left: CaseResult
    right: CaseResult

    @property
    def results(self) -> tuple[CaseResult, CaseResult]:
        """Both results, in order."""
        return self.left, self.right

    @property
    def lacks(self) -> str | None:
        """Name what one of them lacks for the plan."""
        for result in self.results:
            if result.outcome is Outcome.UNSUPPORTED:
                return result.message.removeprefix("the target lacks ")
        return None

    @property
    def requests(self) -> int:
        """Count the requests to the side that was sent more."""
        return max(
            0 if r.recording is None else sum(isinstance(e, Sent) for e in r.recording.history)
            for r in self.results
        )


class TargetPair:
    """Two open targets as one, with the versions and features that both have.

    `hints`: how to send requests to the one with a real clock.
    """

    def __init__(self, left: OpenTarget, right: OpenTarget, hints: Hints) -> None:
        self.suites = (left, right)
        self.hints = hints
        self.apis: Versions = _common(left.hello, right.hello)
        features = left.hello.features & right.hello.features
        broken = {
            api: left.hello.broken.get(api, frozenset()) | right.hello.broken.get(api, frozenset())
            for api in self.apis
        }
        for suite in self.suites:
            suite.hello = replace(
                suite.hello, apis=dict(self.apis), features=features, broken=broken
            )

    @property
    def is_virtual(self) -> bool:
        """Tell if both clocks are virtual, so that every run gives the same result."""
        return all(suite.hello.clock == "virtual" for suite in self.suites)

    @property
    def at_once(self) -> int:
        """Count the plans that are best run side by side."""
        places = [suite.places for suite in self.suites if suite.hello.clock == "real"]
        return min(AT_ONCE, *places) if places else 1

    @property
    def settings(self) -> Mapping[str, int | None]:
        """The settings of a target that can't choose them, if there is one."""
        for suite in self.suites:
            if not suite.chooses_settings:
                return dict(suite.config)
        return {}

    def choices(self) -> list[Mapping[str, int | None]]:
        """List settings under which a plan that names none can be run."""
        if not any(suite.chooses_settings for suite in self.suites):
            return [{}]
        if fixed := self.settings:
            return [fixed]
        plans = plans_of(self.suites[0].revision)
        return [*(plans.pair_settings if self.is_virtual else plans.real_pair_settings)]

    def unlike_settings(self) -> dict[str, tuple[int | None, int | None]]:
        """Find settings that differ between two targets of which neither can choose them."""
        left, right = self.suites
        if left.chooses_settings or right.chooses_settings:
            return {}
        keys = sorted({*left.config, *right.config})
        values = {key: (left.config.get(key), right.config.get(key)) for key in keys}
        return {key: pair for key, pair in values.items() if pair[0] != pair[1]}

    def written(self, entry: Entry) -> tuple[Plan | None, str]:
        """Write the case of an entry for both targets, or None and the lack."""
        fixed = self.settings
        delayed = bool(fixed.get(DELAY)) if fixed else bool(entry.delayed)
        if entry.delayed is not None and entry.delayed is not delayed:
            return None, DELAY
        case = entry.case({}, delayed=delayed, way=usual_way(self.apis))
        needs = structs.replace(case.needs, config=self._config_of(entry, case, delayed=delayed))
        case = self.fitted(structs.replace(case, rules=(), needs=needs))
        config = fixed or case.needs.config
        for suite in self.suites:
            if (lacks := unmet_need(case, suite.hello, config)) is not None:
                return None, lacks
        return case, ""

    def fitted(self, case: Plan) -> Plan:
        """Write the case in versions that both have, as far as those can express it."""
        return fitted(case, self.apis)

    def _config_of(self, entry: Entry, case: Plan, *, delayed: bool) -> Mapping[str, int | None]:
        if not any(suite.chooses_settings for suite in self.suites):
            return case.needs.config
        chosen = self.settings or {DELAY: _DELAY_MS if delayed else 0, **entry.settings}
        return {**chosen, **case.needs.config}

    def is_near(self, case: Plan) -> bool:
        """Tell if both can run a plan without starting another coordinator."""
        return self.is_virtual or not (case.restarts or any(self._lacking(case)))

    def _lacking(self, case: Plan) -> Iterator[str]:
        """Yield settings that the first coordinator of a target doesn't have."""
        for suite in self.suites:
            if suite.hello.clock == "real":
                for key, value in case.needs.config.items():
                    if suite.config.get(key) != value:
                        yield key

    def ending_early(self) -> TargetPair:
        """Make both targets end a plan at its first wrong answer."""
        left, right = (
            suite.with_options(replace(suite.options, persists=False, eager=True))
            for suite in self.suites
        )
        return TargetPair(left, right, self.hints)

    async def run(self, cases: Sequence[Plan]) -> list[Both]:
        """Run the plans on both targets, once each, side by side on a real clock."""
        left, right = await asyncio.gather(*(suite.try_cases(cases) for suite in self.suites))
        return [Both(*row) for row in zip(cases, left, right, strict=True)]

    async def each(
        self,
        cases: Sequence[Plan],
        is_enough: Callable[[Both], bool],
        until: Callable[[], float | None],
    ) -> None:
        """Run the plans on both targets, side by side, and pass on each result when both are done.

        The runs that are under way are given up as soon as `is_enough`, or at `until`, which is
        asked each time and is a time of `time.monotonic`.
        """
        await asyncio.gather(*(suite.prepare(cases) for suite in self.suites))
        running = [asyncio.create_task(self._both(case)) for case in cases]
        left = set(running)
        try:
            while left:
                end = until()
                patience = None if end is None else max(0.0, end - time.monotonic())
                done, left = await asyncio.wait(
                    left, timeout=patience, return_when=asyncio.FIRST_COMPLETED
                )
                ended = [task.result() for task in running if task in done]
                enough = [is_enough(both) for both in ended]
                if not ended or any(enough):
                    return
        finally:
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def _both(self, case: Plan) -> Both:
        async with asyncio.TaskGroup() as group:
            left, right = (group.create_task(s.try_case(case)) for s in self.suites)
        return Both(case, left.result(), right.result())


def _common(left: Hello, right: Hello) -> Versions:
    """Find the versions that both have."""
    versions = {}
    for api in sorted(left.apis.keys() & right.apis.keys()):
        low = max(left.apis[api][0], right.apis[api][0])
        high = min(left.apis[api][1], right.apis[api][1])
        if low <= high:
            versions[api] = (low, high)
    return versions
