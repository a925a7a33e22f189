"""Fixtures of this folder."""

from __future__ import annotations

from tests.s3 import keys, s3

__all__ = ["keys", "s3"]
