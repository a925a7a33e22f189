"""A driver for the tests: it starts a controller, stops it if it is told so, prints its process id, and waits."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from impl.real.children import Children
from impl.real.clock import new_clock
from impl.real.starts import ClusterRules, ControllerStart


async def main(folder: Path, *, stops: bool) -> None:
    """Start the controller in a folder, and wait for ever."""
    clock = new_clock()
    children = Children(folder, clock, dict(os.environ))
    child = await children.start(controller_start(folder, clock.base))
    if stops:
        children.send(child, signal.SIGSTOP)
    sys.stdout.write(f"{child.pid}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def controller_start(folder: Path, clock: float, name: str = "c0.0", port: int = 0) -> ControllerStart:
    """A controller whose metadata log is in a folder. It does not ask its object store for anything."""
    return ControllerStart(
        name=name,
        driver=os.getpid(),
        clock=clock,
        events=str(folder / f"{name}.events"),
        endpoint="http://127.0.0.1:9",
        bucket="none",
        rules=ClusterRules(),
        metadata=str(folder / "metadata.log"),
        port=port,
    )


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), stops=len(sys.argv) > 2))
