"""The main module of every process that a driver starts: ``python -m impl.real.child``.

A process dies with its driver, also when the driver is killed. Its standard input is a pipe whose other end only the
driver has, and it ends when the pipe does. On Linux the kernel kills it as well, even while it is stopped.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import Coroutine
from typing import Any

import msgspec

from impl.real.problems import ClusterError
from impl.real.starts import (
    BROKEN,
    FAILED,
    ORPHANED,
    BrokerStart,
    ControllerStart,
    ProcessStart,
    StoreServerStart,
)

_SET_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of prctl(2)."""


def announce(port: int) -> None:
    """Tell the driver that this process listens."""
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()


def main() -> None:
    """Run the process that standard input describes, and exit with its code."""
    start: ProcessStart = msgspec.json.decode(sys.stdin.buffer.readline(), type=ProcessStart)
    _die_with(start.driver)
    code = BROKEN
    try:
        if isinstance(start, StoreServerStart):
            _serve_store()
        else:
            code = asyncio.run(_until_orphaned(_job(start)))
    except ClusterError as error:
        # The driver reads it from the pipe: the disk with the file of standard error may be full.
        sys.stdout.write(f"{error}\n")
        code = FAILED
    except Exception as error:  # noqa: BLE001 - whatever it is, its line is what the driver reports
        sys.excepthook(type(error), error, error.__traceback__)
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads that wait for the object store do not keep the process.
    os._exit(code)


def _die_with(driver: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != driver:  # It died before the call.
        os._exit(ORPHANED)


def _job(start: BrokerStart | ControllerStart) -> Coroutine[Any, Any, int]:
    # A process loads only what it runs.
    if isinstance(start, BrokerStart):
        from impl.real.broker_process import run_broker  # noqa: PLC0415

        return run_broker(start, announce)
    from impl.real.controller_process import run_controller  # noqa: PLC0415

    return run_controller(start, announce)


async def _until_orphaned(job: Coroutine[Any, Any, int]) -> int:
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), _look)
    return await job


def _look() -> None:
    if not os.read(sys.stdin.fileno(), 1):
        os._exit(ORPHANED)


def _serve_store() -> None:
    """Run moto's server until standard input ends."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - only this process needs it

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    announce(server.get_host_and_port()[1])
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
