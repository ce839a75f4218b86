"""Make the page of a bounded exploration, to step through it in a browser without a server.

The page has the explored states, the choices in each with their answers and rules, and the states
that they lead to.  In a state of an exploration names are canonical, and the same for each way to
it.  So texts hold symbols, and the script of the page replaces them by the ids, generations, epochs
and times of the way that was gone, as `properties/worlds/concretise.py` does: a page and `step`
show the same run for the same choices.

Texts that occur often are stored once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from fencepost.model.coordinator import Answer, Send
from fencepost.model.history.events import Answered, Event, Sent
from fencepost.model.history.words import plural, with_names
from fencepost.model.revision import Revision
from fencepost.properties.checking.checking import stops_of
from fencepost.properties.checking.stepping import BrokenProperty, JudgedWorlds, Stepper
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.logic.logic import Property
from fencepost.properties.worlds.concretise import Turn, Unfolding
from fencepost.properties.worlds.consumer_client import ConsumerClient
from fencepost.properties.worlds.protocol_worlds import CUT_OFFS, FRESH, TICK_MS
from fencepost.properties.worlds.scope import Scope
from fencepost.properties.worlds.world import Act, World, Worlds
from fencepost.properties.worlds.world_client import STRANGE, Client
from fencepost.traces.files.run_trace import (
    client_names,
    names_in_words,
    run_lines,
    sent,
    turn_words,
)
from fencepost.traces.pages.consumer_fields import consumer_knowledge
from fencepost.traces.pages.decisions import rule_json
from fencepost.traces.pages.group_fields import BROUGHT, fields, knowledge, timer_name
from fencepost.traces.pages.html import Pool, explorer_page

_UNKNOWN, _STOPS = -1, -2
"""In place of a state: it was not visited, or the machine stops."""


def _symbol(kind: str, name: object) -> str:
    """Return a symbol: `i` an id, `t` a time, `k` what a client knows that has no id in the group.

    `g` is a generation or an epoch, and `c` that of a client.
    """
    return f"⟦{kind}:{name}⟧"


class _Epoch(int):
    """An epoch of a world: a number that is written as a symbol."""

    symbol: str

    @classmethod
    def of(cls, number: int, symbol: str) -> _Epoch:
        """Return a number with its symbol."""
        epoch = cls(number)
        epoch.symbol = symbol
        return epoch

    def __str__(self) -> str:
        """Return the symbol."""
        return self.symbol

    def __format__(self, how: str) -> str:
        """Return the symbol, however it is to be formatted."""
        return self.symbol


class _Epochs(dict[int, int]):
    """Each epoch above 0 as a symbol, also one that no group has yet."""

    def __contains__(self, _: object) -> bool:
        """Return True."""
        return True

    def get(self, epoch: int, default: Any = None) -> Any:
        """Return an epoch; the default for one that is none."""
        return _Epoch.of(epoch, _symbol("g", epoch)) if epoch > 0 else default


class _Symbols(Unfolding):
    """Names in symbols.  One that was handed out or made up just now has a symbol of its own."""

    def new_id(self, whose: str) -> str:
        """Return the symbol of the id that was just handed out."""
        del whose
        return _symbol("i", FRESH)

    def strange_id(self) -> str:
        """Return the symbol of an id that was never handed out."""
        return _symbol("i", STRANGE)


@dataclass(frozen=True, slots=True)
class ExploredPage:
    """The text of a page, and the numbers of its states and of those whose choices it has."""

    text: str
    states: int
    expanded: int
    is_complete: bool


def page_of_exploration(
    revision: Revision,
    scope: Scope,
    properties: Iterable[Property],
    *,
    max_states: int,
    max_depth: int | None = None,
    command: str = "",
    tell: Callable[[str], None] | None = None,
) -> ExploredPage:
    """Explore a scope, unfolded and the nearest states first, and make the page.

    `command`: the command that steps through the same worlds at the terminal; `tell`: is told now
    and then how far it is.
    """
    judged = JudgedWorlds(revision, scope, properties)
    return _Explored(judged, max_states, max_depth, tell).page(command)


class _Explored:
    """An exploration as data for its page."""

    def __init__(
        self,
        judged: JudgedWorlds,
        max_states: int,
        max_depth: int | None,
        tell: Callable[[str], None] | None,
    ) -> None:
        self.tell = tell
        self.judged, self.worlds = judged, judged.worlds
        self.names = client_names(self.worlds)
        self.has_epochs = self.worlds.protocol.client is ConsumerClient
        done = explore(
            Worlds(self.worlds.revision, self.worlds.scope),
            keep_graph=True,
            max_states=max_states,
            max_depth=max_depth,
            progress=None if tell is None else lambda done: tell(f"{done.states:,} states"),
            stops=stops_of(self.worlds.revision),
        )
        self.states = [] if done.graph is None else done.graph.states
        self.is_cut = not done.complete and (done.cut or not done.stuck)
        self.expanded = len(self.states) - (done.levels[-1] if self.is_cut else 0)
        self.depth = len(done.levels) - 1
        self.numbers = {world: number for number, world in enumerate(self.states)}
        self.transitions = 0
        self.fields, self.actions, self.renames, self.faults = Pool(), Pool(), Pool(), Pool()
        self.came: dict[int, tuple[int, int]] = {}
        """State → the state before it on a shortest way, and the choice there."""
        self.broken: dict[tuple[str, bool], tuple[int, int]] = {}
        """Property, and true where that is expected → the nearest state, and the choice there."""

    def page(self, command: str) -> ExploredPage:
        rules = {rule.id: rule_json(table, rule) for table, rule in self.worlds.revision.rules()}
        states = [self._state(number) for number in range(len(self.states))]
        used = {rule for action in self.actions.items for rule in action["r"]}
        data = {
            "states": states,
            "fields": self.fields.items,
            "brought": sorted(BROUGHT),
            "actions": self.actions.items,
            "renames": self.renames.items,
            "faults": self.faults.items,
            "rules": {name: rule for name, rule in rules.items() if name in used},
            "clients": self.names,
            "keeps": self.worlds.scope.fails_over,
            "epochs": self.has_epochs,
            "tick": TICK_MS,
            "command": command,
        }
        scope = self.worlds.scope
        title = f"{self.worlds.revision.name}, step by step"
        text = explorer_page(
            title,
            data,
            heading=title,
            about=f"Clients: {', '.join(self.names)}. Acts: {', '.join(scope.acts)}.",
            size=self._size(),
            runs=[*self._runs()],
            command=command,
        )
        return ExploredPage(text, len(states), self.expanded, not self.is_cut)

    def _size(self) -> str:
        size = f"{plural(len(self.states), 'state')}, {plural(self.transitions, 'transition')}"
        if not self.is_cut:
            return f"{size}: all that can be reached within these bounds."
        return (
            f"{size}, at most {plural(self.depth, 'step')} from the beginning. The rest is cut "
            f"off: of {plural(len(self.states) - self.expanded, 'state')} the page does not know "
            "what may happen next."
        )

    def _state(self, number: int) -> dict[str, Any]:
        if self.tell is not None:
            self.tell(f"{number:,} of {len(self.states):,} states")
        world = self.states[number]
        names = self._symbols(world)
        document: dict[str, Any] = {
            "f": [self.fields.place(pair) for pair in self._fields(world, names).items()],
            "g": [*map(self.worlds.protocol.number, world.clients)],
        }
        if self.has_epochs:
            document["m"] = [client.member_id for client in world.clients]
        if number < self.expanded:
            document["e"] = [
                self._choice(number, choice, names, *result)
                for choice, result in enumerate(self.judged.results(world), start=1)
            ]
        return document

    def _symbols(self, world: World) -> _Symbols:
        rosters = (getattr(client, "roster", ()) for client in world.clients)
        ids = {i for roster in rosters for i in roster}
        ids.update(client.member_id for client in world.clients if client.member_id)
        ids.update(self.worlds.unchanged(world.group).ids)
        symbols = {member_id: _symbol("i", member_id) for member_id in sorted(ids)}

        def known(index: int, client: Client | ConsumerClient) -> Client | ConsumerClient:
            member_id = symbols.get(client.member_id, "")
            if isinstance(client, ConsumerClient):
                number = client.epoch
                epoch = _Epoch.of(number, _symbol("c", index)) if number > 0 else number
                return client._replace(member_id=member_id, epoch=epoch)
            roster = tuple(symbols[member_id] for member_id in client.roster)
            return client._replace(member_id=member_id, roster=roster)

        names = _Symbols(self.worlds, [known(*each) for each in enumerate(world.clients)])
        names.ids = symbols
        if self.has_epochs:
            names.numbers = _Epochs()
        for index, client in enumerate(world.clients):
            kind = client.waits.partition(" ")[0]
            if kind in {"join", "sync"}:
                ask = self.worlds.ask(client, kind, index)
                who = f"c{index + 1}"
                body = {"memberId": names.clients[index].member_id}
                names.open[index] = Send(f"w{index}", f"{who}.1", who, ask.api, ask.version, body)
        return names

    def _fields(self, world: World, names: _Symbols) -> dict[str, str]:
        group = names.group(world.group)
        ids = {symbol: symbol for symbol in names.ids.values()}
        values = fields(group, ids, {})
        if group is not None:
            if not self.has_epochs:
                values["generation"] = _symbol("g", group.generation_id)
            for timer in group.timers:
                values[timer_name(timer, ids)] = f"at {_symbol('t', timer.earliest)}"
        for index, name in enumerate(self.names):
            client = names.clients[index]
            if isinstance(client, ConsumerClient):
                values[name] = _consumer_knowledge(client, index)
            else:
                waits = world.clients[index].waits
                values[name] = knowledge(client, _symbol("c", index), waits)
        return values

    def _choice(
        self, number: int, choice: int, names: _Symbols, act: Act, after: World | None, stop: str
    ) -> list[Any]:
        """Return a choice: the action, the state after it, the renaming, and what is violated."""
        self.transitions += 1
        before = self.states[number]
        if after is None:
            did = self.worlds.protocol.acts[act.kind]
            action = {"c": act.client, "k": act.kind, "d": did, "a": stop, "r": []}
            return [self.actions.place(action), _STOPS]
        meant = names.fork()
        turn = _in_symbols(meant.turn(before, act, after), act)
        who = self.names[act.client] if act.client >= 0 else ""
        sends = {send.id: send for send in names.open.values()} | sent(turn.events)
        ids = names_in_words(self.worlds, (*names.ids.values(), *meant.names))
        step = turn_words(0, 0, who, turn, sends, ids)
        did = f"{TICK_MS / 1000:g} s pass" if act.kind == "tick" else step.did
        action = {"c": act.client, "k": act.kind, "d": did, "a": step.answers, "r": step.rules}
        if meant.handed_out:
            action["w"] = self.worlds.seats[act.client].instance or f"c{act.client + 1}"
        if meant.requests:
            action["q"] = 1
        target = self.numbers.get(after, _UNKNOWN)
        if target > number:
            self.came.setdefault(target, (number, choice))
        faults = [
            self._fault(fault, number, choice, names)
            for fault in self.judged.faults(before, act, after)
        ]
        return [self.actions.place(action), target, self._renaming(before, act), *faults]

    def _renaming(self, before: World, act: Act) -> int:
        """Return the place of the names after a step: old and new, and the shift."""
        done, shift = None, 0
        if act.kind not in CUT_OFFS:
            done = self.worlds.transitions(before, act.kind, act.client)[act.choice]
            shift = done.naming.shift
        _, renamed = self.worlds.places(before, act, done)
        return self.renames.place([shift, *sorted(renamed.items())])

    def _fault(self, fault: BrokenProperty, number: int, choice: int, names: _Symbols) -> int:
        self.broken.setdefault((fault.id, fault.is_expected), (number, choice))
        sentence = with_names(fault.sentence, names.ids)
        return self.faults.place([fault.id, sentence, int(fault.is_expected)])

    def _runs(self) -> Iterator[Mapping[str, Any]]:
        """Yield a shortest run to each property that is violated, those that nobody expects first.

        Worlds are visited in the order of their distance, so the first violation is a nearest one.
        """
        stepper = Stepper(self.judged)
        broken = sorted(self.broken.items(), key=lambda item: item[0][1])
        for (name, is_expected), (number, choice) in broken:
            numbers = (*self._way(number), choice)
            stepper.go(numbers)
            known = {(each.id, each.is_expected): each for each in stepper.taken[-1].faults}
            yield {
                "id": name,
                "sentence": known[name, is_expected].sentence,
                "is_expected": is_expected,
                "place": ".".join(map(str, numbers)),
                "lines": [line.strip() for line in run_lines(self.worlds, stepper.run())],
            }

    def _way(self, number: int) -> tuple[int, ...]:
        """Return the choices of a shortest way to a state."""
        numbers: list[int] = []
        while number in self.came:
            number, choice = self.came[number]
            numbers.append(choice)
        return tuple(reversed(numbers))


_ID = "§"
"""In place of the id that a client made, and that its group doesn't know."""


def _consumer_knowledge(client: ConsumerClient, index: int) -> str:
    """Return what a client knows, as text with symbols.

    A client keeps an id that its group doesn't know, which is none in a world: the script of the
    page knows which it is, if any, and chooses among the texts of a `k`.
    """
    if client.member_id:
        return consumer_knowledge(client)
    mine = [consumer_knowledge(client._replace(member_id=_ID, epoch=e)) for e in (0, -1, -2)]
    return _symbol("k", "|".join((str(index), consumer_knowledge(client), *mine)))


def _in_symbols(turn: Turn, act: Act) -> Turn:
    """Return a turn whose generations are symbols."""
    return Turn(turn.act, tuple(_event(e, act) for e in turn.events), turn.rules, turn.world)


def _event(event: Event, act: Act) -> Event:
    match event:
        case Sent(at_ms=at_ms, request=request):
            body = _generations(request.body, _symbol("c", act.client))
            return Sent(at_ms, replace(request, body=body))
        case Answered(answer=answer) if answer.body is not None:
            symbol = _symbol("g", answer.body.get("generationId"))
            return Answered(Answer(answer.id, answer.at_ms, _generations(answer.body, symbol)))
        case _:
            return event


def _generations(body: Mapping[str, Any], symbol: str) -> dict[str, Any]:
    """Return a body whose generation, if it has one, is a symbol."""
    names = ("generationId", "generationIdOrMemberEpoch")
    known = {name for name in names if isinstance(n := body.get(name), int) and n >= 0}
    return {name: symbol if name in known else value for name, value in body.items()}
