"""A disk that is full in the middle of a run: one line, and no answer for what is not on the disk.

A limit on the size of files takes the place of a full disk: the kernel lets a process write a part of a line, or none.
"""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path
from typing import cast

import psutil
import pytest
from msgspec.structs import replace

from impl.broker.messages import CommandAnswer, Output, StepEvent, StoreRequest
from impl.errors import E
from impl.metadata.log import MetadataBatch
from impl.real.broker_process import BrokerProcess
from impl.real.children import Children
from impl.real.clock import new_clock
from impl.real.event_file import EventFile, read_events
from impl.real.frames import Frame, FrameConnection
from impl.real.line_file import LineFile, read_lines
from impl.real.metadata_file import MetadataFile
from impl.real.problems import ClusterError
from impl.real.starts import FAILED, BrokerStart, ClusterRules
from impl.rules import ROOT
from impl.store.interface import Answer, Get, Missing, Operation
from impl.wire import CreateTopic, Reply, Request, SetBroker, WakeNotice
from tests.impl.real.driver_program import controller_start
from tests.impl.real.test_processes import asked, connected

FULL = "cannot be written: No space left on device; free space on its disk, or name another"


class FullDisk:
    """Takes the place of ``os.write``. ``room``: the number of bytes that the disk takes; None for any."""

    def __init__(self) -> None:
        self.room: int | None = None
        self._write = os.write

    def __call__(self, file: int, data: bytes) -> int:
        """Write as much as there is room for."""
        if self.room is None:
            return self._write(file, data)
        if not self.room:
            raise OSError(28, os.strerror(28))
        written = self._write(file, data[: self.room])
        self.room -= written
        return written


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    """A disk with room, until a test takes it."""
    found = FullDisk()
    monkeypatch.setattr("impl.real.line_file.os.write", found)
    return found


@pytest.mark.parametrize("room", [0, 5])
def test_no_line_follows_one_that_failed(tmp_path: Path, disk: FullDisk, room: int) -> None:
    """Also if there is room again: after a torn line the next one would be damage."""
    path = tmp_path / "log"
    file = LineFile(path)
    file.append(b"[1]")
    disk.room = room
    with pytest.raises(ClusterError, match="cannot be written: "):
        file.append(b"[2]")
    disk.room = None
    with pytest.raises(ClusterError, match="cannot be written: "):
        file.append(b"[3]")
    with pytest.raises(ClusterError, match="cannot be written: "):
        file.sync()
    texts, size = read_lines(path)
    assert (texts, path.stat().st_size - size) == ([b"[1]"], room)


def test_the_events_have_no_gap(tmp_path: Path, disk: FullDisk) -> None:
    """A log that lacks an event in its middle would tell another run."""
    path = tmp_path / "b1.0.events"
    events = EventFile(path, "b1.0")
    events.note(1, "start")
    disk.room = 0
    for kind in ("pause", "resume"):
        with pytest.raises(ClusterError, match=FULL):
            events.note(2, kind)
        disk.room = None
    assert [line.kind for line in read_events(path)[0]] == ["start"]


# The controller -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits another process")
@pytest.mark.parametrize("file", ["metadata.log", "c0.0.events"])
def test_a_controller_answers_only_for_what_is_on_the_disk(tmp_path: Path, file: str) -> None:
    """Its process ends with one line, also if standard error is on the full disk; its successor knows all answers."""
    pytest.importorskip("obstore")
    full = Path("/dev/full")
    if full.exists():
        (tmp_path / "c0.0.err").symlink_to(full)
    topic = CreateTopic("t", ((1,),), elastic=True)

    async def talk() -> tuple[
        list[Frame | None], list[Frame | None], int, str, list[MetadataBatch], list[Frame | None]
    ]:
        clock = new_clock()
        children = Children(tmp_path, clock, dict(os.environ))
        try:
            start = controller_start(tmp_path, clock.base)
            # The limit is one for all files of a process.
            first = await children.start(start if file == "c0.0.events" else replace(start, events=os.devnull))
            connection = await connected(first)
            before = await asked(connection, Request(0, 1, SetBroker(1, "active")))
            room = (tmp_path / file).stat().st_size + 40
            psutil.Process(first.pid).rlimit(resource.RLIMIT_FSIZE, (room, room))
            silence = await asked(connection, Request(0, 2, topic), Request(0, 3, SetBroker(1, "active")))
            connection.close()
            code = await first.end()
            found = MetadataFile(tmp_path / "metadata.log").batches
            second = await children.start(controller_start(tmp_path, clock.base, "c0.1", first.port))
            connection = await connected(second)
            after = await asked(connection, Request(0, 4, topic))
            connection.close()
        finally:
            await children.close()
        return before, silence, code, first.complaint(), found, after

    before, silence, code, complaint, batches, after = asyncio.run(talk())
    assert [each.answers[0].error for each in before if isinstance(each, Reply)] == [E.NONE]
    assert silence == [None, None]
    assert code == FAILED
    assert complaint.startswith(f"{tmp_path / file}: cannot be written: ")
    assert "\n" not in complaint
    assert len(batches) == 1
    assert [each.answers[0].error for each in after if isinstance(each, Reply)] == [E.NONE]


# A broker -----------------------------------------------------------------------------------------------------------


class SlowStore:
    """A store whose answers come when ``ready`` is set. ``operations``: those that it was asked for."""

    def __init__(self) -> None:
        self.ready = threading.Event()
        self.operations: list[Operation] = []

    def execute(self, operation: Operation) -> Answer:
        """Wait, and find nothing."""
        self.operations.append(operation)
        self.ready.wait()
        return Missing()


class SilentConnection:
    """The connection of a client. ``sent``: what the broker has sent to it."""

    def __init__(self) -> None:
        self.sent: list[Frame] = []

    def send(self, *frames: Frame) -> None:
        """Keep the frames."""
        self.sent += frames


def broker(folder: Path, store: SlowStore) -> BrokerProcess:
    """A broker whose controller nobody runs."""
    start = BrokerStart(
        name="b1.0",
        driver=os.getpid(),
        clock=new_clock().base,
        events=str(folder / "b1.0.events"),
        endpoint=None,
        bucket="b",
        rules=ClusterRules(),
        node=1,
        epoch=1,
        controller=9,
    )
    return BrokerProcess(start, store)


async def serving(process: BrokerProcess) -> asyncio.Task[int]:
    """The task of a broker that listens."""
    listens = asyncio.Event()
    task = asyncio.get_running_loop().create_task(process.run(lambda _: listens.set()))
    await listens.wait()
    return task


def test_a_broker_sends_no_answer_that_its_log_lacks(
    tmp_path: Path, disk: FullDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An acknowledgement follows its event. Without room for the event the client gets none, and the process ends."""
    pytest.importorskip("obstore")
    connection, store = SilentConnection(), SlowStore()
    store.ready.set()

    async def talk() -> None:
        process = broker(tmp_path, store)
        running = await serving(process)
        process._callers[7, 1] = process._callers[7, 2] = cast("FrameConnection", connection)
        emitted: list[list[Output]] = [
            [StepEvent("ack", {"stream": 1}), CommandAnswer(7, 1)],
            [StepEvent("ack", {"stream": 1}), CommandAnswer(7, 2)],
        ]
        monkeypatch.setattr(process._broker, "handle", lambda *_: emitted.pop(0))
        process._deliver(WakeNotice())
        disk.room = 10
        process._deliver(WakeNotice())
        disk.room = None
        process._deliver(WakeNotice())  # It has ended, so this does nothing, although there is room again.
        await running

    with pytest.raises(ClusterError, match=r"b1\.0\.events: cannot be written: "):
        asyncio.run(talk())
    assert connection.sent == [CommandAnswer(7, 1)]


def test_an_answer_of_the_store_that_cannot_be_written_ends_a_broker(tmp_path: Path, disk: FullDisk) -> None:
    """The answer comes in a thread's callback, whose errors nobody would see."""
    pytest.importorskip("obstore")
    store = SlowStore()

    async def talk() -> None:
        process = broker(tmp_path, store)
        running = await serving(process)
        process._ask_store(StoreRequest(1, Get("reservation/1")), 1)
        disk.room = 0
        store.ready.set()
        await running

    with pytest.raises(ClusterError, match=FULL):
        asyncio.run(talk())
    assert [line.kind for line in read_events(tmp_path / "b1.0.events")[0]][-1] == "store"


# A run --------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems may lack the limit")
def test_a_run_on_a_full_disk_is_one_line(tmp_path: Path) -> None:
    """The first file that is full ends the run, and the line names it. No oracle objects, and no process is left."""
    pytest.importorskip("moto")
    pytest.importorskip("obstore")
    out = tmp_path / "out"
    argv = ["cluster", "test", "--seconds", "60", "--kill-every", "0", "--kills-only", "--out", str(out)]
    made = subprocess.run(
        [sys.executable, "-m", "holdfast", *argv],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
        env={**os.environ, "PYTHONPATH": str(ROOT.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (made.returncode, made.stdout) == (2, "")
    (line,) = made.stderr.splitlines()
    assert line.startswith(f"holdfast: {out}/")
    assert ": cannot be written: " in line
    left = [each for each in psutil.process_iter(["cmdline"]) if str(out) in " ".join(each.info["cmdline"] or ())]
    assert left == []
