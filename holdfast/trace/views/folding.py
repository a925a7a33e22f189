"""A run in which each sequence is one cell: ``packets: [] -> [(EVEN, 0)]``, also in the reasons for its claim."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from holdfast.trace.sequences import parts, unpacked, whole
from holdfast.trace.trace import Trace
from holdfast.trace.views.slice import Cause, Slice


@attrs.frozen
class FoldedRun:
    """A run with folded cells. ``places``: for each cell of the run, the index of the folded cell that it is part of.

    Sequences that some state does not hold as operations leave them stay as they are: see ``sequences.unpacked``.
    """

    trace: Trace
    places: tuple[int, ...]

    @classmethod
    def of(cls, trace: Trace) -> FoldedRun:
        """Fold a run."""
        apart = unpacked(trace.cells, [step.values for step in trace.steps])
        cells = tuple(cell for cell, _ in whole(trace.cells, trace.steps[0].values, apart))
        steps = tuple(
            attrs.evolve(step, values=tuple(value for _, value in whole(trace.cells, step.values, apart)))
            for step in trace.steps
        )
        claim = trace.claim
        if claim is not None:
            # The property reads the variables of a sequence; the folded cell has the name of the sequence.
            names = {cell.field.name: cell.field.sequence for cell in trace.cells if cell.field.sequence not in apart}
            reads, before = (
                tuple(dict.fromkeys(names.get(name) or name for name in read))
                for read in (claim.reads, claim.reads_before)
            )
            claim = attrs.evolve(claim, reads=reads, reads_before=before)
        return cls(attrs.evolve(trace, cells=cells, steps=steps, claim=claim), parts(trace.cells, apart))

    def slice(self, found: Slice) -> Slice:
        """The reasons with folded cells. A step wrote or needed a sequence if it wrote or needed a part of it."""
        causes = tuple(Cause(each.number, self._folded(each.wrote), self._folded(each.needed)) for each in found.causes)
        return attrs.evolve(found, reads=self._folded(found.reads), before=self._folded(found.before), causes=causes)

    def _folded(self, cells: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted({self.places[cell] for cell in cells}))
