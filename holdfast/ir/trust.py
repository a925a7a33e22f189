"""The models that a file may name: those that come along with Holdfast. To import a model is to execute its file."""

from __future__ import annotations

import shlex
from pathlib import Path

from holdfast.ir.errors import UsageError
from holdfast.ir.load import model_file

FOLDER = Path(__file__).resolve().parents[2] / "models"
"""The folder of the models that come along: it stands beside this package, in a checkout and in an installation."""


class UntrustedModelError(UsageError):
    """A file names a model that does not come along with Holdfast, and the user has not named it (exit code 2)."""


def is_bundled(target: str) -> bool:
    """Whether there is a model of that name on the command line, and it comes along with Holdfast. Imports nothing."""
    try:
        return model_file(target).resolve().is_relative_to(FOLDER)
    except UsageError:
        return False


def check_bundled(target: str, file: str) -> None:
    """Raise UntrustedModelError unless the model that a file names comes along with Holdfast. Imports nothing.

    ``target`` is the name of the model as on the command line, ``file`` the name of the file for the message. Raises
    UsageError if there is no such model.
    """
    if not model_file(target).resolve().is_relative_to(FOLDER):
        raise UntrustedModelError(
            f"{file}: names the model {target}, which does not come along with holdfast, and a file does not choose "
            f"what is executed; add --model {shlex.quote(target)} if you trust that model"
        )
