"""Make `docs/designers/steps.md`: the parts of a revision and its file, in detail.

`python -m tools.docs.steps_page docs/designers/steps.md` writes it.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Collection, Iterator
from dataclasses import is_dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from fencepost.conformance.targets.target_registry import DEFAULT_REVISION, find_revision
from fencepost.model.classic import perform, vocabulary
from fencepost.model.classic.cells import COLUMNS
from fencepost.model.classic.effect_needs import HOME, NEEDS, TABLES, rule_needs
from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import Group, InitialDelay, Member, Offset, ParkedRequest
from fencepost.model.revision import DropRule, SetRule
from fencepost.model.table import shared_features
from fencepost.model.table.expr import Column, Feature
from fencepost.model.table.shared_features import Word
from fencepost.model.table.table import Echo, OwnStep, Rule
from fencepost.model.work import Emission, Incoming, Timer
from fencepost.properties.checking.checking import acts_of_none
from fencepost.properties.checking.liveness import Fair, Promise
from fencepost.properties.logic import classic_signature, consumer_signature
from fencepost.properties.logic.logic import Property, Relation
from fencepost.properties.worlds.protocol_worlds import (
    FRESH,
    NOW,
    REBALANCE_MS,
    SESSION_MS,
    TICK_MS,
    Seat,
)
from fencepost.properties.worlds.scope import ALL_ACTS, CHECK_SCOPES, RARE_SCOPES, NamedScope, Scope
from fencepost.properties.worlds.views import Event, Failover, StepView, WorldView
from fencepost.properties.worlds.world_client import Client

VOCABULARIES = vocabulary.__name__, shared_features.__name__
_TITLE = f"""\
# Steps, columns, views

<!-- Made by `python -m tools.docs.steps_page docs/designers/steps.md`; \
don't edit. -->

This reference is for protocol designers who write [a revision of their own](own-revision.md). It
lists everything that a rule, a property and a world can use.

Import the steps, the classes of a revision and the most frequent values from `fencepost.model`, and
properties, worlds and promises from `fencepost.properties`. All values are in
`{VOCABULARIES[0]}` and `{VOCABULARIES[1]}`.
"""

_STEPS = f"""\
## Steps

The effect of a rule is a tuple of members of `Do`. The machine performs them in this order. *Needs*
is the precondition of a step: fencepost rejects a revision in which a rule can reach the step
without it. A step below the heading of a table works in that table only.

*The caller* is the member that the request is about. A step that adds or replaces a member, or
hands out an id, makes this member the caller for the next steps. *Used by* names a rule of
`{DEFAULT_REVISION}` as an example: see `fencepost explain ID`.
"""

_ECHO = """\
## Answers

A rule has either a step that answers or parks the request, or an `answer`, a member of `Error`.
The field `echo` is only for error answers to a join. It selects the member id in the answer.

| `echo` | the answer carries |
|---|---|"""

_COLUMNS = """\
## Columns

These are the arguments of `when`, for example `when(mid=Mid.EMPTY, inst=(Inst.OWN, Inst.OTHER))`.
Several values mean any of them. A column that isn't named may have any value. Each table has some
of these columns. The column `version` takes a condition, `version=VERSION.at_least(4)`, with the
`VERSION` of the table's module (`from fencepost.model.classic.rules.join import VERSION`).

`mid` and `inst` describe the *request*: a static member that doesn't send its instance id has
`Inst.NONE`, like a dynamic one. `membership` describes the member with this id, so a rule for
dynamic members needs `membership=Membership.DYNAMIC`. A table has `membership` as soon as one of
your rules uses it, like [a column of your own](own-revision.md#a-column-and-a-step-of-your-own).

| column | values | about |
|---|---|---|"""

_CLASSES = """\
## Classes of a revision and its file

`derive(base, name, about, differences)` makes a revision; each difference is a `SetRule` or a
`DropRule`. `all_of`, `any_of` and `negate` combine conditions. The file may have the tuples
`PROPERTIES`, `WORLDS` and `PROMISES`.

A rule with an answer and no effect ignores a request. In this example, a dynamic member of a stable
group leaves: `IGNORE` answers NONE and changes nothing, and `REST` is the old rule for all other
situations. (`check` finds that this is not safe.)

```python
from fencepost.model import KAFKA_4, Error, GroupState, Inst, Membership, Mid, Rule, SetRule
from fencepost.model import all_of, derive, negate, when

IGNORED = when(
    membership=Membership.DYNAMIC, mid=Mid.MEMBER, inst=Inst.NONE, state=GroupState.STABLE
)
IGNORE = Rule(
    "LEAVE-IGNORED", IGNORED, answer=Error.NONE, source="our note", because="it may come back"
)
OLD = KAFKA_4.rule("LEAVE-MEMBER")
REST = OLD.but(guard=all_of(OLD.guard, negate(IGNORED)))
DIFFERENCES = tuple(SetRule("LeaveGroup member", rule, "our note") for rule in (IGNORE, REST))
OURS = derive(KAFKA_4, "ours", "a dynamic member doesn't leave a stable group", DIFFERENCES)
```
"""

_VIEWS = f"""\
## Arguments of a property

A property of kind `PropertyKind.STEP` takes a `StepView`, one of kind `PropertyKind.STATE` a
`WorldView`. Neither can be changed. The request of a step has the id `{NOW}`, and a member id that
the step makes is called `{FRESH}`. In worlds, a member id has the name of its owner: `A.1`. What
fencepost prints has the ids of the run: `A-1`.
"""

_FORMULAS = """\
## Formulas

A property with a `formula` in place of `holds` is explored, and proved for any number of members.
Its premise is a formula, too. Connectives are in `fencepost.properties.logic.logic`: `all_of`,
`any_of`, `negate`, `implies`, `iff`, `same`, `for_all`, `exists`, `an_id`, `an_instance`, `is_now`,
`is_then`. Relations are in `fencepost.properties.logic.classic_signature`, of the consumer protocol
in `fencepost.properties.logic.consumer_signature`; there are no deadlines and no bytes.
`MEMBER.now(x)` is true before the step, `MEMBER.then(x)` after it. For example, no step removes a
member: `X = an_id("x")`, `for_all(X, implies(MEMBER.now(X), MEMBER.then(X)))`.

| relation | of | meaning |
|---|---|---|"""

_OF_EVENTS = """
For the step there are the terms `MID` and `INST` (in the request), `FRESH` (the new id) and
`SUBJECT` (of the timer), and `is_now(EVENT, …)` with the name of a table, `is_now(RULE, …)` with
the id of a rule, `is_now(ANSWER, …)` with a member of `Error`. For the group there are
`is_now(STATE, …)` with a `GroupState`, and the numbers `GENERATION` and `STORED_GENERATION`.
"""

_OF_CONSUMERS = """\
Of the consumer protocol:

| relation | of | meaning |
|---|---|---|"""

_OF_HEARTBEATS = """
Here the terms of the step are `CALLER` (the id in the request, the new one, or the timer's), `INST`
and `SENT` (the epoch in the request), and `RELEASED_AT` and `ZERO` are epochs. Epochs have an
order: `up_to(e, f)`, `below(e, f)`.
"""

_WORLDS = f"""\
## The worlds of a check

The *acts* of a world are the events that may happen in it. With each `tick`, {TICK_MS:,} ms pass.
Each client has a session timeout (S) of {SESSION_MS:,} ms and
a rebalance timeout (R) of {REBALANCE_MS:,} ms; in a scope with uneven timeouts, those of every
second client are twice as long. `group.initial.rebalance.delay.ms` is 0 unless a scope has a delay.
A member whose first join is not yet complete has a session of 300,000 ms.

Member ids, generations and restarts have no bound, because worlds that differ only in these numbers
count as one. So without `failover` the generation of a group is always 1: a rule or a column must
compare two generations, those of the request and of the group, and not one with a number.

These are the worlds of `fencepost check`; `--question NAME` selects one. `check` explores each
breadth first and shows the shortest run of all worlds. (A run that repeats for ever is not always
the shortest.)

| question | about | clients | acts |
|---|---|---|---|"""

_RARE = """
If [a rule of your own](own-revision.md#check-whether-your-rules-were-tested) decides nothing in
these worlds, `check` explores the following ones until the rule decides something. `--question`
selects them, too.

| question | about | clients | acts |
|---|---|---|---|"""

_ACTS = """
| act | meaning |
|---|---|"""

_NEVER = """
A check covers only the requests of these clients. No world of the first table has the acts {}.
A static member sends its instance id in every request except `quit`. No client names the id or the
instance of another client. All but the `old` ones speak the highest versions of the revision. For
other acts, more members or old versions, add
[a world of your own](properties.md#a-world-of-your-own), for example `Scope(clients=3, instances=3,
members=3, old=1, acts=("join", "stranger", "sync"))`.
"""

_BESIDES = {
    Do.COMPLETE_JOIN: "The session timers of all members restart, also of an absent static member, "
    "whose join is not parked."
}
"""Effects of a step beside its sentence and its docstring."""
_NEWS = 4
"""The least number of own words of a docstring that adds to the step's sentence."""
_WRITTEN = (SetRule, DropRule, Rule, Column, OwnStep, Property, NamedScope, Scope, Promise, Fair)
_VIEWED = (
    StepView,
    WorldView,
    Failover,
    Incoming,
    Emission,
    Group,
    Member,
    Timer,
    ParkedRequest,
    InitialDelay,
    Offset,
    Seat,
    Client,
)


def page() -> str:
    """Make the page."""
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    yield from (_TITLE, _STEPS)
    homes = sorted(set(HOME.values()), key=lambda tables: list(TABLES).index(tables[0]))
    for tables in (*homes, ()):
        yield f"### {'In table ' + ' and '.join(tables) if tables else 'In any table'}\n"
        yield from (_step(do) for do in Do if HOME.get(do, ()) == tables)
    yield _ECHO
    yield from (f"| `{echo}` | {echo.value} |" for echo in Echo)
    yield from ("", _COLUMNS)
    yield from (
        f"| `{name}` | {_values(feature)} | {feature.about} |"
        for name, feature in COLUMNS.features.items()
    )
    for intro, classes in ((_CLASSES, _WRITTEN), (_VIEWS, _VIEWED)):
        yield from ("", intro)
        for view in classes:
            yield from _view(view)
    yield _FORMULAS
    yield from _relations(classic_signature)
    yield _OF_EVENTS
    yield _OF_CONSUMERS
    yield from _relations(consumer_signature)
    yield _OF_HEARTBEATS
    yield _WORLDS
    yield from map(_world, CHECK_SCOPES)
    yield _RARE
    yield from map(_world, RARE_SCOPES)
    yield _ACTS
    yield from (f"| `{act}` | {about} |" for act, about in ALL_ACTS.items())
    undone = acts_of_none(named.scope for named in CHECK_SCOPES)
    yield _NEVER.format(", ".join(f"`{act}`" for act in undone))


def _relations(signature: ModuleType) -> Iterator[str]:
    for name, relation in vars(signature).items():
        if isinstance(relation, Relation):
            terms = ", ".join(sort.value for sort in relation.sorts) or "no term"
            yield f"| `{name}` | {terms} | {relation.words.format('x', 'y')} |"


def _world(named: NamedScope) -> str:
    scope = named.scope
    who = f"{scope.clients}, {scope.dynamic} of them dynamic" if scope.dynamic else scope.clients
    return f"| `{named.name}` | {named.about} | {who} | {', '.join(scope.acts)} |"


def _step(do: Do) -> str:
    """Describe a step: its sentence, its docstring, its needs, its users."""
    parts = [f"{do.value}.".replace("|", "or")]
    effect = getattr(perform, do.name.lower(), None)
    doc = _plain(inspect.getdoc(effect) or "")
    if len(set(_words(doc)) - set(_words(do.value))) > _NEWS:
        parts.append(doc)
    parts += [_BESIDES[do]] if do in _BESIDES else []
    needs = [*(need.says for need in NEEDS.get(do, ())), *rule_needs(do)]
    if needs:
        parts.append(f"*Needs* {'; '.join(needs)}.")
    users = [rule.id for _, rule in find_revision(DEFAULT_REVISION).rules() if do in rule.effect]
    parts.append(f"*Used by* `{users[0]}`." if users else "*Used by* drafts or experiments only.")
    return f"**`{do}`**: {' '.join(parts)}\n"


def _words(text: str) -> list[str]:
    return [word.strip(".,:;").casefold() for word in text.split()]


def _plain(text: str) -> str:
    """Return a docstring in one line."""
    return " ".join(text.split())


def _values(feature: Feature) -> str:
    if len({type(value) for value in feature.domain}) == 1 and isinstance(feature.domain[0], Word):
        return ", ".join(f"`{value}`" for value in feature.domain)
    return ", ".join(f"`{value!r}`" for value in feature.domain)


def _view(view: type) -> Iterator[str]:
    """Describe a record: its docstring, its fields with their types, its methods."""
    if issubclass(view, Enum):
        types: dict[str, Any] = dict.fromkeys(view.__members__, "")
    else:
        records = [view, *(base for base in view.__bases__ if is_dataclass(base))]
        types = {n: kind for record in records[::-1] for n, kind in record.__annotations__.items()}
    intro, about = _described(inspect.getdoc(view) or "", types)
    yield from (f"### {view.__name__}", "", *(line for text in intro for line in (text, "")))
    yield from ("| field | type | meaning |", "|---|---|---|") if types else ()
    for name, kind in types.items():
        kind_text = str(getattr(kind, "__forward_arg__", kind)).replace("|", "or")
        if kind_text == "Event":
            kind_text = " or ".join(event.__name__ for event in get_args(Event))
        yield f"| `{name}` | {kind_text} | {about.get(name, '')} |"
    for name, member in vars(view).items():
        if name.startswith(("_", "with", "as_stored")) or name in types:
            continue  # methods that make a changed group are for the machine
        if isinstance(member, property | cached_property):
            yield f"| `{name}` | | {_plain(inspect.getdoc(member) or '')} |"
        elif inspect.isfunction(member) and inspect.getdoc(member):
            parameters = ", ".join([*inspect.signature(member).parameters][1:])
            yield f"| `{name}({parameters})` | | {_plain(inspect.getdoc(member) or '')} |"
    yield ""


def _described(doc: str, fields: Collection[str]) -> tuple[list[str], dict[str, str]]:
    """Split a docstring into paragraphs, and the description of each field: "`name`: …"."""
    intro, about = [], {}
    name = "|".join(fields) or "-"
    for paragraph in doc.split("\n\n"):
        first, *rest = re.split(rf"((?:`(?:{name})`(?:, )?)+): ", _plain(paragraph))
        if first.strip():
            intro.append(first.strip())
        for names, text in zip(rest[::2], rest[1::2], strict=True):
            about.update(dict.fromkeys(re.findall(r"`(\w+)`", names), text.strip(" ;")))
    return intro, about


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8", newline="\n")
