"""Graphs for other tools: they can read them, and nothing is lost."""

from __future__ import annotations

import re
from pathlib import Path

import networkx as nx
import pytest

from benchmarks.kip345_small import CONFIGURATIONS, SmallSystem
from fencepost.properties.explorer.exploration import SUFFIXES, Graph, graph_text, to_networkx
from fencepost.properties.explorer.explorer import explore

TWO: Graph[str, str] = Graph(['a "quoted"', "b\\l\nc"], [(0, "x", 1), (0, "y", 1), (1, "x", 1)])


def test_networkx_has_all_of_it() -> None:
    graph = explore(SmallSystem(CONFIGURATIONS["A"]), keep_graph=True).graph
    assert graph is not None
    result = to_networkx(graph, lambda s: s.server.phase.name, lambda a: f"{a[0]} {a[1]}")
    assert result.number_of_nodes() == 411
    assert result.number_of_edges() == 2_802
    assert result.nodes[0] == {"label": "EMPTY", "initial": "true"}
    assert result.nodes[1]["initial"] == "false"
    assert {d["label"] for _, _, d in result.edges(0, data=True)} == {
        *("join 0", "join 1", "leave 0", "leave 1"),
    }


def test_graphml_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "two.graphml"
    path.write_text(graph_text(TWO, ".graphml", str, str), "utf-8")
    back = nx.read_graphml(path)
    assert back.is_multigraph()
    assert back.nodes["0"] == {"label": 'a "quoted"', "initial": "true"}
    labels = sorted((source, target, label) for source, target, label in back.edges(data="label"))
    assert labels == [("0", "1", "x"), ("0", "1", "y"), ("1", "1", "x")]


def test_dot_is_quoted() -> None:
    assert graph_text(TWO, ".dot", str, str).splitlines() == [
        "digraph {",
        '  0 [label="a \\"quoted\\"", shape=doublecircle];',
        '  1 [label="b\\\\l\\nc"];',
        '  0 -> 1 [label="x"];',
        '  0 -> 1 [label="y"];',
        '  1 -> 1 [label="x"];',
        "}",
    ]


def test_without_labels_they_are_as_python_shows_them() -> None:
    text = graph_text(Graph([1.5], [(0, None, 0)]), ".dot")
    assert '0 [label="1.5", shape=doublecircle]' in text
    assert '0 -> 0 [label="None"]' in text


@pytest.mark.parametrize("suffix", [".svg", "", ".DOT"])
def test_another_suffix_is_refused_with_a_remedy(suffix: str) -> None:
    with pytest.raises(ValueError, match=f"{re.escape(repr(suffix))}; name a .dot or .graphml"):
        graph_text(TWO, suffix)
    assert SUFFIXES == (".dot", ".graphml")
