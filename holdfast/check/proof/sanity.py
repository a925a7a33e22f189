"""Whether a proof is of something: there are starts, every action is possible, every invariant says something.

From a contradiction everything follows. So what must be possible is looked for in small sizes; and that nothing
contradicts itself without a size is asked as well, for the formulas there are others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from holdfast.check.proof.asking import Askers
from holdfast.check.proof.result import Checked
from holdfast.ir.system import Property, System
from holdfast.lower.smt.instance import NotFound
from holdfast.lower.smt.logic import Ask, Logic

PATIENCE = 0.5
"""Seconds in which a contradiction has to show itself."""


def sanity(logic: Logic, askers: Askers, assumed: Sequence[Property]) -> list[Checked]:
    """What was looked for, with where it was found, or what is wrong."""
    wanted = list(_wanted(logic.system, assumed))
    contradictions = askers.answers([partial(logic.question, ask) for _, ask, _ in wanted], PATIENCE)
    found: list[Checked] = []
    for (what, ask, problem), answer in zip(wanted, contradictions, strict=True):
        size = logic.size(ask)
        if answer.verdict == "unsat" or isinstance(size, NotFound):
            found.append(Checked(what, None, problem + _where(answer.verdict == "unsat", size)))
        else:
            found.append(Checked(what, tuple(size.items())))
    return found


def _wanted(system: System, assumed: Sequence[Property]) -> Iterator[tuple[str, Ask, str]]:
    names = [prop.name for prop in assumed]
    yield "initial states", lambda theory: theory.starts(), "there is no initial state"
    for action in system.actions:
        problem = f"{action.name} is never possible where all that is assumed holds"
        yield f"{action.name} possible", _possible(action.name, names), problem
    for prop in assumed:
        problem = f"{prop.title} is true of any state whatever, and so says nothing"
        yield f"{prop.name} can be false", _falsified(prop), problem


def _possible(action: str, names: Sequence[str]) -> Ask:
    return lambda theory: theory.possible(theory.encoding.system.action(action), names)


def _falsified(prop: Property) -> Ask:
    return lambda theory: theory.falsified(prop)


def _where(contradictory: bool, size: object) -> str:
    if contradictory:
        return ": its formula contradicts itself"
    assert isinstance(size, NotFound)
    left = f", and size {', '.join(size.undecided)}" if size.undecided else ""
    return f" up to size {size.largest}{left}"
