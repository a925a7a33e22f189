"""Finds a model by name or path, and imports it."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.util
import logging
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import attrs

from holdfast.ir.compile.source import shown_path
from holdfast.ir.errors import ModelError, Place, UsageError, described
from holdfast.ir.marks import MARK

PROOF = "_proof"
"""The suffix of a file of lemmas: ``ownership_proof.py`` stands beside ``ownership.py``."""

LATE = 5.0
"""Seconds that the import of a model may take before a warning names the file."""

_LOG = logging.getLogger(__name__)


def load_model(text: str, *, alone: bool = False) -> type:
    """The model class for ``ownership``, for ``path/to/file.py``, or for one of these followed by ``:Class``.

    A bare name is looked up in ``models/`` of the working directory, then in the installed ``models`` package. With
    ``alone``, only that file is executed: neither the package around it, nor files beside it that have the name of a
    module. Raises UsageError if there is no such model and ModelError if its file cannot be imported.
    """
    name, _, wanted = text.partition(":")
    return _pick(_import_file(model_file(text), alone=alone), name, wanted)


def model_file(text: str) -> Path:
    """The file that ``load_model`` imports. Nothing is imported here. Raises UsageError if there is no such file."""
    name = text.partition(":")[0]
    if not (name.endswith(".py") or os.sep in name):
        return _file_of_name(name)
    # ``os.path`` answers for a path that is too long as well.
    if not os.path.isfile(name):  # noqa: PTH113 - see above
        raise UsageError(
            f"there is no model file {name}; give a path to a .py file, or a name that `holdfast models` lists"
        )
    if not name.endswith(".py"):
        raise UsageError(f"{name} is no model: its name does not end in .py; give a path to a .py file")
    return Path(name)


@attrs.frozen
class WithLemmas:
    """A model with the lemmas of the file beside it, if there is such a file.

    ``model``: the class with the lemmas. ``extends``: the class without them; without a file of lemmas it is ``model``
    itself. ``target``: the name of ``model`` on the command line. ``lemmas_from``: the file of lemmas, or None.
    """

    model: type
    extends: type
    target: str
    lemmas_from: str | None


def load_with_lemmas(text: str) -> WithLemmas:
    """The model that the text names, with the lemmas of the file beside it: ``ownership_proof.py`` for ``ownership``.

    That file has one class, which extends the model and adds lemmas to it. If the text names a class with ``:Class``,
    the file of lemmas is ignored. Raises the errors of ``load_model``, and UsageError if the file of lemmas has no such
    class.
    """
    model = load_model(text)
    name, _, wanted = text.partition(":")
    path = Path(sys.modules[model.__module__].__file__ or "")
    beside = path.with_name(f"{path.stem}{PROOF}.py")
    if wanted or not beside.is_file():
        return WithLemmas(model, model, text, None)
    target = f"{name.removesuffix('.py')}{PROOF}{'.py' if name.endswith('.py') else ''}"
    extended = _pick(_import_file(beside), target, "")
    if not any(_is_from(base, path) and base.__name__ == model.__name__ for base in extended.__mro__):
        raise UsageError(f"{shown_path(str(beside))}: {extended.__name__} does not extend {model.__name__}; let it")
    return WithLemmas(extended, model, target, shown_path(str(beside)))


def _is_from(cls: type, path: Path) -> bool:
    """Whether a class is defined in the file, under any module name."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return file is not None and Path(file).resolve() == path.resolve()


def model_names() -> list[str]:
    """The bare names that ``load_model`` accepts, sorted."""
    return sorted({name for folder in model_folders() for name in names_in(folder)})


def names_in(folder: Path) -> list[str]:
    """The names of the models in one folder, sorted. Files of lemmas (``..._proof.py``) are not models."""
    stems = [path.stem for path in folder.glob("*.py")]
    return sorted(stem for stem in stems if not stem.startswith("_") and not stem.endswith(PROOF))


def model_folders() -> list[Path]:
    """The folders for bare names: ``models/`` of the working directory, then the installed ``models`` package."""
    folders = [Path.cwd() / "models"]
    spec = importlib.util.find_spec("models")
    if spec is not None and spec.submodule_search_locations:
        folders += [Path(place) for place in spec.submodule_search_locations]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def _file_of_name(name: str) -> Path:
    """The file of the model with this bare name."""
    for folder in model_folders():
        path = folder / f"{name}.py"
        if name.isidentifier() and os.path.isfile(path):  # noqa: PTH113 - as above
            return path
    near = difflib.get_close_matches(name, model_names(), n=3, cutoff=0.5)
    if os.path.isfile(f"{name}.py"):  # noqa: PTH113 - as above
        near.insert(0, f"{name}.py")
    hint = f"did you mean {', '.join(near)}?" if near else "`holdfast models` lists all models; a path ends in .py"
    raise UsageError(f"there is no model {name!r}; {hint}")


def _import_file(path: Path, *, alone: bool = False) -> ModuleType:
    path = path.resolve()
    # A file of a package is imported under its full name, because other files of the package may import it too.
    root, parts = path.parent, [path.stem]
    while not alone and (root / "__init__.py").is_file():
        parts.insert(0, root.name)
        root = root.parent
    # The prefix keeps a single file from hiding an installed module of the same name.
    full = ".".join(parts) if len(parts) > 1 else f"_model_{path.stem}"
    known = sys.modules.get(full)
    if known is not None and getattr(known, "__file__", None) != str(path) and len(parts) == 1:
        # Another file of this name is loaded already. It keeps its entry in sys.modules, because the compiler looks up
        # the module of a class by name.
        full = f"{full}_{hashlib.blake2b(str(path).encode(), digest_size=8).hexdigest()}"
        known = sys.modules.get(full)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known
    if not alone and str(root) not in sys.path:
        sys.path.insert(0, str(root))
    if len(parts) > 1:
        _check_visible(path, root, full)
    try:
        with _named_if_late(path), _same_streams(), _without_compiled_files():
            module = importlib.import_module(full) if len(parts) > 1 else _import_alone(full, path)
    except (ModelError, KeyboardInterrupt):
        raise
    except SyntaxError as error:
        raise _syntax_error(error, path) from None
    except BaseException as error:  # noqa: BLE001 - a model is the user's program, and theirs to mend
        if isinstance(error.__cause__, KeyboardInterrupt):
            # It came while Python made a class: Python 3.11 raises a RuntimeError then.
            raise error.__cause__ from None
        raise _import_error(error, path) from None
    # If a package of the same name from another place is loaded already, Python has imported the file from there.
    if Path(module.__file__ or "").resolve() != path:
        raise UsageError(f"{path} is hidden by {module.__file__}, which is imported as {full} too; rename its folder")
    return module


def _check_visible(path: Path, root: Path, full: str) -> None:
    """Raise UsageError if Python would import the package of the file from another place. It is not executed."""
    package = full.partition(".")[0]
    spec = None if package in sys.modules else importlib.util.find_spec(package)
    if spec is None:
        return
    places = [Path(place).resolve() for place in spec.submodule_search_locations or ()]
    if root / package not in places:
        there = spec.origin if not places else places[0]
        raise UsageError(f"{path} is hidden by {there}, which is imported as {package} too; rename its folder")


def _import_alone(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before the module runs, as ``importlib`` does: its classes look up their module here
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def _named_if_late(path: Path) -> Iterator[None]:
    """Log a warning that names the file if its import, in this block, takes longer than LATE seconds."""
    text = "%s: its import has taken %g s and goes on; end it with Ctrl-C, and look for a loop in the file"
    timer = threading.Timer(LATE, _LOG.warning, (text, shown_path(str(path)), LATE))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _without_compiled_files() -> Iterator[None]:
    """A block in which imports read no compiled file, and write none.

    Python compares the time, in seconds, and the size of a source with those that its compiled file names. Two edits
    within a second may leave both the same, and so may an archive with two versions. Python would run the older text.
    """
    before = sys.pycache_prefix, sys.dont_write_bytecode
    sys.pycache_prefix, sys.dont_write_bytecode = os.devnull, True  # no file can be below it
    try:
        yield
    finally:
        sys.pycache_prefix, sys.dont_write_bytecode = before


@contextmanager
def _same_streams() -> Iterator[None]:
    """A block after which the standard streams are those before it. A file may have replaced them, even by None."""
    before = sys.stdin, sys.stdout, sys.stderr
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


def _syntax_error(error: SyntaxError, path: Path) -> ModelError:
    """The ModelError for a syntax error. A file that raises one itself may give it any attributes."""
    file = error.filename if isinstance(error.filename, str) else str(path)
    line, column = (max(each, 1) if isinstance(each, int) else 1 for each in (error.lineno, error.offset))
    construct = (error.text if isinstance(error.text, str) else "").strip() or path.name
    return ModelError(
        Place(shown_path(file), line, column), construct, str(error.msg or "no syntax"), "mend the syntax"
    )


def _import_error(error: BaseException, path: Path) -> ModelError:
    """The ModelError for an exception during the import. Its place is the innermost line in the model's folder."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(str(path.parent))
    ]
    file, line = (frames[-1].filename, frames[-1].lineno or 1) if frames else (str(path), 1)
    source = frames[-1].line if frames and frames[-1].line else path.name
    return ModelError(
        Place(shown_path(file), line), source, described(error), "correct the error that the import raises"
    )


def _pick(module: ModuleType, name: str, wanted: str) -> type:
    """The class ``wanted`` of a module; without a wanted name, its only model that no other one extends.

    Raises UsageError if there is no such class, or more than one.
    """
    # A model inherits the mark; ``Model`` itself, which has it in its own ``vars``, is not a model. A class may have
    # several names in the module.
    classes = [
        value
        for value in dict.fromkeys(each for each in vars(module).values() if isinstance(each, type))
        if getattr(value, MARK, None) == "model" and MARK not in vars(value) and value.__module__ == module.__name__
    ]
    if wanted:
        for cls in classes:
            if cls.__name__ == wanted:
                return cls
        raise UsageError(
            f"{name} has no model {wanted!r}; it has: {', '.join(cls.__name__ for cls in classes) or 'none'}"
        )
    leaves = [cls for cls in classes if not any(other is not cls and issubclass(other, cls) for other in classes)]
    if len({cls.__name__ for cls in leaves}) == 1:
        # If the file defines two classes of this name, the compiler names the lines of both.
        return leaves[-1]
    if not leaves:
        raise UsageError(f"{name} defines no model; write a class of holdfast.lang.Model")
    raise UsageError(
        f"{name} defines several models; name one: {', '.join(f'{name}:{cls.__name__}' for cls in leaves)}"
    )
