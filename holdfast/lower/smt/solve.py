"""Z3 as a function from questions in SMT-LIB to their answers.

A question is a text; if there is no answer, it can be saved and given to other solvers. Questions that have most of
their formulas in common form a group. Z3 reads a group once, in a context of its own, so no question of another group
and no number of cores can change an answer.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from time import thread_time
from typing import Literal

import attrs
import z3

from holdfast.ir.long_call import long_call
from holdfast.lower.smt.symbols import Symbols, label

Verdict = Literal["unsat", "sat", "unknown"]

TACTICS = {"auto_config": False, "case_split": 3}
"""Parameters of Z3: it considers a formula only when it matters to the current case, and so makes fewer instances."""

_LOCAL = re.compile(r"[$?]x\d+")
_SORTS = ("(declare-sort", "(declare-datatype")
_PARENTHESIS = re.compile(r"[()]|\|[^|]*\|")


EFFORT = 2_000_000
"""Units of Z3's own count of its work that stand for a second.

Z3 counts the same work on every machine and under any load. Measured on the questions of ``models/``: 1.6 to 2.8
million units a second.
"""

SLACK = 10
"""The seconds of the clock, for each second of effort, after which Z3 is stopped whatever it has counted."""


@attrs.frozen
class SolverQuestion:
    """Asks whether formulas can be true together.

    ``declared``: the declarations of the symbols. ``asserted``: the formulas. ``named``: the names of the formulas that
    a core consists of; each has a switch, and is asserted for the case that its switch is on.
    """

    declared: tuple[str, ...]
    asserted: tuple[str, ...]
    named: tuple[str, ...]

    @property
    def text(self) -> str:
        """The question in SMT-LIB."""
        switches = " ".join(f"|{label(name)}|" for name in self.named)
        return "\n".join([*self.declared, *self.asserted, f"(check-sat-assuming ({switches}))", ""])


@attrs.frozen
class SolverAnswer:
    """The answer to a question.

    ``core``: for ``unsat``, the named formulas that suffice for the contradiction. ``reason``: for ``unknown``, why
    there is no answer. ``seconds``: the processor time of Z3, which depends on the machine.
    """

    verdict: Verdict
    core: tuple[str, ...] = ()
    reason: str = ""
    seconds: float = attrs.field(default=0.0, eq=False)


class Printer:
    """Writes questions as text; the text of each formula, and of each set of named formulas, is made only once.

    ``definitions``: facts about symbols, by the symbol's name. A question that mentions such a symbol gets its fact.
    """

    def __init__(self, definitions: Mapping[str, z3.BoolRef]) -> None:
        self._definitions = definitions
        self._known: dict[int, tuple[z3.BoolRef, tuple[str, ...], str]] = {}
        self._assumptions: dict[int, tuple[Mapping[str, z3.BoolRef], tuple[str, ...], tuple[str, ...]]] = {}

    def question(self, facts: Sequence[z3.BoolRef], named: Mapping[str, z3.BoolRef]) -> SolverQuestion:
        """The question whether the facts and all named formulas can be true together."""
        declared: dict[str, None] = {}
        asserted: list[str] = []
        for fact in facts:
            declarations, text = self._text(fact)
            declared |= dict.fromkeys(declarations)
            asserted.append(f"(assert {text})")
        declarations, assumptions = self._switched(named)
        declared |= dict.fromkeys(declarations)
        asserted += assumptions
        for declarations, text in self._defined(declared):
            declared |= dict.fromkeys(declarations)
            asserted.append(f"(assert {text})")
        # Sorts come first, since a function can only be declared after its sorts. The sort is stable.
        sorts = sorted(declared, key=lambda line: not line.startswith(_SORTS))
        return SolverQuestion(tuple(sorts), tuple(asserted), tuple(named))

    def _switched(self, named: Mapping[str, z3.BoolRef]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The declarations and the assertions of the named formulas, each behind its switch."""
        found = self._assumptions.get(id(named))
        if found is None:
            declared: dict[str, None] = {}
            asserted: list[str] = []
            for name, formula in named.items():
                declarations, text = self._text(formula)
                declared |= dict.fromkeys(declarations)
                declared[f"(declare-fun |{label(name)}| () Bool)"] = None
                asserted.append(f"(assert (=> |{label(name)}| {text}))")
            # The mapping is stored too: Python reuses the id of an object that is freed.
            found = self._assumptions[id(named)] = (named, tuple(declared), tuple(asserted))
        return found[1:]

    def _defined(self, declared: Iterable[str]) -> Iterator[tuple[tuple[str, ...], str]]:
        """The definitions of the declared symbols, and of the symbols that these definitions mention in turn."""
        if not self._definitions:
            return
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
        number = formula.get_id()
        found = self._known.get(number)
        if found is None:
            commands = list(_commands(_renumbered(_script(formula))))
            declarations = tuple(" ".join(text.split()) for text in commands if text.startswith("(declare"))
            # Z3 prints no assertion for the formula ``true``.
            text = next((text for text in commands if text.startswith("(assert")), "(assert true)")
            text = text.removeprefix("(assert").removesuffix(")").strip()
            # The formula is stored too: Z3 reuses the id of a term that is freed.
            found = self._known[number] = (formula, declarations, text)
        return found[1:]


def _script(formula: z3.BoolRef) -> str:
    """The declarations of a formula's symbols and its assertion, in SMT-LIB."""
    # As ``Solver.to_smt2`` of a solver with this formula; a solver takes longer to make than the text.
    nothing = (z3.Ast * 0)()
    return str(z3.Z3_benchmark_to_smtlib_string(formula.ctx_ref(), "", "", "", "", 0, nothing, formula.as_ast()))


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


class SolverSession:
    """A group of questions in one Z3 context. The formulas that all of them have are asserted only once.

    The seed changes how Z3 searches; it cannot turn ``sat`` into ``unsat`` or back. Each seed but 0 gives the formulas
    an order of its own, which decides most about what Z3 tries first. ``minimal`` asks for cores of which no part can
    be left out, which takes longer.
    """

    def __init__(self, questions: Sequence[SolverQuestion], seed: int = 0, *, minimal: bool = False) -> None:
        self._clock = SolverClock()
        self._told = 0.0
        """The seconds of the clock that an answer has told. The first answer tells those for reading the group."""
        with self._clock:
            self._ctx = z3.Context()
            self._solver = z3.Solver(ctx=self._ctx)
        self._solver.set(random_seed=seed, **TACTICS)
        if minimal:
            self._solver.set("core.minimize", True)
        common = set(questions[0].asserted).intersection(*(each.asserted for each in questions[1:]))
        shared = [text for text in questions[0].asserted if text in common]
        own = {each: [text for text in each.asserted if text not in common] for each in questions}
        read = iter(self._read(questions, [*shared, *(text for each in questions for text in own[each])]))
        together = _in_order(islice(read, len(shared)), seed)
        with self._clock:
            add(self._solver, together)
        self._symbols = Symbols(self._ctx)
        self._switches: dict[str, z3.ExprRef] = {}
        self._own = {each: _in_order(islice(read, len(own[each])), seed) for each in questions}

    def _read(self, questions: Sequence[SolverQuestion], asserted: Sequence[str]) -> list[z3.BoolRef]:
        """The formulas of these texts, in their order."""
        declared = dict.fromkeys(line for each in questions for line in each.declared)
        # A sort of one question may stand behind a function of another one.
        sorts = sorted(declared, key=lambda line: not line.startswith(_SORTS))
        reader = z3.Solver(ctx=self._ctx)
        text = "\n".join([*sorts, *asserted])
        with self._clock:
            reader.from_string(text)
        formulas = list(reader.assertions())
        assert len(formulas) == len(asserted), "Z3 reads one formula for each text"
        return formulas

    def answer(self, asked: SolverQuestion, seconds: float) -> SolverAnswer:
        """The answer to a question of the group, or ``unknown`` after the effort of ``seconds`` seconds."""
        limit(self._solver, seconds)
        with self._clock:
            self._solver.push()
            add(self._solver, self._own[asked])
        try:
            found = self._answer(asked.named)
        finally:
            with self._clock:
                self._solver.pop()
        spent, self._told = self._clock.seconds - self._told, self._clock.seconds
        return attrs.evolve(found, seconds=spent)

    def _answer(self, named: Sequence[str]) -> SolverAnswer:
        switches = {name: self._switch(name) for name in named}
        with self._clock:
            found = checked(self._solver, *switches.values())
        if found == z3.sat:
            return SolverAnswer("sat")
        if found == z3.unknown:
            return SolverAnswer("unknown", reason=why_unknown(self._solver))
        # The core has the order of the names; Z3's own order may vary.
        core = {switch.get_id() for switch in self._solver.unsat_core()}
        return SolverAnswer("unsat", tuple(name for name, switch in switches.items() if switch.get_id() in core))

    def _switch(self, name: str) -> z3.ExprRef:
        """The switch of a named formula."""
        if name not in self._switches:
            self._switches[name] = self._symbols.constant(label(name), z3.BoolSort(self._ctx))
        return self._switches[name]


def ask(asked: SolverQuestion, seconds: float, seed: int = 0, session: SolverSession | None = None) -> SolverAnswer:
    """The answer to a question, in the session of its group; without one, in a session of its own."""
    return (session or SolverSession([asked], seed)).answer(asked, seconds)


def _in_order(formulas: Iterable[z3.BoolRef], seed: int) -> list[z3.BoolRef]:
    """The formulas in the order that belongs to a seed; seed 0 keeps their order."""
    found = list(formulas)
    if seed:
        random.Random(seed).shuffle(found)  # noqa: S311 - it hides nothing
    return found


def limit(solver: z3.Solver, seconds: float) -> None:
    """Stop the solver's next answers after the effort of this number of seconds, so that no load changes an answer."""
    solver.set(rlimit=max(1, int(seconds * EFFORT)), timeout=max(1, int(seconds * 1000 * SLACK)))


def checked(solver: z3.Solver, *assumptions: z3.BoolRef) -> z3.CheckSatResult:
    """The answer of the solver. Raises KeyboardInterrupt after Ctrl-C.

    While Z3 works, it handles Ctrl-C itself and answers ``unknown``; this function passes the interrupt on.
    """
    # As ``solver.check``, which compares the sort of each assumption with Bool, twice.
    terms = (z3.Ast * len(assumptions))(*(each.as_ast() for each in assumptions))
    # Z3 hears of Ctrl-C, and of no other signal.
    with long_call("a question to Z3", solver.interrupt):
        code = z3.Z3_solver_check_assumptions(solver.ctx.ref(), solver.solver, len(terms), terms)
    found = z3.CheckSatResult(code)
    if found == z3.unknown and solver.reason_unknown() == "interrupted from keyboard":
        raise KeyboardInterrupt
    return found


def add(solver: z3.Solver, formulas: Iterable[z3.BoolRef]) -> None:
    """Assert the formulas."""
    # As ``solver.add``, which compares the sort of each formula with Bool, twice.
    for formula in formulas:
        z3.Z3_solver_assert(solver.ctx.ref(), solver.solver, formula.as_ast())


class SolverClock:
    """Counts the processor time of blocks in which Z3 works, in seconds. Use it as a context manager."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._begun = 0.0

    def __enter__(self) -> None:
        self._begun = thread_time()

    def __exit__(self, *_: object) -> None:
        self.seconds += thread_time() - self._begun


SIZES = SolverClock()
"""The clock of the questions about one size, which no answer counts."""


def why_unknown(solver: z3.Solver) -> str:
    """Why the last answer is ``unknown``, in Z3's words; only that its effort was limited has words of our own."""
    reason = str(solver.reason_unknown())
    return "out of effort" if reason in ("canceled", "max. resource limit exceeded") else reason
