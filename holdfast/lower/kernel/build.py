"""Compiles a model's kernel once: the machine code is kept on disk, named by a digest of its source.

Numba stores machine code beside the file of a function. So ``build`` writes the generated text to a file of its own,
and imports it. The file's name has a digest of the text, the compiler's versions and the processor's kind. A second
start with the same text finds the machine code and compiles nothing.

A cache never stops a command. If its folder cannot be used, a temporary one takes its place. Damaged machine code is
compiled again.
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

TEMPLATE_BEGINS = "# The template begins here.\n"
"""The last line of a driver's head. ``kernel_text`` drops the head: it serves only readers and linters."""

_CODE = "__pycache__"
"""The folder beside the text in which Numba keeps machine code."""

CODE_SUFFIX = ".nbc"
"""The suffix of files with machine code."""

CHECKSUM = 16
"""The number of bytes of a checksum of machine code."""

CACHE_VARIABLE = "HOLDFAST_CACHE"
"""The environment variable that names another folder for compiled kernels."""


PREFIX = "kernel_"
"""The prefix of the names of compiled modules."""


@attrs.frozen
class CompiledModule:
    """The files of one module: its text, and its machine code by file name. Another machine can load it from them."""

    name: str
    text: bytes
    code: Mapping[str, bytes]


def kernel_text(functions: str, driver: str) -> str:
    """The text of a whole module: the model's functions, and the driver that calls them.

    ``driver`` is the name of a file of this package. Raises RuntimeError if the text defines a name twice.
    """
    template = _source(driver)
    return refuse_clashes(f"{HEAD}{functions}\n\n{template.partition(TEMPLATE_BEGINS)[2]}")


def build(functions: str, driver: str = "driver.py") -> ModuleType:
    """The module of a model's functions and of the driver in that file; its functions compile when they are called.

    Functions that this machine has compiled before are loaded instead. Raises RuntimeError as ``kernel_text`` does.
    """
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
    """Every compiled module that this process has imported, sorted by name, with its machine code so far."""
    found = []
    for name in sorted(name for name in sys.modules if name.startswith(PREFIX)):
        path = Path(str(sys.modules[name].__file__))
        code = {file.name: file.read_bytes() for file in sorted((path.parent / _CODE).glob(f"{name}.*{CODE_SUFFIX}"))}
        found.append(CompiledModule(name, path.read_bytes(), code))
    return found


def install(module: CompiledModule) -> None:
    """Write a module from another machine to the folder where ``build`` looks for it, unless it is there already.

    If this machine has another processor, Numba does not use the machine code and compiles.
    """
    folder = _cache_folder()
    try:
        _put(folder, module)
    except OSError:
        folder = _temporary_folder()
        # ``build`` and the processes that this one starts must find the same folder.
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
    """A digest of everything that the machine code depends on: text, intrinsics, compiler and processor."""
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
    # Only functions with ``cache=True`` have a path. Their files are replaced: see ``_CodeFiles`` and ``_Forgiving``.
    compiled: list[Any] = [value for value in vars(module).values() if isinstance(value, Dispatcher)]
    for function in (function for function in compiled if function._cache.cache_path is not None):
        function._cache._cache_file = _CodeFiles(Path(function._cache.cache_path), f"{name}.{function.__name__}")
        function._cache = _Forgiving(function._cache)
    return module


class _CodeFiles:
    """The machine code of one function, a file for each signature and processor. Takes the place of Numba's own files.

    Numba keeps no checksum. It has one index for all signatures of a function, and two processes may write it at once.
    Here, a file is a checksum, then a pickle of the function's name, the key and the machine code. A file that is
    damaged, or belongs to another function or key, is not loaded.
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
    """Numba's cache of one function, but a file that cannot be read counts as missing, and writing may fail.

    Numba reads the machine code of a function when it is first called, and an error in its files would end the call.
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
