"""What the functions of an interpreter note while a search calls them."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.ir.types import BUDGET


class Statistics:
    """Which rules decided something, and what the bounds of the scope cut off; both by action.

    A ``require`` is decisive where it is the line that refused, a labelled condition where it held, a labelled effect
    where it took place. Only the search's functions count, not ``Interpreter.step``.
    """

    def __init__(self) -> None:
        self.hits = bytearray()
        """One byte a rule and action, 1 once it was decisive. The generated functions write here."""
        self.cut_counts: list[int] = []
        """One number an action and bound. The generated functions write here."""
        self._rules: dict[tuple[str, str], int] = {}
        self._bounds: dict[tuple[str, str], int] = {}

    def rule(self, action: str, label: str) -> int:
        """Where ``hits`` has the place of a rule in an action."""
        if (action, label) not in self._rules:
            self._rules[action, label] = len(self.hits)
            self.hits.append(0)
        return self._rules[action, label]

    def bound(self, action: str, bound: str) -> int:
        """Where ``cut_counts`` has the place of a bound in an action."""
        if (action, bound) not in self._bounds:
            self._bounds[action, bound] = len(self.cut_counts)
            self.cut_counts.append(0)
        return self._bounds[action, bound]

    @property
    def decisive(self) -> frozenset[str]:
        """The labels of the rules that were decisive in some action."""
        return frozenset(label for _, label in self.decisive_in)

    @property
    def decisive_in(self) -> frozenset[tuple[str, str]]:
        """The same as pairs of action and label."""
        return frozenset(pair for pair, place in self._rules.items() if self.hits[place])

    @property
    def cuts(self) -> dict[tuple[str, str], int]:
        """How many steps were cut, by action and bound; without the pairs that cut none."""
        return {pair: self.cut_counts[place] for pair, place in self._bounds.items() if self.cut_counts[place]}

    def cut_by_bounds(self) -> int:
        """How many steps went beyond a bound; those that only a used up budget cut do not count."""
        return sum(self.cut_counts[place] for (_, bound), place in self._bounds.items() if bound != BUDGET)

    def places(self, rules: Sequence[str]) -> list[int]:
        """Where ``hits`` has the places of these rules, each of the form ``LABEL`` or ``LABEL@action``."""
        return [
            place for (action, label), place in self._rules.items() if label in rules or f"{label}@{action}" in rules
        ]

    def counted(self, hits: Sequence[int]) -> dict[tuple[str, str], int]:
        """What was counted elsewhere in the places of ``hits``, by action and label; without the rules that did
        nothing.
        """
        return {pair: int(hits[place]) for pair, place in self._rules.items() if hits[place]}

    def note(self, hits: Sequence[int], cuts: Sequence[int]) -> None:
        """Add what was noted elsewhere in the same places."""
        for place, hit in enumerate(hits[: len(self.hits)]):
            self.hits[place] |= int(hit)
        for place, count in enumerate(cuts[: len(self.cut_counts)]):
            self.cut_counts[place] += int(count)

    def add(self, other: Statistics) -> None:
        """Add what other statistics of the same system hold."""
        for action, label in sorted(other.decisive_in):
            self.hits[self.rule(action, label)] = 1
        for (action, bound), count in sorted(other.cuts.items()):
            self.cut_counts[self.bound(action, bound)] += count

    def blank(self) -> Statistics:
        """The same places, with nothing noted."""
        other = Statistics()
        other._rules, other._bounds = self._rules, self._bounds
        other.hits, other.cut_counts = bytearray(len(self.hits)), [0] * len(self.cut_counts)
        return other

    def reset(self) -> None:
        """Forget everything noted so far."""
        self.hits[:] = bytes(len(self.hits))
        self.cut_counts[:] = [0] * len(self.cut_counts)
