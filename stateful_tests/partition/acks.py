"""SP-06 for streams: at most one process acknowledges an offset."""

from __future__ import annotations

from stateful_tests.partition.broken import claim
from stateful_tests.partition.cluster import Cluster
from tests.impl.crash_world import Process


class Acks:
    """Checks the acknowledgements in the steps that processes log. ``check`` is called after each step."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._seen: list[int] = []
        """By process: the number of its steps that were read."""
        self._acked: dict[tuple[int, int], Process] = {}
        """By stream and offset: the process that has acknowledged it."""

    def check(self) -> None:
        """Read the new steps. Raises BrokenError if a second process acknowledges an offset."""
        for process in self._cluster.processes:
            if process.place == len(self._seen):
                self._seen.append(0)
            seen, self._seen[process.place] = self._seen[process.place], len(process.steps)
            for step in process.steps[seen:]:
                if step.action == "ack":
                    self._count(process, step.values["stream"], step.values["base"], step.values["count"])

    def _count(self, process: Process, stream: int, base: int, count: int) -> None:
        for offset in range(base, base + count):
            before = self._acked.setdefault((stream, offset), process)
            text = f"{process.identity} acknowledges offset {offset} of stream {stream}, as {before.identity} did"
            claim(before is process, "SP-06", text)
