"""A plain breadth-first search of a few lines, with which searches are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from holdfast.check.budget import Budget
from holdfast.check.result import Result
from holdfast.check.search.engine import search
from holdfast.ir.errors import HoldfastError
from holdfast.ir.system import Scope, System
from holdfast.lower.layout import Layout
from holdfast.lower.python.cpython import CPython
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.symmetry import Symmetry
from holdfast.runs.selection import select
from holdfast.trace.text import render
from tests.differential.comparing import projected


def depths(starts: Iterable[bytes], following: Callable[[bytes], Iterable[bytes]]) -> dict[bytes, int]:
    """Every reachable state, with the length of a shortest run to it."""
    found = dict.fromkeys(starts, 0)
    waiting = list(found)
    for state in waiting:
        for new in following(state):
            if new not in found:
                found[new] = found[state] + 1
                waiting.append(new)
    return found


def by_hand(system: System, scope: Scope) -> dict[bytes, int]:
    """The states that CPython reaches, in the layout of a search that keeps the ghosts of its properties."""
    cpython, fewer = CPython(system, scope), Layout(system, scope, select(system, None).ghosts)
    found = depths(cpython.initial(), lambda state: [new for steps in cpython.successors(state) for new, _ in steps])
    nearest: dict[bytes, int] = {}
    for state, depth in found.items():
        nearest.setdefault(projected(state, cpython.layout, fewer), depth)
    return nearest


def orbit_sizes(system: System, scope: Scope) -> list[int]:
    """The sizes of the orbits that a search under symmetry visits."""
    machine = Interpreter(system, scope, ghosts=select(system, None).ghosts)
    group = Symmetry(machine.layout)
    orbits = depths(
        map(group.canonical, machine.initial()),
        lambda state: [group.canonical(new) for successors in machine.successors for new, _ in successors(state)],
    )
    return [group.orbit_size(state) for state in orbits]


def answers(system: System, scope: Scope, *, symmetry: bool, keep_going: bool, most: int) -> Result | str:
    """The answer of a search: its result, or the message of the error."""
    try:
        return search(system, scope, symmetry=symmetry, keep_going=keep_going, budget=Budget(states=most))
    except HoldfastError as error:
        return str(error)


def words(result: Result) -> list[object]:
    """The parts of a result that symmetry must not change."""
    figures = result.figures
    return [
        result.verdict,
        result.exit_code,
        figures.depth,
        result.missing,
        result.vacuous,
        figures.never_taken,
        figures.undecisive,
        *(render(trace) for trace in result.findings),
        *(render(witness.trace) for witness in result.witnesses if witness.trace is not None),
    ]


def symmetry_differences(system: System, scope: Scope, most: int) -> Iterator[str]:
    """Differences that symmetry makes in answer, text or the sum of orbits. Yields nothing beyond the budget."""
    for keep_going in (False, True):
        one = answers(system, scope, symmetry=True, keep_going=keep_going, most=most)
        two = answers(system, scope, symmetry=False, keep_going=keep_going, most=most)
        if isinstance(one, str) or isinstance(two, str):
            if one != two:
                yield f"with symmetry {one}, without {two}"
            return
        if "out_of_budget" in (one.verdict, two.verdict) or any(
            note.startswith("The search ended") for note in (*one.notes, *two.notes)
        ):
            return
        for mine, other in zip(words(one), words(two), strict=False):
            if mine != other:
                yield f"keep_going={keep_going}\nwith symmetry:\n{mine}\nwithout:\n{other}"
        if keep_going:
            sizes = orbit_sizes(system, scope)
            if (len(sizes), sum(sizes)) != (one.figures.distinct, two.figures.distinct):
                counted = one.figures.distinct, two.figures.distinct
                yield f"orbits and their states: {len(sizes)} and {sum(sizes)}, searched {counted}"
