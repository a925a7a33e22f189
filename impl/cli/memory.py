"""The memory of a command."""

from __future__ import annotations

import psutil


def family_bytes() -> int:
    """The memory of this process and of all processes that it has started, in bytes."""
    own = psutil.Process()
    found = own.memory_info().rss
    for child in own.children(recursive=True):
        try:
            found += child.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return int(found)
