"""Running one command in process."""

from __future__ import annotations

from typing import Protocol

import attrs


@attrs.frozen
class Ran:
    """What a command answered and wrote."""

    code: int
    out: str
    err: str


class Run(Protocol):
    """Runs ``holdfast`` with these arguments."""

    def __call__(self, *argv: object) -> Ran: ...
