"""Say what else is wrong in a history, beside the answer that its verdict is about.

An answer that only deviates lets the judge follow the history further.  What is graver later is the
verdict; what deviated is told behind it, the gravest first, with step, answer, rule and level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.model.history.step_lines import Line
from fencepost.model.history.words import plural, wrong_field
from fencepost.properties.judging.answer_diff import deviation, request_of
from fencepost.properties.judging.recording import Recording
from fencepost.properties.oracle.verdict import Beside, Verdict

_TOLD = 3
"""So many deviations are told in full."""


def place_of(lines: Sequence[Line], request_id: str) -> str:
    """The step of a request, and that of its answer where it is another."""
    asked = next((line.number for line in lines if line.asks == request_id), 0)
    answered = _answered_in(lines, request_id) or asked
    if not asked:
        return ""
    return f" (step {asked})" if asked == answered else f" (step {asked}, answered in {answered})"


def besides_words(
    verdict: Verdict, recording: Recording, lines: Sequence[Line], names: Mapping[str, str]
) -> str:
    """The sentences about what deviated in the same answer, before it and after it; or ""."""
    if verdict.violation is None:
        return ""
    own = verdict.violation.request_id
    here = _answered_in(lines, own) or len(lines)
    when: dict[str, list[Beside]] = {}
    for beside in verdict.besides:
        at = _answered_in(lines, beside.request_id)
        word = "Before that" if at < here else "After that"
        word = "In the same answer" if beside.request_id == own else word
        when.setdefault(word, []).append(beside)
    said = ""
    for word, those in when.items():
        told = [_told(beside, recording, lines, names) for beside in those[:_TOLD]]
        more = len(those) - len(told)
        if more:
            told.append(f"and {plural(more, 'more field')} of answers that the steps mark")
        said += f" {word} these were wrong, too: {'; '.join(told)}."
    return said


def _told(
    beside: Beside, recording: Recording, lines: Sequence[Line], names: Mapping[str, str]
) -> str:
    request = request_of(recording, beside.request_id)
    field = wrong_field(beside.difference, names)
    if field is None:
        differs = deviation(beside.difference, names)
    else:
        differs = f"{field.field} {field.got} instead of {field.want}"
    rule = f"rule {beside.rule}, " if beside.rule else ""
    api = "" if request is None else f"'s {request.api} v{request.version}"
    who = recording.senders.get(beside.request_id, "somebody")
    place = place_of(lines, beside.request_id)
    return f"{who}{api}{place}: {differs} ({rule}{beside.level.value})"


def _answered_in(lines: Sequence[Line], request_id: str) -> int:
    return next((line.number for line in lines if line.answers == request_id), 0)
