"""Samples: violations do not end them, and their counts equal the sums over the interpreter's runs."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import pytest

from holdfast.check.walk.walker import RandomRun, Walker
from holdfast.ir.removal import remove_rules
from holdfast.ir.system import System
from holdfast.ir.types import NatType, OptionalType
from holdfast.lower.kernel.packing import Packing
from holdfast.lower.kernel.walks import ROOM, ViolatingRun, WalkSample
from holdfast.lower.outcome import Refused
from holdfast.lower.random_runs.chance import ALL, GOLDEN, mixed
from holdfast.lower.random_runs.plan import VIOLATED
from tests.check.walking import WalkPair, noted

Compiled = Callable[[str], System]

BROKEN = ["CK-02.epoch"]

RUNG = """
    up: Map[Node, N]
    held: Rel[Node]
    tiny = Scope({Node: 2, N: 2})
    @init
    def begin(self) -> None:
        self.up.fill(N(0))
        self.held.fill(False)
    @action
    def climb(self, n: Node) -> None:
        require(self.held[n], "LA-1")
        self.up[n] = self.up[n] + 1
    @action
    def grab(self, n: Node) -> None:
        require(all(not self.held[m] for m in Node), "LA-2")
        self.held[n] = True
    @final
    def nothing_more(self) -> bool:
        return False
    @step
    def stays(self, old: Self) -> bool:
        \"\"\"LA-3. Nobody stands on the second rung.\"\"\"
        return all(self.up[n] < N(2) for n in Node)
"""
"""A model in which every run that is long enough violates a step property."""


UNREAD = {("open", 0)}
"""Parameters that no rule of their action reads: a refusal counts once, whatever their values."""


class CountingWalker(Walker):
    """A walker that also counts the rules that refuse an instance it tries, or refuse one in an action that it lists.

    In a list, an instance counts once for all values of the arguments that no rule reads.
    """

    refused: Counter[tuple[str, str]]
    tried: int = 0
    """The refused instances that were tried."""

    def steps(self, state: bytes, action: int, process: int | None) -> list[tuple[bytes, int, tuple[int, ...]]]:
        named = self.actions[action]
        sizes = [
            range(1 if (named.name, place) in UNREAD else self.machine.layout.codes(param.type))
            for place, param in enumerate(named.params)
        ]
        for args in itertools.product(*sizes):
            outcome = self.machine.step(state, named.name, args)
            if isinstance(outcome, Refused):
                self.refused[named.name, outcome.label] += 1
        return super().steps(state, action, process)

    def attempt(
        self, state: bytes, action: int, process: int | None, place: int
    ) -> tuple[bytes, int, tuple[int, ...]] | None:
        layout, named = self.machine.layout, self.actions[action]
        sizes = [range(layout.codes(param.type)) for param in named.params]
        args = next(itertools.islice(itertools.product(*sizes), place, None))
        outcome = self.machine.step(state, named.name, args)
        if isinstance(outcome, Refused):
            self.refused[named.name, outcome.label] += 1
            self.tried += 1
        return super().attempt(state, action, process, place)


def sampled(
    system: System, runs: int, *, swarm: bool = True, depth: int = 30, scope: str = "tiny"
) -> tuple[WalkPair, WalkSample]:
    """A sample of N runs of seed 5, and the walker that makes the same runs on the interpreter."""
    both = WalkPair.of(system, system.scopes[scope], 5, depth, sampled=True, swarm=swarm)
    return both, both.walks.sample(0, runs)


def told(sample: WalkSample) -> list[ViolatingRun]:
    """The violating runs of a sample."""
    return [ViolatingRun(*row) for row in sample.violating.tolist()]


def followed(both: WalkPair, runs: int) -> list[RandomRun]:
    """The same runs on the interpreter."""
    return [both.walker.run(number) for number in range(runs)]


def test_a_sample_goes_on_after_violations(table: System) -> None:
    """Its counts equal the interpreter's counts over all runs, violating ones included."""
    both, sample = sampled(remove_rules(table, BROKEN), 400)
    tally = both.walker.tally()
    for number in range(400):
        both.walker.run(number, tally)
    tally.violation = None
    tally.statistics.add(both.walker.machine.statistics)

    assert sample.tally.stops[VIOLATED].runs == len(sample.violating) > 5
    assert noted(sample.tally) == noted(tally)


def test_each_violation_is_described(table: System) -> None:
    """A violating run is described by its length, last action, failing property, and what held before its last step."""
    both, sample = sampled(remove_rules(table, BROKEN), 400)
    machine = both.walker.machine

    expected = []
    for run in followed(both, 400):
        if run.violation is None:
            continue
        before, (new, action, args) = ([run.start, *(edge[0] for edge in run.edges)][-2], run.edges[-1])
        failing = machine.steps[action](new, before, args)
        expected.append(
            (
                run.number,
                len(run.edges),
                action,
                machine.invariants(new),
                failing >= 0,
                [machine.holds(prop, before) for prop in both.walker.witnesses],
                [machine.premise(prop, before) for prop in machine.checked],
            )
        )

    def described(each: ViolatingRun) -> tuple[object, ...]:
        bits = [each.witness >> index & 1 == 1 for index in range(len(both.walker.witnesses))]
        said = [each.premises >> index & 1 == 1 for index in range(len(machine.checked))]
        return (each.run, each.steps, each.action, each.state, each.steps_failing != 0, bits, said)

    assert [described(each) for each in told(sample)] == expected


def test_pairs_and_refusals_are_counted(table: System) -> None:
    """The counts of consecutive actions and of refusals by each rule equal the interpreter's counts."""
    both, sample = sampled(remove_rules(table, BROKEN), 100, scope="default")
    counting = CountingWalker(both.walker.machine, both.walker.selection, both.walker.plan)
    counting.refused = Counter()
    runs = [counting.run(number) for number in range(100)]
    assert counting.tried > 100
    pairs = Counter(pair for run in runs for pair in itertools.pairwise(edge[1] for edge in run.edges))
    requires = {rule.label for rule in table.rules if rule.kind == "require"}

    found = {(a, b): int(times) for a, row in enumerate(sample.pairs) for b, times in enumerate(row)}
    assert {pair: times for pair, times in found.items() if times} == pairs
    assert {pair: times for pair, times in sample.decisive.items() if pair[1] in requires} == counting.refused
    assert set(sample.decisive) == sample.tally.statistics.decisive_in


def test_states_are_told_apart_but_for_their_numbers(table: System) -> None:
    """The signatures equal those of the interpreter's states, without cells that hold or are indexed by numbers."""
    both, sample = sampled(table, 60)
    layout = both.walker.machine.layout
    packing = Packing(layout)

    def signature(state: bytes) -> int:
        kept = bytearray(state)
        for place, cell in enumerate(layout.cells):
            of = cell.field.type.of if isinstance(cell.field.type, OptionalType) else cell.field.type
            if cell.field.ghost or cell.field.hidden or any(isinstance(t, NatType) for t in (of, *cell.field.keys)):
                kept[place] = 0
        digest = 0
        for word in packing.pack(bytes(kept)):
            digest = mixed((digest + word + GOLDEN) & ALL)
        return digest >> 48

    met = {signature(state) for run in followed(both, 60) for state in (run.start, *(edge[0] for edge in run.edges))}
    bits = int.from_bytes(sample.met, "little")
    assert {place for place in range(1 << 16) if bits >> place & 1} == met
    assert 1 < len(met) < 1 << 16


def test_a_deadlock_has_no_failing_property(compiled: Compiled) -> None:
    """If no property fails but no step is left, the run is described as a deadlock after its last action."""
    both, sample = sampled(compiled(RUNG.replace("N: 2", "N: 1").replace("< N(2)", "< N(3)")), 50)
    deadlocks = [run for run in followed(both, 50) if run.stop == VIOLATED]

    assert [(each.run, each.steps, each.action) for each in told(sample)] == [
        (run.number, len(run.edges), run.edges[-1][1]) for run in deadlocks
    ]
    assert all(each.state == -1 and each.steps_failing == 0 for each in told(sample))


def test_many_violations_are_looked_at_in_parts(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there are more violating runs than room for them at once, each is still described and counted once."""
    system = compiled(RUNG)
    whole = sampled(system, 300)[1]
    assert ROOM > len(whole.violating) > 50

    monkeypatch.setattr("holdfast.lower.kernel.walks.ROOM", 7)
    parts = sampled(system, 300)[1]

    assert told(parts) == told(whole)
    assert noted(parts.tally) == noted(whole.tally)
    assert parts.decisive == whole.decisive
    assert (parts.pairs == whole.pairs).all()
    assert parts.met == whole.met


def test_without_the_swarm_all_actions_stay(compiled: Compiled) -> None:
    """Kernel and interpreter draw the same runs; no action is omitted, and none is preferred."""
    both, sample = sampled(compiled(RUNG), 200, swarm=False)
    runs = followed(both, 200)

    assert all(run.weights == (1, 1) for run in runs)
    assert [each.run for each in told(sample)] == [run.number for run in runs if run.violation is not None]
    assert sample.tally.steps == sum(len(run.edges) for run in runs)


def test_a_sample_of_another_seed_is_another(table: System) -> None:
    """A seed may be given with each sample, so one compiled kernel serves all units."""
    both, sample = sampled(table, 50)

    assert noted(both.walks.sample(0, 50, 5).tally) == noted(sample.tally)
    assert noted(both.walks.sample(0, 50, 6).tally) != noted(sample.tally)
