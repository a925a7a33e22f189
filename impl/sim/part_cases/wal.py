"""Random runs of the WAL of a node, in the hands of several processes, one after the other or at once (WL-03 to WL-09).

The judgement knows what callers were told: which records were acknowledged, which ones they have trimmed, and what a
recovery has found. An older process may begin after a newer one. In half of the runs a controller refuses it (ND-01),
in the others only the WAL itself does.
"""

from __future__ import annotations

from collections.abc import Callable

from impl.broker.wal import OverCapacityError, WalLimits
from impl.broker.wal_format import WalRecord
from impl.sim.part_cases.handle_world import has_failed, has_succeeded
from impl.sim.part_cases.late_store import LateStore
from impl.sim.part_cases.wal_processes import NODE, AckedRecord, WalAppend, WalBarrier, WalProcess, WalTrim
from impl.sim.tape import Draw, one
from impl.sim.violation import JudgedRun, PartViolation
from impl.store.interface import Put
from impl.tasks import FailedError

STEPS, LAST_ROUNDS = 120, 400
"""The most steps of a run, and the most rounds of its last process."""
PROCESSES, STREAMS, LONGEST = 7, 3, 40
"""The most processes before the last one, the number of streams, and the most bytes of a payload."""
FRAME, SLOT = 2 * 4 + 4 * 8, 64 << 20
"""The bytes of a record besides its payload, and the bytes to which the end of an object is aligned (WL-02)."""


class WalRun(JudgedRun):
    """The processes, and what their callers know. ``found``: the first violation."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._store = LateStore(draw)
        self._barrier = WalBarrier(is_there=draw() < 0.5)
        self._beyond = one(draw, (0.0, 0.0, 0.4))
        """How often a trim goes beyond the end of the WAL."""
        self._limits = WalLimits(
            bulk=one(draw, (1, 100, 200)),
            in_flight=1 + int(draw() * 4),
            unflushed=one(draw, (150, 400, 1 << 30)),
        )
        self._processes: list[WalProcess] = []
        self._names = 0
        self._appended: dict[int, WalRecord] = {}
        """All records, by their names, which are their bases."""
        self._kept: dict[int, AckedRecord] = {}
        """By name: the acknowledged records that nobody has trimmed."""
        self._trimmed = -1
        """All records up to this offset are durably trimmed."""
        self._asked = -1
        """A caller has asked to trim all records up to this offset."""
        self._highest = -1
        """The largest offset that was acknowledged."""
        self._has_equals = False
        """Whether two processes had the same epoch: a late object of the one may hide the trim of the other (AM-15)."""

    # What happens -----------------------------------------------------------------------------------------------

    def play(self) -> None:
        """Make random steps until one violates something. Then a last process takes over, and nothing disturbs it."""
        self._begin((1, False))
        if self._draw() < 0.5:
            self._begin((2, False))
        for _ in range(20 + int(self._draw() * STEPS)):
            one(self._draw, _STEPS)(self)
            self._look()
            if self.found is not None:
                return
        for process in self._processes:
            process.crash()
        self._store.heal()
        self._begin((1 + max(each.name[0] for each in self._processes), False))
        last = self._processes[-1]
        for _ in range(LAST_ROUNDS):
            if last.is_ready or not last.is_alive or self.found is not None:
                break
            if last.sent:
                last.deliver(min(last.sent))
            else:
                last.wait()
        if not last.is_ready:
            self.violate("WL-03", "the newest process cannot take the WAL over, though nothing disturbs it")
            return
        self._end(last)

    def _end(self, last: WalProcess) -> None:
        """The last process appends a record and trims it. Nothing disturbs it, so both end."""
        self._names += 1
        self._append_one(last, WalRecord(0, last.name[0], self._names, 1, b""))
        last.run()
        self._settle_one(last)
        self._look()
        if not last.acked:
            self.violate("WL-05", "the newest process does not acknowledge a record, though nothing disturbs it")
            return
        last.trims.append(WalTrim(last.acked[-1], last.wal.trim(last.acked[-1])))
        last.run()
        self._settle_one(last)
        self._look()
        if last.trims:
            self.violate("WL-06", "a trim never ends, though nothing disturbs it")

    def _begin(self, name: tuple[int, bool]) -> None:
        equals = [each for each in self._processes if each.name == name]
        if any(each.is_alive for each in equals):
            return
        # Nobody can tell equal reservations apart: that of a dead process would take the WAL for the living one.
        if equals and any(isinstance(each, Put) and each.key.startswith("reservation/") for each in self._store.late):
            return
        process = WalProcess(self._store, self._barrier, name, self._limits, self._take_over)
        process.meets_newer = any(
            int(key.split("/")[2]) > name[0] for key in self._store.objects.objects if key.startswith(f"wal/{NODE}/")
        )
        process.floor = self._highest
        self._has_equals |= any(each.name[0] == name[0] for each in self._processes)
        self._processes.append(process)
        process.run()

    def _begin_next(self) -> None:
        """Begin the next process. The one before it may be alive, and may be at its start, too."""
        if len(self._processes) >= PROCESSES:
            return
        newest = max(each.name for each in self._processes)
        kind = self._draw()
        if kind < 0.5:
            self._begin((newest[0] + 1, False))
        elif kind < 0.6:
            # The clock that gives the epochs stands still.
            if not any(each.is_alive for each in self._processes if each.name[0] == newest[0]):
                self._begin(newest)
        elif kind < 0.7:
            self._begin((newest[0], True))
        elif kind < 0.85:
            self._begin((newest[0] + 1, False))
            self._begin((newest[0] + 2, False))
        else:
            self._begin((1 + int(self._draw() * newest[0]), False))

    def _process(self) -> WalProcess | None:
        alive = [each for each in self._processes if each.is_alive]
        # The newest ones compete. Older ones work on from time to time.
        return one(self._draw, alive[-2:] if self._draw() < 0.7 else alive) if alive else None

    def _deliver(self) -> None:
        process = self._process()
        if process is not None and process.sent:
            process.deliver(one(self._draw, sorted(process.sent)))

    def _settle(self) -> None:
        """A process works for a while without a break."""
        self._settle_one(self._process())

    def _settle_one(self, process: WalProcess | None) -> None:
        for _ in range(12):
            if process is None or not process.is_alive:
                return
            if process.sent:
                process.deliver(min(process.sent))
            else:
                process.wait()

    def _wait(self) -> None:
        process = self._process()
        if process is not None:
            process.wait()

    def _arrive_late(self) -> None:
        self._store.arrive_late()

    def _crash(self) -> None:
        process = self._process()
        if process is not None and self._draw() < 0.5:
            process.crash()

    # What callers ask for ---------------------------------------------------------------------------------------

    def _append(self) -> None:
        process = self._process()
        if process is None or not process.is_ready:
            return
        for _ in range(1 + int(self._draw() * 3)):
            self._names += 1
            payload = b"x" * int(self._draw() * LONGEST)
            record = WalRecord(int(self._draw() * STREAMS), process.name[0], self._names, 1, payload)
            self._append_one(process, record)
        process.run()
        puts = [each for each in process.sent.values() if isinstance(each, Put) and each.key.startswith("wal/")]
        if len(puts) > self._limits.in_flight:
            self.violate("WL-04", "the WAL puts more objects at once than it may")

    def _append_one(self, process: WalProcess, record: WalRecord) -> None:
        waiting = sum(FRAME + len(each.record.payload) for each in process.appends if not each.gate.happened)
        size, limit = FRAME + len(record.payload), self._limits.unflushed
        markers = FRAME * sum(not each.gate.happened for each in process.trims)
        self._appended[record.base] = record
        try:
            process.appends.append(WalAppend(record, process.wal.append(record)))
        except OverCapacityError:
            if waiting + markers + size <= limit:
                self.violate("WL-04", "the WAL refuses an append for which there is room")
            return
        except FailedError:
            return
        if waiting + size > limit:
            self.violate("WL-04", "the WAL accepts an append beyond the limit of the bytes that wait")

    def _trim(self) -> None:
        process = self._process()
        if process is None or not process.acked:
            return
        offset = one(self._draw, process.acked)
        if self._draw() < self._beyond:
            # The caller wants no record that will come until then, either.
            offset = process.acked[-1] + SLOT * int(1 + 4 * self._draw())
        try:
            gate = process.wal.trim(offset)
        except FailedError:
            gate = None
        self._kept = {name: each for name, each in self._kept.items() if each.offset > offset}
        if gate is not None:
            process.trims.append(WalTrim(offset, gate))
        self._asked = max(self._asked, offset)
        process.run()
        if self._draw() < 0.3:
            # The last trim of a process that shuts down.
            self._settle_one(process)
            self._look()
            process.crash()

    # What the WAL answers -----------------------------------------------------------------------------------------

    def _look(self) -> None:
        for process in self._processes:
            ended = [each for each in process.appends if each.gate.happened]
            if ended:
                process.appends = [each for each in process.appends if not each.gate.happened]
            for append in ended:
                if not has_failed(append.gate):
                    self._ack(process, append.record, append.gate.result())
            if process.trims:
                done = [each.offset for each in process.trims if has_succeeded(each.gate)]
                self._trimmed = max([self._trimmed, *done])
                process.trims = [each for each in process.trims if not each.gate.happened]

    def _ack(self, process: WalProcess, record: WalRecord, offset: int) -> None:
        if process.meets_newer:
            self.violate("WL-03", "a process acknowledges a record, though the WAL had an object of a newer one before")
        is_newest = process.name == max(each.name for each in self._processes)
        # Without a controller an older process may have the WAL as long as the newer one has put no object.
        if not is_newest and not self._barrier.is_there:
            return
        if offset <= process.floor:
            self.violate("WL-06", "the WAL gives a record an offset below one that was acknowledged before")
        newer = [each.recovered for each in self._processes if each.name > process.name and each.recovered is not None]
        if any(record not in [each for _, each in found] for found in newer):
            self.violate("INV-02", "a process acknowledges a record that a newer process has not recovered")
        self._highest = max(self._highest, offset)
        process.acked.append(offset)
        if not newer and offset > self._asked:
            self._kept[record.base] = AckedRecord(process.name, offset)

    def _take_over(self, process: WalProcess) -> None:
        """A process has recovered the WAL. It trims what it has found."""
        assert process.recovered is not None, "the process has told what it has found"
        self._look()
        offsets = [offset for offset, _ in process.recovered]
        if offsets != sorted(set(offsets)):
            self.violate("WL-07", "a recovery does not find the records in the order of their offsets")
        names = [record.base for _, record in process.recovered]
        if len(names) != len(set(names)) and not self._has_equals:
            self.violate("WL-07", "a recovery finds a record twice")
        if any(self._appended.get(record.base) != record for _, record in process.recovered):
            self.violate("WL-02", "a recovery finds a record that nobody has appended")
        if offsets and offsets[0] <= self._trimmed and not self._has_equals:
            self.violate("WL-06", "a recovery finds a record though its trim was confirmed")
        there = {record.base: offset for offset, record in process.recovered}
        # A process that still recovers the WAL when a newer one has it finds nothing that the newer one acknowledges.
        wanted = {name: each.offset for name, each in self._kept.items() if each.name <= process.name}
        if any(there.get(name) != offset for name, offset in wanted.items()):
            self.violate("INV-02", "a recovery does not find an acknowledged record that nobody has trimmed")
        # Without a controller an older process may take the WAL over, and trim what it has found.
        for name in {*wanted, *(() if self._barrier.is_there else there)}:
            self._kept.pop(name, None)


_STEPS: tuple[Callable[[WalRun], None], ...] = (
    *(WalRun._append,) * 6, *(WalRun._deliver,) * 8, *(WalRun._settle,) * 6, *(WalRun._wait,) * 2,
    *(WalRun._trim,) * 2, *(WalRun._begin_next,) * 2, WalRun._arrive_late, WalRun._crash,
)  # fmt: skip
"""The steps of a run, each as often as it counts in the draw."""


def judged(draw: Draw) -> PartViolation | None:
    """Make a run of a WAL, and tell what it violates; None if nothing."""
    run = WalRun(draw)
    run.play()
    return run.found
