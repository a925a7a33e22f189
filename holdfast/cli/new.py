"""``holdfast new NAME``: write a first model, with one bug to find."""

from __future__ import annotations

import keyword
import sys
from importlib.resources import files
from pathlib import Path

from holdfast.cli.output import cannot_write, say
from holdfast.ir.errors import UsageError


def new(name: str, /) -> int:
    """Write NAME.py, a small model with one bug to find.

    Parameters
    ----------
    name
        A Python name such as mylock; the file NAME.py must not exist yet.
    """
    path = Path(f"{_checked(name)}.py")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(files("holdfast.cli").joinpath("starter.py").read_text(encoding="utf-8"))
    except FileExistsError as error:
        raise UsageError(f"{path} exists already; choose another name, or move it away") from error
    except OSError as error:
        raise cannot_write(path, error) from error
    say(
        f"{path}: a lease that one client at a time may hold. It has one bug. Try:\n\n"
        f"  holdfast check {path}                 # the shortest run to it\n"
        f"  holdfast check {path} --scope tiny    # again, after you have mended it\n"
    )
    return 0


def _checked(name: str) -> str:
    """The name, if a module can have it. Raises UsageError for a name that Python could not import."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise UsageError(f"{name!r} is not a Python name; write letters, digits and underscores, such as mylock")
    if name in sys.stdlib_module_names:
        raise UsageError(f"{name!r} is a module of Python, which {name}.py would hide; choose another name")
    return name
