"""A hostile case: one command with bad input, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

KINDS = ("models", "runs", "options", "surroundings", "damage", "signals")
"""The kinds of cases: bad model files; bad runs, logs and scenarios; bad options; a bad environment, folder or stream;
damaged caches, checkpoints and tables; a signal at a random moment."""


@attrs.frozen(kw_only=True)
class HostileCase:
    """A command and its surroundings.

    ``files``: texts of files in its folder, beside the good ones or in their place; None removes a file. ``pipes``:
    names of pipes that nobody writes or reads. ``streams``: for a standard stream, how it is spoilt: ``closed``,
    ``full`` or ``broken``. ``environment``: variables beside the usual ones. ``folder_gone``: whether the working
    directory is removed first. ``signal``: sent after ``delay`` seconds. ``fresh``: whether a new interpreter starts,
    as for a user; otherwise the command runs in a copy of a process that has imported it.
    """

    number: int
    kind: str
    argv: tuple[str, ...]
    files: Mapping[str, bytes | None] = attrs.field(factory=dict)
    pipes: tuple[str, ...] = ()
    stdin: bytes = b""
    streams: Mapping[int, str] = attrs.field(factory=dict)
    environment: Mapping[str, str] = attrs.field(factory=dict)
    folder_gone: bool = False
    signal: int | None = None
    delay: float = 0.0
    fresh: bool = False


@attrs.frozen(kw_only=True)
class CaseResult:
    """The end of a command. ``code``: its exit code, or the number of the signal that ended it, negative.

    It is None if the command had to be killed after the limit. ``left``: processes and folders that it left behind.
    ``sent``: whether the command was still there for the signal of its case.
    """

    code: int | None
    out: bytes
    err: bytes
    seconds: float
    left: tuple[str, ...] = ()
    sent: bool = False
