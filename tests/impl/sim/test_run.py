"""Whole runs with a small broker: each seed gives one run, every fault happens, and the run ends by a condition."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from functools import cache
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from impl.broker import messages
from impl.client.history import FINAL
from impl.errors import E
from impl.sim.faults import KINDS, UNNAMED
from impl.sim.options import Options
from impl.sim.run import Run, RunStoppedError, simulate
from impl.sim.script import ScriptOperation
from impl.sim.stages import HANDOVERS
from tests.impl.sim.fake_broker import FakeBroker

SHORT = Options(operations=150, span_ms=60_000)
ROOT = Path(__file__).parents[3]


def _key(number: int) -> str:
    return f"objects/{number}"


@cache
def _run(seed: int) -> Run:
    return simulate(seed, FakeBroker, _key, SHORT)


def digest(run: Run) -> str:
    """A digest of a run's log, history and faults."""
    parts = run.log.render(), "\n".join(run.history.lines()).encode(), msgspec.json.encode(run.faults)
    return sha256(b"\0".join(parts)).hexdigest()


def _probe(seed: int) -> str:
    return digest(simulate(seed, FakeBroker, _key, SHORT))


# One seed, one run ------------------------------------------------------------------------------------------------


def test_a_seed_gives_one_run() -> None:
    """Equal seeds give equal bytes, and others do not."""
    assert digest(_run(1)) == _probe(1) != digest(_run(2))


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_a_run_does_not_depend_on_the_order_of_hashes(hash_seed: str) -> None:
    """Processes with different hash seeds make the same run."""
    code = "from tests.impl.sim import test_run as t; print(t._probe(3), t._probe(4))"
    made = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert made.stdout.split() == [digest(_run(3)), digest(_run(4))]


@pytest.mark.parametrize("seed", range(4))
def test_a_run_is_replayed_from_its_faults_and_its_script(seed: int) -> None:
    """Apart from the weather, the tape and the script contain all decisions of the seed."""
    before = _run(seed)
    options = msgspec.structs.replace(SHORT, recorded=tuple(before.faults), operations_of=before.script, faults="none")
    again = simulate(seed, FakeBroker, _key, options)
    assert again.faults == before.faults
    assert digest(again) == digest(before)


def test_a_part_of_a_tape_is_a_run_of_its_own() -> None:
    """Faults of silenced kinds do not happen. Others on the tape may."""
    before = next(run for run in map(_run, range(9)) if run.happened.get("pause") and len(run.happened) > 3)
    kept = tuple(fault for fault in before.faults if fault.kind == "pause")
    again = simulate(before.seed, FakeBroker, _key, msgspec.structs.replace(SHORT, recorded=kept))
    assert set(again.happened) == {"pause"}
    assert again.healed


def test_a_script_may_be_shortened() -> None:
    """A run performs exactly the operations of its script."""
    script = tuple(each for each in _run(1).script if each.f in ("append", "move"))[:20]
    run = simulate(1, FakeBroker, _key, msgspec.structs.replace(SHORT, operations_of=script, faults="none"))
    assert run.healed
    assert run.counts["operations"] == 20
    assert run.counts["operations append"] + run.counts["operations move"] == 20


# Faults -----------------------------------------------------------------------------------------------------------


def test_every_kind_of_fault_happens() -> None:
    """Within few seeds each kind of fault happens, in at least 30 % of the runs that have it."""
    # These brokers have no stream set objects, so no metadata name their ranges.
    kinds = set(KINDS) - set(UNNAMED)
    runs = [_run(seed) for seed in range(40)]
    drawn = Counter(kind for run in runs for kind in run.drawn)
    happened = Counter(kind for run in runs for kind in run.happened)
    assert set(happened) == kinds
    assert {kind: (happened[kind], drawn[kind]) for kind in kinds if happened[kind] < 0.3 * drawn[kind]} == {}


def test_only_what_was_drawn_happens() -> None:
    """Without drawn faults none happens, and neither does a kind that is left out."""
    quiet = simulate(5, FakeBroker, _key, msgspec.structs.replace(SHORT, faults="none"))
    assert (quiet.faults, quiet.drawn, quiet.healed) == ([], {}, True)
    one = simulate(5, FakeBroker, _key, msgspec.structs.replace(SHORT, faults=("pause", "loss"), without=("loss",)))
    assert set(one.happened) == {"pause"}


def test_processes_crash_at_different_awaits() -> None:
    """A crash finds tasks that wait for the controller, for the store, and for time."""
    crashed = {place for seed in range(20) for place in _run(seed).crashed}
    functions = {function.rpartition("/")[2] for _, _, function in crashed}
    assert {"FakeBroker._live", "FakeBroker._once", "Bucket._certain"} <= functions


def test_commands_of_the_metadata_come_in_their_order() -> None:
    """A paused process gets two commands in their order: the newer one decides who owns the stream."""
    seen: dict[messages.Identity, list[int]] = {}

    class Noting(FakeBroker):
        def handle(self, event: messages.Input, now: int) -> list[messages.Output]:
            if isinstance(event, messages.Command) and isinstance(event.body, messages.Open | messages.Close):
                seen.setdefault(self._identity, []).append(event.id)
            return list(super().handle(event, now))

    for seed in range(6):
        seen.clear()
        simulate(seed, Noting, _key, msgspec.structs.replace(SHORT, faults=("pause", "cut", "crash_slow")))
        assert sum(map(len, seen.values())) > 10
        assert all(numbers == sorted(numbers) for numbers in seen.values())


def test_an_old_process_lives_on_beside_its_successor() -> None:
    """After a pause with replacement the old process gets inputs during the life of the new one."""
    options = msgspec.structs.replace(SHORT, faults=("replace",))
    run = simulate(1, FakeBroker, _key, options)
    assert run.happened["replace"] > 0
    paused = [number for number, event in enumerate(run.log.events) if event[2] == "pause"]
    resumed = {event[1] for event in run.log.events if event[2] == "resume"}
    assert {run.log.events[number][1] for number in paused} & resumed
    assert run.counts["processes"] > 3


@pytest.mark.parametrize("kind", ["epoch_equal", "epoch_back"])
def test_an_epoch_may_be_equal_or_less(kind: str) -> None:
    """A process may start with an epoch equal to its predecessor's, or lower."""
    options = msgspec.structs.replace(SHORT, faults=("crash_fast", kind))
    runs = (simulate(seed, FakeBroker, _key, options) for seed in range(9))
    run = next(run for run in runs if run.happened.get(kind))
    starts = [event[3] for event in run.log.events if event[2] == "start"]
    pairs = [
        (before["epoch"], after["epoch"])
        for number, before in enumerate(starts)
        for after in starts[number + 1 :]
        if before["node"] == after["node"]
    ]
    assert any(after == before if kind == "epoch_equal" else after < before for before, after in pairs)


def test_a_lost_tail_is_lost() -> None:
    """Uncommitted batches are lost with their leader, and the run heals nevertheless."""
    run = simulate(1, FakeBroker, _key, msgspec.structs.replace(SHORT, faults=("lost_tail",)))
    assert run.counts["lost batches"] > 0
    assert run.counts["elections"] > 1
    assert run.healed


# The end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_a_run_ends_when_everything_works_again(seed: int) -> None:
    """At the end every stream was handed over, is open, and was read to its end."""
    run = _run(seed)
    assert run.missing == ""
    assert run.counts["handovers"] >= HANDOVERS


class _Deaf(FakeBroker):
    """A broker that never answers a fetch."""

    def handle(self, event: messages.Input, now: int) -> list[messages.Output]:
        fetches = isinstance(event, messages.Command) and isinstance(event.body, messages.Fetch)
        return [] if fetches else list(super().handle(event, now))


def test_a_condition_that_never_holds_is_named() -> None:
    """A run that does not heal ends at a bound, and names the missing condition."""
    script = (ScriptOperation(0, 0, "append", 0, value=1),)
    run = simulate(1, _Deaf, _key, msgspec.structs.replace(SHORT, faults="none", operations_of=script))
    assert run.missing == "streams cannot be read"
    assert not run.healed


class _Refusing(FakeBroker):
    """A broker that refuses every trim."""

    def handle(self, event: messages.Input, now: int) -> list[messages.Output]:
        if isinstance(event, messages.Command) and isinstance(event.body, messages.Trim):
            return [messages.CommandAnswer(event.to, event.id, E.STREAM_NOT_OPENED)]
        return list(super().handle(event, now))


def test_a_refused_trim_may_have_taken_effect() -> None:
    """A refused trim may be the repetition of one with effect, so the history does not call it failed."""
    run = simulate(1, _Refusing, _key, msgspec.structs.replace(SHORT, faults="none"))
    ends = {op.kind for op in run.history.ops if op.f == "trim" and op.kind != "invoke"}
    assert ends == {"info"}


# What a broken broker shows ---------------------------------------------------------------------------------------


class _Forgetful(FakeBroker):
    """A broker that acknowledges every seventh append without putting it."""

    def __init__(self, identity: messages.Identity, now: int) -> None:
        super().__init__(identity, now)
        self.loses_every = 7


def _acked_and_read(run: Run) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """The acknowledged values, and those of the final reads, both with their streams' keys."""
    living = run.simulation.load.catalog.living()
    written = {op.index: op.value for op in run.history.ops if op.kind == "invoke" and op.f == "send"}
    ended = [op for op in run.history.ops if op.kind == "ok" and op.key in living]
    acked = {(op.key, written[op.index]) for op in ended if op.f == "send"}
    reads = [op for op in ended if op.f == "poll" and op.phase == FINAL]
    read = {(op.key, value) for op in reads for _, _, value in op.value}
    return acked, read


@pytest.mark.parametrize("faults", ["none", "all"])
def test_a_lost_record_is_visible_in_the_history(faults: str) -> None:
    """A correct broker's final reads have every record. A planted loss shows."""
    script = tuple(each for each in _run(1).script if each.f in ("append", "move", "fetch"))
    options = msgspec.structs.replace(SHORT, faults=faults, operations_of=script)
    for seed in range(5):
        acked, read = _acked_and_read(simulate(seed, FakeBroker, _key, options))
        assert acked
        assert acked <= read
    acked, read = _acked_and_read(simulate(1, _Forgetful, _key, options))
    assert acked - read


class _Broken(FakeBroker):
    """A broker with a fault in its code."""

    def handle(self, event: messages.Input, now: int) -> list[messages.Output]:
        if isinstance(event, messages.Command) and isinstance(event.body, messages.Trim):
            raise KeyError("trim")
        return list(super().handle(event, now))


def test_a_fault_of_a_node_ends_the_run() -> None:
    """A node's own error, which is no simulated fault, ends the run with the process and the time."""
    run = simulate(1, _Broken, _key, SHORT)
    assert run.broken.startswith("KeyError: 'trim', in b")
    assert run.broken.endswith(" ms, with Command")
    assert not run.healed


def test_a_run_can_be_stopped() -> None:
    """A run can be stopped before its end."""
    answers = iter([True] * 50 + [False])
    with pytest.raises(RunStoppedError):
        simulate(1, FakeBroker, _key, SHORT, lambda: next(answers))
