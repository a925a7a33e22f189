"""The rows of a timeline for the operations of clients and for faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from impl.client.history import Op
from impl.sim.run import Run
from impl.sim.tape import Fault

Row = tuple[int, str, str]
"""The time in milliseconds, the actor, and the text of what it does."""


def operations(run: Run, key: int) -> Iterator[Row]:
    """The begins and the ends of the operations on a key, or of all operations if the key is -1."""
    begun: dict[int, Op] = {}
    for op in run.history.ops:
        if op.kind == "invoke":
            begun[op.index] = op
        if key in (-1, op.key):
            yield op.at, op.process, operation_text(op, begun[op.index], noun_of(run))


def noun_of(run: Run) -> str:
    """The noun for the objects that the clients of a run use."""
    return "partition" if run.simulation.options.partitions else "stream"


def operation_text(op: Op, begun: Op, noun: str) -> str:
    """The begin or the end of an operation."""
    begins = op.kind == "invoke"
    match op.f:
        case "send":
            what = f"append of value {begun.value} to {noun} {op.key}"
            result = f"acknowledged at offset {op.offset} by {op.broker}"
        case "poll" | "fetch":
            what = f"read of {noun} {op.key} from offset {begun.offset}"
            read = ", ".join(f"{value} at {base}" for base, _, value in op.value or ()) if not begins else ""
            result = f"{op.broker} gives {read or 'nothing'}; it ends at {op.offset}"
        case "move":
            what = f"move of {noun} {op.key} to node {begun.value}"
            result = "accepted" if noun == "partition" else "it serves there"
        case "trim":
            what, result = f"trim of {noun} {op.key} to offset {begun.value}", "done"
        case _:
            what, result = f"{op.f} of {noun} {op.key}", "done"
    if begins:
        return f"begins: {what}"
    if op.kind == "ok":
        return f"ends: {what}: {result}"
    return f"{'fails' if op.kind == 'fail' else 'does not know the end'}: {what}: {op.error or 'given up'}"


def faults(happened: Sequence[Fault]) -> Iterator[Row]:
    """The faults that have happened."""
    for fault in happened:
        yield fault.at, "fault", f"{fault.kind} at {fault.site}"
