"""Compiling a model's kernel once: the machine code is kept on disk, under the name of what it was made from.

Numba keeps compiled functions beside the file they come from. So the generated text is written to a file of its own,
named by a digest of the text and of what compiled it, and imported from there: a second start finds the machine code
and compiles nothing. Where that folder cannot be used, a temporary one takes its place; what it holds and cannot be
read is compiled again.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import platform
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher

from holdfast.lower.kernel import memory

HEAD = '''"""Generated: the kernel of one model in one scope."""

import numba
import numpy as np

from holdfast.lower.kernel.memory import address, peek, poke, prefetch

jit = numba.njit(nogil=True, _nrt=False, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
entry = numba.njit(nogil=True, _nrt=False, error_model="numpy", no_cfunc_wrapper=True, cache=True)

'''

TEMPLATE_BEGINS = "# mypy: ignore-errors\n"
"""The last line of a driver's head, which is for those who read it as a file of its own."""

CACHE_VARIABLE = "HOLDFAST_CACHE"
"""The environment variable that names another folder for compiled kernels."""


def kernel_text(functions: str, driver: str) -> str:
    """The whole module: the model's functions, and the driver that calls them."""
    template = Path(__file__).with_name(driver).read_text(encoding="utf-8")
    return f"{HEAD}{functions}\n\n{template.partition(TEMPLATE_BEGINS)[2]}"


def build(functions: str, driver: str = "driver.py") -> ModuleType:
    """The compiled module of a model's functions, and of the driver in the file of that name."""
    text = kernel_text(functions, driver)
    name = f"kernel_{_digest(text)}"
    known = sys.modules.get(name)
    if known is not None:
        return known
    try:
        return _import(_cache_folder(), name, text)
    except Exception:  # noqa: BLE001 - whatever a broken or forbidden cache raises, compiling elsewhere mends it
        return _import(_temporary_folder(), name, text)


def _digest(text: str) -> str:
    """What the machine code depends on: the text, the intrinsics it uses, the compiler and the processor."""
    intrinsic = Path(memory.__file__).read_text(encoding="utf-8")
    versions = (numba.__version__, np.__version__, platform.python_version(), platform.machine())
    return hashlib.blake2b("\0".join((text, intrinsic, *versions)).encode(), digest_size=12).hexdigest()


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
        _write(path, text)
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
    for function in compiled:
        function._cache = _Forgiving(function._cache)
    return module


class _Forgiving:
    """Numba's cache of one function, but that what cannot be read is not there, and need not be written either.

    Numba reads the machine code of a function when it is first called, and takes whole files for granted.
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
            with suppress(OSError):
                self._cache.flush()
            return None

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep the machine code, if that is possible."""
        with suppress(Exception):
            self._cache.save_overload(signature, code)


def _write(path: Path, text: str) -> None:
    """Put the file in place whole, so that another process never sees half of it."""
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
