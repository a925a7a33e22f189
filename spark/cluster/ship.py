"""What executors on other machines lack: the code of Holdfast, and the machine code that the driver has compiled."""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
import zipfile
from functools import cache
from pathlib import Path

PACKAGES = ("holdfast", "spark")
"""What executors import: a compiled model holds no code of its own, so the models stay here."""

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every file in the archive: the first that a zip can hold."""


def code_archive() -> bytes:
    """The packages as a zip that Python can import from; equal code is equal bytes."""
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
    """Every kernel that this process has compiled or loaded; empty if it has none."""
    if "holdfast.lower.kernel.build" not in sys.modules:
        return b""
    from holdfast.lower.kernel.build import compiled_modules  # noqa: PLC0415 - it loads Numba, which takes a second

    found = compiled_modules()
    return pickle.dumps(found) if found else b""


@cache
def unpack_kernels(path: str) -> None:
    """Let this process find those kernels, once."""
    from holdfast.lower.kernel.build import install  # noqa: PLC0415 - as in kernels

    for module in pickle.loads(Path(path).read_bytes()):  # noqa: S301 - the driver wrote it
        install(module)


def digest(data: bytes) -> str:
    """A name for the data."""
    return hashlib.blake2b(data, digest_size=12).hexdigest()
