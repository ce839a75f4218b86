"""Define a system, the checks of its states and steps, the result; export graphs.

The engine uses three things of a system: its initial states, the actions that are enabled in a
state, and the next states.  States and actions are opaque; they need `==` and `hash`, nothing else.

A kept graph is converted to networkx, GraphML and DOT.  States and actions become text by functions
of the caller, otherwise by `repr`.  All attributes are strings, since every tool reads those.
"""

from __future__ import annotations

import io
import resource
import sys
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    import networkx as nx

S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)
A_co = TypeVar("A_co", bound=Hashable, covariant=True)

_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


class System(Protocol[S, A_co]):
    """Something that is in one state at a time.

    Both methods must return the same in the same order at each call: counts, traces and their
    tie-breaks depend on it.  States are immutable; with several processes they are pickled, and
    equal states must have equal hashes in processes forked from one another.
    """

    def initial(self) -> Iterable[S]:
        """Return the states in which it may start."""
        ...

    def successors(self, state: S) -> Iterable[tuple[A_co, S]]:
        """Return every enabled action and the next state, also those that change nothing."""
        ...


@dataclass(frozen=True, slots=True)
class Check(Generic[S, A]):
    """A condition that must hold, and a premise that must be met so that it is not vacuous.

    `state`, `step`: None where it holds, else the violation in a sentence.  `witness`,
    `step_witness`: true where the premise is met.  All are called once per state or transition, in
    no promised order, perhaps in another process.  `by_action`: `step` and `step_witness` look at
    nothing but the action, so that each action is checked once.  `stops`: it is violated by a state
    in which the system raises an exception that `explore` expects.
    """

    name: str
    state: Callable[[S], str | None] | None = None
    step: Callable[[S, A, S], str | None] | None = None
    witness: Callable[[S], bool] | None = None
    step_witness: Callable[[S, A, S], bool] | None = None
    by_action: bool = False
    stops: bool = False


@dataclass(frozen=True, slots=True)
class FailedCheck(Generic[S, A]):
    """A check that does not hold, with a shortest trace to its violation.

    `trace`: (None, initial state), then each action with the state that follows; for a violating
    step, the last entry is that step.
    """

    check: str
    sentence: str
    trace: tuple[tuple[A | None, S], ...]

    @property
    def depth(self) -> int:
        """Number of actions in the trace."""
        return len(self.trace) - 1


@dataclass(frozen=True, slots=True)
class Graph(Generic[S, A]):
    """The explored part: states in the order of discovery, edges (source, action, target) by index.

    The first `initial` states are those that the system may start in.
    """

    states: list[S]
    edges: list[tuple[int, A, int]]
    initial: int = 1


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an exploration: a level (depth) is done, the next has `frontier` states."""

    level: int
    states: int
    transitions: int
    frontier: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Exploration(Generic[S, A]):
    """The result of an exploration.

    `states`: number of distinct states; `transitions`: number of enabled (state, action) pairs of
    the expanded states, self-loops included; `levels`: new states per depth, the initial ones
    first; `complete`: every reachable state was expanded; `cut`: a limit of states, depth or time
    ended it; `full`: that of states did; `stuck`: number of states in which the
    system raised an exception that was expected; `violations`: per check a shortest one;
    `witnesses`: per check whose premise was met, the number of actions until then; `seconds` on the
    wall clock; `peak_bytes`: see `peak_bytes`; `graph`: if it was kept.
    """

    states: int
    transitions: int
    levels: tuple[int, ...]
    complete: bool
    violations: dict[str, FailedCheck[S, A]]
    witnesses: dict[str, int]
    seconds: float
    peak_bytes: int
    graph: Graph[S, A] | None = None
    stuck: int = 0
    cut: bool = False
    full: bool = False


def peak_bytes(processes: int = 0) -> int:
    """Return the most memory this process ever held, plus `processes` times its largest child.

    An upper bound where processes share pages, and it never goes down within a process.
    """
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss if processes else 0
    return (own + processes * child) * _MAXRSS_UNIT


def unique_names(names: Iterable[str]) -> None:
    """Raise ValueError if two checks have one name: findings are filed by it."""
    visited = set()
    for name in names:
        if name in visited:
            raise ValueError(f"two checks are called {name!r}; give each a name of its own")
        visited.add(name)


SUFFIXES = (".dot", ".graphml")
"""The formats that `graph_text` knows, by the suffix of the file."""


def to_networkx(
    graph: Graph[S, A],
    state_label: Callable[[S], str] = repr,
    action_label: Callable[[A], str] = repr,
) -> nx.MultiDiGraph:
    """Convert a graph to networkx: nodes are the indices of states, parallel edges are kept.

    Nodes and edges have the attribute `label`.
    """
    import networkx as nx  # noqa: PLC0415  (half a second, and most commands need no graph)

    result = nx.MultiDiGraph()
    for index, state in enumerate(graph.states):
        initial = "true" if index < graph.initial else "false"
        result.add_node(index, label=state_label(state), initial=initial)
    for source, action, target in graph.edges:
        result.add_edge(source, target, label=action_label(action))
    return result


def graph_text(
    graph: Graph[S, A],
    suffix: str,
    state_label: Callable[[S], str] = repr,
    action_label: Callable[[A], str] = repr,
) -> str:
    """Return the graph in the format that the suffix of a file names: `.graphml` or `.dot`.

    Raises ValueError for another suffix, or for text that GraphML can't hold.
    """
    if suffix == ".graphml":
        import networkx as nx  # noqa: PLC0415

        text = io.BytesIO()
        nx.write_graphml(to_networkx(graph, state_label, action_label), text)
        return text.getvalue().decode()
    if suffix == ".dot":
        lines = _dot_lines(graph, state_label, action_label)
        return "".join(f"{line}\n" for line in lines)
    known = " or ".join(SUFFIXES)
    raise ValueError(f"no format of graphs has the suffix {suffix!r}; name a {known} file")


def _dot_lines(
    graph: Graph[S, A], state_label: Callable[[S], str], action_label: Callable[[A], str]
) -> Iterable[str]:
    yield "digraph {"
    for index, state in enumerate(graph.states):
        shape = ", shape=doublecircle" if index < graph.initial else ""
        yield f"  {index} [label={_quoted(state_label(state))}{shape}];"
    for source, action, target in graph.edges:
        yield f"  {source} -> {target} [label={_quoted(action_label(action))}];"
    yield "}"


def _quoted(text: str) -> str:
    r"""Return a string of DOT: as of JSON, but a backslash starts only `\"` and `\n`."""
    inner = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{inner}"'
