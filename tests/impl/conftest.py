"""Fixtures of this folder."""

from __future__ import annotations

from tests.impl.s3_place import place
from tests.s3 import keys, s3

__all__ = ["keys", "place", "s3"]
