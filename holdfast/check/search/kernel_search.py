"""A search on the kernel: level by level, in compiled code, on one core or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from holdfast.check.budget import Budget, Meter
from holdfast.check.search.exploration import Exploration
from holdfast.ir.system import Property, Scope, System
from holdfast.lower.kernel.kernel import Kernel
from holdfast.lower.kernel.notes import Notes
from holdfast.lower.kernel.store import Level, Store
from holdfast.lower.python.interpreter import Interpreter
from holdfast.runs.rebuilding import Discovery, keep_least
from holdfast.runs.selection import Selection, select

LONG = 2_000_000
"""The number of states from which on a search gets full code. By then it has run for as long as that takes to compile,
or longer: full code saves up to a microsecond a state."""

LEFT = 10.0
"""Seconds that must be left of a budget. LLVM does not look at the clock, and in less time full code saves nothing."""

SUMMED = ("taken", "hits", "cuts", "repeats", "counts")
"""The names of the notes that are summed over the cores."""


@attrs.frozen
class Boundary:
    """The state of a search between two levels.

    ``levels``: number of complete levels. ``sums``: the notes named in ``SUMMED``. ``pending``: see ``Notes.pending``.
    ``found``: the discoveries.
    """

    levels: int
    sums: dict[str, NDArray[Any]]
    pending: NDArray[np.int64]
    found: tuple[Discovery, ...]


class Saver(Protocol):
    """Saves a search so that it can be resumed: see ``Checkpoint``."""

    def save_if_due(self, search: KernelSearch) -> None: ...

    def save(self, search: KernelSearch) -> None: ...


class StateStore(Protocol):
    """Holds the visited states and finds the next ones. ``Store`` explains the members."""

    levels: list[Level]

    @property
    def count(self) -> int: ...

    @property
    def expanded(self) -> int: ...

    @property
    def notes(self) -> list[Notes]: ...

    def begin(self, states: Sequence[bytes]) -> None: ...

    def advance(self, pause: Callable[[], bool]) -> bool: ...

    def least_predecessors(self, depth: int, targets: Sequence[bytes]) -> list[bytes]: ...


class KernelSearch(Exploration):
    """A breadth-first search that stores its states in a kernel's store.

    ``kernel`` may be a mutable kernel, compiled from the system with all its rules; it serves the searches of systems
    that lack some (see ``mutable_kernel``). Otherwise ``quick`` lets the search begin with quick code. ``checkpoint``
    saves the search between two levels. ``restore`` sets the search to a saved state. Raises UsageError for a state
    that takes too many words.

    The store keeps no predecessors. A run is rebuilt backwards from its last state: in each earlier level the search
    looks for the least state that has a step to the next one. The interpreter's search stores the same predecessors.
    """

    def __init__(
        self,
        machine: Interpreter,
        selection: Selection,
        symmetry: bool,
        keep_going: bool,
        meter: Meter,
        cores: int,
        *,
        checkpoint: Saver | None = None,
        restore: Callable[[KernelSearch], None] | None = None,
        kernel: Kernel | None = None,
        mutable: bool = False,
        quick: bool = False,
    ) -> None:
        super().__init__(machine, selection, symmetry, keep_going, meter)
        self.witnesses = selection.of_kind("witness")
        if kernel is None:
            kernel = Kernel(
                machine,
                self.group,
                reduced=self.reduced,
                witnesses=self.witnesses,
                finals=self.finals,
                idempotent=selection.idempotent,
                mutable=mutable,
                quick=quick,
            )
        self.kernel = kernel.without(machine.system.removed) if kernel.mutable else kernel
        self.cores = cores
        self.checkpoint = checkpoint
        self.restore = restore
        self._paths: dict[str, list[bytes]] = {}
        # The number of expanded states and the seconds of the meter when this process began to explore.
        self._began = 0, 0.0

    @cached_property
    def store(self) -> StateStore:
        """The visited states. They need the compiled kernel."""
        if not self.kernel.compiled:
            self.meter.stage("compiling the kernel, which happens once")
        return self.new_store(self.cores)

    def new_store(self, cores: int) -> StateStore:
        """Create the store for the visited states. A subclass may create another one."""
        return Store(self.kernel, cores)

    def resume(self) -> bool:
        """Restore a saved search, if one was given. Return whether there was one."""
        if self.restore is not None:
            self.restore(self)
        return self.restore is not None

    @property
    def distinct(self) -> int:
        return self.store.count

    def silent(self) -> list[Property]:
        steps, states, _ = self._pending()
        return [
            *(prop for index, prop in enumerate(self.kernel.checked) if states >> index & 1),
            *(prop for index, prop in enumerate(self.kernel.steps) if steps >> index & 1),
        ]

    # Exploring ------------------------------------------------------------------------------------------------

    def explore(self) -> None:
        level = self.begin()
        self.counters.initial = len(level)
        if self.cut_short:
            # Initial states are missing. A checkpoint of this search would lose them.
            return
        if self.resume():
            # A complete search ends with an empty level, which does not count. Hence any(), and the -1 for level 0.
            self.counters.depth = sum(any(last > first for first, last in level) for level in self.store.levels) - 1
        else:
            self.store.begin(level)
            self._collect(0)
        if self.group is not None and self.group.form is not None and isinstance(self.store, Store):
            # Rebuilding a run takes the canonical states of thousands of steps. The kernel is here, and much faster.
            self.canonical = lru_cache(1 << 16)(self.kernel.canonical)
        self.boundary = self._boundary()
        self._began = self.store.expanded, self.meter.seconds
        more = True
        while more and self.meter.spent is None and (self.keep_going or not self.violations):
            more = self.store.advance(self._pause)
            self._collect(self.counters.depth + 1)
            self.counters.depth += more
            if self.checkpoint is not None and self.meter.spent is None:
                self.boundary = self._boundary()
                self.checkpoint.save_if_due(self)
        if self.checkpoint is not None and self.meter.spent is not None:
            self.checkpoint.save(self)
        self._count()

    def _boundary(self) -> Boundary:
        """The state of the search for a checkpoint. It is taken when a level is complete."""
        notes = self.store.notes
        sums = {name: np.sum([getattr(each, name) for each in notes], axis=0) for name in SUMMED}
        # Hits are flags: two cores that both saw a rule decide must not add up to 2.
        sums["hits"] = np.minimum(sums["hits"], 1).astype(np.uint8)
        found = (*self.violations.values(), *self.reached.values())
        return Boundary(len(self.store.levels), sums, np.array(self._pending(), np.int64), found)

    def _pause(self) -> bool:
        """Whether a limit is exceeded. The store calls this after each round."""
        generated = self.counters.initial + sum(int(notes.taken.sum()) for notes in self.store.notes)
        count = self.store.count
        self.meter.reserve = self._seconds_to_look_back()
        # No core works between two rounds, so this is where their code may change.
        if count >= LONG and self.kernel.quick and self._has_time():
            self.meter.stage("compiling the kernel again: it pays in a long search")
            self.kernel.improve()
        return self.meter.look(self.counters.depth, count, generated, count - self.store.expanded)

    def _seconds_to_look_back(self) -> float:
        """How long it takes to look back for the runs of all discoveries: each earlier state is expanded once more."""
        depths = [found.depth for found in (*self.violations.values(), *self.reached.values())]
        if any(best[:, 0].any() for notes in self.store.notes for best in notes.discoveries):
            # Found since the last level was complete.
            depths.append(self.counters.depth + 1)
        states = sum(last - first for level in self.store.levels[: max(depths, default=0)] for first, last in level)
        expanded, seconds = self._began
        return states * (self.meter.seconds - seconds) / max(self.store.expanded - expanded, 1)

    def _has_time(self) -> bool:
        limit = self.meter.budget.seconds
        return limit is None or limit - self.meter.seconds - self.meter.reserve > LEFT

    def _pending(self) -> tuple[int, int, int]:
        """The properties that no core has seen yet, as three bit sets: see ``Notes.pending``."""
        return tuple(np.bitwise_and.reduce([notes.pending for notes in self.store.notes]).tolist())

    def _count(self) -> None:
        """Sum the counts of the cores. Add hits and cuts to the interpreter's statistics, which the figures read."""
        notes, counters, statistics = self.store.notes, self.counters, self.machine.statistics
        counters.taken = np.sum([each.taken for each in notes], axis=0).tolist()
        counters.repeats = np.sum([each.repeats for each in notes], axis=0).tolist()
        counters.generated = counters.initial + sum(counters.taken)
        counters.unshown_repeats, counters.cut_ends = np.sum([each.counts for each in notes], axis=0).tolist()
        counters.waiting = self.store.count - self.store.expanded
        counters.widest_level = max(sum(last - first for first, last in level) for level in self.store.levels)
        mine = self.kernel.statistics
        for each in notes:
            mine.note(each.hits.tolist(), each.cuts.tolist())
        statistics.add(mine)

    # Discoveries ----------------------------------------------------------------------------------------------

    def _collect(self, depth: int) -> None:
        """Collect the discoveries of all cores at this depth. Then reset the notes for the next level.

        Reached witnesses are no longer pending.
        """
        for notes in self.store.notes:
            self._collect_from(notes, depth)
            for best in notes.discoveries:
                best[:, 0] = 0
        pending = self._pending()
        reached = sum(1 << index for index, prop in enumerate(self.witnesses) if prop.name in self.reached)
        # Every core skips what any core has seen.
        for notes in self.store.notes:
            notes.pending[:] = (pending[0], pending[1], pending[2] & ~reached)

    def _collect_from(self, notes: Notes, depth: int) -> None:
        # The rank of a state ends with the state.
        for prop, (*_, state) in self._best(self.kernel.checked, notes.states):
            keep_least(self.violations, self.found_state(prop, state, None, depth))
        for prop, (*_, state) in self._best(self.witnesses, notes.reached):
            keep_least(self.reached, self.found_state(prop, state, None, depth))
        if notes.ends[0, 0]:
            # Only the expansion of a state shows that it has no step, and that belongs to the next level.
            *_, state = self._states(notes.ends[0, 1:])
            keep_least(self.violations, self.found_end(state, None, depth - 1))
        # The rank of a step is (canonical new, canonical old, old, new).
        for prop, (_, _, old, new) in self._best(self.kernel.steps, notes.steps):
            keep_least(self.violations, self.found_step(prop, old, new, depth))
        for index in range(len(self.actions)):
            if notes.repeated[index, 0]:
                _, _, old, new = self._states(notes.repeated[index, 1:])
                keep_least(self.violations, self.found_repeat(index, old, new, depth))

    def _best(self, props: Sequence[Property], best: NDArray[np.int64]) -> list[tuple[Property, list[bytes]]]:
        return [(prop, self._states(best[index, 1:])) for index, prop in enumerate(props) if best[index, 0]]

    def _states(self, words: NDArray[np.int64]) -> list[bytes]:
        """The states that a rank consists of, unpacked."""
        return [self.kernel.packing.unpack(row) for row in words.reshape(-1, self.kernel.words)]

    # Looking back ---------------------------------------------------------------------------------------------

    def path(self, found: Discovery) -> list[bytes]:
        # The first call finds the paths of all discoveries, since one pass through the levels serves them all.
        if not self._paths:
            self._look_back([*self.violations.values(), *self.reached.values()])
        return self._paths[found.claim.name]

    def _look_back(self, all_found: list[Discovery]) -> None:
        """Find the stored states on the way to every discovery, in one pass back through the levels.

        ``paths`` are built from the end. ``depths`` holds the depth of the last state added to each path.
        """
        paths: dict[str, list[bytes]] = {}
        depths: dict[str, int] = {}
        for found in all_found:
            name = found.claim.name
            paths[name] = [found.last] if found.before is None else [found.last, found.before]
            depths[name] = found.depth - len(paths[name]) + 1
        for depth in range(max(depths.values(), default=0), 0, -1):
            names = [name for name, level in depths.items() if level == depth]
            if names:
                targets = list(dict.fromkeys(paths[name][-1] for name in names))
                before = self.store.least_predecessors(depth - 1, targets)
                known = dict(zip(targets, before, strict=True))
                for name in names:
                    paths[name].append(known[paths[name][-1]])
                    depths[name] -= 1
        # One state a level: a path with a gap would be rebuilt as a run of other steps.
        assert all(len(paths[found.claim.name]) == found.depth + 1 for found in all_found)
        self._paths = {name: path[::-1] for name, path in paths.items()}


def mutable_kernel(
    system: System, scope: Scope, *, properties: Sequence[str] | None = None, symmetry: bool = True
) -> Kernel:
    """A kernel, compiled once, for the searches of this system and of all systems that lack some of its rules.

    ``properties`` and ``symmetry`` must be those of the searches. Raises UsageError as a search does, and if one of
    the systems would not fit the scope.
    """
    selection = select(system, properties)
    machine = Interpreter(system, scope, ghosts=selection.ghosts, properties=selection.properties)
    return KernelSearch(machine, selection, symmetry, False, Meter(Budget()), cores=1, mutable=True).kernel
