"""``--rules``: below what a command prints, what each rule id in it means."""

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
    """Raise UsageError where ``--rules`` has no text to explain."""
    if rules and json:
        raise UsageError("--rules explains what a command prints for people; leave it or --json out")


def legend_for(texts: Iterable[str], system: System, width: int = WIDTH) -> str:
    """A line for each rule id in the texts, by the rows beside the model; or a line that says that there is none."""
    folder = Path(system.file).parent
    found = legend(" ".join(texts), book_beside(folder), width)
    return found or f"No rule id that stands here is explained in {folder / RULES}."


def say_legend(texts: Iterable[str], system: System) -> None:
    """Print the legend below what was printed before."""
    say(f"\n{legend_for(texts, system)}")
