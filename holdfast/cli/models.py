"""``holdfast models``: list the models."""

from __future__ import annotations

import sys

from rich.table import Table

from holdfast.cli.output import say, show
from holdfast.ir.compile import compile_model
from holdfast.ir.load import load_model, model_names


def models() -> int:
    """List the available models, with their scopes and variants."""
    classes = {name: load_model(name) for name in model_names()}
    systems = {name: compile_model(cls) for name, cls in classes.items()}
    if not systems:
        say("There are no models here; `holdfast new mylock` writes a first one.")
        return 0
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for heading in ("model", "what it is", "scopes", "variants"):
        table.add_column(heading, overflow="fold")
    for name, system in systems.items():
        scopes = ", ".join([*system.scopes, *system.run_scopes])
        table.add_row(name, _summary(classes[name]), scopes, ", ".join(system.variants) or "none")
    show(table)
    say("\nTry `holdfast check NAME`.")
    return 0


def _summary(cls: type) -> str:
    """The first sentence of the docstring of the model's file, or of its class."""
    text = sys.modules[cls.__module__].__doc__ or cls.__doc__ or "(no description)"
    return " ".join(text.strip().split("\n\n")[0].split()).partition(". ")[0].removesuffix(".") + "."
