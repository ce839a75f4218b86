"""Report a comparison: the steps, what either side answered, and which side the model agrees with.

A step that both answer in the same way has one line for its answer; where they differ, each side
has a line of its own, and the first difference is marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

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
from fencepost.model.history.words import plural, request_words
from fencepost.model.plans.steps import Await, Request, Settle, describe
from fencepost.properties.judging.outcome import CaseResult

_MARK = "   ← they differ"
_STEP = re.compile(r" \(step \d+(?:, answered in \d+)?\)")
_LACKS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class StepRow:
    """A numbered step: what is done, and what either side answered ("" where nothing is)."""

    number: int
    said: str
    one: str = ""
    other: str = ""
    is_first: bool = False


def steps_of(difference: TargetDifference) -> list[StepRow]:
    """The steps of the plan, but for its waits for answers."""
    steps = difference.both.case.steps
    shown = [n for n, s in enumerate(steps, 1) if not isinstance(s, Await | Settle)]
    places = {number: place for place, number in enumerate(shown, 1)}
    lines = []
    for number in shown:
        step = steps[number - 1]
        if not isinstance(step, Request):
            lines.append(StepRow(places[number], describe(step) + _lasting(difference, number)))
            continue
        outcomes = (difference.one.get(number), difference.other.get(number))
        one, other = (_answer(o, number, places) for o in outcomes)
        first = number == difference.number
        if first and one == other:
            one, other = (
                f"{words} ({detail})"
                for words, detail in zip((one, other), _details(*outcomes), strict=True)
            )
        lines.append(StepRow(places[number], _request(difference, number, step), one, other, first))
    return lines


def _lasting(difference: TargetDifference, number: int) -> str:
    """How long a step took; only on virtual clocks, where it is the same each time."""
    recordings = [result.recording for result in difference.both.results]
    if any(r is None or r.clock != "virtual" or len(r.step_ends) < number for r in recordings):
        return ""
    ends = [0, *(recordings[0].step_ends if recordings[0] is not None else ())]
    lasted = ends[number] - ends[number - 1]
    return f" ({lasted} ms)" if lasted else ""


def _details(one: RequestOutcome | None, other: RequestOutcome | None) -> tuple[str, str]:
    """What tells two answers apart that have the same words: other fields, or when they came."""
    if one is None or other is None:
        return "", ""
    if one.body != other.body:
        return one.body, other.body
    return _when(one), _when(other)


def _when(outcome: RequestOutcome) -> str:
    return f"after {plural(outcome.after, 'wait')}" if outcome.after else "before any wait"


def _answer(outcome: RequestOutcome | None, number: int, places: dict[int, int]) -> str:
    if outcome is None:
        return ""
    later = f", after step {places[outcome.step]}" if outcome.step > number else ""
    return f"{outcome.words}{later}"


def _request(difference: TargetDifference, number: int, step: Request) -> str:
    """The request as it was sent, members by name."""
    for result in difference.both.results:
        if result.recording is None:
            continue
        history = result.recording.read()
        if (exchange := history.exchange(f"r{number}")) is not None:
            sent = exchange.request
            words = request_words(sent.api, sent.version, sent.body, history.names)
            on = "" if sent.connection == step.who else f" on connection {sent.connection}"
            return f"{step.who} {words}{on}"
    return describe(step)


def verdict_of(found: TargetComparison, difference: TargetDifference) -> str:
    """Which side the model agrees with, and why."""
    model = f"The model ({found.revision.name})"
    one, other = names(found)
    results = difference.both.results
    match difference.taken:
        case Taken.ONE:
            return f"{model} agrees with {one}. {_why(other, results[1])}"
        case Taken.OTHER:
            return f"{model} agrees with {other}. {_why(one, results[0])}"
        case Taken.NEITHER:
            said = " ".join(_why(n, r) for n, r in zip((one, other), results, strict=True))
            return f"{model} agrees with neither side. {said}"
        case Taken.BOTH:
            return f"{model} allows both: one side deviates where the rule only says MAY."


def _why(name: str, result: CaseResult) -> str:
    return f"{name}: {_STEP.sub('', result.message)}"


def origin_of(name: str, origin: Origin) -> str:
    """What is known of a side that is wrong."""
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


def names(found: TargetComparison) -> tuple[str, str]:
    """The names of the sides: their targets, or told apart if those are the same."""
    one, other = found.one.target, found.other.target
    return (one, other) if one != other else (f"{one} (first)", f"{other} (second)")


def text(found: TargetComparison) -> list[str]:
    """The whole comparison, line by line."""
    lines: list[str] = []
    for key, (one, other) in found.unlike_settings.items():
        lines.append(f"Their settings differ: {key} is {one} and {other}.")
    for number, confirmed in enumerate(found.differences, 1):
        lines += [f"Difference {number}", *_difference_lines(found, confirmed), ""]
    for confirmed in found.unsteady:
        lines += ["Not seen each time", *_difference_lines(found, confirmed), ""]
    lines += _tally(found.tally)
    lines.append(summary(found))
    return lines


def _difference_lines(found: TargetComparison, confirmed: DifferenceFinding) -> Iterator[str]:
    one, other = names(found)
    width = max(len(one), len(other))
    for line in steps_of(confirmed.result):
        yield f"{line.number:3}. {line.said}"
        if line.one == line.other:
            yield from [f"     both{'':{max(0, width - 4)}} → {line.one}"] if line.one else []
            continue
        yield f"     {one:{width}} → {line.one}{_MARK if line.is_first else ''}"
        yield f"     {other:{width}} → {line.other}"
    yield verdict_of(found, confirmed.result)
    for name, origin in zip((one, other), confirmed.origins, strict=True):
        if origin is not None:
            yield origin_of(name, origin)
    times = "once" if confirmed.occurrences == 1 else f"in {confirmed.occurrences} plans"
    yield (
        f"Seen {times}, first in {confirmed.first.id}; "
        f"again in {confirmed.failed} of {plural(confirmed.runs, 'more run')}."
    )
    if confirmed.is_confirmed and not confirmed.is_minimal:
        limit = "the limit of tries" if found.is_virtual else f"{EXAMINE_S:g} s"
        yield f"A shorter plan may show it too: not all were tried within {limit}."


def _tally(tally: CompareTally) -> Iterator[str]:
    ran = ", ".join(f"{name} {count}" for name, count in tally.stages.items())
    yield f"Plans: {ran}; {plural(tally.requests, 'request')} to each."
    if tally.ended:
        yield f"The search ended early: {tally.ended}."
    if tally.choices:
        yield f"{plural(tally.choices, 'plan')}: the answers differ, and the model allows both."
    if tally.lacking:
        most = sorted(tally.lacking.items(), key=lambda item: (-item[1], item[0]))
        said = ", ".join(f"{what} ({count})" for what, count in most[:_LACKS_SHOWN])
        more = " and others" if len(most) > _LACKS_SHOWN else ""
        lacking = sum(tally.lacking.values())
        need = "needs" if lacking == 1 else "need"
        yield f"{plural(lacking, 'plan')} {need} what one of them lacks: {said}{more}."
    if tally.unknown:
        case, why = next(iter(tally.unknown.items()))
        yield f"{plural(len(tally.unknown), 'plan')} undecided, for example {case}: {why}."


def summary(found: TargetComparison) -> str:
    """The last line."""
    one, other = names(found)
    count = len(found.differences)
    if count:
        more = f"; {plural(found.more, 'more kind')} not examined" if found.more else ""
        return f"{one} and {other} differ in {plural(count, 'way')}{more}."
    if found.tally.unknown or found.unsteady:
        return f"Whether {one} and {other} differ is unknown."
    return f"No difference between {one} and {other} was found."


def compare_json(found: TargetComparison) -> dict[str, Any]:
    """The whole comparison, for programs."""
    return {
        "one": found.one.target,
        "other": found.other.target,
        "implementations": [
            {"name": p.implementation, "version": p.version} for p in (found.one, found.other)
        ],
        "revision": found.revision.name,
        "seed": found.seed,
        "verdict": "differ" if found.differences else found.overall().value,
        "exit_code": found.exit_code(),
        "summary": summary(found),
        "differences": [_difference_json(found, c) for c in found.differences],
        "unsteady": [_difference_json(found, c) for c in found.unsteady],
        "not_examined": found.more,
        "plans": dict(found.tally.stages),
        "requests": found.tally.requests,
        "ended": found.tally.ended,
        "same": found.tally.same,
        "allowed_both_ways": found.tally.choices,
        "differing": found.tally.differing,
        "lacking": dict(sorted(found.tally.lacking.items())),
        "unknown": dict(sorted(found.tally.unknown.items())),
        "unlike_settings": {key: list(pair) for key, pair in found.unlike_settings.items()},
    }


def _difference_json(found: TargetComparison, confirmed: DifferenceFinding) -> dict[str, Any]:
    difference = confirmed.result
    return {
        "case": difference.both.case.id,
        "taken": difference.taken.value,
        "verdict": verdict_of(found, difference),
        "rules": list(difference.fingerprint.rules),
        "steps": [
            {
                "number": line.number,
                "step": line.said,
                "one": line.one,
                "other": line.other,
                "differs": line.is_first,
            }
            for line in steps_of(difference)
        ],
        "seen": confirmed.occurrences,
        "first": confirmed.first.id,
        "again": confirmed.failed,
        "runs": confirmed.runs,
        "is_minimal": confirmed.is_minimal,
        "origins": [None if o is None else _origin_json(o) for o in confirmed.origins],
    }


def _origin_json(origin: Origin) -> dict[str, str]:
    return {**asdict(origin), "known": origin.known.value}
