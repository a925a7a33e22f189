"""A move in the simulator: the times of its steps come from the run, and the formula predicts them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from impl.sim.move.conditions import MIB, Conditions
from impl.sim.move.fair_link import FairLink
from impl.sim.move.formula import DAY_BYTES, LOAD, copy_seconds
from impl.sim.move.history import stored
from impl.sim.move.measure import LARGEST_TAIL, VARIANTS, LimitError, Move, MoveStudy
from impl.sim.move.simulation import MoveVariant, run_move
from impl.sim.move.steps import measured
from impl.sim.queue import Queue

TB = 10**12
SIZES = {"1GB": TB // 1_000, "1TB": TB, "10TB": 10 * TB}
SMALL = {"1GB": SIZES["1GB"]}
EVERY = [*VARIANTS, MoveVariant("G0", "V6")]
SLOW = [pytest.param(each, marks=pytest.mark.slow) for each in EVERY[1:]]  # Ten seconds each, in several tests.
variants = pytest.mark.parametrize("variant", [EVERY[0], *SLOW], ids=lambda each: each.name)


def moves(variant: MoveVariant, tail: int = 20 * MIB, sizes: dict[str, int] = SIZES, **conditions: int) -> list[Move]:
    """The moves of some histories in one variant."""
    return list(MoveStudy(sizes, tail, (variant,), Conditions(**conditions)).run())


@variants
def test_the_history_does_not_matter(variant: MoveVariant) -> None:
    """Each step takes as long for 10 TB as for 1 GB, within 1 ms, apart from the time for the list of segments."""
    found = moves(variant)
    first = found[0].base
    for move in found:
        assert all(abs(move.base[name] - first[name]) <= 1 for name in first), (move.label, move.base, first)


@variants
def test_the_list_of_segments_is_all_that_grows(variant: MoveVariant) -> None:
    """The list has 225 bytes a segment, and adds less than a tenth of a second for 10 TB."""
    small, _, large = moves(variant)
    assert large.segments == 9_315
    assert large.log_bytes < 240 * large.segments
    assert sum(small.list_term.values()) == 0
    assert 0 < large.steps.serves - small.steps.serves < 100


@variants
@pytest.mark.parametrize(
    "conditions", [{}, {"bandwidth": 5 * 10**8, "store": 60}, {"message": 5, "commit": 25, "metadata": 20}], ids=str
)
def test_the_formula_holds(variant: MoveVariant, conditions: dict[str, int]) -> None:
    """The formula is within 5 %, in total and for each step, under all conditions."""
    for move in moves(variant, **conditions):
        stated = move.formula.durations()
        assert move.steps.serves == pytest.approx(move.formula.serves, rel=0.05)
        assert move.steps.durations() == {name: pytest.approx(ms, rel=0.05, abs=2) for name, ms in stated.items()}


@variants
def test_twice_the_tail_is_twice_the_upload(variant: MoveVariant) -> None:
    """40 MiB more tail add the time of their bytes to the upload, and to no other step."""
    (once,), (twice,) = moves(variant, 40 * MIB, SMALL), moves(variant, 80 * MIB, SMALL)
    more = {name: twice.base[name] - ms for name, ms in once.base.items()}
    step = "opened" if variant.version == "V6" else "closed"
    assert more.pop(step) == pytest.approx(40 * MIB / 125_000, abs=1)
    assert set(more.values()) == {0}


def test_the_times_come_from_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the links are slower than stated, step 4 takes longer by that factor, and the formula is wrong."""
    variant = MoveVariant("G0", "legacy")
    (usual,) = moves(variant, 40 * MIB, SMALL)
    begin = FairLink.__init__

    def slower(self: FairLink, queue: Queue, rate: Fraction) -> None:
        begin(self, queue, rate / 3)

    monkeypatch.setattr(FairLink, "__init__", slower)
    (slow,) = moves(variant, 40 * MIB, SMALL)
    assert slow.formula == usual.formula
    upload = 40 * MIB / 125_000
    assert slow.base["closed"] - usual.base["closed"] == pytest.approx(2 * upload, rel=0.01)
    assert slow.steps.serves > 1.2 * slow.formula.serves


def test_a_slower_store_is_seen_in_each_step_that_uses_it() -> None:
    """A slower store shows as two waits before the close, one in it, and four at the target."""
    (usual,), (slow,) = moves(EVERY[0], sizes=SMALL), moves(EVERY[0], sizes=SMALL, store=130)
    more = {name: slow.base[name] - ms for name, ms in usual.base.items()}
    assert more == {"record": 0, "seen": 0, "flushed": 200, "closed": 100, "elected": 0, "opened": 400, "serves": 0}


@variants
def test_what_a_move_transfers(variant: MoveVariant) -> None:
    """After step 3 the tail goes to the store, and no part of the history moves. The target appends behind it."""
    history = stored(TB)
    run = run_move(history, 20 * MIB, variant, Conditions())
    steps, begin = measured(run.moments), run.moments.asked
    assert begin is not None
    uploads = [each for each in run.transfers if each.kind == "put" and each.key.startswith("object/")]
    assert min(each.begin for each in uploads) - begin > steps.flushed
    assert sum(each.size for each in uploads) == pytest.approx(20 * MIB + 2 * history.log_bytes, rel=0.01)
    reads = [each for each in run.transfers if each.kind == "get" and each.node == 2]
    assert {each.key for each in reads} - {"reservation/2"} == {min(each.key for each in uploads)}
    assert run.offset == history.end + 20


def test_the_order_of_the_steps() -> None:
    """G0 elects before the target opens, and G1 after it. A fast close ends long before the upload."""
    first, second, fast = (moves(each, 40 * MIB, SMALL)[0].steps for each in VARIANTS)
    assert first.closed < first.elected < first.opened == first.serves
    assert second.closed < second.opened < second.elected < second.serves
    assert fast.closed < first.closed - 300
    assert fast.opened > first.closed


def test_the_timer_elects_where_the_upload_is_slow() -> None:
    """EL-01: after 10 s the controller of G0 elects the target, which still waits for the close."""
    (move,) = moves(MoveVariant("G0", "legacy"), 20 * MIB, SMALL, bandwidth=10**7)
    assert 10_000 < move.steps.elected < 11_100 < move.steps.closed < move.steps.opened
    assert move.steps.serves == pytest.approx(move.formula.serves, rel=0.05)


def test_a_move_is_reproducible() -> None:
    """Two runs have equal times, transfers and offsets."""
    runs = [run_move(stored(TB), 5 * MIB, VARIANTS[2], Conditions()) for _ in range(2)]
    assert runs[0] == runs[1]


@pytest.mark.slow
def test_the_default_tail() -> None:
    """With a tail of 500 MiB most of the move is upload, and no part is history."""
    small, large = moves(VARIANTS[0], MoveStudy(SIZES).tail, {"1GB": SIZES["1GB"], "10TB": SIZES["10TB"]})
    assert small.steps.serves == pytest.approx(small.formula.serves, rel=0.05)
    assert {name: large.base[name] - ms for name, ms in small.base.items()} == {
        name: pytest.approx(0, abs=1) for name in small.base
    }
    assert small.steps.durations()["closed"] > 0.6 * small.steps.serves


@pytest.mark.slow
def test_the_default_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    """500 MiB reach the threshold, so the upload begins before the close: the 4.7 s of docs/move.md."""
    monkeypatch.setattr("impl.sim.move.simulation.ROOM_BYTES", -LARGEST_TAIL)
    (move,) = moves(MoveVariant("G1", "legacy"), MoveStudy(SIZES).tail, SMALL)
    assert move.steps.serves == pytest.approx(4_700, abs=50)


def test_copying_the_case_of_the_seeds() -> None:
    """Copying 100 MB/s of a day over 1 Gbps takes 19.2 h if producers stop, and 96 h if they go on."""
    assert pytest.approx(8.64 * TB) == DAY_BYTES
    assert copy_seconds(DAY_BYTES, 10**9) == pytest.approx(19.2 * 3_600)
    assert copy_seconds(DAY_BYTES, 10**9, LOAD) == pytest.approx(96 * 3_600)
    assert copy_seconds(1, 8 * LOAD, LOAD) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"histories": {"37TB": 37 * TB}}, "--history 37TB: out of range; give sizes up to 18TB"),
        ({"tail": LARGEST_TAIL + 1}, "--tail 1048576001: it does not fit into one segment; give 1MiB to 1000MiB"),
        ({"tail": 0}, "--tail 0: it does not fit into one segment; give"),
        ({"conditions": Conditions(bandwidth=10**6)}, "--bandwidth 1000000: the tail takes more than 100 s"),
    ],
)
def test_limits(given: dict[str, Any], message: str) -> None:
    """Conditions that the formula does not cover are refused."""
    with pytest.raises(LimitError, match=message):
        MoveStudy(**{"histories": SIZES, **given})


def test_the_largest_history() -> None:
    """Two copies of the segment list fit into one bulk of the WAL."""
    (move,) = moves(VARIANTS[0], MIB, {"18TB": 18 * TB})
    assert move.steps.serves == pytest.approx(move.formula.serves, rel=0.05)
