"""Worlds of the consumer protocol are finite, and each path through them is a run of the model."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from fencepost.model.history.events import Answered, Event, Passed, Restarted, Sent
from fencepost.model.machine import Machine
from fencepost.model.messages.consumer_messages import CONSUMER_APIS
from fencepost.model.messages.messages import APIS
from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions
from fencepost.model.work import Incoming, Span
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.worlds.concretise import Run, unfold
from fencepost.properties.worlds.consumer_client import ACTS, ConsumerClient
from fencepost.properties.worlds.consumer_scope import ConsumerScope
from fencepost.properties.worlds.consumer_worlds import CONSUMER_WORLDS
from fencepost.properties.worlds.protocol_worlds import Naming
from fencepost.properties.worlds.scope import Scope, ScopeError
from fencepost.properties.worlds.world import Act, World, Worlds

EVERYTHING: Any = tuple(ACTS)
SCOPES = {
    "two processes": ConsumerScope(clients=2, members=2, acts=EVERYTHING[:7] + EVERYTHING[8:]),
    "everything": ConsumerScope(
        clients=3, instances=2, dynamic=1, members=3, offers=2, partitions=1, acts=EVERYTHING
    ),
    "batches": ConsumerScope(clients=2, instances=2, members=2, delay_ticks=1, old=1),
}
STEPS = 30


def walk(worlds: Worlds, seed: int) -> list[tuple[Act | None, World]]:
    chance = random.Random(seed)
    (world,) = worlds.initial()
    path: list[tuple[Act | None, World]] = [(None, world)]
    for _ in range(STEPS):
        act, world = chance.choice(list(worlds.successors(world)))
        path.append((act, world))
    return path


def explained(revision: Revision, scope: Scope, events: Iterable[Event]) -> bool:
    """Return True if the machine, with all its choices, can give the answers of a history."""
    machine = Machine(revision, scope.config())
    groups: set[Any] = {None}
    events = list(events)
    answers = {e.answer.id: e.answer.body for e in events if isinstance(e, Answered)}
    for event in events:
        after: set[Any] = set()
        match event:
            case Sent(at_ms=now, request=sent):
                kind = ({**APIS, **CONSUMER_APIS})[sent.api].request
                message = kind.from_body(sent.body, sent.version)
                body = answers.get(sent.id)
                fresh = "" if body is None else body.get("memberId") or ""
                asked = Incoming(sent.id, sent.client_id, sent.api, sent.version, message, fresh)
                for group in groups:
                    for done in machine.handle(group, asked, Span(now, now), group_id="g"):
                        (emission,) = done.emissions
                        assert emission.message is not None
                        if body is None or emission.message.to_body(sent.version) == body:
                            after.add(done.group)
            case Restarted(at_ms=now):
                for group in groups:
                    after |= {done.group for done in machine.failover(group, Span(now, now))}
            case Passed(at_ms=now):
                for group in groups:
                    after |= passed(machine, group, now)
            case _:
                continue
        groups = after
    return bool(groups)


def passed(machine: Machine, group: Any, now: int) -> set[Any]:
    """Return the groups after all timers until this time fired, in any order of equal deadlines."""
    due = [] if group is None else [t for t in group.timers if t.earliest <= now]
    if not due:
        return {group}
    first = min(t.earliest for t in due)
    return {
        last
        for timer in due
        if timer.earliest == first
        for done in machine.expire(group, timer, Span(first, first))
        for last in passed(machine, done.group, now)
    }


def run_of(revision: Revision, scope: Scope, seed: int) -> Run:
    worlds = Worlds(revision, scope)
    return unfold(worlds, walk(worlds, seed))


@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
@pytest.mark.parametrize("name", revisions.CONSUMER_NAMES)
def test_a_path_through_worlds_is_a_run_of_the_model(name: str, scope: Scope) -> None:
    revision = revisions.find(name)
    for seed in range(4):
        run = run_of(revision, scope, seed)

        assert explained(revision, scope, run.events), seed


def test_a_run_with_another_epoch_in_an_answer_is_no_run_of_the_model() -> None:
    revision = revisions.find("consumer-4.3")
    scope = SCOPES["two processes"]
    events = list(run_of(revision, scope, 1).events)
    place = next(
        i
        for i, e in enumerate(events)
        if isinstance(e, Answered) and (e.answer.body or {}).get("memberEpoch")
    )
    told = events[place]
    assert isinstance(told, Answered)
    assert told.answer.body is not None
    body = {**told.answer.body, "memberEpoch": told.answer.body["memberEpoch"] + 1}
    events[place] = Answered(replace(told.answer, body=body))

    assert not explained(revision, scope, events)


class Plain:
    """Worlds without their compact form."""

    def __init__(self, worlds: Worlds) -> None:
        self.initial = worlds.initial
        self.successors = worlds.successors


@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
def test_numbers_stand_for_the_same_worlds_acts_and_order(scope: Scope) -> None:
    worlds = Worlds(revisions.find("consumer-4.3"), scope)
    plain: Any = explore(Plain(worlds), keep_graph=True, max_states=200)

    compact = explore(worlds, keep_graph=True, max_states=200)

    assert compact.graph is not None
    assert compact.graph.states == plain.graph.states
    assert compact.graph.edges == plain.graph.edges


def test_epochs_that_grow_for_ever_make_no_new_worlds() -> None:
    acts: Any = ("join", "leave", "restart", "remove")
    worlds = Worlds(revisions.find("consumer-4.3"), ConsumerScope(clients=1, members=1, acts=acts))

    done = explore(worlds)

    assert done.complete
    assert done.states < 20


def test_an_epoch_that_the_group_forgot_stays_older_than_the_same_epochs() -> None:
    naming = Naming(None, {"m": "A.1"}, ((4, 2), (9, 4)))
    ranks = {
        epoch: CONSUMER_WORLDS.known_as(ConsumerClient("m", epoch, "A"), naming).epoch
        for epoch in (-2, 0, 3, 4, 5, 9, 10)
    }

    assert ranks == {-2: -2, 0: 0, 3: 1, 4: 2, 5: 3, 9: 4, 10: 5}


def test_a_scope_of_another_protocol_is_refused() -> None:
    with pytest.raises(ScopeError, match="the scope is of the classic protocol"):
        Worlds(revisions.find("consumer-4.3"), Scope())
    with pytest.raises(ScopeError, match="no act 'sync'"):
        ConsumerScope(acts=("join", "sync"))
