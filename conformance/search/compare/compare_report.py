"""Report a comparison: the steps, what either side answered, and which side the model agrees with.

A step that both answer in the same way has one line for its answer; where they differ, each side
has a line of its own, and the first difference is marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import field, to_builtins

from fencepost.conformance.search.compare.compare import (
    EXAMINE_S,
    DifferenceFinding,
    TargetComparison,
)
from fencepost.conformance.search.compare.compare_search import CompareTally
from fencepost.conformance.search.compare.difference import (
    Known,
    Origin,
    RequestOutcome,
    Taken,
    TargetDifference,
)
from fencepost.model.history.words import at_most, plural, request_words
from fencepost.model.plans.steps import Await, Request, Settle, describe
from fencepost.properties.judging.outcome import CaseResult
from fencepost.properties.judging.report import Overall
from fencepost.traces.files.document_schema import Document

_MARK = "   ← they differ"
_STEP = re.compile(r" \(step \d+(?:, answered in \d+)?\)")
_LONGEST_LIST = 3
_LONGEST_NAME = 25


class StepRow(Document, frozen=True, rename={"text": "step", "left": "one", "right": "other"}):
    """A numbered step: what is done, and what either side answered ("" where nothing is)."""

    number: int
    text: str
    left: str = ""
    right: str = ""
    is_first: bool = field(default=False, name="differs")


def steps_of(difference: TargetDifference) -> list[StepRow]:
    """List the steps of the plan, but for its waits for answers."""
    steps = difference.both.case.steps
    numbers = [n for n, s in enumerate(steps, 1) if not isinstance(s, Await | Settle)]
    places = {number: place for place, number in enumerate(numbers, 1)}
    lines = []
    for number in numbers:
        step = steps[number - 1]
        if not isinstance(step, Request):
            lines.append(StepRow(places[number], describe(step) + _lasting(difference, number)))
            continue
        outcomes = (difference.left.get(number), difference.right.get(number))
        left, right = (_answer(o, number, places) for o in outcomes)
        first = number == difference.number
        if first and left == right:
            left, right = (
                f"{words} ({detail})"
                for words, detail in zip((left, right), _details(*outcomes), strict=True)
            )
        lines.append(
            StepRow(places[number], _request(difference, number, step), left, right, first)
        )
    return lines


def _lasting(difference: TargetDifference, number: int) -> str:
    """Measure a step in words; only on virtual clocks, where it is the same each time."""
    recordings = [result.recording for result in difference.both.results]
    if any(r is None or r.clock != "virtual" or len(r.step_ends) < number for r in recordings):
        return ""
    ends = [0, *(recordings[0].step_ends if recordings[0] is not None else ())]
    lasted = ends[number] - ends[number - 1]
    return f" ({lasted} ms)" if lasted else ""


def _details(left: RequestOutcome | None, right: RequestOutcome | None) -> tuple[str, str]:
    """Distinguish two answers of the same words: by other fields, or by their time."""
    if left is None or right is None:
        return "", ""
    if left.body != right.body:
        return left.body, right.body
    return _when(left), _when(right)


def _when(outcome: RequestOutcome) -> str:
    return f"after {plural(outcome.after, 'wait')}" if outcome.after else "before any wait"


def _answer(outcome: RequestOutcome | None, number: int, places: dict[int, int]) -> str:
    if outcome is None:
        return ""
    later = f", after step {places[outcome.step]}" if outcome.step > number else ""
    return f"{outcome.words}{later}"


def _request(difference: TargetDifference, number: int, step: Request) -> str:
    """Describe the request as it was sent, members by name."""
    for result in difference.both.results:
        if result.recording is None:
            continue
        history = result.recording.read()
        if (exchange := history.exchange(f"r{number}")) is not None:
            body = exchange.request_body or {}
            words = request_words(exchange.api, exchange.version, body, history.names)
            on = "" if exchange.connection == step.who else f" on connection {exchange.connection}"
            return f"{step.who} {words}{on}"
    return describe(step)


def verdict_of(comparison: TargetComparison, difference: TargetDifference) -> str:
    """Name the side that the model agrees with, and the reason."""
    model = f"The model ({comparison.revision.name})"
    left, right = names(comparison)
    results = difference.both.results
    match difference.taken:
        case Taken.LEFT:
            return f"{model} agrees with {left}. {_why(right, results[1])}"
        case Taken.RIGHT:
            return f"{model} agrees with {right}. {_why(left, results[0])}"
        case Taken.NEITHER:
            reasons = " ".join(_why(n, r) for n, r in zip((left, right), results, strict=True))
            return f"{model} agrees with neither side. {reasons}"
        case Taken.BOTH:
            return f"{model} allows both: one side deviates where the rule only says MAY."


def _why(name: str, result: CaseResult) -> str:
    return f"{name}: {_STEP.sub('', result.message)}"


def origin_of(name: str, origin: Origin) -> str:
    """Describe what is known of a side that is wrong."""
    match origin.known:
        case Known.RELEASE if origin.about:
            return (
                f"A known change: since {origin.since} {origin.about}. {name} is older, and does "
                f"what its own profile ({origin.profile}) says."
            )
        case Known.RELEASE:
            return f"{name} does what its own profile ({origin.profile}) says."
        case Known.LISTED:
            link = f" ({origin.link})" if origin.link else ""
            return f"A known failure of {name}: {origin.about}{link}."
        case Known.NEW:
            return (
                f"This is new: neither its own profile ({origin.profile}) nor the list of known "
                f"failures says that {name} does so."
            )


def names(comparison: TargetComparison) -> tuple[str, str]:
    """Name the sides: by their targets, or by their place if those are the same."""
    left, right = comparison.left.target, comparison.right.target
    return (left, right) if left != right else (f"{left} (first)", f"{right} (second)")


def text(comparison: TargetComparison) -> list[str]:
    """Write the whole comparison, line by line: the verdict, the counts, then each difference."""
    lines = [summary(comparison), "", *_tally(comparison.tally)]
    for key, (left, right) in comparison.unlike_settings.items():
        lines.append(f"Their settings differ: {key} is {left} and {right}.")
    for number, confirmed in enumerate(comparison.differences, 1):
        lines += ["", f"Difference {number}", *_difference_lines(comparison, confirmed)]
    for confirmed in comparison.unsteady:
        lines += ["", "Not seen each time", *_difference_lines(comparison, confirmed)]
    return lines


def _difference_lines(comparison: TargetComparison, confirmed: DifferenceFinding) -> Iterator[str]:
    left, right = names(comparison)
    width = max(len(left), len(right))
    for line in steps_of(confirmed.result):
        yield f"{line.number:3}. {line.text}"
        if line.left == line.right:
            yield from [f"     both{'':{max(0, width - 4)}} → {line.left}"] if line.left else []
            continue
        yield f"     {left:{width}} → {line.left}{_MARK if line.is_first else ''}"
        yield f"     {right:{width}} → {line.right}"
    yield verdict_of(comparison, confirmed.result)
    for name, origin in zip((left, right), confirmed.origins, strict=True):
        if origin is not None:
            yield origin_of(name, origin)
    times = "once" if confirmed.occurrences == 1 else f"in {confirmed.occurrences} plans"
    yield (
        f"Seen {times}, first in {confirmed.first.id}; "
        f"again in {confirmed.failed} of {plural(confirmed.runs, 'more run')}."
    )
    if confirmed.is_confirmed and not confirmed.is_minimal:
        limit = "the limit of tries" if comparison.is_virtual else f"{EXAMINE_S:g} s"
        yield f"A shorter plan may show it too: not all were tried within {limit}."


def _tally(tally: CompareTally) -> Iterator[str]:
    if not tally.compared:
        yield "No plan could be run on both, and compared."
    ran = ", ".join(f"{name} {count}" for name, count in tally.stages.items())
    yield f"Plans: {ran}; {plural(tally.requests, 'request')} to each."
    if tally.ended:
        yield f"The search ended early: {tally.ended}."
    if tally.choices:
        yield f"{plural(tally.choices, 'plan')}: the answers differ, and the model allows both."
    if tally.lacking:
        most = sorted(tally.lacking.items(), key=lambda item: (-item[1], item[0]))
        needs = ", ".join(f"{need} ({count})" for need, count in most[:_LONGEST_LIST])
        more = " and others" if len(most) > _LONGEST_LIST else ""
        lacking = sum(tally.lacking.values())
        need = "needs" if lacking == 1 else "need"
        yield f"{plural(lacking, 'plan')} {need} a feature that one of them lacks: {needs}{more}."
    if tally.unknown:
        case, why = next(iter(tally.unknown.items()))
        yield f"{plural(len(tally.unknown), 'plan')} undecided, for example {case}: {why}."


def summary(comparison: TargetComparison) -> str:
    """Write the verdict on one line."""
    left, right = (at_most(_LONGEST_NAME, name) for name in names(comparison))
    count = len(comparison.differences)
    if count:
        more = f"; {plural(comparison.more, 'more kind')} not examined" if comparison.more else ""
        return f"{left} and {right} differ in {plural(count, 'way')}{more}."
    if comparison.overall() is Overall.UNKNOWN:
        return f"Whether {left} and {right} differ is unknown."
    return f"No difference between {left} and {right} was found."


def compare_json(comparison: TargetComparison) -> dict[str, Any]:
    """Write the whole comparison for programs."""
    return {
        "one": comparison.left.target,
        "other": comparison.right.target,
        "implementations": [
            {"name": p.implementation, "version": p.version}
            for p in (comparison.left, comparison.right)
        ],
        "revision": comparison.revision.name,
        "seed": comparison.seed,
        "verdict": "differ" if comparison.differences else comparison.overall().value,
        "exit_code": comparison.exit_code(),
        "summary": summary(comparison),
        "differences": [_difference_json(comparison, c) for c in comparison.differences],
        "unsteady": [_difference_json(comparison, c) for c in comparison.unsteady],
        "not_examined": comparison.more,
        "plans": dict(comparison.tally.stages),
        "requests": comparison.tally.requests,
        "ended": comparison.tally.ended,
        "same": comparison.tally.same,
        "allowed_both_ways": comparison.tally.choices,
        "differing": comparison.tally.differing,
        "lacking": dict(sorted(comparison.tally.lacking.items())),
        "unknown": dict(sorted(comparison.tally.unknown.items())),
        "unlike_settings": {key: list(pair) for key, pair in comparison.unlike_settings.items()},
    }


def _difference_json(comparison: TargetComparison, confirmed: DifferenceFinding) -> dict[str, Any]:
    difference = confirmed.result
    return {
        "case": difference.both.case.id,
        "taken": difference.taken.value,
        "verdict": verdict_of(comparison, difference),
        "rules": list(difference.fingerprint.rules),
        "steps": [line.plain() for line in steps_of(difference)],
        "seen": confirmed.occurrences,
        "first": confirmed.first.id,
        "again": confirmed.failed,
        "runs": confirmed.runs,
        "is_minimal": confirmed.is_minimal,
        "origins": to_builtins(list(confirmed.origins)),
    }
