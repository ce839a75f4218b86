"""Draw messages, programs and histories of the group protocol with Hypothesis, for any test.

The strategies draw mostly what a good client sends, sometimes what it never would.  All shrink
towards few, simple and ordinary things.

    @given(programs())                  # actions of several processes, for a coordinator
    @given(requests("JoinGroup"))       # one message of any version, valid or odd
    @given(histories(revision))         # requests and answers of a right coordinator

A move names a process and an action, as a good client would do it, or odd in one way.  It names no
ids, generations or times: the answers and the coordinator provide those.  So a move keeps its
meaning when others are left out, and a program shrinks by leaving moves out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from fencepost.model.bad_input import BadInputError
from fencepost.model.history.events import Event
from fencepost.model.messages.messages import (
    APIS,
    BY_ID_SINCE,
    CommitPartition,
    CommitTopic,
    FetchGroup,
    FetchTopic,
    JoinProtocol,
    LeavingMember,
    SyncAssignment,
)
from fencepost.model.messages.shapes import wire_fields
from fencepost.model.revision import Revision
from fencepost.model.suggestions import did_you_mean
from fencepost.properties.checking.random_walk import WalkContext
from fencepost.properties.stateful.machines import drawn_walk, numbers
from fencepost.properties.worlds.protocol_worlds import Ask, Seat
from fencepost.properties.worlds.scope import Scope
from fencepost.properties.worlds.worlds_by_protocol import worlds_of

ACTIONS: dict[str, str] = {
    "join": "JoinGroup",
    "sync": "SyncGroup; a leader assigns to all",
    "await": "wait until its last request is answered",
    "beat": "Heartbeat",
    "leave": "LeaveGroup of itself",
    "restart": "the process ends, and a new one that knows nothing takes its place",
    "commit": "OffsetCommit",
    "change": "JoinGroup with another subscription",
    "remove": "LeaveGroup by instance alone, as an operator does",
    "pause": "time passes: a session, or a rebalance timeout",
    "drop": "its connection is lost; it keeps its id, generation and assignment",
    "describe": "DescribeGroups",
    "fetch": "OffsetFetch",
    "list": "ListGroups",
    "batch": "LeaveGroup of everybody at once",
    "failover": "another coordinator takes over with what was stored",
    "form": "A and B join and sync until they are a stable group",
}
"""The possible actions, the simplest first; the order in which programs are made simpler."""

VARIANTS: dict[str, str] = {
    "": "as a good client would",
    "older": "in an old version",
    "stranger": "under a member id that nobody was given",
    "nobody": "without a member id",
    "earlier": "under the id that it had before its last one",
    "other": "under the id of the next one in the cast",
    "dynamic": "without its instance",
    "claims": "as an instance that nobody has",
    "later": "of the next generation",
    "never": "of generation -1",
    "elsewhere": "in another group",
    "nowhere": "in the group of no name",
    "short": "with a session timeout of 1 ms",
    "unlike": "with protocols that nobody else knows",
}
"""The ways in which a request may be odd."""

PROCESSES: tuple[str, ...] = ("A", "A", "B", "x", "y")
"""The processes: two of instance A, one of B, two dynamic members."""


class Move(NamedTuple):
    """A process (an index into PROCESSES), an action (of ACTIONS), its variant (of VARIANTS)."""

    do: str = "join"
    who: int = 0
    odd: str = ""


class Program(NamedTuple):
    """Moves in order; `delayed`: the group waits before its first generation, if it can."""

    moves: tuple[Move, ...]
    delayed: bool = False

    @property
    def text(self) -> str:
        """Return the Python expression that makes it, to be kept as a regression."""
        moves = ", ".join(_code_of(move) for move in self.moves)
        comma = "," if len(self.moves) == 1 else ""
        return f"Program(({moves}{comma}){', delayed=True' if self.delayed else ''})"


class MoveError(BadInputError):
    """A move names what isn't there; `str()` names it and what there is."""


def refuse_unknown_moves(programs: Iterable[Program]) -> None:
    """Raise MoveError for a move with an action, a variant or a process that isn't there."""
    for move in (move for program in programs for move in program.moves):
        for word, known, kind in ((move.do, ACTIONS, "action"), (move.odd, VARIANTS, "variant")):
            if word not in known:
                near = did_you_mean(str(word), known)
                there_are = ", ".join(map(repr, known))
                raise MoveError(f"{move} has no {kind} {word!r}{near}; there are {there_are}")
        if move.who not in range(len(PROCESSES)):
            named = ", ".join(f"{who} ({name})" for who, name in enumerate(PROCESSES))
            raise MoveError(f"{move} has no process {move.who!r}; there are {named}")


def _code_of(move: Move) -> str:
    parts = [repr(move.do), str(move.who), *([repr(move.odd)] if move.odd else [])]
    return f"Move({', '.join(parts)})"


def plainer(move: Move) -> Iterator[Move]:
    """Yield plainer moves that may replace a move, the simplest first."""
    if move.odd:
        yield move._replace(odd="")
    yield from (move._replace(who=who) for who in range(move.who))
    before = list(ACTIONS)[: list(ACTIONS).index(move.do)]
    yield from (Move(do, move.who) for do in before[:2])


_FREQUENT = ("join", "join", "sync", "sync", "await", "form")
_PLAIN = 36
"""Number of plain moves for one of each variant."""

TABLES: Mapping[str, tuple[str, ...]] = {
    "JoinGroup": ("join", "change"),
    "SyncGroup": ("sync",),
    "Heartbeat": ("beat",),
    "LeaveGroup": ("leave", "batch"),
    "LeaveGroup member": ("leave", "remove", "batch"),
    "OffsetCommit": ("commit",),
    "OffsetFetch": ("fetch",),
    "DescribeGroups": ("describe",),
    "ListGroups": ("list",),
    "session timeout": ("pause",),
    "join phase": ("pause", "leave"),
    "sync phase": ("pause",),
    "failover": ("failover",),
}
"""Table of rules → the actions that lead to it."""


class Weights(NamedTuple):
    """The weights of moves: which actions come more often, how many moves are plain.

    `more`: action → how many times more often; `plain`: how many plain moves come to each variant;
    `formed`: programs begin with a stable group.
    """

    more: Mapping[str, int] = {}
    plain: int = _PLAIN
    formed: bool = False


USUAL = Weights()


def weighted(missing: Iterable[str], number: int) -> Weights:
    """Return the weights for a round of programs, by the table of each rule that none has used.

    Each second round begins with a stable group, and each has more odd moves than the one before.
    """
    more: Counter[str] = Counter()
    for table in missing:
        more.update(TABLES.get(table, ()))
    return Weights(more, max(_PLAIN >> number, 1), formed=number % 2 == 1)


def member_ids(known: Sequence[str] = ()) -> st.SearchStrategy[str]:
    """Draw member ids: none (""), known ones, or one that nobody has."""
    return st.sampled_from(["", *known, "stranger"])


def instances(names: Sequence[str] = ("A", "B")) -> st.SearchStrategy[str | None]:
    """Draw instance ids: none (null), one of these, or the empty string, which is one too."""
    return st.sampled_from([None, *names, ""])


def generations(current: int = 1) -> st.SearchStrategy[int]:
    """Draw generation ids: the current one, none (-1), a past or a future one."""
    return st.sampled_from([current, -1, current - 1, current + 1])


def protocols() -> st.SearchStrategy[tuple[JoinProtocol, ...]]:
    """Draw the protocols of a member: one or two; sometimes none, which no client does."""
    protocol = st.builds(
        JoinProtocol,
        name=st.sampled_from(["range", "roundrobin", "sticky"]),
        metadata=st.binary(max_size=4),
    )
    return st.lists(protocol, min_size=1, max_size=2, unique_by=lambda p: p.name).map(
        tuple
    ) | st.just(())


def timeouts() -> st.SearchStrategy[int]:
    """Draw timeouts in ms: those in a broker's default range, and its boundary values."""
    return st.sampled_from([6000, 10_000, 1_800_000, 5999, 1_800_001, 0])


def clients(revision: Revision, *, dynamic: bool = True) -> st.SearchStrategy[Seat]:
    """Draw a client: an instance or none, and a version of each API that the revision has."""
    versions = st.fixed_dictionaries(
        {api: st.integers(low, high) for api, (low, high) in sorted(revision.apis.items())}
    )
    names: list[str | None] = ["A", "B", *([None] if dynamic else [])]
    return st.builds(Seat, instance=st.sampled_from(names), versions=versions)


def requests(
    *apis: str,
    known_ids: Sequence[str] = (),
    bounds: Mapping[str, tuple[int, int]] | None = None,
) -> st.SearchStrategy[Ask]:
    """Draw a request of one of these APIs (of all, if none is named), in any version of it.

    `known_ids`: member ids that somebody has; `bounds`: API → lowest and highest version. Each can
    be encoded in its version; whether it makes sense is another matter.
    """
    named = apis or tuple(_FIELDS)
    if unknown := sorted(set(named) - set(_FIELDS)):
        raise ValueError(f"no requests of {unknown[0]}; there are {', '.join(_FIELDS)}")
    return st.one_of([_of_one(api, known_ids, (bounds or {}).get(api)) for api in named])


def _of_one(
    api: str, known_ids: Sequence[str], bounds: tuple[int, int] | None
) -> st.SearchStrategy[Ask]:
    known = APIS[api]
    low, high = bounds or (known.lowest, min(known.highest, BY_ID_SINCE - 1))
    fields = {
        "group_id": st.sampled_from(["g", "h", ""]),
        "member_id": member_ids(known_ids),
        "group_instance_id": instances(),
        "generation_id": generations(),
        "session_timeout_ms": timeouts(),
        "rebalance_timeout_ms": timeouts(),
        "protocol_type": st.sampled_from(["consumer", "connect", ""]),
        "protocols": protocols(),
        **_FIELDS[api],
    }

    def of(version: int) -> st.SearchStrategy[Ask]:
        carried = {n for n, form in wire_fields(known.request) if form.carried_by(version)}
        message: st.SearchStrategy[Any] = st.builds(
            known.request, **{name: fields[name] for name in fields if name in carried}
        )
        return message.map(lambda m: Ask(api, version, m))

    newest_first = st.integers(0, high - low).map(lambda back: high - back)
    return newest_first.flatmap(of)


_ROWS = st.builds(LeavingMember, member_id=member_ids(), group_instance_id=instances())
_TOPICS = st.just((FetchTopic(name="t", partition_indexes=(0,)),))
_COMMITS = st.builds(
    lambda name, offset: (
        CommitTopic(
            name=name,
            partitions=(CommitPartition(partition_index=0, committed_offset=offset),),
        ),
    ),
    st.sampled_from(["t", "missing"]),
    st.integers(0, 9),
)
_FIELDS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "JoinGroup": {},
    "SyncGroup": {
        "protocol_name": st.sampled_from(["range", "sticky"]),
        "assignments": st.lists(
            st.builds(SyncAssignment, member_id=member_ids(), assignment=st.binary(max_size=4)),
            max_size=2,
        ).map(tuple),
    },
    "Heartbeat": {},
    "LeaveGroup": {"members": st.lists(_ROWS, min_size=1, max_size=3).map(tuple)},
    "OffsetCommit": {"topics": _COMMITS},
    "OffsetFetch": {
        "topics": _TOPICS,
        "groups": st.builds(lambda t: (FetchGroup(group_id="g", topics=t),), _TOPICS),
    },
    "DescribeGroups": {"groups": st.sampled_from([("g",), ("h",), ("g", "h")])},
    "ListGroups": {},
}


def moves(
    *,
    actions: Sequence[str] = tuple(ACTIONS),
    processes: Sequence[int] = range(len(PROCESSES)),
    weights: Weights = USUAL,
) -> st.SearchStrategy[Move]:
    """Draw an action of one process: mostly joins and syncs, one in four odd in some way.

    `actions`: of `ACTIONS`; `processes`: indices into `PROCESSES`; `weights`: how to draw.
    """
    more = [do for do, times in weights.more.items() for _ in range(times)]
    often = [do for do in (*_FREQUENT, *ACTIONS, *more) if do in actions]
    return st.builds(
        Move,
        do=st.sampled_from(sorted(often, key=list(ACTIONS).index)),
        who=st.sampled_from(list(processes)),
        odd=st.sampled_from([*[""] * weights.plain, *(odd for odd in VARIANTS if odd)]),
    )


def programs(
    *,
    min_moves: int = 1,
    max_moves: int = 16,
    actions: Sequence[str] = tuple(ACTIONS),
    processes: Sequence[int] = range(len(PROCESSES)),
    weights: Weights = USUAL,
) -> st.SearchStrategy[Program]:
    """Draw the actions of several processes, in order.

    Some programs have few processes, which get further, and some have all.  `weights`: how to draw.
    """
    first = (Move("form"),) if weights.formed and "form" in actions else ()
    crowds = sorted(
        {tuple(processes), *(tuple(processes)[:n] for n in range(1, len(processes)))}, key=len
    )

    def of(crowd: tuple[int, ...]) -> st.SearchStrategy[Program]:
        some = st.lists(
            moves(actions=actions, processes=crowd, weights=weights),
            min_size=min_moves,
            max_size=max_moves,
        )
        begun = some.map(lambda drawn: (*first, *drawn))
        return st.builds(Program, moves=begun, delayed=st.booleans())

    return st.sampled_from(crowds).flatmap(of)


def histories(
    revision: Revision, *, scope: Scope | None = None
) -> st.SearchStrategy[tuple[Event, ...]]:
    """Draw the requests and answers of a right coordinator of a revision, on a virtual clock.

    `scope`: by default the second of its protocol for walks.
    """
    drawing = worlds_of(revision).drawing
    context = WalkContext(revision, drawing.scopes[1] if scope is None else scope)
    return numbers(drawing).map(lambda drawn: drawn_walk(context, drawn).run().events)
