"""Partitions, as far as models of several of them need no more than a name."""

from __future__ import annotations

from holdfast.lang import Sort


class Partition(Sort):
    """A partition with its streams."""
