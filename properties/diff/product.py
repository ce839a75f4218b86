"""Explore two revisions in lockstep, with clients that try to distinguish them.

The same clients drive both revisions: they send the same requests at the same times, as long as the
answers are equal.  Either revision may have a choice that the protocol leaves open, so the state
is, for both, the set of all worlds that explain the answers so far.  Where one gives an answer (or
is silent at the end of a step) that no world of the other gives, they part.  States beyond that are
not explored: the clients would know different things.

A difference belongs to the two rules that decided, one on each side, in the step in which the
answers part.  If the worlds differed before, and it isn't one rule that differs, it comes after
those differing rules that were used since the worlds were last equal.

Two answers are equal if they mean the same to the client that reads them, whatever names a
coordinator uses.  Member ids are compared as clients can: this id is in an answer to c1, that one
in no answer yet.  Generations are compared with those that the clients know: equal, or later.  Only
the fields on which a client acts count; fields of only one of two versions or drafts don't.

A response of one revision is an act in a world, its answers, and its rules.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest
from typing import NamedTuple

from msgspec import structs

from fencepost.model.messages.consumer_messages import (
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatResponse,
    DescribedConsumerGroup,
)
from fencepost.model.messages.draft_messages import DraftLeaveGroupResponse
from fencepost.model.messages.errors import Error, error_name
from fencepost.model.messages.messages import (
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    ListGroupsResponse,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    OffsetFetchResponse,
    SyncGroupResponse,
    TxnOffsetCommitResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.revision import Revision
from fencepost.properties.diff.common_versions import differing_rules
from fencepost.properties.worlds.protocol_worlds import CUT_OFFS, NOW
from fencepost.properties.worlds.scope import Scope
from fencepost.properties.worlds.views import answers_rows
from fencepost.properties.worlds.world import Act, World, Worlds
from fencepost.properties.worlds.world_client import STRANGE

_NONE = Error.NONE.value


class Meaning(NamedTuple):
    """The meaning of an answer.

    `member_id`, `leader`: "" for none; `generation`: None for none; `roster`: each member's id with
    its metadata; `rest`: the other fields, in a fixed order.  Ids are the coordinator's.
    """

    error: str
    member_id: str = ""
    generation: int | None = None
    leader: str = ""
    roster: tuple[tuple[str, bytes], ...] = ()
    rest: tuple[object, ...] = ()


WAITS = Meaning("waits")
"""The request has no answer yet."""
ANYTHING = Meaning("anything")
"""The protocol leaves the answer open."""

Observation = tuple[tuple[int, tuple[object, ...]], ...]
"""The observations of one step: (index of the client, the meaning of its answer)."""


def meaning(message: Message | None) -> Meaning:
    """Return the meaning of an answer; None: the model leaves it open."""
    match message:
        case None:
            return ANYTHING
        case ConsumerGroupHeartbeatResponse(error_code=code) if code == _NONE:
            return Meaning(
                error_name(code),
                message.member_id or "",
                message.member_epoch if message.member_epoch > 0 else None,
                rest=(message.assignment, min(message.member_epoch, 0)),
            )
        case ConsumerGroupDescribeResponse():
            rows = tuple(_described_consumers(group) for group in message.groups)
            return Meaning(error_name(_NONE), rest=rows)
        case JoinGroupResponse(error_code=code) if code == _NONE:
            return Meaning(
                error_name(code),
                message.member_id,
                message.generation_id,
                message.leader,
                tuple((m.member_id, m.metadata) for m in message.members),
                (message.protocol_name, message.skip_assignment),
            )
        case JoinGroupResponse():
            return Meaning(error_name(message.error_code), message.member_id)
        case SyncGroupResponse():
            return Meaning(error_name(message.error_code), rest=(message.assignment,))
        case LeaveGroupResponse():
            codes = (message.error_code, *(row.error_code for row in message.members))
            return Meaning(error_name(next((c for c in codes if c != _NONE), _NONE)))
        case DraftLeaveGroupResponse():
            return Meaning(error_name(message.error_code))
        case OffsetCommitResponse() | TxnOffsetCommitResponse():
            codes = tuple(p.error_code for topic in message.topics for p in topic.partitions)
            return Meaning(error_name(next((c for c in codes if c != _NONE), _NONE)))
        case DescribeGroupsResponse():
            return Meaning(error_name(_NONE), rest=tuple(_described(g) for g in message.groups))
        case OffsetDeleteResponse():
            return Meaning(error_name(message.error_code), rest=(message.topics,))
        case DeleteGroupsResponse():
            return Meaning(error_name(_NONE), rest=(message.results,))
        case ListGroupsResponse():
            return Meaning(error_name(message.error_code), rest=(message.groups,))
        case OffsetFetchResponse():
            return Meaning(error_name(message.error_code), rest=(message.topics,))
        case _:
            return Meaning(error_name(getattr(message, "error_code", _NONE)))


def _described_consumers(group: DescribedConsumerGroup) -> tuple[object, ...]:
    """Return a group as an operator reads it, whatever the ids and epochs of its members."""
    members = sorted(
        repr(structs.replace(m, member_id="", member_epoch=min(m.member_epoch, 1)))
        for m in group.members
    )
    is_behind = group.assignment_epoch < group.group_epoch
    return (group.error_code, group.group_state, is_behind, *members)


def _described(group: DescribedGroup) -> tuple[object, ...]:
    """Return a group as an operator reads it, whatever the ids of its members."""
    members = sorted(repr(structs.replace(m, member_id="")) for m in group.members)
    return (group.error_code, group.group_state, group.protocol_data, *members)


def observed(
    answers: Sequence[tuple[int, Meaning]],
    numbers: Sequence[int],
    called: Mapping[str, str],
) -> tuple[Observation, dict[str, str]]:
    """Return the observations of the clients, and names for new ids in them.

    `numbers`: of generations or epochs that the clients know before the step, negative for none, in
    the same world as the answers; `called`: an id from an answer → its name on all sides.
    """
    new = _introduced(answers, called)
    names = {**called, **new, "": ""}
    step = []
    for index, meaning in answers:
        relation = None
        if meaning.generation is not None:
            relation = tuple(meaning.generation > g if g >= 0 else None for g in numbers)
        words = (
            meaning.error,
            names[meaning.member_id],
            relation,
            names[meaning.leader],
            tuple(sorted((names[member_id], metadata) for member_id, metadata in meaning.roster)),
            meaning.rest,
        )
        step.append((index, words))
    return tuple(step), new


def _introduced(
    answers: Sequence[tuple[int, Meaning]], called: Mapping[str, str]
) -> dict[str, str]:
    """Return names for new ids, in an order that all sides have in common."""
    new: dict[str, str] = {}
    for member_id in _ids_in(answers):
        if member_id and member_id not in called and member_id not in new:
            new[member_id] = STRANGE if member_id == STRANGE else f"new.{len(new) + 1}"
    return new


def _ids_in(answers: Sequence[tuple[int, Meaning]]) -> Iterator[str]:
    for _, meaning in answers:
        yield meaning.member_id
    for _, meaning in answers:
        yield meaning.leader
        yield from sorted(member_id for member_id, _ in meaning.roster)


def agree(first: Observation, other: Observation) -> bool:
    """Return True if two observations are equal, where neither leaves the answer open."""
    left, right = dict(first), dict(other)
    return all(
        left.get(i) == right.get(i) or _open(left.get(i)) or _open(right.get(i))
        for i in left | right
    )


def _open(words: tuple[object, ...] | None) -> bool:
    return words is not None and words[0] == ANYTHING.error


def is_open(step: Observation) -> bool:
    """Return True if some answer of a step is left open."""
    return any(_open(words) for _, words in step)


Links = tuple[tuple[str, str], ...]
Key = tuple[str, int]
Rules = tuple[str, ...]
NOBODYS: frozenset[str] = frozenset({"tick", "failover"})
"""Acts without a client."""


class Side(NamedTuple):
    """A world of one revision (its number), and the names that clients use for its ids."""

    world: int
    links: Links


class Pair(NamedTuple):
    """All worlds of both revisions that explain the answers.

    Sides are sorted, so that the example of a difference is the same in each process.
    `suspects`: the differing rules that were used since both were last equal.
    """

    first: tuple[Side, ...]
    other: tuple[Side, ...]
    suspects: frozenset[str]


class Parted(NamedTuple):
    """The state in which answers differ.

    `decided`: the rule that decided on each side, "" for none; `suspects`: the differing rules that
    had made the worlds differ before.
    """

    decided: tuple[str, str]
    suspects: frozenset[str]


class Cut(NamedTuple):
    """A state that is followed no further, though the answers may be equal.

    The protocol leaves an answer open that one revision gives; or the two answers are equal in
    forms that leave clients with different knowledge.
    """


class SharedAct(NamedTuple):
    """An act, and the clients' observations of it."""

    kind: str
    client: int
    observed: Observation


class Response(NamedTuple):
    """The effect of an act in a world: answers by client, names of ids afterwards, rules used."""

    act: Act
    after: World
    answers: tuple[tuple[int, Meaning], ...]
    names: Mapping[str, str]
    rules: Rules


class Arrival(NamedTuple):
    """A world after an act, with the side before it, and the move."""

    side: Side
    source: Side
    move: Response


Outcomes = dict[Observation, list[Arrival]]
State = Pair | Parted | Cut
Trace = Sequence[tuple[SharedAct | None, State]]


def move_of(model: Worlds, world: World, act: Act, after: World) -> Response:
    """Return the effect of an act that leads from one world to another."""
    if act.kind in CUT_OFFS:
        return Response(act, after, (), model.places(world, act, None)[1], ())
    done = model.transitions(world, act.kind, act.client)[act.choice]
    answers = {} if act.client < 0 else {act.client: WAITS}
    for emission in done.emissions:
        if emission.request_id == NOW:
            answers[act.client] = meaning(emission.message)
            continue
        for index, client in enumerate(world.clients):
            if client.waits == emission.request_id and index != act.client:
                answers[index] = meaning(emission.message)
    rules = tuple(rule.id for view in done.views for rule in view.rules)
    names = model.places(world, act, done)[1]
    return Response(act, after, tuple(sorted(answers.items())), names, rules)


__all__ = ["Cut", "Lockstep", "Pair", "Parted", "Response", "SharedAct", "Side", "State", "Trace"]


class Lockstep:
    """Two revisions within a scope, as a system to explore.  For one process only."""

    def __init__(
        self,
        first: Revision,
        other: Revision,
        scope: Scope,
        never: Container[str] = (),
    ) -> None:
        """Build both systems; `never`: acts of static clients that one of them can't express."""
        self.scope = scope
        beyond = replace(  # one step beyond the bounds counts: its answers can be observed
            scope, members=scope.members + 1, generations=scope.generations + 1, fold=False
        )
        self.models = (Worlds(first, beyond), Worlds(other, beyond))
        self._never = never
        self.differing = differing_rules(first, other)
        self._handing_over = {
            rule.id
            for revision in (first, other)
            for _, rule in revision.rules()
            if answers_rows(rule) and rule.id not in self.differing
        }
        self.worlds: list[World] = []
        self._numbers: dict[World, int] = {}
        self._moves: tuple[dict[int, dict[Key, list[Response]]], ...] = ({}, {})

    # The system, as the explorer wants it.

    def initial(self) -> Iterator[State]:
        """Return the state without groups; clients know nothing but, perhaps, an old id."""
        sides = [
            tuple(sorted({Side(self._number(world), _known(world)) for world in model.initial()}))
            for model in self.models
        ]
        yield Pair(sides[0], sides[1], frozenset())

    def successors(self, state: State) -> Iterator[tuple[SharedAct, State]]:
        """Yield every act that the clients can do in all the worlds, by their observations."""
        if not isinstance(state, Pair):
            return
        for key in self.acts(state):
            first, other = self.outcomes(state, key)
            for step in (*first, *(step for step in other if step not in first)):
                shared = SharedAct(*key, step)
                if step in first and step in other:
                    arrivals = [*first[step], *other[step]]
                    if len({self._knowledge(r.side) for r in arrivals}) > 1:
                        yield shared, Cut()
                    elif all(self.scope.allows(r.move.after.group) for r in arrivals):
                        yield shared, self._followed(state, first[step], other[step])
                elif any(agree(step, answer) for answer in (other if step in first else first)):
                    yield shared, Cut()
                else:
                    yield shared, self._parted(state, step, first, other)

    def acts(self, pair: Pair) -> Iterator[Key]:
        """Yield the acts that can happen: those of clients, if all worlds allow it, and time.

        Of equal clients that know nothing only the first acts: it makes no difference.
        """
        moves = [self.moves(i, s.world) for i, side in enumerate(pair[:2]) for s in side]
        clients = self.worlds[pair.first[0].world].clients
        for kind, index in dict.fromkeys(key for by_key in moves for key in by_key):
            if kind in NOBODYS:
                yield kind, index
                continue
            seat = self.models[0].seats[index]
            if kind in self._never and seat.instance is not None:
                continue
            client = clients[index]
            if not (client.member_id or client.waits) and any(
                earlier == client and self.models[0].seats[i] == seat
                for i, earlier in enumerate(clients[:index])
            ):
                continue
            if all((kind, index) in by_key for by_key in moves):
                yield kind, index

    def outcomes(self, pair: Pair, key: Key) -> tuple[Outcomes, Outcomes]:
        """Return the effects of an act, on both sides, by the clients' observations."""
        raw = [
            [step_row for side in sides for step_row in self._steps(model, side, key)]
            for model, sides in enumerate(pair[:2])
        ]
        names = {step: self._common(step, *raw) for step, _, _, _ in (*raw[0], *raw[1])}
        both: tuple[Outcomes, Outcomes] = ({}, {})
        for step_row, outcomes in zip(raw, both, strict=True):
            for step, links, source, move in step_row:
                called = names[step]
                side = Side(
                    self._number(move.after), tuple(sorted((called[n], i) for n, i in links))
                )
                outcomes.setdefault(step, []).append(Arrival(side, source, move))
        return both

    def moves(self, model: int, number: int) -> dict[Key, list[Response]]:
        """Return the moves that can happen in a world; cached."""
        known = self._moves[model]
        if number not in known:
            known[number] = dict(self._all_moves(self.models[model], self.worlds[number]))
        return known[number]

    def followed(self, trace: Trace) -> tuple[tuple[Response, ...], tuple[Response, ...]]:
        """Return the moves of both revisions along a trace at whose end the answers part."""
        pairs = [state for _, state in trace[:-1]]
        shared = trace[-1][0]
        assert shared is not None
        assert isinstance(pairs[-1], Pair)
        ends = _examples(*self.outcomes(pairs[-1], (shared.kind, shared.client)), shared.observed)
        paths = [
            (*self._before(model, trace[:-1], end.source), end.move)
            for model, end in enumerate(ends)
        ]
        return paths[0], paths[1]

    def _before(self, model: int, trace: Trace, side: Side) -> tuple[Response, ...]:
        """Return a revision's moves to a side of the last pair of a trace."""
        moves: list[Response] = []
        for (_, pair), (shared, _) in reversed(list(pairwise(trace))):
            assert shared is not None
            assert isinstance(pair, Pair)
            arrivals = self.outcomes(pair, (shared.kind, shared.client))[model][shared.observed]
            reached = next(r for r in arrivals if r.side == side)
            moves.append(reached.move)
            side = reached.source
        return tuple(reversed(moves))

    # One step.

    def _all_moves(self, model: Worlds, world: World) -> Iterator[tuple[Key, list[Response]]]:
        by_key: dict[Key, list[Response]] = {}
        for act, after in model.successors(world):
            by_key.setdefault((act.kind, act.client), []).append(move_of(model, world, act, after))
        yield from by_key.items()

    def _steps(
        self, model: int, side: Side, key: Key
    ) -> Iterator[tuple[Observation, list[tuple[str, str]], Side, Response]]:
        world = self.worlds[side.world]
        moves = self.moves(model, side.world).get(key)
        if moves is None:  # an act of no client, without an effect here
            same = {i: i for _, i in side.links}
            moves = [Response(Act(*key), world, (), same, ())]
        called = {i: name for name, i in side.links}
        for move in moves:
            numbers = [self.models[model].protocol.number(c) for c in world.clients]
            step, new = observed(move.answers, numbers, called)
            names = [*side.links, *((name, i) for i, name in new.items())]
            links = [(name, move.names[i]) for name, i in names if i in move.names]
            yield step, links, side, move

    def _common(
        self,
        step: Observation,
        *raw: Iterable[tuple[Observation, list[tuple[str, str]], Side, Response]],
    ) -> dict[str, str]:
        """Return names for ids after a step: by their holders; ids without one get a number.

        The clients know the same in all the worlds, so any of these identifies the holders.
        """
        entries = [entry for rows in raw for entry in rows if entry[0] == step]
        _, links, _, move = entries[0]
        called = {i: name for name, i in links}
        names: dict[str, str] = {}
        for index, client in enumerate(move.after.clients, start=1):
            if client.member_id:
                names.setdefault(called[client.member_id], f"c{index}")
        rest = {name for entry in entries for name, _ in entry[1]} - names.keys()
        return names | {name: f"past.{n}" for n, name in enumerate(sorted(rest), start=1)}

    def _followed(self, pair: Pair, first: list[Arrival], other: list[Arrival]) -> Pair:
        sides = [tuple(sorted({arrival.side for arrival in side})) for side in (first, other)]
        if sides[0] == sides[1]:
            return Pair(sides[0], sides[1], frozenset())
        return Pair(sides[0], sides[1], pair.suspects | self._used([*first, *other]))

    def _parted(self, pair: Pair, step: Observation, first: Outcomes, other: Outcomes) -> Parted:
        """Return the state in which one side alone gives these answers."""
        rules = [self._deciding(end.move.rules) for end in _examples(first, other, step)]
        return Parted(self._decided(*rules), pair.suspects)

    def _deciding(self, rules: Rules) -> Rules:
        """Return a step's rules without the one that passes on the rows of a leave."""
        return tuple(rule for rule in rules if rule not in self._handing_over) or rules

    def _decided(self, first: Rules, other: Rules) -> tuple[str, str]:
        """Return the first rules of a step that differ, also those of one id with other effects."""
        for pair in zip_longest(first, other, fillvalue=""):
            if pair[0] != pair[1] or pair[0] in self.differing:
                return pair
        return (first[0], other[0]) if first else ("", "")

    def _used(self, arrivals: Iterable[Arrival]) -> frozenset[str]:
        return self.differing.intersection(rule for r in arrivals for rule in r.move.rules)

    def _knowledge(self, side: Side) -> tuple[object, ...]:
        """Return the clients' knowledge, in the names that all sides have in common."""
        called = {i: name for name, i in side.links}
        known = self.models[0].protocol.knowledge
        return tuple(known(client, called) for client in self.worlds[side.world].clients)

    def _number(self, world: World) -> int:
        number = self._numbers.setdefault(world, len(self.worlds))
        if number == len(self.worlds):
            self.worlds.append(world)
        return number


def _examples(first: Outcomes, other: Outcomes, step: Observation) -> tuple[Arrival, Arrival]:
    """Return an example for each side where the answers part, from the same world if possible."""
    first_arrivals, other_arrivals = (
        outcomes.get(step) or [end for ends in outcomes.values() for end in ends]
        for outcomes in (first, other)
    )
    pairs = ((a, b) for a in first_arrivals for b in other_arrivals if a.source == b.source)
    return next(pairs, (first_arrivals[0], other_arrivals[0]))


def _known(world: World) -> Links:
    """Return the holders of the ids that clients know."""
    ids: dict[str, str] = {}
    for index, client in enumerate(world.clients, start=1):
        if client.member_id:
            ids.setdefault(client.member_id, f"c{index}")
    return tuple(sorted((name, member_id) for member_id, name in ids.items()))
