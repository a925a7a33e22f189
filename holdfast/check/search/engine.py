"""Exact breadth-first search over whole states: is a bad state reachable within the scope?

States are explored level by level, a level being the states that are equally many steps away from the start, so the
first violation found has a shortest run. The search stores states themselves, not fingerprints of them, and so never
takes two states for one.

Under symmetry it stores one state of each orbit, the least ("canonical") one. What it answers does not depend on that,
nor on any order in which a machine happens to work: a level is expanded in the order of its orbits, so that an orbit
is first reached from the least of its predecessors; and a level is finished before a violation is chosen, so that
every run of that length competes. The first property of the source wins, and of its violations the least orbit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from holdfast.check.budget import Budget, Meter, Progress, interruptible
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

SMALL = 150_000
"""How many states the interpreter explores before the kernel, which takes long to compile, is worth its while."""

Engine = Literal["auto", "interpreter", "kernel"]

Explorer = Callable[[Interpreter, Selection, bool, bool, Meter], "Exploration"]
"""What explores in the place of these engines: see ``Exploration`` for the arguments."""


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
) -> Result:
    """Explore every state reachable in the scope and check the properties in each.

    ``properties`` are names or rule ids; None is all that a search decides, idempotence and deadlocks included.
    ``keep_going`` explores on after a violation and reports each violated property once, with a shortest run.
    ``target`` is what the command line calls the model, for the line that repeats a run. The first Ctrl-C ends the
    search with what it has; if the answer is wanted ``whole``, it raises KeyboardInterrupt. ``engine`` and ``cores``
    (None: all there are) change the speed of a search that ends by itself, and nothing else; where a limit ends one,
    they decide how far it has come. Small searches run on the interpreter, which starts at once, and larger ones on the
    kernel. ``checkpoint`` is a file in which the kernel keeps where it stands, ``resume_from`` one from which it goes
    on; either asks for the kernel, as does ``kernel``, a mutable one that serves many systems. What is too large for a
    kernel the interpreter searches, unless the kernel is asked for; a note says so. An ``explorer`` takes the place of
    engine, cores and checkpoints, and answers the same.

    Raises UsageError for unknown properties and for a scope that does not fit, and ModelError where the scope
    contradicts the model: an assumption is false, or a bound is exceeded at the start.
    """
    meter = Meter(budget, progress)
    with interruptible(meter, whole=whole):
        selection = select(system, properties)
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
        plain = None
        if engine != "kernel" and kernel is None:
            plain = PlainSearch(machine, selection, symmetry, keep_going, meter, SMALL if engine == "auto" else None)
            plain.explore()
            if not plain.gave_up:
                return plain.result(origin)
        # Numba takes a second to import, and small searches do without.
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
                restore=None if resume_from is None else partial(resume, path=resume_from),
                kernel=kernel,
            )
        except UsageError as error:
            if plain is None:
                raise
            plain.go_on()
            plain.notes.append(f"The interpreter searched, and not the kernel, which is faster: {error}.")
            return plain.result(origin)
        return _explored(found, origin)


def _explored(exploration: Exploration, origin: Origin) -> Result:
    """The answer of an exploration that counts anew: what another one noted before is forgotten."""
    exploration.machine.statistics.reset()
    exploration.explore()
    return exploration.result(origin)
