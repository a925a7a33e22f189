"""The command ``holdfast``, also as ``python -m holdfast``.

Its modules take a second to import. A signal during that second ends the process here: nothing has begun that would
have to be ended in order, and an exception in the middle of an import could be swallowed or leave half a module.

The last thing that the interpreter calls is ``leave``: it ends the process with the code of the command. Python's own
end would kill the process by SIGINT if a KeyboardInterrupt had ever left ``exec`` of a text, though it was caught.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

INTERNAL, INTERRUPTED = 1, 20
LINE = b"holdfast: interrupted before there was anything to report\n"


def run() -> None:
    """Run the command with the arguments of the process, and end the process with its exit code."""
    code = INTERNAL

    def leave() -> NoReturn:
        # The callbacks of libraries may have written since the guard emptied the streams.
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):
                stream.flush()
        os._exit(code)

    # Registered before all others, and so called after them.
    atexit.register(leave)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end_at_once)
    try:
        from holdfast.cli.streams import repair  # noqa: PLC0415 - the handlers come first

        repair()
        from holdfast.cli.app import main  # noqa: PLC0415 - the libraries look at the streams
        from holdfast.cli.guard import guarded  # noqa: PLC0415 - as above
    except Exception as error:  # noqa: BLE001 - such as a library that is missing or broken
        text = " ".join(str(error).split())
        sys.exit(f"holdfast: it cannot be imported: {type(error).__name__}: {text}; install it again")
    code = guarded(main, sys.argv[1:])


def _end_at_once(_number: int, _frame: object) -> None:
    try:
        os.write(2, LINE)
    finally:
        # Also if nobody reads standard error.
        os._exit(INTERRUPTED)


if __name__ == "__main__":  # worker processes import this module under another name
    run()
