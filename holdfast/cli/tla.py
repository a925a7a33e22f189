"""``holdfast tla``: write models as TLA+ modules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

from holdfast.cli.options import Names, Switch
from holdfast.cli.output import check_writable, say, write
from holdfast.ir.errors import UsageError, unreadable
from holdfast.ir.load import model_names
from holdfast.ir.scopes import smallest_scope
from holdfast.ir.variants import load_variant
from holdfast.lower.tla.files import MARK, Specification

SPEC = Path("spec")
"""The folder of the committed modules, relative to the root of the repository."""


DIFFERS = 1


def tla(
    *model: str,
    scope: str | None = None,
    variant: Names = (),
    without: Names = (),
    out: Path | None = None,
    check: Switch = False,
) -> int:
    """Write a TLA+ module for each model, a module for its scope, and the configurations that TLC reads.

    Without a model, write all that `holdfast models` lists to spec/, and remove generated modules that have no model
    any more. Modules written by hand are not changed.

    Parameters
    ----------
    model
        Names that `holdfast models` lists, or files: path/to/model.py, or path/to/model.py:Class.
    scope
        The scope to write; otherwise tiny, or the first where there is no tiny.
    variant
        Choose a named variant of the models. May be repeated; needs --out.
    without
        Remove a rule, LABEL everywhere or LABEL@action in one action. May be repeated; needs --out.
    out
        The folder to write to; otherwise spec/.
    check
        Write nothing, and end with 1 if a file in the folder differs from what the command would write.
    """
    if out is None and (variant or without or scope is not None):
        raise UsageError("spec/ holds the unchanged models in their smallest scope; name another folder with --out")
    folder = SPEC if out is None else out
    wanted: dict[str, str] = {}
    by_hand = written_by_hand(folder)
    for target in model or model_names():
        system = load_variant(target, variant, without)
        specification = Specification.of(system, smallest_scope(system, scope), target)
        files = specification.files | specification.implementations(specification.implementing(by_hand))
        for name in files:
            # On some file systems, names that differ only in capitals are the same file.
            if name.casefold() in map(str.casefold, wanted):
                raise UsageError(f"{target}: another model of this command is written to {name} too; name one of them")
        wanted |= files
    if not wanted:
        raise UsageError("there are no models here; name a file: holdfast tla path/to/model.py")
    changes = Changes.of(folder, wanted, everything=not model)
    return _differences(folder, changes) if check else _written(folder, wanted, changes)


@attrs.frozen
class Changes:
    """The changes that a folder needs: names of missing, outdated and left-over files, sorted.

    ``same`` is the number of files that are already up to date.
    """

    missing: tuple[str, ...]
    outdated: tuple[str, ...]
    left_over: tuple[str, ...]
    same: int

    @classmethod
    def of(cls, folder: Path, wanted: Mapping[str, str], *, everything: bool) -> Changes:
        """The changes after which the folder holds the wanted files.

        With ``everything``, other generated files are left over, and have to go. Raises UsageError if a wanted name
        belongs to a file that was not generated: writing it would destroy a module written by hand.
        """
        present = {path.name: read(path) for path in _files(folder)}
        folded = {name.casefold() for name in wanted}
        for name, text in present.items():
            if name.casefold() in folded and MARK not in text:
                raise UsageError(f"{folder / name} was not generated and would be lost; rename it, or choose --out")
        return cls(
            tuple(sorted(name for name in wanted if name not in present)),
            tuple(sorted(name for name, text in wanted.items() if name in present and present[name] != text)),
            tuple(sorted(name for name, text in present.items() if MARK in text and name not in wanted))
            if everything
            else (),
            sum(present.get(name) == text for name, text in wanted.items()),
        )


def written_by_hand(folder: Path) -> dict[str, str]:
    """The modules of a folder that were not generated: text by module name."""
    texts = {path.stem: read(path) for path in _files(folder) if path.suffix == ".tla"}
    return {name: text for name, text in texts.items() if MARK not in text}


def read(path: Path) -> str:
    """The text of a file. Raises UsageError if it cannot be read, or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is no text ({error.reason} at byte {error.start}); remove or mend it") from error


def _files(folder: Path) -> Sequence[Path]:
    return sorted(path for path in folder.glob("*") if path.suffix in (".tla", ".cfg") and path.is_file())


def _differences(folder: Path, changes: Changes) -> int:
    """Print each file that differs from what the command would write. Returns DIFFERS if any does."""
    for what, names in (
        ("is missing", changes.missing),
        ("differs from the module generated from the model", changes.outdated),
        ("has no model any more", changes.left_over),
    ):
        for name in names:
            say(f"{folder / name}: {what}")
    if changes.missing or changes.outdated or changes.left_over:
        say("`holdfast tla` writes the modules anew; read the difference before you commit it.")
        return DIFFERS
    say(f"{folder}: {changes.same} files are what the models say")
    return 0


def _written(folder: Path, wanted: Mapping[str, str], changes: Changes) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made: {error.strerror}; choose another folder with --out") from error
    for name in (*changes.missing, *changes.outdated):
        check_writable(folder / name)
        write(folder / name, wanted[name])
        say(f"{folder / name}")
    for name in changes.left_over:
        (folder / name).unlink()
        say(f"{folder / name}: removed")
    say(f"{len(changes.missing) + len(changes.outdated)} files written, {changes.same} as they were")
    return 0
