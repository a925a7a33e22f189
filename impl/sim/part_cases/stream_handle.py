"""Random runs of a stream handle, judged as its clients and the controller see it (CL-02 to CL-09, INV-13).

The storage keeps what a broker's storage promises: it ends the appends of a stream in their order, and a failure hits
all appends that are under way. Everything else ends in any order, and a request may get lost or arrive twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from impl import wire
from impl.broker.calls import Calls
from impl.broker.handle import StreamHandle
from impl.broker.messages import Identity
from impl.broker.settings import Settings
from impl.broker.storage import Storage
from impl.broker.uploader import Uploader
from impl.errors import E
from impl.items import OpenItem
from impl.rules import RefusedError
from impl.sim.part_cases.handle_world import (
    HandleAppend,
    HandleController,
    HandleFetch,
    HandleReads,
    HandleStorage,
    HandleTrim,
    HandleUploads,
    has_failed,
    has_succeeded,
)
from impl.sim.tape import Draw, one
from impl.sim.violation import JudgedRun, PartViolation
from impl.tasks import Gate, Tasks

STREAM, START, NEXT = 7, 4, 10
"""The stream, and the offsets with which it is opened."""
STEPS, ROUNDS, TIMEOUT_MS = 60, 200, 61_000
"""The most steps of a run, the most rounds of its end, and a time after which a call is sent again."""


class HandleRun(JudgedRun):
    """A handle, its ``storage``, what else surrounds it, and what its clients know. ``found``: the first violation."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._fast = draw() < 0.5
        self._tasks = tasks = Tasks()
        self._calls = Calls(tasks)
        self.storage = HandleStorage(tasks)
        self._reads = HandleReads(tasks, self.storage)
        self._uploads = HandleUploads(tasks, self.storage)
        self._controller = HandleController(START)
        self._handle = StreamHandle(
            *(tasks, self._calls, Identity(1, 100), Settings(fast_close=self._fast)),
            *(cast(Storage, self.storage), cast(Uploader, self._uploads), self._reads.read),
            *(OpenItem(STREAM, 3), wire.ItemAnswer(values={"start": START, "next": NEXT})),
        )
        self._requests: list[wire.Request] = []
        """The requests that may still arrive."""
        self._senders: dict[int, HandleTrim] = {}
        """By the id of a request: the trim that has sent it."""
        self._numbers = 0
        # What the clients know.
        self._acked: list[tuple[int, int, bytes]] = []
        self._appends: list[HandleAppend] = []
        self._fetches: list[HandleFetch] = []
        self._trims: list[HandleTrim] = []
        """All trims, in their order."""
        self._closing: Gate[None] | None = None
        self._has_failed = self._is_forced = self._has_sent_close = False

    # What happens -----------------------------------------------------------------------------------------------

    def play(self) -> None:
        """Make random steps until one violates something, then end everything that is under way."""
        for _ in range(10 + int(self._draw() * STEPS)):
            one(self._draw, _STEPS)(self)
            self.settle()
            if self.found is not None:
                return
        for _ in range(ROUNDS):
            if self._is_over():
                return
            self._end_all()
            if self.found is not None:
                return
        self.violate("CL-07", "an operation of the handle never ends, though everything that it waits for has ended")

    def settle(self, ms: int = 0) -> None:
        """Let the handle work, and look at what it has sent and answered."""
        for output in self._tasks.run(self._tasks.now + ms):
            if isinstance(output, wire.Request):
                self._requests.append(output)
                self._sent(output.id, output.body)
        self._look()

    def _sent(self, number: int, body: wire.Body) -> None:
        if isinstance(body, wire.CloseStreams):
            self._judge_close(body)
        elif isinstance(body, wire.TrimStreams):
            # Trims to the same offset follow each other, so the oldest one that is under way has sent this.
            to = body.items[0].to
            self._senders[number] = next(each for each in self._trims if each.to == to and not each.gate.happened)

    def _fail(self) -> None:
        if self._draw() < 0.2:
            self.storage.fail(int(self._draw() * 3))

    def _end_read(self) -> None:
        self._reads.end(self._draw)

    def _end_upload(self) -> None:
        self._uploads.end(fails=self._draw() < 0.1)

    def _wait(self) -> None:
        self.settle(one(self._draw, (100, 5_000, TIMEOUT_MS)))

    def _lose(self) -> None:
        if self._requests:
            del self._requests[int(self._draw() * len(self._requests))]

    def _deliver(self) -> None:
        """A request arrives. At times it is refused, its answer gets lost, or it will arrive once more."""
        if not self._requests:
            return
        place = int(self._draw() * len(self._requests))
        request = self._requests[place] if self._draw() < 0.1 else self._requests.pop(place)
        chance = self._draw()
        refusal = E.STREAM_FENCED if chance < 0.05 else E.NOT_CONTROLLER if chance < 0.1 else None
        self._execute(request, refusal, answers=self._draw() < 0.85)

    def _execute(self, request: wire.Request, refusal: E | None = None, *, answers: bool = True) -> None:
        assert isinstance(request.body, wire.TrimStreams | wire.CloseStreams), "a handle trims and closes"
        if refusal is None:
            if isinstance(request.body, wire.TrimStreams):
                self._judge_trim(request.id, request.body)
            refusal = self._controller.execute(request.body)
        if answers:
            self._calls.replied(wire.Reply(0, request.id, (wire.ItemAnswer(refusal),)))

    def _end_all(self) -> None:
        self.storage.end_all()
        self._uploads.end(fails=False)
        self._reads.end_all()
        for request in self._requests:
            self._execute(request)
        self._requests.clear()
        self.settle(TIMEOUT_MS)

    def _is_over(self) -> bool:
        trims = all(each.gate.happened for each in self._trims)
        return trims and not self._appends and not self._fetches and (self._closing is None or self._closing.happened)

    # What clients ask for, and which requests the handle must accept or refuse -------------------------------------

    @property
    def _end(self) -> int:
        """The end of the acknowledged batches."""
        return self._acked[-1][0] + self._acked[-1][1] if self._acked else NEXT

    def append(self) -> None:
        """A client appends a batch of up to three records."""
        count = int(self._draw() * 4)
        self._numbers += 1
        payload = b"%d" % self._numbers
        try:
            gate = self._handle.append(count, payload)
        except RefusedError as refused:
            if count and not self._may_be_closed(refused.error):
                self.violate("CL-02", "an open handle refuses an append")
            return
        if not count:
            self.violate("CL-02", "the handle accepts a batch without records")
        if self._closing is not None:
            self.violate("CL-07", "the handle accepts an append after its close began")
        self._appends.append(HandleAppend(count, payload, gate))

    def _fetch(self) -> None:
        begin = START - 1 + int(self._draw() * (self._end - START + 3))
        end = begin + int(self._draw() * (self._end - begin + 2))
        trimmed = max([START, *(each.to for each in self._trims if has_succeeded(each.gate))])
        asked = max([START, *(each.to for each in self._trims)])
        try:
            gate = self._handle.fetch(begin, end)
        except RefusedError as refused:
            if refused.error is E.OFFSET_OUT_OF_RANGE_BOUNDS and begin >= asked and end <= self._end:
                self.violate("CL-05", "the handle refuses a read of acknowledged batches that nobody trims")
            if refused.error is not E.OFFSET_OUT_OF_RANGE_BOUNDS and not self._may_be_closed(refused.error):
                self.violate("CL-05", "an open handle refuses a read")
            return
        if begin < trimmed:
            self.violate("CL-06", "the handle accepts a read below a confirmed trim")
        if end > self._end:
            self.violate("CL-05", "the handle accepts a read above the acknowledged batches")
        if self._has_failed or self._closing is not None:
            self.violate("CL-04" if self._has_failed else "CL-07", "a handle that is fenced or closed accepts a read")
        there = [each for each in self._acked if each[0] < end and each[0] + each[1] > begin]
        self._fetches.append(HandleFetch(begin, there if begin < end else [], gate))

    def _may_be_closed(self, error: E) -> bool:
        return error is E.STREAM_ALREADY_CLOSED and (self._has_failed or self._closing is not None)

    def _trim(self) -> None:
        to = START - 1 + int(self._draw() * (self._end - START + 3))
        try:
            gate = self._handle.trim(to)
        except RefusedError:
            if to <= self._end:
                self.violate("CL-06", "the handle refuses a trim of acknowledged batches")
            return
        if to > self._end:
            self.violate("CL-06", "the handle accepts a trim above the acknowledged batches")
        self._trims.append(HandleTrim(to, gate))

    def _close(self) -> None:
        if self._draw() < 0.1:
            self._closing = self._handle.close()

    def _force(self) -> None:
        """The storage fails for good, and the handle is closed by force (PL-04)."""
        if self._draw() < 0.05:
            self.storage.is_broken = self._has_failed = self._is_forced = True
            self._closing = self._handle.force_close()

    # What the handle answers, and asks for ------------------------------------------------------------------------

    def _look(self) -> None:
        """Judge the operations that have ended."""
        for append in [each for each in self._appends if each.gate.happened]:
            self._appends.remove(append)
            if has_succeeded(append.gate):
                self._judge_ack(append)
            else:
                self._has_failed = True
        for fetch in [each for each in self._fetches if each.gate.happened]:
            self._fetches.remove(fetch)
            if has_succeeded(fetch.gate):
                batches = [(each.base, each.count, each.payload) for each in fetch.gate.result()]
                if batches != fetch.batches:
                    self.violate("INV-13", "a read does not return the acknowledged batches of its range")
        for place, trim in enumerate(self._trims):
            # After a refused trim the handle keeps its own start (AM-14), so a lower trim has nothing to do.
            refused = any(each.to > trim.to and has_failed(each.gate) for each in self._trims[:place])
            if has_succeeded(trim.gate) and self._controller.start < trim.to and not refused:
                self.violate("CL-06", "the handle confirms a trim that the controller has not made")

    def _judge_ack(self, append: HandleAppend) -> None:
        batch = (append.gate.result(), append.count, append.payload)
        if batch not in [(each.base, each.count, each.payload) for each in self.storage.log]:
            self.violate("CL-03", "the handle acknowledges a batch that the storage does not have")
        if batch[0] != self._end:
            self.violate("INV-13", "an acknowledged batch does not begin where the one before it ends")
        if self._has_sent_close:
            self.violate("CL-07", "the handle acknowledges a batch after it has asked for the close")
        self._acked.append(batch)

    def _judge_trim(self, number: int, body: wire.TrimStreams) -> None:
        """A trim that has not ended must not arrive after a later one, and no read may still need what it drops."""
        to = body.items[0].to
        if not self._senders[number].gate.happened and to < self._controller.start:
            self.violate(
                "CL-06", "the controller gets a trim to below the start that another trim of the handle has set"
            )
        if any(each.begin < to for each in self._fetches):
            self.violate("CL-06", "the controller trims what a read of the handle still needs")

    def _judge_close(self, body: wire.CloseStreams) -> None:
        self._look()
        (item,) = body.items
        self._has_sent_close = True
        if self._appends and not self._is_forced:
            self.violate("CL-07", "the handle asks for the close while an append is under way")
        if (self._uploads.begun if self._fast else self._uploads.done) < len(self._acked):
            self.violate("CL-08", "the handle asks for the close before it uploads what it has acknowledged")
        durable = max([NEXT, *(each.end for each in self.storage.log)])
        if self._fast and not self._end <= item.end <= durable:
            self.violate("CL-08", "a close names an end below acknowledged batches, or above durable ones")


_STEPS: tuple[Callable[[HandleRun], None], ...] = (
    *(HandleRun.append,) * 5, *(lambda run: run.storage.store(),) * 5, *(HandleRun._fetch,) * 4,
    *(HandleRun._end_read,) * 3, *(HandleRun._trim,) * 4, *(HandleRun._deliver,) * 6, HandleRun._fail,
    HandleRun._lose, HandleRun._wait, HandleRun._close, HandleRun._force, *(HandleRun._end_upload,) * 2,
)  # fmt: skip
"""The steps of a run, each as often as it counts in the draw."""


def judged(draw: Draw) -> PartViolation | None:
    """Make a run of a handle, and tell what it violates; None if nothing."""
    run = HandleRun(draw)
    run.play()
    return run.found
