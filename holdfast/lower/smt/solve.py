"""Z3 as a function from a question in SMT-LIB to an answer.

A question is a text. Each question is answered in a new Z3 context, so earlier questions and the number of cores cannot
change an answer. If there is no answer, the text can be saved and given to other solvers.
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
"""Parameters of Z3: it considers a formula only when it matters to the current case, and so makes fewer instances."""

_LOCAL = re.compile(r"[$?]x\d+")
_PARENTHESIS = re.compile(r"[()]|\|[^|]*\|")


@attrs.frozen
class SolverQuestion:
    """Asks whether formulas can be true together. ``named``: the names of the formulas that a core consists of."""

    text: str
    named: tuple[str, ...]


@attrs.frozen
class SolverAnswer:
    """The answer to a question.

    ``core``: for ``unsat``, the named formulas that suffice for the contradiction. ``reason``: for ``unknown``, why
    there is no answer. ``seconds``: the time that Z3 took, which depends on the machine.
    """

    verdict: Verdict
    core: tuple[str, ...] = ()
    reason: str = ""
    seconds: float = attrs.field(default=0.0, eq=False)


class Printer:
    """Writes questions as text; the text of each formula is made only once.

    ``definitions``: facts about symbols, by the symbol's name. A question that mentions such a symbol gets its fact.
    """

    def __init__(self, definitions: Mapping[str, z3.BoolRef]) -> None:
        self._definitions = definitions
        self._known: dict[int, tuple[z3.BoolRef, tuple[str, ...], str]] = {}

    def question(self, facts: Sequence[z3.BoolRef], named: Mapping[str, z3.BoolRef]) -> SolverQuestion:
        """The question whether the facts and all named formulas can be true together."""
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
        # Sorts come first, since a function can only be declared after its sorts. The sort is stable.
        sorts = sorted(declared, key=lambda line: not line.startswith(("(declare-sort", "(declare-datatype")))
        return SolverQuestion("\n".join([*sorts, *asserted, f"(check-sat-assuming ({labels}))", ""]), tuple(named))

    def _defined(self, declared: Iterable[str]) -> Iterator[tuple[tuple[str, ...], str]]:
        """The definitions of the declared symbols, and of the symbols that these definitions mention in turn."""
        todo = [name for line in declared if (name := _declared(line)) in self._definitions]
        known = set(todo)
        # The list grows during the loop.
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
            # Z3 prints no assertion for the formula ``true``.
            text = next((text for text in commands if text.startswith("(assert")), "(assert true)")
            text = text.removeprefix("(assert").removesuffix(")").strip()
            # The formula is stored too: Z3 reuses the id of a term that is freed.
            self._known[formula.get_id()] = (formula, declarations, text)
        return self._known[formula.get_id()][1:]


def _commands(text: str) -> Iterator[str]:
    """The commands of a script: its outermost parenthesized parts. Parentheses in a quoted name do not count."""
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
    """The text with its local names renumbered by first occurrence. Z3's numbers depend on its memory addresses."""
    known: dict[str, str] = {}
    return _LOCAL.sub(lambda found: known.setdefault(found[0], f"{found[0][:2]}{len(known)}"), text)


def _declared(line: str) -> str:
    """The name of the symbol that a declaration declares."""
    return line.split(" ", 2)[1].strip("|")


def ask(asked: SolverQuestion, seconds: float, seed: int = 0, *, minimal: bool = False) -> SolverAnswer:
    """The answer, or ``unknown`` after ``seconds`` seconds.

    The seed changes how Z3 searches; it cannot turn ``sat`` into ``unsat`` or back. Each seed but 0 gives the formulas
    an order of its own, which decides most about what Z3 tries first. ``minimal`` asks for a core of which no part can
    be left out, which takes longer.
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
    # The core has the order of the names; Z3's own order may vary.
    core = {switch.get_id() for switch in solver.unsat_core()}
    return SolverAnswer(
        "unsat", tuple(name for name, switch in switches.items() if switch.get_id() in core), seconds=spent
    )


def _in_order(text: str, seed: int, ctx: z3.Context) -> list[z3.BoolRef]:
    """The formulas of a question, in the order that belongs to a seed; seed 0 keeps the order of the text."""
    reader = z3.Solver(ctx=ctx)
    reader.from_string(text)
    formulas = list(reader.assertions())
    if seed:
        random.Random(seed).shuffle(formulas)  # noqa: S311 - it hides nothing
    return formulas


def checked(solver: z3.Solver, *assumptions: z3.BoolRef) -> z3.CheckSatResult:
    """The answer of the solver. Raises KeyboardInterrupt after Ctrl-C.

    While Z3 works, it handles Ctrl-C itself and answers ``unknown``; this function passes the interrupt on.
    """
    found = solver.check(*assumptions)
    if found == z3.unknown and solver.reason_unknown() == "interrupted from keyboard":
        raise KeyboardInterrupt
    return found


def _seconds(solver: z3.Solver) -> float:
    statistics = solver.statistics()
    return float(statistics.get_key_value("time")) if "time" in statistics.keys() else 0.0  # noqa: SIM118
