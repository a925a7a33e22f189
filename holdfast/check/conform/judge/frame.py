"""A frame: a model prepared for logs of all sizes, which keeps what it has compiled for the sizes of earlier logs.

A process that judges many logs spends much of its time on compiling unless the logs share a frame. What a frame keeps
depends on the model, on the literals, on the sizes and on the hidden actions, and on nothing else of a log.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import attrs

from holdfast.check.conform.judge.counting import Counting
from holdfast.check.conform.judge.hidden import HiddenActions
from holdfast.check.conform.judge.machine import MOST_KEPT, LogMachine
from holdfast.check.conform.judge.order import Uses, uses
from holdfast.check.conform.judge.projection import Projection, project
from holdfast.check.conform.judge.window import Windows
from holdfast.ir.errors import UsageError
from holdfast.ir.system import Scope, System
from holdfast.lower.layout import Layout
from holdfast.lower.python.prune import prune

PROJECTED = ("Stream", "Request")
"""The sorts that are projected if no option names one: the first of them that the model has."""

MOST_SIZES = 128
"""The limit of sizes for which a frame keeps a compiled model; the one that was unused for longest goes first."""

MOST_FRAMES = 4
"""The limit of frames of one model, which differ in their literals."""


class SizedModel:
    """A model in the sizes of a log. It is compiled action by action, when an event first needs the action."""

    def __init__(self, frame: Frame, sizes: Mapping[str, int], hidden: tuple[str, ...]) -> None:
        self.system = attrs.evolve(
            frame.system, variables=tuple(attrs.evolve(var, given=False) for var in frame.system.variables)
        )
        self.hidden = HiddenActions(frame.system, hidden, frame.dropped, frame.uses.counted)
        scope = Scope("log", dict(sizes), {}, {}, self.system.init.at)
        kept = frozenset(var.name for var in self.system.variables if var.ghost) - frame.dropped
        self.layout = Layout(self.system, scope, kept)
        self.machine = LogMachine(self.layout)
        self.windows = Windows(self.layout, frame.literals, frame.uses.plain)
        """The windows before the first event. Copies of them share the moves of states."""
        self.counting = {
            action.name: Counting.of(
                prune(action.body, frame.dropped),
                tuple(map(self.layout.field, frame.uses.counted.get(action.name, ()))),
            )
            for action in frame.system.actions
        }


@attrs.frozen
class Frame:
    """A model before the log is known: its ghosts are dropped, and its uses of Nats are checked.

    ``literals``: by Nat, the numbers of the log that stand for 1, 2, … of the model.
    """

    system: System
    dropped: frozenset[str]
    uses: Uses
    literals: Mapping[str, tuple[int, ...]]
    _sized: dict[object, SizedModel] = attrs.field(factory=dict, init=False, eq=False, repr=False)
    _projections: dict[str, Projection] = attrs.field(factory=dict, init=False, eq=False, repr=False)

    def sized(self, sizes: Mapping[str, int], hidden: tuple[str, ...]) -> SizedModel:
        """The model in some sizes, with some actions hidden. All logs of these sizes share it."""
        key = tuple(sorted(sizes.items())), hidden
        found = self._sized.pop(key, None)
        if found is None:
            found = SizedModel(self, sizes, hidden)
        # The newest is the last, so the first is the one that was unused for longest.
        self._sized[key] = found
        if len(self._sized) > MOST_SIZES:
            del self._sized[next(iter(self._sized))]
        self._forget_steps()
        return found

    def _forget_steps(self) -> None:
        """Let the machines together keep no more steps than one may keep alone."""
        kept = 0
        for sized in reversed(self._sized.values()):
            kept += sized.machine.kept
            if kept > MOST_KEPT:
                sized.machine.forget()

    def projection(self, sort: str) -> Projection:
        """The division of the model by the elements of a sort."""
        if sort not in self._projections:
            self._projections[sort] = project(self.system, sort, self.dropped)
        return self._projections[sort]

    @classmethod
    def of(cls, system: System, literals: Mapping[str, Mapping[int, int]]) -> Frame:
        """The frame of a model. Raises UsageError for a model that computes with a Nat, and for unfit literals."""
        dropped = frozenset(var.name for var in system.variables if var.ghost)
        used = uses(system, dropped)
        found = {nat.name: _literals(system, nat.name, used, literals.get(nat.name, {})) for nat in system.nats}
        for nat, reason in used.plain.items():
            if any(number != value for number, value in literals.get(nat, {}).items()):
                raise UsageError(
                    f"the literals rename numbers of {nat}, and {system.name} uses them unchanged, since {reason}; "
                    "leave them out, and let the log write the model's own numbers"
                )
        for nat in literals:
            if nat not in found:
                raise UsageError(
                    f"the literals name {nat}, and {system.name} has the Nats {', '.join(found) or 'none'}; "
                    "leave it out"
                )
        return cls(system, dropped, used, found)

    def sort(self, wanted: str | None) -> str | None:
        """The sort to project: ``wanted``, or else one of PROJECTED. Raises UsageError for an unknown sort."""
        known = [sort.name for sort in self.system.sorts]
        if wanted is not None and wanted not in known:
            raise UsageError(f"{self.system.name} has no sort {wanted}; it has {', '.join(known) or 'none'}")
        return wanted or next((sort for sort in PROJECTED if sort in known), None)


def _literals(system: System, nat: str, used: Uses, said: Mapping[int, int]) -> tuple[int, ...]:
    if nat in used.plain:
        return ()
    most = max((*used.literals.get(nat, ()), *said), default=0)
    for number in range(1, most + 1):
        if number not in said:
            raise UsageError(
                f"{system.name} names {number} of {nat}, and the log does not say which number that is; write "
                f'"literals": {{"{nat}": {{"{number}": …}}}} into the header of the log or into the mapping'
            )
    values = tuple(said[number] for number in range(1, most + 1))
    if said.get(0, 0) != 0 or any(one >= two for one, two in itertools.pairwise((0, *values))):
        raise UsageError(f"the literals of {nat} are {', '.join(map(str, values))}; let them ascend from 0, which is 0")
    return values


class Frames:
    """The frames of one model, by the literals of the logs."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._frames: dict[object, Frame] = {}

    def of(self, literals: Mapping[str, Mapping[int, int]]) -> Frame:
        """The frame for logs with these literals. Raises UsageError as ``Frame.of`` does."""
        key = frozenset((nat, frozenset(numbers.items())) for nat, numbers in literals.items())
        found = self._frames.pop(key, None)
        if found is None:
            found = Frame.of(self.system, literals)
        self._frames[key] = found
        if len(self._frames) > MOST_FRAMES:
            del self._frames[next(iter(self._frames))]
        return found
