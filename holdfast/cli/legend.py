"""``--rules``: below a command's output, an explanation of each rule id in it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from holdfast.check.rules.book import RULES, book_beside
from holdfast.check.rules.text import WIDTH, legend
from holdfast.cli.output import say
from holdfast.ir.errors import UsageError
from holdfast.ir.system import System

WithRules = Annotated[bool, Parameter(name="--rules", negative="")]


def refuse_json(*, rules: bool, json: bool) -> None:
    """Raise UsageError for ``--rules`` with ``--json``: there is no text to explain then."""
    if rules and json:
        raise UsageError("--rules explains what a command prints for people; leave it or --json out")


def legend_for(texts: Iterable[str], system: System, width: int = WIDTH) -> str:
    """A line for each rule id in the texts, from the tables beside the model; or a line that says there is none."""
    folder = Path(system.file).parent
    found = legend(" ".join(texts), book_beside(folder), width)
    return found or f"No rule id that stands here is explained in {folder / RULES}."


def say_legend(texts: Iterable[str], system: System) -> None:
    """Print the legend for the texts that were printed before."""
    say(f"\n{legend_for(texts, system)}")
