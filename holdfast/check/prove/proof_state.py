"""A proof in progress: the results so far, and the answer that they add up to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from holdfast.check.budget import Meter
from holdfast.check.prove.asking import Askers
from holdfast.check.prove.counterexample import claim_of
from holdfast.check.prove.prover import SolverLimits, Standing, label
from holdfast.check.prove.rests import ProofGround
from holdfast.check.prove.result import (
    Counterexample,
    Gap,
    ProofResult,
    ProofTiming,
    PropertyProof,
    SanityCheck,
    Suggestion,
    Verdict,
)
from holdfast.check.prove.second_prover import SecondProverResult
from holdfast.check.prove.trial import ProofTrial
from holdfast.check.result import Result
from holdfast.ir.errors import UsageError
from holdfast.ir.ghosts import ghosts_read
from holdfast.ir.implied_lemmas import is_declared
from holdfast.ir.system import LIVENESS, Action, System
from holdfast.lower.smt.logic import Logic
from holdfast.lower.smt.solve import SIZES
from holdfast.lower.smt.theory import Obligation
from holdfast.runs.selection import select

SLOWEST = 10
"""The number of slowest questions that the result names."""

PROVABLE = ("invariant", "lemma", "step")


class ProofState:
    """The results of a proof so far, in the attributes. The engine adds to them stage by stage."""

    lemmas_from: str | None
    seeds: int
    logic_of: type[Logic]
    minimal: bool
    length: int
    known: Mapping[str, Sequence[str]]
    brief: bool = False

    def __init__(
        self,
        system: System,
        names: Sequence[str] | None,
        askers: Askers,
        target: str,
        limits: SolverLimits,
        progress: Callable[[str], None],
    ) -> None:
        self.system = system
        self.askers = askers
        self.target = target
        self.limits = limits
        self.progress = progress
        selection = select(system, names)
        self.deadlock = selection.deadlock
        self.goals = selection.of_kind(*PROVABLE)
        self.repeats: tuple[Action, ...] = selection.idempotent
        if names is not None and not self.goals and not self.repeats:
            said = "none of these names can be proved; name an invariant, a lemma or a @step"
            raise UsageError(f"{', '.join(names)}: {said}")
        self.everything = names is None
        self.assumed = tuple(system.of_kind("invariant", "lemma"))
        self.ghosts = ghosts_read(system, (*self.assumed, *self.goals))
        self.standings: dict[str, list[Standing]] = {}
        """The obligations of each property, by the name of its claim."""
        self.counterexamples: dict[str, Counterexample] = {}
        self.gaps: dict[str, list[Gap]] = {}
        self.suggestions: dict[str, tuple[Suggestion, ...]] = {}
        self.left: list[str] = []
        self.unstable: list[str] = []
        self.sanity: list[SanityCheck] = []
        self.searches: list[Result] = []
        self.trial: ProofTrial | None = None
        self.grounds: tuple[ProofGround, ...] = ()
        self.second: SecondProverResult | None = None
        self.sorts: tuple[tuple[str, str], ...] = ()
        self.slowest: list[tuple[str, float]] = []
        self._begun = SIZES.seconds
        self.notes: list[str] = []
        self.ended_by: str | None = None

    def result(self, meter: Meter) -> ProofResult:
        """The answer."""
        violated = {trace.shown.name for each in self.searches for trace in each.findings}
        proofs = tuple(self._proof(name, group, violated) for name, group in self.standings.items())
        verdicts = {proof.verdict for proof in proofs}
        verdict: Verdict = "proved"
        if violated:
            verdict = "violated"
        elif (self.trial is not None and self.trial.contradicts) or (self.second and self.second.contradicted):
            verdict = "contradicted"
        elif self.ended_by is not None or "unknown" in verdicts:
            verdict = "unknown"
        elif any(checked.problem is not None for checked in self.sanity):
            verdict = "vacuous"
        if not violated and "not_inductive" in verdicts:
            verdict = "not_inductive"
        return ProofResult(
            model=self.system.name,
            target=self.target,
            lemmas_from=self.lemmas_from,
            variants=self.system.chosen,
            removed=self.system.removed,
            fingerprint=self.system.fingerprint,
            verdict=verdict,
            ended_by=self.ended_by,
            sorts=self.sorts,
            properties=proofs,
            unneeded=self._unneeded(),
            unstable=tuple(self.unstable),
            seeds=self.seeds,
            sanity=tuple(self.sanity),
            searched=tuple(self.searches),
            trial=self.trial,
            rests_on=self.grounds,
            second=self.second,
            notes=tuple(self._notes()),
            cores={
                label(each.due): each.answer.core
                for group in self.standings.values()
                for each in group
                if each.met and each.length == 1
            },
            timing=ProofTiming(
                meter.seconds,
                self.askers.seconds + SIZES.seconds - self._begun,
                slowest_questions(self.slowest),
                tuple((name, sum(each.seconds for each in group)) for name, group in self.standings.items()),
            ),
        )

    def _proof(self, name: str, group: Sequence[Standing], violated: set[str]) -> PropertyProof:
        needs = self._needs(name)
        lost = {need for each in group for need in each.lost}
        resting = tuple(prop.name for prop in self.assumed if prop.name in lost and prop.name != name)
        found, gaps = self.counterexamples.get(name), tuple(self.gaps.get(name, ()))
        verdict: Verdict = "proved"
        if name in violated:
            verdict = "violated"
        elif self._is_contradicted(name):
            verdict = "contradicted"
        elif found is not None:
            verdict = "not_inductive"
        elif gaps or self.ended_by is not None:
            verdict = "unknown"
        elif not all(each.met for each in group):
            verdict = "not_inductive"
        elif any(checked.problem is not None and checked.of in (None, name) for checked in self.sanity):
            verdict = "vacuous"
        return PropertyProof(
            claim=claim_of(self.system, group[0].due),
            verdict=verdict,
            queries=sum(each.queries for each in group),
            needs=needs,
            resting_on=resting,
            ghosts=self._ghosts(group[0].due, needs),
            counterexample=found,
            gaps=gaps,
            suggestions=self.suggestions.get(name, ()),
            length=max((each.length for each in group), default=1),
        )

    def _is_contradicted(self, name: str) -> bool:
        violation = None if self.trial is None else self.trial.violation
        return violation is not None and any(trace.shown.name == name for trace in violation.findings)

    def _needs(self, name: str) -> tuple[str, ...]:
        """The invariants that a proof uses besides the property itself, in the order of the source."""
        used = {core for each in self.standings[name] for core in each.answer.core}
        return tuple(prop.name for prop in self.assumed if prop.name in used and prop.name != name)

    def _ghosts(self, due: Obligation, needs: Sequence[str]) -> tuple[str, ...]:
        props = [prop for prop in self.assumed if prop.name in needs] + ([due.prop] if due.prop is not None else [])
        read = ghosts_read(self.system, props)
        return tuple(var.name for var in self.system.variables if var.name in read)

    def _unneeded(self) -> tuple[str, ...]:
        """The declared lemmas that no proof of a property needs, directly or through other lemmas."""
        every = [each for group in self.standings.values() for each in group]
        if not self.everything or self.ended_by is not None or not all(each.met for each in every):
            return ()
        used: set[str] = set()
        waiting = [name for name in self.standings if name not in {prop.name for prop in self.system.of_kind("lemma")}]
        while waiting:
            needs = [need for need in self._needs(waiting.pop()) if need not in used]
            used.update(needs)
            waiting += needs
        declared = filter(is_declared, self.system.of_kind("lemma"))
        return tuple(prop.name for prop in declared if prop.name not in used)

    def _notes(self) -> list[str]:
        liveness = [prop.title for prop in self.system.of_kind(*LIVENESS)]
        return [*self.notes, *([f"A proof says nothing about liveness: {', '.join(liveness)}."] if liveness else [])]


def slowest_questions(asked: Sequence[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    """The slowest questions with their seconds, each only once."""
    most: dict[str, float] = {}
    for name, seconds in asked:
        most[name] = max(most.get(name, 0.0), seconds)
    return tuple(sorted(most.items(), key=lambda each: (-each[1], each[0]))[:SLOWEST])
