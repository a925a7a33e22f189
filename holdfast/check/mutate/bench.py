"""One model in one scope, and what becomes of mutants of it there.

A mutant is searched on the interpreter first, which starts at once; most are killed within a few hundred states. What
is not goes to one kernel that serves all mutants of the model, and is compiled once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast

import attrs

from holdfast.check.budget import Meter, interruptible
from holdfast.check.mutate.limits import MutationLimits
from holdfast.check.mutate.result import Kill
from holdfast.check.result import Result
from holdfast.check.search.exploration import Exploration
from holdfast.check.search.plain_search import PlainSearch
from holdfast.ir.errors import ModelError, UsageError
from holdfast.ir.system import Scope, System
from holdfast.lower.python.interpreter import Interpreter
from holdfast.runs.selection import select
from holdfast.trace.trace import Origin, Trace

if TYPE_CHECKING:
    from holdfast.check.search.kernel_search import KernelSearch
    from holdfast.lower.kernel.comparing import MutantComparison
    from holdfast.lower.kernel.kernel import Kernel, Words
    from holdfast.lower.kernel.store import Store

PATIENCE = 4_000
"""How many states of a mutant the interpreter explores before the kernel takes over."""


MUCH = 20
"""How many times the states of the whole model a mutant may have before it is left open, if no budget says so."""

ROOM = 1_000_000
"""How many states any mutant may have."""


@attrs.frozen
class MutantTrial:
    """What a search of a mutant says: what kills it, with the run, or a limit that left it open, or neither.

    ``same`` tells whether its graph is that of the whole model, where it was asked.
    """

    kill: Kill | None = None
    trace: Trace | None = None
    ended_by: str | None = None
    same: bool = False


def _same_steps(one: Interpreter, two: Interpreter, action: int, state: bytes) -> bool:
    """Whether an action has the same steps in both machines, in whatever order, and as many that a bound cuts."""
    before = one.statistics.cut_by_bounds() - two.statistics.cut_by_bounds()
    mine, others = one.successors[action](state), two.successors[action](state)
    after = one.statistics.cut_by_bounds() - two.statistics.cut_by_bounds()
    return before == after and (mine == others or sorted(mine) == sorted(others))


class Bench:
    """A model in one scope. ``target`` is what the command line calls the model.

    Raises UsageError and ModelError as a search does.
    """

    def __init__(self, system: System, scope: Scope, target: str, limits: MutationLimits) -> None:
        self.system, self.scope, self.target, self.limits = system, scope, target, limits
        self._states: list[bytes] = []
        self._words: Words | None = None
        self._kernel: Kernel | None = None
        self._wrong: dict[tuple[tuple[str, ...], int | None], frozenset[str] | None] = {}

    # The whole model ------------------------------------------------------------------------------------------

    @cached_property
    def whole(self) -> Result:
        """The answer for the model as it is; its states are kept."""
        found, result = self._search(self.system, keep_going=False)
        if isinstance(found, PlainSearch):
            self._states = list(found.parents)
        else:
            # Only the kernel's searches have a store.
            store = cast("Store", found.store)
            self._words = store.states([last for _, last in store.levels[-1]])
        return result

    @cached_property
    def _machine(self) -> Interpreter:
        return self._interpreter(self.system)

    def _interpreter(self, system: System) -> Interpreter:
        selection = select(system, None)
        return Interpreter(system, self.scope, ghosts=selection.ghosts, properties=selection.properties)

    # Mutants --------------------------------------------------------------------------------------------------

    def try_alone(self, mutant: System, actions: Sequence[str]) -> MutantTrial:
        """What kills a mutant, or whether its graph is the whole model's. ``actions`` are those that may differ.

        Most are killed soon, and there is no need to search one with the same graph: it breaks what the model breaks.
        """
        trial, complete = self._killed(mutant, patience=PATIENCE)
        if trial.kill is not None:
            return trial
        same = self._same(mutant, actions)
        if not complete and not same:
            trial, _ = self._killed(mutant, most=MUCH)
        return attrs.evolve(trial, same=same)

    def try_pair(self, mutant: System, most: int | None) -> MutantTrial:
        """What kills a mutant that lacks two rules, of which neither is enough; ``most`` is as for a search."""
        return self._killed(mutant, most=most or MUCH)[0]

    def try_beyond(self, mutant: System, known: System, most: int | None) -> MutantTrial:
        """What is wrong with a mutant and not with another one, which lacks one rule less."""
        before = self._all_wrong(known, most)
        if before is None:
            return MutantTrial(ended_by=f"too many states, or no start, without {', '.join(known.removed)}")
        _, result = self._search(mutant, keep_going=True, most=most or MUCH)
        if result.ended_by is not None:
            return MutantTrial(ended_by=result.ended_by)
        return self._trial(result, before)

    def try_changed(self, mutant: System, action: str | None, patience: int) -> MutantTrial:
        """What kills a mutant that no kernel serves, within so many states; ``action`` is the one that may differ.

        Without one its steps are those of the model, and only what is asked of them differs.
        """
        trial, complete = self._killed(mutant, patience=patience)
        if trial.kill is None and action is not None and self._same(mutant, (action,)):
            return attrs.evolve(trial, same=True)
        return trial if complete or trial.kill is not None else attrs.evolve(trial, ended_by=f"{patience:,} states")

    def _all_wrong(self, mutant: System, most: int | None) -> frozenset[str] | None:
        """Everything that is wrong with a mutant, by name; None if that cannot be told within the limits."""
        key = (mutant.removed, most)
        if key not in self._wrong:
            try:
                _, result = self._search(mutant, keep_going=True, most=most or MUCH)
            except ModelError:
                self._wrong[key] = None
                return None
            names = [trace.shown.name for trace in result.findings] + [claim.name for claim in result.missing]
            self._wrong[key] = frozenset(names) if result.ended_by is None else None
        return self._wrong[key]

    def _killed(self, mutant: System, *, patience: int | None = None, most: int = MUCH) -> tuple[MutantTrial, bool]:
        """What kills a mutant, and whether all its states were looked at; with ``patience`` few are."""
        try:
            _, result = self._search(mutant, keep_going=False, patience=patience, most=most)
        except ModelError as error:
            # The whole model fits the scope, so that this is what the rule was there for.
            return MutantTrial(Kill("init", "init", self.scope.name, None, None, f"cannot start: {error}")), True
        if not result.findings and result.ended_by is not None:
            return MutantTrial(ended_by=None if patience else result.ended_by), False
        return self._trial(result, frozenset()), True

    def _trial(self, result: Result, before: frozenset[str]) -> MutantTrial:
        """The first thing that is wrong with a mutant, and neither with the whole model nor named in ``before``."""
        for trace in result.findings:
            if trace.shown.name not in before:
                return MutantTrial(Kill.of(trace), trace)
        if result.verdict == "exhausted" or result.findings:
            known = before | {claim.name for claim in self.whole.missing}
            for claim in result.missing:
                if claim.name not in known:
                    return MutantTrial(Kill(claim.name, claim.title, self.scope.name, None, None))
        return MutantTrial()

    def _same(self, mutant: System, actions: Sequence[str]) -> bool:
        """Whether the mutant's graph is that of the whole model. ``actions`` are those in which they may differ.

        It is if both have the same initial states, and the same steps with the same arguments from all states that the
        whole model reaches; the order in which an engine lists steps says nothing. A step that the model refuses and
        that a bound of the scope cuts in the mutant is a difference. A mutant with other properties, or with ghosts
        that the states of the whole model lack, has another graph: what is asked of its states differs.
        """
        assert self.whole.verdict == "exhausted", "all states of the whole model are needed"
        ghosts = select(self.system, None).ghosts
        if mutant.properties != self.system.properties or not select(mutant, None).ghosts <= ghosts:
            return False
        if [action.name for action in mutant.actions] != [action.name for action in self.system.actions]:
            return False
        other = Interpreter(mutant, self.scope, ghosts=ghosts, properties=())
        if {state for state, _ in self._machine.starts()} != {state for state, _ in other.starts()}:
            return False
        if self._words is not None and mutant.removed:
            return self._comparison.first_difference(self._words, mutant.removed, actions) is None
        indices = [index for index, action in enumerate(self.system.actions) if action.name in actions]
        return all(_same_steps(self._machine, other, index, state) for state in self._each_state() for index in indices)

    @cached_property
    def _comparison(self) -> MutantComparison:
        from holdfast.lower.kernel.comparing import MutantComparison  # noqa: PLC0415 - as the kernel below

        self.limits.meter().stage("compiling the comparison, which happens once")
        return MutantComparison(self._machine)

    def _each_state(self) -> Iterator[bytes]:
        if self._words is None:
            yield from self._states
            return
        assert self._kernel is not None, "its search stored the words"
        for row in self._words:
            yield self._kernel.packing.unpack(row)

    # Searching ------------------------------------------------------------------------------------------------

    def _search(
        self, system: System, *, keep_going: bool, patience: int | None = None, most: int | None = None
    ) -> tuple[PlainSearch | KernelSearch, Result]:
        """A search, and its answer: on the interpreter, and from some size on on the kernel of all mutants.

        ``most`` limits it to so many times the states of the whole model, ``patience`` to so many at all.
        """
        meter = self.limits.meter(None if most is None else max(ROOM, most * self.whole.figures.distinct))
        with interruptible(meter):
            selection, machine = select(system, None), self._interpreter(system)
            origin = Origin(system, machine.layout, self.target)
            plain = PlainSearch(machine, selection, True, keep_going, meter, patience or PATIENCE)
            plain.explore()
            if not plain.gave_up:
                return plain, self._answered(plain, meter, origin)
            if patience is not None:
                meter.spent = f"states: more than {patience:,}"
                return plain, self._answered(plain, meter, origin)
            from holdfast.check.search.kernel_search import KernelSearch, mutable_kernel  # noqa: PLC0415 - Numba is slow to load

            shared = system.chosen == self.system.chosen
            try:
                if shared and self._kernel is None:
                    meter.stage("compiling the kernel, which happens once")
                    self._kernel = mutable_kernel(self.system, self.scope)
                found = KernelSearch(
                    machine, selection, True, keep_going, meter, self.limits.cores,
                    kernel=self._kernel if shared else None,
                )  # fmt: skip
            except UsageError:
                plain.go_on()
                return plain, self._answered(plain, meter, origin)
            machine.statistics.reset()
            found.explore()
            return found, self._answered(found, meter, origin)

    def _answered(self, found: Exploration, meter: Meter, origin: Origin) -> Result:
        """What is violated counts even if the time is up; without that the whole command stops."""
        result = found.result(origin)
        if not result.findings:
            self.limits.check(meter.spent)
        return result
