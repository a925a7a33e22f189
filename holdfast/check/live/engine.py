"""Does every accepted move finish? Leads-to properties under weak and strong fairness, on the whole graph of a scope.

A leads-to is violated by a run in which its goal, once owed, never comes, though every demand of fairness is met. In a
finite graph some such run is a lasso: from a state that owes the goal on, it passes only states without the goal, and
in the end goes round in a fair component of these. So the states with the goal are removed, the states that a debt
reaches are kept, and fair components of what is left are violations.

A bound of the scope may cut a step of a fair action. Fairness has two readings then. In the protocol the cut step is
possible, so that a run that never takes it may be unfair; to TLC, which knows of no bound, it is impossible. Every run
that is fair in the protocol's reading is fair in TLC's as well. So a run counts as a violation only if it is fair while
cut steps count as possible, ``exhausted`` is said only if no run is one while they count as impossible, and what lies
between is ``inconclusive``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Literal

import attrs
import numpy as np

from holdfast.check.budget import Budget, Meter, Progress, interruptible, resident_bytes
from holdfast.check.figures import coverage
from holdfast.check.live.components import Mask, part, reached
from holdfast.check.live.explain import Reasons, why_fair
from holdfast.check.live.fair import FairComponents
from holdfast.check.live.lasso import Lasso, find_lasso
from holdfast.check.live.result import DemandFigures, LeadsToFigures, LiveFigures, LiveResult, LiveTiming, LiveVerdict
from holdfast.ir.errors import UsageError
from holdfast.ir.ghosts import ghosts_read
from holdfast.ir.suggest import did_you_mean
from holdfast.ir.system import Property, Scope, System
from holdfast.ir.types import BUDGET
from holdfast.lower.graph.fairness import FREE, Demands
from holdfast.lower.graph.state_graph import FLAGS, StateGraph, draw
from holdfast.lower.python.interpreter import Args, Interpreter
from holdfast.runs.replay import Replayer, Script
from holdfast.runs.selection import Selection
from holdfast.runs.starts import initial_states
from holdfast.trace.trace import Claim, Trace

Engine = Literal["auto", "interpreter", "kernel"]

NO_BUDGET = Budget()

SMALL = 50_000
"""How many states the interpreter draws before the kernel, which takes long to compile, is worth its while."""


def live(
    system: System,
    scope: Scope,
    *,
    properties: Sequence[str] | None = None,
    budget: Budget = NO_BUDGET,
    progress: Callable[[Progress], None] | None = None,
    target: str | None = None,
    engine: Engine = "auto",
    whole: bool = False,
) -> LiveResult:
    """Decide the leads-to properties of a system, or those of these names and rule ids.

    ``target`` is what the command line calls the model. ``engine`` changes the speed and nothing else. The first Ctrl-C
    ends it without an answer; if the answer is wanted ``whole``, it raises KeyboardInterrupt. Raises UsageError for
    unknown properties, a system without leads-to properties, and a scope that does not fit, and ModelError where the
    scope contradicts the model.
    """
    meter = Meter(budget, progress)
    with interruptible(meter, whole=whole):
        return _Liveness(system, scope, properties, meter, target, engine).answer()


def leads_to(system: System, names: Sequence[str] | None) -> tuple[Property, ...]:
    """The leads-to properties that the names ask for; None is all.

    Raises UsageError for a name that the model does not know or that is of another kind, and if there is none at all.
    """
    found = tuple(system.of_kind("leads_to"))
    if not found:
        raise UsageError(f"{system.name} states nothing about liveness; write a @leads_to, or choose another model")
    if names is None:
        return found
    known = {spelling for prop in found for spelling in (prop.name, *prop.ids)}
    for name in names:
        if name in known:
            continue
        other = next((prop.kind for prop in system.properties if name in (prop.name, *prop.ids)), None)
        if other is not None:
            raise UsageError(f"{name!r} is of kind {other}, which `holdfast check` decides; choose a leads-to property")
        hint = did_you_mean(name, sorted(known), f"it has: {', '.join(sorted(known))}")
        raise UsageError(f"{system.name} has no leads-to property {name!r}; {hint}")
    return tuple(prop for prop in found if {prop.name, *prop.ids} & set(names))


@attrs.frozen
class _Answer:
    """What became of one property: the figures, and the least arguments that violate it with the lasso."""

    owed: LeadsToFigures
    violation: tuple[Args, Lasso] | None


class _Liveness:
    """One question: a graph, and what it shows of each property."""

    def __init__(
        self,
        system: System,
        scope: Scope,
        names: Sequence[str] | None,
        meter: Meter,
        target: str | None,
        engine: Engine,
    ) -> None:
        self.system, self.scope, self.meter, self.engine = system, scope, meter, engine
        self.props = leads_to(system, names)
        asked = (*system.of_kind("assume"), *self.props)
        self.selection = Selection(asked, (), deadlock=False, ghosts=ghosts_read(system, asked))
        self.machine = Interpreter(system, scope, ghosts=self.selection.ghosts, properties=())
        self.demands = Demands(self.machine.layout)
        self.target = system.file if target is None else target
        self.options = tuple(part for name in names or () for part in ("--property", name))
        self.notes: list[str] = []

    # The graph --------------------------------------------------------------------------------------------------

    def draw(self) -> StateGraph | None:
        """The graph; None if a limit was reached before it was whole."""
        starts = initial_states(self.machine, self.selection)
        self.machine.statistics.reset()
        self.starts = len(starts)
        small = SMALL if self.engine == "auto" else None

        def impatient(depth: int, states: int, steps: int, waiting: int) -> bool:
            return self.meter.tick(depth, states, steps, waiting) or (small is not None and states > small)

        if self.engine != "kernel":
            graph = draw(self.machine, starts, self.demands, impatient)
            if graph is not None or self.meter.spent is not None:
                return graph
        from holdfast.lower.kernel.graphs import KernelGraph  # noqa: PLC0415 - Numba takes a second to import

        self.machine.statistics.reset()
        try:
            self.meter.stage("compiling the kernel, which happens once")
            drawn = KernelGraph(self.machine, self.demands, self.props)
        except UsageError as error:
            if self.engine == "kernel":
                raise
            self.notes.append(f"The interpreter drew the graph, and not the kernel, which is faster: {error}.")
            return draw(self.machine, starts, self.demands, self.meter.tick)
        return drawn if drawn.draw(starts, self.meter.look) else None

    # Properties -------------------------------------------------------------------------------------------------

    def decide(self, graph: StateGraph, prop: Property) -> _Answer:
        """What the graph shows of a property; of its instances the first that is violated counts."""
        sizes = [range(self.machine.layout.codes(param.type)) for param in prop.params]
        instances = list(itertools.product(*sizes))
        owing, triggered, only_if_cut = 0, False, None
        cautious, bold = (FairComponents(graph.arrays, self.demands, cautious=each) for each in (True, False))
        cut = bool(graph.arrays.cut.any())
        claim = Claim.of_property(prop)
        for args in instances:
            asked = graph.asked(prop, args)
            unmet = (asked & 2) == 0
            owed = ((asked & 1) != 0) & unmet
            triggered |= bool((asked & 1).any())
            pending = reached(graph.arrays, owed, unmet)
            owing += int(np.count_nonzero(pending))
            lasso = self._lasso(graph, cautious, owed, pending)
            if lasso is not None:
                return _Answer(LeadsToFigures(claim, len(instances), owing, triggered), (args, lasso))
            if cut and only_if_cut is None:
                lasso = self._lasso(graph, bold, owed, pending)
                only_if_cut = None if lasso is None else len(lasso.stem) - 1 + len(lasso.round)
            if self.meter.spent is not None:
                break
        return _Answer(LeadsToFigures(claim, len(instances), owing, triggered, only_if_cut), None)

    def _lasso(self, graph: StateGraph, fairness: FairComponents, owed: Mask, pending: Mask) -> Lasso | None:
        if not pending.any():
            return None
        fair = fairness.of(part(graph.arrays, pending))
        return find_lasso(graph.arrays, fairness, fair, owed, pending) if len(fair.states) else None

    # Answering --------------------------------------------------------------------------------------------------

    def answer(self) -> LiveResult:
        """All of it."""
        graph = self.draw()
        drawing = self.meter.seconds
        answers: list[_Answer] = []
        if graph is not None:
            for prop in self.props:
                if self.meter.spent is None:
                    self.meter.stage(f"looking for fair runs without the goal of {prop.name}")
                    answers.append(self.decide(graph, prop))
        shown = [
            self.shown(graph, prop, *found.violation)
            for prop, found in zip(self.props, answers, strict=False)
            if graph is not None and found.violation is not None
        ]
        figures = self.figures(graph, [found.owed for found in answers])
        spent = self.meter.spent
        verdict: LiveVerdict = "exhausted"
        if shown:
            verdict = "violated"
            if spent is not None:
                self.notes.append(f"Not all was looked at ({spent}).")
        elif spent is not None or any(each.only_if_cut is not None for each in figures.owed):
            verdict = "inconclusive"
        if not shown and spent is None and figures.fair_cuts:
            self.notes.append(_about_cuts(figures))
        return LiveResult(
            engine="live",
            model=self.system.name,
            target=self.target,
            scope=self.scope.name,
            variants=self.system.chosen,
            removed=self.system.removed,
            fingerprint=self.system.fingerprint,
            verdict=verdict,
            ended_by=spent,
            figures=figures,
            findings=tuple(trace for trace, _ in shown),
            fair=tuple(reasons for _, reasons in shown),
            witnesses=(),
            vacuous=tuple(found.owed.claim for found in answers if spent is None and not found.owed.triggered),
            notes=tuple(self.notes),
            timing=LiveTiming(self.meter.seconds, drawing, resident_bytes()),
        )

    def figures(self, graph: StateGraph | None, owed: list[LeadsToFigures]) -> LiveFigures:
        """What was looked at."""
        arrays = None if graph is None else graph.arrays
        actions = self.system.actions
        taken = [0] * len(actions) if arrays is None else list(arrays.taken)
        states = 0 if arrays is None else arrays.states
        covered = coverage(self.machine, self.selection, self.machine.statistics, taken, [0] * len(actions), 0, states)
        return LiveFigures(
            **attrs.asdict(covered, recurse=False),
            states=states,
            edges=0 if arrays is None else arrays.edges,
            initial=self.starts,
            depth=0 if arrays is None else len(arrays.levels) - 2,
            demands=tuple(self._demands(graph)),
            owed=tuple(owed),
            budgets=tuple(sorted(self.scope.budgets.items())),
        )

    def _demands(self, graph: StateGraph | None) -> list[DemandFigures]:
        possible = [0] if graph is None else np.bitwise_or.reduce(graph.arrays.possible, axis=0).tolist()
        found = []
        for action in self.system.actions:
            mine = [number for number, demand in enumerate(self.demands.each) if demand.action == action.name]
            never = sum(not possible[number // FLAGS] >> number % FLAGS & 1 for number in mine) if graph else 0
            if action.fair is not None:
                found.append(DemandFigures(action.name, action.fair, action.per, len(mine), never))
        return found

    # Lassos -----------------------------------------------------------------------------------------------------

    def shown(self, graph: StateGraph, prop: Property, args: Args, lasso: Lasso) -> tuple[Trace, Reasons]:
        """The lasso as a run of the model, once the interpreter alone has judged it, and why it is fair."""
        states = [graph.state(number) for number in lasso.stem]
        turn = [graph.state(number) for _, number in lasso.round]
        steps = [self._step(old, new, None) for old, new in itertools.pairwise(states)]
        labels = [label for label, _ in lasso.round]
        for old, new, label in zip([states[-1], *turn], turn, labels, strict=False):
            steps.append(self._step(old, new, label))
        start = dict(self.machine.starts())[states[0]]
        replayer = Replayer(self.system, self.scope, target=self.target, options=self.options, leads_to=(prop,))
        script = Script(start, tuple(steps), len(states) - 1)
        trace = replayer.trace(script, prop.name)
        assert isinstance(trace, Trace), "every step was found to be possible"
        assert trace.claim is not None, f"the interpreter finds no violation of {prop.name} in this run"
        # No lasso violates it for lesser arguments, so they are those that were found.
        assert [value for _, value in trace.claim.where] == [
            self.machine.layout.decode_value(param.type, code) for param, code in zip(prop.params, args, strict=True)
        ]
        return trace, why_fair(replayer, script)

    def _step(self, old: bytes, new: bytes, label: int | None) -> tuple[str, Args]:
        """The least step from one state to the other, with that label if it matters."""
        for action, successors in zip(self.system.actions, self.machine.successors, strict=True):
            fits = [args for state, args in successors(old) if state == new and self._fits(action.name, args, label)]
            if fits:
                return action.name, min(fits)
        raise AssertionError("the graph has an edge that is no step")

    def _fits(self, action: str, args: Args, label: int | None) -> bool:
        return label is None or label == FREE or self.demands.label(action, args) == label


def _about_cuts(figures: LiveFigures) -> str:
    """Whether the answer depends on the cut steps of fair actions, and if so what helps."""
    suspects = [each for each in figures.owed if each.only_if_cut is not None]
    if not suspects:
        return "Nothing starves, whether cut steps count as possible or not, so the answer does not depend on them."
    said = f"If cut steps count as impossible, {', '.join(each.claim.title for each in suspects)} starves."
    bounds = list(dict.fromkeys(bound for _, bound, _ in figures.fair_cuts if bound != BUDGET))
    budgets = list(dict.fromkeys(action for action, bound, _ in figures.fair_cuts if bound == BUDGET))
    remedies = [f"in which {' and '.join(bounds)} cannot be exceeded"] if bounds else []
    remedies += [f"without a budget for {' and '.join(budgets)}"] if budgets else []
    return f"{said} Choose a scope {', '.join(remedies)}."
