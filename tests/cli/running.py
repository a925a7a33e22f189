"""Running one command in process."""

from __future__ import annotations

from typing import Protocol

import attrs


@attrs.frozen
class CommandRun:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


class Run(Protocol):
    """A function that runs ``holdfast`` with these arguments."""

    def __call__(self, *argv: object) -> CommandRun: ...
