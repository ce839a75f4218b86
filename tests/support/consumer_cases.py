"""Run cases of the consumer protocol and of mixed groups in process; make wrong rules."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.run.runner import CaseRun, CaseUnsupportedError, reset_for
from fencepost.conformance.targets.in_process import InProcessCoordinator, ModelCoordinator
from fencepost.model.bridge.effects import Do as BridgeDo
from fencepost.model.consumer.effects import Do
from fencepost.model.messages.errors import Error
from fencepost.model.revision import Revision, SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.model.table.table import Rule, Table
from fencepost.properties.oracle.fingerprint import broken_rule
from fencepost.properties.oracle.verdict import Verdict

BASE = revisions.find("consumer-4.3")


@dataclass(frozen=True)
class Ran:
    """The result of a case: the reason why it did not pass (None: it did), and the verdict."""

    why: str | None
    verdict: Verdict | None
    broken: str = ""
    is_unsupported: bool = False

    @property
    def is_caught(self) -> bool:
        return self.verdict is not None and self.verdict.violation is not None


async def _play(case: Entry, target: Revision, judge: Revision) -> Ran:
    levels = {rule.id: rule.level for _, rule in judge.rules()}
    coordinator = InProcessCoordinator(ModelCoordinator(target))
    hello = await coordinator.hello()
    settings = {**case.settings, **case.needs.config}
    config = await reset_for(judge, hello, coordinator, settings)
    run = CaseRun(case.case(levels, delayed=False), coordinator, hello, config, judge, 0)
    try:
        recording = await run.run()
    except CaseUnsupportedError as error:
        return Ran(str(error), None, is_unsupported=True)
    verdict = run.verdict()
    if verdict.violation is not None:
        rule = broken_rule(verdict.violation, judge)
        return Ran(verdict.violation.detail, verdict, "" if rule is None else rule.id)
    if missing := sorted(set(case.rules) - verdict.used):
        return Ran(f"the history can also be explained without {', '.join(missing)}", verdict)
    return Ran(verdict.unknown or recording.stopped, verdict)


def play(case: Entry, target: Revision = BASE, judge: Revision = BASE) -> Ran:
    """Run a case against a revision, judged by another."""
    return asyncio.run(_play(case, target, judge))


def applies(case: Entry, revision: Revision) -> bool:
    """Return True if a revision has all rules of a case."""
    there = {rule.id for _, rule in revision.rules() if rule.defensive is None}
    return set(case.rules) <= there


def is_reachable(rule: Rule) -> bool:
    """Return True if cases can reach a rule."""
    return rule.defensive is None and "-COORDINATOR-" not in rule.id


def rules_used(cases: Iterable[Entry], played: Callable[[str], Ran]) -> set[str]:
    """Return the ids of the rules that explain the answers in cases, each with a verdict."""
    used: set[str] = set()
    for case in cases:
        verdict = played(case.id).verdict
        assert verdict is not None
        used |= verdict.used
    return used


@dataclass(frozen=True)
class WrongRule:
    """A rule of a revision, or of a part of it, with one thing wrong."""

    name: str
    table: Table
    rule: Rule
    base: Revision

    def revision(self) -> Revision:
        change = SetRule(self.table.name, self.rule, self.name)

        def derived(revision: Revision) -> Revision:
            if revision.tables.get(self.table.name) is not self.table:
                return revision
            return derive(revision, self.name, "one rule is wrong", (change,))

        return replace(derived(self.base), parts=tuple(map(derived, self.base.parts)))

    def cases(self, cases: Iterable[Entry], played: Callable[[str], Ran]) -> list[Entry]:
        """Return the cases that use the right rule, first those that are about it.

        `played`: the run of a case on the right revision, by its id.
        """
        using = [
            case
            for case in cases
            if (verdict := played(case.id).verdict) and self.rule.id in verdict.used
        ]
        return sorted(using, key=lambda case: self.rule.id not in case.rules)


def wrong_rules(
    base: Revision = BASE, rules: Iterable[tuple[Table, Rule]] | None = None
) -> Iterator[WrongRule]:
    """Yield every reachable rule with another answer, and without each of its effects."""
    for table, rule in base.rules() if rules is None else rules:
        if not is_reachable(rule):
            continue
        for error in _other(rule.answer) if rule.answer is not None else ():
            name = f"{rule.id} answers {error.name}"
            yield WrongRule(name, table, rule.but(answer=error), base)
        for do in rule.effect:
            for name, effect in _without(rule.effect, do):
                yield WrongRule(f"{rule.id} {name}", table, rule.but(effect=effect), base)


def _other(error: Error) -> tuple[Error, ...]:
    if error is Error.NONE:
        return (Error.UNKNOWN_MEMBER_ID,)
    wrong = Error.UNKNOWN_MEMBER_ID
    return (Error.FENCED_MEMBER_EPOCH if error is wrong else wrong,)


_INSTEAD: dict[Enum, Do] = {Do.ADD_STATIC: Do.ADD_DYNAMIC, Do.REPLACE_HOLDER: Do.ADD_STATIC}
"""Without these the effects behind them have no member to work on; so something else is done."""
_FIRST = {
    Do.ADD_DYNAMIC,
    Do.CREATE_GROUP,
    Do.CREATE_GROUP_AT_ZERO,
    BridgeDo.BECOME_CLASSIC,
    BridgeDo.HAND_OUT_ID,
}
_ANSWERS = {
    Do.ANSWER_ASSIGNMENT,
    Do.ANSWER_CHANGES,
    Do.ANSWER_EPOCH,
    BridgeDo.ANSWER_JOIN,
    BridgeDo.ANSWER_SYNC,
}


def _without(effect: tuple[Enum, ...], do: Enum) -> Iterator[tuple[str, tuple[Enum, ...]]]:
    if do in _FIRST or do in _ANSWERS:
        return
    instead = _INSTEAD.get(do)
    if instead is None:
        yield f"without {do.name}", tuple(other for other in effect if other is not do)
    else:
        changed = tuple(instead if other is do else other for other in effect)
        yield f"does {instead.name}", changed
