"""Every random choice of a run, made from one integer seed.

A *site* is a place of the simulator that decides again and again whether a fault happens there, such as a link of the
network. Each site draws from a sequence of its own, so that one site does not disturb another. The faults that have
happened are the *tape* of the run. A run can be replayed from its tape, and from a part of it: a decision that the tape
does not name has the quiet outcome, which is no fault.
"""

from __future__ import annotations

import math
import random
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TypeVar

import msgspec

Draw = Callable[[], float]
"""The next number of a sequence, in [0, 1)."""
T = TypeVar("T")


def stream(seed: int, name: str) -> Callable[[], float]:
    """The sequence of numbers in [0, 1) that belongs to a name. The sequence is the same in every version of Python."""
    digest = blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()
    return random.Random(int.from_bytes(digest, "big")).random  # noqa: S311 - a simulation, no secret


def one(draw: Draw, items: Sequence[T]) -> T:
    """One of some items, drawn evenly."""
    return items[int(draw() * len(items))]


class Fault(msgspec.Struct, frozen=True, gc=False):
    """A fault that has happened: at the decision ``index`` of a site, ``at`` milliseconds.

    ``value``, in [0, 1), says how bad it is, such as how long a delay takes.
    """

    site: str
    index: int
    kind: str
    value: float
    at: int


class Site:
    """A place that decides. ``rates``: for each kind of fault the probability that one decision has it."""

    __slots__ = ("_draw", "_fork", "_index", "_planned", "_rates", "_recorded", "_total", "name")

    def __init__(
        self,
        name: str,
        rates: Mapping[str, float],
        draw: Callable[[], float],
        recorded: Mapping[int, Fault] | None,
        fork: float,
    ) -> None:
        self.name = name
        self._draw = draw
        self._recorded = recorded
        self._fork = fork
        self._planned: deque[tuple[str, float]] = deque()
        self._rates = [(kind, rate) for kind, rate in rates.items() if rate > 0]
        self._total = 0.0
        self._index = -1

    def arm(self) -> None:
        """Decide for faults from now on. A new site decides for none."""
        self._total = sum(rate for _, rate in self._rates)

    def plan(self, kind: str, value: float) -> None:
        """Decide for a fault at the next decision that has no planned fault yet."""
        self._planned.append((kind, value))

    def decide(self, now: int) -> Fault | None:
        """The fault that is to happen now; None if there is none. Say ``Tape.happened`` if it does happen."""
        # Quiet decisions count, too: the number is the place of a fault on the tape.
        self._index += 1
        if self._planned:
            kind, value = self._planned.popleft()
            return Fault(self.name, self._index, kind, value, now)
        if self._recorded is not None and now < self._fork:
            found = self._recorded.get(self._index)
            return None if found is None else msgspec.structs.replace(found, at=now)
        if not self._total:
            return None
        number = self._draw()
        if number >= self._total:
            return None
        for kind, rate in self._rates:
            # The number that is left is uniform in [0, rate), so its share of the rate serves as the value.
            if number < rate:
                return Fault(self.name, self._index, kind, number / rate, now)
            number -= rate
        return None  # Only by rounding: the number lies below the sum of the rates.

    def silence(self) -> None:
        """Decide for no fault from now on."""
        self._total = 0.0
        self._planned.clear()
        self._recorded = {} if self._recorded is not None else None


class Tape:
    """The sites of a run. ``faults``: the faults that have happened, in the order of time.

    ``recorded``: the faults of a run to replay; None if they are drawn from the seed. ``fork``: the virtual time in
    milliseconds from which on faults are drawn all the same. ``rates``: by kind. ``is_quiet``: nothing happens, as
    before ``arm`` and after ``silence``.
    """

    def __init__(
        self,
        seed: int,
        rates: Mapping[str, float],
        recorded: Iterable[Fault] | None = None,
        fork: float = math.inf,
    ) -> None:
        self.faults: list[Fault] = []
        self.is_quiet = True
        self._seed, self._rates, self._fork = seed, rates, fork
        self._sites: dict[str, Site] = {}
        self._recorded: dict[str, dict[int, Fault]] | None = None
        if recorded is not None:
            self._recorded = {}
            for fault in recorded:
                self._recorded.setdefault(fault.site, {})[fault.index] = fault

    def site(self, name: str, kinds: Sequence[str]) -> Site:
        """The site of a name; a new one decides between the kinds."""
        found = self._sites.get(name)
        if found is None:
            rates = {kind: self._rates.get(kind, 0.0) for kind in kinds}
            recorded = None if self._recorded is None else self._recorded.get(name, {})
            found = self._sites[name] = Site(name, rates, stream(self._seed, name), recorded, self._fork)
            if not self.is_quiet:
                found.arm()
        return found

    def plan(self, name: str, kinds: Sequence[str], kind: str, value: float) -> None:
        """Let a fault happen at the next decision of a site. ``name`` and ``kinds`` are those of ``site``.

        Planned faults of one site happen at one decision each, in their order; ``silence`` drops them.
        """
        assert kind in kinds, f"{name} decides between {', '.join(kinds)}"
        self.site(name, kinds).plan(kind, value)

    def happened(self, fault: Fault) -> None:
        """Keep a fault that has happened."""
        self.faults.append(fault)

    def arm(self) -> None:
        """Sites decide for faults from now on."""
        self.is_quiet = False
        for site in self._sites.values():
            site.arm()

    def silence(self) -> None:
        """No site decides for a fault from now on: the run heals."""
        self.is_quiet = True
        for site in self._sites.values():
            site.silence()

    def counts(self) -> dict[str, int]:
        """How often each kind of fault has happened, by kind in alphabetical order."""
        return dict(sorted(Counter(fault.kind for fault in self.faults).items()))


def spread(value: float, part: int) -> float:
    """A further number in [0, 1), made from the value of a fault, for a fault with more than one quantity."""
    return value * (641, 997, 1699, 2711)[part] % 1.0
