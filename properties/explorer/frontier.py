"""Explore whole frontiers at once, for systems whose states fit into one 64-bit word.

A level is computed with arrays: the system turns the words of a level into the next words, action
by action; duplicates are removed by sorting, visited states by binary search in one sorted array.
Sixteen bytes are kept per state, and no predecessor: a trace is built by expanding the levels
before it once more.

States of a level are in the order of their words, so of several shortest traces the one through the
smallest words, then the system's first action, is reported.  `jobs` are threads here, since NumPy
releases the interpreter lock; they change no result.  Without NumPy (the extra `frontier`)
importing this module fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from fencepost.properties.explorer.exploration import (
    A,
    A_co,
    Check,
    Exploration,
    FailedCheck,
    Graph,
    Progress,
    S,
    peak_bytes,
)

Words: TypeAlias = NDArray[np.uint64]
S_co = TypeVar("S_co", covariant=True)
_CHUNK = 1 << 15


class FrontierSystem(Protocol[S_co, A_co]):
    """A system that expands many states at once."""

    def initial_words(self) -> Words:
        """Return the states it may start in."""
        ...

    def prepare(self, words: Words) -> None:
        """Prepare a level before it is checked and expanded; called by one thread."""
        ...

    def expand(self, words: Words) -> Iterable[tuple[A_co, NDArray[np.intp], Words]]:
        """Return for each action the places in `words` where it is enabled, and the next states.

        Actions in a fixed order, self-loops included.  Called with chunks of the level that was
        prepared, by several threads at once if there are `jobs`.
        """
        ...

    def decode(self, word: int) -> S_co:
        """Return the state of a word."""
        ...


@dataclass(frozen=True, slots=True)
class FrontierCheck(Generic[S]):
    """A condition that must hold in each of many states at once.

    `broken`: returns for each word of a chunk if it fails; `sentence`: the violation in such a
    state.
    """

    name: str
    broken: Callable[[Words], NDArray[np.bool_]]
    sentence: Callable[[S], str]


class FrontierExplorer(Generic[S, A]):
    """One exploration by whole levels."""

    def __init__(
        self,
        system: FrontierSystem[S, A],
        checks: Sequence[Check[S, A] | FrontierCheck[S]],
        *,
        jobs: int,
        stop: bool,
        limit: int | None,
    ) -> None:
        self.system = system
        self.checks = checks
        self.stop = stop
        self.limit = limit
        self.jobs = jobs
        self.levels: list[Words] = []
        self.visited: Words = np.empty(0, np.uint64)
        self.transitions = 0
        self.complete = True
        self.violations: dict[str, FailedCheck[S, A]] = {}
        self.witnesses: dict[str, int] = {}
        for check in checks:
            if isinstance(check, Check) and (check.step or check.step_witness):
                raise ValueError(
                    f"{check.name!r} judges steps, which whole frontiers don't offer; judge states,"
                    " or explore a System one state at a time"
                )

    def run(
        self,
        *,
        max_depth: int | None,
        keep_graph: bool,
        progress: Callable[[Progress], None] | None,
    ) -> Exploration[S, A]:
        """Explore; arguments and result as of `explore`."""
        begun = time.perf_counter()
        frontier = self._room(np.unique(self.system.initial_words()))
        with ThreadPoolExecutor(self.jobs) as pool:
            while frontier.size:
                depth = len(self.levels)
                self.levels.append(frontier)
                self.visited = _merged(self.visited, frontier)
                self.system.prepare(frontier)
                self._judge(depth, frontier)
                if (self.stop and self.violations) or depth == max_depth or not self.complete:
                    self.complete = False
                    break
                frontier = self._next(frontier, pool)
                if progress is not None:
                    states = self.visited.size + frontier.size
                    seconds = time.perf_counter() - begun
                    progress(Progress(depth, states, self.transitions, frontier.size, seconds))
            graph = self._graph() if keep_graph else None
        return Exploration(
            states=self.visited.size,
            transitions=self.transitions,
            levels=tuple(level.size for level in self.levels),
            complete=self.complete,
            violations=self.violations,
            witnesses=self.witnesses,
            seconds=time.perf_counter() - begun,
            peak_bytes=peak_bytes(),
            graph=graph,
        )

    def _next(self, frontier: Words, pool: ThreadPoolExecutor) -> Words:
        """Return the level after this one."""
        parts = []
        for transitions, words in pool.map(self._new, _chunks(frontier)):
            self.transitions += transitions
            parts.append(words)
        return self._room(_unique(parts))

    def _new(self, words: Words) -> tuple[int, Words]:
        """Return the number of transitions from a stretch, and its new states, sorted."""
        transitions = 0
        parts = []
        for _, places, following in self.system.expand(words):
            transitions += following.size
            parts.append(following[following != words[places]])
        candidates = _unique(parts)
        return transitions, candidates[~_contained(candidates, self.visited)]

    def _room(self, level: Words) -> Words:
        """Return as many states of a new level as may be kept."""
        if self.limit is not None and self.visited.size + level.size > self.limit:
            self.complete = False
            return level[: self.limit - self.visited.size]
        return level

    def _judge(self, depth: int, frontier: Words) -> None:
        for check in self.checks:
            if isinstance(check, Check):
                self._judge_singly(check, depth, frontier)
            elif check.name not in self.violations:
                first = 0
                for words in _chunks(frontier):
                    broken = check.broken(words)
                    if broken.any():
                        place = first + int(broken.argmax())
                        state = self.system.decode(int(frontier[place]))
                        self._violated(check.name, check.sentence(state), depth, place)
                        break
                    first += words.size

    def _judge_singly(self, check: Check[S, A], depth: int, frontier: Words) -> None:
        """Evaluate a check of one state at a time, with the states decoded: slow."""
        for place, word in enumerate(frontier.tolist()):
            state = self.system.decode(word)
            if check.state is not None and check.name not in self.violations:
                sentence = check.state(state)
                if sentence is not None:
                    self._violated(check.name, sentence, depth, place)
            if check.name not in self.witnesses and check.witness and check.witness(state):
                self.witnesses[check.name] = depth

    def _violated(self, name: str, sentence: str, depth: int, place: int) -> None:
        word = self.levels[depth][place]
        trace: list[tuple[A | None, S]] = []
        for level in reversed(self.levels[:depth]):
            action, before = self._before(level, word)
            trace.append((action, self.system.decode(int(word))))
            word = before
        trace.append((None, self.system.decode(int(word))))
        self.violations[name] = FailedCheck(name, sentence, tuple(reversed(trace)))

    def _before(self, level: Words, word: np.uint64) -> tuple[A, np.uint64]:
        """Return the first action and state of a level that lead to a state."""
        self.system.prepare(level)
        for words in _chunks(level):
            ways = [
                (int(places[hits[0]]), order, action)
                for order, (action, places, following) in enumerate(self.system.expand(words))
                if (hits := np.flatnonzero(following == word)).size
            ]
            if ways:
                place, _, action = min(ways, key=lambda way: way[:2])
                return action, words[place]
        raise ValueError(f"nothing leads to the word {word}; `expand` must say the same each time")

    def _graph(self) -> Graph[S, A]:
        """Return the graph of all expanded states, with indices in the order of the levels."""
        listed = np.concatenate(self.levels) if self.levels else self.visited
        order = np.argsort(listed)
        edges: list[tuple[int, A, int]] = []
        expanded = self.levels if self.complete else self.levels[:-1]
        starts = accumulate((level.size for level in self.levels), initial=0)
        for start, level in zip(starts, expanded, strict=False):
            self.system.prepare(level)
            rows = []
            for action, places, following in self.system.expand(level):
                at = np.searchsorted(self.visited, following).clip(max=self.visited.size - 1)
                kept = self.visited[at] == following
                targets = order[at[kept]].tolist()
                sources = (places[kept] + start).tolist()
                rows += [(s, action, t) for s, t in zip(sources, targets, strict=True)]
            edges += sorted(rows, key=lambda row: row[0])
        states = [self.system.decode(word) for word in listed.tolist()]
        return Graph(states, edges, self.levels[0].size if self.levels else 0)


def _chunks(words: Words) -> Iterator[Words]:
    for first in range(0, words.size, _CHUNK):
        yield words[first : first + _CHUNK]


def _unique(parts: Sequence[Words]) -> Words:
    """Return the words of all parts, sorted, each once."""
    if not parts:
        return np.empty(0, np.uint64)
    words = np.sort(np.concatenate(parts))
    return words[np.concatenate(([True], words[1:] != words[:-1]))[: words.size]]


def _contained(words: Words, table: Words) -> NDArray[np.bool_]:
    """Return for each of some sorted words True if it is in a sorted table."""
    places = np.searchsorted(table, words)
    is_there: NDArray[np.bool_] = table[places.clip(max=table.size - 1)] == words
    return is_there


def _merged(table: Words, level: Words) -> Words:
    """Merge a sorted table with the words of a sorted level, none of which it has."""
    return np.sort(np.concatenate((table, level)), kind="stable")
