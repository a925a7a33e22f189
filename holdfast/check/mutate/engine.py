"""Mutation: do the properties of a model notice faults?

Mutation removes every labelled rule, one at a time: everywhere and, if the rule serves several actions, at each of its
sites. Named variants are mutants too. Each mutant goes through these trials, until one decides it:

1. A search in every scope. A violation kills the mutant.
2. A comparison of its state graph with the whole model's. If they are equal, the mutant is equivalent.
3. ``live``: does it violate a liveness property?
4. Searches without a second rule as well. If only the removal of both violates something, the rule is redundant.

So each mutant ends in one of five ways (design: mutants). Unless it is killed, the model has to declare which.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack

import attrs

from holdfast.check.budget import INTERRUPTED
from holdfast.check.mutate.bench import Bench
from holdfast.check.mutate.judge import judged
from holdfast.check.mutate.limits import Interruption, MutationLimits
from holdfast.check.mutate.related_variables import touched
from holdfast.check.mutate.result import Mutant, MutantFacts, MutationReport, Pair
from holdfast.check.mutate.side_by_side import TrialPayload, TrialTask, prepare, try_one
from holdfast.check.mutate.starving import starved
from holdfast.check.result import Result
from holdfast.check.worker_pool import WorkerPool
from holdfast.ir.compile import compile_model
from holdfast.ir.errors import UsageError
from holdfast.ir.removal import remove_rules
from holdfast.ir.scopes import USUAL, live_scopes
from holdfast.ir.similar_names import did_you_mean
from holdfast.ir.system import Scope, System
from holdfast.trace.trace import Trace

LONG = 1_000_000
"""The number of states of all mutants together beyond which several processes try them."""

PAIRED = 8
"""The limit on the states of an undeclared pair, as a multiple of the whole model's."""


@attrs.frozen
class MutationOptions:
    """The mutants to try.

    ``pairs``: try pairs of rules. ``variants``: try variants. ``only``: try only these mutants; a label stands for its
    sites too.
    """

    pairs: bool = True
    variants: bool = True
    only: tuple[str, ...] = ()


def fingerprint(system: System, scopes: Sequence[Scope]) -> str:
    """A hash, sixteen hex digits, of everything that the facts of a model's mutants depend on."""
    scopes = [*scopes, *(scope for scope in live_scopes(system) if scope not in scopes)]
    variants = [(name, _variant(system, name).fingerprint) for name in system.variants]
    sizes = [(s.name, sorted(s.sizes.items()), sorted(s.budgets.items()), sorted(s.given.items())) for s in scopes]
    return hashlib.blake2b(repr((system.fingerprint, variants, sizes)).encode(), digest_size=8).hexdigest()


def mutants(system: System, *, variants: bool = True) -> list[Mutant]:
    """Every mutant of a model, in the order of the source: each rule, then its sites; then the variants."""
    found: list[Mutant] = []
    for rule in (rule for rule in system.rules if rule.has_label):
        found.append(Mutant(rule.label, "rule", rule.actions))
        if len(rule.actions) > 1:
            found += [Mutant(f"{rule.label}@{action}", "site", (action,)) for action in rule.actions]
    if variants:
        every = tuple(action.name for action in system.actions)
        found += [Mutant(name, "variant", every) for name in system.variants]
    return found


def _variant(system: System, name: str) -> System:
    return compile_model(system.python, variants=(name,))


class Mutation:
    """The trials of one model's mutants.

    ``known`` are the facts that an earlier command established. ``keep`` is called with the facts of each mutant as
    they are established. ``show`` is called with each killing run, under the name of its mutant (``ST-20+ST-14`` for a
    pair). ``variants`` are compiled variants by name; others are compiled when they are tried.
    """

    def __init__(
        self,
        system: System,
        scopes: Sequence[Scope],
        limits: MutationLimits,
        *,
        target: str,
        options: MutationOptions,
        known: Mapping[str, MutantFacts] | None = None,
        keep: Callable[[MutantFacts], None] = lambda facts: None,
        show: Callable[[str, Trace], None] = lambda name, trace: None,
        variants: Mapping[str, System] | None = None,
    ) -> None:
        self.system, self.limits, self.target, self.options = system, limits, target, options
        self._variants = dict(variants or {})
        usual = [system.scopes[name] for name in USUAL if name in system.scopes]
        self.owing = live_scopes(system) if list(scopes) == usual else scopes
        """The scopes in which liveness is checked."""
        self.benches = [Bench(system, scope, target, limits) for scope in scopes]
        self.keep, self.show = keep, show
        self.facts = {name: facts for name, facts in (known or {}).items() if not self._is_open(facts)}
        self.all = {mutant.name: mutant for mutant in mutants(system)}
        self._touched = {rule.label: touched(system, rule.label) for rule in system.rules}
        self._tried: dict[tuple[frozenset[str], bool], tuple[Pair, Trace | None]] = {
            (frozenset((facts.mutant.name, pair.partner)), False): (pair, None)
            for facts in self.facts.values()
            for pair in facts.pairs
            if pair.decided
        }
        """The tried pairs, with a killing run unless an earlier command tried the pair.

        A key is the two names, and whether every scope was searched to its end.
        """

    def _is_open(self, facts: MutantFacts) -> bool:
        """Whether the liveness of a mutant is still to be checked.

        That is so if a limit ended the check, or if the mutant was declared ``sound`` then and no longer is.
        """
        declared = self.system.outcomes.get(facts.mutant.name)
        sound = declared is not None and declared.kind == "sound"
        return facts.equal is False and facts.starves is None and not sound

    def broken(self) -> Result | None:
        """The answer for the whole model in the first scope in which it violates a property or has no answer.

        None if there is no such scope. Otherwise the mutants show nothing. Raises Interruption.
        """
        self.limits.now = "the whole model"
        results = (bench.whole for bench in self.benches)
        return next((result for result in results if result.verdict != "exhausted"), None)

    def report(self) -> MutationReport:
        """Try all wanted mutants, as far as the limits go."""
        wanted = list(self._wanted())
        ended_by: str | None = None
        try:
            self._try_all(wanted)
        except Interruption as stopped:
            ended_by = str(stopped)
        except KeyboardInterrupt:
            # Ctrl-C came between two searches. During a search, the search ends by itself.
            ended_by = INTERRUPTED
        done = [self.facts[each.name] for each in wanted if each.name in self.facts]
        listed = [facts for facts in done if not self._implied(facts.mutant)]
        left = [each.name for each in wanted if each.name not in self.facts and not self._implied(each)]
        return MutationReport(
            model=self.system.name,
            target=self.target,
            scopes=tuple(bench.scope.name for bench in self.benches),
            fingerprint=fingerprint(self.system, [bench.scope for bench in self.benches]),
            rows=tuple(judged(listed, self.system.outcomes)),
            untried=tuple(left),
            ended_by=ended_by,
        )

    def untried(self, ended_by: str) -> MutationReport:
        """The answer if a limit left no time to try any mutant."""
        return MutationReport(
            model=self.system.name,
            target=self.target,
            scopes=tuple(bench.scope.name for bench in self.benches),
            fingerprint=fingerprint(self.system, [bench.scope for bench in self.benches]),
            rows=(),
            untried=tuple(mutant.name for mutant in self._wanted()),
            ended_by=ended_by,
        )

    def _wanted(self) -> Iterator[Mutant]:
        only = self.options.only
        for name in only:
            if name not in self.all:
                hint = did_you_mean(name, self.all, f"it has: {', '.join(self.all)}", cutoff=0.5)
                raise UsageError(f"{self.system.name} has no mutant {name!r}; {hint}")
        for mutant in self.all.values():
            named = mutant.name in only or (mutant.kind == "site" and mutant.label in only)
            if named if only else self.options.variants or mutant.kind != "variant":
                yield mutant

    def _implied(self, mutant: Mutant) -> bool:
        """Whether a site needs no trial: the graph is the same even if the rule is removed everywhere."""
        return mutant.kind == "site" and mutant.label in self.facts and self.facts[mutant.label].equal is True

    # Alone ----------------------------------------------------------------------------------------------------

    def _try_all(self, wanted: Sequence[Mutant]) -> None:
        with ExitStack() as stack:
            processes = stack.enter_context(self._processes()) if self._is_long(wanted) else None
            # Rules come before sites: if a rule can go without changing the graph, its sites need no trial.
            self._try_each([each for each in wanted if each.kind != "site"], processes, pairs=False)
            self._try_each([each for each in wanted if each.kind == "site"], processes, pairs=False)
            # All mutants alone come first: the choice of partners depends on what kills them alone.
            self._try_each(wanted, processes, pairs=True)

    def _try_each(self, mutants: Sequence[Mutant], processes: WorkerPool | None, *, pairs: bool) -> None:
        """Try mutants alone or in pairs, in order; the processes, if there are any, work ahead."""
        wanted = [each for each in mutants if self._is_due(each, pairs=pairs)]
        if processes is None:
            for number, mutant in enumerate(wanted, start=1):
                self.limits.now = f"{number} of {len(wanted)}: {mutant.name}{', with a second rule' if pairs else ''}"
                if pairs:
                    self.in_pairs(mutant)
                else:
                    self._alone(mutant)
            return
        tasks = [TrialTask(mutant, dict(self.facts) if pairs else None) for mutant in wanted]

        def waiting(done: int) -> None:
            self.limits.now = f"{done} of {len(wanted)}{', with a second rule' if pairs else ''}"
            self.limits.meter().stage(self.limits.now)

        for mutant, found in zip(wanted, processes.in_order(try_one, tasks, waiting), strict=True):
            for name, trace in found.runs:
                self.show(name, trace)
            if found.facts is None:
                # A process knows only the rest of the time that was left when it began.
                raise Interruption(INTERRUPTED if found.ended_by == INTERRUPTED else self.limits.budget.out_of_time)
            if found.facts.ended_by is None and found.facts != self.facts.get(mutant.name):
                self.keep(found.facts)
            self.facts[mutant.name] = found.facts

    def _is_due(self, mutant: Mutant, *, pairs: bool) -> bool:
        """Whether a mutant is still to be tried, alone or in pairs."""
        facts = self.facts.get(mutant.name)
        if self._implied(mutant) or not pairs or facts is None:
            return facts is None and not self._implied(mutant)
        done = facts.kill is not None or facts.ended_by is not None or bool(facts.starves)
        return not done and mutant.kind != "variant"

    def _is_long(self, wanted: Sequence[Mutant]) -> bool:
        """Whether the trials of these mutants take so long that several processes end sooner, although they begin late.

        The estimate is that each mutant has as many states as the whole model.
        """
        states = sum(bench.whole.figures.distinct for bench in self.benches)
        return self.limits.cores > 1 and states * sum(each.name not in self.facts for each in wanted) > LONG

    def _processes(self) -> WorkerPool:
        count, budget = self.limits.cores, self.limits.meter().budget
        if budget.memory_bytes is not None:
            budget = attrs.evolve(budget, memory_bytes=budget.memory_bytes // count)
        variants = {name: attrs.evolve(_variant(self.system, name), python=object) for name in self.system.variants}
        payload = TrialPayload(
            make=Mutation,
            # A model's class need not be importable in another process, and the trials do without it.
            system=attrs.evolve(self.system, python=object),
            variants=variants,
            scopes=tuple(bench.scope for bench in self.benches),
            target=self.target,
            options=self.options,
            budget=attrs.evolve(budget, states=self.limits.budget.states),
        )
        return WorkerPool(count, prepare, payload)

    def _alone(self, mutant: Mutant) -> MutantFacts:
        """The facts of a mutant: the known ones, or else those that its trial establishes."""
        if mutant.name not in self.facts:
            facts = self.established(mutant)
            if facts.ended_by is None:
                self.keep(facts)
            self.facts[mutant.name] = facts
        return self.facts[mutant.name]

    def established(self, mutant: Mutant) -> MutantFacts:
        """The facts of a mutant, from a trial."""
        system = self._system(mutant)
        equal = True
        for bench in self.benches:
            trial = bench.try_alone(system, mutant.actions)
            if trial.kill is not None:
                self._show(mutant.name, trial.trace)
                return MutantFacts(mutant, trial.kill)
            if trial.ended_by is not None:
                return MutantFacts(mutant, ended_by=trial.ended_by)
            equal = equal and trial.same
        return MutantFacts(mutant, equal=True) if equal else self._starving(mutant, system)

    def _starving(self, mutant: Mutant, system: System) -> MutantFacts:
        """The facts of a mutant that violates nothing in any scope, but whose steps differ from the model's."""
        declared = self.system.outcomes.get(mutant.name)
        if declared is not None and declared.kind == "sound":
            return MutantFacts(mutant, equal=False)
        found = starved(system, self.owing, self.target, self.limits)
        self._show(mutant.name, found.trace)
        if found.ended_by is not None:
            return MutantFacts(mutant, equal=False, starves_open=found.ended_by)
        return MutantFacts(mutant, equal=False, starves=found.kills)

    def _system(self, mutant: Mutant) -> System:
        if mutant.kind == "variant":
            return self._variants.get(mutant.name) or _variant(self.system, mutant.name)
        return remove_rules(self.system, [mutant.name])

    def _show(self, name: str, trace: Trace | None) -> None:
        if trace is not None:
            self.show(name, trace)

    # In pairs -------------------------------------------------------------------------------------------------

    def in_pairs(self, mutant: Mutant) -> None:
        """Try a survivor without a second rule: the declared partner first, then the rules that are related to it."""
        facts = self.facts[mutant.name]
        declared = self.system.outcomes.get(mutant.name, self.system.outcomes.get(mutant.label))
        pairs: list[Pair] = []
        if declared is not None and declared.kind == "redundant" and declared.names is not None:
            pairs.append(self._together(mutant, declared.names, wholly=True))
        settled = declared is not None and declared.kind == "equivalent"
        if self.options.pairs and not facts.equal and not settled and not any(pair.kill for pair in pairs):
            for partner in self._partners(mutant, everyone=declared is None):
                pairs.append(self._together(mutant, partner, wholly=False))
                if pairs[-1].kill is not None:
                    break
        if tuple(pairs) != facts.pairs:
            self.facts[mutant.name] = facts = attrs.evolve(facts, pairs=tuple(pairs))
            self.keep(facts)

    def _partners(self, mutant: Mutant, *, everyone: bool) -> Iterator[str]:
        """The partners for a survivor: first the rules that survive alone too, and of these the related ones first.

        With ``everyone``, the related rules that are killed alone follow. Related rules share an action or a variable.
        """
        others = [rule.label for rule in self.system.rules if rule.has_label and rule.label != mutant.label]
        killed = [label for label in others if self._alone(self.all[label]).kill is not None]
        related = [label for label in others if self._share(mutant, label)]
        yield from sorted((label for label in others if label not in killed), key=lambda label: label not in related)
        if everyone:
            yield from (label for label in killed if label in related)

    def _share(self, mutant: Mutant, label: str) -> bool:
        """Whether a rule and a mutant are related: they have an action or a variable in common."""
        actions = set(mutant.actions) & set(self.all[label].actions)
        return bool(actions or self._touched[mutant.label] & self._touched[label])

    def _together(self, mutant: Mutant, partner: str, *, wholly: bool) -> Pair:
        """Remove both rules. The pair has a kill if that violates more than the removal of either rule alone.

        ``wholly`` searches every scope to its end. Otherwise only the first scope is searched, within ``PAIRED``.
        """
        # A pair and its reverse are the same trial, and a kill from the limited search holds for the full one.
        key = frozenset((mutant.name, partner)), wholly
        known = self._tried.get((key[0], False))
        if known is None or known[0].kill is None:
            if key not in self._tried:
                self._tried[key] = self._tried_together(mutant, partner, wholly=wholly)
            known = self._tried[key]
        pair, trace = known
        self._show(f"{mutant.name}+{partner}", trace)
        return attrs.evolve(pair, partner=partner)

    def _tried_together(self, mutant: Mutant, partner: str, *, wholly: bool) -> tuple[Pair, Trace | None]:
        # In one order, so that a pair and its reverse have the same runs to replay, whichever is tried.
        system = remove_rules(self.system, sorted((mutant.name, partner), key=[*self.all, partner].index))
        # ``LABEL@action`` is no mutant of its own if the rule serves one action only.
        other = self.all.get(partner) or Mutant(partner, "site", (partner.partition("@")[2],))
        killed = self._alone(other).kill is not None
        decided = True
        for bench in self.benches if wholly else self.benches[:1]:
            most = None if wholly else PAIRED
            # If the removal of the partner kills alone, the pair has to violate something else as well.
            if killed:
                trial = bench.try_beyond(system, remove_rules(self.system, [partner]), most)
            else:
                trial = bench.try_pair(system, most)
            if trial.kill is not None:
                return Pair(partner, trial.kill), trial.trace
            decided = decided and trial.ended_by is None
        return Pair(partner, None, decided), None
