"""The slower engines on a case: mutants, resumed searches, TLC. Each yields sentences, one for each difference."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs

from holdfast.check.budget import Budget
from holdfast.check.mutate.bench import Bench, MutantTrial
from holdfast.check.mutate.engine import mutants
from holdfast.check.mutate.limits import MutationLimits
from holdfast.check.search.engine import search
from holdfast.check.tlc.agreement import SecondOpinion
from holdfast.check.tlc.liveness import compare_liveness
from holdfast.check.tlc.process import NoAnswerError, Tools, find_tools
from holdfast.ir.errors import HoldfastError
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import Scope
from tests.generated.case import MOST, Case
from tests.generated.engines import as_text, letters, starts_nowhere
from tests.generated.oracle import Graph, NoStartError, Oracle

SECONDS = 120
"""The most seconds that TLC may take."""


# Mutants ------------------------------------------------------------------------------------------------------------


def mutate(case: Case) -> Iterator[str]:
    """Compare each mutant: whether its graph equals the model's, and whether it violates something."""
    if starts_nowhere(case) or any(kind != "witness" for kind, _ in case.verdicts):
        return
    bench = Bench(case.system, case.scope, "model.py", MutationLimits(Budget(), cores=1))
    if bench.whole.verdict != "exhausted":
        return
    dropped = bench.whole.figures.dropped_ghosts
    model = steps(case.plain, case.graph, dropped)
    for mutant in mutants(case.system, variants=False):
        found = bench.try_alone(remove_rules(case.system, (mutant.name,)), mutant.actions)
        oracle = Oracle(case.model, case.mark, case.variants, (*case.removed, mutant.name), MOST)
        try:
            graph = oracle.graph()
        except NoStartError:
            if found.kill is None:
                yield f"mutate: {mutant.name}: nothing kills it; by hand it cannot start"
            continue
        if graph.whole:
            yield from tried(case, found, mutant.name, oracle, graph, same=steps(oracle, graph, dropped) == model)


def tried(case: Case, found: MutantTrial, name: str, oracle: Oracle, graph: Graph, *, same: bool) -> Iterator[str]:
    """Compare a mutant's trial with the mutant's graph."""
    verdicts = oracle.verdicts(graph)
    lost = any(kind == "witness" and (kind, prop) not in verdicts for kind, prop in case.verdicts)
    killed = lost or any(kind != "witness" for kind, _ in verdicts)
    if (found.kill is not None) != killed:
        yield f"mutate: {name}: killed by {found.kill}; by hand {'killed' if killed else 'not'}"
    elif found.kill is None and found.same != same:
        yield f"mutate: {name}: its graph is the model's: {found.same}; by hand {same}"


def steps(oracle: Oracle, graph: Graph, dropped: tuple[str, ...]) -> tuple[set[Any], ...]:
    """The initial states, all steps, and the steps that a bound cuts, without some ghosts."""
    kept = [name for name in oracle.fields if name not in dropped]
    keys = [(oracle.key(state, kept), left) for state, left in zip(graph.states, graph.left, strict=True)]
    every = {
        (keys[here], edge.act, edge.args, keys[edge.target]) for here, edges in enumerate(graph.edges) for edge in edges
    }
    beyond = {(keys[here], *cut) for here, cuts in enumerate(graph.beyond) for cut in cuts}
    return set(keys[: graph.starts]), every, beyond


# Resuming -----------------------------------------------------------------------------------------------------------


def resume(case: Case) -> Iterator[str]:
    """A checkpoint of an edited scope must be refused, or must give the answer of a fresh search."""
    if starts_nowhere(case):
        return
    for edited in edits(case.scope):
        with as_text(), TemporaryDirectory() as folder:
            file = Path(folder) / "checkpoint"
            limited = Budget(states=max(1, len(case.graph.states) // 2))
            options: dict[str, Any] = {"engine": "kernel", "cores": 1, "keep_going": True}
            try:
                search(case.system, edited, checkpoint=file, budget=limited, **options)
                found = search(case.system, case.scope, resume_from=file, **options)
            except HoldfastError:
                # The edited scope contradicts the model, or the checkpoint was refused.
                continue
            yield from letters("resumed after an edit", found, search(case.system, case.scope, **options))


def edits(scope: Scope) -> Iterator[Scope]:
    """The scope with another budget, and with other constants."""
    for name, budget in scope.budgets.items():
        yield attrs.evolve(scope, budgets={**scope.budgets, name: budget + 1 if budget < 2 else budget - 1})
    for name, values in scope.given.items():
        if len(set(values)) > 1:
            yield attrs.evolve(scope, given={**scope.given, name: values[::-1]})


# TLC ----------------------------------------------------------------------------------------------------------------


@cache
def tools() -> Tools:
    """Java and TLC."""
    return find_tools()


def tlc(case: Case) -> Iterator[str]:
    """Compare TLC's answers on the generated module: verdicts, shortest runs, states, depth, and starvation."""
    if starts_nowhere(case):
        return
    opinion = SecondOpinion(case.system, case.scope, tools(), target="model.py", seconds=SECONDS)
    try:
        safety = opinion.compared()
    except NoAnswerError as error:
        if "32 bits" in str(error):
            # TLC reports larger numbers of a model this way: no answer, and no difference.
            return
        raise
    yield from (f"tlc: {difference}" for difference in safety.differences)
    wrong = [length for (kind, _), length in case.verdicts.items() if kind != "witness"]
    if safety.theirs.steps != min(wrong, default=None):
        yield f"tlc: {safety.theirs}; by hand a violation in {min(wrong, default=None)} steps"
    owed = compare_liveness(opinion)
    yield from () if owed is None else (f"tlc: {difference}" for difference in owed.differences)
