"""Each engine's answers on a case, compared with the oracle. Each function yields one sentence for each difference."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest

from holdfast.check.budget import Budget
from holdfast.check.live.engine import live
from holdfast.check.live.result import LiveResult, live_to_json
from holdfast.check.prove.engine import prove
from holdfast.check.prove.prover import SolverLimits
from holdfast.check.prove.result import ProofResult
from holdfast.check.result import Result, to_json
from holdfast.check.search.engine import search
from holdfast.ir.errors import ModelError, UsageError
from holdfast.ir.marks import ScopeMark
from holdfast.ir.system import LIVENESS
from holdfast.lang.sorts import Nat, Sort
from holdfast.lower.kernel import graphs, kernel
from tests.generated.case import Case
from tests.generated.fair import fairness, violated
from tests.generated.oracle import DEADLOCK, Claim, GhostCutError, NoStartError
from tests.generated.orbits import orbits
from tests.kernel.plain import plain_build

Check = Callable[[Case], Iterator[str]]

LARGER = 250
"""The most states of a larger scope that are searched for a violation of a proved property."""

QUICK = SolverLimits(quick=1.0, long=2.0)
"""Seconds for a question of a proof. A question that takes longer stays open, which is no difference."""


# The interpreter ----------------------------------------------------------------------------------------------------


def interpreter(case: Case) -> Iterator[str]:
    """Compare verdicts, lengths of shortest runs, states, steps and depth, with and without symmetry."""
    for symmetry in (False, True):
        found = answered(case, symmetry=symmetry, keep_going=True)
        if isinstance(found, str):
            if not starts_nowhere(case):
                yield f"search: {found}"
            return
        if starts_nowhere(case):
            yield "search: there is a start that no run of the model has"
            return
        yield from judged(case, found, f"search{' under symmetry' if symmetry else ''}")
        yield from counted(case, found, symmetry=symmetry)
    first = answered(case, symmetry=True, keep_going=False)
    wrong = [length for (kind, _), length in case.verdicts.items() if kind != "witness"]
    lengths = [trace.length for trace in first.findings] if isinstance(first, Result) else []
    if lengths != ([min(wrong)] if wrong else []):
        yield f"the first violation takes {lengths} steps; by hand {min(wrong, default=None)}"


def answered(case: Case, **options: object) -> Result | str:
    """The search's result, or its error's message."""
    try:
        return search(case.system, case.scope, engine="interpreter", **options)
    except ModelError as error:
        return str(error)


def starts_nowhere(case: Case) -> bool:
    """Whether the scope contradicts the model, according to the oracle."""
    try:
        return not case.graph.starts
    except NoStartError:
        return True


def judged(case: Case, found: Result, what: str) -> Iterator[str]:
    """Compare the violated and reached claims, and the lengths of their runs."""
    # A deadlock's or a repetition's name has an @ in front if a property has the same name.
    said = {(trace.shown.kind, trace.shown.name.removeprefix("@")): trace.length for trace in found.findings}
    said |= {("witness", each.claim.name): each.trace.length for each in found.witnesses if each.trace is not None}
    if said != case.verdicts:
        yield f"{what}: {shown(said)}; by hand {shown(case.verdicts)}"
    if (found.verdict == "violated") != any(kind != "witness" for kind, _ in case.verdicts):
        yield f"{what}: {found.verdict}; by hand {shown(case.verdicts)}"
    kinds = {kind for kind, _ in case.verdicts if kind != "witness"}
    code = 0 if not kinds else 11 if kinds == {DEADLOCK[0]} else 12
    missing = any(("witness", prop.name) not in case.verdicts for prop in case.plain.of_kind("witness"))
    if found.exit_code != code and not (code == 0 and found.exit_code == 10 and (missing or found.vacuous)):
        yield f"{what}: exit {found.exit_code}; by hand {code}"
    if code == 0 and missing and found.exit_code != 10:
        yield f"{what}: exit {found.exit_code}, though a witness is not reached"


def shown(verdicts: Mapping[Claim, int]) -> str:
    """Claims and lengths, in a fixed order."""
    return ", ".join(f"{kind} {name} in {steps}" for (kind, name), steps in sorted(verdicts.items())) or "nothing"


def counted(case: Case, found: Result, *, symmetry: bool) -> Iterator[str]:
    """Compare the numbers of states and steps, and the depth."""
    figures = found.figures
    depth, states = case.plain.depth_and_states(case.graph, figures.dropped_ghosts)
    if symmetry:
        states = orbits(case.plain, case.graph, figures.dropped_ghosts)
    if (figures.distinct, figures.depth) != (states, depth):
        orbit = "orbits" if symmetry else "states"
        yield f"{figures.distinct} {orbit}, depth {figures.depth}; by hand {states}, depth {depth}"
    if not symmetry and not figures.dropped_ghosts:
        taken = [0] * len(case.plain.acts)
        cuts = list(taken)
        for here, edges in enumerate(case.graph.edges):
            for edge in edges:
                taken[edge.act] += 1
            for act, _ in case.graph.cuts[here]:
                cuts[act] += 1
        mine = {act.name: (taken[place], cuts[place]) for place, act in enumerate(case.plain.acts)}
        said = {act.name: (act.taken, sum(times for _, times in act.cuts)) for act in figures.actions}
        if mine != said:
            yield f"steps and cuts {said}; by hand {mine}"


# The kernel's text --------------------------------------------------------------------------------------------------


@contextmanager
def as_text() -> Iterator[None]:
    """From now on Python runs the kernels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "build", plain_build)
        patch.setattr(graphs, "build", plain_build)
        yield


def kernel_text(case: Case) -> Iterator[str]:
    """The kernel's text, run by Python, must give the interpreter's answers to the letter."""
    with as_text():
        yield from machine(case)


def machine(case: Case) -> Iterator[str]:
    """The compiled kernel must give the interpreter's answers."""
    if starts_nowhere(case):
        return
    for options in ({"symmetry": True, "keep_going": True}, {"symmetry": False, "keep_going": False}):
        slow = answered(case, **options)
        try:
            fast = search(case.system, case.scope, engine="kernel", cores=1, **options)
        except UsageError as error:
            if refuses_numbers(str(error)):
                return
            raise
        yield from letters("kernel", fast, slow)
        yield from judged(case, fast, "kernel") if options["keep_going"] else ()
    if any(True for _ in case.system.of_kind(*LIVENESS)):
        by_hand = live(case.system, case.scope, engine="interpreter")
        yield from live_letters(live(case.system, case.scope, engine="kernel"), by_hand)


def refuses_numbers(message: str) -> bool:
    """Whether the kernel refuses the model because numbers do not fit its words, which is allowed."""
    return "bits" in message


def letters(what: str, mine: Result, other: Result | str) -> Iterator[str]:
    """The differences between two answers."""
    assert isinstance(other, Result)
    one, two = to_json(mine) | {"timing": None}, to_json(other) | {"timing": None}
    yield from (
        f"{what}: {key}: {str(one[key])[:300]}, not {str(two[key])[:300]}" for key in one if one[key] != two[key]
    )


def live_letters(mine: LiveResult, other: LiveResult) -> Iterator[str]:
    """The differences between two answers about liveness."""
    one, two = live_to_json(mine) | {"timing": None}, live_to_json(other) | {"timing": None}
    yield from (
        f"live by kernel: {key}: {str(one[key])[:300]}, not {str(two[key])[:300]}"
        for key in one
        if one[key] != two[key]
    )


# Liveness -----------------------------------------------------------------------------------------------------------


def liveness(case: Case) -> Iterator[str]:
    """Compare the violated liveness; if one is violated only with cuts as impossible, there must be no answer."""
    owed = case.plain.of_kind(*LIVENESS)
    if not owed or starts_nowhere(case):
        return
    found = live(case.system, case.scope, engine="interpreter")
    fair = fairness(case.plain, case.graph)
    wrong, either_way = (
        {
            prop.name
            for prop in owed
            if any(violated(case.graph, fair, prop, args, cautious=cautious) for args in case.plain.values(prop.types))
        }
        for cautious in (True, False)
    )
    said = {trace.shown.name for trace in found.findings}
    if said != wrong:
        yield f"live: {sorted(said)} violated; by hand {sorted(wrong)}"
    verdict = "violated" if wrong else "inconclusive" if either_way else "exhausted"
    if found.verdict != verdict:
        yield f"live: {found.verdict}; by hand {verdict}"


# Proofs -------------------------------------------------------------------------------------------------------------


def proofs(case: Case) -> Iterator[str]:
    """Compare proofs with the oracle.

    A property proved for any sizes must hold in sizes 1 to 3, in each scope with the literals that the proof names as
    assumptions. A violation must be one of the oracle's in the model's own scope.
    """
    if starts_nowhere(case) or not provable(case):
        return
    try:
        found = prove(case.system, cores=0, limits=QUICK, suggest=False, budget=Budget(seconds=20))
    except ModelError as error:
        yield f"prove: {error}"
        return
    wrong = {name: steps for (kind, name), steps in case.verdicts.items() if kind not in ("witness", *DEADLOCK)}
    for result in found.searched:
        for trace in result.findings:
            if wrong.get(trace.shown.name.removeprefix("@")) != trace.length:
                yield f"prove: {trace.shown.name} violated in {trace.length} steps; by hand {shown(case.verdicts)}"
    for proof in found.properties:
        if proof.verdict not in ("proved", "vacuous", "violated", "not_inductive", "unknown"):
            yield f"prove: {proof.claim.name} is {proof.verdict}"
    proved = {proof.claim.name.removeprefix("@") for proof in found.properties if proof.verdict == "proved"}
    if not proved:
        return
    for mark in (without_budgets(case.mark), *larger(case)):
        if not has_literals(mark, found):
            continue
        for name, said in denied(case, mark, proved):
            yield said
            proved.remove(name)


def has_literals(mark: ScopeMark, found: ProofResult) -> bool:
    """Whether a scope has the literals that the proof assumes."""
    said = " ".join(ground.text for ground in found.rests_on if ground.what == "literals")
    last = {name: int(number) for name, number in re.findall(r"(\w+) 0 (?:to|and) (\d+)", said)}
    assert bool(said) == bool(last), said
    return all(size >= last.get(cls.__name__, 0) for cls, size in mark.sizes.items())


def provable(case: Case) -> bool:
    """Whether the model has a property to prove."""
    wanted = case.plain.of_kind("invariant", "lemma", "step")
    return bool(wanted) or any(act.mark.idempotent for act in case.plain.acts)


def without_budgets(mark: ScopeMark) -> ScopeMark:
    """The scope without budgets, as in a proof."""
    return ScopeMark(mark.sizes, {}, mark.given)


def denied(case: Case, mark: ScopeMark, proved: set[str]) -> Iterator[tuple[str, str]]:
    """The properties reported as proved that a run in this scope violates."""
    oracle = case.oracle(mark, LARGER)
    try:
        verdicts = oracle.verdicts(oracle.graph(budgets=False))
    except (NoStartError, GhostCutError, KeyError):
        return
    sizes = {cls.__name__: size for cls, size in mark.sizes.items()}
    for (kind, name), steps in verdicts.items():
        if name in proved and kind not in ("witness", *DEADLOCK):
            where = f"in {steps} steps in {sizes} {dict(mark.given) or ''}"
            yield name, f"prove: {name} is proved; by hand it is violated {where}"


def larger(case: Case) -> Iterator[ScopeMark]:
    """Scopes with other sizes: all of one size, then one type larger than the others; with some given constants."""
    chance = random.Random(case.seed)
    classes = list(case.mark.sizes)
    for size in (1, 2, 3):
        yield resized(case, dict.fromkeys(classes, size), chance)
    for cls, size in itertools.product(classes, (2, 3, 5)):
        if issubclass(cls, Nat) or size == 3:
            yield resized(case, {**dict.fromkeys(classes, 2 if issubclass(cls, Nat) else 1), cls: size}, chance)


def resized(case: Case, sizes: Mapping[type, int], chance: random.Random) -> ScopeMark:
    """A scope of these sizes, with random values for the given constants."""
    given: dict[str, object] = {}
    for name in case.mark.given:
        var = case.system.var(name)
        named = {cls.__name__: cls for cls in sizes}
        cells = 1
        for key in var.keys:
            cls = named.get(getattr(key, "name", ""))
            cells *= 3 if cls is None else sizes[cls] + (not issubclass(cls, Sort))
        values = tuple(drawn(var.value, named, sizes, chance) for _ in range(cells))
        given[name] = values if var.keys else values[0]
    return ScopeMark(sizes, {}, given)


def drawn(kind: object, named: Mapping[str, type], sizes: Mapping[type, int], chance: random.Random) -> object:
    """A random value of a given constant, as a scope writes it."""
    inner = getattr(kind, "of", None)
    if inner is not None:
        return None if chance.random() < 0.3 else drawn(inner, named, sizes, chance)
    cls = named.get(getattr(kind, "name", ""))
    if cls is None:
        return chance.random() < 0.5
    return chance.randrange(sizes[cls] + (not issubclass(cls, Sort)))
