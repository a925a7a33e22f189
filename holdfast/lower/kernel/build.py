"""Compiles a model's kernel once: the machine code is kept on disk, named by a digest of its source.

The digest covers the text, the translator to LLVM, LLVM's version, its level and the processor. A second start with the
same text on a machine of the same kind finds the machine code, and compiles nothing.

A cache never stops a command. If its folder cannot be used, nothing is kept. Damaged machine code is compiled again: a
file begins with a digest of its name and content, and content with another digest is never loaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs

from holdfast.lower.kernel.cache import cache_folder, cache_problem, make_cache_folder
from holdfast.lower.kernel.llvm.call import callable_entry
from holdfast.lower.kernel.llvm.kinds import Kind, kind_of_json, kind_to_json
from holdfast.lower.kernel.llvm.module import EntryPoint, translate
from holdfast.lower.kernel.llvm.object_code import FULL, QUICK, LoadedCode, compiled, compiler
from holdfast.lower.python.names import refuse_clashes

HEAD = '''"""Generated: the kernel of one model in one scope."""

from __future__ import annotations

import numpy as np

'''

TEMPLATE_BEGINS = "# The template begins here.\n"
"""The last line of a driver's head. ``kernel_text`` drops the head: it serves only readers and linters."""

CALLED = {"walk_driver.py": ("walk_draws.py",)}
"""The templates that a driver calls. They stand before the driver."""

CODE_SUFFIX = ".kernel"
"""The suffix of files with machine code."""

DIGEST = 32
"""The number of bytes of the digest in front of machine code."""

_built: dict[str, tuple[bytes, SimpleNamespace]] = {}
"""The kernels of this process by name, each with the content of its file."""

_installed: dict[str, bytes] = {}
"""The content of files that this process got from another machine and could not write."""

compiled_here: list[str] = []
"""The names of the kernels that this process has compiled itself, in order."""

_lock = threading.Lock()
"""Held while a kernel is built, so that two threads do not compile the same one."""


@attrs.frozen
class CompiledModule:
    """The file of one kernel: another machine with such a processor can load it instead of compiling."""

    name: str
    content: bytes


def kernel_text(functions: str, driver: str) -> str:
    """The text of a whole module: the model's functions, and the driver that calls them with its templates.

    ``driver`` is the name of a file of this package. Raises RuntimeError if the text defines a name twice.
    """
    templates = (template(file) for file in (*CALLED.get(driver, ()), driver))
    return refuse_clashes("\n\n".join([f"{HEAD}{functions}", *templates]))


def template(file: str) -> str:
    """The text of a template of this package, without its head."""
    return _source(file).partition(TEMPLATE_BEGINS)[2]


def build(functions: str, driver: str = "driver.py", *, quick: bool = False) -> SimpleNamespace:
    """The constants and the entries of the text of a model's functions and of the driver in that file.

    Machine code that this machine has compiled before is loaded instead of compiled. With ``quick``, quick code will do
    if there is no full code. The constant ``LEVEL`` says which of them it is. Raises RuntimeError as ``kernel_text``
    does.
    """
    text = kernel_text(functions, driver)
    with _lock:
        for level in (FULL, QUICK) if quick else (FULL,):
            name = _name(text, level)
            if name not in _built and (content := _kept(name)) is not None:
                _built[name] = (content, _module(content, level))
            if name in _built:
                return _built[name][1]
        # No code was found, so ``level`` is that of the last look: quick, if quick code will do.
        content = _content(text, level)
        compiled_here.append(name)
        with suppress(OSError):
            _write(_file_of(name), content)
        _built[name] = (content, _module(content, level))
        return _built[name][1]


def is_compiled(functions: str, driver: str = "driver.py", *, quick: bool = False) -> bool:
    """Whether ``build`` would find machine code for this text."""
    text = kernel_text(functions, driver)
    names = [_name(text, level) for level in ((FULL, QUICK) if quick else (FULL,))]
    return any(name in _built or _kept(name) is not None for name in names)


def compiled_modules() -> list[CompiledModule]:
    """Every kernel that this process has compiled or loaded, sorted by name."""
    return [CompiledModule(name, content) for name, (content, _) in sorted(_built.items())]


def install(module: CompiledModule) -> None:
    """Keep a kernel from another machine where ``build`` looks for it.

    If this machine has another processor, ``build`` looks for another name, and compiles.
    """
    try:
        if _kept(module.name) is None:
            _write(_file_of(module.name), module.content)
    except OSError:
        _installed[module.name] = module.content


def _name(text: str, level: int) -> str:
    """A name for a text's machine code: a digest of everything that the code depends on."""
    hashed = hashlib.blake2b(digest_size=16)
    for part in (text, compiler(), _translator(), str(level)):
        hashed.update(part.encode() + b"\0")
    return hashed.hexdigest()


def _translator() -> str:
    """The source of the translator to LLVM, a file after the other."""
    folder = resources.files(__package__).joinpath("llvm")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".py")), key=lambda file: file.name)
    return "\0".join(file.read_text(encoding="utf-8") for file in files)


def _source(file: str) -> str:
    """The text of a file of this package, which may lie in a zip on an executor of Spark."""
    return resources.files(__package__).joinpath(file).read_text(encoding="utf-8")


def _file_of(name: str) -> Path:
    return cache_folder() / f"{name}{CODE_SUFFIX}"


# Files: a digest, then a line of JSON with entries and constants, then an object file -------------------------


def _content(text: str, level: int) -> bytes:
    """The content of the file for a text. This is where a kernel is compiled."""
    translation = translate(text)
    head = {
        "constants": dict(translation.constants),
        "entries": {
            name: [kind_to_json(kind) for kind in (*entry.params, entry.result)]
            for name, entry in translation.entries.items()
        },
    }
    body = json.dumps(head).encode() + b"\n" + compiled(translation.llvm, level)
    return _digest(_name(text, level), body) + body


def _module(content: bytes, level: int) -> SimpleNamespace:
    """The constants and entries of a file's content, and its level."""
    head, _, code = content[DIGEST:].partition(b"\n")
    found: dict[str, Any] = json.loads(head)
    loaded = LoadedCode(code)
    entries: dict[str, Callable[..., Any]] = {}
    for name, kinds in found["entries"].items():
        *params, result = map(kind_of_json, kinds)
        entries[name] = callable_entry(loaded, name, EntryPoint(tuple[Kind, ...](params), result))
    return SimpleNamespace(**found["constants"], **entries, LEVEL=level)


def _kept(name: str) -> bytes | None:
    """The content of a kernel's file; None if there is none, or if it is damaged, or if anybody might have put it
    there.
    """
    content = _installed.get(name)
    if content is None:
        if cache_problem() is not None:
            return None
        try:
            content = _file_of(name).read_bytes()
        except OSError:
            return None
    return content if content[:DIGEST] == _digest(name, content[DIGEST:]) else None


def _digest(name: str, body: bytes) -> bytes:
    return hashlib.blake2b(name.encode() + body, digest_size=DIGEST).digest()


def _write(path: Path, data: bytes) -> None:
    """Put the file in place whole, so that another process never sees half of it. Raises OSError."""
    make_cache_folder()
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    draft.write_bytes(data)
    draft.replace(path)
