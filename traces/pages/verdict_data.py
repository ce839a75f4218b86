"""The verdict of a trace for its page, and the outcome of its case.

If runs differed, a trace may hold while its case is unknown; then the case counts.  A known failure
is marked so, with the reason.  A right answer that is late is marked late, with the step in which
the model gives it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.model.history.words import answer_words
from fencepost.model.table.table import Rule
from fencepost.properties.oracle.verdict import Wrong
from fencepost.traces.files.run_trace import COUNTEREXAMPLE, DIFFERENCE, KNOWN
from fencepost.traces.pages.answer_rows import rows
from fencepost.traces.pages.trace_with_model import TraceWithModel

_NOTE = re.compile(r"known failure: (?P<why>.*?)(?: \((?P<link>https://[^\s()]+)\))?")
_TONES = {COUNTEREXAMPLE: "violated", KNOWN: "excused", DIFFERENCE: "index"}
"""What a run of the model shows → how its page is coloured; its answers are right in any case."""
_BESIDE = {"known-failure", "stale-known-failure"}


@dataclass(frozen=True, slots=True)
class CaseNote:
    """A certificate's entry of a case: what it is about, and its outcome.

    `why`, `link`: of a known failure; of a stale one `why` is what was listed.
    """

    about: str = ""
    outcome: str = ""
    why: str = ""
    link: str = ""


NO_CASE = CaseNote()


def case_note(case: Mapping[str, Any]) -> CaseNote:
    """Read it from a case of a certificate."""
    found = next(filter(None, map(_NOTE.fullmatch, case.get("notes", ()))), None)
    why, link = ("", "") if found is None else (found["why"], found["link"] or "")
    stale = next((n for n in case.get("notes", ()) if n.startswith("stale: ")), "")
    why = why or stale.removeprefix("stale: ")
    return CaseNote(case.get("about", ""), case["outcome"], why, link)


def verdict_json(story: TraceWithModel, case: CaseNote) -> dict[str, Any]:
    """Return the recorded verdict in words."""
    verdict = story.trace.verdict
    rule = _rule(story, verdict.rule)
    request = story.requests.get(verdict.request or "")
    api = "" if request is None else request.api
    names = story.trace.names
    expected = [answer_words(api, each.body, names) for each in verdict.expected if each.body]
    wrong = verdict.wrong or ""
    if wrong == "EARLY" or (wrong == "CLOSED" and not expected):
        expected = ["no answer yet: it waits"]
    got = answer_words(api, verdict.observed, names) if verdict.observed else ""
    body = story.answer(verdict.request)
    if verdict.outcome == "violated" and not got:
        got = answer_words(api, body, names) if body else "no answer"
        if body and wrong == "SILENCE":
            got = f"{_late(story)}: {got}"
    if (field := story.trace.wrong_field()) is not None:
        expected = [f"{field.field} {field.want}"]
        got += f"; {field.field} {field.got}"
    level = verdict.level or ""
    differs = wrong == "SILENCE" and rule is not None and level != rule.level.value
    undecided = case.outcome == "unknown" and verdict.outcome == "holds"
    outcome = case.outcome if undecided else verdict.outcome
    made = story.trace.provenance
    shows = str(made.get("shows") or "") if outcome == "holds" else ""
    about = case.about or (story.trace.plan or {}).get("about", "")
    return {
        "outcome": outcome,
        "badge": shows or outcome,
        "tone": _TONES.get(shows, outcome),
        "beside": case.outcome if case.outcome in _BESIDE else "",
        "about": about or (str(made.get("shows_why") or "") if shows else ""),
        "why": case.why,
        "link": case.link,
        "sentence": verdict.message,
        "level": f"late: {level}" if differs else level,
        "wrong": wrong,
        "rule": verdict.rule,
        "decided": story.decided_at(verdict.rule, verdict.request),
        "source": "" if rule is None else rule.source,
        "because": verdict.because or ("" if rule is None else rule.because),
        "expected": list(dict.fromkeys(expected)),
        "got": got,
    }


def _late(story: TraceWithModel) -> str:
    """Return how late an answer was, and whether it was right otherwise."""
    verdict, names = story.trace.verdict, story.trace.names
    body = story.answer(verdict.request)
    allowed = [each.body for each in verdict.expected if each.body]
    right = any(all(same for *_, same in rows(body, want, names)) for want in allowed)
    violation = story.run.verdict.violation
    said = "too late"
    if violation is not None and violation.wrong is Wrong.SILENCE:
        answered = story.lines[story.answered_at[verdict.request or ""]].until_ms
        said = f"{answered - violation.at_ms:,} ms too late"
    return f"the right answer, {said}" if right else f"no answer in time; {said}"


def _rule(story: TraceWithModel, rule_id: str | None) -> Rule | None:
    return next((rule for _, rule in story.revision.rules() if rule.id == rule_id), None)
