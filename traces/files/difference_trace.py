"""Describe a difference between two revisions: the requests, and what each revision answers.

Up to the last step both answer the same, so that part is written once, with both requests where
each gets its own form.  Then each revision's answer follows, with its rules and their reasons.  If
two clients can then share one member id in only one of the revisions, the steps that lead there are
added.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fencepost.model.history.words import plural
from fencepost.model.revision import Revision, SetRule
from fencepost.model.revisions import revisions
from fencepost.model.table.table import Rule
from fencepost.properties.diff.common_versions import Unsaid
from fencepost.properties.diff.revision_diff import Comparison, Difference, DifferenceSide
from fencepost.properties.worlds.concretise import unfold
from fencepost.properties.worlds.scope import NamedScope
from fencepost.traces.files.run_trace import DIFFERENCE, Example, RunStep, run_steps, run_trace
from fencepost.traces.files.trace_file import TraceFile

_SILENT = "nothing"


@dataclass(frozen=True, slots=True)
class Reason:
    """A rule that a revision uses where the answers differ.

    Its reason, its passage, its effect, and True if the other revision's effect differs.
    """

    revision: str
    rule: str
    because: str
    passage: str
    does: str
    differs: bool


@dataclass(frozen=True, slots=True)
class RevisionPart:
    """One revision's steps: all but the last, the last one, and those that follow, if any."""

    revision: str
    steps: tuple[RunStep, ...]
    last: RunStep
    sequel: tuple[RunStep, ...]
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class DifferenceStory:
    """A difference in words.  `difference`: its subject."""

    difference: Difference
    first: RevisionPart
    other: RevisionPart

    @property
    def parts(self) -> tuple[RevisionPart, RevisionPart]:
        """Both revisions' parts."""
        return self.first, self.other

    @property
    def title(self) -> str:
        """The rules that decided on each side, and after which ones if those are alike."""
        difference = self.difference
        names = " | ".join(dict.fromkeys(rule or _SILENT for rule in difference.decided))
        if difference.after:
            return f"{names}, after {', '.join(difference.after)}"
        return names if difference.rules else f"{names}: other versions of the request"

    def why(self, *, mark: str = "") -> list[str]:
        """Return a line for each rule that matters: its revision, its reason, its source.

        Its effect is added where both have it for the same reason.  `mark`: around its id.
        """
        reasons = [reason for part in self.parts for reason in part.reasons]
        lines = []
        for reason in reasons:
            text = f"{reason.revision}, {mark}{reason.rule}{mark}"
            text += f": {reason.because}" if reason.because else ""
            same = [(r.rule, r.because) for r in reasons].count((reason.rule, reason.because))
            if reason.differs and same > 1:
                text += f"; does: {reason.does}"
            lines.append(text + (f" ({reason.passage})" if reason.passage else ""))
        return lines

    def lines(self) -> list[str]:
        """Return the steps with both answers, as lines."""
        lines = [
            self._common(step, other)
            for step, other in zip(self.first.steps, self.other.steps, strict=True)
        ]
        last = self.first.last
        lines.append(f"{last.start}  {self._did(last, self.other.last)}")
        width = max(len(part.revision) for part in self.parts)
        lines += [
            f"       {part.revision:{width}} → {part.last.answers or _SILENT}{_by(part.last)}"
            for part in self.parts
        ]
        for part in self.parts:
            if part.sequel:
                lines.append(f"     then, in {part.revision}, to two clients on one member id:")
                lines += [step.text for step in part.sequel]
        return lines

    def answers(self) -> str:
        """Return the request at which they differ and the answers of each, in a sentence."""
        last = self.first.last
        did = self._did(last, self.other.last)
        answers_ = "; ".join(
            f"{part.revision}: {part.last.answers or _SILENT}" for part in self.parts
        )
        return f"{last.who} {did}. ".lstrip() + f"{answers_}."

    def _common(self, step: RunStep, other: RunStep) -> str:
        """Describe a step in which both answer the same, perhaps by different rules."""
        line = f"{step.start}  {self._did(step, other)}"
        if step.answers:
            line += f" → {step.answers}"
        if step.rules == other.rules:
            return line + _by(step)
        rules = (", ".join(each.rules) or _SILENT for each in (step, other))
        return f"{line}  [{' | '.join(rules)}]"

    def _did(self, step: RunStep, other: RunStep) -> str:
        """Describe the request of a step: of both, where each gets the same act in its own form."""
        if step.did == other.did:
            return step.did
        return f"{step.did} to {self.first.revision}, {other.did} to {self.other.revision}"

    def to_json(self) -> dict[str, Any]:
        """Return the story as JSON."""
        return {
            "rules": list(self.difference.rules),
            "after": list(self.difference.after),
            "decided": dict(
                zip((p.revision for p in self.parts), self.difference.decided, strict=True)
            ),
            "direct": self.difference.direct,
            "steps": len(self.first.steps) + 1,
            "revisions": {
                part.revision: {
                    "steps": [step.text for step in (*part.steps, part.last)],
                    "answer": part.last.answers,
                    "sequel": [step.text for step in part.sequel],
                    "rules": [
                        {k: v for k, v in asdict(reason).items() if k != "revision"}
                        for reason in part.reasons
                    ],
                }
                for part in self.parts
            },
        }


def describe_difference(comparison: Comparison, difference: Difference) -> DifferenceStory:
    """Describe a difference."""
    names = difference.decided
    return DifferenceStory(
        difference,
        _part(comparison.first, difference.first, difference, names[0]),
        _part(comparison.other, difference.other, difference, names[1]),
    )


def difference_traces(
    comparison: Comparison, difference: Difference
) -> tuple[TraceFile, TraceFile]:
    """Return both runs up to their difference, each judged by its own revision."""
    story = describe_difference(comparison, difference)
    message = f"{comparison.first.name} and {comparison.other.name} differ here: {story.title}."
    shows = Example(DIFFERENCE, story.answers(), len(story.first.steps))
    traces = []
    for revision, telling in (
        (comparison.first, difference.first),
        (comparison.other, difference.other),
    ):
        run = unfold(telling.worlds, telling.path)
        known = _known(revision)
        trace = run_trace(telling.worlds, run, judged_by=known, message=message, shows=shows)
        traces.append(trace)
    return traces[0], traces[1]


def _known(revision: Revision) -> Revision:
    """Return the revision; for a mutant, by which nothing is to be judged, what it is made from."""
    if revision.name.startswith(revisions.MUTANT):
        return revisions.shipped_base(revision)
    try:
        return revisions.find(revision.name)
    except KeyError:
        return revisions.shipped_base(revision)


def lost_words(loss: Unsaid) -> str:
    """Describe the request that a revision can't have."""
    text = f"{loss.revision}: {loss.api} can't name the instance"
    if loss.lost:
        text += f" (not compared: {', '.join(loss.lost)})"
    return text


def bounds_words(bounds: NamedScope) -> str:
    """Describe the compared scope, e.g. `2 clients of 1 instance, up to 9 steps`."""
    scope = bounds.scope
    static = scope.clients - scope.dynamic
    who = []
    if static:
        who.append(f"{plural(static, 'client')} of {plural(scope.instances, 'instance')}")
    if scope.dynamic:
        who.append(plural(scope.dynamic, "dynamic client"))
    if scope.old:
        who.append(f"{scope.old} of them old")
    depth = "" if bounds.max_depth is None else f", up to {bounds.max_depth} steps"
    return f"{', '.join(who)} ({', '.join(scope.acts)}){depth}"


def _part(
    revision: Revision, telling: DifferenceSide, difference: Difference, decided: str
) -> RevisionPart:
    steps = run_steps(telling.worlds, unfold(telling.worlds, telling.whole))
    count = len(telling.path) - 1
    rules = [rule for step in steps[:count] for rule in step.rules if rule in difference.after]
    rules += [decided] if decided else []
    differing = {*difference.rules, *difference.after}
    reasons = tuple(
        _reason(revision, revision.rule(rule), differs=rule in differing)
        for rule in dict.fromkeys(rules)
    )
    return RevisionPart(revision.name, steps[: count - 1], steps[count - 1], steps[count:], reasons)


def _reason(revision: Revision, rule: Rule, *, differs: bool) -> Reason:
    passages = [
        change.passage
        for change in revision.differences
        if isinstance(change, SetRule) and change.rule.id == rule.id
    ]
    passage = passages[0] if passages else rule.source
    does = [do.value for do in rule.effect] + ([] if rule.answer is None else [rule.answer.name])
    return Reason(
        revision.name, rule.id, rule.because, passage, "; ".join(does) or _SILENT, differs
    )


def _by(step: RunStep) -> str:
    return f"  [{', '.join(step.rules)}]" if step.rules else ""
