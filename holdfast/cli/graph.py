"""``holdfast graph``: the state graph of a small scope as a page."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter, validators

from holdfast.cli.options import Names
from holdfast.cli.output import say, write
from holdfast.cli.output_files import NewPage
from holdfast.cli.reporting import renderer
from holdfast.ir.scopes import USUAL
from holdfast.ir.system import Scope, System
from holdfast.ir.variants import load_variant

Depth = Annotated[int | None, Parameter(validator=validators.Number(gte=0, lte=1_000_000))]


def graph(
    model: str,
    /,
    *,
    html: NewPage,
    scope: str | None = None,
    depth: Depth = None,
    variant: Names = (),
    without: Names = (),
) -> int:
    """Draw the state graph of a small scope: every state, every step, and a path to each witness and violation.

    Each state is drawn, also one that differs from another only in the names of elements. More than 3,000 states or
    15,000 arrows are not drawn. `holdfast check --graph FILE.dot` writes a graph for other programs.

    Parameters
    ----------
    model
        A name that `holdfast models` lists, or a file: path/to/model.py, or path/to/model.py:Class.
    html
        The page to write, for a browser.
    scope
        The scope to draw; otherwise tiny or, if there is none, default.
    depth
        Draw a part of the graph: the states at most N steps from the start, and the steps between them.
    variant
        Choose a named variant of the model. May be repeated.
    without
        Remove a rule, LABEL everywhere or LABEL@action in one action. May be repeated.
    """
    # Importing networkx takes longer than all other imports together, and no other verb needs it.
    from holdfast.records.drawn_graph import drawn_graph  # noqa: PLC0415

    render = renderer("graph")
    system = load_variant(model, variant, without)
    found = drawn_graph(system, _scope(system, scope), depth)
    write(html, render(found))
    say(f"{found.about}: {found.summary}")
    return 0


def _scope(system: System, name: str | None) -> Scope:
    """The named scope, or the first usual one. Raises UsageError if there is none."""
    return system.scope(name or next((each for each in USUAL if each in system.scopes), USUAL[0]))
