"""Turns an instance that Z3 found into a trace of two states. The interpreter checks it by taking the step itself."""

from __future__ import annotations

import attrs

from holdfast.check.prove.result import Counterexample
from holdfast.ir.system import System
from holdfast.lower.outcome import Taken
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.smt.instance import SmallestModel
from holdfast.lower.smt.theory import Obligation
from holdfast.runs.rebuilding import repeat_differs, repetition
from holdfast.runs.selection import idempotence
from holdfast.runs.where import where_it_fails
from holdfast.trace.trace import Claim, Origin, Step

ANY = "any"
"""The name of the action before the first state, which need not be reachable."""


def counterexample(
    system: System, target: str, ghosts: frozenset[str], due: Obligation, found: SmallestModel
) -> Counterexample:
    """An instance as a counterexample to induction. The interpreter takes the step again and evaluates the property.

    Raises AssertionError if the interpreter disagrees with Z3: then one of the two engines is wrong.
    """
    props = () if due.prop is None else (due.prop,)
    machine = Interpreter(system, found.scope, ghosts=ghosts, properties=props)
    origin = Origin(system, machine.layout, target, None)
    assert found.after is not None
    before, after = found.before, found.after
    claim = claim_of(system, due)
    if before is None:
        assert after in machine.initial(), f"the engines disagree about the initial states of {system.name}"
        steps = [origin.start(after, found.args)]
    else:
        outcome = machine.step(before, found.action, found.args)
        assert outcome == Taken(after), f"the engines disagree about {found.action} of {system.name}"
        steps = [
            Step(ANY, (), before, tuple(machine.layout.decode(before).values())),
            origin.step(found.action, found.args, after),
        ]
    if due.prop is None:
        again = machine.step(after, found.action, found.args)
        assert repeat_differs(machine, after, again), f"the engines disagree about repeating {found.action}"
        steps.append(repetition(machine, origin, after, found.action, found.args))
    else:
        assert not machine.holds_step(due.prop, before or after, after, found.args), (
            f"the engines disagree about {due.prop.name} of {system.name}"
        )
        where = where_it_fails(machine, due.prop, before or after, after, found.args)
        claim = attrs.evolve(claim, where=where)
    return Counterexample(found.action, origin.trace(claim, steps), found.scope)


def claim_of(system: System, due: Obligation) -> Claim:
    """The claim that an obligation belongs to: its property, or the idempotence of its action."""
    if due.prop is not None:
        return Claim.of_property(due.prop)
    assert due.action is not None
    return idempotence(system, due.action)
