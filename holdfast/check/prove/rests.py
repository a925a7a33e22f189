"""The grounds of a proof: assumptions about types, numbers, constants and extrema, and the searches of its trial."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from holdfast.check.prove.trial import ProofTrial
from holdfast.lower.smt.logic import Logic


@attrs.frozen
class ProofGround:
    """One ground of a proof; ``what`` is its subject, such as ``orders``."""

    what: str
    text: str


def grounds(logic: Logic) -> tuple[ProofGround, ...]:
    """The assumptions of a system's formulas. Call it after all formulas are made: these make the definitions."""
    return tuple(_grounds(logic))


def _grounds(logic: Logic) -> Iterator[ProofGround]:
    system, universe = logic.system, logic.universe
    if system.sorts or system.nats:
        yield ProofGround("scopes", "of any size, with at least one element of each sort, and without budgets")
    last = {nat.name: universe.literals[nat.name] for nat in system.nats}
    literals = ", ".join(f"{name} {_up_to(value)}" for name, value in last.items() if value)
    if literals:
        yield ProofGround("literals", f"exist: {literals}; of scopes without them it says nothing")
    orders = ", ".join(nat.name for nat in universe.ordered)
    if orders:
        yield ProofGround("orders", f"{orders}: total, 0 is least, and each literal follows the one before at once")
    integers = ", ".join(name for name in last if name in universe.computed)
    if integers:
        yield ProofGround("integers", f"{integers}: from 0 to a greatest value, beyond which a step is cut")
    extrema = ", ".join(sorted({universe.symbols.meaning(name).parts[0] for name in universe.definitions}))
    if extrema:
        yield ProofGround("extrema", f"{extrema}: some element has the value, as its type is finite in every scope")
    constants = [var.name for var in logic.theory.encoding.variables if var.constant]
    if constants:
        yield ProofGround("constants", f"any values that satisfy what is assumed: {', '.join(constants)}")
    assumed = [prop.title for prop in system.of_kind("assume")]
    if assumed:
        yield ProofGround("assumed", ", ".join(assumed))


def _up_to(literal: int) -> str:
    return "0 and 1" if literal == 1 else f"0 to {literal}"


def tried(trial: ProofTrial) -> ProofGround:
    """The trial of a proof as a ground: the searches of other sizes, which found no violation."""
    sizes: dict[str, set[int]] = {}
    for attempt in trial.attempts:
        for name, size in attempt.scope.sizes.items():
            sizes.setdefault(name, set()).add(size)
    ranges = ", ".join(f"{name} {_range(found)}" for name, found in sizes.items())
    count = len(trial.attempts)
    text = f"{count} {'search' if count == 1 else 'searches'} of other sizes{f' ({ranges})' if ranges else ''}, "
    text += f"{trial.states:,} states, {trial.exhausted} exhausted: nothing violated"
    return ProofGround("tried", text + (f"; {trial.skipped} had no start" if trial.skipped else ""))


def _range(sizes: set[int]) -> str:
    least, most = min(sizes), max(sizes)
    return str(least) if least == most else f"{least} to {most}"
