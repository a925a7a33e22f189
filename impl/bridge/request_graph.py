"""The graph of a pairing in a scope: the states, and the edges that requests to the controller are.

An edge is a request in a state of the controller, with its answer. Requests that say the same are one edge, whoever
sends them. Where the model leaves a decision to the controller, the graph has the decision that the controller takes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import cached_property

import attrs

from holdfast.check.budget import Budget, Meter
from holdfast.ir.errors import HoldfastError
from impl.bridge.model_choice import ModelChoice
from impl.bridge.paired_run import PairedCall, PairedRun
from impl.bridge.pairing import Pairing
from impl.bridge.request import OperationRequest
from impl.metadata.image import Image

EdgeKey = tuple[str, str]
"""The facts about the controller, and the requests, as text."""


class SuiteLimitError(HoldfastError):
    """A limit has ended the work on a suite, of which nothing is written (exit code 20)."""

    exit_code = 20


@attrs.frozen
class RequestEdge:
    """A request in a state of the controller.

    ``home``: the number of the first state that has it. ``call``: what sends it there. ``to``: the state after it; the
    state itself if the request is refused or changes nothing. ``kind``: the operation and the error that answers it.
    """

    key: EdgeKey
    home: int
    call: PairedCall
    to: int
    kind: str

    @property
    def is_step(self) -> bool:
        """Whether it leads to another state."""
        return self.to != self.home


class RequestGraph:
    """The states that a pairing reaches, breadth first, and its edges, in the order in which they are found.

    Of a memoryless pairing, states with the same facts are one state. ``meter``: watches the limits of the work.
    Raises SuiteLimitError if one is exceeded.
    """

    def __init__(self, pairing: Pairing, meter: Meter | None = None) -> None:
        self.pairing = pairing
        self.meter = Meter(Budget()) if meter is None else meter
        self.states: list[bytes] = []
        self.steps: list[list[tuple[PairedCall, int, str | None]]] = []
        """By state: the calls that lead to other states, those states, and the kind of the request if it is one."""
        self.loops: list[dict[str, PairedCall]] = []
        """By state and kind: the first request that does not lead to another state."""
        self.edges: dict[EdgeKey, RequestEdge] = {}
        self.alone: set[str] = set()
        """The actions that were steps of the model alone."""
        self.left_open: set[str] = set()
        """The actions in which the model allows decisions that the controller does not take."""
        self._numbers: dict[bytes | str, int] = {}
        self._before: list[tuple[int, PairedCall] | None] = []
        self._decisions: dict[EdgeKey, str] = {}
        self._facts: dict[bytes, str] = {}
        self._explore()

    # Exploring ------------------------------------------------------------------------------------------------

    def _explore(self) -> None:
        self.starts = [self._enter(start, None) for start in self.pairing.starts]
        todo = deque(dict.fromkeys(self.starts))
        while todo:
            number = todo.popleft()
            state, known = self.states[number], len(self.states)
            for action, choices in self.pairing.choices(state).items():
                for values, choice in choices.items():
                    if choice.kind(state) != "none":
                        self._add(number, PairedCall(action, values), choice)
            todo.extend(range(known, len(self.states)))
            self.meter.tick(0, len(self.states), len(self.edges), 0)
            self._check_limits()

    def look(self, left: int) -> None:
        """Report the progress after a walk. ``left``: the number of goals that no walk shows yet.

        Raises SuiteLimitError if a limit is exceeded.
        """
        self.meter.look(1, len(self.states), len(self.edges), left)
        self._check_limits()

    def _check_limits(self) -> None:
        if self.meter.spent is not None:
            raise SuiteLimitError(
                f"no suite is made: a limit was exceeded ({self.meter.spent}); allow more with --budget"
            )

    def _add(self, number: int, call: PairedCall, choice: ModelChoice) -> None:
        state, kind = self.states[number], None
        requests = self._requests(state, call)
        if not requests:
            self.alone.add(call.action)
            after = state if self.pairing.memoryless else (*choice.states, state)[0]
            to = self._enter(after, (number, call))
        else:
            key = self._key(state, requests)
            after = self._decided(number, call, choice, key) if len(choice.states) > 1 else (*choice.states, state)[0]
            to = self._enter(after, (number, call))
            kind = self._kind(state, call, choice, after, requests)
            if key not in self.edges:
                self.edges[key] = RequestEdge(key, number, call, to, kind)
        if to != number:
            self.steps[number].append((call, to, kind))
        elif kind is not None:
            self.loops[number].setdefault(kind, call)

    def _kind(
        self, state: bytes, call: PairedCall, choice: ModelChoice, after: bytes, requests: Sequence[OperationRequest]
    ) -> str:
        error = choice.error
        if error is None:
            pairing = self.pairing
            args = pairing.named(call.action, call.values)
            error = pairing.answer(call.action, pairing.cells(state), args, pairing.cells(after))[0]
        return f"{'+'.join(dict.fromkeys(request.op for request in requests))} {error.name}"

    def _enter(self, state: bytes, before: tuple[int, PairedCall] | None) -> int:
        """The number of a state, which is new if it was not met before."""
        same = self._same(state)
        if same not in self._numbers:
            self._numbers[same] = len(self.states)
            self.states.append(state)
            self.steps.append([])
            self.loops.append({})
            self._before.append(before)
        return self._numbers[same]

    def _same(self, state: bytes) -> bytes | str:
        return self.facts(state) if self.pairing.memoryless else state

    def _decided(self, number: int, call: PairedCall, choice: ModelChoice, key: EdgeKey) -> bytes:
        """The state after a call if the controller decides as the implementation does."""
        self.left_open.add(call.action)
        if key not in self._decisions:
            run = self.run_to(number)
            run.take(call)
            self._decisions[key] = self.facts(run.state)
        # A paired run, too, takes the first state that the controller agrees with.
        return next(state for state in choice.states if self.facts(state) == self._decisions[key])

    # Looking up -----------------------------------------------------------------------------------------------

    def number(self, state: bytes) -> int:
        """The number of a state."""
        return self._numbers[self._same(state)]

    def facts(self, state: bytes) -> str:
        """The facts about the controller in a state, as text."""
        if state not in self._facts:
            self._facts[state] = repr(self.pairing.facts(state))
        return self._facts[state]

    def key(self, state: bytes, call: PairedCall) -> EdgeKey | None:
        """The edge that a call is in a state; None for a step of the model alone."""
        requests = self._requests(state, call)
        return self._key(state, requests) if requests else None

    def _requests(self, state: bytes, call: PairedCall) -> tuple[OperationRequest, ...]:
        """The requests of a call. Ids that the model does not count, such as those of objects, never change here."""
        pairing = self.pairing
        args = pairing.named(call.action, call.values)
        return pairing.requests(self._first_image, call.action, pairing.cells(state), args)

    def _key(self, state: bytes, requests: Sequence[OperationRequest]) -> EdgeKey:
        return self.facts(state), repr(requests)

    @cached_property
    def _first_image(self) -> Image:
        return self.pairing.begin(self.pairing.cells(self.pairing.starts[0])).controller.image

    def path_to(self, number: int) -> tuple[bytes, list[PairedCall]]:
        """A shortest path to a state: the initial state, and the calls."""
        calls: list[PairedCall] = []
        while (before := self._before[number]) is not None:
            number, call = before
            calls.append(call)
        return self.states[number], calls[::-1]

    def run_to(self, number: int) -> PairedRun:
        """A paired run to a state, along its shortest path."""
        start, calls = self.path_to(number)
        run = PairedRun(self.pairing, start)
        for call in calls:
            run.take(call)
        return run
