"""Checks that a proof is not vacuous. Everything follows from a contradiction, so some things must be possible.

There must be initial states. Each action, and the premise of each property, must be possible in a state where all
assumptions hold. Each invariant must be false in some state. Small sizes are searched for such a state, which is then a
state of a scope. In addition Z3 is asked whether the axioms for any sizes, or the definitions of minima and maxima,
contradict it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import attrs

from holdfast.check.prove.asking import Askers
from holdfast.check.prove.result import SanityCheck
from holdfast.ir.expr import TRUE
from holdfast.ir.system import Property, System
from holdfast.lower.smt.instance import NotFound
from holdfast.lower.smt.logic import Ask, Logic
from holdfast.lower.smt.solve import SolverAnswer
from holdfast.lower.smt.theory import Formulas, Theory

PATIENCE = 0.1
"""Seconds of effort for the search for a contradiction.

It is ten times the effort of a usual obligation: a contradiction that makes a proof vacuous is found with less. Most of
these questions have a model, for which Z3 would look without an end.
"""


@attrs.frozen
class _Possibility:
    """A demand that something is possible; ``problem`` is the message if it is not.

    ``of``: the property that the demand is about; None: all. ``without_size``: also ask whether the axioms for any
    sizes contradict it.
    """

    what: str
    ask: Ask
    problem: str
    of: str | None = None
    without_size: bool = True


def sanity(logic: Logic, askers: Askers, assumed: Sequence[Property], goals: Sequence[Property]) -> list[SanityCheck]:
    """The outcomes of all checks. Call it after the obligations are made: the questions include their definitions."""
    wanted = list(_wanted(logic.system, assumed, goals))
    asked = [each for each in wanted if each.without_size]
    answers = askers.answers([partial(logic.question, _defined(each.ask)) for each in asked], PATIENCE)
    # A contradiction proves impossibility at once. Any other answer proves nothing: a sized instance decides below.
    contradictory = {each.what for each, answer in zip(asked, answers, strict=True) if _is_contradiction(answer)}
    found: list[SanityCheck] = []
    for each in wanted:
        size = logic.size(each.ask)
        if each.what in contradictory or isinstance(size, NotFound):
            found.append(SanityCheck(each.what, None, each.problem + _where(each.what in contradictory, size), each.of))
        else:
            found.append(SanityCheck(each.what, tuple(size.items()), None, each.of))
    return found


def _is_contradiction(answer: SolverAnswer) -> bool:
    return answer.verdict == "unsat"


def _defined(ask: Ask) -> Ask:
    def defined(theory: Theory) -> Formulas:
        return theory.with_definitions(ask(theory))

    return defined


def _wanted(system: System, assumed: Sequence[Property], goals: Sequence[Property]) -> Iterator[_Possibility]:
    names = [prop.name for prop in assumed]
    yield _Possibility("initial states", lambda theory: theory.starts(), "there is no initial state")
    for action in system.actions:
        problem = f"{action.name} is never possible where all that is assumed holds"
        yield _Possibility(f"{action.name} possible", _possible(action.name, names), problem)
    for prop in assumed:
        problem = f"{prop.title} is true in every state, so it says nothing"
        yield _Possibility(f"{prop.name} can be false", _falsified(prop), problem, prop.name)
    for prop in dict.fromkeys([*assumed, *goals]):
        if prop.premise != TRUE:
            where = "step" if prop.kind == "step" else "state"
            problem = f"the premise of {prop.title} is true of no {where} where all that is assumed holds"
            yield _Possibility(f"{prop.name} says something", _premised(prop, names), problem, prop.name, False)


def _possible(action: str, names: Sequence[str]) -> Ask:
    return lambda theory: theory.possible(theory.encoding.system.action(action), names)


def _falsified(prop: Property) -> Ask:
    return lambda theory: theory.falsified(prop)


def _premised(prop: Property, names: Sequence[str]) -> Ask:
    return lambda theory: theory.premised(prop, names)


def _where(contradictory: bool, size: object) -> str:
    if contradictory:
        return ": its formula contradicts itself"
    assert isinstance(size, NotFound)
    left = f", and size {', '.join(size.undecided)}" if size.undecided else ""
    return f" up to size {size.largest}{left}"
