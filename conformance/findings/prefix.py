"""Where making a plan smaller begins: its head, with short timeouts.

Decides what is worth a try before anything else.  What came after the deciding answer can't matter,
and where a member that is missing is given up soon, each later run is quick.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fencepost.conformance.execution.outcome import CaseResult
from fencepost.conformance.plans.normalise import asking, with_steps
from fencepost.conformance.plans.plan import Await, Case, Ms, RequestStep

_SHORT = {Ms("rebalance"): Ms("short rebalance"), Ms("formation"): Ms("short rebalance")}
_SHORTER = {**_SHORT, Ms("session"): Ms("short session")}
_TIMEOUTS = {"session_timeout_ms", "rebalance_timeout_ms"}


def beginnings(case: Case, failure: CaseResult) -> list[Case]:
    """Plans that may show the same and are better to begin with, the best first.

    `failure`: of a run of these steps.
    """
    head = _head(case, failure)
    found = [*_hurried(head), head, *_hurried(case)]
    return [plan for n, plan in enumerate(found) if plan != case and plan not in found[:n]]


def _head(case: Case, failure: CaseResult) -> Case:
    """The plan up to the step at whose end what is wrong had been seen, and its answer."""
    violation = failure.verdict.violation if failure.verdict is not None else None
    recording = failure.recording
    if violation is None or recording is None:
        return case
    before = sum(end < violation.at_ms for end in recording.step_ends)
    label = recording.labels[violation.request_id]
    asked = next(n for n, step in enumerate(case.steps) if getattr(step, "label", "") == label)
    head = case.steps[: max(before, asked) + 1]
    if not any(isinstance(step, Await) and label in step.labels for step in head):
        head = (*head, Await((label,)))
    return with_steps(case, head)


def _hurried(case: Case) -> Iterator[Case]:
    for short in (_SHORTER, _SHORT):

        def hurried(ask: RequestStep, short: dict[Ms, Ms] = short) -> RequestStep:
            said = {
                name: short.get(value, value) if name in _TIMEOUTS else value
                for name, value in ask.fields.items()
            }
            return replace(ask, fields=said)

        yield asking(case, hurried)
