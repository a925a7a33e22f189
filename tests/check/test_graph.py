"""State graphs in files."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from holdfast.check.search.engine import search
from holdfast.check.search.state_graph_file import export_graph, state_graph
from holdfast.ir.errors import UsageError
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System


def test_every_state_and_step(table: System) -> None:
    """The graph has a node for each state and an edge for each step of a search without symmetry."""
    graph = state_graph(table, table.scopes["tiny"])
    figures = search(table, table.scopes["tiny"], symmetry=False).figures

    # The graph keeps the ghosts that a search drops; here they tell no two states apart.
    assert (figures.distinct, figures.generated - 1) == (graph.number_of_nodes(), graph.number_of_edges())
    assert [number for number, initial in graph.nodes(data="initial") if initial] == [0]


def test_what_is_violated_is_marked(table: System) -> None:
    """States that break an invariant and steps that break a step property name the property."""
    broken = remove_rules(table, ["ST-14"])

    graph = state_graph(broken, broken.scopes["tiny"])

    assert "one_handle, holder_opened_last" in {violates for _, violates in graph.nodes(data="violates")}
    assert {"", "closed_before"} == {violates for *_, violates in graph.edges(data="violates")}


def test_graphml(table: System, tmp_path: Path) -> None:
    """A GraphML file reads back as the same graph."""
    export_graph(table, table.scopes["tiny"], tmp_path / "g.graphml")

    read = nx.read_graphml(tmp_path / "g.graphml", node_type=int, force_multigraph=True)
    graph = state_graph(table, table.scopes["tiny"])
    assert dict(graph.nodes(data=True)) == dict(read.nodes(data=True))
    assert sorted(graph.edges(data="label")) == sorted(read.edges(data="label"))


def test_dot(table: System, tmp_path: Path) -> None:
    """A DOT file has a line for each state and step, the initial state filled and violations red, twice the same."""
    broken = remove_rules(table, ["ST-14"])
    for name in ("a.dot", "b.dot"):
        export_graph(broken, broken.scopes["tiny"], tmp_path / name)

    text = (tmp_path / "a.dot").read_text()
    graph = state_graph(broken, broken.scopes["tiny"])
    assert text == (tmp_path / "b.dot").read_text()
    assert graph.number_of_edges() == text.count(" -> ")
    assert '  0 [label="all False, None or 0", style=filled, fillcolor="lightgrey"];' in text
    assert 'label="open(p=p1, s=s1, e=1)"' in text
    assert 'color="red", tooltip="one_handle, holder_opened_last"' in text


def test_too_many_states(table: System) -> None:
    """More states than can be drawn are refused, with the limit and the remedy."""
    with pytest.raises(UsageError, match=r"more than 50 states in scope default, .*smaller scope"):
        state_graph(table, table.scopes["default"], limit=50)


@pytest.mark.parametrize("name", ["g.png", "g"])
def test_an_unknown_suffix(table: System, tmp_path: Path, name: str) -> None:
    """A suffix that names no format is refused, and the error lists the known suffixes."""
    with pytest.raises(UsageError, match=r"use \.dot or \.graphml"):
        export_graph(table, table.scopes["tiny"], tmp_path / name)


def test_a_file_that_cannot_be_written(table: System, tmp_path: Path) -> None:
    """A file that cannot be written is a usage error."""
    with pytest.raises(UsageError, match="cannot be written"):
        export_graph(table, table.scopes["tiny"], tmp_path / "none" / "g.dot")
