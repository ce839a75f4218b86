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
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise, zip_longest

from fencepost.model.revision import Revision
from fencepost.model.table.effects import Do
from fencepost.properties.diff.common_versions import differing_rules
from fencepost.properties.diff.product_state import (
    NOBODYS,
    Arrival,
    Cut,
    Doing,
    Key,
    Links,
    Outcomes,
    Pair,
    Parted,
    Response,
    Rules,
    Side,
    State,
    Trace,
    move_of,
)
from fencepost.properties.diff.readable_answers import Seen, agree, seen
from fencepost.properties.worlds.scope import Scope
from fencepost.properties.worlds.world import Act, World, Worlds

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
