"""The processes that a driver starts, and the signals that it sends them.

Each process has a session of its own, so that Ctrl-C reaches the driver alone.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from impl.real.clock import Clock
from impl.real.problems import ClusterError, reason
from impl.real.starts import ProcessStart
from impl.rules import ROOT

START_S = 60.0
"""How long a process may take until it listens."""


class SentSignal(msgspec.Struct, frozen=True):
    """A signal that the driver has sent to a process. ``at``: in microseconds."""

    at: int
    process: str
    pid: int
    signal: str


class Child:
    """A process that listens on ``port``. ``stopped``: whether SIGSTOP has stopped it."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, port: int, errors: Path) -> None:
        self.name, self.port, self.stopped = name, port, False
        self._process, self._errors = process, errors
        self._ending = asyncio.get_running_loop().create_task(_ended(process))

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process has not ended, as far as this process has noticed."""
        return self._process.returncode is None

    async def end(self) -> int:
        """Wait for its end. Returns the exit code; a signal has the negative of its number."""
        code, _ = await asyncio.shield(self._ending)
        return code

    def complaint(self) -> str:
        """The error with which the process has ended; "" for none: what it told the driver, or its standard error."""
        _, said = self._ending.result()
        return said or _last_line(self._errors)


class Children:
    """All processes of a driver. ``folder``: for what they write to standard error. ``signals``: those sent so far.

    ``environment``: of the processes. It holds the credentials, which are in no file and on no command line.
    """

    def __init__(self, folder: Path, clock: Clock, environment: Mapping[str, str]) -> None:
        self.signals: list[SentSignal] = []
        self.all: list[Child] = []
        self._folder, self._clock = folder, clock
        self._starting: set[asyncio.subprocess.Process] = set()
        """Those that do not listen yet."""
        self._closed = False
        paths = [str(ROOT.parent), *filter(None, [environment.get("PYTHONPATH")])]
        self._environment = {**environment, "PYTHONPATH": os.pathsep.join(paths)}

    async def start(self, start: ProcessStart) -> Child:
        """Start a process, and wait until it listens. Raises ClusterError with its complaint."""
        errors = self._folder / f"{start.name}.err"
        try:
            with errors.open("wb") as file:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "impl.real.child"),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=file,
                    start_new_session=True,
                    env=self._environment,
                )
        except OSError as error:
            raise ClusterError(
                f"{errors}: {start.name} cannot start: {reason(error)}; mend that, and start again"
            ) from error
        self._starting.add(process)
        try:
            port = await self._port_of(start, process, errors)
        except BaseException:
            # Nobody else knows of it.
            _kill(process)
            await _ended(process)
            raise
        finally:
            self._starting.discard(process)
        child = Child(start.name, process, port, errors)
        self.all.append(child)
        return child

    async def _port_of(self, start: ProcessStart, process: asyncio.subprocess.Process, errors: Path) -> int:
        """Tell a new process what to do, and wait for the port on which it listens."""
        assert process.stdin is not None, "it is a pipe"
        assert process.stdout is not None, "it is a pipe"
        if self._closed:
            _kill(process)
        process.stdin.write(msgspec.json.encode(start) + b"\n")
        try:
            line = await asyncio.wait_for(process.stdout.readline(), START_S)
        except TimeoutError:
            raise ClusterError(f"{start.name}: it does not listen after {START_S:.0f} s; see {errors}") from None
        if not line.strip().isdigit():
            await process.wait()
            said = line.decode(errors="replace").strip() or _last_line(errors) or "it ended before it listened"
            if "; " not in said:  # It is no line of ours, which has a remedy.
                said = f"{start.name}: {said}; see {errors}"
            raise ClusterError(said)
        return int(line)

    async def kill(self, child: Child) -> None:
        """End a process with SIGKILL, and wait until it is gone."""
        self.send(child, signal.SIGKILL)
        await child.end()

    def send(self, child: Child, number: signal.Signals) -> None:
        """Send a signal to a process. One that has ended gets none."""
        if not child.alive:
            return
        self.signals.append(SentSignal(self._clock.micros(), child.name, child.pid, number.name))
        os.kill(child.pid, number)
        if number in (signal.SIGSTOP, signal.SIGCONT):
            child.stopped = number is signal.SIGSTOP

    async def close(self) -> None:
        """End all processes that live or start. One that is started later ends at once."""
        self._closed = True
        for process in self._starting:
            _kill(process)
        for process in tuple(self._starting):
            await process.wait()
        for child in self.all:
            if child.alive:
                os.kill(child.pid, signal.SIGKILL)
        for child in self.all:
            await child.end()


def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()


async def _ended(process: asyncio.subprocess.Process) -> tuple[int, str]:
    """Wait until a process is gone and its pipes are closed. Returns its exit code, and what it has told the driver."""
    assert process.stdin is not None, "it is a pipe"
    assert process.stdout is not None, "it is a pipe"
    code = await process.wait()
    process.stdin.close()
    with suppress(OSError):
        await process.stdin.wait_closed()
    return code, (await process.stdout.read()).decode(errors="replace").strip()


def _last_line(path: Path) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
