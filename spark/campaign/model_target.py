"""A model as the target of a campaign. Its kernel makes the random runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from holdfast.check.walk.engine import plan_of, walk
from holdfast.check.walk.result import StopFigures
from holdfast.check.walk.walker import Walker
from holdfast.ir.system import System
from holdfast.lower.kernel.walks import ViolatingRun, Walks, WalkSample
from holdfast.lower.python.interpreter import Interpreter
from holdfast.lower.random_runs.plan import STOPS
from holdfast.runs.selection import DEADLOCK, deadlock_claim, idempotence, select
from holdfast.runs.starts import initial_states
from holdfast.trace.itf import itf_text
from holdfast.trace.line import replay_command, to_line
from holdfast.trace.text import render
from holdfast.trace.trace import Trace
from spark.campaign.config import Config
from spark.campaign.findings import ShrunkRun, signature
from spark.campaign.units import Sighting, TargetHeader, UnitResult

Row = tuple[int, ...]


def portable(system: System) -> System:
    """The system without the Python class that it was compiled from: an executor may not have the class's module."""
    return attrs.evolve(system, python=object)


@attrs.frozen
class ModelTarget:
    """A model with its variants and without its removed rules, in the scope of the configuration."""

    system: System = attrs.field(converter=portable)
    config: Config

    def header(self) -> TargetHeader:
        """The model in its scope, with its chosen variants and without its removed rules."""
        system = self.system
        return TargetHeader(
            kind="model",
            model=system.name,
            fingerprint=system.fingerprint_in(system.scope(self.config.scope)),
            deadlock=system.claim_name(DEADLOCK),
            actions=tuple(action.name for action in system.actions),
        )

    def ready(self) -> ReadyModel:
        """The model with its compiled kernel. The compiled code is cached on the machine."""
        return ReadyModel(self)


class ReadyModel:
    """A model with its compiled kernel. Raises UsageError and ModelError as `holdfast walk` does."""

    def __init__(self, target: ModelTarget) -> None:
        self.config = config = target.config
        self.system = system = target.system
        self.scope = system.scope(config.scope)
        selection = select(system, config.properties or None)
        self.machine = Interpreter(system, self.scope, ghosts=selection.ghosts, properties=selection.properties)
        plan = plan_of(self.machine, config.walk_options(0), initial_states(self.machine, selection))
        self.walker = Walker(self.machine, selection, plan)
        # A run is shown with all ghosts, whichever properties are checked.
        everything = select(system, None)
        self.whole = Interpreter(system, self.scope, ghosts=everything.ghosts, properties=everything.properties)
        self.walks = Walks(
            self.machine,
            plan,
            witnesses=self.walker.witnesses,
            finals=self.walker.finals,
            idempotent=selection.idempotent,
            sampled=True,
        )

    def run(self, seed: int, traces: int) -> UnitResult:
        """Make the runs 0 to ``traces`` - 1 of a seed with the kernel, and count."""
        sample = self.walks.sample(0, traces, seed)
        tally, names = sample.tally, [action.name for action in self.system.actions]
        refused = self._refused(sample)
        return UnitResult(
            runs=tally.runs,
            steps=tally.steps,
            stops=tuple(
                StopFigures(reason, stop.runs, stop.steps, stop.shortest, stop.longest)
                for reason, stop in zip(STOPS, tally.stops, strict=True)
            ),
            sightings=tuple(self._sightings(sample)),
            actions=tuple(
                (name, taken, sum(times for (action, _), times in refused.items() if action == name))
                for name, taken in zip(names, tally.taken, strict=True)
            ),
            rules=tuple(
                (action, label, refused.get((action, label), 0), sample.decisive.get((action, label), 0))
                for action, label in self._rules()
            ),
            cuts=tuple((*pair, times) for pair, times in sorted(tally.statistics.cuts.items())),
            pairs=tuple(
                (names[one], names[two], int(sample.pairs[one, two])) for one, two in np.argwhere(sample.pairs).tolist()
            ),
            witnesses=tuple(
                (prop.name, *reached)
                for prop, reached in zip(self.walker.witnesses, tally.reached, strict=True)
                if reached is not None
            ),
            states=sample.met,
        )

    def show(self, seed: int, run: int) -> ShrunkRun:
        """Make one run again with the interpreter, by its number, and shrink it. The run must violate a property."""
        result = walk(
            self.system,
            self.scope,
            self.config.walk_options(seed, run),
            properties=self.config.properties or None,
            target=self.config.target,
        )
        assert result.raw_length is not None, f"run {run} of seed {seed} violates nothing"
        trace = result.findings[0]
        command = replay_command(trace)
        assert command is not None, "a campaign runs in a scope that the model declares"
        return ShrunkRun(
            drawn=result.raw_length,
            steps=trace.length,
            shape=signature(*self._signature_of(trace)),
            line=to_line(trace),
            replay=command,
            sentence=trace.shown.sentence,
            itf=itf_text(trace),
            text=render(trace),
        )

    def _signature_of(self, trace: Trace) -> tuple[str, str, tuple[str, ...]]:
        """The signature of a shown run, equal to what ``_signature`` computes for a run of the kernel."""
        machine, violated, last = self.whole, trace.shown.name, trace.steps[-1]
        if len(trace.steps) == 1:
            return violated, "", self._held(machine, violated, last.code)
        return violated, last.action, self._held(machine, violated, trace.steps[-2].code)

    def _held(self, machine: Interpreter, violated: str, state: bytes) -> tuple[str, ...]:
        spoke = any(prop.name == violated and machine.premise(prop, state) for prop in machine.checked)
        met = [prop.name for prop in self.walker.witnesses if machine.holds(prop, state)]
        return _predicates(violated if spoke else None, met)

    # Coverage -------------------------------------------------------------------------------------------------

    def _rules(self) -> Iterator[tuple[str, str]]:
        """Each action and rule that belong together, without removed rules."""
        removed = self.system.removed
        for rule in self.system.rules:
            for action in rule.actions:
                known = any(each.name == action for each in self.system.actions)
                if known and rule.label not in removed and f"{rule.label}@{action}" not in removed:
                    yield action, rule.label

    def _refused(self, sample: WalkSample) -> dict[tuple[str, str], int]:
        """How often each ``require`` refused an action. A ``require`` is decisive exactly when it refuses."""
        requires = {rule.label for rule in self.system.rules if rule.kind == "require"}
        return {pair: times for pair, times in sample.decisive.items() if pair[1] in requires}

    # Findings -------------------------------------------------------------------------------------------------

    def _sightings(self, sample: WalkSample) -> Iterator[Sighting]:
        """The sightings of a sample: the violating runs grouped by their signature, in the order of the signatures."""
        alike: dict[tuple[str, str, tuple[str, ...]], list[ViolatingRun]] = {}
        for group in _grouped(sample.violating.tolist()):
            alike.setdefault(self._signature(group[0]), []).extend(group)
        for (prop, action, state), runs in sorted(alike.items()):
            shortest = min(runs, key=lambda run: (run.steps, run.run))
            yield Sighting(
                property=prop,
                action=action,
                state=state,
                times=len(runs),
                run=shortest.run,
                steps=shortest.steps,
            )

    def _signature(self, run: ViolatingRun) -> tuple[str, str, tuple[str, ...]]:
        """The signature of a violating run: the property, the last action, and predicates of the state before it.

        The predicates are the witnesses that hold in that state, and whether the premise of the property holds there.
        """
        violated = self._violated(run)
        action = "" if run.action < 0 else self.system.actions[run.action].name
        said = [prop.name for index, prop in enumerate(self.machine.checked) if run.premises >> index & 1]
        met = [prop.name for index, prop in enumerate(self.walker.witnesses) if run.witness >> index & 1]
        return violated, action, _predicates(violated if violated in said else None, met)

    def _violated(self, run: ViolatingRun) -> str:
        """The violated property; of several the first in the source, as `Walker` chooses it."""
        # See `Violating` for the codes: -1 in `state` means no invariant fails; -1 in `steps_failing` means that
        # idempotence fails, and is not a bit mask then.
        failing = [] if run.state < 0 else [self.machine.checked[run.state]]
        failing += [
            prop for index, prop in enumerate(self.machine.checked_steps) if max(run.steps_failing, 0) >> index & 1
        ]
        if failing:
            return min(failing, key=self.walker.selection.properties.index).name
        if run.steps_failing < 0:
            return idempotence(self.system, self.system.actions[run.action]).name
        return deadlock_claim(self.system).name


def _predicates(spoke: str | None, witnesses: Sequence[str]) -> tuple[str, ...]:
    """The names of the predicates of a state. ``spoke``: the property whose premise is true there, or None."""
    return (*([] if spoke is None else [f"premise {spoke}"]), *(f"witness {name}" for name in witnesses))


def _grouped(rows: list[list[Any]]) -> Iterator[list[ViolatingRun]]:
    """The violating runs, grouped by all fields except their number and length.

    Most runs are of a few kinds, so a signature is computed only once for each group.
    """
    groups: dict[Row, list[ViolatingRun]] = {}
    for row in rows:
        groups.setdefault(tuple(row[2:]), []).append(ViolatingRun(*row))
    yield from groups.values()
