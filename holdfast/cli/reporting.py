"""Reports for other tools: ``--junit FILE``, ``--sarif FILE`` and ``--github``, with the same meaning for every verb.

The renderers are found through the entry points of the group ``holdfast.reports``; the engine imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path

import attrs
from cyclopts import Parameter

from holdfast.cli.options import Switch
from holdfast.cli.output import say, write
from holdfast.cli.output_files import JunitFile, SarifFile
from holdfast.ir.errors import UsageError
from holdfast.records.record import Record, printable_record

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
        Write the findings to this file as SARIF 2.1.0, for code scanners.
    github
        Print the findings as annotations of a GitHub workflow.
    """

    junit: JunitFile = None
    sarif: SarifFile = None
    github: Switch = False

    @property
    def given(self) -> dict[str, bool]:
        """For each option: whether the user gave it."""
        return {"--junit": self.junit is not None, "--sarif": self.sarif is not None, "--github": self.github}

    def prepare(self, *, json: bool = False) -> None:
        """Raise UsageError if a report could not be rendered at the end. Call this before the long work.

        ``json`` says that the command prints JSON to standard output, which excludes ``--github``.
        """
        if json and self.github:
            raise UsageError("--github prints to standard output, where --json prints nothing else; choose one")
        for option, _ in self._files:
            renderer(option)

    def refuse(self, why: str) -> None:
        """Raise UsageError if the user asked for any report. ``why`` says why the command has nothing to report."""
        for option in (option for option, there in self.given.items() if there):
            raise UsageError(f"{option}: {why}; leave it out")

    def give(self, records: Sequence[Record]) -> None:
        """Write the reports that the user asked for."""
        records = [printable_record(record) for record in records]
        # Render all of them before writing the first: an error in a renderer then leaves no half set of files.
        rendered = [(path, renderer(name)(records)) for name, path in self._files]
        annotations = renderer("github")(records) if self.github else ""
        for path, text in rendered:
            write(path, text)
        if annotations:
            say(annotations.rstrip("\n"), commands=True)

    @property
    def _files(self) -> list[tuple[str, Path]]:
        """The formats that are written to files, each with its file."""
        return [(name, path) for name, path in (("junit", self.junit), ("sarif", self.sarif)) if path is not None]


NO_REPORTS = Reports()


def renderer(name: str) -> Callable[..., str]:
    """The function that renders records in a format; with ``run`` and ``log``, a page. Raises UsageError without it."""
    for found in entry_points(group=GROUP, name=name):
        loaded: Callable[..., str] = found.load()
        return loaded
    raise UsageError(f"no renderer for {name} is installed (entry points {GROUP}); install holdfast again")
