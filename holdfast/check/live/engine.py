"""Liveness properties under weak and strong fairness, decided on the whole state graph of a scope.

A run violates a leads-to property if it satisfies every demand of fairness, and owes the goal from some state on but
never reaches it. If the graph has such a run, it has one that is a lasso: from a state that owes the goal, the run
passes only states without the goal, and it ends in a loop inside a fair component of such states. So the engine removes
the states with the goal, keeps the states that a run reaches while it owes the goal, and looks for fair components
there. ``@always_eventually`` is decided as a leads-to whose premise is always true.

A run violates ``@eventually_always`` if it is fair and visits states without the goal again and again. Between them it
may visit others, so no state is removed: the engine looks for fair components of the whole graph that have a state
without the goal.

A bound of the scope may cut a step of a fair action. Then fairness has two readings. In the protocol the cut step is
possible, so a run that never takes it may be unfair. TLC treats cut steps as impossible. Every run that is fair in the
protocol's reading is fair in TLC's reading too. Hence the verdicts:

- ``violated``: a run violates the property although cut steps count as possible.
- ``exhausted``: no run violates it although cut steps count as impossible.
- ``inconclusive``: neither.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import attrs
import numpy as np

from holdfast.check.budget import Budget, Meter, Progress, interruptible, resident_bytes
from holdfast.check.figures import coverage
from holdfast.check.handover import COMPILING, states_within
from holdfast.check.live.components import Mask, part, reached
from holdfast.check.live.explain import Reasons, why_fair
from holdfast.check.live.fair import FairComponents
from holdfast.check.live.lasso import Lasso, find_lasso, find_relapse
from holdfast.check.live.result import DemandFigures, LiveFigures, LiveResult, LiveTiming, LiveVerdict, PropertyFigures
from holdfast.ir.errors import UsageError
from holdfast.ir.ghosts import ghosts_read
from holdfast.ir.similar_names import did_you_mean
from holdfast.ir.system import LIVENESS, Property, Scope, System
from holdfast.ir.types import BUDGET
from holdfast.lower.graph.fairness import FREE, Demands
from holdfast.lower.graph.state_graph import FLAGS, GraphArrays, StateGraph, draw
from holdfast.lower.python.interpreter import Args, Interpreter
from holdfast.runs.replay import Replayer, Script
from holdfast.runs.selection import Selection
from holdfast.runs.starts import initial_states
from holdfast.trace.trace import Claim, Trace

Engine = Literal["auto", "interpreter", "kernel"]

NO_BUDGET = Budget()

MANY = 100_000
"""The number of states from which on several cores decide the properties: a smaller graph is done before they begin."""


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
    cores: int | None = None,
) -> LiveResult:
    """Decide the liveness properties of a system, or only those named by ``properties`` (names or rule ids).

    ``target`` is what the command line calls the model. ``engine`` and ``cores`` (None: all) change the speed only: one
    core draws the graph, and each decides a property of a large one. The first Ctrl-C ends the
    check without an answer; with ``whole`` it raises KeyboardInterrupt. Raises UsageError for unknown properties, a
    system without liveness properties, and a scope that does not fit. Raises ModelError if the scope contradicts the
    model.
    """
    meter = Meter(budget, progress)
    with interruptible(meter, whole=whole):
        count = (os.cpu_count() or 1) if cores is None else cores
        return _Liveness(system, scope, properties, meter, target, engine, count).answer()


def liveness_properties(system: System, names: Sequence[str] | None) -> tuple[Property, ...]:
    """The liveness properties with these names or rule ids; None means all.

    Raises UsageError for an unknown name, for a property of another kind, and for a model without liveness properties.
    """
    found = tuple(system.of_kind(*LIVENESS))
    if not found:
        kinds = ", ".join(f"@{kind}" for kind in LIVENESS)
        raise UsageError(f"{system.name} has no liveness property; add one ({kinds}), or choose another model")
    if names is None:
        return found
    known = {spelling for prop in found for spelling in (prop.name, *prop.ids)}
    for name in names:
        if name in known:
            continue
        other = next((prop.kind for prop in system.properties if name in (prop.name, *prop.ids)), None)
        if other is not None:
            raise UsageError(f"{name!r} is of kind {other}, which `holdfast check` decides; choose a liveness property")
        hint = did_you_mean(name, sorted(known), f"it has: {', '.join(sorted(known))}")
        raise UsageError(f"{system.name} has no liveness property {name!r}; {hint}")
    return tuple(prop for prop in found if {prop.name, *prop.ids} & set(names))


@attrs.frozen
class _Answer:
    """The answer for one property: its figures and, if it is violated, the least violating arguments and the lasso."""

    owed: PropertyFigures
    violation: tuple[Args, Lasso] | None


class _Liveness:
    """One liveness check: draws the graph, and decides each property on it."""

    def __init__(
        self,
        system: System,
        scope: Scope,
        names: Sequence[str] | None,
        meter: Meter,
        target: str | None,
        engine: Engine,
        cores: int,
    ) -> None:
        self.system, self.scope, self.meter, self.engine, self.cores = system, scope, meter, engine, cores
        self.props = liveness_properties(system, names)
        asked = (*system.of_kind("assume"), *self.props)
        self.selection = Selection(asked, (), deadlock=False, ghosts=ghosts_read(system, asked))
        self.machine = Interpreter(system, scope, ghosts=self.selection.ghosts, properties=())
        self.demands = Demands(self.machine.layout)
        self.target = system.file if target is None else target
        self.options = tuple(part for name in names or () for part in ("--property", name))
        self.notes: list[str] = []

    # The graph --------------------------------------------------------------------------------------------------

    def draw(self) -> StateGraph | None:
        """Build the state graph. Returns None if a limit was exceeded before the graph was complete."""
        starts = initial_states(self.machine, self.selection)
        self.machine.statistics.reset()
        self.starts = len(starts)
        small = states_within(COMPILING, self.machine.layout, 1) if self.engine == "auto" else None

        def impatient(depth: int, states: int, steps: int, waiting: int) -> bool:
            """Whether to stop: for the budget, or because the graph is large enough for the kernel."""
            return self.meter.tick(depth, states, steps, waiting) or (small is not None and states > small)

        if self.engine != "kernel":
            graph = draw(self.machine, starts, self.demands, impatient)
            if graph is not None or self.meter.spent is not None:
                return graph
        from holdfast.lower.kernel.graphs import KernelGraph  # noqa: PLC0415 - small graphs do without LLVM

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

    def decisions(self, graph: StateGraph) -> Iterable[_Answer]:
        """The answers for the properties, in their order, up to the first one that the budget leaves out."""

        def decided(prop: Property) -> _Answer | None:
            if self.meter.spent is not None:
                return None
            self.meter.stage(f"looking for fair runs that violate {prop.name}")
            return self.decide(graph, prop)

        # Threads are enough: nearly all the work is done by machine code, numpy and SciPy, on arrays that none changes.
        cores = 1 if graph.arrays.states < MANY else min(self.cores, len(self.props))
        if cores == 1:
            answers = [decided(prop) for prop in self.props]
        else:
            with ThreadPoolExecutor(cores) as pool:
                answers = list(pool.map(decided, self.props))
        return (each for each in itertools.takewhile(lambda each: each is not None, answers) if each is not None)

    def decide(self, graph: StateGraph, prop: Property) -> _Answer:
        """Decide a property on the graph. Stops at the first violated instance (choice of the parameters' values)."""
        sizes = [range(self.machine.layout.codes(param.type)) for param in prop.params]
        instances = list(itertools.product(*sizes))
        owing, premise_true, only_if_cut = 0, False, None
        cautious, bold = (FairComponents(graph.arrays, self.demands, cautious=each) for each in (True, False))
        cut = bool(graph.arrays.cut.any())
        claim = Claim.of_property(prop)
        for args in instances:
            # One word for each state: bit 0 is the premise, bit 1 the goal.
            asked = graph.asked(prop, args)
            unmet = (asked & 2) == 0
            owed = ((asked & 1) != 0) & unmet
            premise_true |= bool((asked & 1).any())
            pending = owed if prop.kind == "eventually_always" else reached(graph.arrays, owed, unmet)
            owing += int(np.count_nonzero(pending))
            lasso = _lasso(graph.arrays, cautious, prop, owed, pending)
            if lasso is not None:
                return _Answer(PropertyFigures(claim, len(instances), owing, premise_true), (args, lasso))
            # Without cut steps both readings are the same. One such run is enough to make the answer inconclusive.
            if cut and only_if_cut is None:
                lasso = _lasso(graph.arrays, bold, prop, owed, pending)
                only_if_cut = None if lasso is None else len(lasso.stem) - 1 + len(lasso.round)
            if self.meter.spent is not None:
                break
        return _Answer(PropertyFigures(claim, len(instances), owing, premise_true, only_if_cut), None)

    # Answering --------------------------------------------------------------------------------------------------

    def answer(self) -> LiveResult:
        """Build the state graph, decide all properties, and return the result."""
        graph = self.draw()
        drawing = self.meter.seconds
        answers = [] if graph is None else list(self.decisions(graph))
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
                self.notes.append(f"Not all properties were decided ({spent}).")
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
            vacuous=tuple(found.owed.claim for found in answers if spent is None and not found.owed.premise_true),
            notes=tuple(self.notes),
            timing=LiveTiming(self.meter.seconds, drawing, resident_bytes()),
        )

    def figures(self, graph: StateGraph | None, owed: list[PropertyFigures]) -> LiveFigures:
        """The figures of the graph; all zero if there is no graph."""
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
            # The last entry of ``levels`` is an end, not a level, and depth 0 is the first level.
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
        """The lasso as a trace, and why it is fair. The interpreter alone judges the trace again on the way."""
        states = [graph.state(number) for number in lasso.stem]
        turn = [graph.state(number) for _, number in lasso.round]
        steps = [self._step(old, new, None) for old, new in itertools.pairwise(states)]
        labels = [label for label, _ in lasso.round]
        for old, new, label in zip([states[-1], *turn], turn, labels, strict=False):
            steps.append(self._step(old, new, label))
        start = dict(self.machine.starts())[states[0]]
        replayer = Replayer(self.system, self.scope, target=self.target, options=self.options, liveness=(prop,))
        script = Script(start, tuple(steps), len(states) - 1)
        trace = replayer.trace(script, prop.name)
        assert isinstance(trace, Trace), "every step was found to be possible"
        assert trace.claim is not None, f"the interpreter finds no violation of {prop.name} in this run"
        # The engine tried arguments in ascending order, so no lasso violates the property for lesser ones.
        assert [value for _, value in trace.claim.where] == [
            self.machine.layout.decode_value(param.type, code) for param, code in zip(prop.params, args, strict=True)
        ]
        return trace, why_fair(replayer, script)

    def _step(self, old: bytes, new: bytes, label: int | None) -> tuple[str, Args]:
        """The least action and arguments that lead from ``old`` to ``new``; with this label, if one is given."""
        for action, successors in zip(self.system.actions, self.machine.successors, strict=True):
            fits = [args for state, args in successors(old) if state == new and self._fits(action.name, args, label)]
            if fits:
                return action.name, min(fits)
        raise AssertionError("the graph has an edge that is no step")

    def _fits(self, action: str, args: Args, label: int | None) -> bool:
        return label is None or label == FREE or self.demands.label(action, args) == label


def _lasso(graph: GraphArrays, fairness: FairComponents, prop: Property, owed: Mask, pending: Mask) -> Lasso | None:
    """A lasso that violates the property, for the arguments to which the masks belong; None if there is none.

    ``owed``: the states in which the goal becomes owed. ``pending``: those in which it may still be owed.
    """
    if not pending.any():
        return None
    if prop.kind == "eventually_always":
        return find_relapse(graph, fairness, fairness.of_whole(graph), pending)
    fair = fairness.of(part(graph, pending))
    return find_lasso(graph, fairness, fair, owed, pending) if len(fair.states) else None


def _about_cuts(figures: LiveFigures) -> str:
    """The note on cut steps of fair actions: whether the answer depends on them and, if so, which scope helps."""
    suspects = [each for each in figures.owed if each.only_if_cut is not None]
    if not suspects:
        return "Nothing is violated, whether cut steps count as possible or not, so the answer does not depend on them."
    verb = "is" if len(suspects) == 1 else "are"
    said = f"If cut steps count as impossible, {', '.join(each.claim.title for each in suspects)} {verb} violated."
    bounds = list(dict.fromkeys(bound for _, bound, _ in figures.fair_cuts if bound != BUDGET))
    budgets = list(dict.fromkeys(action for action, bound, _ in figures.fair_cuts if bound == BUDGET))
    remedies = [f"in which {' and '.join(bounds)} cannot be exceeded"] if bounds else []
    remedies += [f"without a budget for {' and '.join(budgets)}"] if budgets else []
    return f"{said} Choose a scope {', '.join(remedies)}."
