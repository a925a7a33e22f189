"""Files with a run: ``--itf FILE`` and ``--html FILE``, with the same meaning for every verb that finds runs."""

from __future__ import annotations

from pathlib import Path

import attrs
from cyclopts import Parameter

from holdfast.cli.output import check_writable, note, write
from holdfast.cli.reporting import renderer
from holdfast.ir.errors import UsageError
from holdfast.records.explained_run import explained_run
from holdfast.runs.loading import LoadedRun, open_trace
from holdfast.trace.itf import itf_text
from holdfast.trace.line import to_line
from holdfast.trace.trace import Trace


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class RunFiles:
    """Files with the run that is found.

    Parameters
    ----------
    itf
        Write the first violating run to this file, in the Informal Trace Format.
    html
        Write the first violating run to this file, as a page that explains each step in a browser.
    """

    itf: Path | None = None
    html: Path | None = None

    def prepare(self) -> None:
        """Raise UsageError if a file could not be written at the end. Call this before the long work."""
        if self.itf is not None and self.html is not None and self.itf.resolve() == self.html.resolve():
            raise UsageError(f"--itf and --html both name {self.itf}; give each a file of its own")
        for path in filter(None, (self.itf, self.html)):
            check_writable(path)
        if self.html is not None:
            check_page(self.html)
            renderer("run")

    def give(self, trace: Trace | None) -> None:
        """Write the files. Without a run, say that they are not written."""
        for path in filter(None, (self.itf, self.html)):
            if trace is None:
                note(f"holdfast: nothing is violated, so {path} is not written")
            elif path == self.itf:
                write(path, itf_text(trace))
            else:
                # A line names the model of a run, and how to repeat it with all that a page needs.
                write_page(path, open_trace(to_line(trace)))


NO_FILES = RunFiles()
PAGE = b"<!DOCTYPE html>"
"""How each page begins."""


def check_page(path: Path) -> None:
    """Raise UsageError if the file cannot be written, or has something else than a page: a model, a log, a run."""
    check_writable(path)
    if not path.is_file():
        return
    with path.open("rb") as file:
        begin = file.read(len(PAGE))
    if begin and begin != PAGE:
        raise UsageError(f"--html {path}: the file exists, and is no page; choose another name")


def write_page(path: Path, opened: LoadedRun) -> None:
    """Write a run as a page."""
    write(path, renderer("run")(explained_run(opened.trace, opened.replayer)))
