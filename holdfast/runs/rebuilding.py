"""Rebuild the run that shows a finding of a search. The run does not depend on how or in which order states are stored.

The search remembers for each state its predecessor: this gives a path of orbits. Renamed states are no successors of
one another, so the run is rebuilt from concrete states along the path. It begins at the least initial state. Each next
state is the least successor (by state, action, arguments) in the next orbit of the path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import attrs

from holdfast.ir.system import Property
from holdfast.lower.outcome import Refused, Taken
from holdfast.lower.python.interpreter import Args, Interpreter
from holdfast.runs.where import where_it_fails
from holdfast.trace.trace import Claim, Origin, Step, Trace

Edge = tuple[bytes, int, Args]
"""A step in the form in which steps are compared: the new state, the index of the action, the arguments."""

Fits = Callable[[bytes, Edge], bool]
"""Whether the step from a state shows the claim."""


@attrs.frozen
class Discovery:
    """What a search has to show: a claim, and the state or step that shows it.

    ``last`` is the state that shows the claim. ``before`` is the stored state from which the search found it (None for
    an initial state). If a step shows the claim, ``fits`` selects that step. ``depth`` is the number of steps; ``rank``
    orders discoveries of one claim at one depth.
    """

    claim: Claim
    prop: Property | None
    depth: int
    rank: tuple[bytes, ...]
    before: bytes | None
    last: bytes
    fits: Fits | None = None


def keep_least(best: dict[str, Discovery], new: Discovery) -> None:
    """Keep for each claim the discovery with the shorter run, or at equal depth the lesser rank."""
    known = best.get(new.claim.name)
    if known is None or (new.depth, new.rank) < (known.depth, known.rank):
        best[new.claim.name] = new


def repeat_differs(machine: Interpreter, state: bytes, outcome: object) -> bool:
    """Whether the repetition of a step that led to ``state`` shows that the action is not idempotent.

    Ghosts may record the repetition, and it may use up its budget: neither is a change of the protocol. A repetition
    that a bound of the scope cuts shows nothing.
    """
    if not isinstance(outcome, Taken):
        return isinstance(outcome, Refused)
    return outcome.state != state and any(
        outcome.state[field.offset : field.offset + field.count] != state[field.offset : field.offset + field.count]
        for field in machine.layout.fields
        if not field.ghost and not field.hidden
    )


@attrs.frozen
class RunBuilder:
    """Rebuilds runs from the initial states and the stored path to a discovery."""

    machine: Interpreter
    canonical: Callable[[bytes], bytes]
    starts: Sequence[bytes]
    path: Callable[[Discovery], list[bytes]]
    origin: Origin

    def trace(self, found: Discovery) -> Trace:
        """The run that shows the discovery."""
        orbits = [self.canonical(state) for state in self.path(found)]
        # The least start in the first orbit, so that the run does not depend on the stored state.
        before = state = min(start for start in self.starts if self.canonical(start) == orbits[0])
        steps = [self.origin.start(state, dict(self.machine.starts())[state])]
        index = 0
        args: Args = ()
        for position, orbit in enumerate(orbits[1:], start=2):
            # Only the last step has to show the claim; the steps before need only reach the next orbit.
            fits = found.fits if position == len(orbits) else None
            before, (state, index, args) = state, self._least(state, orbit, fits)
            steps.append(self.origin.step(self._name(index), args, state))
        if found.claim.kind == "idempotent":
            steps.append(repetition(self.machine, self.origin, state, self._name(index), args))
        claim = found.claim
        if found.prop is not None and claim.kind != "witness":
            claim = attrs.evolve(claim, where=where_it_fails(self.machine, found.prop, before, state, args))
        return self.origin.trace(claim, steps)

    def _least(self, state: bytes, orbit: bytes, fits: Fits | None) -> Edge:
        # In ascending order the first edge that fits is the least. The canonical states of the others are not needed:
        # in a large symmetry group they would take seconds.
        edges = (edge for edge in sorted(self._edges(state)) if self.canonical(edge[0]) == orbit)
        return next(edge for edge in edges if fits is None or fits(state, edge))

    def _edges(self, state: bytes) -> Iterator[Edge]:
        for index, successors in enumerate(self.machine.successors):
            for new, args in successors(state):
                yield new, index, args

    def _name(self, index: int) -> str:
        return self.machine.system.actions[index].name


def repetition(machine: Interpreter, origin: Origin, state: bytes, action: str, args: Args) -> Step:
    """The trace entry for a step that is taken again in ``state``."""
    outcome = machine.step(state, action, args)
    if isinstance(outcome, Taken):
        return origin.step(action, args, outcome.state, repeat=True)
    assert isinstance(outcome, Refused), "a repetition that was cut shows nothing"
    refused = outcome.label if outcome.error is None else f"{outcome.label} ({outcome.error})"
    return origin.step(action, args, state, repeat=True, refused=refused)
