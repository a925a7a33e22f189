"""Runs other programs: compilers and what they make, and commands as a user runs them."""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from holdfast.ir.errors import UsageError


class AbsentProgram(UsageError):
    """A program that a measurement needs is not installed; the message says how to install it."""


def output(
    command: Sequence[str],
    task: str,
    *,
    folder: str | None = None,
    environment: Mapping[str, str] | None = None,
    ends: Collection[int] = (0,),
) -> str:
    """What a command prints.

    ``task``: what the command is to do, for the message; ``folder`` and ``environment``: where and with what it runs,
    by default as its caller. Raises RuntimeError if its exit code is none of ``ends``. The message has one line of what
    it printed: the first that goes to stderr, where a compiler names the error, or else the last that goes to stdout.
    """
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        errors="replace",
        check=False,
    )
    if done.returncode not in ends:
        lines = done.stderr.strip().splitlines()[:1] or done.stdout.strip().splitlines()[-1:] or ["nothing"]
        raise RuntimeError(f"{Path(command[0]).name} ({task}) ended with {done.returncode}; it printed: {lines[0]}")
    return done.stdout
