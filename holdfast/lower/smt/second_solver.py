"""cvc5 as a function from a question in SMT-LIB to an answer: a second prover, independent of Z3.

Only this module needs the package. cvc5 gets the same text as Z3, but has a parser, theories and a search of its own.
So if both provers call a question contradictory, it is contradictory; only the question itself may be wrong.
"""

from __future__ import annotations

from importlib.util import find_spec

from holdfast.ir.errors import UsageError
from holdfast.lower.smt.solve import SolverAnswer, SolverQuestion

PACKAGE = "cvc5"

EXTRA = "pip install 'holdfast[cvc5]'"


def is_installed() -> bool:
    """Whether the package cvc5 is installed."""
    return find_spec(PACKAGE) is not None


def require_cvc5() -> None:
    """Raise UsageError if the package is not installed."""
    if not is_installed():
        raise UsageError(f"--with cvc5 needs the package cvc5; {EXTRA}")


def ask_cvc5(asked: SolverQuestion, seconds: float) -> SolverAnswer:
    """The answer, without a core; ``unknown`` if two attempts of ``seconds`` each give none."""
    # The first attempt looks for a contradiction, with all instances of quantifiers. It cannot find a model, so the
    # second attempt looks for a finite one.
    for option in ("full-saturate-quant", "finite-model-find"):
        answer = _asked(asked, seconds, option)
        if answer.verdict != "unknown":
            return answer
    return answer


def _asked(asked: SolverQuestion, seconds: float, option: str) -> SolverAnswer:
    import cvc5  # noqa: PLC0415 - an extra

    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("tlimit-per", str(max(1, int(seconds * 1000))))
    solver.setOption(option, "true")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, f"(set-logic ALL)\n{asked.text}", "question")
    said = ""
    try:
        while not (command := parser.nextCommand()).isNull():
            said = command.invoke(solver, parser.getSymbolManager()).strip()
            if said.startswith("(error"):
                break
    except RuntimeError as error:
        said = str(error)
    if said == "unsat":
        return SolverAnswer("unsat")
    return SolverAnswer("sat") if said == "sat" else SolverAnswer("unknown", reason=f"cvc5: {said or 'no answer'}")
