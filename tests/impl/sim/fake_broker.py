"""A small correct broker: each append puts an object with its offset as key, unless there is one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from impl import wire
from impl.broker import messages as m
from impl.controller.failover import Failover, contexts
from impl.errors import E
from impl.items import CloseItem, CreateItem, OpenItem, TrimItem
from impl.metadata.image import Image
from impl.metadata.log import replay
from impl.store.bucket import Bucket, StoreError, TakenError
from impl.tasks import Gate, Place, Tasks

HEARTBEAT_MS, REPEAT_MS = 2_000, 3_000


class FakeBroker:
    """A broker that needs no fencing, since two processes cannot put the same offset."""

    def __init__(self, identity: m.Identity, now: int) -> None:
        self._identity = identity
        self._tasks = Tasks(now)
        self._bucket = Bucket(self._tasks, m.StoreRequest)
        self._next: dict[int, int] = {}
        """By open stream, the offset of the next append."""
        self._start: dict[int, int] = {}
        self._orders: dict[int, int] = {}
        self._last: dict[int, Gate[None]] = {}
        self._opening: dict[int, int] = {}
        """By stream, the epoch of the open under way."""
        self._image = Image()
        self._failovers: list[Failover] = []
        self._epochs: dict[int, int] = {}
        self._batches: dict[int, dict[int, tuple[int, bytes]]] = {}
        self._ready: Gate[None] = Gate(self._tasks)
        self._asked = -1
        self._halts: list[m.Output] = []
        self._turns: dict[int, Gate[None]] = {}
        self._tasks.start(self._live())
        self.loses_every = 0
        """A planted defect: each N-th append is acknowledged and not put."""
        self._appends = 0

    def handle(self, event: m.Input, now: int) -> Sequence[m.Output]:
        self._tasks.now = max(self._tasks.now, now)
        match event:
            case m.Command():
                self._tasks.start(self._serve(event))
            case m.Stop():
                self._halts.append(m.Halt("stopped"))
            case m.StoreAnswer(number, answer):
                self._tasks.answer(number, answer)
            case wire.Reply(_, number, answers):
                self._tasks.answer(number, answers[0])
                if number < 0 and answers[0].values.get("state", "active") != "active":
                    self._tasks.start(self._call(wire.SetBroker(self._identity.node, "active")))
            case wire.LearnedBatches(_, batches):
                replay(batches, self._image)
                for context in contexts(self._image):
                    if context.target == self._identity.node and context not in self._failovers:
                        self._failovers.append(context)
                        self._tasks.start(self._recover(context.node, context.epoch, failover=True))
        outputs = self._tasks.run(now)
        due = self._tasks.due
        if due is not None and due != self._asked:
            outputs.append(wire.Wake(due))
        self._asked = -1 if due is None else due
        return [*outputs, *self._halts]

    def places(self) -> Sequence[Sequence[Place]]:
        return self._tasks.places()

    def crash(self) -> None:
        self._tasks.crash()

    # ------------------------------------------------------------------------------------------------------------

    async def _call(self, body: wire.Body, *, may_expire: bool = False) -> wire.ItemAnswer:
        """Repeat a request until its answer is certain."""
        while True:
            gate: Gate[wire.ItemAnswer] = self._tasks.start(self._once(body))
            try:
                answer = await gate.wait(REPEAT_MS)
            except Exception as error:  # noqa: BLE001 - only a timeout comes here
                del error
                continue
            if answer.error in (E.NODE_FENCED, E.NODE_EPOCH_EXPIRED) and not may_expire:
                self._halts.append(m.Halt(answer.error.name))
                await Gate[None](self._tasks).wait()
            if answer.error is not E.NOT_CONTROLLER:
                return answer
            await self._tasks.sleep(200)

    async def _once(self, body: wire.Body) -> wire.ItemAnswer:
        answer: wire.ItemAnswer = await self._tasks.ask(lambda number: wire.Request(0, number, body))
        return answer

    async def _live(self) -> None:
        node, epoch = self._identity.node, self._identity.epoch
        await self._recover(node, epoch)
        await self._call(wire.RegisterNode(node, epoch))
        await self._call(wire.SetBroker(node, "active"))
        self._ready.open(None)
        while True:
            self._tasks.outputs.append(wire.Request(0, -1, wire.Heartbeat(node)))
            await self._tasks.sleep(HEARTBEAT_MS)
            await self._close_strays()

    async def _close_strays(self) -> None:
        """Close streams that a repeated request has opened again after their close."""
        node, epoch = self._identity.node, self._identity.epoch
        for stream in tuple(self._image.opened_on.get(node, ())):
            current, last = self._image.current_range(stream), self._last.get(stream)
            if current is None or stream in self._next:
                continue
            if last is None or last.happened or current.epoch < self._opening.get(stream, 0):
                await self._call(wire.CloseStreams(node, epoch, (CloseItem(stream, current.epoch),)))

    async def _recover(self, node: int, epoch: int, *, failover: bool = False) -> None:
        """Close all streams of a process. All acknowledged appends are already in objects."""
        answer = await self._call(wire.GetOpeningStreams(node, epoch, failover), may_expire=failover)
        for each in answer.values["streams"]:
            item = CloseItem(each["stream"], each["epoch"])
            await self._call(wire.CloseStreams(node, epoch, (item,)), may_expire=failover)

    async def _serve(self, command: m.Command) -> None:
        serve: dict[type, Callable[[m.Command], Awaitable[m.CommandAnswer]]] = {
            m.Create: self._create, m.Open: self._open, m.Close: self._close, m.Append: self._append,
            m.Fetch: self._fetch, m.Trim: self._trim, m.Destroy: self._destroy,
        }  # fmt: skip
        if not self._ready.happened:
            await self._ready.wait()
        try:
            done = await serve[type(command.body)](command)
        except StoreError:
            done = m.CommandAnswer(command.to, command.id, E.REQUEST_TIMED_OUT)
        self._tasks.outputs.append(done)

    async def _create(self, command: m.Command) -> m.CommandAnswer:
        answer = await self._call(wire.CreateStreams(self._identity.node, self._identity.epoch, (CreateItem(),)))
        return m.CommandAnswer(command.to, command.id, answer.error, answer.values)

    async def _in_turn(
        self, command: m.Command, serve: Callable[[m.Command, int], Awaitable[m.CommandAnswer]]
    ) -> m.CommandAnswer:
        """Open or close a stream after the earlier commands. A newer command ends the wait of an open."""
        stream = command.body.stream
        number = self._orders[stream] = self._orders.get(stream, 0) + 1
        before, ended = self._last.get(stream), Gate[None](self._tasks)
        self._last[stream] = ended
        if before is not None:
            await before.wait()
        done = await serve(command, number)
        ended.open(None)
        return done

    async def _open(self, command: m.Command) -> m.CommandAnswer:
        return await self._in_turn(command, self._open_now)

    async def _open_now(self, command: m.Command, number: int) -> m.CommandAnswer:
        stream, epoch = command.body.stream, command.body.epoch
        if stream in self._next:
            await self._close_now(command, number)
        self._opening[stream] = epoch
        body = wire.OpenStreams(self._identity.node, self._identity.epoch, (OpenItem(stream, epoch),))
        answer = wire.ItemAnswer(E.STREAM_NOT_CLOSED)
        while answer.error is E.STREAM_NOT_CLOSED and self._orders[stream] == number:
            answer = await self._call(body)
            if answer.error is E.STREAM_NOT_CLOSED:
                await self._tasks.sleep(100)
        if answer.error is E.NONE:
            end = None
            while end is None:
                try:
                    end = await self._load(stream, answer.values["next"])
                except StoreError:
                    continue
            self._epochs[stream], self._start[stream] = epoch, answer.values["start"]
            self._turns[stream] = Gate(self._tasks)
            self._turns[stream].open(None)
            self._next[stream] = end
            self._tasks.outputs.append(m.StepEvent("open", {"stream": stream, "epoch": epoch}))
        return m.CommandAnswer(command.to, command.id, answer.error, answer.values)

    async def _close(self, command: m.Command) -> m.CommandAnswer:
        return await self._in_turn(command, self._close_now)

    async def _close_now(self, command: m.Command, _: int) -> m.CommandAnswer:
        stream = command.body.stream
        if self._next.pop(stream, None) is None:
            return m.CommandAnswer(command.to, command.id)
        item = CloseItem(stream, self._epochs[stream])
        answer = await self._call(wire.CloseStreams(self._identity.node, self._identity.epoch, (item,)))
        return m.CommandAnswer(command.to, command.id, answer.error)

    async def _append(self, command: m.Command) -> m.CommandAnswer:
        stream = command.body.stream
        turn = self._turns.get(stream)
        mine: Gate[None] = Gate(self._tasks)
        self._turns[stream] = mine
        if turn is not None and not turn.happened:
            await turn.wait()
        done = await self._put(command)
        mine.open(None)
        return done

    async def _put(self, command: m.Command) -> m.CommandAnswer:
        stream, count, payload = command.body.stream, command.body.count, command.body.payload
        self._appends += 1
        while True:
            base = self._next.get(stream)
            if base is None:
                return m.CommandAnswer(command.to, command.id, E.STREAM_NOT_OPENED)
            if self.loses_every and self._appends % self.loses_every == 0:
                return m.CommandAnswer(command.to, command.id, E.NONE, {"offset": base})
            try:
                await self._bucket.put(_key(stream, base), b"%d " % count + payload, new=True)
            except TakenError:
                self._next[stream] = await self._load(stream, base)
                continue
            except StoreError:
                self._halts.append(m.Halt("an append has an unknown outcome"))
                return m.CommandAnswer(command.to, command.id, E.REQUEST_TIMED_OUT)
            self._batches[stream][base] = count, payload
            if stream in self._next:
                self._next[stream] = base + count
            return m.CommandAnswer(command.to, command.id, E.NONE, {"offset": base})

    async def _load(self, stream: int, end: int) -> int:
        """Read the unknown part of a stream. Returns its end."""
        known = self._batches.setdefault(stream, {})
        for entry in await self._bucket.list(f"fake/{stream}/"):
            base = int(entry.key.rpartition("/")[2])
            if base not in known:
                found = await self._bucket.find(entry.key)
                assert found is not None
                count, payload = found.data.split(b" ", 1)
                known[base] = int(count), payload
            end = max(end, base + known[base][0])
        return end

    async def _fetch(self, command: m.Command) -> m.CommandAnswer:
        stream, begin = command.body.stream, command.body.begin
        end = self._next.get(stream)
        if end is None:
            return m.CommandAnswer(command.to, command.id, E.STREAM_NOT_OPENED)
        if not self._start[stream] <= begin <= end:
            return m.CommandAnswer(command.to, command.id, E.INVALID_REQUEST)
        found = sorted((base, *each) for base, each in self._batches[stream].items() if base + each[0] > begin)
        batches = [each for each in found if each[0] < end]
        return m.CommandAnswer(command.to, command.id, E.NONE, {"batches": batches, "confirm": end})

    async def _trim(self, command: m.Command) -> m.CommandAnswer:
        stream, to = command.body.stream, command.body.to
        if stream not in self._next:
            return m.CommandAnswer(command.to, command.id, E.STREAM_NOT_OPENED)
        item = TrimItem(stream, self._epochs[stream], to)
        answer = await self._call(wire.TrimStreams(self._identity.node, self._identity.epoch, (item,)))
        if answer.error is E.NONE:
            self._start[stream] = max(self._start[stream], to)
        return m.CommandAnswer(command.to, command.id, answer.error)

    async def _destroy(self, command: m.Command) -> m.CommandAnswer:
        stream = command.body.stream
        if stream not in self._next:
            return m.CommandAnswer(command.to, command.id, E.STREAM_NOT_OPENED)
        await self._close(command)
        body = wire.DeleteStreams(self._identity.node, self._identity.epoch, (stream,))
        answer = await self._call(body)
        return m.CommandAnswer(command.to, command.id, answer.error)


def _key(stream: int, base: int) -> str:
    return f"fake/{stream}/{base:012}"
