"""Describe a corpus, define its tables, and draw its random traces.

Trace `i` is of model `i` modulo the number of models, and depends only on the seed, its number and
its model; so any number of machines makes the same traces.  A shard holds traces of one model: it
is the unit of work, and of what is kept when a job is killed.  `corpus.json` holds the description:
numbers of traces and shards, models, seed; a folder that doesn't fit it is refused.

The tables have version 1.  A column may be added within a version; removing one, or changing its
meaning, makes a new version.  Bodies of requests and answers are JSON, as in trace files, since
their fields differ by API and version.  Revision and mutant of a row are in the name of its folder
(`revision=R/mutant=M`), as Spark and Arrow read it.

A trace has ten to twenty-five acts of a few clients, on a virtual clock; each client may do
anything that its state allows.  `state_words` names the state of a group without ids, generations,
deadlines and bytes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from random import Random
from typing import Annotated, Any, Self

import pyarrow as pa
from msgspec import Meta

from fencepost.model.classic.group import Group, Member
from fencepost.model.revision import Revision
from fencepost.model.revisions.revisions import MUTANT
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.checking.random_walk import Walk, WalkChoice, WalkContext
from fencepost.properties.worlds.classic_worlds import CLASSIC_WORLDS, walk_scopes
from fencepost.properties.worlds.concretise import Run
from fencepost.traces.files.run_trace import tool_version
from fencepost.traces.pipeline.storage.location import (
    CorpusError,
    Manifest,
    ManifestKind,
    manifest,
)
from fencepost.traces.pipeline.storage.trace_rows import step_rows

FORMAT = "fencepost-corpus"
VERSION = 1
_KIND = ManifestKind(
    FORMAT,
    VERSION,
    "corpus",
    "generate the corpus again in another folder",
    "give a folder that `generate` made",
)
NO_MUTANT = "none"
SHARD_TRACES = 1_000
"""The traces in a shard: some seconds of work."""


@dataclass(frozen=True, slots=True, order=True)
class TraceSource:
    """The model that traces are of: a revision, or a mutant of one (`mutant` "none": itself)."""

    revision: str
    mutant: str = NO_MUTANT

    @classmethod
    def of(cls, name: str) -> Self:
        """Find it by its name, `mutant:NAME` for a mutant.  Raises KeyError."""
        model = find_revision(name)
        if name.startswith(MUTANT):
            return cls(model.base or "", model.name.removeprefix(MUTANT))
        return cls(model.name)

    @property
    def name(self) -> str:
        """Its name in other commands."""
        return self.revision if self.mutant == NO_MUTANT else MUTANT + self.mutant

    @property
    def model(self) -> Revision:
        """The model itself."""
        return find_revision(self.name)

    @property
    def folder(self) -> str:
        """Its partition."""
        return f"revision={self.revision}/mutant={self.mutant}"


@dataclass(frozen=True, slots=True)
class Shard:
    """Some traces of one model, by their numbers in the corpus."""

    number: int
    source: TraceSource
    traces: range

    @property
    def file(self) -> str:
        """Its place within a table of the corpus."""
        return f"{self.source.folder}/shard-{self.number:06d}.parquet"


MOST_SHARDS = 1_000_000
"""A shard is a file, and all of them are listed in memory."""

_Many = Annotated[int, Meta(ge=1, le=2**63 - 1)]


class _CorpusManifest(Manifest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The text of `corpus.json`."""

    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
    traces: _Many
    models: Annotated[tuple[str, ...], Meta(min_length=1)]
    per_shard: _Many
    made_by: str
    part: bool


@dataclass(frozen=True, slots=True)
class Recipe:
    """The description of a corpus: all that it depends on.

    `traces` in all, dealt out to the models of these names in turn; `per_shard` at most in a shard;
    `made_by`: the version of fencepost, since another one may draw other traces; `part`: only some
    of these traces were kept, and shards of which none was are not there.
    """

    seed: int
    traces: int
    models: tuple[str, ...]
    per_shard: int = SHARD_TRACES
    made_by: str = field(default_factory=tool_version)
    part: bool = False

    @property
    def has_too_many_shards(self) -> bool:
        """Return True if its shards are more than `MOST_SHARDS`."""
        return self.traces > MOST_SHARDS * self.per_shard

    @property
    def size(self) -> str:
        """Return its size, compared with the most shards, for a message."""
        return f"{self.traces:,} traces in shards of {self.per_shard:,} need more shards than"

    def shards(self) -> list[Shard]:
        """Return every shard, model by model."""
        shards: list[Shard] = []
        for place, name in enumerate(self.models):
            source = TraceSource.of(name)
            mine = range(place, self.traces, len(self.models))
            for first in range(0, len(mine), self.per_shard):
                part = mine[first : first + self.per_shard]
                shards.append(Shard(len(shards), source, part))
        return shards

    def text(self) -> str:
        """Return the text of `corpus.json`."""
        return json.dumps({"format": FORMAT, "version": VERSION, **asdict(self)}, indent=1) + "\n"

    @classmethod
    def from_text(cls, text: str, where: str) -> Self:
        """Read a `corpus.json`.  Raises CorpusError."""
        kept = manifest(text, where, _KIND, _CorpusManifest)
        for name in kept.models:
            try:
                TraceSource.of(name)
            except KeyError as error:
                raise CorpusError(f"{where}: {error.args[0]}; {_KIND.other}") from error
        sizes = (kept.seed, kept.traces, kept.models, kept.per_shard)
        recipe = cls(*sizes, kept.made_by, kept.part)
        if recipe.has_too_many_shards:
            raise CorpusError(f"{where}: {recipe.size} {MOST_SHARDS:,}; {_KIND.other}")
        return recipe


def corpus_recipe(
    *, seed: int, traces: int, revisions: Sequence[str], mutants: Sequence[str], per_shard: int
) -> Recipe:
    """Make a recipe of revisions and mutants, each named once.

    Raises KeyError for one that is unknown, and CorpusError for too many shards.
    """
    names = (*revisions, *(MUTANT + name.removeprefix(MUTANT) for name in mutants))
    models = tuple(dict.fromkeys(TraceSource.of(name).name for name in names))
    recipe = Recipe(seed, traces, models, per_shard)
    if recipe.has_too_many_shards:
        raise CorpusError(f"{recipe.size} {MOST_SHARDS:,}: make the shards larger")
    return recipe


_WORDS = pa.list_(pa.string())


def _table(*fields: tuple[str, pa.DataType]) -> pa.Schema:
    return pa.schema(list(fields), metadata={FORMAT: str(VERSION)})


STEP = pa.struct(
    [
        ("do", pa.string()),  # send, answer, disconnect, restart, handled, passed
        ("at_ms", pa.int64()),  # since the beginning; the earliest time
        ("by_ms", pa.int64()),  # the latest; the same on a virtual clock
        ("id", pa.string()),  # of a request; of an answer: of the request that it answers
        ("member", pa.string()),  # who sent it: c1, c2, …
        ("connection", pa.string()),
        ("client_id", pa.string()),
        ("api", pa.string()),
        ("version", pa.int16()),
        ("body", pa.string()),  # JSON; null for an answer: the connection was closed
        ("findings", _WORDS),  # what was odd about the bytes of an answer
        ("dropped", _WORDS),  # ids of requests that get no answer any more
    ]
)
"""An event of the history; columns that an event of its kind lacks are null."""

TURN = pa.struct(
    [
        ("act", pa.string()),
        ("client", pa.int32()),  # -1: nobody's doing
        ("outcome", pa.int32()),  # which of those that the protocol leaves open
        ("rules", _WORDS),  # by which the model decided, in order
        ("state", pa.string()),  # of the group afterwards, as rules can tell it apart
    ]
)
"""A step of the model that the trace was made with."""

TRACES = _table(
    ("trace", pa.int64()),  # its number in the corpus
    ("scope", pa.int16()),  # whose clients: an index into machines.SCOPES
    ("config", pa.map_(pa.string(), pa.int64())),
    ("clock", pa.string()),  # virtual or real
    ("lag_ms", pa.int32()),
    ("steps", pa.list_(STEP)),
    ("turns", pa.list_(TURN)),
)

VERDICTS = _table(
    ("trace", pa.int64()),
    ("outcome", pa.string()),  # holds, violated, unknown; error: the checker itself failed
    ("level", pa.string()),  # MUST, SHOULD, MAY
    ("rule", pa.string()),  # that was broken; "" where no rule can be named
    ("api", pa.string()),  # of the request whose answer is wrong
    ("wrong", pa.string()),  # ANSWER, EARLY, SILENCE, CLOSED, SHAPE, DEVIATION
    ("seen", pa.string()),  # what kind of answer came
    ("request", pa.string()),  # whose answer is wrong
    ("decided_by", _WORDS),  # the rules that took the request in
    ("broken", _WORDS),  # ids of properties that the answers, or the explanations, break
    ("message", pa.string()),  # one sentence; of an error: its class and text
    ("turns", pa.int32()),  # how long the trace is
)

ITEMS = _table(
    ("revision", pa.string()),
    ("mutant", pa.string()),
    ("kind", pa.string()),  # rule, pair, state
    ("item", pa.string()),
    ("traces", pa.int64()),  # how many show it
    ("first", pa.int64()),  # the lowest number of one
)
"""The coverage of a corpus."""

NEEDED = _table(("trace", pa.int64()), ("shard", pa.int64()), ("items", _WORDS))
"""A trace that is needed, and its items."""

GROUPS = _table(
    ("outcome", pa.string()),
    ("rule", pa.string()),
    ("api", pa.string()),
    ("wrong", pa.string()),
    ("seen", pa.string()),
    ("traces", pa.int64()),  # how many are like it
    ("smallest", pa.int64()),  # turns * 2^40 + number: of the shortest the first
    ("message", pa.string()),  # the first in the order of the alphabet
)
"""Violations that are one, by rule and shape."""

DONE = _table(("shard", pa.int64()), ("rows", pa.int64()))
"""A shard that is written, and its rows."""

OUTCOMES = _table(
    ("revision", pa.string()),
    ("mutant", pa.string()),
    ("outcome", pa.string()),
    ("traces", pa.int64()),
)
"""Numbers of traces of a model, by outcome."""


_DRAWING = CLASSIC_WORLDS.drawing
_ACTS = tuple(kind for kind in _DRAWING.kinds if kind != "describe")
"""Worlds know no client ids, which DescribeGroups would tell."""
SCOPES = walk_scopes(_ACTS)
"""The scopes of traces; one is drawn for each trace."""

_FEWEST, _MOST = 10, 25
_WAYS = 1 << 12
_DISTURBING = tuple(kind for kind in _DRAWING.disturbing if kind in _ACTS)

_STRETCH = 20_000
"""Numbers of traces after which the caches of a model are dropped, so that memory does not grow."""


@lru_cache(maxsize=len(SCOPES) * 2)
def ground(model: str, scope: int, stretch: int = 0) -> WalkContext:
    """Return the worlds of a model for traces of a scope; `stretch`: a range of numbers."""
    del stretch
    return WalkContext(find_revision(model), SCOPES[scope])


def drawn(model: str, seed: int, number: int) -> tuple[int, Walk]:
    """Return the scope and the walk of the trace of this number."""
    chance = Random(f"{seed}/{number}")  # noqa: S311  (it must be the same each time)
    scope = chance.randrange(len(SCOPES))
    bits = chance.getrandbits(len(_DISTURBING))
    without = frozenset(k for i, k in enumerate(_DISTURBING) if not bits >> i & 1)
    walk = Walk(ground(model, scope, number // _STRETCH))
    for _ in range(chance.randint(_FEWEST, _MOST)):
        walk.choose(chance.randrange(_WAYS), without)
    return scope, walk


def trace_row(model: str, seed: int, number: int) -> dict[str, Any]:
    """Return the trace of this number, as a row of `schema.TRACES`."""
    scope, walk = drawn(model, seed, number)
    return row_of(walk, scope, number)


def row_of(walk: Walk, scope: int, number: int = 0) -> dict[str, Any]:
    """Return a walk in a scope as a row of `schema.TRACES`."""
    run = walk.run()
    return {
        "trace": number,
        "scope": scope,
        "config": list(walk.context.config.items()),
        "clock": "virtual",
        "lag_ms": 0,
        "steps": step_rows(run.events, run.senders),
        "turns": turn_rows(walk.choices, run),
    }


def turn_rows(choices: Sequence[WalkChoice], run: Run) -> list[dict[str, Any]]:
    """Return the choices, the rules used, and the group's state after each turn."""
    return [
        {
            "act": choice.kind,
            "client": choice.client,
            "outcome": choice.outcome,
            "rules": list(turn.rules),
            "state": _state(turn.world.group),
        }
        for choice, turn in zip(choices, run.turns, strict=True)
    ]


def choices_of(turns: Iterable[dict[str, Any]]) -> tuple[WalkChoice, ...]:
    """Return the choices in these rows."""
    return tuple(WalkChoice(turn["act"], turn["client"], turn["outcome"]) for turn in turns)


@lru_cache(maxsize=20_000)
def _state(group: Group | None) -> str:
    return state_words(group)


ABSENT = "no group"


def state_words(group: Group | None) -> str:
    """Describe a state, such as `Stable: dynamic leading, many static owes; offsets`."""
    if group is None:
        return ABSENT
    kinds = Counter(_kind(member, group.leader) for member in group.members)
    members = ", ".join(f"many {k}" if n > 1 else k for k, n in sorted(kinds.items()))
    words = (
        f"{group.state.value}: {members or 'nobody'}",
        {0: "", 1: "pending"}.get(len(group.pending), "many pending"),
        "delay" if group.delay is not None else "",
        "offsets" if group.offsets else "",
    )
    return "; ".join(filter(None, words))


def _kind(member: Member, leader: str | None) -> str:
    words = (
        "static" if member.is_static else "dynamic",
        "leading" if member.member_id == leader else "",
        "joining" if member.joining is not None else "",
        "syncing" if member.syncing is not None else "",
        "new" if member.new else "",
        "owes" if member.owes_sync else "",
    )
    return " ".join(filter(None, words))
