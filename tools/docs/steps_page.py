"""Make `docs/designers/steps.md`: the language of rules and properties of one's own.

`python -m tools.docs.steps_page docs/designers/steps.md` writes it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from fencepost.conformance.targets.target_registry import DEFAULT_REVISION, find_revision
from fencepost.model.classic import perform, vocabulary
from fencepost.model.classic.cells import COLUMNS
from fencepost.model.classic.effect_needs import HOME, NEEDS, TABLES, rule_needs
from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import Group, InitialDelay, Member, Offset, ParkedRequest
from fencepost.model.table import shared_features
from fencepost.model.table.expr import Feature
from fencepost.model.table.shared_features import Word
from fencepost.model.table.table import Echo
from fencepost.model.work import Emission, Incoming, Timer
from fencepost.properties.checking.checking import acts_of_none
from fencepost.properties.logic import classic_signature
from fencepost.properties.logic.logic import Relation
from fencepost.properties.worlds.canonical import FRESH, NOW
from fencepost.properties.worlds.scope import ALL_ACTS, CHECK_SCOPES, RARE_SCOPES, NamedScope
from fencepost.properties.worlds.views import Event, Failover, StepView, WorldView
from fencepost.properties.worlds.world_client import (
    REBALANCE_MS,
    SESSION_MS,
    TICK_MS,
    Client,
    Seat,
)

VOCABULARIES = vocabulary.__name__, shared_features.__name__
_TITLE = f"""\
# Steps, columns, views

<!-- Made by `python -m tools.docs.steps_page docs/designers/steps.md`; \
don't edit. -->

What [a revision and a property of your own](own-revision.md) are written with. Steps, rules and
the values that most rules need are in `fencepost.model`, all values in
`{VOCABULARIES[0]}` and `{VOCABULARIES[1]}`. What a
property sees is handed to it: of those classes you need no name but for annotations.
"""

_STEPS = f"""\
## Steps

The effect of a rule is a tuple of members of `Do`, performed in this order. A step *needs*
something where it is done: a revision whose rule could come to a point where this is not so is
refused when it is loaded. A step that has a table can be used in that table only.

"The caller" is the member that the request is about. A step that adds or replaces a member, or
hands out an id, makes that one the caller for the steps after it. *Used by* names rules of
`{DEFAULT_REVISION}`, for an example: `fencepost explain ID`.
"""

_ECHO = """\
## Answers

A rule has either a step that answers or parks the request, or an `answer`, a member of `Error`.
An error answer to a join carries a member id: `echo` says which one. It is for such rules alone.

| `echo` | the answer carries |
|---|---|"""

_COLUMNS = f"""\
## Columns

What `when(…)` takes: `when(mid=Mid.EMPTY, inst=(Inst.OWN, Inst.OTHER))`. Several values: any of
them. A column that is left out doesn't matter. Each table has some of these columns, and `version`,
which takes a condition: `version=VERSION.at_least(4)`, with the `VERSION` of the table's own module
(`from fencepost.model.classic.rules.join import VERSION`).

`mid` and `inst` are about what the *request* names: a static member that leaves its instance out
has `Inst.NONE`, as a dynamic one has. `membership` is about the member of that id. No table of
`{DEFAULT_REVISION}` asks for it; a table has it where a rule of yours does, and so it has
[a column of your own](own-revision.md#a-column-and-a-step-of-your-own).

| column | values | about |
|---|---|---|"""

_VIEWS = f"""\
## What a property sees

A property of kind `PropertyKind.STEP` is given a `StepView`, one of kind `PropertyKind.STATE` a
`WorldView`. Both hold values that don't change; look, and don't write. The request of a step has
the id `{NOW}`, and a member id that is made in it is called `{FRESH}`; in worlds, ids are called
after who got them: `A.1`.
"""

_FORMULAS = """\
## Formulas

A property with a `formula` in place of `holds` is explored, and proved for any number of members.
Connectives are in `fencepost.properties.logic.logic`: `all_of`, `any_of`, `negate`, `implies`,
`iff`, `same`, `for_all`, `exists`, `an_id`, `an_instance`, `is_now`, `is_then`. Relations are in
`fencepost.properties.logic.classic_signature`; there are no deadlines and no bytes.
`MEMBER.now(x)` is so before the step, `MEMBER.then(x)` after it. The premise of a formula is a
formula.

| relation | of | says |
|---|---|---|"""

_OF_EVENTS = """
Of the step: the terms `MID`, `INST` (what the request names), `FRESH` (the id that is handed out),
`SUBJECT` (whose timer fires); `is_now(EVENT, …)` with the name of a table, `is_now(RULE, …)` with
the id of a rule, `is_now(ANSWER, …)` with a member of `Error`. Of the group: `is_now(STATE, …)`
with a `GroupState`, and the numbers `GENERATION` and `STORED_GENERATION`.
"""

_WORLDS = f"""\
## The worlds of a check

Time passes in ticks of {TICK_MS:,} ms. Each client has a session timeout (S) of {SESSION_MS:,} ms
and a rebalance timeout (R) of {REBALANCE_MS:,} ms; where a scope has uneven timeouts, those of its
last client are longer. `group.initial.rebalance.delay.ms` is 0 unless a scope has a delay. A member
whose first join is not yet complete has 300,000 ms. Member ids, generations and how often a client
restarts have no bound: worlds that differ only in the numbers of generations are one. So the group
of a world without `failover` is always of generation 1, and a column that compares the generation
with a number has the same value everywhere. Compare two generations: the request's and the group's.

These are the scopes of `fencepost check --question NAME`. Each is explored to its end, breadth
first, so the run that shows a violation is one of the shortest in its scope, and of all scopes the
shortest is shown. (A run that goes on for ever is not always the shortest.)

| question | about | clients | what may happen |
|---|---|---|---|"""

_RARE = """
These are explored for [a row of your own](own-revision.md#is-it-safe) that decides nothing in the
others: for each such row the first in which it does. All of them can be named by `--question`.

| question | about | clients | what may happen |
|---|---|---|---|"""

_ACTS = """\

| act | |
|---|---|"""

_NEVER = """
Nothing is known of what no client does. Acts in none of the worlds of each check: {}. Nor does a
client send what no act says: a static member leaves its instance out of `quit` alone, not of its
joins, syncs, heartbeats and commits; nobody names another client's id or instance; and all but the
`old` ones speak the highest versions of the revision. For other acts, more members or old versions,
add [a world of your own](own-revision.md#a-world-of-your-own): `Scope(clients=3, instances=3,
members=3, old=1, acts=("join", "stranger", "sync"))`, say.
"""

_BESIDES = {
    Do.COMPLETE_JOIN: "The session timers of all members restart, also of a static one that is "
    "absent, whose join is not parked."
}
"""Effects of a step beside its sentence and its docstring."""
_NEWS = 4
"""The least number of own words of a docstring that adds to the step's sentence."""
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
    yield from ("", _VIEWS)
    for view in _VIEWED:
        yield from _view(view)
    yield _FORMULAS
    for name, relation in vars(classic_signature).items():
        if isinstance(relation, Relation):
            terms = ", ".join(sort.value for sort in relation.sorts) or "no term"
            yield f"| `{name}` | {terms} | {relation.words.format('x', 'y')} |"
    yield _OF_EVENTS
    yield _WORLDS
    yield from map(_world, CHECK_SCOPES)
    yield _RARE
    yield from map(_world, RARE_SCOPES)
    yield _ACTS
    yield from (f"| `{act}` | {about} |" for act, about in ALL_ACTS.items())
    undone = acts_of_none(named.scope for named in CHECK_SCOPES)
    yield _NEVER.format(", ".join(f"`{act}`" for act in undone))


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
    parts.append(f"*Used by* `{users[0]}`." if users else "*Used by* drafts or experiments alone.")
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
    doc = _plain(inspect.getdoc(view) or "")
    types = view.__annotations__
    yield from (f"### {view.__name__}", "", doc, "")
    yield from ("| field | type |", "|---|---|") if types else ()
    for name, kind in types.items():
        kind_text = str(getattr(kind, "__forward_arg__", kind)).replace("|", "or")
        if kind_text == "Event":
            kind_text = " or ".join(event.__name__ for event in get_args(Event))
        yield f"| `{name}` | {kind_text} |"
    for name, member in vars(view).items():
        if name.startswith(("_", "with", "as_stored")) or name in types:
            continue  # methods that make a changed group are for the machine
        if isinstance(member, property):
            yield f"| `{name}` | {_plain(inspect.getdoc(member) or '')} |"
        elif inspect.isfunction(member) and inspect.getdoc(member):
            parameters = ", ".join([*inspect.signature(member).parameters][1:])
            yield f"| `{name}({parameters})` | {_plain(inspect.getdoc(member) or '')} |"
    yield ""


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8", newline="\n")
