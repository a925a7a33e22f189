"""Packs what executors on other machines lack: the code of Holdfast, and the kernels that the driver has compiled."""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
import zipfile
from functools import cache
from pathlib import Path

PACKAGES = ("holdfast", "impl", "spark")
"""The packages that executors import. A compiled model needs no code of its own, so models are not sent."""

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The fixed time of every file in the archive, so that equal code gives equal bytes: the earliest of the format."""


def code_archive() -> bytes:
    """The packages as a zip archive that Python can import from. Equal code gives equal bytes."""
    root = Path(__file__).parents[2]
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            for path in sorted((root / package).rglob("*.py")):
                entry = zipfile.ZipInfo(path.relative_to(root).as_posix(), _EPOCH)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes())
    return written.getvalue()


def kernels() -> bytes:
    """All kernels that this process has compiled or loaded, pickled; empty if there are none."""
    # If the module was never imported, there are no kernels, and LLVM need not be loaded to find that out.
    if "holdfast.lower.kernel.build" not in sys.modules:
        return b""
    from holdfast.lower.kernel.build import compiled_modules  # noqa: PLC0415 - it loads LLVM

    found = compiled_modules()
    return pickle.dumps(found) if found else b""


@cache
def unpack_kernels(path: str) -> None:
    """Install the kernels of a file in this process; cached, so that it happens once for each file."""
    from holdfast.lower.kernel.build import install  # noqa: PLC0415 - as in kernels

    for module in pickle.loads(Path(path).read_bytes()):  # noqa: S301 - the driver wrote it
        install(module)


def digest(data: bytes) -> str:
    """A name for the data: 24 hex digits of its hash."""
    return hashlib.blake2b(data, digest_size=12).hexdigest()
