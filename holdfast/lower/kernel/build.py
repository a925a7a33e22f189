"""Compiling a model's kernel once: the machine code is kept on disk, under the name of what it was made from.

Numba keeps compiled functions beside the file they come from. So the generated text is written to a file of its own,
named by a digest of the text and of what compiled it, and imported from there: a second start finds the machine code
and compiles nothing. Where that folder cannot be used, a temporary one takes its place; what it holds and is damaged
is compiled again.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import pickle
import platform
import shutil
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import llvmlite
import numba
import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps

from holdfast.lower.python.names import refuse_clashes

HEAD = '''"""Generated: the kernel of one model in one scope."""

import numba
import numpy as np

from holdfast.lower.kernel.memory import address, peek, poke, prefetch

jit = numba.njit(nogil=True, _nrt=False, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
entry = numba.njit(nogil=True, _nrt=False, error_model="numpy", no_cfunc_wrapper=True, cache=True)

'''

TEMPLATE_BEGINS = "# mypy: ignore-errors\n"
"""The last line of a driver's head, which is for those who read it as a file of its own."""

_CODE = "__pycache__"
"""Where Numba keeps machine code, beside the text."""

CODE_SUFFIX = ".nbc"
"""How the names of files with machine code end."""

CHECKSUM = 16
"""How many bytes a checksum of machine code has."""

CACHE_VARIABLE = "HOLDFAST_CACHE"
"""The environment variable that names another folder for compiled kernels."""


PREFIX = "kernel_"
"""What the name of every module of this kind begins with."""


@attrs.frozen
class CompiledModule:
    """One module as it lies on disk, with its machine code: what another machine needs to load it without compiling."""

    name: str
    text: bytes
    code: Mapping[str, bytes]


def kernel_text(functions: str, driver: str) -> str:
    """The whole module: the model's functions, and the driver that calls them. No name in it is defined twice."""
    template = _source(driver)
    return refuse_clashes(f"{HEAD}{functions}\n\n{template.partition(TEMPLATE_BEGINS)[2]}")


def build(functions: str, driver: str = "driver.py") -> ModuleType:
    """The compiled module of a model's functions, and of the driver in the file of that name."""
    text = kernel_text(functions, driver)
    name = f"{PREFIX}{_digest(text)}"
    known = sys.modules.get(name)
    if known is not None:
        return known
    try:
        return _import(_cache_folder(), name, text)
    except Exception:  # noqa: BLE001 - whatever a broken or forbidden cache raises, compiling elsewhere mends it
        return _import(_temporary_folder(), name, text)


def compiled_modules() -> list[CompiledModule]:
    """Every module that this process has, sorted by name, with the machine code there is by now."""
    found = []
    for name in sorted(name for name in sys.modules if name.startswith(PREFIX)):
        path = Path(str(sys.modules[name].__file__))
        code = {file.name: file.read_bytes() for file in sorted((path.parent / _CODE).glob(f"{name}.*{CODE_SUFFIX}"))}
        found.append(CompiledModule(name, path.read_bytes(), code))
    return found


def install(module: CompiledModule) -> None:
    """Put a module of another machine where ``build`` looks for it, unless it is there already.

    Where Numba finds that this machine's processor is another one, it compiles all the same.
    """
    folder = _cache_folder()
    try:
        _put(folder, module)
    except OSError:
        folder = _temporary_folder()
        os.environ[CACHE_VARIABLE] = str(folder)
        _put(_cache_folder(), module)


def _put(folder: Path, module: CompiledModule) -> None:
    text = folder / f"{module.name}.py"
    (folder / _CODE).mkdir(parents=True, exist_ok=True)
    code = {folder / _CODE / name: data for name, data in module.code.items()}
    if all(path.is_file() for path in (text, *code)):
        return
    for path, data in code.items():
        _write(path, data)
    # The text comes last: where it is, its machine code is.
    _write(text, module.text)


def _digest(text: str) -> str:
    """What the machine code depends on: the text, the intrinsics it uses, the compiler and the processor."""
    intrinsic = _source("memory.py")
    versions = (numba.__version__, llvmlite.__version__, np.__version__, platform.python_version(), platform.machine())
    return hashlib.blake2b("\0".join((text, intrinsic, *versions)).encode(), digest_size=12).hexdigest()


def _source(file: str) -> str:
    """The text of a file of this package, which may lie in a zip on an executor of Spark."""
    return resources.files(__package__).joinpath(file).read_text(encoding="utf-8")


def _cache_folder() -> Path:
    given = os.environ.get(CACHE_VARIABLE) or os.environ.get("XDG_CACHE_HOME")
    root = Path(given) if given else Path.home() / ".cache"
    return root / "holdfast" / "kernels"


def _temporary_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="holdfast-kernel-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _import(folder: Path, name: str, text: str) -> ModuleType:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        _write(path, text.encode())
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Numba finds the functions that machine code belongs to by importing their module by name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    compiled: list[Any] = [value for value in vars(module).values() if isinstance(value, Dispatcher)]
    for function in (function for function in compiled if function._cache.cache_path is not None):
        function._cache._cache_file = _CodeFiles(Path(function._cache.cache_path), f"{name}.{function.__name__}")
        function._cache = _Forgiving(function._cache)
    return module


class _CodeFiles:
    """The machine code of one function: a file for each signature and processor, in the place of Numba's own files.

    Numba keeps no checksum, and one index for all signatures of a function, which two processes may write at once. Here
    a file begins with a digest of the rest, and says what it holds: of a damaged one, or another's, nothing is loaded.
    """

    def __init__(self, folder: Path, function: str) -> None:
        self._folder = folder
        self._function = function

    def _path(self, key: object) -> Path:
        return self._folder / f"{self._function}.{_checksum(repr(key).encode()).hex()}{CODE_SUFFIX}"

    def save(self, key: object, data: object) -> None:
        """Keep the code of a signature."""
        content = dumps((self._function, key, data))  # type: ignore[no-untyped-call]
        _write(self._path(key), _checksum(content) + content)

    def load(self, key: object) -> object:
        """The code of a signature, or None."""
        stored = self._path(key).read_bytes()
        checksum, content = stored[:CHECKSUM], stored[CHECKSUM:]
        if checksum != _checksum(content):
            return None
        function, known, data = pickle.loads(content)  # noqa: S301 - no more is trusted than the folder of all code
        return data if (function, known) == (self._function, key) else None


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=CHECKSUM).digest()


class _Forgiving:
    """Numba's cache of one function, but that what cannot be read is not there, and need not be written either.

    Numba reads the machine code of a function when it is first called, and takes its files for granted.
    """

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The machine code, or None."""
        try:
            return self._cache.load_overload(signature, target)
        except Exception:  # noqa: BLE001 - whatever a broken file raises, compiling anew mends it
            return None

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep the machine code, if that is possible."""
        with suppress(Exception):
            self._cache.save_overload(signature, code)


def _write(path: Path, data: bytes) -> None:
    """Put the file in place whole, so that another process never sees half of it."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    draft.write_bytes(data)
    draft.replace(path)
