"""``holdfast show``: print a run for people: in columns, as a diagram, or as the steps that led to its end."""

from __future__ import annotations

import shutil
import sys
from typing import Annotated

from cyclopts import Parameter

from holdfast.cli.legend import WithRules, legend_for
from holdfast.cli.options import Names, Switch
from holdfast.cli.output import note, say, write
from holdfast.cli.output_files import PageFile, PictureFile
from holdfast.cli.reporting import renderer
from holdfast.cli.run_files import write_page
from holdfast.ir.errors import UsageError
from holdfast.runs.loading import LoadedRun, open_trace
from holdfast.runs.missing import missing_rules
from holdfast.runs.refusals import refusals
from holdfast.runs.replay import Replayer
from holdfast.runs.why import why as explain
from holdfast.trace.views.columns import WIDTH, ColumnsView, render_columns
from holdfast.trace.views.diagram import render_diagram
from holdfast.trace.views.events import select_cells
from holdfast.trace.views.folding import FoldedRun
from holdfast.trace.views.svg import render_svg
from holdfast.trace.views.why import render_why

NARROWEST, WIDEST = 60, 120
"""Bounds for the width of the output, in columns. A wide terminal is not filled: long lines are hard to read."""


def show(
    run: str | None = None,
    /,
    *,
    full: Switch = False,
    only: Names = (),
    why: Annotated[tuple[str, ...] | None, Parameter(negative="", consume_multiple=True)] = None,
    refused: Switch = False,
    rules: WithRules = False,
    diagram: Switch = False,
    svg: PictureFile = None,
    html: PageFile = None,
    model: str | None = None,
) -> int:
    """Show a run: which process did what, and what each step changed.

    Parameters
    ----------
    run
        A file (ITF, or what TLC printed or dumped), or a line as `holdfast replay` takes it.
    full
        Show the whole state after each step, not only what changed.
    only
        Show only this field, or this cell: owner, or 'owner[s1]'. May be repeated.
    why
        Show only the steps that led to this property's violation, with the cells that each step wrote and needed.
        Without a name: the steps that led to what the run shows at its end.
    refused
        Show which rules refuse which actions: all of them for the first state, then the changes from state to state.
    rules
        Below the run, explain each rule id that it mentions.
    diagram
        Draw the run with a line for each process; time runs downwards.
    svg
        Draw the diagram into this file, as a picture for a browser.
    html
        Write the run into this file as a page that explains each step in a browser.
    model
        The model behind the run, instead of the one that it names: MODEL, or 'MODEL SCOPE +VARIANT -LABEL'.
    """
    run, asked = _arguments(run, why)
    if html is not None:
        renderer("run")
    opened = open_trace(run, model=model)
    folded = FoldedRun.of(opened.trace)
    trace, cells = folded.trace, None if not only else select_cells(folded.trace, only)
    width = _width()
    texts = []
    if why is not None:
        found = explain(_replayer(opened, run, "--why"), opened.trace, asked)
        shown = FoldedRun.of(found.trace)
        texts.append(render_why(shown.trace, shown.slice(found.slice), width=width))
    if diagram:
        texts.append(render_diagram(trace, cells, width=width))
    if svg is not None:
        write(svg, render_svg(trace, cells))
    if html is not None:
        write_page(html, opened)
    if refused or full or not (texts or svg or html):
        replayer = _replayer(opened, run, "--refused") if refused else opened.replayer
        missing = {} if replayer is None else missing_rules(replayer, opened.trace)
        notes = {number: [f"! {text}"] for number, text in missing.items()}
        meets = refusals(replayer, opened.trace) if refused and replayer is not None else {}
        texts.append(render_columns(trace, ColumnsView(full=full, only=cells, width=width, notes=notes, refused=meets)))
    if rules:
        texts.append(legend_for(texts, _replayer(opened, run, "--rules").system))
    if texts:
        say("\n\n".join(texts))
    if opened.changed is not None:
        note(f"holdfast: {opened.changed}")
    return 0


def _arguments(run: str | None, why: tuple[str, ...] | None) -> tuple[str, str | None]:
    """The run, and the property that ``--why`` names, or None.

    The name behind ``--why`` is optional, so the parser also hands the run to ``--why`` if the run comes last on the
    command line: ``show --why RUN``. Here the run is taken back from it. Raises UsageError if there is no run, or more
    than one name.
    """
    asked = list(why or ())
    if run is None and asked:
        run = asked.pop()
    if run is None:
        raise UsageError("no run is given; name a file, or give a line as `holdfast replay` takes it")
    if len(asked) > 1:
        raise UsageError(f"--why {' '.join(asked)}: these are {len(asked)} properties; name one")
    return run, asked[0] if asked else None


def _replayer(opened: LoadedRun, run: str, option: str) -> Replayer:
    if opened.replayer is None:
        raise UsageError(f"{option} needs the model behind {opened.trace.target or run}; name it with --model")
    return opened.replayer


def _width() -> int:
    """The width of the output in columns. Without a terminal it is fixed, so that equal runs give equal bytes."""
    if not sys.stdout.isatty():
        return WIDTH
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((WIDTH, 24)).columns))
