"""Converts a kept graph for other tools: networkx, GraphML, DOT.

States and actions, which are opaque, become text by functions of the caller, otherwise by `repr`.
All attributes are strings, since every tool reads those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import networkx as nx

from fencepost.properties.explorer.exploration import A, Graph, S

SUFFIXES = (".dot", ".graphml")
"""The formats that `write_graph` knows, by the suffix of the file."""


def to_networkx(
    graph: Graph[S, A],
    state_label: Callable[[S], str] = repr,
    action_label: Callable[[A], str] = repr,
) -> nx.MultiDiGraph:
    """Convert a graph to networkx: nodes are the indices of states, parallel edges are kept.

    Nodes and edges have the attribute `label`.
    """
    result = nx.MultiDiGraph()
    for index, state in enumerate(graph.states):
        initial = "true" if index < graph.initial else "false"
        result.add_node(index, label=state_label(state), initial=initial)
    for source, action, target in graph.edges:
        result.add_edge(source, target, label=action_label(action))
    return result


def write_graph(
    graph: Graph[S, A],
    path: Path,
    state_label: Callable[[S], str] = repr,
    action_label: Callable[[A], str] = repr,
) -> None:
    """Write the graph in the format that the suffix names: `.graphml` or `.dot`.

    Raises ValueError for another suffix, OSError where nothing can be written.
    """
    if path.suffix == ".graphml":
        nx.write_graphml(to_networkx(graph, state_label, action_label), path)
    elif path.suffix == ".dot":
        lines = _dot_lines(graph, state_label, action_label)
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    else:
        known = " or ".join(SUFFIXES)
        raise ValueError(f"no format of graphs has the suffix {path.suffix!r}; name a {known} file")


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
    r"""A string of DOT: like JSON's, but a backslash starts nothing except `\"` and `\n`."""
    inner = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{inner}"'
