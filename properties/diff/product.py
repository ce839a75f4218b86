"""Two revisions in lockstep: a system to explore, whose clients try to tell them apart.

Both revisions are driven by the same clients, which send the same requests at the same times, and
are followed as long as they answer the same (`answers.py`).  Either may have a choice that the
protocol leaves open, so what is followed is, for both, the set of all worlds that explain the
answers so far.  Where one gives an answer (or is silent at the end of a step) that no world of the
other gives, they part.  What lies beyond is not explored: the clients would no longer know the
same.

A difference belongs to the two rules that decided, one on each side, in the step in which the
answers part.  If the worlds differed before, and it isn't one rule that does something else, it
comes after those differing rules that were used since the worlds were last equal.

What an answer means to the client that reads it, whatever names a coordinator uses.

Two answers are the same if they mean the same.  Member ids are compared as clients can: this id is
the one that c1 was told, that one was never told to anybody.  Generations are compared with those
that the clients know: the same, or a later one.  Only the fields on which a client acts count; what
only one of two versions or drafts can say does not.

States of two revisions in lockstep: sets of worlds, and what parts them.

A response of one revision is an act in a world, what it answers to whom, and by which rules.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest
from typing import NamedTuple

from msgspec import structs

from fencepost.model.messages.draft_messages import DraftLeaveGroupResponse
from fencepost.model.messages.errors import Error, error_name
from fencepost.model.messages.messages import (
    DescribedGroup,
    DescribeGroupsResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    ListGroupsResponse,
    OffsetCommitResponse,
    OffsetFetchResponse,
    SyncGroupResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.revision import Revision
from fencepost.model.table.effects import Do
from fencepost.properties.diff.common_versions import differing_rules
from fencepost.properties.worlds.canonical import NOW
from fencepost.properties.worlds.scope import Scope
from fencepost.properties.worlds.world import STRANGE, Act, World, Worlds
from fencepost.properties.worlds.world_client import Client

_NONE = Error.NONE.value


class Meaning(NamedTuple):
    """What an answer says.

    `member_id`, `leader`: "" for none; `generation`: None for none; `roster`: each member's id with
    its metadata; `rest`: what else is said, in a fixed order.  Ids are the coordinator's.
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
"""The protocol leaves open whether and how this is answered."""

Seen = tuple[tuple[int, tuple[object, ...]], ...]
"""What the clients see of one step: (index of the client, what its answer means to it)."""


def meaning(message: Message | None) -> Meaning:
    """Return what an answer says; None: the model leaves it open."""
    match message:
        case None:
            return ANYTHING
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
        case OffsetCommitResponse():
            codes = tuple(p.error_code for topic in message.topics for p in topic.partitions)
            return Meaning(error_name(next((c for c in codes if c != _NONE), _NONE)))
        case DescribeGroupsResponse():
            return Meaning(error_name(_NONE), rest=tuple(_described(g) for g in message.groups))
        case ListGroupsResponse():
            return Meaning(error_name(message.error_code), rest=(message.groups,))
        case OffsetFetchResponse():
            return Meaning(error_name(message.error_code), rest=(message.topics,))
        case _:
            return Meaning(error_name(getattr(message, "error_code", _NONE)))


def _described(group: DescribedGroup) -> tuple[object, ...]:
    """A group as an operator reads it, whatever the ids of its members."""
    members = sorted(repr(structs.replace(m, member_id="")) for m in group.members)
    return (group.error_code, group.group_state, group.protocol_data, *members)


def seen(
    answers: Sequence[tuple[int, Meaning]],
    clients: Sequence[Client],
    called: Mapping[str, str],
) -> tuple[Seen, dict[str, str]]:
    """Return what the clients see, and how the ids that are told for the first time are called.

    `clients`: before the step, in the names of the same world as the answers; `called`: an id that
    somebody was told → the name that all sides have for it.
    """
    new = _introduced(answers, called)
    names = {**called, **new, "": ""}
    step = []
    for index, said in answers:
        relation = None
        if said.generation is not None:
            known = (client.generation for client in clients)
            relation = tuple(said.generation > g if g >= 0 else None for g in known)
        words = (
            said.error,
            names[said.member_id],
            relation,
            names[said.leader],
            tuple(sorted((names[member_id], metadata) for member_id, metadata in said.roster)),
            said.rest,
        )
        step.append((index, words))
    return tuple(step), new


def _introduced(
    answers: Sequence[tuple[int, Meaning]], called: Mapping[str, str]
) -> dict[str, str]:
    """Names for ids that nobody was told before, in an order that all sides have in common."""
    new: dict[str, str] = {}
    for member_id in _told(answers):
        if member_id and member_id not in called and member_id not in new:
            new[member_id] = STRANGE if member_id == STRANGE else f"new.{len(new) + 1}"
    return new


def _told(answers: Sequence[tuple[int, Meaning]]) -> Iterator[str]:
    for _, said in answers:
        yield said.member_id
    for _, said in answers:
        yield said.leader
        yield from sorted(member_id for member_id, _ in said.roster)


def agree(one: Seen, other: Seen) -> bool:
    """Return whether two observations are the same, where neither leaves the answer open."""
    left, right = dict(one), dict(other)
    return all(
        left.get(i) == right.get(i) or _open(left.get(i)) or _open(right.get(i))
        for i in left | right
    )


def _open(words: tuple[object, ...] | None) -> bool:
    return words is not None and words[0] == ANYTHING.error


def is_open(step: Seen) -> bool:
    """Return whether some answer of a step is left open."""
    return any(_open(words) for _, words in step)


Links = tuple[tuple[str, str], ...]
Key = tuple[str, int]
Rules = tuple[str, ...]
NOBODYS: frozenset[str] = frozenset({"tick", "failover"})
"""Acts that are no client's."""


class Side(NamedTuple):
    """A world of one revision (its number), and the names that clients use for its ids."""

    world: int
    links: Links


class Pair(NamedTuple):
    """All worlds of both revisions that explain what the clients were told.

    `suspects`: the differing rules that were used since both were last the same.
    """

    one: frozenset[Side]
    other: frozenset[Side]
    suspects: frozenset[str]


class Parted(NamedTuple):
    """The state in which answers differ.

    `decided`: the rule that decided on each side, "" for none; `suspects`: the differing rules that
    had made the worlds differ before.
    """

    decided: tuple[str, str]
    suspects: frozenset[str]


class Cut(NamedTuple):
    """A state that is followed no further, though the answers may be the same.

    The protocol leaves an answer open that one revision gives; or the two say the same in forms of
    which clients remember different things.
    """


class Doing(NamedTuple):
    """An act, and what the clients saw of it."""

    kind: str
    client: int
    seen: Seen


class Response(NamedTuple):
    """What an act leads to in a world: answers by client, names of ids afterwards, rules used."""

    act: Act
    after: World
    answers: tuple[tuple[int, Meaning], ...]
    names: Mapping[str, str]
    rules: Rules


class Arrival(NamedTuple):
    """A world that an act leads to, from which side, and by which move."""

    side: Side
    source: Side
    move: Response


Outcomes = dict[Seen, list[Arrival]]
State = Pair | Parted | Cut
Trace = Sequence[tuple[Doing | None, State]]


def move_of(model: Worlds, world: World, act: Act, after: World) -> Response:
    """Return what comes of an act that leads from one world to another."""
    if act.kind in {"restart", "drop"}:
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


__all__ = ["Cut", "Doing", "Lockstep", "Pair", "Parted", "Response", "Side", "State", "Trace"]


class Lockstep:
    """Two revisions within a scope, as a system to explore.  For one process only."""

    def __init__(
        self,
        one: Revision,
        other: Revision,
        scope: Scope,
        never: Container[str] = (),
    ) -> None:
        """`never`: acts of static clients that can't be said to both."""
        self.scope = scope
        beyond = replace(  # one step beyond the bounds counts: its answers can be seen
            scope, members=scope.members + 1, generations=scope.generations + 1, fold=False
        )
        self.models = (Worlds(one, beyond), Worlds(other, beyond))
        self._never = never
        self.differing = differing_rules(one, other)
        self._handing_over = {
            rule.id
            for revision in (one, other)
            for _, rule in revision.rules()
            if Do.ANSWER_ROWS in rule.effect and rule.id not in self.differing
        }
        self.worlds: list[World] = []
        self._numbers: dict[World, int] = {}
        self._moves: tuple[dict[int, dict[Key, list[Response]]], ...] = ({}, {})

    # The system, as the explorer wants it.

    def initial(self) -> Iterator[State]:
        """No group on either side, and clients that know nothing but, perhaps, an id of old."""
        sides = [
            frozenset(Side(self._number(world), _known(world)) for world in model.initial())
            for model in self.models
        ]
        yield Pair(sides[0], sides[1], frozenset())

    def successors(self, state: State) -> Iterator[tuple[Doing, State]]:
        """Yield every act that the clients can do in all the worlds, by what they then see."""
        if not isinstance(state, Pair):
            return
        for key in self.acts(state):
            one, other = self.outcomes(state, key)
            for step in (*one, *(step for step in other if step not in one)):
                doing = Doing(*key, step)
                if step in one and step in other:
                    found = [*one[step], *other[step]]
                    if len({self._knowledge(r.side) for r in found}) > 1:
                        yield doing, Cut()
                    elif all(self.scope.allows(r.move.after.group) for r in found):
                        yield doing, self._followed(state, one[step], other[step])
                elif any(agree(step, answer) for answer in (other if step in one else one)):
                    yield doing, Cut()
                else:
                    yield doing, self._parted(state, step, one, other)

    def acts(self, pair: Pair) -> Iterator[Key]:
        """Yield the acts that can happen: those of clients, if all worlds allow it, and time.

        Of clients that are alike and know nothing only the first acts: it makes no difference.
        """
        moves = [self.moves(i, s.world) for i, side in enumerate(pair[:2]) for s in side]
        clients = self.worlds[next(iter(pair.one)).world].clients
        for kind, index in dict.fromkeys(key for found in moves for key in found):
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
            if all((kind, index) in found for found in moves):
                yield kind, index

    def outcomes(self, pair: Pair, key: Key) -> tuple[Outcomes, Outcomes]:
        """Return what an act leads to, on both sides, by what the clients see of it."""
        raw = [
            [found for side in sides for found in self._steps(model, side, key)]
            for model, sides in enumerate(pair[:2])
        ]
        names = {step: self._common(step, *raw) for step, _, _, _ in (*raw[0], *raw[1])}
        both: tuple[Outcomes, Outcomes] = ({}, {})
        for found, outcomes in zip(raw, both, strict=True):
            for step, links, source, move in found:
                called = names[step]
                side = Side(
                    self._number(move.after), tuple(sorted((called[n], i) for n, i in links))
                )
                outcomes.setdefault(step, []).append(Arrival(side, source, move))
        return both

    def moves(self, model: int, number: int) -> dict[Key, list[Response]]:
        """Return what can happen in a world, remembered."""
        known = self._moves[model]
        if number not in known:
            known[number] = dict(self._all_moves(self.models[model], self.worlds[number]))
        return known[number]

    def followed(self, trace: Trace) -> tuple[tuple[Response, ...], tuple[Response, ...]]:
        """Return the moves of both revisions along a trace at whose end the answers part."""
        pairs = [state for _, state in trace[:-1]]
        doing = trace[-1][0]
        assert doing is not None
        assert isinstance(pairs[-1], Pair)
        ends = _shown(*self.outcomes(pairs[-1], (doing.kind, doing.client)), doing.seen)
        paths = [
            (*self._before(model, trace[:-1], end.source), end.move)
            for model, end in enumerate(ends)
        ]
        return paths[0], paths[1]

    def _before(self, model: int, trace: Trace, side: Side) -> tuple[Response, ...]:
        """How a revision got to a side of the last pair of a trace."""
        moves: list[Response] = []
        for (_, pair), (doing, _) in reversed(list(pairwise(trace))):
            assert doing is not None
            assert isinstance(pair, Pair)
            found = self.outcomes(pair, (doing.kind, doing.client))[model][doing.seen]
            reached = next(r for r in found if r.side == side)
            moves.append(reached.move)
            side = reached.source
        return tuple(reversed(moves))

    # One step.

    def _all_moves(self, model: Worlds, world: World) -> Iterator[tuple[Key, list[Response]]]:
        found: dict[Key, list[Response]] = {}
        for act, after in model.successors(world):
            found.setdefault((act.kind, act.client), []).append(move_of(model, world, act, after))
        yield from found.items()

    def _steps(
        self, model: int, side: Side, key: Key
    ) -> Iterator[tuple[Seen, list[tuple[str, str]], Side, Response]]:
        world = self.worlds[side.world]
        moves = self.moves(model, side.world).get(key)
        if moves is None:  # nobody's doing, and nothing here that it could change
            same = {i: i for _, i in side.links}
            moves = [Response(Act(*key), world, (), same, ())]
        called = {i: name for name, i in side.links}
        for move in moves:
            step, new = seen(move.answers, world.clients, called)
            told = [*side.links, *((name, i) for i, name in new.items())]
            links = [(name, move.names[i]) for name, i in told if i in move.names]
            yield step, links, side, move

    def _common(
        self, step: Seen, *raw: Iterable[tuple[Seen, list[tuple[str, str]], Side, Response]]
    ) -> dict[str, str]:
        """Names for ids after a step: whose they are; of those that nobody has any more, a number.

        The clients know the same in all the worlds, so any of these tells whose they are.
        """
        entries = [entry for found in raw for entry in found if entry[0] == step]
        _, links, _, move = entries[0]
        called = {i: name for name, i in links}
        names: dict[str, str] = {}
        for index, client in enumerate(move.after.clients, start=1):
            if client.member_id:
                names.setdefault(called[client.member_id], f"c{index}")
        rest = {name for entry in entries for name, _ in entry[1]} - names.keys()
        return names | {name: f"past.{n}" for n, name in enumerate(sorted(rest), start=1)}

    def _followed(self, pair: Pair, one: list[Arrival], other: list[Arrival]) -> Pair:
        sides = [frozenset(found.side for found in side) for side in (one, other)]
        if sides[0] == sides[1]:
            return Pair(sides[0], sides[1], frozenset())
        return Pair(sides[0], sides[1], pair.suspects | self._used([*one, *other]))

    def _parted(self, pair: Pair, step: Seen, one: Outcomes, other: Outcomes) -> Parted:
        """The state in which one side alone gives these answers."""
        rules = [self._deciding(end.move.rules) for end in _shown(one, other, step)]
        return Parted(self._decided(*rules), pair.suspects)

    def _deciding(self, rules: Rules) -> Rules:
        """A step's rules without the one that hands the rows of a leave to their own rules."""
        return tuple(rule for rule in rules if rule not in self._handing_over) or rules

    def _decided(self, one: Rules, other: Rules) -> tuple[str, str]:
        """The first rules of a step that aren't the same, or not the same in both tables."""
        for pair in zip_longest(one, other, fillvalue=""):
            if pair[0] != pair[1] or pair[0] in self.differing:
                return pair
        return (one[0], other[0]) if one else ("", "")

    def _used(self, found: Iterable[Arrival]) -> frozenset[str]:
        return self.differing.intersection(rule for r in found for rule in r.move.rules)

    def _knowledge(self, side: Side) -> tuple[object, ...]:
        """What the clients know, in the names that all sides have in common."""
        called = {i: name for name, i in side.links}
        return tuple(
            (
                called.get(c.member_id),
                c.generation >= 0,
                c.leads,
                frozenset(map(called.get, c.roster)),
                c.assignment,
                bool(c.waits),
            )
            for c in self.worlds[side.world].clients
        )

    def _number(self, world: World) -> int:
        number = self._numbers.setdefault(world, len(self.worlds))
        if number == len(self.worlds):
            self.worlds.append(world)
        return number


def _shown(one: Outcomes, other: Outcomes, step: Seen) -> tuple[Arrival, Arrival]:
    """What stands for each side where the answers part, from the same world if there is one."""
    first, second = (
        outcomes.get(step) or [end for ends in outcomes.values() for end in ends]
        for outcomes in (one, other)
    )
    pairs = ((a, b) for a in first for b in second if a.source == b.source)
    return next(pairs, (first[0], second[0]))


def _known(world: World) -> Links:
    """Whose the ids are that clients know."""
    ids: dict[str, str] = {}
    for index, client in enumerate(world.clients, start=1):
        if client.member_id:
            ids.setdefault(client.member_id, f"c{index}")
    return tuple(sorted((name, member_id) for member_id, name in ids.items()))
