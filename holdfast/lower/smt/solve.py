"""Z3 as a function from a question in SMT-LIB to an answer.

A question is a text, and each is answered in a Z3 context of its own: what was asked before, and on which core, cannot
change an answer. The text is also what is saved where there is none, for other solvers to try.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import attrs
import z3

from holdfast.lower.smt.symbols import Symbols, label

Verdict = Literal["unsat", "sat", "unknown"]

TACTICS = {"auto_config": False, "case_split": 3}
"""How Z3 goes about it: it looks at a formula once it matters to the case at hand, and so at fewer instances of it."""

_LOCAL = re.compile(r"[$?]x\d+")
_PARENTHESIS = re.compile(r"[()]|\|[^|]*\|")


@attrs.frozen
class SolverQuestion:
    """Whether formulas can be true together; ``named`` are the names of those that a core may leave out."""

    text: str
    named: tuple[str, ...]


@attrs.frozen
class SolverAnswer:
    """``core`` are the named formulas that contradict the others, if the verdict is ``unsat``.

    ``reason`` is why there is no answer. ``seconds`` is how long it took, which depends on the machine.
    """

    verdict: Verdict
    core: tuple[str, ...] = ()
    reason: str = ""
    seconds: float = attrs.field(default=0.0, eq=False)


class Printer:
    """Writes questions; each formula is turned into text once.

    ``definitions`` are facts of symbols, by the symbol's name: where it occurs its fact is added.
    """

    def __init__(self, definitions: Mapping[str, z3.BoolRef]) -> None:
        self._definitions = definitions
        self._known: dict[int, tuple[z3.BoolRef, tuple[str, ...], str]] = {}

    def question(self, facts: Sequence[z3.BoolRef], named: Mapping[str, z3.BoolRef]) -> SolverQuestion:
        """The question whether the facts can be true together with all that is named."""
        declared: dict[str, None] = {}
        asserted: list[str] = []
        for name, formula in (*((None, fact) for fact in facts), *named.items()):
            declarations, text = self._text(formula)
            declared |= dict.fromkeys(declarations)
            if name is not None:
                declared[f"(declare-fun |{label(name)}| () Bool)"] = None
            asserted.append(f"(assert {text if name is None else f'(=> |{label(name)}| {text})'})")
        for declarations, text in self._defined(declared):
            declared |= dict.fromkeys(declarations)
            asserted.append(f"(assert {text})")
        labels = " ".join(f"|{label(name)}|" for name in named)
        # What is declared last may speak of the sorts that are declared first.
        sorts = sorted(declared, key=lambda line: not line.startswith(("(declare-sort", "(declare-datatype")))
        return SolverQuestion("\n".join([*sorts, *asserted, f"(check-sat-assuming ({labels}))", ""]), tuple(named))

    def _defined(self, declared: Iterable[str]) -> Iterator[tuple[tuple[str, ...], str]]:
        """The definitions of what is declared, and of what those speak of."""
        todo = [name for line in declared if (name := _declared(line)) in self._definitions]
        known = set(todo)
        for name in todo:
            declarations, text = self._text(self._definitions[name])
            yield declarations, text
            more = {_declared(line) for line in declarations} & self._definitions.keys() - known
            todo += sorted(more)
            known |= more

    def _text(self, formula: z3.BoolRef) -> tuple[tuple[str, ...], str]:
        if formula.get_id() not in self._known:
            solver = z3.Solver(ctx=formula.ctx)
            solver.add(formula)
            commands = list(_commands(_renumbered(solver.to_smt2())))
            declarations = tuple(" ".join(text.split()) for text in commands if text.startswith("(declare"))
            # A formula that is plainly true is left out of the text.
            text = next((text for text in commands if text.startswith("(assert")), "(assert true)")
            text = text.removeprefix("(assert").removesuffix(")").strip()
            # The formula is kept as well: the number of a term that nobody holds is given away again.
            self._known[formula.get_id()] = (formula, declarations, text)
        return self._known[formula.get_id()][1:]


def _commands(text: str) -> Iterator[str]:
    """The commands of a script: what stands within outermost parentheses."""
    depth, start = 0, 0
    for found in _PARENTHESIS.finditer(text):
        if found[0] == "(":
            start = found.start() if depth == 0 else start
            depth += 1
        elif found[0] == ")":
            depth -= 1
            if depth == 0:
                yield text[start : found.end()]


def _renumbered(text: str) -> str:
    """The text with its local names counted from the first: Z3 numbers them by where terms lie in its memory."""
    known: dict[str, str] = {}
    return _LOCAL.sub(lambda found: known.setdefault(found[0], f"{found[0][:2]}{len(known)}"), text)


def _declared(line: str) -> str:
    """The name that a declaration gives."""
    return line.split(" ", 2)[1].strip("|")


def ask(asked: SolverQuestion, seconds: float, seed: int = 0, *, minimal: bool = False) -> SolverAnswer:
    """The answer, or ``unknown`` after so many seconds. The seed changes the way there, and never the answer.

    Each seed but 0 puts the formulas into an order of its own: what Z3 tries first depends on that, and on little else.
    ``minimal`` asks for a core of which no part can be left out, which takes longer.
    """
    ctx = z3.Context()
    solver = z3.Solver(ctx=ctx)
    solver.set(timeout=max(1, int(seconds * 1000)), random_seed=seed, **TACTICS)
    if minimal:
        solver.set("core.minimize", True)
    solver.add(*_in_order(asked.text, seed, ctx))
    symbols = Symbols(ctx)
    switches = {name: symbols.constant(label(name), z3.BoolSort(ctx)) for name in asked.named}
    found = checked(solver, *switches.values())
    spent = _seconds(solver)
    if found == z3.sat:
        return SolverAnswer("sat", seconds=spent)
    if found == z3.unknown:
        return SolverAnswer("unknown", reason=solver.reason_unknown(), seconds=spent)
    # In the order of the names, whatever order Z3 found them in.
    core = {switch.get_id() for switch in solver.unsat_core()}
    return SolverAnswer(
        "unsat", tuple(name for name, switch in switches.items() if switch.get_id() in core), seconds=spent
    )


def _in_order(text: str, seed: int, ctx: z3.Context) -> list[z3.BoolRef]:
    """The formulas of a question, in the order of a seed."""
    reader = z3.Solver(ctx=ctx)
    reader.from_string(text)
    formulas = list(reader.assertions())
    if seed:
        random.Random(seed).shuffle(formulas)  # noqa: S311 - it hides nothing
    return formulas


def checked(solver: z3.Solver, *assumptions: z3.BoolRef) -> z3.CheckSatResult:
    """What the solver answers. Z3 takes Ctrl-C for itself while it works, and gives up: that is passed on.

    Raises KeyboardInterrupt.
    """
    found = solver.check(*assumptions)
    if found == z3.unknown and solver.reason_unknown() == "interrupted from keyboard":
        raise KeyboardInterrupt
    return found


def _seconds(solver: z3.Solver) -> float:
    statistics = solver.statistics()
    return float(statistics.get_key_value("time")) if "time" in statistics.keys() else 0.0  # noqa: SIM118
