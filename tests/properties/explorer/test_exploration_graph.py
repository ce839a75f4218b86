"""Graphs for other tools: they can read them, and nothing is lost."""

from __future__ import annotations

import re
from pathlib import Path

import networkx as nx
import pytest

from benchmarks.kip345_small import CONFIGURATIONS, SmallSystem
from fencepost.properties.explorer.exploration import SUFFIXES, Graph, to_networkx, write_graph
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
    write_graph(TWO, path, str, str)
    back = nx.read_graphml(path)
    assert back.is_multigraph()
    assert back.nodes["0"] == {"label": 'a "quoted"', "initial": "true"}
    labels = sorted((source, target, label) for source, target, label in back.edges(data="label"))
    assert labels == [("0", "1", "x"), ("0", "1", "y"), ("1", "1", "x")]


def test_dot_is_quoted(tmp_path: Path) -> None:
    path = tmp_path / "two.dot"
    write_graph(TWO, path, str, str)
    assert path.read_text("utf-8").splitlines() == [
        "digraph {",
        '  0 [label="a \\"quoted\\"", shape=doublecircle];',
        '  1 [label="b\\\\l\\nc"];',
        '  0 -> 1 [label="x"];',
        '  0 -> 1 [label="y"];',
        '  1 -> 1 [label="x"];',
        "}",
    ]


def test_without_labels_they_are_as_python_shows_them(tmp_path: Path) -> None:
    path = tmp_path / "one.dot"
    write_graph(Graph([1.5], [(0, None, 0)]), path)
    assert '0 [label="1.5", shape=doublecircle]' in path.read_text("utf-8")
    assert '0 -> 0 [label="None"]' in path.read_text("utf-8")


@pytest.mark.parametrize("name", ["graph.svg", "graph", "graph.DOT"])
def test_another_suffix_is_refused_with_a_remedy(tmp_path: Path, name: str) -> None:
    suffix = re.escape(repr(Path(name).suffix))
    with pytest.raises(ValueError, match=f"{suffix}; name a .dot or .graphml file"):
        write_graph(TWO, tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    assert SUFFIXES == (".dot", ".graphml")
