"""Export the state graph of a small scope as DOT or GraphML, for viewing.

The graph has all states, without symmetry reduction. So each edge is a step that the model can take. Nodes are numbered
in breadth-first order.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import networkx as nx

from holdfast.ir.errors import UsageError
from holdfast.ir.system import Scope, System
from holdfast.lower.python.interpreter import Interpreter
from holdfast.trace.text import is_blank

NumberedGraph: TypeAlias = "nx.MultiDiGraph[int]"
"""States by their numbers, with the attributes that ``state_graph`` names."""

LIMIT = 5_000
"""The largest number of states that are drawn. Nobody can read more, and few programs can lay them out."""

SUFFIXES = (".dot", ".graphml")


class TooManyStatesError(UsageError):
    """There are more states than the limit.

    ``depth``: the largest number of steps from the start within which the limit holds. It is negative if there are too
    many initial states.
    """

    def __init__(self, message: str, depth: int) -> None:
        super().__init__(message)
        self.depth = depth


def export_graph(system: System, scope: Scope, path: Path, *, limit: int = LIMIT) -> None:
    """Write the graph of all reachable states to ``path``, in the format that its suffix names.

    Raises UsageError for another suffix, for more than ``limit`` states, and if the file cannot be written.
    """
    check_suffix(path)
    graph = state_graph(system, scope, limit=limit)
    lines = _dot(graph) if path.suffix == ".dot" else nx.generate_graphml(graph)
    try:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}; choose another file") from error


def check_suffix(path: Path) -> None:
    """Raise UsageError unless the suffix names a format. Callers ask this before a long check, not after it."""
    if path.suffix not in SUFFIXES:
        raise UsageError(f"{path}: the suffix names no format for graphs; use {' or '.join(SUFFIXES)}")


def state_graph(system: System, scope: Scope, *, limit: int = LIMIT, depth: int | None = None) -> NumberedGraph:
    """The graph of all reachable states, with a node for each state and an edge for each step.

    With ``depth``, the graph has only the states at most ``depth`` steps from an initial one, and the steps between
    them.

    Attributes of a node: ``label``, the cells that are not False, None or 0; ``initial``; ``depth``, the least number
    of steps to it; ``violates``, the names of the invariants and lemmas that fail in the state; ``reaches``, the names
    of the witnesses that hold there; ``left_out``, the number of steps to states that the graph does not have.
    Attributes of an edge: ``label``, the action with its arguments; ``violates``, the names of the step properties that
    the step violates.

    Raises TooManyStatesError for more than ``limit`` states.
    """
    machine = Interpreter(system, scope)
    starts = machine.initial()
    numbers = {state: number for number, state in enumerate(starts)}
    depths = dict.fromkeys(starts, 0)
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph(name=f"{system.name}, scope {scope.name}")
    # The loop appends to the list that it runs over: the list is the queue of the breadth-first search.
    waiting = list(starts)
    witnesses = list(system.of_kind("witness"))
    for state in waiting:
        if len(numbers) > limit:
            # The last state that was found is one step beyond the last layer that is complete.
            raise TooManyStatesError(
                f"{system.name} has more than {limit:,} states in scope {scope.name}, too many to draw; "
                "choose a smaller scope",
                depths[waiting[-1]] - 1,
            )
        violated = [prop.name for prop in machine.checked if not machine.holds(prop, state)]
        reached = [witness.name for witness in witnesses if machine.holds(witness, state)]
        graph.add_node(
            numbers[state],
            label=_label(machine, state),
            initial=state in starts,
            depth=depths[state],
            left_out=0,
            violates=", ".join(violated),
            reaches=", ".join(reached),
        )
        for index, action in enumerate(system.actions):
            # Sorted, so that the numbers do not depend on the order in which an engine lists successors.
            for new, args in sorted(machine.successors[index](state)):
                if new not in numbers:
                    # All states of the last layer are known before the first of them is expanded.
                    if depths[state] == depth:
                        graph.nodes[numbers[state]]["left_out"] += 1
                        continue
                    numbers[new] = len(numbers)
                    depths[new] = depths[state] + 1
                    waiting.append(new)
                named = machine.layout.decode_args(action, args)
                broken = [
                    prop.name
                    for prop in machine.checked_steps
                    if prop.of in (None, action.name) and not machine.holds_step(prop, state, new, args)
                ]
                graph.add_edge(
                    numbers[state],
                    numbers[new],
                    label=f"{action.name}({', '.join(f'{name}={value}' for name, value in named.items())})",
                    violates=", ".join(broken),
                )
    return graph


def _label(machine: Interpreter, state: bytes) -> str:
    cells = zip(machine.layout.cells, machine.layout.decode(state).values(), strict=True)
    shown = [
        cell.name if value is True else f"{cell.name} = {value}"
        for cell, value in cells
        if not is_blank(cell, value) and not cell.field.hidden
    ]
    return "\n".join(shown) or "all False, None or 0"


def _dot(graph: nx.MultiDiGraph[int]) -> Iterator[str]:
    """The lines of the graph in DOT. Initial states are filled; states and steps that violate a property are red."""
    yield f"digraph {_quoted(graph.name)} {{"
    yield "  node [shape=box];"
    for number, node in graph.nodes(data=True):
        style = ', style=filled, fillcolor="lightgrey"' if node["initial"] else ""
        yield f"  {number} [label={_quoted(node['label'])}{style}{_colour(node['violates'])}];"
    for source, target, edge in graph.edges(data=True):
        yield f"  {source} -> {target} [label={_quoted(edge['label'])}{_colour(edge['violates'])}];"
    yield "}"


def _colour(violates: str) -> str:
    return f', color="red", tooltip={_quoted(violates)}' if violates else ""


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
