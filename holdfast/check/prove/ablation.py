"""A proof without one of its lemmas, for each of them: what is missed, and what is suggested in its place.

A lemma whose loss nobody notices is not needed. Of the others the smallest counterexample to induction is shown, and
the clauses that are suggested to exclude it take the lemma's place: does the whole proof go through with them?
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import attrs

from holdfast.check.budget import Budget
from holdfast.check.prove.engine import NO_BUDGET, prove
from holdfast.check.prove.prover import SolverLimits
from holdfast.check.prove.result import ProofResult, PropertyProof, Suggestion
from holdfast.check.result import HOLDS, OUT_OF_BUDGET, UNSHOWN
from holdfast.ir.errors import UsageError
from holdfast.ir.system import Property, System

ROUNDS = 3
"""How often clauses are suggested: with the first ones in its place the proof may miss others."""

Ends = Literal["missed", "idle", "open"]


@attrs.frozen
class Ablation:
    """What becomes of a proof without one lemma.

    It is *missed* where a counterexample to induction is found: ``name`` is not kept by ``action``, in ``sizes``, of
    which none can be smaller. It is *idle* where everything is proved without it, and the question is *open* where
    Z3 does not answer. ``clauses`` were suggested, and ``restored`` says whether the proof goes through with them.
    """

    lemma: str
    ends: Ends
    name: str = ""
    action: str = ""
    sizes: tuple[tuple[str, int], ...] = ()
    clauses: tuple[str, ...] = ()
    restored: bool = False


@attrs.frozen
class Ablations:
    """The answer for one model; ``ended_by`` says what ended it early."""

    model: str
    target: str
    fingerprint: str
    rows: tuple[Ablation, ...]
    ended_by: str | None = None

    @property
    def restored(self) -> int:
        """Of how many lemmas the suggested clauses take the place."""
        return sum(row.restored for row in self.rows)

    @property
    def exit_code(self) -> int:
        """0 if every lemma is missed; 10 if one is idle; 20 if there is no answer."""
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
) -> Iterator[Ablation | str]:
    """What becomes of the proof without each lemma (or those named), in the order of the source.

    A limit, or Ctrl-C, ends it with the text that says which. Raises UsageError if the proof does not go through as it
    is: then nothing can be missed.
    """
    ask = _Asking(system, target, budget, progress, cores, limits)
    whole = ask(system, "with every lemma")
    if whole.ended_by is not None:
        yield whole.ended_by
        return
    if whole.verdict != "proved":
        raise UsageError(f"{target} is not proved as it is; `holdfast prove {target}` says what is missing")
    for lemma in system.of_kind("lemma"):
        if lemmas is None or lemma.name in lemmas:
            found = _without(ask, system, lemma)
            yield found
            if isinstance(found, str):
                return


@attrs.define
class _Asking:
    """Proves systems, with what is left of one budget. What is violated in the whole model is no question here."""

    system: System
    target: str
    budget: Budget
    progress: Callable[[str], None]
    cores: int | None
    limits: SolverLimits | None
    _spent: float = 0.0

    def __call__(self, system: System, what: str) -> ProofResult:
        left = self.budget
        if left.seconds is not None:
            left = attrs.evolve(left, seconds=max(left.seconds - self._spent, 0.0))
        found = prove(
            system,
            budget=left,
            progress=lambda text: self.progress(f"{self.target}, {what}: {text}"),
            target=self.target,
            cores=self.cores,
            limits=self.limits,
            searched=False,
            sane=False,
            tried=False,
        )
        self._spent += found.timing.seconds
        return found


def _without(ask: _Asking, system: System, lemma: Property) -> Ablation | str:
    """What becomes of the proof without a lemma; a text, if a limit ended it."""
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
    """The clauses that were suggested, each once, under names of their own."""
    clauses = {each.text: each for proof in result.properties for each in proof.suggestions}
    for number, each in enumerate(clauses.values(), start=known + 1):
        yield attrs.evolve(each, lemma=attrs.evolve(each.lemma, name=f"suggested {number}"))


def _with_properties(system: System, properties: Sequence[Property]) -> System:
    return attrs.evolve(system, properties=tuple(properties))


# On file ----------------------------------------------------------------------------------------------------------


def format_ablations(stored: Mapping[str, Any], found: Sequence[Ablations]) -> str:
    """The text of the file: what was stored, with what was found in place of its models' earlier rows."""
    models = {**stored, **{each.target: stored_form(each) for each in found}}
    parts = []
    for name in sorted(models):
        rows = ",\n".join(f"    {json.dumps(row)}" for row in models[name]["lemmas"])
        stamp = json.dumps(models[name]["fingerprint"])
        parts.append(f'  {json.dumps(name)}: {{"fingerprint": {stamp}, "lemmas": [\n{rows}\n  ]}}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def stored_form(found: Ablations) -> dict[str, Any]:
    """The answer for a model as it is stored."""
    rows = [{**attrs.asdict(row), "sizes": dict(row.sizes), "clauses": list(row.clauses)} for row in found.rows]
    return {"fingerprint": found.fingerprint, "lemmas": rows}


def read_ablations(path: Path) -> dict[str, Any]:
    """What the file holds, by model; nothing if it is not there. Raises UsageError for any other file."""
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
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{path}: holds no lemmas ({error}); remove it, and run `holdfast prove --ablate --update` of each model"
        ) from error
    return models
