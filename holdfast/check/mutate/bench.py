"""Trials of a model's mutants in one scope.

The interpreter searches a mutant first, since it starts at once. Most mutants are killed within a few hundred states.
The others go to a mutable kernel, which is compiled once and serves all mutants of the model. It visits the states of
the whole model again for each mutant: that is a sixth of the time of a trial.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast

import attrs

from holdfast.check.budget import interruptible
from holdfast.check.mutate.limits import MutationLimits
from holdfast.check.mutate.result import Kill
from holdfast.check.result import Result
from holdfast.check.search.plain_search import PlainSearch
from holdfast.ir.errors import ModelError, UsageError
from holdfast.ir.system import Scope, System
from holdfast.lower.python.interpreter import Interpreter
from holdfast.runs.selection import select
from holdfast.trace.trace import Claim, Origin, Trace

if TYPE_CHECKING:
    from holdfast.check.search.kernel_search import KernelSearch
    from holdfast.lower.kernel.comparing import MutantComparison
    from holdfast.lower.kernel.kernel import Kernel, Words
    from holdfast.lower.kernel.store import Store

PATIENCE = 4_000
"""Number of states of a system that the interpreter explores before the kernel takes over."""

BRIEF = 500
"""The same for a mutant, once the kernel is compiled. The kernel visits ten thousands of states while the interpreter
visits these."""

MUCH = 20
"""The limit on the states of a mutant, as a multiple of the whole model's, if the budget sets none."""

ROOM = 1_000_000
"""Number of states that any mutant may have, even of a small model."""


@attrs.frozen
class _MutantAnswer:
    """The part of a search's answer that decides a trial.

    ``findings`` are the runs to violations, and ``missing`` the witnesses that were not reached. ``ended_by`` is the
    limit that ended the search.
    """

    findings: tuple[Trace, ...]
    missing: tuple[Claim, ...]
    ended_by: str | None


@attrs.frozen
class _Extent:
    """How far a search goes.

    - ``keep_going``: whether it looks for all violations, not for the first one only.
    - ``patience``: the number of states at which it gives up, without the kernel.
    - ``most``: a limit of states, as a multiple of the whole model's.
    - ``begun``: whether the interpreter has searched the first states already, so that the kernel begins.
    """

    keep_going: bool = False
    patience: int | None = None
    most: int | None = None
    begun: bool = False


@attrs.frozen
class MutantTrial:
    """The result of searching a mutant.

    - ``kill``: the property that kills it, with its run ``trace``.
    - ``ended_by``: the limit that left it open. If both are None, the mutant survives.
    - ``same``: whether its state graph equals the whole model's; False if that was not asked.
    """

    kill: Kill | None = None
    trace: Trace | None = None
    ended_by: str | None = None
    same: bool = False


def _same_steps(one: Interpreter, two: Interpreter, action: int, state: bytes) -> bool:
    """Whether an action has the same steps in both machines, in any order, and equally many cut steps."""
    # The difference of the two counts changes if the calls below cut different numbers of steps.
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
        """The answer for the whole model. Its states are kept, for the comparison with mutants."""
        found, origin = self._search(self.system, _Extent())
        result = found.result(origin)
        if not result.findings:
            self.limits.check(found.meter.spent)
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
        """Try to kill a mutant; otherwise compare its graph with the whole model's. It may change only ``actions``.

        A short search comes first, since most mutants are killed soon. A mutant with the same graph needs no further
        search: it violates what the model violates.
        """
        trial, complete = self._killed(mutant, _Extent(patience=self._patience(mutant), most=MUCH))
        if trial.kill is not None:
            return trial
        # The comparison needs the states of the whole model only. So it comes before a long search of the mutant.
        same = self._same(mutant, actions)
        if not complete and not same:
            trial, _ = self._killed(mutant, _Extent(most=MUCH, begun=True))
        return attrs.evolve(trial, same=same)

    def try_pair(self, mutant: System, most: int | None) -> MutantTrial:
        """Try to kill a mutant that lacks two rules, neither of which kills alone. ``most``: see ``_Extent``."""
        return self._killed(mutant, _Extent(most=most or MUCH))[0]

    def try_beyond(self, mutant: System, known: System, most: int | None) -> MutantTrial:
        """Look for a violation of a mutant that ``known`` does not have, which lacks one rule less.

        ``most``: see ``_Extent``.
        """
        before = self._all_wrong(known, most)
        if before is None:
            return MutantTrial(ended_by=f"too many states, or no start, without {', '.join(known.removed)}")
        result = self._answer(mutant, _Extent(keep_going=True, most=most or MUCH))
        if result.ended_by is not None:
            return MutantTrial(ended_by=result.ended_by)
        return self._trial(result, before)

    def try_changed(self, mutant: System, action: str | None, patience: int) -> MutantTrial:
        """Try to kill a mutant that no kernel serves, within ``patience`` states.

        ``action`` is the one that the mutant changes. With None the graphs are not compared.
        """
        trial, complete = self._killed(mutant, _Extent(patience=patience, most=MUCH))
        if trial.kill is None and action is not None and self._same(mutant, (action,)):
            return attrs.evolve(trial, same=True)
        return trial if complete or trial.kill is not None else attrs.evolve(trial, ended_by=f"{patience:,} states")

    def _all_wrong(self, mutant: System, most: int | None) -> frozenset[str] | None:
        """The names of all violated properties and unreached witnesses of a mutant.

        None if a limit ended the search, or if the mutant cannot start.
        """
        key = (mutant.removed, most)
        if key not in self._wrong:
            try:
                result = self._answer(mutant, _Extent(keep_going=True, most=most or MUCH))
            except ModelError:
                self._wrong[key] = None
                return None
            names = [trace.shown.name for trace in result.findings] + [claim.name for claim in result.missing]
            self._wrong[key] = frozenset(names) if result.ended_by is None else None
        return self._wrong[key]

    def _killed(self, mutant: System, extent: _Extent) -> tuple[MutantTrial, bool]:
        """Search a mutant until something kills it. Returns the trial, and whether it is decided.

        A search with ``patience`` is short, and its limit leaves the trial undecided without an ``ended_by``.
        """
        try:
            result = self._answer(mutant, extent)
        except ModelError as error:
            # The whole model fits the scope. So the removed rule has kept initial states within it: that is a kill.
            return MutantTrial(Kill("init", "init", self.scope.name, None, None, f"cannot start: {error}")), True
        if not result.findings and result.ended_by is not None:
            return MutantTrial(ended_by=None if extent.patience else result.ended_by), False
        return self._trial(result, frozenset()), True

    def _trial(self, result: _MutantAnswer, before: frozenset[str]) -> MutantTrial:
        """The first violated property, or else unreached witness, of a mutant that is not named in ``before``.

        A witness that the whole model does not reach either is no kill.
        """
        for trace in result.findings:
            if trace.shown.name not in before:
                return MutantTrial(Kill.of(trace), trace)
        if result.ended_by is None or result.findings:
            known = before | {claim.name for claim in self.whole.missing}
            for claim in result.missing:
                if claim.name not in known:
                    return MutantTrial(Kill(claim.name, claim.title, self.scope.name, None, None))
        return MutantTrial()

    def _same(self, mutant: System, actions: Sequence[str]) -> bool:
        """Whether the mutant's graph equals the whole model's. ``actions`` are those in which they may differ.

        The graphs are equal if both have the same initial states, and the same steps with the same arguments from every
        state that the whole model reaches. The order in which an engine lists steps does not matter. If the model
        refuses a step that a bound cuts in the mutant, the graphs differ. A mutant with other properties, or with
        ghosts that the states of the whole model lack, counts as different: its properties need another search.
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
            yield self._kernel.packing.state(row)

    # Searching ------------------------------------------------------------------------------------------------

    def _search(self, system: System, extent: _Extent) -> tuple[PlainSearch | KernelSearch, Origin]:
        """Search a system. Return the search, and the origin of its runs.

        The interpreter begins, and the mutable kernel takes over after ``_patience`` states, unless ``extent`` says
        otherwise.
        """
        most = extent.most
        meter = self.limits.meter(None if most is None else max(ROOM, most * self.whole.figures.distinct))
        with interruptible(meter):
            selection, machine = select(system, None), self._interpreter(system)
            origin = Origin(system, machine.layout, self.target)
            patience = extent.patience or self._patience(system)
            plain = PlainSearch(machine, selection, True, extent.keep_going, meter, patience)
            if not extent.begun:
                plain.explore()
                if not plain.gave_up:
                    return plain, origin
            if extent.patience is not None:
                meter.spent = f"states: more than {patience:,}"
                return plain, origin
            from holdfast.check.search.kernel_search import KernelSearch, mutable_kernel  # noqa: PLC0415 - as in ``search``

            # A variant has other actions than the shared kernel. It gets a kernel of its own.
            shared = self._is_shared(system)
            try:
                if shared and self._kernel is None:
                    meter.stage("compiling the kernel, which happens once")
                    self._kernel = mutable_kernel(self.system, self.scope)
                found = KernelSearch(
                    machine, selection, True, extent.keep_going, meter, self.limits.cores,
                    kernel=self._kernel if shared else None,
                )  # fmt: skip
            except UsageError:
                if extent.begun:
                    plain.explore()
                plain.go_on()
                return plain, origin
            machine.statistics.reset()
            found.explore()
            return found, origin

    def _is_shared(self, system: System) -> bool:
        """Whether the mutable kernel of the whole model can search this system."""
        return system.chosen == self.system.chosen

    def _patience(self, system: System) -> int:
        """The number of states of a system that the interpreter explores before the kernel takes over."""
        # A user's limit of states ends the interpreter at the very state, and the kernel somewhat later.
        ready = self._kernel is not None and self._is_shared(system) and self.limits.budget.states is None
        return BRIEF if ready else PATIENCE

    def _answer(self, mutant: System, extent: _Extent) -> _MutantAnswer:
        """Search a mutant: see ``_search``. A violation counts even if the time is up; without one, all trials stop.

        Raises Interruption.
        """
        found, origin = self._search(mutant, extent)
        findings = found.findings(origin)
        if not findings:
            self.limits.check(found.meter.spent)
        witnesses = found.selection.of_kind("witness")
        missing = tuple(found.claims[prop.name] for prop in witnesses if prop.name not in found.reached)
        return _MutantAnswer(findings, missing, found.meter.spent)
