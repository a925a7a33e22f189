"""The prover's opinion of mutants: the proof of a killed mutant must fail, that of an equivalent or redundant one not.

For actions that a mutant does not change, the proof of the whole model stays valid, as long as the invariants and
lemmas that it assumes are proved for the mutant too. Changed obligations are asked in a small size first, which shows
most failures at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import attrs

from holdfast.check.budget import INTERRUPTED, Budget, interruptible
from holdfast.check.mutate.limits import Interruption, MutationLimits
from holdfast.check.mutate.result import MutantRow, ProofRow
from holdfast.check.prove.asking import Askers, LimitExceeded
from holdfast.check.prove.counterexample import claim_of
from holdfast.check.prove.prover import Prover, SolverLimits, Standing, label
from holdfast.check.worker_pool import WorkerPool
from holdfast.ir.errors import UsageError
from holdfast.ir.ghosts import ghosts_read
from holdfast.ir.system import System
from holdfast.lower.smt.logic import Logic
from holdfast.lower.smt.theory import Obligation, obligations
from holdfast.runs.selection import select

PROVED = ("equivalent", "redundant")
"""The ways to end for which the proof of the mutant must go through."""

LONG = 2_000
"""The number of obligations of all mutants together beyond which several processes prove them."""


@attrs.frozen
class ProvedSystem:
    """A system that is proved with its lemmas, the name of its model, and the obligations with their answers."""

    system: System
    target: str
    seconds: SolverLimits
    standings: tuple[Standing, ...]


class Proofs:
    """The proof of a model with its lemmas, and the proofs of its mutants, which reuse it."""

    def __init__(
        self, system: System, target: str, limits: MutationLimits, seconds: SolverLimits | None = None
    ) -> None:
        self.system = system
        self.target = target
        self.limits = limits
        self.seconds = seconds or SolverLimits()
        self.assumed = [prop.name for prop in system.of_kind("invariant", "lemma")]
        self.lemmas = {prop.name for prop in system.of_kind("lemma")}
        self._whole: list[Standing] = []

    def rows(self, asked: Sequence[tuple[MutantRow, System]]) -> Iterator[ProofRow]:
        """Yield the prover's opinion of each mutant, in order. Each core asks about one mutant at a time.

        Raises as ``row`` does.
        """
        self.prove_whole()
        if self.limits.cores == 1 or len(asked) * len(self._whole) < LONG:
            for number, (row, mutant) in enumerate(asked, start=1):
                self.limits.now = f"proof {number} of {len(asked)}: {row.facts.mutant.name}"
                yield self.row(row, mutant)
            return

        def waiting(done: int) -> None:
            self.limits.now = f"proof {done} of {len(asked)}"
            self.limits.meter().stage(self.limits.now)

        # A model's class need not be importable in another process, and the proofs do without it.
        tasks = [(row, attrs.evolve(mutant, python=object)) for row, mutant in asked]
        with self._processes() as processes:
            for found in processes.in_order(_try_one, tasks, waiting):
                if isinstance(found, str):
                    # A process knows only the rest of the time that was left when it began.
                    raise Interruption(INTERRUPTED if found == INTERRUPTED else self.limits.budget.out_of_time)
                yield found

    def _processes(self) -> WorkerPool:
        count, budget = self.limits.cores, self.limits.meter().budget
        if budget.memory_bytes is not None:
            budget = attrs.evolve(budget, memory_bytes=budget.memory_bytes // count)
        whole = ProvedSystem(attrs.evolve(self.system, python=object), self.target, self.seconds, tuple(self._whole))
        return WorkerPool(count, _prepare, (whole, budget))

    @classmethod
    def of(cls, whole: ProvedSystem, limits: MutationLimits) -> Proofs:
        """The proofs of the mutants of a system that another process has proved."""
        found = cls(whole.system, whole.target, limits, whole.seconds)
        found._whole = list(whole.standings)
        return found

    def row(self, row: MutantRow, mutant: System) -> ProofRow:
        """The prover's opinion of a mutant, and whether it contradicts the search.

        Raises Interruption, and UsageError as ``prove_whole`` does.
        """
        self.prove_whole()
        killer = row.facts.kill.property if row.facts.kill is not None else None
        with self._asking() as askers:
            standings = self._standings(mutant, askers, killer)
        return judged(row, mutant, standings, self.lemmas)

    def prove_whole(self) -> None:
        """Prove the whole model, once. Raises Interruption, and UsageError if the proof does not go through."""
        if self._whole:
            return
        self.limits.now = "the proof of the whole model"
        found = [Standing(due) for due in _obligations(self.system)]
        with self._asking(0 if self.limits.cores == 1 else self.limits.cores) as askers:
            prover = self._prover(self.system, askers)
            # Nearly all of these are met, which a question tells soonest.
            prover.begin(found, self.assumed)
            for standing in found:
                if not standing.met:
                    prover.decide(standing, self.assumed)
                if not standing.met:
                    raise UsageError(
                        f"{self.target} is not proved as it is ({label(standing.due)}), so that its mutants say "
                        f"nothing; `holdfast prove {self.target}` says what is missing"
                    )
        self._whole = found

    @contextmanager
    def _asking(self, processes: int = 0) -> Iterator[Askers]:
        """Askers with the rest of the time. Raises Interruption when the time is up, or after Ctrl-C."""
        meter = self.limits.meter()
        with interruptible(meter), Askers(processes, meter) as askers:
            try:
                yield askers
            except LimitExceeded:
                self.limits.check(meter.spent)
                raise Interruption(str(meter.spent)) from None
            except KeyboardInterrupt:
                # Ctrl-C came while Z3 was answering.
                raise Interruption(INTERRUPTED) from None

    def _standings(self, mutant: System, askers: Askers, killer: str | None) -> list[Standing]:
        """The standing of each obligation of a mutant.

        ``killer`` is the property that kills the mutant. As soon as it turns out to be unproved, nothing else is asked.
        """
        # A standing of the whole model holds for the mutant only if the properties are the same.
        prover, names = self._prover(mutant, askers), self.assumed
        known = (
            {}
            if mutant.properties != self.system.properties
            else {_key(mutant, each.due): each for each in self._whole}
        )
        found = [Standing(due) for due in _obligations(mutant)]
        # The obligations of the killer come first: if one fails, the others need not be asked.
        found.sort(key=lambda each: claim_of(mutant, each.due).name != killer)
        for standing in found:
            earlier = known.get(_key(mutant, standing.due))
            if earlier is not None and _same_action(earlier.due, standing.due, self.system, mutant):
                standing.answer = earlier.answer
                continue
            prover.decide(standing, names)
            if not standing.met and claim_of(mutant, standing.due).name == killer:
                return [standing]
        # A proof may rest on an invariant that failed. Drop what failed from the assumptions and ask again what rested
        # on it, until nothing more fails.
        while (left := prover.drop(found, names)) != names:
            names = left
            if any(not each.met for each in found if claim_of(mutant, each.due).name == killer):
                break
        return found

    def _prover(self, system: System, askers: Askers) -> Prover:
        props = tuple(system.of_kind("invariant", "lemma"))
        ghosts = ghosts_read(system, (*props, *system.of_kind("step")))
        logic = Logic(system, ghosts, props, seconds=lambda: askers.allowed(self.seconds.long))
        return Prover(logic, askers, self.seconds, lambda stage, done, whole: None)


_prepared: list[Proofs] = []
"""In a prepared process: its proofs."""


def _prepare(payload: tuple[ProvedSystem, Budget]) -> None:
    whole, budget = payload
    _prepared.append(Proofs.of(whole, MutationLimits(budget, cores=1)))


def _try_one(task: tuple[MutantRow, System]) -> ProofRow | str:
    """The prover's opinion of a mutant, in a prepared process; a text if a limit ended it."""
    [proofs] = _prepared
    try:
        return proofs.row(*task)
    except Interruption as stopped:
        return str(stopped)


def judged(row: MutantRow, system: System, standings: Sequence[Standing], lemmas: set[str]) -> ProofRow:
    """Compare the prover's opinion of a mutant with the search. ``system`` is the mutant, ``lemmas`` are names.

    The row has a ``fault`` if they disagree.
    """
    unmet = [each for each in standings if not each.met]
    kill = row.facts.kill
    claims = {claim.name: claim for claim in (claim_of(system, each.due) for each in unmet)}
    killer = kill.property if kill is not None else None
    unproved = tuple(claim.title for name, claim in claims.items() if name not in lemmas or name == killer)
    first = tuple(label(each.due) for each in unmet if not each.lost)
    found = ProofRow(row.facts.mutant.name, unproved, first[:1])
    if (
        kill is not None
        and kill.steps is not None
        and killer in {claim_of(system, each.due).name for each in standings}
    ):
        if killer in claims:
            return found
        return attrs.evolve(found, fault=f"{kill} kills it, and yet it is proved: search and proof disagree")
    if row.way in PROVED and unproved:
        if all(each.answer.verdict == "unknown" for each in unmet if not each.lost):
            return attrs.evolve(found, open=f"{', '.join(first)}: {unmet[0].answer.reason}")
        fault = (
            f"{row.way}, and yet {', '.join(unproved)} is not proved ({first[0]} fails): a lemma is missing, or the "
            "scopes are too small to show a violation"
        )
        return attrs.evolve(found, fault=fault)
    return found


def _obligations(system: System) -> list[Obligation]:
    repeats = select(system, None).idempotent
    return obligations(system.actions, list(system.of_kind("invariant", "lemma", "step")), repeats)


def _key(system: System, due: Obligation) -> tuple[str, str]:
    return claim_of(system, due).name, due.where


def _same_action(one: Obligation, other: Obligation, whole: System, mutant: System) -> bool:
    """Whether two obligations are about the same action body, or about the same initial states."""
    if one.action is None or other.action is None:
        return one.action is other.action and whole.init == mutant.init
    return one.action == other.action
