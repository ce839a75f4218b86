"""Define the theory of the classic protocol: its events and assumptions, and a step in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fencepost.model.classic.vocabulary import (
    SELECTION,
    STATE,
    SUBSCRIPTION,
    TRIGGER,
    Change,
    GroupState,
    Trigger,
)
from fencepost.model.history.events import OPERATED
from fencepost.model.table.table import Table
from fencepost.properties.claims.invariants import WITHIN_A_BATCH
from fencepost.properties.logic import classic_signature as sig
from fencepost.properties.logic.classic_signature import (
    FAILOVER,
    JOIN_PHASE,
    LEAVE_ROW,
    RETENTION,
    SYNC_PHASE,
    X,
)
from fencepost.properties.logic.logic import (
    FALSE,
    Formula,
    Property,
    Sort,
    all_of,
    any_of,
    exists,
    for_all,
    implies,
    is_now,
    negate,
    same,
)
from fencepost.properties.logic.structures import AbstractStep
from fencepost.properties.proofs.abstract_guards import GUARDS
from fencepost.properties.proofs.abstract_steps import RUNS, paths
from fencepost.properties.proofs.counterexamples import ModelReader
from fencepost.properties.proofs.theory import (
    AbstractEffect,
    Lookup,
    Path,
    Theory,
    becomes,
)
from fencepost.properties.worlds.abstraction import CLASSIC, AbstractEvent, AbstractGroup

_NOBODYS = frozenset({JOIN_PHASE, SYNC_PHASE, *OPERATED, sig.CLEANUP, RETENTION})


def _event(path: Path) -> str:
    return "LeaveGroup" if path.at_the_end else path.table


def _named(table: str) -> Formula:
    if table == sig.SESSION_END:
        return same(X, sig.SUBJECT)
    by_instance = all_of(
        negate(sig.MID_GIVEN.now()), sig.INST_GIVEN.now(), sig.HOLDS.now(sig.INST, X)
    )
    return any_of(sig.is_mid(X), by_instance)


def _caller(path: Path) -> Formula:
    if path.table == sig.SESSION_END:
        return same(X, sig.SUBJECT)
    return FALSE if path.table in _NOBODYS else sig.is_mid(X)


def _begins(path: Path) -> AbstractEffect:
    caller = becomes(sig.CALLER, X, _caller(path))
    return AbstractEffect(
        (caller,) if path.is_of_a_batch else (caller, becomes(sig.DEFERRED, FALSE))
    )


FRESH_IS_NOBODYS = for_all(
    X,
    implies(
        same(X, sig.FRESH),
        negate(
            any_of(
                sig.MEMBER.now(X),
                sig.PENDING.now(X),
                sig.STORED_MEMBER.now(X),
                sig.is_mid(X),
            )
        ),
    ),
)
"""The assumption on fresh ids: nobody has one, stored or live, and no client can send one."""


def _assumes(path: Path) -> Iterator[Formula]:
    yield FRESH_IS_NOBODYS
    if not path.naming or path.at_the_end:
        yield from (negate(flag.now()) for flag in (sig.MID_GIVEN, sig.INST_GIVEN))


def _lookups(table: Table) -> Iterator[Lookup]:
    if TRIGGER not in table.features:
        yield table.name, {}, True
        return
    for trigger in (Trigger.CHECK, Trigger.EXPIRY):  # a look after a step: nothing is assumed
        yield f"{table.name} ({trigger.value})", {TRIGGER: trigger}, trigger is not Trigger.CHECK


_SETTLED = is_now(STATE, GroupState.COMPLETING, GroupState.STABLE)


def _weaker(claim: Property, formula: Formula) -> Formula:
    if claim.id not in WITHIN_A_BATCH:
        return formula
    return any_of(all_of(sig.DEFERRED.now(), _SETTLED), formula)


_SIZES = ((1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (4, 2), (5, 3))
_QUIET: tuple[Formula, ...] = (
    is_now(sig.STORED_STATE, GroupState.ABSENT),
    negate(sig.OFFSETS.now()),
    negate(sig.DELAYED.now()),
    negate(sig.SYNC_TIMER.now()),
    *(
        negate(exists(X, relation.now(X)))
        for relation in (sig.PENDING, sig.NEW, sig.SYNCING, sig.PARKED, sig.OWES)
    ),
    negate(exists(X, sig.I, sig.SEAT.now(X, sig.I))),
)


def _read(reader: ModelReader, path: Path) -> AbstractStep:
    by_name = path.naming and not path.at_the_end
    timed = path.table == sig.SESSION_END
    named = reader.held(sig.NAMED, reader.scene.event[sig.NAMED.name])
    event = AbstractEvent(
        _event(path),
        path.rule.id,
        path.answer,
        reader.term(sig.MID) if by_name and reader.flag(sig.MID_GIVEN) else "",
        reader.term(sig.INST) if by_name and reader.flag(sig.INST_GIVEN) else None,
        reader.term(sig.FRESH) if by_name else "",
        reader.term(sig.SUBJECT) if timed else "",
        named if by_name or timed else frozenset(),
        reader.free(SELECTION, Change.MEANINGLESS),
        reader.free(SUBSCRIPTION, Change.MEANINGLESS),
    )
    before, after = (
        AbstractGroup(**reader.group(symbols)) for symbols in (reader.scene.now, reader.scene.then)
    )
    return AbstractStep(before, event, after)


def _words(step: AbstractStep, rules: tuple[str, ...]) -> tuple[str, ...]:
    event = step.event
    if event.the_fresh_id not in step.after.member | step.after.pending:
        event = replace(event, the_fresh_id="")
    return (
        f"before: {_group_words(step.before)}",
        f"then: {_event_words(event)}, by {' and '.join(rules)}",
        f"after: {_group_words(step.after)}",
    )


def _group_words(group: AbstractGroup) -> str:
    """Return the group in one sentence, without the usual values."""
    if group.state is GroupState.ABSENT:
        return "there is no group"
    parts = [f"{group.state.value}, generation {group.the_generation}"]
    seats: dict[str, list[str]] = {}
    for member, instance in sorted(group.seat):
        seats.setdefault(member, []).append(instance)
    for member in sorted(group.member):
        words = [f"carries {' and '.join(seats[member])}"] if member in seats else ["is dynamic"]
        for ids, says in (
            (group.leads, "leads"),
            (group.new, "is new"),
            (group.parked, "waits for its join"),
            (group.syncing, "waits for its sync"),
            (group.owes, "owes a sync"),
        ):
            words += [says] if member in ids else []
        parts.append(f"{member} {', '.join(words)}")
    if not group.member:
        parts.append("no members")
    parts += [f"{i} is mapped to {m}" for i, m in sorted(group.holds)]
    parts += [f"{m} is pending" for m in sorted(group.pending)]
    parts += [f"{m} leads but is no member" for m in sorted(group.leads - group.member)]
    idle = group.member - group.session - group.parked - group.syncing
    parts += [f"no timer watches {m}" for m in sorted(idle)]
    for flag, says in (
        (group.join_timer, "the join phase has a timer"),
        (group.sync_timer, "syncs are waited for"),
        (group.delayed, "the initial delay runs"),
        (group.deferred, "a batch has still to rebalance"),
    ):
        parts += [says] if flag else []
    if group.stored_state is not GroupState.ABSENT:
        stored = ", ".join(sorted(group.stored_member)) or "no members"
        parts.append(f"stored: {group.stored_state.value} with {stored}")
    return "; ".join(parts)


def _event_words(event: AbstractEvent) -> str:
    """Return the event in one sentence."""
    says = [event.event]
    if event.the_timers_id:
        says.append(f"of {event.the_timers_id}")
    elif event.event not in {JOIN_PHASE, SYNC_PHASE, FAILOVER, RETENTION, *OPERATED}:
        if event.event == LEAVE_ROW:
            says = ["LeaveGroup, a row"]
        says.append(f'with member id "{event.the_id_sent}"')
        if event.the_instance_sent is not None:
            says.append(f"and instance {event.the_instance_sent}")
        if event.the_fresh_id:
            says.append(f"(the fresh id is {event.the_fresh_id})")
        if event.answer is not None:
            says.append(f"answered {event.answer.name}")
    return " ".join(says)


CLASSIC_THEORY = Theory(
    abstraction=CLASSIC,
    guards=GUARDS,
    runs=RUNS,
    lookups=_lookups,
    paths=paths,
    event=_event,
    named=_named,
    begins=_begins,
    assumes=_assumes,
    sizes=tuple({Sort.ID: ids, Sort.INSTANCE: instances} for ids, instances in _SIZES),
    quiet=_QUIET,
    first=(sig.MEMBER, sig.PENDING),
    read=_read,
    words=_words,
    weaker=_weaker,
)
"""All that proofs need of the classic protocol."""
