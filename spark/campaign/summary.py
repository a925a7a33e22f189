"""The summary of a campaign: the sums over the tables of its finished units.

Units are added one after the other, in the order of their numbers, so only one is in memory at a time. Only the rates
depend on when and where the units ran.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import attrs

from holdfast.check.walk.result import StopFigures
from holdfast.ir.errors import UsageError
from holdfast.trace.text import configuration
from spark.campaign.config import WAVE, Config
from spark.campaign.findings import Finding, ShrunkRun, sighted, unanswered
from spark.campaign.places import FINDINGS, case_command, unit_number, unit_path
from spark.campaign.reading import CampaignHeader, Row, read_campaign, rows_of, units_of
from spark.campaign.saturation import Growth, Saturation, StateGrowth
from spark.campaign.situations import CircumstancesSum, MomentSum, SituationSum, SituationSums
from spark.campaign.words import NO_ANSWER, NOT_JUDGED, ROUND_LIMIT, WORDS, Words

if TYPE_CHECKING:
    from spark.cluster.storage import FileStorage

Verdict = Literal["violated", "not_found", "out_of_budget"]


@attrs.frozen
class ActionSum:
    """How often an action was taken, and how often one of its rules refused it."""

    name: str
    taken: int
    refused: int


@attrs.frozen
class RuleSum:
    """How often a rule refused an action, and how often it was decisive there."""

    action: str
    label: str
    refused: int
    decisive: int


@attrs.frozen
class PairSum:
    """How often one action was taken right after another."""

    first: str
    second: str
    times: int


@attrs.frozen
class CutSum:
    """How often a bound cut a step of an action."""

    action: str
    bound: str
    times: int


@attrs.frozen
class WitnessSum:
    """The run that first reached a witness, and after how many steps."""

    name: str
    unit: int
    run: int
    steps: int


@attrs.frozen(kw_only=True)
class Rates:
    """The speed of the units. A unit runs on one core; its time does not include the set-up of its worker.

    ``setups``: the number of units whose worker had to be set up first. ``seconds`` and the others are sums over units.
    """

    runs: int
    steps: int
    seconds: float
    cpu_seconds: float
    setup_seconds: float
    setups: int

    @property
    def runs_per_second(self) -> float:
        """On one core; 0 where nothing was measured."""
        return self.runs / self.seconds if self.seconds else 0.0

    @property
    def steps_per_second(self) -> float:
        """On one core; 0 where nothing was measured."""
        return self.steps / self.seconds if self.seconds else 0.0


@attrs.frozen(kw_only=True)
class Summary:
    """A campaign in numbers. ``done`` of ``asked.units`` units are in it; ``bytes`` is the size of their files.

    Actions, rules, pairs and cuts are in the order of the model, witnesses are sorted by name, findings by frequency.
    Of clusters and the balancer, the actions are events; there are situations instead of witnesses.
    """

    name: str
    kind: str
    model: str
    fingerprint: str
    holdfast: str
    asked: Config
    actions: tuple[ActionSum, ...]
    done: int
    runs: int
    steps: int
    violations: int
    stops: tuple[StopFigures, ...]
    rules: tuple[RuleSum, ...]
    pairs: tuple[PairSum, ...]
    cuts: tuple[CutSum, ...]
    witnesses: tuple[WitnessSum, ...]
    situations: tuple[SituationSum, ...]
    circumstances: tuple[CircumstancesSum, ...]
    moments: tuple[MomentSum, ...]
    findings: tuple[Finding, ...]
    signatures: int
    """The number of different signatures of violating runs as drawn."""
    states: Saturation
    met_pairs: Saturation
    met_findings: Saturation
    rates: Rates
    bytes: int

    unanswered: tuple[tuple[str, str], ...]
    """The logs without an answer, each with the reason, sorted."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to run: all units are done, or a round ended with ``stop_after`` findings or more."""
        enough = self.asked.stop_after
        has_enough = enough is not None and self.signatures >= enough and self.done % WAVE == 0
        return self.done == self.asked.units or has_enough

    @property
    def verdict(self) -> Verdict:
        """The verdict, as of `holdfast walk`. An incomplete campaign without a violation is ``out_of_budget``."""
        if self.violations:
            return "violated"
        return "not_found" if self.is_complete else "out_of_budget"

    @property
    def words(self) -> Words:
        """The words for the target's runs."""
        return WORDS[self.kind]

    @property
    def not_judged(self) -> int:
        """The number of runs of clusters that the oracles could not judge, or of others without an answer."""
        return sum(stop.runs for stop in self.stops if stop.reason in (NOT_JUDGED, NO_ANSWER, ROUND_LIMIT))

    @property
    def configuration(self) -> str:
        """The model, scope, variants and removed rules, on one line; or the cluster and the removed rules; or logs."""
        return configuration(self.model, self.asked.scope, self.asked.variants, self.asked.removed)

    @property
    def never_taken(self) -> tuple[str, ...]:
        """The actions that no run took."""
        return tuple(action.name for action in self.actions if not action.taken)

    @property
    def undecisive(self) -> tuple[RuleSum, ...]:
        """The rules that were never decisive, each with its action."""
        return tuple(rule for rule in self.rules if not rule.decisive)

    @property
    def never_reached(self) -> tuple[str, ...]:
        """The situations that no run reached."""
        return tuple(each.name for each in self.situations if not each.runs)

    @property
    def unseen_pairs(self) -> int:
        """The number of pairs of actions that no run took one right after the other."""
        return len(self.actions) ** 2 - len(self.pairs)


def summarise(storage: FileStorage) -> Summary:
    """Read a campaign and add up its units. Raises UsageError if there is none, or if its files are inconsistent."""
    begun = read_campaign(storage)
    asked = begun.config
    units = sorted(unit_number("runs", name) for name in storage.list("runs"))
    if units and units[-1] >= asked.units:
        path = unit_path("runs", units[-1])
        raise UsageError(f"{storage.name}: {path} is there, and the campaign has {asked.units:,} units; remove it")
    summing = _Summing(begun, len(units))
    for unit, parts in units_of(storage, units, asked):
        summing.add(unit, *parts)
    found = storage.read(FINDINGS)
    rows = [] if found is None else rows_of(storage, "findings", FINDINGS, found)
    shrunk = {row["signature"]: row for row in rows}
    strange = sorted(set(shrunk) - set(summing.findings))
    if strange:
        raise UsageError(f"{storage.name}: {FINDINGS} has {strange[0]}, which no unit met; resume the campaign")
    return Summary(
        name=storage.name,
        kind=begun.kind,
        model=begun.model,
        fingerprint=begun.fingerprint,
        holdfast=begun.holdfast,
        asked=asked,
        done=len(units),
        **summing.sums({name: _with_command(storage.name, asked, row) for name, row in shrunk.items()}),
    )


def _with_command(place: str, asked: Config, row: Row) -> Row:
    """The row of a finding, with the command that repeats its run."""
    return {**row, "replay": case_command(place, row["signature"], asked)} if row["case"] else row


# Adding up ---------------------------------------------------------------------------------------------------------


class _Summing:
    def __init__(self, begun: CampaignHeader, units: int) -> None:
        self.actions = {name: [0, 0] for name in begun.actions}
        self.situations = SituationSums(begun.situations)
        self.rules: dict[tuple[str, str], list[int]] = {}
        self.pairs: dict[tuple[str, str], int] = {}
        self.cuts: dict[tuple[str, str], int] = {}
        self.witnesses: dict[str, WitnessSum] = {}
        self.findings: dict[str, Finding] = {}
        # For each signature: a bit mask of the units that met it. Several signatures may turn out to be one finding.
        # A unit that met two of them counts once, so numbers of units cannot be added; masks can be joined.
        self.units: dict[str, int] = {}
        self.logs: dict[str, list[str]] = {}
        """By signature: the names of the logs."""
        self.stops: dict[str, StopFigures] = {}
        self.runs = self.steps = self.violations = self.bytes = 0
        self.seconds = [0.0, 0.0, 0.0]
        self.setups = 0
        self.states = StateGrowth(units, WORDS[begun.kind].states)
        self.met_pairs = Growth(WORDS[begun.kind].pairs, units)
        self.met_findings = Growth("findings", units)

    def add(self, unit: int, coverage: Row, timing: Row, runs: Row, size: int) -> None:
        """Add a unit. Units must come in the order of their numbers: the first to reach a witness is kept."""
        self._add_coverage(unit, coverage)
        self.runs += runs["runs"]
        self.steps += runs["steps"]
        self.violations += runs["violations"]
        self.bytes += size
        for stop in runs["stops"]:
            new = StopFigures(**stop)
            old = self.stops.get(new.reason)
            self.stops[new.reason] = new if old is None or not old.runs else _joined(old, new)
        for sighting in runs["sightings"]:
            self._sight(unit, runs["seed"], sighting)
        for each in runs["logs"]:
            self.logs.setdefault(each["signature"], []).append(each["log"])
        for place, name in enumerate(("seconds", "cpu_seconds", "setup_seconds")):
            self.seconds[place] += timing[name]
        self.setups += timing["setup_seconds"] > 0
        traces = runs["runs"]
        self.states.add(traces, coverage["states"])
        self.met_pairs.add(traces, ((pair["first"], pair["second"]) for pair in coverage["pairs"]))
        self.met_findings.add(traces, (sighting["signature"] for sighting in runs["sightings"]))

    def _add_coverage(self, unit: int, coverage: Row) -> None:
        for each in coverage["actions"]:
            _add(self.actions, each["action"], each["taken"], each["refused"])
        for each in coverage["rules"]:
            _add(self.rules, (each["action"], each["rule"]), each["refused"], each["decisive"])
        for each in coverage["pairs"]:
            pair = each["first"], each["second"]
            self.pairs[pair] = self.pairs.get(pair, 0) + each["times"]
        for each in coverage["cuts"]:
            cut = each["action"], each["bound"]
            self.cuts[cut] = self.cuts.get(cut, 0) + each["times"]
        for each in coverage["witnesses"]:
            name = each["witness"]
            # The first entry stays: units come in order, so it is that of the first unit.
            self.witnesses.setdefault(name, WitnessSum(name, unit, each["run"], each["steps"]))
        self.situations.add(unit, coverage)

    def _sight(self, unit: int, seed: int, sighting: Row) -> None:
        name = sighting["signature"]
        self.findings[name] = sighted(self.findings.get(name), unit, seed, sighting)
        self.units[name] = self.units.get(name, 0) | 1 << unit

    def _folded(self, shrunk: Mapping[str, Row]) -> list[Finding]:
        """The findings. Those whose shrunk runs have equal signatures become one, shown by the shortest shrunk run."""
        alike: dict[str, list[Finding]] = {}
        for name, finding in sorted(self.findings.items()):
            row = shrunk.get(name)
            alike.setdefault(name if row is None else row["shape"], []).append(
                attrs.evolve(finding, shrunk=None if row is None else ShrunkRun.of_row(row))
            )
        return [self._one(signature, group) for signature, group in alike.items()]

    def _one(self, signature: str, group: Sequence[Finding]) -> Finding:
        best = min(
            group, key=lambda each: (each.shrunk.steps if each.shrunk else each.drawn, each.drawn, each.unit, each.run)
        )
        units = 0
        for each in group:
            units |= self.units[each.signature]
        return attrs.evolve(
            best,
            signature=signature,
            signatures=tuple(each.signature for each in group),
            times=sum(each.times for each in group),
            units=units.bit_count(),
            logs=tuple(sorted(log for each in group for log in self.logs.get(each.signature, ()))),
        )

    def sums(self, shrunk: Mapping[str, Row]) -> dict[str, Any]:
        """The fields of a Summary that are sums over units."""
        order = {name: place for place, name in enumerate(self.actions)}
        findings = self._folded(shrunk)
        return {
            "actions": tuple(ActionSum(name, *counts) for name, counts in self.actions.items()),
            "runs": self.runs,
            "steps": self.steps,
            "violations": self.violations,
            "stops": tuple(self.stops.values()),
            "rules": tuple(RuleSum(*rule, *self.rules[rule]) for rule in _ordered(self.rules, order)),
            "pairs": tuple(
                PairSum(*pair, self.pairs[pair])
                for pair in sorted(self.pairs, key=lambda pair: tuple((order.get(name, -1), name) for name in pair))
            ),
            "cuts": tuple(CutSum(*cut, self.cuts[cut]) for cut in _ordered(self.cuts, order)),
            "witnesses": tuple(self.witnesses[name] for name in sorted(self.witnesses)),
            **self.situations.sums(),
            "findings": tuple(sorted(findings, key=lambda finding: (-finding.times, finding.signature))),
            "signatures": len(self.findings),
            "unanswered": unanswered(self.logs),
            "states": self.states.sum(),
            "met_pairs": self.met_pairs.sum(),
            "met_findings": self.met_findings.sum(),
            "rates": Rates(
                runs=self.runs,
                steps=self.steps,
                seconds=self.seconds[0],
                cpu_seconds=self.seconds[1],
                setup_seconds=self.seconds[2],
                setups=self.setups,
            ),
            "bytes": self.bytes,
        }


def _add(sums: dict[Any, list[int]], key: object, one: int, two: int) -> None:
    both = sums.setdefault(key, [0, 0])
    both[0] += one
    both[1] += two


def _joined(one: StopFigures, two: StopFigures) -> StopFigures:
    """The figures of both groups of runs together."""
    if not two.runs:
        return one
    return StopFigures(
        one.reason,
        one.runs + two.runs,
        one.steps + two.steps,
        min(one.shortest, two.shortest),
        max(one.longest, two.longest),
    )


def _ordered(keys: Mapping[tuple[str, str], object], order: Mapping[str, int]) -> list[tuple[str, str]]:
    """Pairs of an action and a name, sorted by the place of the action in the model; otherwise in their given order."""
    return sorted(keys, key=lambda key: order.get(key[0], -1))
