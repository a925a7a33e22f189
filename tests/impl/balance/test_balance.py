"""The balancer in a simulated cluster: what a run promises, and planted faults that break each promise."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree as ET

import msgspec
import pytest

from impl.balancer.configuration import BalancerConfiguration, configured
from impl.client.history import History, Op
from impl.metadata.log import MetadataBatch
from impl.records import Partition, PartitionChange
from impl.sim.balance import simulation
from impl.sim.balance.moves import MoveLog
from impl.sim.balance.plot import plot
from impl.sim.balance.promises import PROMISES, broken, end_loads
from impl.sim.balance.report import BalanceReport, data, lines
from impl.sim.balance.simulation import BalanceQuestion, BalanceRun, run_balance
from impl.sim.balance.traffic import Traffic, band
from impl.sim.balance.workload import EMPTY, END_MS, PARTITIONS, counts, sizes, workload

replace = msgspec.structs.replace


def report_of(run: BalanceRun) -> BalanceReport:
    """A run with its judgement."""
    traffic = Traffic(run.history, run.begin)
    return BalanceReport(run, traffic, end_loads(traffic), broken(run, traffic))


def broken_names(run: BalanceRun) -> list[str]:
    """The promises that a run breaks, each once."""
    return list(dict.fromkeys(each.name for each in report_of(run).broken))


@pytest.fixture(scope="module")
def run() -> BalanceRun:
    """The run of seed 0, which a minute of tests shares. Nobody changes it."""
    return run_balance(BalanceQuestion())


def with_ops(run: BalanceRun, change: Callable[[list[Op]], list[Op]]) -> BalanceRun:
    """The run with other operations in its history."""
    history = History()
    history.missing = run.history.missing
    history.ops = change(list(run.history.ops))
    return replace(run, history=history)


# The promises -------------------------------------------------------------------------------------------------------


def test_the_promises_hold(run: BalanceRun) -> None:
    """The empty broker gets its share, the change of the load is evened out, and another controller goes on."""
    assert report_of(run).broken == []
    assert any(move.target == EMPTY for move in run.moves)
    changed = [each for each in run.plans if each.has_changed]
    assert len(changed) == 2
    assert max(move.begin for move in run.moves) - run.begin > 135_000
    leaders = {controller: [each.at - run.begin for each in rounds] for controller, rounds in run.rounds.items()}
    assert len([each for each in leaders.values() if each]) == 2
    assert max(leaders[0]) < 210_000 < min(min(each) for number, each in leaders.items() if number and each)
    assert sum(each.sent for rounds in run.rounds.values() for each in rounds) == len(run.moves)


@pytest.mark.slow
@pytest.mark.parametrize("balancer", ["parity", "safe"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_promises_hold_for_other_seeds(seed: int, balancer: str) -> None:
    """Other loads, and both ways of planning."""
    assert report_of(run_balance(BalanceQuestion(seed=seed, balancer=balancer))).broken == []


@pytest.mark.slow
def test_two_runs_are_equal(run: BalanceRun) -> None:
    """A seed decides everything: the history, the report and the plot."""
    again = run_balance(BalanceQuestion())
    assert list(again.history.lines()) == list(run.history.lines())
    assert data(report_of(again)) == data(report_of(run))
    assert plot(report_of(again)) == plot(report_of(run))


# Planted faults -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_balancer_that_never_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without moves the broker that joins stays empty, and the promise of even traffic is broken."""

    def idle(_: str) -> BalancerConfiguration:
        return configured({f"network.{way}.usage.distribution.detect.threshold": 1e12 for way in ("in", "out")})

    monkeypatch.setattr(simulation, "scaled_configuration", idle)
    found = run_balance(BalanceQuestion())
    assert found.moves == ()
    assert broken_names(found) == ["even"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "labels", "name"),
    [(0, ("BG-18",), "one planner"), (1, ("BG-13",), "one planner"), (0, ("RA-22", "ST-14"), "kept")],
)
def test_a_rule_that_is_missing(seed: int, labels: tuple[str, ...], name: str) -> None:
    """All controllers plan; a round moves a partition twice; a target opens streams that the source has open."""
    assert name in broken_names(run_balance(BalanceQuestion(seed=seed, without=labels)))


def test_a_lost_record(run: BalanceRun) -> None:
    """A partition whose final read lacks an acknowledged batch breaks the promise that nothing is lost."""

    def lose(ops: list[Op]) -> list[Op]:
        place = next(at for at, op in enumerate(ops) if op.phase == "final" and op.kind == "ok")
        ops[place] = replace(ops[place], value=ops[place].value[:5] + ops[place].value[6:])
        return ops

    assert broken_names(with_ops(run, lose)) == ["kept"]


def test_a_doubled_record(run: BalanceRun) -> None:
    """A batch that stands at two offsets breaks the same promise."""

    def double(ops: list[Op]) -> list[Op]:
        place = next(at for at, op in enumerate(ops) if op.phase == "final" and op.kind == "ok")
        base, count, _ = ops[place].value[6]
        ops[place] = replace(
            ops[place], value=[*ops[place].value[:6], (base, count, ops[place].value[5][2]), *ops[place].value[7:]]
        )
        return ops

    assert broken_names(with_ops(run, double)) == ["kept"]


def test_a_partition_that_cannot_be_read(run: BalanceRun) -> None:
    """A run that has not come to its end breaks the same promise."""
    history = History()
    history.ops, history.missing = run.history.ops, "partitions cannot be read"
    assert broken_names(replace(run, history=history)) == ["kept"]


def test_nothing_happened(run: BalanceRun) -> None:
    """An empty history proves nothing."""
    assert broken_names(with_ops(run, lambda _: [])) == ["kept"]


def test_a_slow_move(run: BalanceRun) -> None:
    """A move that takes longer than seconds, and one that has not ended, break their promise."""
    first, second, *others = run.moves
    slow = replace(run, moves=(replace(first, end=first.begin + 10_001), replace(second, end=None), *others))
    texts = [each.text for each in report_of(slow).broken]
    assert texts[0].endswith("to 4 takes 10.00 s, which is more than 10")
    assert texts[1].endswith("has not ended")
    assert broken_names(slow) == ["fast"]


def test_traffic_outside_the_band(run: BalanceRun) -> None:
    """If the acknowledgements of the last minute name one broker less often, traffic is not even."""

    def shift(ops: list[Op]) -> list[Op]:
        late = run.begin + END_MS - 60_000
        moved = {op.index for op in ops if op.f == "send" and op.broker == "4" and op.at >= late and op.index % 2}
        return [replace(op, broker="1") if op.index in moved and op.kind == "ok" else op for op in ops]

    # Nobody else has got those records, so the oracle of owners may object as well.
    assert "even" in broken_names(with_ops(run, shift))


def test_a_round_that_ends_early(run: BalanceRun) -> None:
    """A round with an error breaks the promise of one planner."""
    rounds = {number: list(each) for number, each in run.rounds.items()}
    rounds[0][0] = replace(rounds[0][0], error="t-3: UNKNOWN_TOPIC_OR_PARTITION")
    found = replace(run, rounds={number: tuple(each) for number, each in rounds.items()})
    (only,) = report_of(found).broken
    assert only.name == "one planner"
    assert only.text == "the round of c0 at 60.0 s ends early: t-3: UNKNOWN_TOPIC_OR_PARTITION"


# The report ---------------------------------------------------------------------------------------------------------


def test_a_report(run: BalanceRun) -> None:
    """The report names each move with its time, each promise, and the loads; the data have the same numbers."""
    report = report_of(run)
    text = lines(report)
    assert len([line for line in text if "  partition " in line and " from " in line]) == len(run.moves)
    assert [line.split()[0] for line in text[-len(PROMISES) :]] == ["even", "kept", "fast", "one"]
    found = data(report)
    assert found["promises"] == {name: [] for name in PROMISES}
    assert msgspec.json.decode(msgspec.json.encode(found)) is not None


def test_a_broken_promise_is_named(run: BalanceRun) -> None:
    """The report says which promise is broken, and shows some of the texts."""
    strays = {0: (), 1: tuple(run.begin + 60_000 * each for each in range(1, 8)), 2: ()}
    text = lines(report_of(replace(run, strays=strays)))
    place = next(at for at, line in enumerate(text) if line.startswith("  one planner"))
    assert "broken" in text[place]
    assert text[place + 1].strip() == "c1 plans a round at 60.0 s, and does not lead"
    assert text[-1].strip() == "and 3 more; --json has all"


def test_a_plot(run: BalanceRun) -> None:
    """Two frames, each with a curve for each broker, the band, and a mark for each move."""
    picture = ET.fromstring(plot(report_of(run)))  # noqa: S314 - our own text
    name = "{http://www.w3.org/2000/svg}"
    assert len(list(picture.iter(f"{name}polyline"))) == 2 * 4
    assert len(list(picture.iter(f"{name}polygon"))) == 2
    assert len(list(picture.iter(f"{name}path"))) == 2 * len(run.moves)


# The parts ----------------------------------------------------------------------------------------------------------


def test_the_traffic_is_what_clients_saw() -> None:
    """Acknowledged sends and polls count at the time and the broker of their answers; nothing else does."""
    history = History()
    for value, ending, at in ((1, "ok", 12_000), (2, "fail", 13_000), (3, "info", 14_000)):
        index = history.invoke("p", "send", 0, value, 11_000, count=4)
        history.complete(index, ending, at, offset=0, broker="2")
    index = history.invoke("c", "poll", 0, None, 21_000, offset=0)
    history.complete(index, "ok", 21_000, value=[(0, 4, 1)], offset=4, broker="3")
    index = history.invoke("c", "poll", 0, None, 22_000, offset=0, phase="final")
    history.complete(index, "ok", 22_000, value=[(0, 4, 1)], offset=4, broker="3")
    traffic = Traffic(history, begin=1_000)
    assert traffic.load("in", 2, 10_000, 20_000) == sizes(1, 4) * 1_000 / 10
    assert traffic.load("in", 2, 0, 10_000) == 0
    assert traffic.load("out", 3, 20_000, 30_000) == sizes(1, 4) * 1_000 / 10
    assert traffic.load("out", 2, 0, 40_000) == 0


def test_a_band() -> None:
    """The band is a tenth of the average to each side, and a little more for what meters miss."""
    found = band([0.0, 100.0, 200.0, 100.0])
    assert (found.low, found.high) == pytest.approx((89.0, 111.0))


def test_moves_of_the_metadata() -> None:
    """A move begins with its record and ends with the election of its target. A new target replaces the old one."""
    log = MoveLog()
    records = (
        (0, Partition("t", 0, (1,), (1,), 1)),
        (10, PartitionChange("t", 0, replicas=(2,), leader=-1)),
        (15, PartitionChange("t", 0, replicas=(3,), leader=-1)),
        (30, PartitionChange("t", 0, leader=3)),
        (40, PartitionChange("t", 0, leader=-1)),
        (50, PartitionChange("t", 0, leader=3)),
        (60, PartitionChange("t", 0, replicas=(1,), leader=-1)),
    )
    for now, record in records:
        log.committed((MetadataBatch((record,)),), now)
    assert [(each.source, each.target, each.begin, each.ms) for each in log.moves] == [(1, 3, 10, 20), (3, 1, 60, None)]


def test_the_load_of_a_seed() -> None:
    """Two partitions change, on different brokers. What a producer owes stays within a record."""
    for seed in range(30):
        plans = workload(seed)
        changed = [each.partition for each in plans if each.has_changed]
        assert len(plans) == PARTITIONS
        assert len({each % 3 for each in changed}) == len(changed) == 2
    owed = sent = 0.0
    for value in range(1, 200):
        count, left = counts(owed + 1_000, value)
        sent += sizes(value, count)
        owed = left
        assert -220 < owed <= 0
    assert sent == pytest.approx(199 * 1_000 - owed)
