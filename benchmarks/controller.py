"""Measures the controller of the reference implementation: operations, loading a snapshot, memory.

Seconds are the processor time of one thread. Each figure is also given as a ratio to one turn of an empty loop, so that
figures of different machines can be compared.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import attrs

from benchmarks.clock import own
from impl.controller.commits import SetCommit, commit_stream_set_object
from impl.controller.continuity import CommittedRange
from impl.controller.node import Controller
from impl.controller.objects import prepare
from impl.controller.requests import Operation
from impl.controller.streams import close_stream, create_stream, get_opening_streams, open_stream, trim_stream
from impl.controller.view import OperationResult, View
from impl.errors import E
from impl.metadata import snapshot
from impl.metadata.image import Image
from impl.records import MetadataRecord, Range, S3Stream, StreamState, Tag

TURNS = 2_000_000
NODES = (1, 2)
RATE = 50_000
"""The goal, in operations per second."""
LOAD_SECONDS = 1.0
STREAM_BYTES = 1_000


@attrs.frozen
class ControllerFigures:
    """The measured figures.

    ``turn``: seconds for a turn of an empty loop. ``rate``: operations per second, for ``operations`` operations.
    ``load``: seconds to load a snapshot of ``streams`` streams in ``size`` bytes. ``memory``: bytes of a loaded stream.
    """

    turn: float
    rate: float
    operations: int
    streams: int
    size: int
    load: float
    memory: float


def measured(streams: int = 100_000, moves: int = 20_000, repeat: int = 3) -> ControllerFigures:
    """Measure everything. Of ``repeat`` measurements, the fastest counts."""
    turn = min(_seconds(_loop) for _ in range(repeat)) / TURNS
    times, count = [], 0
    for _ in range(repeat):
        controller, operations = prepared(moves)
        times.append(_seconds(partial(_run, controller, operations)))
        count = len(operations)
    data = stored(streams)
    load = min(_seconds(lambda: snapshot.load(snapshot.decode(data))) for _ in range(repeat))
    return ControllerFigures(turn, count / min(times), count, streams, len(data), load, _memory(data, streams))


def lines(found: ControllerFigures) -> Iterator[str]:
    """The figures, their ratios, and whether the goals are met."""

    def goal(text: str, met: bool) -> str:
        return f"{text}; {'met' if met else 'missed'}"

    turns = 1 / (found.rate * found.turn)
    yield f"an empty loop: {found.turn * 1e9:.0f} ns a turn"
    rate = f"operations: {found.rate:,.0f} per second on one core, {turns:,.0f} turns each"
    yield goal(f"{rate} ({found.operations:,} operations; goal at least {RATE:,})", found.rate >= RATE)
    each = found.load / found.turn / found.streams
    load = f"a snapshot of {found.streams:,} streams: {found.load:.2f} s to load, {each:,.0f} turns a stream"
    yield goal(f"{load} ({found.size / found.streams:.0f} bytes each; goal at most {LOAD_SECONDS:g} s)", _loads(found))
    memory = f"memory: {found.memory:,.0f} bytes a stream"
    yield goal(f"{memory} (goal at most {STREAM_BYTES:,})", found.memory <= STREAM_BYTES)


def _loads(found: ControllerFigures) -> bool:
    return found.load <= LOAD_SECONDS


def prepared(moves: int, streams: int = 200) -> tuple[Controller, list[Operation]]:
    """A controller, and the operations to measure: ``streams`` creations, then ``moves`` rounds of seven operations.

    In a round, a node opens a stream, uploads an object of it, trims it, and closes it. The next round of the stream is
    the other node's.
    """
    controller = Controller()
    for node in NODES:
        controller.execute(partial(get_opening_streams, node=node, node_epoch=1))
    operations: list[Operation] = [_create] * streams
    ends = [0] * streams
    for number in range(moves):
        stream, epoch = number % streams, number // streams
        operations += _round(NODES[epoch % 2], stream, epoch, ends[stream], number)
        ends[stream] += 10
    return controller, operations


def _create(view: View) -> OperationResult:
    return create_stream(view, NODES[0], 1)


def _round(node: int, stream: int, epoch: int, start: int, number: int) -> list[Operation]:
    """Seven operations; the open and the close are each sent twice (EX-07)."""
    commit = SetCommit(node, 1, number, number, 100, ranges=(CommittedRange(stream, start, start + 10),))
    return [
        lambda view: open_stream(view, node, 1, stream, epoch),
        lambda view: open_stream(view, node, 1, stream, epoch),
        lambda view: prepare(view, 1, 3_600_000),
        lambda view: commit_stream_set_object(view, commit),
        lambda view: trim_stream(view, node, 1, stream, epoch, start + 5),
        lambda view: close_stream(view, node, 1, stream, epoch, start + 10),
        lambda view: close_stream(view, node, 1, stream, epoch, start + 10),
    ]


def _run(controller: Controller, operations: list[Operation]) -> None:
    for operation in operations:
        error = controller.execute(operation).error
        if error is not E.NONE:
            raise RuntimeError(f"an operation of the benchmark is refused with {error.name}")


def stored(streams: int) -> bytes:
    """The bytes of a snapshot with N streams of partitions. Each stream has its tags, two ranges, and no object."""
    return snapshot.encode(snapshot.snapshot(snapshot.load(_records(streams))))


def _records(streams: int) -> Iterator[MetadataRecord]:
    for stream in range(streams):
        tags = (Tag("topic", f"topic-{stream // 100}"), Tag("partition", str(stream % 100)))
        yield S3Stream(stream, 1, 1, 0, StreamState.OPENED, tags)
        yield Range(stream, 0, 0, 0, 1_000, NODES[0])
        yield Range(stream, 1, 1, 1_000, 1_000, NODES[1])


def _memory(data: bytes, streams: int) -> float:
    """The memory of a loaded snapshot, in bytes for each stream."""
    tracemalloc.start()
    try:
        image: Image = snapshot.load(snapshot.decode(data))
        gc.collect()
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    if len(image.streams) != streams:
        raise RuntimeError(f"the snapshot has {len(image.streams)} streams, not {streams}")
    return used / streams


def _loop() -> int:
    total = 0
    for each in range(TURNS):
        total += each
    return total


def _seconds(work: Callable[[], object]) -> float:
    with _collected_before():
        begun = own()
        work()
        return own() - begun


@contextmanager
def _collected_before() -> Iterator[None]:
    """Collect garbage before a measurement, and not within it, as in a simulation."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
