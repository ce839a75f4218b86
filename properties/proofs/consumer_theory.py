"""Define the theory of the consumer protocol: its abstract steps and events, and a step in words.

There is one abstract step for each rule: the rule that decides, and its effects in order.  The rows
of a LeaveGroup are steps of their own, of which only the first that removes somebody raises the
epoch.  A commit may store nothing, so its rules have a step without effects, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from fencepost.model.consumer.effect_needs import ANSWERS
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.group import RELEASED_EPOCH
from fencepost.model.consumer.vocabulary import (
    ASSIGNOR,
    BEAT_TABLE,
    CHANGE,
    JOIN_TABLE,
    LEAVE,
    LEAVE_TABLE,
    MID,
    REMOVAL_TABLE,
    TOPIC_IDS,
    Assignor,
    Change,
)
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import BY_ID_SINCE
from fencepost.model.revision import Revision
from fencepost.model.table.table import Rule, Table
from fencepost.properties.claims.consumer_views import words_of
from fencepost.properties.logic import consumer_signature as sig
from fencepost.properties.logic.consumer_signature import E, F, I, P, X
from fencepost.properties.logic.logic import (
    Formula,
    Sort,
    all_of,
    an_epoch,
    any_of,
    exists,
    for_all,
    implies,
    is_now,
    negate,
    same,
    up_to,
)
from fencepost.properties.logic.structures import AbstractStep
from fencepost.properties.proofs.consumer_effects import (
    BEGINS,
    EFFECTS,
    REBALANCE_TIMER_FIRES,
    SESSION_FIRES,
)
from fencepost.properties.proofs.consumer_guards import GUARDS
from fencepost.properties.proofs.counterexamples import ModelReader
from fencepost.properties.proofs.theory import (
    AbstractEffect,
    Effects,
    Lookup,
    Path,
    Stage,
    Theory,
    effects_of,
)
from fencepost.properties.worlds.consumer_abstraction import (
    CONSUMER,
    AbstractConsumerEvent,
    AbstractConsumerGroup,
)

G = an_epoch("g")
AXIOMS = (
    for_all(E, up_to(E, E)),
    for_all(E, F, implies(all_of(up_to(E, F), up_to(F, E)), same(E, F))),
    for_all(E, F, G, implies(all_of(up_to(E, F), up_to(F, G)), up_to(E, G))),
    for_all(E, F, any_of(up_to(E, F), up_to(F, E))),
    negate(up_to(sig.ZERO, sig.RELEASED_AT)),
    for_all(E, any_of(same(E, sig.RELEASED_AT), up_to(sig.ZERO, E))),
)
"""Epochs have an order; -2 is below 0, and nothing else is below 0."""

FIRES = {sig.SESSION_END: SESSION_FIRES, sig.REBALANCE_END: REBALANCE_TIMER_FIRES}
_PARTITION = " partition"
"""The end of the name of a table that decides on one partition of a commit."""
RUNS = {
    **dict.fromkeys(
        (f"{api}{_PARTITION}" for api in ("OffsetCommit", "TxnOffsetCommit")),
        all_of(sig.EXISTS.now(), sig.has_members()),
    ),
    sig.SESSION_END: sig.SESSION.now(sig.CALLER),
    sig.REBALANCE_END: sig.HURRIED.now(sig.CALLER),
    sig.CLEANUP: all_of(sig.EXISTS.now(), negate(sig.has_members()), negate(sig.OFFSETS.now())),
}
MAY_DO_NOTHING = frozenset({Do.STORE_OFFSETS, Do.REMOVE_NAMED_OFFSETS})
"""Steps that leave all as it is where each partition is refused, or has no offset."""


def paths(revision: Revision, overrides: Effects) -> tuple[Path, ...]:
    """Return every abstract step of a revision.  `overrides`: effects that it changes."""
    effects = {**EFFECTS, **overrides}
    unknown = frozenset(revision.twists) - overrides.keys()
    return tuple(
        path
        for table in revision.tables.values()
        if _is_used(revision, table)
        for rule in table.rules()
        for path in _of_rule(
            table, rule, *effects_of(rule, effects, unknown), tuple(_carried(revision, table))
        )
    )


def _carried(revision: Revision, table: Table) -> Iterator[Formula]:
    """Yield what no version of a revision's request can carry: up to version 9, no topic ids."""
    if TOPIC_IDS in table.features and revision.apis[table.name][1] < BY_ID_SINCE:
        yield negate(is_now(TOPIC_IDS, True))


def _is_used(revision: Revision, table: Table) -> bool:
    """Return True if a table is used: one of partitions, if commits are decided by them."""
    of_commits = revision.tables.get(table.name.removesuffix(_PARTITION), table)
    by_partition = any(Do.ANSWER_PARTITIONS in rule.effect for rule in of_commits.rules())
    return of_commits is table or by_partition


def _of_rule(
    table: Table,
    rule: Rule,
    own: tuple[AbstractEffect, ...],
    unknown: tuple[Any, ...],
    carried: tuple[Formula, ...],
) -> Iterator[Path]:
    conditions = [GUARDS.decides(table, rule), GUARDS.feasible(table.features), *carried]
    if table.name in RUNS:
        conditions.append(RUNS[table.name])
    fires = (FIRES[table.name],) if table.name in FIRES else ()
    naming = MID in table.features
    path = Path(
        table.name,
        rule,
        None,
        (Stage(tuple(conditions), (*fires, *own)),),
        answer_of(rule),
        naming=naming,
        unknown=unknown,
    )
    yield path
    if MAY_DO_NOTHING & set(rule.effect):
        yield replace(path, stages=(Stage(tuple(conditions)),), unknown=())


def answer_of(rule: Rule) -> Error | None:
    """Return the error, or NONE, of the answer; None: there is none."""
    return Error.NONE if rule.answer is None and ANSWERS & set(rule.effect) else rule.answer


def _lookups(table: Table) -> Iterator[Lookup]:
    yield table.name, {}, True


def _named(table: str) -> Formula:
    if table in FIRES:
        return same(X, sig.CALLER)
    by_instance = all_of(
        negate(sig.MID_GIVEN.now()), sig.INST_GIVEN.now(), sig.HOLDS.now(sig.INST, X)
    )
    return any_of(sig.is_caller(X), by_instance)


def _begins(path: Path) -> AbstractEffect:
    """Return what a step knows; of a row, not whether one before it raised the epoch."""
    return BEGINS.without(sig.BUMPED.name) if path.table == REMOVAL_TABLE else BEGINS


_FRESH = implies(
    negate(sig.MID_GIVEN.now()),
    negate(any_of(sig.MEMBER.now(sig.CALLER), exists(I, sig.HOLDS.now(I, sig.CALLER)))),
)
"""An id that the coordinator makes is nobody's."""


def _assumes(path: Path) -> Iterator[Formula]:
    if path.table not in FIRES:
        yield _FRESH
    if not path.naming:
        yield from (negate(flag.now()) for flag in (sig.MID_GIVEN, sig.INST_GIVEN))


_SIZES = ((1, 1, 1, 3), (1, 1, 1, 4), (2, 1, 1, 4), (2, 2, 1, 4), (2, 2, 2, 5), (3, 2, 2, 5))
_QUIET = (
    negate(sig.OFFSETS.now()),
    *(
        negate(exists(X, relation.now(X)))
        for relation in (sig.UNREVOKED, sig.UNRELEASED, sig.HURRIED)
    ),
    *(
        negate(exists(X, P, relation.now(X, P)))
        for relation in (sig.REVOKING, sig.TARGET, sig.ASSIGNED)
    ),
    negate(exists(X, I, sig.SEAT.now(X, I))),
)


def _read(reader: ModelReader, path: Path) -> AbstractStep:
    scene = reader.scene
    is_naming = path.naming
    event = AbstractConsumerEvent(
        path.table,
        path.rule.id,
        path.answer,
        the_caller=reader.term(sig.CALLER) if is_naming or path.table in FIRES else "",
        the_instance_sent=reader.term(sig.INST) if reader.flag(sig.INST_GIVEN) else None,
        the_epoch_sent=reader.term(sig.SENT) if path.table == BEAT_TABLE else 0,
        named=reader.held(sig.NAMED, scene.event[sig.NAMED.name]),
        mid_given=reader.flag(sig.MID_GIVEN),
        owned_given=reader.flag(sig.OWNED_GIVEN),
        owned=reader.held(sig.OWNED, scene.event[sig.OWNED.name]),
        subscribed=reader.held(sig.SUBSCRIBED, scene.event[sig.SUBSCRIBED.name]),
        of_classic=reader.flag(sig.OF_CLASSIC),
        subscription=reader.free(CHANGE, Change.MEANINGLESS),
        assignor=reader.free(ASSIGNOR, Assignor.KNOWN),
        epoch=reader.free(LEAVE),
    )
    before, after = (
        AbstractConsumerGroup(**reader.group(symbols)) for symbols in (scene.now, scene.then)
    )
    return AbstractStep(before, event, after)


def _words(step: AbstractStep, rules: tuple[str, ...]) -> tuple[str, ...]:
    return (
        f"before: {_group_words(step.before)}",
        f"then: {_event_words(step.event)}, by {' and '.join(rules)}",
        f"after: {_group_words(step.after)}",
    )


def _group_words(group: AbstractConsumerGroup) -> str:
    if not group.exists:
        return "there is no group"
    parts = [f"epoch {_epochs(group.group_at)}, target of {_epochs(group.target_at)}"]
    parts += [_member_words(group, member_id) for member_id in sorted(group.member)]
    if not group.member:
        parts.append("no members")
    parts += [f"{instance} is mapped to {member_id}" for instance, member_id in sorted(group.holds)]
    parts += [
        f"the target gives {member_id} {words_of(p)}" for member_id, p in sorted(group.target)
    ]
    idle = sorted(group.member - group.session)
    parts += [f"no session timer runs for {member_id}" for member_id in idle]
    strays = sorted(group.session - group.member)
    parts += [f"a session timer runs for {member_id}, no member" for member_id in strays]
    return "; ".join(parts)


def _member_words(group: AbstractConsumerGroup, member_id: str) -> str:
    epochs = [epoch for other, epoch in group.at if other == member_id]
    seats = sorted(instance for other, instance in group.seat if other == member_id)
    says = [f"has {' and '.join(seats)}" if seats else "is dynamic"]
    says += ["is released" if RELEASED_EPOCH in epochs else f"is at epoch {_epochs(epochs)}"]
    for rows, words in ((group.assigned, "is assigned"), (group.revoking, "is to give up")):
        mine = [words_of(p) for other, p in sorted(rows) if other == member_id]
        says += [f"{words} {', '.join(mine)}"] if mine else []
    for ids, words in (
        (group.unrevoked, "has still to confirm that it gave them up"),
        (group.unreleased, "waits for others"),
        (group.hurried, "has a rebalance timer"),
    ):
        says += [words] if member_id in ids else []
    return f"{member_id} {', '.join(says)}"


def _epochs(epochs: Any) -> str:
    return " and ".join(map(str, sorted(epochs))) or "none"


_KINDS = {JOIN_TABLE: "a join", BEAT_TABLE: "a heartbeat", LEAVE_TABLE: "a leave"}


def _event_words(event: AbstractConsumerEvent) -> str:
    says = [_KINDS.get(event.event, event.event)]
    if event.event in FIRES:
        return f"{event.event} of {event.the_caller}"
    if event.event == REMOVAL_TABLE:
        says = ["LeaveGroup, a row"]
    if event.mid_given:
        says.append(f"of {event.the_caller}")
    elif event.event == JOIN_TABLE:
        says.append(f"without an id, which gets {event.the_caller},")
    if event.the_instance_sent is not None:
        says.append(f"with instance {event.the_instance_sent}")
    if event.event == JOIN_TABLE and event.of_classic:
        says.append("whose holder is of the classic protocol")
    if event.event == BEAT_TABLE:
        says.append(f"at epoch {event.the_epoch_sent}")
    if event.event == LEAVE_TABLE and event.epoch is not None:
        says.append(f"({event.epoch.value})")  # type: ignore[attr-defined]
    if event.answer is not None:
        says.append(f"answered {event.answer.name}")
    return " ".join(says)


CONSUMER_THEORY = Theory(
    abstraction=CONSUMER,
    guards=GUARDS,
    runs=RUNS,
    lookups=_lookups,
    paths=paths,
    event=lambda path: path.table,
    named=_named,
    begins=_begins,
    assumes=_assumes,
    sizes=tuple(dict(zip(Sort, sizes, strict=True)) for sizes in _SIZES),
    quiet=_QUIET,
    first=(sig.MEMBER,),
    read=_read,
    words=_words,
    axioms=AXIOMS,
)
"""All that proofs need of the consumer protocol."""
