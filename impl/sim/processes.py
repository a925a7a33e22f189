"""The processes of a run as its event log tells of them: which live, which are paused, and which streams they serve."""

from __future__ import annotations


class ProcessTable:
    """The processes after the events that were read so far. ``serving``: by stream, the processes that serve it."""

    def __init__(self) -> None:
        self.serving: dict[int, set[str]] = {}
        self._nodes: dict[str, int] = {}
        self._epochs: dict[str, int] = {}
        self._newest: dict[int, str] = {}
        self._living: set[str] = set()
        self._paused: set[str] = set()
        self._fenced: set[int] = set()

    def start(self, process: str, node: int, epoch: int) -> list[tuple[int, bool]]:
        """A process starts. Returns the earlier processes of its node: the epoch of each, and whether it lives."""
        before = [(self._epochs[each], each in self._living) for each, known in self._nodes.items() if known == node]
        self._nodes[process], self._epochs[process] = node, epoch
        self._newest[node] = process
        self._living.add(process)
        return before

    def end(self, process: str) -> list[int]:
        """A process ends. Returns the streams that it has served, ascending."""
        served = self.served(process)
        for stream in served:
            self.serving[stream].discard(process)
        self._living.discard(process)
        self._paused.discard(process)
        return served

    def pause(self, process: str) -> None:
        """A process stops for a time."""
        self._paused.add(process)

    def resume(self, process: str) -> None:
        """A process goes on."""
        self._paused.discard(process)

    def set_state(self, node: int, state: str) -> None:
        """The metadata change the state of the broker of a node."""
        if state == "fenced":
            self._fenced.add(node)
        else:
            self._fenced.discard(node)

    def serve(self, process: str, stream: int) -> None:
        """A process begins to serve a stream."""
        self.serving.setdefault(stream, set()).add(process)

    def give_up(self, process: str, stream: int) -> None:
        """A process serves a stream no more."""
        self.serving.get(stream, set()).discard(process)

    def served(self, process: str) -> list[int]:
        """The streams that a process serves, ascending."""
        return sorted(stream for stream, serving in self.serving.items() if process in serving)

    def is_alive(self, process: str) -> bool:
        """Whether a process has not ended."""
        return process in self._living

    def is_superseded(self, process: str) -> bool:
        """Whether its node has a newer process."""
        return self._newest.get(self._nodes.get(process, -1)) != process

    def is_fenced(self, process: str) -> bool:
        """Whether the metadata have fenced the broker of its node."""
        return self.is_node_fenced(self._nodes.get(process, -1))

    def is_node_fenced(self, node: int) -> bool:
        """Whether the metadata have fenced the broker of a node."""
        return node in self._fenced

    def is_paused(self, node: int) -> bool:
        """Whether a process of a node is paused."""
        return any(self._nodes[each] == node for each in self._paused)

    def lives(self, node: int) -> bool:
        """Whether a process of a node lives."""
        return any(self._nodes[each] == node for each in self._living)
