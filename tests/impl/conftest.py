"""What tests of this folder share."""

from __future__ import annotations

from tests.s3 import keys, s3

__all__ = ["keys", "s3"]
