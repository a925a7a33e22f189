"""Random runs: does one of N seeded runs meet a bad state or step?

A search is exact; random runs go deep. They reach bugs that need many steps, in state spaces too large for a search. A
violation that they find is real. One that they do not find may still exist.

Each run follows from the seed and its number alone (``lower/random_runs/plan.py``), so the runs may be made in any
order, on any number of cores. The interpreter makes the first runs, since it starts at once. The kernel makes all
others, in chunks. The chunks are evaluated in order, so the answer is the violating run with the least number. The
interpreter then repeats that run, to get its steps, and shrinks it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import attrs

from holdfast.check.budget import INTERRUPTED, Budget, Meter, interruptible, resident_bytes
from holdfast.check.figures import coverage
from holdfast.check.result import VIOLATION, WitnessFigures
from holdfast.check.search.engine import Engine
from holdfast.check.walk.options import WalkOptions
from holdfast.check.walk.result import StopFigures, WalkFigures, WalkResult, WalkTiming, WalkVerdict
from holdfast.check.walk.walker import RandomRun, Walker
from holdfast.ir.errors import UsageError
from holdfast.ir.system import LIVENESS, Property, Scope, System
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.random_runs.plan import STOPS, VIOLATED, WalkPlan, WalkTally, by_priority, no_schedule
from holdfast.runs.rebuilding import repetition
from holdfast.runs.replay import Replayer, with_every_ghost
from holdfast.runs.selection import Selection, select
from holdfast.runs.shrink import ShrinkResult, shrink
from holdfast.runs.starts import initial_states
from holdfast.runs.where import where_it_fails
from holdfast.trace.trace import Claim, Origin, Trace

if TYPE_CHECKING:
    from holdfast.lower.kernel.walks import Walks

NO_BUDGET = Budget()
SMALL = 10_000
"""Number of steps that the interpreter takes first. The kernel pays only beyond that, for it compiles for seconds."""

CHUNK = 1 << 18
"""Number of steps that the runs of a chunk may take: some hundredths of a second."""


@attrs.frozen
class WalkProgress:
    """The progress of random runs. ``seconds`` leaves out compiling; ``left`` is the rest of the time, if limited."""

    runs: int
    traces: int
    steps: int
    seconds: float
    left: float | None
    compiling: bool = False


def walk(
    system: System,
    scope: Scope,
    options: WalkOptions,
    *,
    properties: Sequence[str] | None = None,
    engine: Engine = "auto",
    cores: int | None = None,
    budget: Budget = NO_BUDGET,
    progress: Callable[[WalkProgress], None] | None = None,
    target: str | None = None,
    shrunk: bool = True,
) -> WalkResult:
    """Make random runs, up to the first one that violates one of the properties.

    ``properties`` are names or rule ids. None means all that a search decides, idempotence and deadlocks included.
    ``engine`` and ``cores`` (None: all) change the speed only. ``target`` is what the command line calls the model;
    the replay line repeats it. The first Ctrl-C ends the runs with a partial answer. With ``shrunk`` the violating run
    is shrunk; otherwise it is shown as drawn.

    Raises UsageError for unknown properties, for a scope that does not fit and for a budget of states. Raises
    ModelError if the scope contradicts the model: an assumption is false, or an initial state exceeds a bound.
    """
    if budget.states is not None:
        raise UsageError(
            "random runs store no states, so their number cannot be limited; limit the runs (--runs) or the time"
        )
    meter = Meter(budget)
    with interruptible(meter):
        selection = select(system, properties)
        machine = Interpreter(system, scope, ghosts=selection.ghosts, properties=selection.properties)
        asked = [part for name in properties or () for part in ("--property", name)]
        asked += [] if shrunk else ["--no-shrink"]
        origin = Origin(
            system,
            machine.layout,
            system.file if target is None else target,
            (*options.command_line, *asked),
            options.seed,
        )
        found = _Totals(machine, selection, options, meter, shrunk)
        if options.run is None:
            found.make_all(engine, cores or os.cpu_count() or 1, progress)
        else:
            found.make_one(options.run)
        return found.result(origin)


def plan_of(machine: Interpreter, options: WalkOptions, starts: Sequence[bytes]) -> WalkPlan:
    """The plan that the runs are drawn from. Raises UsageError for an unknown sort of processes."""
    system, layout = machine.system, machine.layout
    if options.pct is None:
        schedule = no_schedule(system)
    else:
        schedule = by_priority(layout, options.pct_sort, options.pct, options.depth)
    return WalkPlan(options.seed, options.depth, tuple(starts), schedule, options.swarm)


class _Totals:
    """The totals over the runs so far, and the answer that follows from them."""

    def __init__(
        self, machine: Interpreter, selection: Selection, options: WalkOptions, meter: Meter, shrunk: bool
    ) -> None:
        self.machine = machine
        self.shrunk = shrunk
        self.selection = selection
        self.options = options
        self.meter = meter
        starts = initial_states(machine, selection)
        self.plan = plan_of(machine, options, starts)
        self.walker = Walker(machine, selection, self.plan)
        self.tally = self.walker.tally()
        # The rules that were decisive in the initial states count as well.
        self._keep_statistics()
        self.compiling = 0.0
        """Seconds spent on compiling the kernel."""
        self.too_large: UsageError | None = None
        """The reason why the kernel could not take the model; None if it could, or was not needed."""

    # Making runs ----------------------------------------------------------------------------------------------

    def make_one(self, number: int) -> None:
        """Make the run with this number only."""
        self.walker.run(number, self.tally)
        self._keep_statistics()

    def make_all(self, engine: Engine, cores: int, progress: Callable[[WalkProgress], None] | None) -> None:
        """Make all runs, until one violates a property or the budget is spent."""
        report = progress or _silently
        if engine != "kernel":
            self._interpret(None if engine == "interpreter" else SMALL)
        if self._ended():
            return
        report(self._progress(compiling=True))
        try:
            walks = self._compiled()
        except UsageError as error:
            if engine == "kernel":
                raise
            self.too_large = error
            self._interpret(None)
            return
        reported = 0.0
        for tally in self._in_order(walks, cores):
            self.tally.add(tally)
            if self._ended():
                return
            if self.meter.seconds - reported >= 0.25:
                reported = self.meter.seconds
                report(self._progress())

    def _ended(self) -> bool:
        """Whether all runs are made, one violates a property, or the budget is spent."""
        tally = self.tally
        if tally.violation is not None or tally.runs == self.options.traces:
            return True
        return self.meter.look(0, 0, 0, 0)

    def _interpret(self, most: int | None) -> None:
        """Make runs on the interpreter until they have taken ``most`` steps; None is no limit."""
        # A run counts as one step more, so that runs without a step come to an end as well.
        while most is None or self.tally.steps + self.tally.runs < most:
            self.walker.run(self.tally.runs, self.tally)
            if self._ended():
                break
        self._keep_statistics()

    def _keep_statistics(self) -> None:
        """Move the interpreter's statistics to the totals. Later it repeats runs to show them; those must not count."""
        self.tally.statistics.add(self.machine.statistics)
        self.machine.statistics.reset()

    def _compiled(self) -> Walks:
        # LLVM takes a moment to load, and a small number of runs does without it.
        from holdfast.lower.kernel.walks import Walks  # noqa: PLC0415

        began = self.meter.seconds
        walks = Walks(
            self.machine,
            self.plan,
            witnesses=self.walker.witnesses,
            finals=self.walker.finals,
            idempotent=self.selection.idempotent,
            quick=self.options.are_few,
        )
        self.compiling = self.meter.seconds - began
        return walks

    def _in_order(self, walks: Walks, cores: int) -> Iterator[WalkTally]:
        """Make the runs in chunks and yield their tallies in order. The cores work ahead of the caller."""
        runs, chunk = self.options.traces, max(1, CHUNK // self.options.depth)
        chunks = ((first, min(first + chunk, runs)) for first in range(self.tally.runs, runs, chunk))
        if cores == 1:
            for first, last in chunks:
                yield walks.runs(first, last, self.tally)
            return
        waiting: deque[Future[WalkTally]] = deque()
        pool = ThreadPoolExecutor(cores)
        try:
            for first, last in chunks:
                # The kernel skips properties and witnesses that the tally has seen already. The tally is of earlier
                # runs only, so this changes no total, however far the other cores are.
                waiting.append(pool.submit(walks.runs, first, last, self.tally))
                # Two chunks for each core keep all cores busy; more would be lost when a run violates a property.
                if len(waiting) > 2 * cores:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            # If the caller stops early it has its answer: later chunks are not needed.
            pool.shutdown(cancel_futures=True)

    def _progress(self, *, compiling: bool = False) -> WalkProgress:
        seconds, limit = self.meter.seconds, self.meter.budget.seconds
        left = None if limit is None else max(limit - seconds, 0.0)
        tally = self.tally
        return WalkProgress(
            tally.runs, self.options.traces, tally.steps, seconds - self.compiling, left, compiling=compiling
        )

    # Answering ------------------------------------------------------------------------------------------------

    def result(self, origin: Origin) -> WalkResult:
        """The answer, with the violating run and the runs to the witnesses."""
        system, tally = self.machine.system, self.tally
        # Taken first: the time for repeating and shrinking a run does not count.
        timing = self._timing()
        made = tally.runs == self._wanted
        verdict: WalkVerdict = "violated" if tally.violation is not None else "not_found" if made else "out_of_budget"
        run = None if tally.violation is None else self._again(tally.violation)
        raw = None if run is None else self._violating(origin, run)
        smaller = None if raw is None or not self.shrunk else self._shrink(raw)
        return WalkResult(
            engine="walk",
            model=system.name,
            target=origin.target,
            scope=self.machine.scope.name,
            variants=system.chosen,
            removed=system.removed,
            fingerprint=system.fingerprint,
            verdict=verdict,
            ended_by=VIOLATION if run is not None else None if made else self.meter.spent,
            figures=self._figures(),
            run=tally.violation,
            raw_length=None if raw is None else raw.length,
            shrunk=smaller,
            findings=() if raw is None else (raw if smaller is None else smaller.trace,),
            witnesses=tuple(
                WitnessFigures(Claim.of_property(prop), self._witness(origin, prop, reached))
                for prop, reached in zip(self.walker.witnesses, tally.reached, strict=True)
            ),
            vacuous=tuple(Claim.of_property(prop) for prop in self._vacuous()),
            notes=tuple(self._notes(run, smaller)),
            timing=timing,
        )

    @property
    def _wanted(self) -> int:
        return self.options.traces if self.options.run is None else 1

    def _again(self, number: int) -> RandomRun:
        """The violating run, repeated by the interpreter. Kernel and interpreter must draw the same run."""
        run = self.walker.run(number)
        same = run.violation is not None and len(run.edges) == self.tally.stops[VIOLATED].longest
        assert same, f"the kernel and the interpreter differ in run {number} of seed {self.plan.seed}"
        return run

    def _violating(self, origin: Origin, run: RandomRun) -> Trace:
        violation, length = run.violation, len(run.edges)
        assert violation is not None
        claim = violation.claim
        if violation.prop is not None:
            states = [run.start, *(new for new, _, _ in run.edges)]
            args = run.edges[-1][2] if run.edges else ()
            where = where_it_fails(self.machine, violation.prop, states[max(length - 1, 0)], states[-1], args)
            claim = attrs.evolve(claim, where=where)
        return self._trace(origin, run, length, claim)

    def _shrink(self, raw: Trace) -> ShrinkResult:
        """The violating run, shrunk on the interpreter, whichever engine found it."""
        replayer = Replayer(
            self.machine.system, self.machine.scope, target=raw.target, options=raw.options, seed=raw.seed
        )
        script = replayer.script(raw)
        return shrink(replayer, script, raw.shown.name, stopped=lambda: self.meter.spent == INTERRUPTED)

    def _witness(self, origin: Origin, prop: Property, reached: tuple[int, int] | None) -> Trace | None:
        if reached is None:
            return None
        number, steps = reached
        return self._trace(origin, self.walker.run(number), steps, Claim.of_property(prop))

    def _trace(self, origin: Origin, run: RandomRun, length: int, claim: Claim) -> Trace:
        """The first ``length`` steps of a run as a trace.

        Steps that change nothing are left out, except the last one, which may be the violation.
        """
        origin = attrs.evolve(origin, options=(*(origin.options or ()), "--run", str(run.number)))
        start_args = dict(self.machine.starts())[run.start]
        steps, state = [origin.start(run.start, start_args)], run.start
        for position, (new, action, args) in enumerate(run.edges[:length], start=1):
            if new != state or position == length:
                steps.append(origin.step(self.walker.actions[action].name, args, new))
            state = new
        if claim.kind == "idempotent":
            _, action, args = run.edges[length - 1]
            steps.append(repetition(self.machine, origin, state, self.walker.actions[action].name, args))
        trace = origin.trace(claim, steps)
        if self.selection.ghosts == select(self.machine.system, None).ghosts:
            return trace
        return with_every_ghost(trace, self.machine.system, self.machine.scope)

    def _vacuous(self) -> list[Property]:
        silent = [prop for index, prop in enumerate(self.machine.checked) if self.tally.silent_states >> index & 1]
        silent += [
            prop for index, prop in enumerate(self.machine.checked_steps) if self.tally.silent_steps >> index & 1
        ]
        return [prop for prop in self.selection.of_kind("invariant", "lemma", "step") if prop in silent]

    def _figures(self) -> WalkFigures:
        tally = self.tally
        covered = coverage(
            self.machine,
            self.selection,
            tally.statistics,
            tally.taken,
            tally.repeats,
            tally.unshown_repeats,
            tally.runs + tally.steps,
        )
        return WalkFigures(
            **attrs.asdict(covered, recurse=False),
            seed=self.plan.seed,
            traces=self._wanted,
            depth=self.plan.depth,
            initial=len(self.plan.starts),
            runs=tally.runs,
            steps=tally.steps,
            stops=tuple(
                StopFigures(reason, stop.runs, stop.steps, stop.shortest, stop.longest)
                for reason, stop in zip(STOPS, tally.stops, strict=True)
            ),
            reached=tuple(
                (prop.name, reached[0])
                for prop, reached in zip(self.walker.witnesses, tally.reached, strict=True)
                if reached is not None
            ),
        )

    def _timing(self) -> WalkTiming:
        seconds = self.meter.seconds - self.compiling
        runs, steps = (number / seconds if seconds else 0.0 for number in (self.tally.runs, self.tally.steps))
        return WalkTiming(seconds, runs, steps, resident_bytes())

    def _notes(self, run: RandomRun | None, smaller: ShrinkResult | None) -> Iterator[str]:
        if self.too_large is not None:
            yield f"The interpreter made the runs, and not the kernel, which is faster: {self.too_large}."
        liveness = [prop.title for prop in self.machine.system.of_kind(*LIVENESS)]
        if liveness:
            yield f"A walk says nothing about liveness, `holdfast live` does: {', '.join(liveness)}."
        if run is not None:
            drawn = list(zip(self.walker.actions, run.weights, strict=True))
            kept = ", ".join(f"{action.name} {weight}" for action, weight in drawn if weight)
            omitted = ", ".join(action.name for action, weight in drawn if not weight)
            without = f"; it left out {omitted}" if omitted else ""
            back = ", ".join(self.walker.actions[action].name for action in run.returned)
            without += f"; {back} came back, since no other action changed the state" if back else ""
            yield f"Run {run.number:,} of seed {self.plan.seed} drew its actions by weight: {kept}{without}."
            if smaller is not None and smaller.shortest:
                yield f"No run in this scope shows {smaller.trace.shown.name} in fewer steps."
            else:
                yield "A shorter run may exist; `holdfast check` finds the shortest, if it gets that far."


def _silently(_progress: WalkProgress) -> None:
    """Report nothing."""
