"""Reports for other tools: ``--junit FILE``, ``--sarif FILE`` and ``--github``, the same for every verb.

The renderers are found through the entry points of the group ``holdfast.reports``: the engine imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import attrs
from cyclopts import Parameter

from holdfast.check.record import Record
from holdfast.cli.output import check_writable, say, write
from holdfast.ir.errors import UsageError

GROUP = "holdfast.reports"


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class Reports:
    """Reports for other tools.

    Parameters
    ----------
    junit
        Write the answer to this file as JUnit XML.
    sarif
        Write what is wrong to this file as SARIF 2.1.0, for code scanners.
    github
        Print what is wrong as annotations of a GitHub workflow.
    """

    junit: Path | None = None
    sarif: Path | None = None
    github: Annotated[bool, Parameter(negative="")] = False

    def prepare(self, *, json: bool = False) -> None:
        """Raise UsageError for what could not be written in the end; to be asked before the long work."""
        if json and self.github:
            raise UsageError("--github prints to standard output, where --json prints nothing else: choose one")
        for path in (self.junit, self.sarif):
            if path is not None:
                check_writable(path)

    def give(self, records: Sequence[Record]) -> None:
        """Write the reports that were asked for."""
        for name, path in (("junit", self.junit), ("sarif", self.sarif)):
            if path is not None:
                write(path, _renderer(name)(records))
        if self.github:
            found = _renderer("github")(records)
            if found:
                say(found.rstrip("\n"))


NO_REPORTS = Reports()


def _renderer(name: str) -> Callable[[Sequence[Record]], str]:
    """The function that writes records in a format."""
    for found in entry_points(group=GROUP, name=name):
        renderer: Callable[[Sequence[Record]], str] = found.load()
        return renderer
    raise UsageError(f"no renderer for {name} is installed (entry points {GROUP}); install holdfast again")
