"""Calls that no signal interrupts, such as LLVM at work. A command that receives Ctrl-C meanwhile can say what it is.

Python runs the handler of a signal between two instructions, so it waits for the end of a call into a library.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import attrs


@attrs.frozen(eq=False)
class LongCall:
    """A call that is being made. ``name``: its name in a message, such as "the compilation of machine code".

    ``stop``: makes the call return early, or None if nothing can. Any thread may call it.
    """

    name: str
    stop: Callable[[], None] | None = None


_calls: list[LongCall] = []
"""The calls that the main thread makes now, the outer one first."""


@contextmanager
def long_call(name: str, stop: Callable[[], None] | None = None) -> Iterator[None]:
    """A block with such a call. Only the main thread counts, because only it runs handlers of signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _calls.append(LongCall(name, stop))
    try:
        yield
    finally:
        _calls.pop()


def present_call() -> LongCall | None:
    """The call that the main thread makes now; None if it makes none."""
    return _calls[-1] if _calls else None
