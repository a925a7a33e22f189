"""The errors of a cluster of processes that its user can correct."""

from __future__ import annotations


class ClusterError(Exception):
    """The cluster cannot go on. The message is one line: the thing, its value, the place and the remedy."""


class DamagedLineError(ClusterError):
    """A line of a log is not the line that was written."""


def reason(error: OSError) -> str:
    """The reason of an error of the operating system, for a message."""
    return error.strerror or type(error).__name__
