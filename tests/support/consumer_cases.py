"""Run cases of the consumer protocol, and of mixed groups, in process; make wrong rules."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
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
    """What came of a case: why it did not pass (None: it did), and what the oracle said."""

    why: str | None
    verdict: Verdict | None
    broken: str = ""

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
        return Ran(f"unsupported: {error}", None)
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


def wrong_rules(
    base: Revision = BASE, rules: Iterable[tuple[Table, Rule]] | None = None
) -> Iterator[WrongRule]:
    """Every reachable rule with another answer, and without each of its effects."""
    for table, rule in base.rules() if rules is None else rules:
        if rule.defensive is not None or "-COORDINATOR-" in rule.id:
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
