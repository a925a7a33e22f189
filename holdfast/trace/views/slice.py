"""A dynamic slice of a run: the steps that led to the claim, and no others.

The slice begins with the cells that decide the property at the end: these are the wanted cells. Going back, a step
belongs to the slice if it changed a wanted cell. Then the cells that its rules and its written values read become
wanted too, in the state before it. The steps that are left out changed no wanted cell. So the steps of the slice,
taken alone from the same start, show the same, unless a bound of the scope cuts one of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import attrs

from holdfast.ir.system import Property
from holdfast.lower.layout import Layout
from holdfast.lower.outcome import Taken
from holdfast.lower.provenance.effects import Effect, effect
from holdfast.lower.provenance.reads import NOTHING, Reads, ask
from holdfast.trace.trace import Claim, Step, Trace


@attrs.frozen
class Cause:
    """A step of the slice: the wanted cells that it changed, and the cells that it needed to change them."""

    number: int
    wrote: tuple[int, ...]
    needed: tuple[int, ...]


@attrs.frozen
class Slice:
    """The steps that led to the claim, which a run shows after step ``end``.

    ``reads`` are the cells that decide the claim in that state, ``before`` the cells that decide it in the state before
    the last step. A cell is given by its index in a state; the indices are sorted.
    """

    claim: Claim
    end: int
    reads: tuple[int, ...]
    before: tuple[int, ...]
    causes: tuple[Cause, ...]

    @property
    def left_out(self) -> int:
        """The number of steps up to ``end`` that are not in the slice."""
        return self.end - len(self.causes)

    def writer(self, cell: int, by: int) -> int:
        """The last step up to step ``by`` that changed a wanted cell; 0 if none did since the start."""
        return max((cause.number for cause in self.causes if cause.number <= by and cell in cause.wrote), default=0)

    def readers(self, cause: Cause, cell: int) -> list[int]:
        """The later steps that needed the value that ``cause`` wrote; ``end`` + 1 stands for the property itself."""
        found = [
            other.number
            for other in self.causes
            if other.number > cause.number
            and cell in other.needed
            and self.writer(cell, other.number - 1) == cause.number
        ]
        asked = [(self.reads, self.end), (self.before, self.end - 1)]
        if any(cell in cells and self.writer(cell, at) == cause.number for cells, at in asked):
            found.append(self.end + 1)
        return found


@attrs.frozen
class SliceQuestion:
    """The question why a run shows a claim. ``prop`` is the claim's property; None if it is none of the model's."""

    claim: Claim
    prop: Property | None


def slice_run(layout: Layout, trace: Trace, question: SliceQuestion) -> Slice:
    """The slice of a run of the layout's system, for the claim that it shows at its end.

    A repeated step is no part of the run. If an action is not idempotent, the slice starts from the cells that its
    repetition reads. For a deadlock it starts from the cells that the refusing rules read.
    """
    steps = [step for step in trace.steps if not step.repeat]
    end = len(steps) - 1
    reads, before = _asked(layout, steps, question)
    # The last step itself is part of a step property's violation, and of a violated idempotence.
    involved = question.claim.kind in ("step", "idempotent")
    wanted = reads
    causes: list[Cause] = []
    for number in range(end, 0, -1):
        old, step = steps[number - 1], steps[number]
        changed = frozenset(cell for cell in wanted if old.code[cell] != step.code[cell])
        last = number == end
        if changed or (last and involved):
            found = _effect(layout, old.code, step)
            needed = found.guards.union(*(found.sources[cell] for cell in changed))
            # A wanted cell that this step does not change may still depend on cells: the step might have written it.
            kept = wanted - changed
            needed |= frozenset(source for cell in kept for source in found.sources[cell] if source != cell)
            itself = frozenset(cell for cell in kept if cell in found.sources[cell])
            causes.append(Cause(number, tuple(sorted(changed)), tuple(sorted(needed))))
            wanted = needed | itself
        if last:
            wanted |= before
    return Slice(question.claim, end, tuple(sorted(reads)), tuple(sorted(before)), tuple(reversed(causes)))


def _asked(layout: Layout, steps: Sequence[Step], question: SliceQuestion) -> tuple[Reads, Reads]:
    """The cells that decide the claim: in the last state, and in the state before it."""
    last = steps[-1]
    if question.prop is not None:
        old = steps[-2] if len(steps) > 1 else last
        args = () if question.prop.of is None else _args(layout, last)
        asked = ask(layout, question.prop, last.code, old.code, args)
        return asked.reads, asked.before
    if question.claim.kind == "idempotent":
        again = _effect(layout, last.code, last)
        if not isinstance(again.outcome, Taken):
            return again.guards, NOTHING
        changed = [cell for cell, code in enumerate(again.outcome.state) if code != last.code[cell]]
        # Idempotence ignores ghost variables and budgets.
        shown = [cell for cell in changed if not (layout.cells[cell].field.ghost or layout.cells[cell].field.hidden)]
        return again.guards.union(*(again.sources[cell] for cell in shown)), NOTHING
    return _stuck(layout, last.code), NOTHING


def _stuck(layout: Layout, state: bytes) -> Reads:
    """The cells read by the rules that refuse every step in a state."""
    reads = NOTHING
    for action in layout.system.actions:
        for args in itertools.product(*(range(layout.codes(param.type)) for param in action.params)):
            reads |= effect(layout, state, action, args).guards
    return reads


def _effect(layout: Layout, state: bytes, step: Step) -> Effect:
    return effect(layout, state, layout.system.action(step.action), _args(layout, step))


def _args(layout: Layout, step: Step) -> tuple[int, ...]:
    return layout.encode_args(layout.system.action(step.action), dict(step.args))
