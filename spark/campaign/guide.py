"""The guide of a round of a campaign: the runs of earlier rounds of which new runs are made.

A *round* is some units with consecutive numbers. In a guided campaign, a unit keeps each run that is the first to reach
a *feature*: two events of one stream in a row, a situation in its circumstances, or a moment; the first decision of a
rule is a moment, too. If a rule is switched off, circumstances are no features: a parent that is drawn for its
circumstances seldom helps to find the lack of the rule.

The guide of a round has, for each feature, the first of the kept runs that reached it (a *corpus*, as fuzzers say), and
how often all runs did. It is made of the tables of the rounds before, in the order of the units, so it does not depend
on when or where these ran.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from enum import Enum, auto
from functools import cached_property, partial
from itertools import accumulate
from typing import TYPE_CHECKING

import attrs

from spark.campaign.config import Config
from spark.campaign.reading import READERS, Row, unit_row
from spark.campaign.words import DECIDING_RULE, MISSING_RULE

if TYPE_CHECKING:
    from spark.cluster.storage import FileStorage

Feature = tuple[str, ...]
"""Two events; a situation and its circumstances; or a moment: a situation, the last event, and the event before.

Of the moments of rules, the rule is in place of the last event.
"""


@attrs.frozen(kw_only=True)
class KeptRun:
    """A run of a unit that reached features first: each with the virtual time. ``case``: what repeats the run."""

    run: int
    case: bytes
    reached: tuple[tuple[Feature, int], ...]


@attrs.frozen(kw_only=True)
class ReachedFeature:
    """A feature that runs have reached ``times`` times: the case of the first of them reached it at time ``at``."""

    feature: Feature
    times: int
    case: bytes
    at: int

    @property
    def is_lack(self) -> bool:
        """Whether a rule that is switched off would have decided something then."""
        return self.feature[0] == MISSING_RULE

    @property
    def is_decision(self) -> bool:
        """Whether a rule decided something then, for the first time in its run."""
        return self.feature[0] == DECIDING_RULE


@attrs.define(slots=False, eq=False)
class Guide:
    """The features that were reached, in the order in which runs first reached them. It is not to be changed.

    ``seeks_lack``: whether a rule is switched off, whose lack is to be found.
    """

    reached: tuple[ReachedFeature, ...]
    seeks_lack: bool = False

    @cached_property
    def features(self) -> frozenset[Feature]:
        """All features that were reached."""
        return frozenset(each.feature for each in self.reached)

    @cached_property
    def _sums(self) -> list[float]:
        """For each feature: the sum of the weights up to it. A feature that was reached half as often weighs double.

        If a rule is switched off, the decisions of others weigh as much as the pairs and the other moments together:
        near a rare decision is a rarer one. If none is, they weigh nothing. The moments of missing rules weigh as much
        as all of these: only there can the lack show.
        """
        totals: dict[_Group, float] = {}
        for each in self.reached:
            totals[_group(each)] = totals.get(_group(each), 0.0) + 1 / each.times
        shares = dict.fromkeys(totals, 1)
        if _Group.OTHERS in totals and not self.seeks_lack:
            shares[_Group.DECISIONS] = 0
        shares[_Group.LACKS] = max(1, sum(shares[group] for group in totals if group is not _Group.LACKS))
        return list(accumulate(shares[group := _group(each)] / totals[group] / each.times for each in self.reached))

    def rare(self, number: float) -> ReachedFeature:
        """The feature that a random number in [0, 1) draws: a rare one, mostly. There must be one."""
        place = bisect_right(self._sums, number * self._sums[-1])
        return self.reached[min(place, len(self.reached) - 1)]


class _Group(Enum):
    """Groups of features whose weights have fixed shares, however many features they have."""

    LACKS = auto()
    DECISIONS = auto()
    OTHERS = auto()


def _group(reached: ReachedFeature) -> _Group:
    return _Group.LACKS if reached.is_lack else _Group.DECISIONS if reached.is_decision else _Group.OTHERS


class GuideBook:
    """Reads the tables of a campaign, and makes the guides of its rounds."""

    def __init__(self, storage: FileStorage, *, seeks_lack: bool = False) -> None:
        """``seeks_lack``: that of the guides. The units kept their runs accordingly (``Config.removed``)."""
        self.storage, self._seeks_lack = storage, seeks_lack
        self._units = 0
        """The number of units that were read."""
        self._times: dict[Feature, int] = {}
        self._first: dict[Feature, tuple[bytes, int]] = {}
        self._guide = Guide(())

    def before(self, unit: int) -> Guide:
        """The guide that all units before this one make. They must be done: UsageError if a file is missing."""
        if unit < self._units:
            return GuideBook(self.storage, seeks_lack=self._seeks_lack).before(unit)
        if unit > self._units:
            with ThreadPoolExecutor(READERS) as pool:
                files = [("coverage", each) for each in range(self._units, unit)]
                for row, _ in pool.map(partial(unit_row, self.storage), files):
                    self._add(row)
            self._units = unit
            self._guide = Guide(
                tuple(
                    ReachedFeature(feature=feature, times=self._times[feature], case=case, at=at)
                    for feature, (case, at) in self._first.items()
                ),
                self._seeks_lack,
            )
        return self._guide

    def _add(self, coverage: Row) -> None:
        for feature, times in self._reached(coverage):
            self._times[feature] = self._times.get(feature, 0) + times
        for kept in coverage["kept"]:
            for each in kept["reached"]:
                self._first.setdefault(tuple(each["feature"]), (kept["case"], each["at"]))

    def _reached(self, coverage: Row) -> Iterator[tuple[Feature, int]]:
        """The features that a unit reached, and how often."""
        for pair in coverage["pairs"]:
            yield (pair["first"], pair["second"]), pair["times"]
        for each in () if self._seeks_lack else coverage["circumstances"]:
            yield (each["situation"], each["circumstances"]), each["runs"]
        for moment in coverage["moments"]:
            yield (moment["situation"], moment["event"], moment["before"]), moment["runs"]


_books: dict[tuple[str, str, bytes], GuideBook] = {}
"""The book of this process: a worker makes units of many rounds, and reads each file once."""


def guide_of(storage: FileStorage, config: Config, target: bytes, unit: int) -> Guide:
    """The guide that all units of a campaign before ``unit`` make."""
    # The tables of one configuration and target are always the same, so an old book is right, as far as it goes.
    key = storage.name, config.to_json(), target
    book = _books.pop(key, None) or GuideBook(storage, seeks_lack=bool(config.removed))
    guide = book.before(unit)
    # A book whose reading failed has counted some units already, so only a whole one is kept.
    _books.clear()
    _books[key] = book
    return guide
