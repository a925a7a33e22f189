"""Compare a mutant's facts with its declaration: the way it ends, and the fault of the declaration, if any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from holdfast.check.mutate.result import MutantFacts, MutantRow, Way
from holdfast.ir.system import Declaration


def judged(established: Iterable[MutantFacts], declarations: Mapping[str, Declaration]) -> list[MutantRow]:
    """The rows of a model's mutants, in their order.

    If the declaration of a label is missing or wrong, its sites that inherit it report no fault of their own: the new
    declaration of the label may hold for them too.
    """
    rows = [judge(facts, declarations) for facts in established]
    # A site without any declaration compares None with the None of its label. The default ``row`` matches nothing.
    open_labels = {row.facts.mutant.name: row.declared for row in rows if row.fault is not None}
    return [
        attrs.evolve(row, fault=None)
        if row.facts.mutant.kind == "site" and open_labels.get(row.facts.mutant.label, row) is row.declared
        else row
        for row in rows
    ]


def judge(facts: MutantFacts, declarations: Mapping[str, Declaration]) -> MutantRow:
    """The row of a mutant. A site without a declaration of its own inherits that of its label."""
    name = facts.mutant.name
    declared = declarations.get(name)
    inherited = declared is None and facts.mutant.kind == "site"
    if inherited:
        declared = declarations.get(facts.mutant.label)
    way, fault = _judged(facts, declared, inherited)
    return MutantRow(facts, declared, way, fault)


def _judged(facts: MutantFacts, declared: Declaration | None, inherited: bool) -> tuple[Way, str | None]:
    if facts.kill is not None:
        # An inherited declaration may fit another site, so it is not superfluous here.
        superfluous = declared is not None and not inherited
        return (
            "killed",
            f"declared {declared}, but {facts.kill} kills it; drop the declaration" if superfluous else None,
        )
    if facts.ended_by is not None:
        return "undecided", None
    if declared is None:
        return _undeclared(facts)
    if inherited and facts.equal:
        return "equivalent", None
    return _declared(facts, declared)


def _declared(facts: MutantFacts, declared: Declaration) -> tuple[Way, str | None]:
    match declared.kind:
        case "equivalent":
            if facts.equal:
                return "equivalent", None
            return "survived", f"declared equivalent, but it takes steps that the model does not take; {_advice(facts)}"
        case "redundant":
            return _redundant(facts, declared)
        case "liveness":
            return _starving(facts, declared)
        case "missing":
            if facts.starves:
                return "liveness", f"declared missing, but it is in the model: {_advice(facts)}"
            if facts.killed_with is not None:
                return "redundant", f"declared missing, but it is in the model: {_advice(facts)}"
            return "missing", None
        case "sound":
            return "sound", None


def _undeclared(facts: MutantFacts) -> tuple[Way, str]:
    if facts.starves:
        return "liveness", f"not declared: {_advice(facts)}"
    if facts.killed_with is not None:
        return "redundant", f"not declared: {_advice(facts)}"
    if facts.equal:
        return "equivalent", f"not declared: its graph is that of the model; {_advice(facts)}"
    return "survived", f"no property kills it: {_advice(facts)}"


def _starving(facts: MutantFacts, declared: Declaration) -> tuple[Way, str | None]:
    """Compare a declaration ``liveness`` with what ``live`` finds."""
    if facts.equal:
        return "equivalent", f"declared {declared}, but its graph is that of the model; {_advice(facts)}"
    if any(kill.is_of(str(declared.names)) for kill in facts.starves or ()):
        return "liveness", None
    if facts.starves:
        return "liveness", f"declared {declared}, which it does not starve; {_advice(facts)}"
    if facts.starves is None:
        return "undecided", None
    return "survived", f"declared {declared}, but no liveness property of the model is violated; {_advice(facts)}"


def _redundant(facts: MutantFacts, declared: Declaration) -> tuple[Way, str | None]:
    if facts.starves:
        return "liveness", f"declared {declared}, but {_advice(facts)}"
    tried = next((pair for pair in facts.pairs if pair.partner == declared.names), None)
    # A limit ended the trials before the declared pair, or during it.
    if tried is None or (tried.kill is None and not tried.decided):
        return "undecided", None
    if tried.kill is not None:
        return "redundant", None
    way: Way = "equivalent" if facts.equal else "survived"
    return way, f"declared {declared}, but without both nothing more is violated; {_advice(facts)}"


def _advice(facts: MutantFacts) -> str:
    """The remedy for a wrong or missing declaration: what to write in the model."""
    name, pair = facts.mutant.name, facts.killed_with
    if facts.starves:
        kill = facts.starves[0]
        return f'{kill} kills it; declare "{name}": liveness("{kill.property}", reason)'
    if pair is not None:
        return f'{pair.kill} kills it without {pair.partner} too; declare "{name}": redundant(with_="{pair.partner}")'
    if facts.equal:
        return f'declare "{name}": equivalent(reason)'
    sound = " or sound(reason)" if facts.mutant.kind == "variant" else ""
    return f'state what it breaks as a property, or declare "{name}": liveness(id, reason) or missing(state){sound}'
