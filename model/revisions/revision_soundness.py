"""Find the faults of a revision that somebody wrote, before any engine fails on it.

Tests check shipped revisions likewise.  The conditions for a user's own: its tables are total and
unambiguous, its ids are unique, each step can be done where its rule applies, each request is
answered once, and a rule with a changed effect has a new reason.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from itertools import chain
from typing import Any

from fencepost.model.messages.errors import Error
from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4, RULES
from fencepost.model.revisions.revisions import NAMES, find
from fencepost.model.table.effect_needs import (
    ANSWERS,
    HANDS_OUT,
    HOME,
    MAKES_CALLER,
    NEEDS,
    NEWLY_TOLD,
    Need,
    Where,
)
from fencepost.model.table.effects import Do, Echo
from fencepost.model.table.expr import Point
from fencepost.model.table.table import Level, Rule, Table
from fencepost.model.table.table_soundness import decided, table_faults
from fencepost.model.table.vocabulary import DELAY, INST, MID, STATE, SUBJECT, Delay, Mid, Subject

_ID = re.compile(r"[A-Z0-9]+(-[A-Z0-9]+)*")
_WELCOMES = {
    "JoinGroup": f"{Do.ANSWER_CURRENT} or {Do.PARK_JOIN}",
    "SyncGroup": f"{Do.ANSWER_ASSIGNMENT} or {Do.PARK_SYNC}",
}
"""Table → the steps that answer NONE: the answer has more fields than the error."""
_WITHOUT_REQUEST = {
    "session timeout",
    "join phase",
    "sync phase",
    "failover",
    "topics deleted",
    "cleanup",
}
"""Tables of events without a request."""
_ONLY_ANSWER = {"LeaveGroup", "OffsetFetch", "DescribeGroups", "ListGroups"}
"""Tables whose rules define the answer; each row of a leave has its own table."""
_SHIPPED = tuple(find(name) for name in NAMES)


def revision_faults(revision: Revision) -> list[str]:
    """Return the faults of a revision, in sentences; [] if every engine can take it.

    Tables of a shipped revision are taken for sound.
    """
    faults = [*_missing(revision), *_twice(revision)]
    shipped = {id(table) for known in _SHIPPED for table in known.tables.values()}
    own = [table for table in revision.tables.values() if id(table) not in shipped]
    faults += [fault for table in own for rule in table.rules() for fault in _of_rule(rule)]
    if faults:
        return faults  # what comes now takes tables and rules for well formed
    for table in own:
        points = decided(table)
        steps = chain.from_iterable(_of_steps(table, rule) for rule in table.rules())
        faults += [*table_faults(table, points), *steps, *misplaced_steps(table, points)]
    known = {id(rule) for base in _SHIPPED for _, rule in base.rules()}
    faults += [
        f"{rule.id} does something else than in kafka-4 and still says `because`: "
        f'"{rule.because}"; say why it does so now: but(because=…)'
        for table in own
        for rule in table.rules()
        if id(rule) not in known and has_stale_reason(rule)
    ]
    return faults


def has_stale_reason(rule: Rule) -> bool:
    """Return True if a rule is one of `kafka-4`'s with another effect or answer, and its reason."""
    base = RULES.get(rule.id)
    if base is None or base is rule or base.because != rule.because:
        return False
    return (base.effect, base.answer) != (rule.effect, rule.answer)


def _missing(revision: Revision) -> Iterator[str]:
    for name, base in KAFKA_4.tables.items():
        table = revision.tables.get(name)
        if table is None:
            yield f"there is no table {name}; begin with derive(), which keeps it"
        elif list(map(id, table.features)) != list(map(id, base.features)):
            names = ", ".join(feature.name for feature in base.features)
            yield f"table {name} must ask for these features, in this order: {names}"


def _twice(revision: Revision) -> Iterator[str]:
    home: dict[str, str] = {}
    for table, rule in revision.rules():
        if rule.id in home:
            yield f"{rule.id} is in table {home[rule.id]} and in {table.name}; ids are unique"
        home[rule.id] = table.name


def _of_rule(rule: Any) -> Iterator[str]:
    """Yield fields that no engine could read; an untyped file may hold anything."""
    name = rule.id
    if not isinstance(name, str) or not _ID.fullmatch(name):
        yield f"{name!r} is no id of a rule: capital letters and digits, joined by '-'"
    if not isinstance(rule.effect, tuple):
        effect = rule.effect if isinstance(rule.effect, Do) else repr(rule.effect)
        yield f"{name}: its effect is {effect}; give a tuple of steps, as in (Do.PARK_JOIN,)"
    elif unknown := [step for step in rule.effect if not isinstance(step, Do)]:
        yield f"{name}: {unknown[0]!r} is no step; the steps are the members of Do"
    if rule.answer is not None and not isinstance(rule.answer, Error):
        yield f"{name}: its answer is {rule.answer!r}; the answers are the members of Error"
    if not isinstance(rule.level, Level) or not isinstance(rule.echo, Echo):
        yield f"{name}: its level is a Level, and its echo an Echo"
    if not rule.because or not rule.source:
        yield f"{name}: say why it does so (`because`), and where that stands (`source`)"


def _of_steps(table: Table, rule: Rule) -> Iterator[str]:
    """Yield steps that are another table's, and fields of the rule that don't go with its steps."""
    for do in rule.effect:
        home = HOME.get(do, table.name)
        if home != table.name:
            yield f'{rule.id}: the step "{do.value}" belongs to table {home}, not to {table.name}'
        elif table.name in _ONLY_ANSWER and do not in HOME:
            yield (
                f'{rule.id}: the step "{do.value}" would not be done: a rule of table {table.name} '
                "answers and changes nothing; leave it out"
            )
    answering = [do for do in rule.effect if do in ANSWERS]
    if table.name in _WITHOUT_REQUEST:
        if rule.answer is not None:
            yield f"{rule.id}: nobody asks in table {table.name}, so there is nobody to answer"
    elif rule.answer is None and not answering:
        yield f"{rule.id}: it neither answers nor parks the request; give it an answer"
    elif answering and (rule.answer is not None or len(answering) > 1):
        yield f'{rule.id}: it answers twice: "{answering[0].value}", and more'
    elif rule.answer is Error.NONE and table.name in _WELCOMES:
        step = _WELCOMES[table.name]
        yield (
            f"{rule.id}: answer=Error.NONE would be a welcome without what belongs to one; leave "
            f"`answer` out and add the step {step}"
        )
    yield from _of_ids(table, rule)


def _of_ids(table: Table, rule: Rule) -> Iterator[str]:
    """Yield ids that no answer has, and echoes that echo nothing."""
    making = [do for do in rule.effect if do in MAKES_CALLER]
    telling = [do for do in making if do in NEWLY_TOLD]
    if len(making) > 1:
        first, second = making[:2]
        yield (f"{rule.id}: {first} and {second} both say who the caller is; leave one of them out")
    if telling and rule.answer is not None and rule.echo is not Echo.NEW:
        yield (
            f'{rule.id}: after the step "{telling[0].value}" the answer {rule.answer.name} carries '
            f"{rule.echo.value} as id, so nobody is told the right one; give it echo=Echo.NEW"
        )
    handing = [do for do in making if do in HANDS_OUT]
    if handing and rule.answer not in {None, Error.MEMBER_ID_REQUIRED}:
        yield (
            f'{rule.id}: the step "{handing[0].value}" needs answer=Error.MEMBER_ID_REQUIRED: '
            "clients take an id from no other error"
        )
    if rule.echo is Echo.SENT:
        return
    if table.name != "JoinGroup" or rule.answer is None:
        yield (
            f"{rule.id}: echo={rule.echo} says which id an error answer to a join carries, and "
            "this rule gives none; leave it out"
        )
    elif rule.echo is Echo.NEW and not telling:
        yield (
            f"{rule.id}: echo=Echo.NEW tells a new id, and no step makes one; add one, such as "
            f"{Do.HAND_OUT_PENDING}, or leave it out"
        )


def misplaced_steps(
    table: Table, points: dict[Point, tuple[Rule, ...]], *, senseless: bool = True
) -> Iterator[str]:
    """Yield the steps that can't be done at a point where their rule applies, each once.

    `points`: the result of `table_soundness.decided`.  `senseless`: also those that the machine
    would do, though it makes no sense.
    """
    places = {id(feature): i for i, feature in enumerate(table.features)}
    reported: set[tuple[str, Do]] = set()
    for point, rules in points.items():
        for rule in rules:
            for do, need, undone in unmet_needs(rule.effect, point, places):
                if need.possible and not senseless:
                    continue
                if rule.defensive is None and (rule.id, do) not in reported:
                    reported.add((rule.id, do))
                    lacks, remedy = f"where {need.lacks}", need.remedy
                    if undone is not None:
                        lacks = f'after the step "{undone.value}", when {need.lacks}'
                        remedy = "put it before that step, or leave one of the two out"
                    yield (
                        f'{rule.id}: the step "{do.value}" can\'t be done {lacks}: '
                        f"{table.describe(point)}; {remedy}"
                    )


def unmet_needs(
    effect: tuple[Do, ...], point: Point, places: Mapping[int, int]
) -> Iterator[tuple[Do, Need, Do | None]]:
    """Yield the unmet needs of steps at a point: the step, the need, the step that undid it.

    `places`: the identity of each feature → its place in the point.
    """

    def at(feature: object) -> Hashable:
        place = places.get(id(feature))
        return None if place is None else point[place]

    mid, subject = at(MID), at(SUBJECT)
    where = Where(
        mid,
        at(INST),
        at(STATE),
        is_member=mid is Mid.MEMBER or subject not in {None, Subject.PENDING},
        is_pending=mid is Mid.PENDING or subject is Subject.PENDING,
        is_delayed=at(DELAY) not in {None, Delay.NONE},
    )
    before = [where]
    for number, do in enumerate(effect):
        for need in NEEDS.get(do, ()):
            if not need.met(before[-1]):
                met = [place for place, value in enumerate(before) if need.met(value)]
                yield do, need, effect[met[-1]] if met and met[-1] < number else None
        before.append(before[-1].after(do))
