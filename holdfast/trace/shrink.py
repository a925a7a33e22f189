"""Shrink a run: find a smaller run that shows the same. Fewer steps count first, then lesser arguments.

A run is a list of calls; the first call is the initial condition with its arguments. The shrinker knows no model. It
passes every smaller candidate to ``shows``, and keeps a candidate only if its replay still shows what the first run
shows. It repeats these passes until none of them helps:

1. drop chunks of steps, from half of the run down to single steps (delta debugging);
2. lower arguments everywhere at once: replace a value of a type by a lesser one (so names merge), lower all large
   numbers by one, swap two names;
3. lower single arguments;
4. ask ``shortcut``, which knows states, for fewer steps between two places of the run.

Every kept run is less than the one before: it has fewer steps, or equally many steps and lesser argument codes. So
shrinking ends. Equal runs shrink to equal runs, because the only early stop is a number of tries, never a clock (or
the caller stops it, with Ctrl-C).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import attrs

from holdfast.ir.types import Choice, IntType, NatType, SortType

Call = tuple[str, tuple[int, ...]]
"""An action and the codes of its arguments."""

Run = tuple[Call, ...]
"""The calls of a run, from the initial condition on."""


def never() -> bool:
    """The default of ``stopped``: nobody stops the shrinker."""
    return False


@attrs.define
class Tries:
    """The limit of candidates to try, and the number tried so far. The caller may end all with ``stopped``."""

    most: int
    stopped: Callable[[], bool] = never
    made: int = 0

    @property
    def left(self) -> int:
        """How many more candidates may be tried."""
        return 0 if self.stopped() else self.most - self.made


def size(run: Run) -> tuple[int, tuple[int, ...]]:
    """The order of runs: the number of steps, then the arguments."""
    return len(run), tuple(code for _, args in run for code in args)


class Shrinker:
    """Shrinks one run.

    ``shows`` tells whether a candidate is a run of the model and its end shows the same as the first run. ``params``
    are the types of each action's parameters. ``shortcut`` finds a run of fewer steps, or None, and counts its own
    tries.
    """

    def __init__(
        self,
        shows: Callable[[Run], bool],
        params: Mapping[str, tuple[Choice, ...]],
        tries: Tries,
        shortcut: Callable[[Run], Run | None] | None = None,
    ) -> None:
        self.shows = shows
        self.params = params
        self.tries = tries
        self.shortcut = shortcut
        self.best: Run = ()
        self._tried: set[Run] = set()

    def shrink(self, run: Run) -> Run:
        """The least run found; ``run`` itself if there is none."""
        self.best, self._tried = run, {run}
        while self.tries.left:
            before = self.best
            self._drop_chunks()
            self._lower_together()
            self._lower_one_by_one()
            if self.best == before and not self._take_shortcut():
                break
        return self.best

    def _keep(self, candidate: Run) -> bool:
        """Keep a candidate that is less than the best run and shows the same; returns whether it was kept."""
        if candidate in self._tried or size(candidate) >= size(self.best) or not self.tries.left:
            return False
        self.tries.made += 1
        self._tried.add(candidate)
        if not self.shows(candidate):
            return False
        self.best = candidate
        return True

    # Fewer steps ----------------------------------------------------------------------------------------------

    def _drop_chunks(self) -> None:
        """Try to drop chunks, from the end of the run to its start; halve the chunks until they are single steps."""
        length = max(1, (len(self.best) - 1) // 2)
        while length:
            end = len(self.best)
            while end > 1:
                start = max(1, end - length)
                self._keep(self.best[:start] + self.best[end:])
                end = start
            length //= 2

    def _take_shortcut(self) -> bool:
        found = None if self.shortcut is None else self.shortcut(self.best)
        if found is None or size(found) >= size(self.best) or not self.shows(found):
            return False
        self.best = found
        return True

    # Lesser arguments -----------------------------------------------------------------------------------------

    def _lower_together(self) -> None:
        for kind in dict.fromkeys(kind for kinds in self.params.values() for kind in kinds):
            self._merge(kind)
            if isinstance(kind, NatType | IntType):
                self._close_gaps(kind)
            if isinstance(kind, SortType):
                self._exchange(kind)

    def _merge(self, kind: Choice) -> None:
        """Replace the greatest values by lesser ones, at every place of the run."""
        for high in reversed(self._used(kind)):
            for low in range(high):
                if self._keep(self._mapped(kind, {high: low})):
                    break

    def _close_gaps(self, kind: Choice) -> None:
        """Lower all numbers from some number on by one: after an earlier epoch was lowered, the later ones follow."""
        for low in self._used(kind):
            if low:
                self._keep(self._mapped(kind, {code: code - 1 for code in self._used(kind) if code >= low}))

    def _exchange(self, kind: Choice) -> None:
        """Swap two names, so that the name used first is the first of its sort."""
        used = self._used(kind)
        for low in used:
            for high in used:
                if low < high:
                    self._keep(self._mapped(kind, {low: high, high: low}))

    def _lower_one_by_one(self) -> None:
        for place, (_, args) in enumerate(self.best):
            for position, code in enumerate(args):
                for low in range(code):
                    if self._keep(self._replaced(place, position, low)):
                        break

    def _used(self, kind: Choice) -> list[int]:
        """The values of a type that the run names, in order."""
        return sorted({code for call in self.best for known, code in self._arguments(call) if known == kind})

    def _mapped(self, kind: Choice, changes: Mapping[int, int]) -> Run:
        return tuple(
            (
                call[0],
                tuple(changes.get(code, code) if known == kind else code for known, code in self._arguments(call)),
            )
            for call in self.best
        )

    def _replaced(self, place: int, position: int, code: int) -> Run:
        action, args = self.best[place]
        changed = (action, (*args[:position], code, *args[position + 1 :]))
        return (*self.best[:place], changed, *self.best[place + 1 :])

    def _arguments(self, call: Call) -> Iterator[tuple[Choice, int]]:
        action, args = call
        return zip(self.params[action], args, strict=True)
