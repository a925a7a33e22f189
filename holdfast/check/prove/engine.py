"""Proves that properties hold for any number of nodes, streams, epochs and offsets.

A short search comes first: a defect that shows in a few thousand states needs no proof. Then Z3 is asked about every
obligation. If one is not met, a search of the scopes decides what that means. If a run violates a property or a lemma,
this is a defect. Otherwise a lemma is missing, and the counterexample to induction shows which state it must exclude.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import attrs

from holdfast.check.budget import INTERRUPTED, Budget, Meter, interruptible
from holdfast.check.prove.asking import Askers, LimitExceeded
from holdfast.check.prove.counterexample import claim_of, counterexample
from holdfast.check.prove.proof_state import ProofState
from holdfast.check.prove.prover import Prover, SolverLimits, Standing, label
from holdfast.check.prove.rests import grounds
from holdfast.check.prove.rests import tried as tried_out
from holdfast.check.prove.result import (
    Gap,
    ProofResult,
)
from holdfast.check.prove.sanity import sanity
from holdfast.check.prove.second_prover import ask_second
from holdfast.check.prove.suggest import Suggester
from holdfast.check.prove.trial import trial
from holdfast.check.result import Result
from holdfast.check.search.engine import Engine, search
from holdfast.ir.system import Scope, System
from holdfast.lower.smt.instance import NotFound
from holdfast.lower.smt.logic import Logic, sorts_of
from holdfast.lower.smt.solve import SolverAnswer
from holdfast.lower.smt.theory import Obligation, obligations

SCOPES = ("tiny", "default")
"""The scopes that are searched if a proof does not go through."""

SHORT = 3_000
"""The number of states of the first scope that are searched before the proof."""

SUGGESTED = 3
"""The number of counterexamples with suggestions. The search takes a while, and one lemma often excludes several."""

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
    known: Mapping[str, Sequence[str]] | None = None,
    brief: bool = False,
) -> ProofResult:
    """Prove the properties for any sizes, or say what stands in the way. The first Ctrl-C returns a partial result.

    ``properties``: names or rule ids; None: every invariant, step property, lemma and idempotence. ``target``: the name
    of the model on the command line; ``lemmas_from``: the file that adds lemmas to it. ``cores``: the number of
    processes that ask Z3 (None: one for each core; 0: only this process). ``seeds``: the number of seeds with which
    each proof is repeated. ``length``: the greatest length of a k-induction, which assumes the invariants in that
    number of consecutive states. ``explain``: minimize the assumptions of each proof (slow). ``suggest``: look for
    clauses that exclude a counterexample. ``searched``: search the scopes; else no verdict is ``violated``. ``sane``:
    check that the proof is not vacuous. ``tried``: check it with a search of other sizes. ``second``: ask cvc5 as well.
    ``known``: ``cores`` of the proof of a system that differs in its properties alone; an obligation is not asked again
    if everything that its proof needed is still assumed. ``brief``: stop at the first counterexample to induction.

    Raises UsageError if the names select nothing provable, and ModelError if a scope contradicts the model.
    """
    meter = Meter(budget)
    with interruptible(meter):
        processes = (os.cpu_count() or 1) if cores is None else cores
        with Askers(processes, meter) as askers:
            run = _Proof(
                system, properties, askers, target or system.file, limits or SolverLimits(), progress or _quiet
            )
            run.lemmas_from, run.seeds, run.logic_of, run.minimal = lemmas_from, seeds, logic, explain
            run.length, run.known, run.brief = length, known or {}, brief
            try:
                run.go(suggest=suggest, searched=searched, sane=sane, tried=tried, second=second)
            except LimitExceeded:
                run.ended_by = meter.spent
            except KeyboardInterrupt:
                # Ctrl-C during a question that this process itself asks Z3: see ``holdfast.lower.smt.solve.checked``.
                run.ended_by = INTERRUPTED
            return run.result(meter)


def unasked(system: System, ended_by: str, target: str, properties: Sequence[str] | None = None) -> ProofResult:
    """The result of a proof that ``ended_by`` ended before the first question."""
    meter = Meter(NO_BUDGET)
    run = _Proof(system, properties, Askers(0, meter), target, SolverLimits(), _quiet)
    run.lemmas_from, run.seeds, run.ended_by = None, 1, ended_by
    return run.result(meter)


def _quiet(_: str) -> None:
    pass


class _Proof(ProofState):
    """Runs the stages of one proof."""

    def go(self, *, suggest: bool, searched: bool, sane: bool, tried: bool, second: bool) -> None:
        """Run all stages of the proof; stop if a search finds a violation."""
        if searched and self._search_violates(short=True):
            return
        self.progress("writing formulas")
        logic = self.logic_of(self.system, self.ghosts, self.assumed, seconds=self._patience)
        prover = Prover(logic, self.askers, self.limits, self._report, minimal=self.minimal)
        self.sorts = _sorts(logic)
        self.slowest = prover.slowest
        self._prove_all(logic, prover)
        if self.brief and self.counterexamples:
            return
        # This and ``sanity`` come after all obligations, because these make the definitions of extrema.
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
            look = partial(self._look, names=self._proved(), violations_only=True)
            self.trial = trial(logic, look, self.progress)
            self.grounds = (*self.grounds, tried_out(self.trial))

    def _patience(self) -> float:
        return self.askers.allowed(self.limits.long)

    # The search -----------------------------------------------------------------------------------------------

    def _search_violates(self, *, short: bool) -> bool:
        """Search the scopes (``short``: a few states of the first scope); returns whether something is violated."""
        scopes = [self.system.scopes[name] for name in SCOPES if name in self.system.scopes]
        for scope in scopes[:1] if short else scopes:
            self.progress(f"searching scope {scope.name}")
            found = self._look(scope, SHORT if short else None, self._searched())
            if found.findings:
                self.searches = [found]
                return True
            if not short:
                self.searches.append(found)
        return False

    def _look(
        self, scope: Scope, states: int | None, names: list[str] | None, *, violations_only: bool = False
    ) -> Result:
        """Search a scope for violations of the named properties; with ``states``, stop after that number of states.

        Raises LimitExceeded if another limit ends the search before it finds anything.
        """
        engine: Engine = "auto" if states is None else "interpreter"
        left = self._left(states)
        found = search(
            self.system,
            scope,
            properties=names,
            budget=left,
            target=self.target,
            engine=engine,
            violations_only=violations_only,
        )
        ended = found.ended_by is not None and not (states is not None and found.ended_by.startswith("states"))
        if ended and not found.findings:
            self.askers.meter.spent = found.ended_by
            raise LimitExceeded
        return found

    def _searched(self) -> list[str] | None:
        """The names for the search: every property that is proved or assumed. No deadlock, which no proof is about."""
        if self.everything and not self.deadlock:
            return None
        props = [prop.name for prop in self.system.properties if prop in self.goals or prop in self.assumed]
        return [*props, *dict.fromkeys(str(action.idempotent) for action in self.repeats)]

    def _proved(self) -> list[str] | None:
        """The names for the trial: every property that is proved. What no proof needs may be violated elsewhere."""
        names = self._searched()
        if names is None or self.everything:
            return names
        unneeded = {prop.name for prop in self.assumed if prop.name not in self.standings}
        return [name for name in names if name not in unneeded]

    def _left(self, states: int | None) -> Budget:
        """The rest of the budget, for a search of at most ``states`` states."""
        budget = self.askers.meter.budget
        if budget.seconds is None:
            return attrs.evolve(budget, states=states)
        return attrs.evolve(budget, states=states, seconds=self.askers.allowed(budget.seconds))

    # Proving --------------------------------------------------------------------------------------------------

    def _prove_all(self, logic: Logic, prover: Prover) -> None:
        """Ask about the goals, then about the invariants that their proofs need, until no new one is needed."""
        names = [prop.name for prop in self.assumed]
        self._prove_some(logic, prover, obligations(self.system.actions, self.goals, self.repeats), names)
        if self.brief and self.counterexamples:
            return
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
        # An invariant that no proof needs has not been asked about: it is not proved, so it is not assumed any more.
        self.left = [name for name in names if name in self.standings]

    def _prove_some(self, logic: Logic, prover: Prover, dues: Sequence[Obligation], names: Sequence[str]) -> None:
        """Ask about some obligations, and look into each one that is not met."""
        standings = [Standing(due) for due in dues]
        for each in standings:
            self.standings.setdefault(claim_of(self.system, each.due).name, []).append(each)
        for each in standings:
            core = self.known.get(label(each.due))
            # The core alone contradicts the obligation's opposite, whatever else is assumed.
            if core is not None and set(core) <= set(names):
                each.answer = SolverAnswer("unsat", tuple(core))
        prover.begin([each for each in standings if not each.met], names)
        for each in standings:
            if not each.met:
                self._look_into(logic, prover, each, names)
                if self.brief and self.counterexamples:
                    return

    def _look_into(self, logic: Logic, prover: Prover, standing: Standing, names: Sequence[str]) -> None:
        """Find why an obligation is not met: a counterexample to induction, or no answer even in more time."""
        name = claim_of(self.system, standing.due).name
        prover.lengthen(standing, names, self.length)
        if standing.met or name in self.counterexamples:
            return
        self.progress(f"looking for the smallest counterexample to {label(standing.due)}")
        found = logic.violation(standing.due, names, self.length)
        if isinstance(found, NotFound) and self.length > 1:
            # The induction step holds with this length, but the base case fails. Show the violation with one state.
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
        """Ask again, with every other seed, about all obligations that are met."""
        met = [each.due for group in self.standings.values() for each in group if each.met and each.length == 1]
        for seed in range(1, self.seeds):
            answers = prover.ask(met, self.left, self.limits.long, seed)
            unmet = [due for due, answer in zip(met, answers, strict=True) if answer.verdict != "unsat"]
            failed = {claim_of(self.system, due).name for due in unmet}
            self.unstable += [name for name in self.standings if name in failed and name not in self.unstable]

    def _suggest(self, logic: Logic) -> None:
        """Look for clauses that exclude the first counterexamples to induction; an initial state has no such clause."""
        found = [
            (name, each.due)
            for name, group in self.standings.items()
            for each in group
            if name in self.counterexamples and each.due.where == self.counterexamples[name].action
        ]
        due = {name: each for name, each in found if each.kind != "start"}
        if not due:
            return
        if not any(name in self.system.scopes for name in SCOPES):
            # A clause is suggested because the states of a scope satisfy it.
            self.notes.append("No clause was looked for: the model has no scope tiny or default to try one in.")
            return
        self.progress("looking for clauses")
        suggester = Suggester(self.system, logic, self.assumed, self.askers)
        for name, each in list(due.items())[:SUGGESTED]:
            self.suggestions[name] = suggester.suggest(each, self.counterexamples[name])

    def _report(self, stage: str, done: int, whole: int) -> None:
        self.progress(f"{stage}: {done} of {whole}")


def _sorts(logic: Logic) -> tuple[tuple[str, str], ...]:
    sorts = sorts_of(logic)
    return (
        *((name, "any number") for name in sorts.uninterpreted),
        *((name, "any order with a least element") for name in sorts.ordered),
        *((name, "integers from 0 to any greatest value") for name in sorts.integers),
    )
