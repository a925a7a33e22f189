"""Statistics of a search: decisive rules, cuts by bounds, and shortages, noted by the generated functions."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from holdfast.ir.errors import Place
from holdfast.ir.system import Param
from holdfast.ir.types import BUDGET


@attrs.frozen
class Shortage:
    """A rule (``at``) of an action that asked, in some state, for more than the last value of a parameter."""

    action: str
    param: Param
    at: Place


class Statistics:
    """The decisive rules, the number of steps that bounds of the scope cut, and the shortages; all by action.

    A ``require`` is decisive when it refuses an instance, a labelled condition when it holds, a labelled effect when it
    takes place. Only the functions of a search count, not ``Interpreter.step``.

    Each shortage, and each pair of an action and a rule, has a *place* in ``hits``, each pair of an action and a bound
    one in ``cut_counts``. They get their places when generated text first mentions them.
    """

    def __init__(self) -> None:
        self.hits = bytearray()
        """One byte for each rule of an action and each shortage: 1 once it was noted. Generated functions write it."""
        self.cut_counts: list[int] = []
        """One count for each action and bound. The generated functions write here."""
        self._rules: dict[tuple[str, str], int] = {}
        self._bounds: dict[tuple[str, str], int] = {}
        self._shortages: dict[Shortage, int] = {}

    def rule(self, action: str, label: str) -> int:
        """The place in ``hits`` of a rule in an action."""
        if (action, label) not in self._rules:
            self._rules[action, label] = len(self.hits)
            self.hits.append(0)
        return self._rules[action, label]

    def bound(self, action: str, bound: str) -> int:
        """The place in ``cut_counts`` of a bound in an action."""
        if (action, bound) not in self._bounds:
            self._bounds[action, bound] = len(self.cut_counts)
            self.cut_counts.append(0)
        return self._bounds[action, bound]

    def shortage(self, action: str, param: Param, at: Place) -> int:
        """The place in ``hits`` of a shortage."""
        shortage = Shortage(action, param, at)
        if shortage not in self._shortages:
            self._shortages[shortage] = len(self.hits)
            self.hits.append(0)
        return self._shortages[shortage]

    @property
    def decisive(self) -> frozenset[str]:
        """The labels of the rules that were decisive in some action."""
        return frozenset(label for _, label in self.decisive_in)

    @property
    def decisive_in(self) -> frozenset[tuple[str, str]]:
        """The pairs of action and label of the decisive rules."""
        return frozenset(pair for pair, place in self._rules.items() if self.hits[place])

    @property
    def shortages(self) -> list[Shortage]:
        """The shortages that were noted, in the order in which generated text mentions them."""
        return [shortage for shortage, place in self._shortages.items() if self.hits[place]]

    @property
    def cuts(self) -> dict[tuple[str, str], int]:
        """The number of cut steps, by action and bound; without pairs that cut none."""
        return {pair: self.cut_counts[place] for pair, place in self._bounds.items() if self.cut_counts[place]}

    def cut_by_bounds(self) -> int:
        """The number of steps that bounds cut, without those that a used up budget cut."""
        return sum(self.cut_counts[place] for (_, bound), place in self._bounds.items() if bound != BUDGET)

    def places(self, rules: Sequence[str]) -> list[int]:
        """The places in ``hits`` of these rules, each ``LABEL`` (in every action) or ``LABEL@action``."""
        return [
            place for (action, label), place in self._rules.items() if label in rules or f"{label}@{action}" in rules
        ]

    def counted(self, hits: Sequence[int]) -> dict[tuple[str, str], int]:
        """Counts that were made elsewhere, in the places of ``hits``, by action and label; without zeros."""
        return {pair: int(hits[place]) for pair, place in self._rules.items() if hits[place]}

    def note(self, hits: Sequence[int], cuts: Sequence[int]) -> None:
        """Add hits and cuts that were noted elsewhere, in the same places."""
        # The other arrays may be longer: a block of notes has at least one place.
        for place, hit in enumerate(hits[: len(self.hits)]):
            self.hits[place] |= int(hit)
        for place, count in enumerate(cuts[: len(self.cut_counts)]):
            self.cut_counts[place] += int(count)

    def add(self, other: Statistics) -> None:
        """Add other statistics of the same system. Its places may differ, so rules and bounds are matched by name."""
        for action, label in sorted(other.decisive_in):
            self.hits[self.rule(action, label)] = 1
        for shortage in other.shortages:
            self.hits[self.shortage(shortage.action, shortage.param, shortage.at)] = 1
        for (action, bound), count in sorted(other.cuts.items()):
            self.cut_counts[self.bound(action, bound)] += count

    def blank(self) -> Statistics:
        """Statistics with the same places, in which nothing is noted."""
        other = Statistics()
        # The dictionaries are shared: the places are those of one generated text.
        other._rules, other._bounds, other._shortages = self._rules, self._bounds, self._shortages
        other.hits, other.cut_counts = bytearray(len(self.hits)), [0] * len(self.cut_counts)
        return other

    def reset(self) -> None:
        """Set all hits and cuts to zero."""
        # In place: the generated functions hold these very objects.
        self.hits[:] = bytes(len(self.hits))
        self.cut_counts[:] = [0] * len(self.cut_counts)
