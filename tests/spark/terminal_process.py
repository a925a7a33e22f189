"""A command of holdfast whose progress goes to a terminal, so that a test can wait for its next line."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping

import pytest

from holdfast.cli.output import CLEAR_LINE

PATIENCE = 300
"""The seconds to wait before a command counts as hanging."""


def command(*words: object) -> list[str]:
    """A command line of holdfast."""
    return [sys.executable, "-m", "holdfast", *map(str, words)]


class TerminalProcess:
    """A running command. ``variables``: environment variables beside those of this process."""

    def __init__(self, *words: object, variables: Mapping[str, str] = {}) -> None:
        self.screen, stderr = os.openpty()
        self.output = tempfile.TemporaryFile("w+")  # noqa: SIM115 - it lives as long as the command
        self.process = subprocess.Popen(
            command(*words), stdout=self.output, stderr=stderr, env=os.environ | dict(variables)
        )
        os.close(stderr)
        self.pid = self.process.pid
        self.shown = b""

    def read(self) -> bool:
        """Wait for more output. Returns False at its end."""
        ready, _, _ = select.select([self.screen], [], [], PATIENCE)
        if not ready:
            self.process.kill()
            pytest.fail(f"nothing was shown for {PATIENCE} seconds")
        try:
            more = os.read(self.screen, 1 << 16)
        except OSError:  # The end: all processes that had the terminal open have ended.
            more = b""
        self.shown += more
        return bool(more)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition is true after some output."""
        while not condition():
            assert self.read(), self.shown

    def end(self) -> tuple[int, str, str]:
        """The exit code, the output, and the last line on the terminal."""
        while self.read():
            pass
        os.close(self.screen)
        code = self.process.wait(PATIENCE)
        self.output.seek(0)
        with self.output:
            return code, self.output.read(), self.shown.decode().rpartition(CLEAR_LINE)[2]
