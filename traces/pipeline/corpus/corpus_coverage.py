"""Compute the coverage of a corpus, the traces that are needed for it, and what is missing.

Items of coverage are: a rule that the model used; two rules used one after the other; a state of
the group, as far as rules distinguish states.  They are read from the trace itself, and belong to
the model that made it.  A greedy cover keeps the trace that adds most, again and again (of equal
ones the lowest number), then drops those that later ones made superfluous.  Coverable items come
from exploring the scopes `fencepost.conformance.cases.cover.scopes.SMALL` exhaustively.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import pyarrow as pa

from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.worlds.protocol_worlds import CUT_OFFS
from fencepost.properties.worlds.scope import COVER_SCOPES
from fencepost.properties.worlds.world import Worlds
from fencepost.traces.pipeline.corpus.corpus import (
    ITEMS,
    NEEDED,
    NO_MUTANT,
    TraceSource,
    state_words,
)
from fencepost.traces.pipeline.corpus.shard_jobs import Corpus, Merge, rows_of

RULE, PAIR, STATE = "rule", "pair", "state"
KINDS = (RULE, PAIR, STATE)
NEXT = " → "
_DOUBLINGS = 10

MERGE = Merge(("revision", "mutant", "kind", "item"), ("traces",), ("first",))


def items_of(turns: Iterable[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Return the items of a trace: kind and item."""
    rules: list[str] = []
    items: set[tuple[str, str]] = set()
    for turn in turns:
        rules += turn["rules"]
        items.add((STATE, turn["state"]))
    items |= {(RULE, rule) for rule in rules}
    items |= {(PAIR, NEXT.join(pair)) for pair in pairwise(rules)}
    return items


@dataclass(frozen=True)
class CoverageJob:
    """Counts the items of a shard."""

    corpus: Corpus
    schema = ITEMS

    def __call__(self, number: int) -> pa.Table:
        """Return a row for each item, as `schema.ITEMS` says."""
        shard = self.corpus.shards[number]
        counted: dict[tuple[str, str], list[int]] = {}
        for row in rows_of(self.corpus.table(shard, ["trace", "turns"])):
            for item in items_of(row["turns"]):
                known = counted.setdefault(item, [0, row["trace"]])
                known[0] += 1
                known[1] = min(known[1], row["trace"])
        source = {"revision": shard.source.revision, "mutant": shard.source.mutant}
        rows = [
            {**source, "kind": kind, "item": item, "traces": traces, "first": first}
            for (kind, item), (traces, first) in sorted(counted.items())
        ]
        return pa.Table.from_pylist(rows, schema=ITEMS)


@dataclass(frozen=True)
class GreedyCoverJob:
    """Picks traces of a shard that cover all that the shard covers."""

    corpus: Corpus
    schema = NEEDED

    def __call__(self, number: int) -> pa.Table:
        """Return a row for each trace that was picked, as the table of needed traces describes."""
        shard = self.corpus.shards[number]
        items_by_trace = {
            row["trace"]: frozenset(f"{kind} {item}" for kind, item in items_of(row["turns"]))
            for row in rows_of(self.corpus.table(shard, ["trace", "turns"]))
        }
        rows = [
            {"trace": trace, "shard": number, "items": sorted(items_by_trace[trace])}
            for trace in greedy(items_by_trace)
        ]
        return pa.Table.from_pylist(rows, schema=NEEDED)


def needed(corpus: Corpus, picked: pa.Table) -> dict[int, list[int]]:
    """Choose from the traces that shards picked; return shard → numbers of those needed.

    Each model's coverage is kept for itself.
    """
    items_by_trace: dict[int, frozenset[str]] = {}
    shards: dict[int, int] = {}
    for row in rows_of(picked):
        name = corpus.shards[row["shard"]].source.name
        items_by_trace[row["trace"]] = frozenset(f"{name} {item}" for item in row["items"])
        shards[row["trace"]] = row["shard"]
    kept: dict[int, list[int]] = {}
    for trace in sorted(greedy(items_by_trace)):
        kept.setdefault(shards[trace], []).append(trace)
    return kept


def coverage_json(corpus: Corpus, items: pa.Table) -> dict[str, Any]:
    """Return the coverage of each model: its size, its growth, and the missing items.

    Missing items can be reached in small worlds and are in no trace; for a mutant they are left
    out.  `over_time`: the number of items in the traces below each number.
    """
    by_source: dict[TraceSource, dict[str, dict[str, int]]] = {}
    for row in rows_of(items):
        source = TraceSource(row["revision"], row["mutant"])
        of_source = by_source.setdefault(source, {kind: {} for kind in KINDS})
        of_source[row["kind"]][row["item"]] = row["first"]
    traces = corpus.recipe.traces
    return {
        "traces": traces,
        "models": [
            {
                "revision": source.revision,
                "mutant": source.mutant,
                **{kind: _kind_json(source, kind, of[kind], traces) for kind in KINDS},
            }
            for source, of in sorted(by_source.items())
        ],
    }


def _kind_json(
    source: TraceSource, kind: str, firsts: Mapping[str, int], traces: int
) -> dict[str, Any]:
    marks = sorted({max(1, traces >> n) for n in range(_DOUBLINGS)})
    document: dict[str, Any] = {
        "covered": len(firsts),
        "over_time": [[mark, sum(first < mark for first in firsts.values())] for mark in marks],
    }
    if source.mutant == NO_MUTANT:
        can = reachable(source.revision)[kind]
        document["reachable_in_small_worlds"] = len(can)
        document["missing"] = sorted(can - set(firsts))
    return document


def greedy(items_by_trace: Mapping[int, frozenset[str]]) -> list[int]:
    """Choose traces that cover all items; `items_by_trace`: trace number → items.

    The number that a trace adds only falls, so one whose old figure is still the best when counted
    anew is the best.
    """
    missing: set[str] = set().union(*items_by_trace.values())
    queue = [(-len(items), trace) for trace, items in items_by_trace.items()]
    heapq.heapify(queue)
    kept: list[int] = []
    while missing:
        _, trace = heapq.heappop(queue)
        adds = len(items_by_trace[trace] & missing)
        if queue and (-adds, trace) > queue[0]:
            heapq.heappush(queue, (-adds, trace))
            continue
        kept.append(trace)
        missing -= items_by_trace[trace]
    return _without_superfluous(kept, items_by_trace)


def _without_superfluous(
    kept: list[int], items_by_trace: Mapping[int, frozenset[str]]
) -> list[int]:
    times = Counter(item for trace in kept for item in items_by_trace[trace])
    needed = []
    for trace in kept:
        if all(times[item] > 1 for item in items_by_trace[trace]):
            times.subtract(items_by_trace[trace])
        else:
            needed.append(trace)
    return needed


@cache
def reachable(revision: str) -> Mapping[str, frozenset[str]]:
    """Return the reachable items, by kind: `rule`, `pair`, `state`.  Raises KeyError."""
    reached: dict[str, set[str]] = {kind: set() for kind in KINDS}
    for named in COVER_SCOPES:
        _reach(Worlds(find_revision(revision), named.scope), reached)
    return {kind: frozenset(items) for kind, items in reached.items()}


def _reach(worlds: Worlds, items: dict[str, set[str]]) -> None:
    graph = explore(worlds, keep_graph=True).graph
    assert graph is not None  # noqa: S101  (it was asked for)
    leaving: dict[int, list[tuple[tuple[str, ...], int]]] = {}
    for source, act, target in graph.edges:
        rules: tuple[str, ...] = ()
        if act.kind not in CUT_OFFS:
            world = graph.states[source]
            done = worlds.transitions(world, act.kind, act.client)[act.choice]
            rules = tuple(rule.id for view in done.views for rule in view.rules)
        leaving.setdefault(source, []).append((rules, target))
        items[RULE].update(rules)
    items[STATE].update(state_words(world.group) for world in graph.states)
    visited = {(0, "")}
    queue = list(visited)
    for place, last in queue:
        for rules, target in leaving.get(place, ()):
            decided = (last, *rules) if last else rules
            items[PAIR].update(NEXT.join(pair) for pair in pairwise(decided))
            after = target, decided[-1] if decided else ""
            if after not in visited:
                visited.add(after)
                queue.append(after)
