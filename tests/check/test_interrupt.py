"""Interrupts: none is lost in a destructor, and none ends a process that is being started."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from holdfast.check.interrupt import SIGNALS, deferred, interrupt


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """The handlers of a command, for both signals."""
    before = {number: signal.signal(number, interrupt) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_waits_for_the_end_of_the_block(number: signal.Signals) -> None:
    """A signal in the block is raised at its end, by the handler that was there before."""
    done = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the point is where it is raised
        with deferred():
            signal.raise_signal(number)
            done.append(1)
        done.append(2)
    assert done == [1]
    assert signal.getsignal(number) is interrupt


def test_a_process_that_is_started_in_the_block_is_deaf_to_ctrl_c() -> None:
    """A process that begins in the block has SIGINT blocked, and one that begins after it has not."""
    mask = [sys.executable, "-c", "import signal; print(2 in signal.pthread_sigmask(signal.SIG_BLOCK, []))"]
    with deferred():
        inside = subprocess.run(mask, capture_output=True, text=True, check=True).stdout
    assert inside == "True\n"
    assert subprocess.run(mask, capture_output=True, text=True, check=True).stdout == "False\n"
