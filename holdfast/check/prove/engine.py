"""Does a property hold for any number of nodes, streams, epochs and offsets?

A short search comes first: a defect that shows in a few thousand states needs no proof. Then everything is asked of
Z3. Where an obligation is not met, the search of the scopes decides what that means: a property, or lemma, that a run
violates is a defect; otherwise a lemma is missing, which the counterexample to induction shows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import attrs

from holdfast.check.budget import INTERRUPTED, Budget, Meter, interruptible
from holdfast.check.prove.asking import Askers, LimitExceeded
from holdfast.check.prove.counterexample import claim_of, counterexample
from holdfast.check.prove.prover import Prover, SolverLimits, Standing, label
from holdfast.check.prove.rests import ProofGround, grounds
from holdfast.check.prove.rests import tried as tried_out
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
from holdfast.check.prove.sanity import sanity
from holdfast.check.prove.second import SecondProverResult, ask_second
from holdfast.check.prove.suggest import Suggester
from holdfast.check.prove.trial import ProofTrial, trial
from holdfast.check.result import Result
from holdfast.check.search.engine import Engine, search
from holdfast.ir.errors import UsageError
from holdfast.ir.ghosts import ghosts_read
from holdfast.ir.system import Action, Scope, System
from holdfast.lower.smt.instance import NotFound
from holdfast.lower.smt.logic import Logic, sorts_of
from holdfast.lower.smt.theory import Obligation, obligations
from holdfast.runs.selection import select

SCOPES = ("tiny", "default")
"""The scopes that are searched where a proof does not go through."""

SHORT = 3_000
"""How many states of the first scope are searched before anything is proved."""

SLOWEST = 10
"""How many of the slowest questions are told."""

SUGGESTED = 3
"""For how many counterexamples clauses are looked for. They take a while, and one lemma often mends several."""

PROVABLE = ("invariant", "lemma", "step")

NO_BUDGET = Budget()


def prove(
    system: System,
    *,
    properties: Sequence[str] | None = None,
    budget: Budget = NO_BUDGET,
    progress: Callable[[str], None] | None = None,
    target: str | None = None,
    lemmas_from: str | None = None,
    cores: int | None = None,
    limits: SolverLimits | None = None,
    seeds: int = 1,
    length: int = 1,
    explain: bool = False,
    suggest: bool = True,
    searched: bool = True,
    sane: bool = True,
    tried: bool = True,
    second: bool = False,
    logic: type[Logic] = Logic,
) -> ProofResult:
    """Prove the properties for any sizes, or say what stands in the way.

    ``properties`` are names or rule ids; None is every invariant, step property, lemma and idempotence. ``target`` is
    what the command line calls the model, and ``lemmas_from`` the file that adds lemmas to it. ``cores`` is how many
    processes ask Z3 (None: as many as there are cores; 0: this process alone). ``seeds`` repeats each proof with so
    many seeds. ``length`` is how many states in a row may be assumed to satisfy everything, for what one is not enough:
    k-induction. ``explain`` takes the time to find of each proof what it cannot do without. ``suggest`` looks for
    clauses that exclude a counterexample. ``searched`` searches the scopes beside; without, nothing is found to be
    violated. ``sane`` looks whether the proof is of something, and ``tried`` whether a search of other sizes
    contradicts it. ``second`` asks cvc5 for what Z3 has shown. The first Ctrl-C ends it with what there is.

    Raises UsageError for names that ask for nothing provable, and ModelError where a scope contradicts the model.
    """
    meter = Meter(budget)
    with interruptible(meter):
        processes = (os.cpu_count() or 1) if cores is None else cores
        with Askers(processes, meter) as askers:
            run = _Proof(
                system, properties, askers, target or system.file, limits or SolverLimits(), progress or _quiet
            )
            run.lemmas_from, run.seeds, run.logic_of, run.minimal = lemmas_from, seeds, logic, explain
            run.length = length
            try:
                run.go(suggest=suggest, searched=searched, sane=sane, tried=tried, second=second)
            except LimitExceeded:
                run.ended_by = meter.spent
            except KeyboardInterrupt:
                # In the midst of a question that this process asks Z3 itself.
                run.ended_by = INTERRUPTED
            return run.result(meter)


def _quiet(_: str) -> None:
    pass


class _Proof:
    """One proof, as far as it has come."""

    lemmas_from: str | None
    seeds: int
    logic_of: type[Logic]
    minimal: bool
    length: int

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
            raise UsageError(f"{', '.join(names)}: nothing that can be proved; name an invariant, a lemma or a @step")
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
        self.notes: list[str] = []
        self.ended_by: str | None = None

    def go(self, *, suggest: bool, searched: bool, sane: bool, tried: bool, second: bool) -> None:
        """All of it, up to a violation."""
        if searched and self._search_violates(short=True):
            return
        self.progress("writing formulas")
        logic = self.logic_of(self.system, self.ghosts, self.assumed, seconds=self._patience)
        prover = Prover(logic, self.askers, self.limits, self._report, minimal=self.minimal)
        self.sorts = _sorts(logic)
        self.slowest = prover.slowest
        self._prove_all(logic, prover)
        self.grounds = grounds(logic)
        if sane:
            self.progress("looking whether the proof is of something")
            self.sanity = sanity(logic, self.askers, self.assumed, self.goals)
        unmet = [each for group in self.standings.values() for each in group if not each.met]
        if unmet and searched and self._search_violates(short=False):
            return
        if suggest:
            self._suggest(logic)
        self._repeat(prover)
        if second:
            met = [each for group in self.standings.values() for each in group if each.met]
            self.second = ask_second(logic, met, self.left, self.askers.allowed, self.progress)
        if tried and not unmet:
            self.trial = trial(logic, self._look, self.progress)
            self.grounds = (*self.grounds, tried_out(self.trial))

    def _patience(self) -> float:
        return self.askers.allowed(self.limits.long)

    # The search -----------------------------------------------------------------------------------------------

    def _search_violates(self, *, short: bool) -> bool:
        """Search the scopes, or a little of the first; whether something is violated."""
        scopes = [self.system.scopes[name] for name in SCOPES if name in self.system.scopes]
        for scope in scopes[:1] if short else scopes:
            self.progress(f"searching scope {scope.name}")
            found = self._look(scope, SHORT if short else None)
            if found.findings:
                self.searches = [found]
                return True
            if not short:
                self.searches.append(found)
        return False

    def _look(self, scope: Scope, states: int | None) -> Result:
        """Search a scope; with `states`, stop after that number of states.

        Raises LimitExceeded if another limit ends the search before it finds anything.
        """
        engine: Engine = "auto" if states is None else "interpreter"
        left, names = self._left(states), self._searched()
        found = search(self.system, scope, properties=names, budget=left, target=self.target, engine=engine)
        ended = found.ended_by is not None and not (states is not None and found.ended_by.startswith("states"))
        if ended and not found.findings:
            self.askers.meter.spent = found.ended_by
            raise LimitExceeded
        return found

    def _searched(self) -> list[str] | None:
        """What the search looks for: all that is to be proved or assumed, and no deadlock, which is no such thing."""
        if self.everything and not self.deadlock:
            return None
        props = [prop.name for prop in self.system.properties if prop in self.goals or prop in self.assumed]
        return [*props, *dict.fromkeys(str(action.idempotent) for action in self.repeats)]

    def _left(self, states: int | None) -> Budget:
        """What is left of the budget, for a search of so many states at most."""
        budget = self.askers.meter.budget
        if budget.seconds is None:
            return attrs.evolve(budget, states=states)
        return attrs.evolve(budget, states=states, seconds=self.askers.allowed(budget.seconds))

    # Proving --------------------------------------------------------------------------------------------------

    def _prove_all(self, logic: Logic, prover: Prover) -> None:
        """Ask for the goals, and then for whatever their proofs need, until there is nothing new."""
        names = [prop.name for prop in self.assumed]
        self._prove_some(logic, prover, obligations(self.system.actions, self.goals, self.repeats), names)
        while True:
            every = [each for group in self.standings.values() for each in group]
            needed = {name for each in every for name in each.answer.core}
            new = [prop for prop in self.assumed if prop.name in needed and prop.name not in self.standings]
            if new:
                self._prove_some(logic, prover, obligations(self.system.actions, new, ()), names)
                continue
            left = prover.drop(every, names)
            if left == names:
                break
            names = left
        # What nobody asked for is assumed no longer: it has not been proved.
        self.left = [name for name in names if name in self.standings]

    def _prove_some(self, logic: Logic, prover: Prover, dues: Sequence[Obligation], names: Sequence[str]) -> None:
        """Ask for some obligations, and why they are not met."""
        standings = [Standing(due) for due in dues]
        for each in standings:
            self.standings.setdefault(claim_of(self.system, each.due).name, []).append(each)
        prover.begin(standings, names)
        for each in standings:
            if not each.met:
                self._look_into(logic, prover, each, names)

    def _look_into(self, logic: Logic, prover: Prover, standing: Standing, names: Sequence[str]) -> None:
        """Why an obligation is not met: a counterexample to induction, or no answer even in more time."""
        name = claim_of(self.system, standing.due).name
        prover.lengthen(standing, names, self.length)
        if standing.met or name in self.counterexamples:
            return
        self.progress(f"looking for the smallest counterexample to {label(standing.due)}")
        found = logic.violation(standing.due, names, self.length)
        if isinstance(found, NotFound) and self.length > 1:
            # So many states in a row exclude it, and yet a start leads there.
            found = logic.violation(standing.due, names)
        if not isinstance(found, NotFound):
            self.counterexamples[name] = counterexample(self.system, self.target, self.ghosts, standing.due, found)
            return
        prover.insist(standing, names)
        if not standing.met:
            reason = standing.answer.reason or f"there is a model without a size, and none up to size {found.largest}"
            question = prover.question(standing.due, names)
            self.gaps.setdefault(name, []).append(Gap(standing.due.where, reason, question))

    def _repeat(self, prover: Prover) -> None:
        """Ask everything that is proved once more for every other seed."""
        met = [each.due for group in self.standings.values() for each in group if each.met and each.length == 1]
        for seed in range(1, self.seeds):
            answers = prover.ask(met, self.left, self.limits.long, seed)
            unmet = [due for due, answer in zip(met, answers, strict=True) if answer.verdict != "unsat"]
            failed = {claim_of(self.system, due).name for due in unmet}
            self.unstable += [name for name in self.standings if name in failed and name not in self.unstable]

    def _suggest(self, logic: Logic) -> None:
        """Look for clauses that exclude the counterexamples."""
        found = [
            (name, each.due)
            for name, group in self.standings.items()
            for each in group
            if name in self.counterexamples and each.due.where == self.counterexamples[name].action
        ]
        due = {name: each for name, each in found if each.kind != "start"}
        if not due:
            return
        self.progress("looking for clauses")
        suggester = Suggester(self.system, logic, self.assumed, self.askers)
        for name, each in list(due.items())[:SUGGESTED]:
            self.suggestions[name] = suggester.suggest(each, self.counterexamples[name])

    def _report(self, stage: str, done: int, whole: int) -> None:
        self.progress(f"{stage}: {done} of {whole}")

    # Answering ------------------------------------------------------------------------------------------------

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
            timing=ProofTiming(
                meter.seconds,
                self.askers.seconds,
                _slowest(self.slowest),
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
        """What a proof uses, besides the property itself, in the order of the source."""
        used = {core for each in self.standings[name] for core in each.answer.core}
        return tuple(prop.name for prop in self.assumed if prop.name in used and prop.name != name)

    def _ghosts(self, due: Obligation, needs: Sequence[str]) -> tuple[str, ...]:
        props = [prop for prop in self.assumed if prop.name in needs] + ([due.prop] if due.prop is not None else [])
        read = ghosts_read(self.system, props)
        return tuple(var.name for var in self.system.variables if var.name in read)

    def _unneeded(self) -> tuple[str, ...]:
        """The lemmas that no proof of another property needs, directly or by way of others."""
        every = [each for group in self.standings.values() for each in group]
        if not self.everything or self.ended_by is not None or not all(each.met for each in every):
            return ()
        used: set[str] = set()
        waiting = [name for name in self.standings if name not in {prop.name for prop in self.system.of_kind("lemma")}]
        while waiting:
            needs = [need for need in self._needs(waiting.pop()) if need not in used]
            used.update(needs)
            waiting += needs
        return tuple(prop.name for prop in self.system.of_kind("lemma") if prop.name not in used)

    def _notes(self) -> list[str]:
        liveness = [prop.title for prop in self.system.of_kind("leads_to")]
        return [*self.notes, *([f"A proof says nothing about liveness: {', '.join(liveness)}."] if liveness else [])]


def _slowest(asked: Sequence[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    """The questions that took longest, each once."""
    most: dict[str, float] = {}
    for name, seconds in asked:
        most[name] = max(most.get(name, 0.0), seconds)
    return tuple(sorted(most.items(), key=lambda each: (-each[1], each[0]))[:SLOWEST])


def _sorts(logic: Logic) -> tuple[tuple[str, str], ...]:
    sorts = sorts_of(logic)
    return (
        *((name, "any number") for name in sorts.uninterpreted),
        *((name, "any order with a least element") for name in sorts.ordered),
        *((name, "integers from 0 to any greatest value") for name in sorts.integers),
    )
