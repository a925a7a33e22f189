"""Simulated clusters as the target of a campaign. Only this module and ``balancer_target`` import the implementation.

A run is `holdfast simulate --seed N`; the seed of a unit and the number of a run give N. The oracles judge the run, and
its coverage is read from its event log.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator

import attrs
import msgspec
from msgspec.structs import replace

from holdfast.check.walk.result import StopFigures
from holdfast.records.system_run import SystemRun
from impl.cli.question import drawn_question
from impl.cli.simulation_page import kept_run
from impl.oracles.answers.watch import REQUEST
from impl.oracles.verdict import Violation
from impl.rules import guards, refused, sources
from impl.sim.case_file import CaseError, case_of, labels, parse_case, text
from impl.sim.check import CheckResult, Question, check
from impl.sim.coverage import DECISION, LACK, Circumstances, Moment, RunCoverage, coverage_of, events
from impl.sim.descent import ParentRun, descend
from impl.sim.image_kinds import SIGNATURE_BITS
from impl.sim.situation_names import TELLING, situations
from impl.sim.small import smallest
from impl.sim.tape import stream
from impl.sim.timeline import timeline
from spark.campaign.config import Config
from spark.campaign.findings import ShrunkRun, signature
from spark.campaign.guide import Feature, Guide, KeptRun
from spark.campaign.tables import STATE_BITS
from spark.campaign.units import Sighting, TargetHeader, UnitResult
from spark.campaign.words import DECIDING_RULE, MISSING_RULE, NOT_JUDGED

SHRINKING, DRAWN = 1_000_000, 400_000
"""The most steps of the runs that the shrinking of one finding takes, and how many of them may go into small runs that
are drawn and shrunk; the others are for the large run. What has begun below a limit is ended. Limits of time would make
findings depend on the machine, and with a limit of runs a small one would count as much as a large one.
"""

SEED_BYTES = 6
"""The size of the seed of a run: a number that `holdfast simulate --seed` takes."""

UNUSED = ("bridge/", "cli/", "scenario/")
"""The folders of the implementation that no simulated run uses."""

FRESH = 0.2
"""The share of guided runs that have no parent."""

HEALED, VIOLATED = "healed", "violated"
"""How a run ends; or it is NOT_JUDGED."""

assert (DECISION, LACK) == (DECIDING_RULE, MISSING_RULE), "a guide favours these moments"
assert 1 << SIGNATURE_BITS == STATE_BITS, "a table has a bit for each signature"


@attrs.frozen
class ClusterTarget:
    """Clusters as the configuration draws them, without its removed rules."""

    config: Config
    question: Question

    @classmethod
    def of(cls, config: Config) -> ClusterTarget:
        """The target of a configuration. Raises UsageError for options that `holdfast simulate` refuses."""
        assert config.cluster is not None, "the configuration is one of clusters"
        options = attrs.asdict(config.cluster)
        return cls(config, drawn_question(0, **options, without=config.removed))

    def header(self) -> TargetHeader:
        """The cluster in a name, and a fingerprint of its options and of the implementation's source."""
        digest = hashlib.blake2b(repr(self.question).encode(), digest_size=8)
        for path, source in sources():
            if not path.startswith(UNUSED):
                digest.update(f"\0{path}\0{source}".encode())
        options = self.question.options
        sizes = [f"{options.brokers} brokers", f"{options.clients} clients"]
        sizes += [self.question.generation, f"{options.partitions} partitions"] if options.partitions else []
        sizes += [] if options.partitions else [f"{options.streams} streams"]
        sizes += [f"{options.zones} zones"] if options.zones else []
        faults = options.faults if isinstance(options.faults, str) else ", ".join(options.faults)
        drawn = [] if faults == "all" else [f"faults {faults}"]
        built_in = [f"with {each}" for each in (*self.question.switches, *self.question.settings)]
        return TargetHeader(
            kind="cluster",
            model=", ".join([f"cluster {self.question.version}", *sizes, *drawn, *built_in]),
            fingerprint=digest.hexdigest(),
            deadlock="",
            actions=events(partitions=options.partitions > 0),
            situations=situations(partitions=options.partitions > 0),
        )

    def ready(self) -> ReadyCluster:
        """The target; the code is imported already."""
        return ReadyCluster(self.question)


class ReadyCluster:
    """Clusters whose runs can be made. ``guide``: what some of them are made of, in a guided campaign."""

    def __init__(self, question: Question, guide: Guide | None = None) -> None:
        self.question, self.guide = question, guide

    def guided(self, guide: Guide) -> ReadyCluster:
        """The same clusters, whose runs are made of the kept runs of a guide."""
        return ReadyCluster(self.question, guide)

    def run(self, seed: int, traces: int) -> UnitResult:
        """Make the runs 0 to ``traces`` - 1 of a seed, and count."""
        tally = _Tally(self.question, None if self.guide is None else set(self.guide.features))
        for number in range(traces):
            before = Counter(refused)
            checked = check(self.of(seed, number))
            tally.add(number, checked, coverage_of(checked.run), refused - before)
        return tally.result()

    def show(self, seed: int, run: int) -> ShrunkRun:
        """Make one run again, by its number, and shrink it. The run must violate a property."""
        question = self.of(seed, run)
        checked = check(question)
        first = checked.violations[0]
        # Small runs are drawn, whether the run has a parent or not.
        drawn = replace(self.question, seed=question.seed)
        steps = _Steps(only_alike(first, drawn))
        small = smallest(
            drawn, checked, first.oracle, steps.ask, lambda: steps.made < SHRINKING, lambda: steps.made < DRAWN
        ).question
        # The small run is made again from its tape, so what is shown is what the file gives.
        final = check(small)
        violation = next(each for each in final.violations if _kind(each) == _kind(first))
        case = case_of(small, violation)
        return ShrunkRun(
            drawn=_size(checked),
            steps=_size(final),
            shape=signature(*told_apart(violation, coverage_of(final.run))),
            line="",
            replay="",  # The file of the case has a name only where the tables are.
            sentence=f"{violation.oracle}: {violation.message}",
            itf="",
            text="\n".join(timeline(final.run, violation)),
            case=text(case),
        )

    def of(self, seed: int, run: int) -> Question:
        """The question of a run, by the seed of its unit and its number there; and by the guide, if there is one."""
        digest = hashlib.blake2b(f"holdfast cluster, seed {seed}, run {run}".encode(), digest_size=SEED_BYTES)
        number = int.from_bytes(digest.digest(), "big")
        draw = stream(number, "guide")
        if self.guide is None or not self.guide.reached or draw() < FRESH:
            return replace(self.question, seed=number)
        rare, other = self.guide.rare(draw()), self.guide.rare(draw())
        parent, second = _parent(rare.case), _parent(other.case)
        return descend(self.question, number, parent, rare.at, second, closely=rare.is_lack)


def told_apart(violation: Violation, coverage: RunCoverage) -> tuple[str, str, tuple[str, ...]]:
    """What tells kinds of violations apart: the oracle, its message without numbers and without a request, and
    situations of the stream.
    """
    reached = {name for name, key in coverage.situations if key == violation.key} & TELLING
    return *_kind(violation), tuple(sorted(reached))


def _kind(violation: Violation) -> tuple[str, str]:
    return violation.oracle, without_numbers(violation.message.partition(REQUEST)[0])


def only_alike(wanted: Violation, question: Question) -> Callable[[Question], CheckResult]:
    """Makes runs, of whose violations only those of one kind count: an oracle says many things, and a small run that
    shows another one says nothing of the finding. With other rules switched off than in ``question``, all count.
    """

    def ask(candidate: Question) -> CheckResult:
        checked = check(candidate)
        if (candidate.without, candidate.switches) != (question.without, question.switches):
            return checked
        alike = tuple(each for each in checked.violations if _kind(each) == _kind(wanted))
        return replace(checked, violations=alike)

    return ask


def without_numbers(message: str) -> str:
    """A message whose numbers are replaced by N, and several of them in a row by one, such as names of objects."""
    named = re.sub(r"(?:(?<!\w)-)?\d+(?:\.\d+)*", "N", message)
    return re.sub(r"(?<![\w/])([\w/]*N)(?:(?:, | and |, and )\1\b)+", r"\1", named)


def run_of_case(case: str) -> SystemRun | None:
    """The run of a kept case, made again; None if the case is damaged, or the code no longer has its violation."""
    try:
        return kept_run(parse_case(case, "the case"))
    except CaseError:
        return None


def _parent(case: bytes) -> ParentRun:
    """The run that a kept case repeats."""
    return msgspec.json.decode(case, type=ParentRun)


def _size(checked: CheckResult) -> int:
    """The number of operations and faults of a run, which is what shrinking makes less."""
    return len(checked.run.script) + len(checked.run.faults)


class _Steps:
    """Counts the steps of the runs that a shrinking makes. ``make``: makes one."""

    def __init__(self, make: Callable[[Question], CheckResult]) -> None:
        self._make, self.made = make, 0

    def ask(self, candidate: Question) -> CheckResult:
        """The run of a question."""
        checked = self._make(candidate)
        self.made += checked.run.counts["steps"]
        return checked


class _Tally:
    """Adds up the runs of a unit."""

    def __init__(self, question: Question, known: set[Feature] | None) -> None:
        """``known``: the features that earlier rounds have reached; None if no run is kept."""
        self._question = question
        self._known = known
        self._kept: list[KeptRun] = []
        self._circumstances: Counter[Circumstances] = Counter()
        self._moments: Counter[Moment] = Counter()
        self._runs = 0
        self._stops: dict[str, list[int]] = {HEALED: [], VIOLATED: [], NOT_JUDGED: []}
        """By the end of a run: the steps of each run."""
        self._alike: dict[tuple[str, str, tuple[str, ...]], list[tuple[int, int]]] = {}
        """By what tells violations apart: the size and the number of each run."""
        self._events: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._decided: Counter[str] = Counter()
        self._rules_refused: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._situations: dict[str, list[int]] = {}
        """By name: the numbers of the runs that reached it."""
        self._images: set[int] = set()

    def add(self, number: int, checked: CheckResult, coverage: RunCoverage, rules_refused: Counter[str]) -> None:
        self._runs += 1
        end = VIOLATED if checked.violations else NOT_JUDGED if checked.error is not None else HEALED
        self._stops[end].append(checked.run.counts["steps"])
        for violation in checked.violations[:1]:
            kind = told_apart(violation, coverage)
            self._alike.setdefault(kind, []).append((_size(checked), number))
        self._events.update(coverage.events)
        self._refused.update(coverage.refused)
        self._pairs.update(coverage.pairs)
        self._decided.update(checked.run.decided)
        self._rules_refused.update(rules_refused)
        self._images |= coverage.images
        self._circumstances.update(coverage.circumstances.keys())
        self._moments.update(coverage.moments.keys())
        self._keep(number, checked, coverage)
        for name in {name for name, _ in coverage.situations}:
            self._situations.setdefault(name, []).append(number)

    def _keep(self, number: int, checked: CheckResult, coverage: RunCoverage) -> None:
        """Keep the run if it has reached a feature first."""
        if self._known is None:
            return
        features: list[tuple[Feature, int]] = [*coverage.first_pairs.items(), *coverage.moments.items()]
        if not self._question.without:
            features += coverage.circumstances.items()
        reached = tuple(sorted((feature, at) for feature, at in features if feature not in self._known))
        if reached:
            self._known.update(feature for feature, _ in reached)
            case = msgspec.json.encode(ParentRun.of(checked.run))
            self._kept.append(KeptRun(run=number, case=case, reached=reached))

    def result(self) -> UnitResult:
        """The counts over the runs added so far."""
        has_partitions = self._question.options.partitions > 0
        names = events(partitions=has_partitions)
        pairs = [(first, second) for first in names for second in names]
        return UnitResult(
            runs=self._runs,
            steps=sum(map(sum, self._stops.values())),
            stops=tuple(
                StopFigures(end, len(steps), sum(steps), min(steps, default=0), max(steps, default=0))
                for end, steps in self._stops.items()
            ),
            sightings=tuple(self._sightings()),
            actions=tuple((name, self._events[name], self._refused[name]) for name in names),
            rules=tuple(self._rules()),
            cuts=(),
            pairs=tuple((*pair, self._pairs[pair]) for pair in pairs if pair in self._pairs),
            witnesses=(),
            states=_bit_set(self._images),
            situations=tuple(
                (name, len(runs), runs[0])
                for name in situations(partitions=has_partitions)
                if (runs := self._situations.get(name))
            ),
            circumstances=tuple((*each, runs) for each, runs in sorted(self._circumstances.items())),
            moments=tuple((*moment, runs) for moment, runs in sorted(self._moments.items())),
            kept=tuple(self._kept),
        )

    def _sightings(self) -> Iterator[Sighting]:
        for (oracle, message, reached), runs in sorted(self._alike.items()):
            size, number = min(runs)
            yield Sighting(property=oracle, action=message, state=reached, times=len(runs), run=number, steps=size)

    def _rules(self) -> Iterator[tuple[str, str, int, int]]:
        """Each rule that is not switched off, with the packages of its guards."""
        places = guards()
        for label in labels():
            if label not in self._question.without:
                packages = sorted({file.partition("/")[0] for file, _ in places[label]})
                yield ", ".join(packages), label, self._rules_refused[label], self._decided[label]


def _bit_set(numbers: set[int]) -> bytes:
    """The numbers as a bit set, the lowest bit of the first byte first."""
    bits = bytearray(STATE_BITS // 8)
    for number in numbers:
        bits[number >> 3] |= 1 << (number & 7)
    return bytes(bits)
