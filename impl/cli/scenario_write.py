"""The commands ``holdfast scenario new`` and ``holdfast scenario schema``."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from holdfast.cli.output import cannot_write, say
from holdfast.ir.errors import UsageError
from impl.scenario.schema import text


def new(name: str, /) -> int:
    """Write NAME.yaml, a scenario with comments that explain the language.

    Parameters
    ----------
    name
        The name of the file, with or without .yaml; it must not exist yet.
    """
    path = Path(name if name.endswith((".yaml", ".yml")) else f"{name}.yaml")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(files("impl.scenario").joinpath("example.yaml").read_text(encoding="utf-8"))
    except FileExistsError as error:
        raise UsageError(f"{path} exists already; choose another name, or move it away") from error
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from error
    say(f"{path}: a stream changes its owner. Try:\n\n  holdfast scenario run {path}")
    return 0


def schema() -> int:
    """Print the JSON schema of a document of a scenario file."""
    say(text().rstrip("\n"))
    return 0
