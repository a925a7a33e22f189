"""Ends whatever a process has started: all processes of its session, as the operating system groups them."""

from __future__ import annotations

import os
from contextlib import suppress

import psutil

_KILLING = 1
"""Seconds to wait for the exit of killed processes before the session is listed again."""


def end_session(leader: int, seconds: float, spared: int | None = None) -> None:
    """Wait for at most ``seconds`` until the processes of a session have ended, and kill the rest.

    ``leader``: the process that began the session, whether or not it still runs. ``spared``: a process of the session
    that goes on.
    """
    members = _members(leader, spared)
    try:
        _, members = psutil.wait_procs(members, timeout=seconds)
    finally:
        # A process may start another one before it is killed: list them again until there is none.
        while members:
            for process in members:
                with suppress(psutil.Error):
                    process.kill()
            psutil.wait_procs(members, timeout=_KILLING)
            members = _members(leader, spared)


def _members(leader: int, spared: int | None) -> list[psutil.Process]:
    """The processes of a session that run. A process that has ended, and that nobody has waited for, does not."""
    return [
        process
        for process in psutil.process_iter()
        if process.pid != spared and _session_of(process.pid) == leader and not _has_ended(process)
    ]


def _session_of(process: int) -> int | None:
    try:
        return os.getsid(process)
    except OSError:
        return None


def _has_ended(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
