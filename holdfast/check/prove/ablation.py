"""Ablation: repeats a proof without each of its lemmas, one at a time.

If the proof still goes through, the lemma is not needed. Otherwise there is a counterexample to induction. The clauses
that are suggested to exclude it are put in the lemma's place, and the whole proof is tried again with them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import attrs

from holdfast.check.budget import INTERRUPTED, Budget
from holdfast.check.json_values import PAIRS, as_json
from holdfast.check.prove.engine import NO_BUDGET, prove
from holdfast.check.prove.prover import SolverLimits
from holdfast.check.prove.result import ProofResult, PropertyProof, Suggestion
from holdfast.check.result import HOLDS, OUT_OF_BUDGET, UNSHOWN
from holdfast.check.worker_pool import WorkerPool
from holdfast.ir.errors import UsageError, unreadable
from holdfast.ir.implied_lemmas import is_declared
from holdfast.ir.system import Property, System

ROUNDS = 3
"""How often clauses are suggested: with the first clauses in place, the proof may still need others."""

Ends = Literal["missed", "idle", "open"]


@attrs.frozen
class Ablation:
    """The outcome of a proof without one lemma.

    ``ends``: the lemma is *missed* if there is a counterexample to induction, and *idle* if everything is proved
    without it; the outcome is *open* if Z3 gives no answer. ``name``, ``action``, ``sizes``: of a missed lemma, the
    property that ``action`` breaks, and the sizes of the counterexample, none of which can be smaller. ``clauses``: the
    suggested clauses that the new proof needs. ``restored``: whether the proof goes through with suggested clauses, or
    None if nobody looked for any.
    """

    lemma: str
    ends: Ends
    name: str = ""
    action: str = ""
    sizes: Annotated[tuple[tuple[str, int], ...], PAIRS] = ()
    clauses: tuple[str, ...] = ()
    restored: bool | None = False


@attrs.frozen
class Ablations:
    """The outcomes for one model; ``ended_by`` is the limit that ended the ablation early, if one did."""

    model: str
    target: str
    fingerprint: str
    rows: tuple[Ablation, ...]
    ended_by: str | None = None

    @property
    def restored(self) -> int:
        """The number of lemmas that suggested clauses can replace."""
        return sum(row.restored is True for row in self.rows)

    @property
    def suggested(self) -> bool:
        """Whether clauses were looked for in place of each missed lemma."""
        return all(row.restored is not None for row in self.rows)

    @property
    def exit_code(self) -> int:
        """10 if a lemma is idle; else 20 if an outcome is open or a limit ended the ablation; else 0."""
        if any(row.ends == "idle" for row in self.rows):
            return UNSHOWN
        return OUT_OF_BUDGET if self.ended_by is not None or any(row.ends == "open" for row in self.rows) else HOLDS


def ablations(
    system: System,
    *,
    target: str,
    lemmas: Sequence[str] | None = None,
    budget: Budget = NO_BUDGET,
    progress: Callable[[str], None] = lambda text: None,
    cores: int | None = None,
    limits: SolverLimits | None = None,
    suggest: bool = True,
) -> Iterator[Ablation | str]:
    """Yield the outcome of the proof without each lemma, in the order of the source.

    ``lemmas`` names the lemmas to remove (None: every lemma). Each of the ``cores`` leaves out one lemma at a time.
    ``suggest``: look for clauses that replace it, which takes most of the time. If a limit or Ctrl-C ends the ablation,
    the last item is the text that says so. Raises UsageError if the proof does not go through with all lemmas: then no
    lemma can be missed.
    """
    ask = _Asking(system, target, budget, progress, cores, limits, suggest)
    whole = ask(system, "with every lemma")
    if whole.ended_by is not None:
        yield whole.ended_by
        return
    if whole.verdict != "proved":
        raise UsageError(f"{target} is not proved as it is; `holdfast prove {target}` says what is missing")
    ask.known = whole.cores
    declared = [lemma for lemma in system.of_kind("lemma") if is_declared(lemma)]
    wanted = [lemma for lemma in declared if lemmas is None or lemma.name in lemmas]
    count = (os.cpu_count() or 1) if cores is None else cores
    outcomes = _side_by_side(ask, wanted, count) if count > 1 and len(wanted) > 1 else _one_by_one(ask, wanted)
    for found in outcomes:
        yield found
        if isinstance(found, str):
            return


def _one_by_one(ask: _Asking, wanted: Sequence[Property]) -> Iterator[Ablation | str]:
    return (_without(ask, ask.system, lemma) for lemma in wanted)


def _side_by_side(ask: _Asking, wanted: Sequence[Property], count: int) -> Iterator[Ablation | str]:
    """The outcomes of several processes, in the order of the lemmas."""
    budget = ask.left()
    if budget.memory_bytes is not None:
        budget = attrs.evolve(budget, memory_bytes=budget.memory_bytes // count)
    # A model's class need not be importable in another process, and the proofs do without it.
    system = attrs.evolve(ask.system, python=object)
    payload = _AblationPayload(system, ask.target, budget, ask.limits, ask.suggest, ask.known)

    def waiting(done: int) -> None:
        ask.progress(f"{ask.target}: {done} of {len(wanted)} lemmas left out")

    try:
        with WorkerPool(count, _prepare, payload) as pool:
            yield from pool.in_order(_try_one, wanted, waiting)
    except KeyboardInterrupt:
        yield INTERRUPTED


@attrs.frozen
class _AblationPayload:
    """Everything that a process needs to leave out lemmas of a model."""

    system: System
    target: str
    budget: Budget
    limits: SolverLimits | None
    suggest: bool
    known: Mapping[str, Sequence[str]]


_asking: list[_Asking] = []
"""In a prepared process: its proofs. They share the time that was left when the process began."""


def _prepare(payload: _AblationPayload) -> None:
    ask = _Asking(
        payload.system,
        payload.target,
        payload.budget,
        lambda text: None,
        0,
        payload.limits,
        payload.suggest,
        payload.known,
    )
    _asking.append(ask)


def _try_one(lemma: Property) -> Ablation | str:
    [ask] = _asking
    return _without(ask, ask.system, lemma)


@attrs.define
class _Asking:
    """Proves variations of a system within one budget. It searches no scope, so it finds no violated property.

    ``known``: the cores of the proof with every lemma. A variation asks only about obligations that needed its lemma.
    """

    system: System
    target: str
    budget: Budget
    progress: Callable[[str], None]
    cores: int | None
    limits: SolverLimits | None
    suggest: bool = True
    known: Mapping[str, Sequence[str]] = attrs.field(factory=dict)
    _spent: float = 0.0

    def left(self) -> Budget:
        """The rest of the budget."""
        if self.budget.seconds is None:
            return self.budget
        return attrs.evolve(self.budget, seconds=max(self.budget.seconds - self._spent, 0.0))

    def __call__(self, system: System, what: str) -> ProofResult:
        found = prove(
            system,
            budget=self.left(),
            progress=lambda text: self.progress(f"{self.target}, {what}: {text}"),
            target=self.target,
            cores=self.cores,
            limits=self.limits,
            suggest=self.suggest,
            searched=False,
            sane=False,
            tried=False,
            known=self.known,
            # A row without clauses has the first counterexample, and no more of the proof.
            brief=not self.suggest,
        )
        self._spent += found.timing.seconds
        return found


def _without(ask: _Asking, system: System, lemma: Property) -> Ablation | str:
    """The outcome of the proof without a lemma; a text if a limit ended it."""
    lacking = _with_properties(system, [prop for prop in system.properties if prop.name != lemma.name])
    found = ask(lacking, f"without {lemma.name}")
    if found.ended_by is not None:
        return found.ended_by
    if found.verdict == "proved":
        return Ablation(lemma.name, "idle")
    first = next((proof for proof in found.properties if proof.counterexample is not None), None)
    if first is None:
        return Ablation(lemma.name, "open")
    row = _missed(lemma, first)
    if not ask.suggest:
        return attrs.evolve(row, restored=None)
    added: list[Suggestion] = []
    for _ in range(ROUNDS):
        more = list(_suggested(found, len(added)))
        if not more:
            break
        added += more
        found = ask(
            _with_properties(lacking, [*lacking.properties, *(each.lemma for each in added)]),
            f"without {lemma.name}, with {len(added)} suggested",
        )
        if found.ended_by is not None:
            return found.ended_by
        if found.verdict == "proved":
            break
    # Suggested clauses are lemmas of the last proof, so the proof itself tells which ones it did not need.
    idle = set(found.unneeded)
    needed = [each for each in added if each.lemma.name not in idle]
    return attrs.evolve(
        row, clauses=tuple(each.text for each in needed), restored=bool(added) and found.verdict == "proved"
    )


def _missed(lemma: Property, proof: PropertyProof) -> Ablation:
    found = proof.counterexample
    assert found is not None
    return Ablation(lemma.name, "missed", proof.claim.name, found.action, found.sizes)


def _suggested(result: ProofResult, known: int) -> Iterator[Suggestion]:
    """The suggested clauses without repetition, under new names that continue after ``known`` earlier ones."""
    clauses = {each.text: each for proof in result.properties for each in proof.suggestions}
    for number, each in enumerate(clauses.values(), start=known + 1):
        yield attrs.evolve(each, lemma=attrs.evolve(each.lemma, name=f"suggested {number}"))


def _with_properties(system: System, properties: Sequence[Property]) -> System:
    return attrs.evolve(system, properties=tuple(properties))


# On file ----------------------------------------------------------------------------------------------------------


def format_ablations(stored: Mapping[str, Any], found: Sequence[Ablations]) -> str:
    """The text of the file: the stored rows, with the new outcomes in place of the earlier rows of their models."""
    models = {**stored, **{each.target: stored_form(each) for each in found}}
    parts = []
    for name in sorted(models):
        rows = ",\n".join(f"    {json.dumps(row)}" for row in models[name]["lemmas"])
        stamp = json.dumps(models[name]["fingerprint"])
        parts.append(f'  {json.dumps(name)}: {{"fingerprint": {stamp}, "lemmas": [\n{rows}\n  ]}}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def stored_form(found: Ablations) -> dict[str, Any]:
    """The outcomes for one model as JSON values of the file."""
    return {"fingerprint": found.fingerprint, "lemmas": as_json(found.rows)}


def read_ablations(path: Path) -> dict[str, Any]:
    """The contents of the file, by model; empty if there is no file. Raises UsageError for a file of another form."""
    if not path.exists():
        return {}
    try:
        models: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for model in models.values():
            if not isinstance(model["fingerprint"], str) or not all(
                isinstance(row["lemma"], str) for row in model["lemmas"]
            ):
                raise TypeError("a row names no lemma")
    except OSError as error:
        raise unreadable(path, error) from error
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{path}: holds no lemmas ({error}); remove it, and run `holdfast prove --ablate --update` of each model"
        ) from error
    return models
