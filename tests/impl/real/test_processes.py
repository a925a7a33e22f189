"""Processes: a controller that is killed comes back with its log, and no process outlives its driver."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace

from impl.errors import E
from impl.metadata.log import MetadataBatch
from impl.real.children import Child, Children
from impl.real.clock import new_clock
from impl.real.event_file import RequestAnswer, read_events
from impl.real.frames import Frame, FrameConnection, Subscription, connect
from impl.real.metadata_file import MetadataFile
from impl.real.metadata_follower import MetadataFollower
from impl.real.problems import ClusterError
from impl.rules import ROOT
from impl.wire import CreateTopic, Reply, Request, SetBroker
from tests.impl.real.driver_program import controller_start

pytest.importorskip("obstore")
PATIENCE_S = 60


def started(folder: Path, *arguments: str) -> tuple[subprocess.Popen[str], psutil.Process]:
    """A driver, and the process of its controller."""
    program = Path(__file__).with_name("driver_program.py")
    environment = {**os.environ, "PYTHONPATH": str(ROOT.parent)}
    driver = subprocess.Popen(
        [sys.executable, str(program), str(folder), *arguments], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert driver.stdout is not None
    return driver, psutil.Process(int(driver.stdout.readline()))


@pytest.mark.parametrize("arguments", [(), ("stopped",)], ids=["running", "stopped"])
def test_kill_9_of_the_driver_leaves_no_process(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """The process ends with its driver, also while it is stopped and cannot look."""
    driver, child = started(tmp_path, *arguments)
    driver.kill()
    driver.wait()
    assert driver.stdout is not None
    driver.stdout.close()
    assert psutil.wait_procs([child], timeout=PATIENCE_S)[1] == []


async def asked(connection: FrameConnection, *requests: Request) -> list[Frame | None]:
    """The answers to some requests."""
    connection.send(*requests)
    return [await connection.receive() for _ in requests]


async def connected(child: Child) -> FrameConnection:
    """A connection to a controller."""
    connection = await connect(child.port)
    assert connection is not None
    connection.send(Subscription("operator"))
    return connection


def test_a_killed_controller_comes_back_with_its_log(tmp_path: Path) -> None:
    """What was answered before kill -9 is there afterwards, in the next term, on the same port."""

    async def talk() -> tuple[list[Frame | None], list[MetadataBatch], list[Frame | None]]:
        clock = new_clock()
        children = Children(tmp_path, clock, dict(os.environ))
        try:
            first = await children.start(controller_start(tmp_path, clock.base))
            connection = await connected(first)
            topic = CreateTopic("t", ((1,),), elastic=True)
            answers = await asked(connection, Request(0, 1, SetBroker(1, "active")), Request(0, 2, topic))
            connection.close()
            await children.kill(first)
            second = await children.start(controller_start(tmp_path, clock.base, "c0.1", first.port))
            assert (first.port, first.alive) == (second.port, False)
            found: list[MetadataBatch] = []
            follower = MetadataFollower("test", lambda: second.port, found.extend)
            assert await follower.wait(lambda: len(found) >= 2, PATIENCE_S)
            follower.close()
            connection = await connected(second)
            again = await asked(connection, Request(0, 3, topic))
            connection.close()
        finally:
            await children.close()
        return answers, found, again

    answers, batches, again = asyncio.run(talk())
    assert [each.answers[0].error for each in answers if isinstance(each, Reply)] == [E.NONE, E.NONE]
    assert {each.term for each in batches} == {1}
    assert [each.answers[0].error for each in again if isinstance(each, Reply)] == [E.TOPIC_ALREADY_EXISTS]
    lines, torn = read_events(tmp_path / "c0.0.events")
    assert not torn
    assert [each.kind for each in lines] == ["elected", "execute", "batch", "answer", "execute", "batch", "answer"]
    assert [each.subject.errors for each in lines if isinstance(each.subject, RequestAnswer)] == [(E.NONE,)] * 2


def test_a_full_disk_ends_a_process_with_one_line(tmp_path: Path) -> None:
    """A process that cannot write its events does nothing more, and says why."""

    async def talk() -> None:
        clock = new_clock()
        children = Children(tmp_path, clock, dict(os.environ))
        try:
            await children.start(replace(controller_start(tmp_path, clock.base), events="/dev/full"))
        finally:
            await children.close()

    if not Path("/dev/full").exists():
        pytest.skip("the system has no full device")
    with pytest.raises(ClusterError, match=r"^/dev/full: cannot be written: No space left on device; [^\n]*$"):
        asyncio.run(talk())
    assert MetadataFile(tmp_path / "metadata.log").batches == []


def test_a_process_that_cannot_start_is_one_line(tmp_path: Path) -> None:
    """The error of a process that ends before it listens is the line that it has written."""

    async def talk() -> None:
        clock = new_clock()
        children = Children(tmp_path, clock, dict(os.environ))
        try:
            await children.start(controller_start(tmp_path / "missing", clock.base))
        finally:
            await children.close()

    with pytest.raises(ClusterError, match=r"metadata.log: cannot be written: No such file or directory; [^\n]*$"):
        asyncio.run(talk())
