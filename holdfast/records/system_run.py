"""A run of a system, simulated or real, with all that its page tells."""

from __future__ import annotations

from typing import Literal

import attrs

VerdictKind = Literal["holds", "violated", "out_of_budget", "unknown"]


@attrs.frozen
class SystemMoment:
    """A line of a run. ``time``: in seconds. ``kind``: "violated", "fault", "state", or "" for all others."""

    time: str
    who: str
    text: str
    kind: Literal["", "violated", "fault", "state"] = ""


@attrs.frozen
class FactTable:
    """A table of a page. Each row has a text for each name of ``head``."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@attrs.frozen
class SystemPicture:
    """A picture of a page. ``drawing``: an SVG element whose texts are escaped.

    ``kind``: a picture of loads has the colours of the page, and a plot has colours of its own.
    """

    caption: str
    drawing: str
    kind: Literal["loads", "plot"] = "loads"


@attrs.frozen
class SystemRun:
    """A run of a system for its page.

    ``about``: what ran, above the title. ``verdict``: the kind of the verdict, ``verdict_text`` the verdict in
    words. ``findings``: what oracles and models object to, and which questions are open; ``nothing``: the sentence
    if there are none. ``drawing``: the timeline, an SVG element whose texts are escaped, "" for none; ``legend``:
    how to read it. ``pictures``: other pictures. ``left_out``: how many moments the page does not have.
    ``commands``: names and command lines, such as one that repeats the run.
    """

    holdfast: str
    about: str
    title: str
    verdict: VerdictKind
    verdict_text: str
    findings: tuple[str, ...]
    nothing: str
    facts: tuple[tuple[str, str], ...]
    drawing: str = ""
    legend: str = ""
    pictures: tuple[SystemPicture, ...] = ()
    tables: tuple[FactTable, ...] = ()
    moments: tuple[SystemMoment, ...] = ()
    left_out: int = 0
    commands: tuple[tuple[str, str], ...] = ()
