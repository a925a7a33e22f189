"""The threads of a broker."""

from __future__ import annotations

from holdfast.lang import Sort


class Thread(Sort):
    """A thread of a broker. Where there are several brokers, it is a place, which every broker has."""
