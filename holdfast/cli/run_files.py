"""Files with a run: ``--itf FILE`` and ``--html FILE``, with the same meaning for every verb that finds runs."""

from __future__ import annotations

from pathlib import Path

import attrs
from cyclopts import Parameter

from holdfast.cli.output import note, write
from holdfast.cli.output_files import PageFile, RunFile
from holdfast.cli.reporting import renderer
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

    itf: RunFile = None
    html: PageFile = None

    def prepare(self) -> None:
        """Raise UsageError if the page could not be rendered at the end. Call this before the long work."""
        if self.html is not None:
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


def write_page(path: Path, opened: LoadedRun) -> None:
    """Write a run as a page."""
    write(path, renderer("run")(explained_run(opened.trace, opened.replayer)))
