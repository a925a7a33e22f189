"""The balancer on random clusters as the target of a campaign.

A run is a random cluster with constant loads, planned and executed round after round: see `impl.sim.balancer_cases`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping

import attrs

from holdfast.check.walk.result import StopFigures
from holdfast.ir.errors import UsageError
from holdfast.ir.similar_names import did_you_mean
from impl.rules import decided, guards, sources, without
from impl.sim.balancer_cases.case import BalancerCase
from impl.sim.balancer_cases.drawing import draw_case
from impl.sim.balancer_cases.play import CAPPED, ENDS, EVENTS, SITUATIONS, BalancerRun, play, title
from impl.sim.balancer_cases.scenario import scenario
from impl.sim.balancer_cases.shrink import shrink, size
from impl.sim.balancer_cases.text import lines
from impl.sim.tape import stream
from spark.campaign.config import BALANCER_MODES, Config
from spark.campaign.findings import ShrunkRun, signature
from spark.campaign.tables import STATE_BITS
from spark.campaign.units import Sighting, TargetHeader, UnitResult
from spark.campaign.words import ROUND_LIMIT

USED = ("balancer/", "sim/balancer_cases/", "sim/tape.py", "rules.py")
"""The files and folders of the implementation on which a run depends."""

APART = tuple(f"balancer/{name}.py" for name in ("cluster_model", "samples", "taking", "execution"))
"""The modules of the balancer that no run uses: a case has its loads and executes each batch at once."""

assert ROUND_LIMIT == CAPPED, "tables say that such a run has no answer"


def labels() -> tuple[str, ...]:
    """The rules of planning, which --without may remove, sorted."""
    return tuple(
        label
        for label, places in guards().items()
        if any(file.startswith("balancer/") and file not in APART for file, _ in places)
    )


@attrs.frozen
class BalancerTarget:
    """The balancer in a mode, without the removed rules. ``rounds``: the most rounds of a run."""

    safe: bool
    rounds: int
    removed: tuple[str, ...] = ()

    @classmethod
    def of(cls, config: Config) -> BalancerTarget:
        """The target of a configuration. Raises UsageError for an unknown mode or rule."""
        if config.balancer not in BALANCER_MODES:
            raise UsageError(f"--balancer {config.balancer}: there is no such mode; give {' or '.join(BALANCER_MODES)}")
        known = labels()
        for label in config.removed:
            if label not in known:
                hint = did_you_mean(label, known, f"give one of {', '.join(known)}", cutoff=0.5)
                raise UsageError(f"--without {label}: planning has no such rule; {hint}")
        return cls(config.balancer == "safe", config.depth, config.removed)

    def header(self) -> TargetHeader:
        """The mode in a name, and a fingerprint of the mode, the removed rules and the implementation's source."""
        digest = hashlib.blake2b(repr((self.safe, self.rounds, self.removed)).encode(), digest_size=8)
        for path, source in sources():
            if path.startswith(USED):
                digest.update(f"\0{path}\0{source}".encode())
        return TargetHeader(
            kind="balancer",
            model=f"balancer, {'safe' if self.safe else 'parity'} mode",
            fingerprint=digest.hexdigest(),
            deadlock="",
            actions=EVENTS,
            situations=SITUATIONS,
        )

    def ready(self) -> ReadyBalancer:
        """The target. The places of the rules are read from the source now, which takes a second."""
        guards()
        return ReadyBalancer(self)


class ReadyBalancer:
    """The balancer, whose runs can be made."""

    def __init__(self, target: BalancerTarget) -> None:
        self.target = target

    def run(self, seed: int, traces: int) -> UnitResult:
        """Make the runs 0 to ``traces`` - 1 of a seed, and count."""
        tally = _Tally()
        before = Counter(decided)
        with without(*self.target.removed):
            for number in range(traces):
                case = self.of(seed, number)
                tally.add(number, case, play(case, self.target.rounds))
        rules = [("balancer", each, 0, decided[each] - before[each]) for each in labels()]
        return tally.result(tuple(row for row in rules if row[1] not in self.target.removed))

    def show(self, seed: int, run: int) -> ShrunkRun:
        """Make one run again, by its number, and shrink it. The run must violate a property."""
        case = self.of(seed, run)
        with without(*self.target.removed):
            small = shrink(case, self.target.rounds)
            case_file = scenario(small)
        assert small.violation is not None, "a shrunk run violates what the run does"
        return ShrunkRun(
            drawn=size(case),
            steps=size(small.case),
            shape=signature(*told_apart(small)),
            line="",
            replay="",  # The file of the case has a name only where the tables are.
            sentence=title(small),
            itf="",
            text="\n".join(lines(small)),
            case=case_file,
        )

    def of(self, seed: int, run: int) -> BalancerCase:
        """The case of a run, by the seed of its unit and its number there."""
        return draw_case(stream(seed, f"balancer {run}"), safe=self.target.safe)


def told_apart(run: BalancerRun) -> tuple[str, str, tuple[str, ...]]:
    """What tells findings apart: the property, what is wrong, and the situation."""
    assert run.violation is not None, "the run violates something"
    return run.violation.label, run.violation.message, run.told


class _Tally:
    """Adds up the runs of a unit."""

    def __init__(self) -> None:
        self._stops: Mapping[str, list[int]] = {end: [] for end in ENDS}
        """By the end of a run: the rounds of each run."""
        self._alike: dict[tuple[str, str, tuple[str, ...]], list[tuple[int, int]]] = {}
        """By what tells findings apart: the size and the number of each run."""
        self._events: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._situations: dict[str, list[int]] = {}
        """By name: the numbers of the runs that reached it."""
        self._kinds = bytearray(STATE_BITS // 8)

    def add(self, number: int, case: BalancerCase, run: BalancerRun) -> None:
        self._stops[run.end].append(len(run.rounds))
        if run.violation is not None:
            self._alike.setdefault(told_apart(run), []).append((size(case), number))
        self._events.update(run.events)
        self._pairs.update(zip(run.events, run.events[1:], strict=False))
        for name in run.situations:
            self._situations.setdefault(name, []).append(number)
        for kind in run.kinds:
            digest = hashlib.blake2b(repr(kind).encode(), digest_size=2).digest()
            bit = int.from_bytes(digest, "big") % STATE_BITS
            self._kinds[bit >> 3] |= 1 << (bit & 7)

    def result(self, rules: tuple[tuple[str, str, int, int], ...]) -> UnitResult:
        """The counts over the runs added so far."""
        rounds = self._stops.values()
        pairs = [(first, second) for first in EVENTS for second in EVENTS]
        return UnitResult(
            runs=sum(map(len, rounds)),
            steps=sum(map(sum, rounds)),
            stops=tuple(
                StopFigures(end, len(each), sum(each), min(each, default=0), max(each, default=0))
                for end, each in self._stops.items()
            ),
            sightings=tuple(self._sightings()),
            actions=tuple((name, self._events[name], 0) for name in EVENTS),
            rules=rules,
            cuts=(),
            pairs=tuple((*pair, self._pairs[pair]) for pair in pairs if pair in self._pairs),
            witnesses=(),
            states=bytes(self._kinds),
            situations=tuple((name, len(runs), runs[0]) for name in SITUATIONS if (runs := self._situations.get(name))),
        )

    def _sightings(self) -> Iterator[Sighting]:
        for (label, message, told), runs in sorted(self._alike.items()):
            small, number = min(runs)
            yield Sighting(property=label, action=message, state=told, times=len(runs), run=number, steps=small)
