"""The options that name a file to write: what the file holds, and which file it may replace.

A file is checked while the options are read, before the work begins. An existing file is replaced only if it is empty,
no regular file, or begins as one of its kind does: a slip of the hand must not cost a model or a log.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, cast

import attrs
from cyclopts import ArgumentCollection, Group, Parameter

from holdfast.cli.output import cannot_write, check_writable
from holdfast.ir.errors import UsageError, unreadable

LOOKED_AT = 400
"""The bytes at the beginning of a file that tell its kind."""


@attrs.frozen
class FileKind:
    """A kind of output file, and the validator of an option that names one.

    ``noun``: what a reader calls such a file. ``beginning``: a regular expression of how each such file begins.
    """

    noun: str
    beginning: bytes

    def __call__(self, _: object, path: Path | None) -> None:
        """``check`` as the validator of an option, which also gets the option's type."""
        if path is not None:
            self.check(path)

    def check(self, path: Path) -> None:
        """Raise UsageError if the file cannot be written, or if it is a file of another kind."""
        check_writable(path)
        if not path.is_file():
            return
        try:
            with path.open("rb") as file:
                found = file.read(LOOKED_AT)
        except OSError as error:
            raise unreadable(path, error) from error
        if found and re.match(self.beginning, found) is None:
            raise UsageError(f"{path}: the file exists, and is no {self.noun}; choose another name")


class LaterFile:
    """The validator of an option that may name a file to write. Its command checks the file when it knows that."""

    def __call__(self, _: object, value: str | None) -> None:
        """Accept any value."""


CHECKPOINT = FileKind("checkpoint", rb"(?s)PK\x03\x04.{26}header\.npy")
GRAPH = FileKind("graph", rb"(strict )?digraph\b|<\?xml |<graphml\b")
GUARDS = FileKind("page of guards", rb"# (Guards|The rules) ")
HISTORY = FileKind("history", rb'\{"index":')
JUNIT = FileKind("report of JUnit", rb"<\?xml [^>]*>\s*<testsuites?\b")
LOG = FileKind("log of events", rb'\{"(holdfast":"log"|source":)')
PAGE = FileKind("page", rb"<!DOCTYPE html>")
PICTURE = FileKind("picture", rb"<svg ")
RUN = FileKind("run in the Informal Trace Format", rb'\s*\{\s*"#meta"\s*:')
SARIF = FileKind("report of SARIF", rb'\s*\{\s*"\$schema":[^,]*sarif')
SCENARIO = FileKind("scenario of this command", rb"# Made by `holdfast ")

AnyFile = Annotated[str | None, Parameter(validator=LaterFile())]
GraphFile = Annotated[Path | None, Parameter(validator=GRAPH)]
GuardsFile = Annotated[Path | None, Parameter(validator=GUARDS)]
JunitFile = Annotated[Path | None, Parameter(validator=JUNIT)]
LogFile = Annotated[Path | None, Parameter(validator=LOG)]
PageFile = Annotated[Path | None, Parameter(validator=PAGE)]
NewPage = Annotated[Path, Parameter(validator=PAGE)]
PictureFile = Annotated[Path | None, Parameter(validator=PICTURE)]
RunFile = Annotated[Path | None, Parameter(validator=RUN)]
SarifFile = Annotated[Path | None, Parameter(validator=SARIF)]
ScenarioFile = Annotated[Path, Parameter(validator=SCENARIO)]


def _make_empty(_: object, path: Path | None) -> None:
    """Make a folder, in which other options may name files. Raises UsageError if that fails, or if it is not empty."""
    if path is None:
        return
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise UsageError(f"--out {path}: the folder is not empty; name another")
    except OSError as error:
        raise cannot_write(path, error) from error


NewFolder = Annotated[Path | None, Parameter(validator=_make_empty)]


def _differ(arguments: ArgumentCollection) -> None:
    """Raise UsageError if two options of a command name the same file to write."""
    names: dict[Path, str] = {}
    for argument in arguments:
        validators = cast("tuple[object, ...]", argument.parameter.validator)
        if any(isinstance(each, FileKind | LaterFile) for each in validators) and isinstance(
            argument.value, Path | str
        ):
            other = names.setdefault(Path(argument.value).resolve(), argument.name)
            if other != argument.name:
                raise UsageError(f"{other} and {argument.name} both name {argument.value}; give each a file of its own")


OPTIONS = Group("Parameters", validator=_differ)
"""The group of all options of a command."""
