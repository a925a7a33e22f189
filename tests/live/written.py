"""A puzzle as a model: the state is one number, each action is a table of steps, and a bound cuts the puzzle's cuts.

So the oracle, which knows only the puzzle, judges everything between a model's text and its answer.
"""

from __future__ import annotations

from pathlib import Path

from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model
from holdfast.ir.system import System
from tests.live.oracle import Puzzle

HEADER = """\
from __future__ import annotations
from holdfast.lang import *
class Place(Nat): ...
class Puzzle(Model):
    here: Place
"""


def as_model(puzzle: Puzzle, path: Path) -> System:
    """The compiled system, in a file of its own. An action takes the state that it leads to as a parameter."""
    last = max(puzzle.states - 1, 1)
    lines = [
        HEADER,
        f"    tiny = Scope({{Place: {last}}})",
        "    @init",
        "    def begin(self, p: Place) -> None:",
        f"        require({_among('p', puzzle.starts)}, 'PZ-00')",
        "        self.here = p",
        *_action("free", None, [(of, to) for of, to, label in puzzle.sorted_edges if label is None], []),
    ]
    for demand, strength in enumerate(puzzle.demands):
        edges = [(of, to) for of, to, label in puzzle.sorted_edges if label == demand]
        lines += _action(f"fair{demand}", strength, edges, sorted(at for at, label in puzzle.cuts if label == demand))
    lines += [
        "    @leads_to",
        "    def paid(self) -> tuple[bool, bool]:",
        '        """PZ-99. What is owed is paid."""',
        f"        return {_among('self.here', puzzle.premise)}, {_among('self.here', puzzle.goal)}",
        "    @always_eventually",
        "    def comes_back(self) -> bool:",
        '        """PZ-98. The goal is true again and again."""',
        f"        return {_among('self.here', puzzle.goal)}",
        "    @eventually_always",
        "    def stays(self) -> bool:",
        '        """PZ-97. The goal is true for good at last."""',
        f"        return {_among('self.here', puzzle.goal)}",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return compile_model(load_model(str(path)))


def _action(name: str, strength: str | None, edges: list[tuple[int, int]], cuts: list[int]) -> list[str]:
    steps = [f"(self.here == {of} and p == {to})" for of, to in edges]
    stays = [f"(self.here == {at} and p == {at})" for at in cuts]
    lines = [
        f"    @action(fair={strength!r})",
        f"    def {name}(self, p: Place) -> None:",
        f"        require({' or '.join([*steps, *stays]) or 'False'}, 'PZ-{int(name[-1]) + 1 if strength else 9}0')",
    ]
    # A cut state has a step to a number beyond the last state, which the bound cuts.
    if cuts:
        lines += [
            "        if self.here == p:",
            "            self.here = self.here + 100",
            "        else:",
            "            self.here = p",
        ]
    else:
        lines += ["        self.here = p"]
    return lines


def _among(name: str, numbers: frozenset[int]) -> str:
    return " or ".join(f"{name} == {number}" for number in sorted(numbers)) or "False"
