"""Exact breadth-first search: is a bad state reachable within the scope?

The search explores states level by level. A level holds the states at the same distance from the start, so the first
violation found has a shortest run. The search stores whole states, not fingerprints, so it never confuses two states.

Under symmetry it stores one state of each orbit, the canonical state. The answer depends neither on
symmetry nor on the order in which cores work, for two reasons:

- A level is expanded in the order of its orbits, so an orbit is first reached from its least predecessor.
- A level is finished before a violation is chosen, so all runs of that length compete. The property that comes first
  in the source wins, and among its violations the one in the least orbit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from holdfast.check.budget import Budget, Meter, Progress, interruptible
from holdfast.check.handover import COMPILING, LOADING
from holdfast.check.result import Result
from holdfast.check.search.plain_search import PlainSearch
from holdfast.ir.errors import UsageError
from holdfast.ir.system import Scope, System
from holdfast.lower.python.interpreter import Interpreter
from holdfast.runs.selection import Selection, select
from holdfast.trace.trace import Origin

if TYPE_CHECKING:
    from holdfast.check.search.exploration import Exploration
    from holdfast.lower.kernel.kernel import Kernel

NO_BUDGET = Budget()

Engine = Literal["auto", "interpreter", "kernel"]

Explorer = Callable[[Interpreter, Selection, bool, bool, Meter], "Exploration"]
"""Creates the exploration that replaces these engines. ``Exploration`` explains the arguments."""


def search(
    system: System,
    scope: Scope,
    *,
    properties: Sequence[str] | None = None,
    symmetry: bool = True,
    keep_going: bool = False,
    budget: Budget = NO_BUDGET,
    progress: Callable[[Progress], None] | None = None,
    target: str | None = None,
    engine: Engine = "auto",
    cores: int | None = None,
    checkpoint: Path | None = None,
    resume_from: Path | None = None,
    kernel: Kernel | None = None,
    interpreter: Callable[..., Interpreter] = Interpreter,
    explorer: Explorer | None = None,
    whole: bool = False,
    violations_only: bool = False,
) -> Result:
    """Explore every state that is reachable in the scope and check the properties in each.

    - ``properties``: names or rule ids. None means all that a search decides, idempotence and deadlocks included.
    - ``keep_going``: go on after a violation; report each violated property once, with a shortest run.
    - ``target``: what the command line calls the model; the replay line repeats it.
    - ``engine``: ``auto`` starts on the interpreter, which needs no compiling, and turns to the kernel for larger
      searches, sooner if the kernel is compiled already (see ``handover.py``). A model too large for the kernel stays
      on the interpreter, and a note says so; with ``kernel`` this is an error. Engine and ``cores`` (None: all) change
      the speed only. After a limit they also decide how far the search came.
    - ``checkpoint``: file in which the kernel saves the search. ``resume_from``: file from which it resumes. Both
      require the kernel.
    - ``kernel``: a mutable kernel, which serves the searches of many systems.
    - ``explorer``: replaces engine, cores and checkpoints; gives the same answer.
    - ``violations_only``: leave out the witnesses, and do not note whose premise is never true, which takes time.
    - ``whole``: the first Ctrl-C raises KeyboardInterrupt. Otherwise it ends the search with a partial answer.

    Raises UsageError for unknown properties and for a scope that does not fit. Raises ModelError if the scope
    contradicts the model: an assumption is false, or an initial state exceeds a bound.
    """
    meter = Meter(budget, progress)
    with interruptible(meter, whole=whole):
        selection = select(system, properties, violations_only=violations_only)
        machine = interpreter(system, scope, ghosts=selection.ghosts, properties=selection.properties)
        options = [part for name in properties or () for part in ("--property", name)]
        options += ["--keep-going"] if keep_going else []
        origin = Origin(system, machine.layout, system.file if target is None else target, tuple(options))
        if explorer is not None:
            return _explored(explorer(machine, selection, symmetry, keep_going, meter), origin)
        if checkpoint is not None or resume_from is not None:
            if engine == "interpreter":
                raise UsageError("the interpreter keeps no checkpoints; leave out --engine interpreter")
            engine = "kernel"
        stored = None
        if resume_from is not None:
            from holdfast.check.search.checkpoint import read_checkpoint  # noqa: PLC0415 - see below

            # Before the kernel is compiled: a damaged file should cost no minute.
            stored = read_checkpoint(resume_from)
        plain = None
        if engine != "kernel" and kernel is None:
            plain = PlainSearch(machine, selection, symmetry, keep_going, meter)
            plain.patience = plain.within(LOADING) if engine == "auto" else None
            plain.explore()
            if not plain.gave_up:
                return plain.result(origin)
        # LLVM takes a moment to load, and small searches do without it.
        from holdfast.check.search.checkpoint import Checkpoint, resume  # noqa: PLC0415
        from holdfast.check.search.kernel_search import KernelSearch  # noqa: PLC0415

        try:
            found = KernelSearch(
                machine,
                selection,
                symmetry,
                keep_going,
                meter,
                cores or os.cpu_count() or 1,
                checkpoint=None if checkpoint is None else Checkpoint(checkpoint),
                restore=None if stored is None else partial(resume, stored=stored),
                kernel=kernel,
                quick=True,
            )
        except UsageError as error:
            # The model is too large for the kernel. Without ``plain`` the caller insisted on the kernel.
            if plain is None:
                raise
            plain.go_on()
            plain.notes.append(f"The interpreter searched, and not the kernel, which is faster: {error}.")
            return plain.result(origin)
        if plain is not None and not found.kernel.compiled:
            plain.go_on(plain.within(COMPILING))
            if not plain.gave_up:
                return plain.result(origin)
        return _explored(found, origin)


def _explored(exploration: Exploration, origin: Origin) -> Result:
    """Run an exploration and return its answer. Statistics of an earlier search on the interpreter are reset."""
    exploration.machine.statistics.reset()
    exploration.explore()
    return exploration.result(origin)
