"""The picture of a simulated run: the operations of clients above the nodes, and the faults below them."""

from __future__ import annotations

from collections.abc import Iterator

from impl.cli.time_drawing import GAP, ROW, TimeDrawing, free_rows
from impl.client.history import Op
from impl.sim.run import Run
from impl.sim.spans import by_node, leaders, lives
from impl.sim.tape import Fault
from impl.sim.timeline_rows import noun_of, operation_text


def drawing(run: Run, key: int) -> str:
    """The picture as an element of a page. ``key``: the stream or partition whose operations are shown; -1 for all."""
    return _Drawing(run, key).drawn()


class _Drawing(TimeDrawing):
    def __init__(self, run: Run, key: int) -> None:
        times = [run.begin, *(time for time, *_ in run.log.events), *(op.at for op in run.history.ops)]
        super().__init__(min(times), max(times), run.begin)
        self._run, self._key = run, key

    def drawn(self) -> str:
        groups = [self._clients(), self._leaders(), self._nodes(), self._faults()]
        return self.text("Timeline: operations of clients, leaders of partitions, processes, and faults", groups)

    def _clients(self) -> Iterator[str]:
        """A row for each client and one for all operators, and more if their operations overlap."""
        ends = {op.index: op for op in self._run.history.ops if op.kind != "invoke"}
        by_client: dict[str, list[tuple[Op, Op | None]]] = {}
        for op in self._run.history.ops:
            if op.kind == "invoke" and self._key in (-1, op.key):
                by_client.setdefault(_client(op.process), []).append((op, ends.get(op.index)))
        for client, operations in sorted(by_client.items()):
            yield self.label(client)
            spans = [(begun.at, self.end if end is None else end.at) for begun, end in operations]
            rows = free_rows(spans)
            for (begun, end), (begin, until), row in zip(operations, spans, rows, strict=True):
                kind = "info" if end is None else end.kind
                last = begun if end is None else end
                about = f"{self.since(begin):.3f} s to {self.since(until):.3f} s {self._said(last, begun)}"
                yield self.bar(begin, until, kind, about, begun.f, row * ROW)
            self.y += ROW * (max(rows) + 1)
        self.y += GAP

    def _said(self, op: Op, begun: Op) -> str:
        return operation_text(op, begun, noun_of(self._run))

    def _leaders(self) -> Iterator[str]:
        found = leaders(self._run.log.events, self.end)
        for number, spans in found.items():
            if self._key in (-1, number):
                yield self.label(f"partition {number}")
                yield from self.leaders(spans)
                self.y += ROW
        self.y += GAP if found else 0

    def _nodes(self) -> Iterator[str]:
        """A row for each node, with the shaded times in which its process was stopped; a cross is the end of one."""
        ends = {name: at for at, name, kind, _ in self._run.log.events if kind in ("crash", "halt")}
        for node, found in by_node(lives(self._run.log.events, self.end)).items():
            yield self.label(node)
            rows = free_rows((life.begin, life.end) for life in found)
            for life, row in zip(found, rows, strict=True):
                yield from self.life(life, row * ROW)
                if life.name in ends:
                    at = ends[life.name]
                    yield self.mark(at, "kill", f"{self.since(at):.3f} s: {life.name} ends", row * ROW)
            self.y += ROW * (max(rows) + 1)
        self.y += GAP

    def _faults(self) -> Iterator[str]:
        by_kind: dict[str, list[Fault]] = {}
        for fault in self._run.faults:
            by_kind.setdefault(fault.kind, []).append(fault)
        for kind, found in sorted(by_kind.items()):
            yield self.label(kind)
            for fault in found:
                yield self.bar(fault.at, fault.at, "fault", f"{self.since(fault.at):.3f} s: {kind} at {fault.site}")
            self.y += ROW


def _client(process: str) -> str:
    """Whose process it is: a client goes on as c1.client.1 after an operation of c1.client.0 with unknown outcome."""
    return "operators" if process.startswith("operators.") else process.rpartition(".")[0] or process
