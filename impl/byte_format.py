"""Parts of binary formats. All integers are big-endian."""

from __future__ import annotations

import struct
from typing import Any


class EncodingError(ValueError):
    """Bytes that no writer of the format makes."""


def head(form: struct.Struct, data: bytes) -> tuple[tuple[Any, ...], bytes]:
    """The values at the front, and the bytes behind them. Raises EncodingError for too few bytes."""
    if len(data) < form.size:
        raise EncodingError(f"{len(data)} bytes, and at least {form.size} are needed")
    return form.unpack_from(data), data[form.size :]


def ended(rest: bytes) -> None:
    """Raise EncodingError if bytes are left."""
    if rest:
        raise EncodingError(f"{len(rest)} bytes too many")


def check_first(found: int, known: int, what: str) -> None:
    """Raise EncodingError unless the magic byte or the version (``what``) is the known one."""
    if found != known:
        raise EncodingError(f"the {what} is {found}, and {known} is known")
