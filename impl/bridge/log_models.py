"""The models that judge the logs of clusters."""

from __future__ import annotations

OF_STREAMS = {"legacy": ("ownership", "stream_log"), "V6": ("fast_close",)}
"""By version: the models that judge the log of all streams."""
OF_PARTITIONS = ("reassignment", "cancellation")
"""The models that judge the log of each partition."""
