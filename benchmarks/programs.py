"""Runs the programs of others: compilers, and what they have made."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path


def output(command: Sequence[str], task: str, *, folder: str | None = None) -> str:
    """What a command prints.

    ``task``: what the command is to do, for the message; ``folder``: where it runs. Raises RuntimeError, with the first
    line that the command prints, if it ends with another code than 0.
    """
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, errors="replace", check=False
    )
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).partition("\n")[0]
        name = Path(command[0]).name
        raise RuntimeError(f"{name}, to {task}, ended with {done.returncode}; it printed: {said or 'nothing'}")
    return done.stdout
