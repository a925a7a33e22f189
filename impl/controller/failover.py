"""Failovers: another node replaces a crashed broker until its streams are closed (streams.md 7, FO-01 to FO-03)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import msgspec

from impl.controller.nodes import NO_NODE, has_opening, runtime_state, stored_registration
from impl.controller.view import OperationResult, View
from impl.metadata.image import Image
from impl.records import KV, KeyValue
from impl.rules import rule

KEY = "__a.failover"
MIN_AGE_MS = 60_000
"""How old a process must be before another node takes over from it (FO-01)."""
_NEVER: Mapping[int, int] = MappingProxyType({})


class Failover(msgspec.Struct, frozen=True, rename={"node": "n", "target": "t", "epoch": "e", "wal_config": "c"}):
    """A failover: ``target`` replaces the process ``epoch`` of ``node``, whose WAL it finds by ``wal_config``."""

    node: int
    target: int
    epoch: int
    wal_config: str = ""


def contexts(image: Image) -> list[Failover]:
    """The failovers in the metadata."""
    data = image.kv.get(KEY)
    return [] if data is None else msgspec.json.decode(data, type=list[Failover])


def scan(view: View, after: int = -1, *, left: Mapping[int, int] = _NEVER) -> OperationResult:
    """FO-01 to FO-03. Run one round: end failovers that are over, and begin at most one.

    If a failover begins, the answer holds its ``target``. ``after``: the target that was chosen last; the round robin
    goes on behind it. ``left``: as in ``runtime_state``. Both are memory of the controller.
    """
    before = contexts(view.image)
    kept = [each for each in before if not _is_over(view, each, left)]
    # A failover that ends in this round may begin again in the next round at the earliest.
    dropped = {each.node for each in before} - {each.node for each in kept}
    candidates = (node for node in _candidates(view, left) if node not in dropped)
    failed = next((node for node in candidates if node not in {each.node for each in kept}), None)
    target = _next_target(view.image, after)
    if failed is None or target is None or rule("FO-02", bool(kept)):
        return _store(before, kept)
    stored = stored_registration(view.image, failed)
    wal_config = "" if stored is None else stored.wal_config
    begun = Failover(failed, target, view.image.nodes[failed].epoch, wal_config)
    return _store(before, [*kept, begun], {"target": target})


def _candidates(view: View, left: Mapping[int, int]) -> Iterator[int]:
    """The nodes that wait for a failover, ascending."""
    return (node for node in sorted(view.image.nodes) if _is_candidate(view, node, left))


def _is_candidate(view: View, node: int, left: Mapping[int, int]) -> bool:
    """FO-01. A registered node that is fenced, has streams to close, and started more than a minute ago (G-51)."""
    if rule("FO-01.registered", stored_registration(view.image, node) is None):
        return False
    if rule("FO-01.fenced", runtime_state(view.image, node, now=view.now, left=left) != "FENCED"):
        return False
    if rule("FO-01.opening", not has_opening(view.image, node)):
        return False
    epoch = view.image.nodes.get(node, NO_NODE).epoch  # The time at which the process started.
    return not rule("FO-01.age", view.now - epoch <= MIN_AGE_MS)


def _is_over(view: View, context: Failover, left: Mapping[int, int]) -> bool:
    """FO-03. Whether a failover is over: its process is no candidate any more, or its target is not active.

    In the second case the next round may begin a failover with another target.
    """
    stored = view.image.nodes.get(context.node)
    current = stored is not None and stored.epoch == context.epoch
    if rule("FO-03.epoch", not current):
        return True
    if rule("FO-03.candidate", not _is_candidate(view, context.node, left)):
        return True
    return rule("FO-03.target", view.image.brokers.get(context.target) != "active")


def _next_target(image: Image, after: int) -> int | None:
    """FO-02. The next active broker after ``after``, cyclically. The failed node is fenced, so it is never chosen."""
    active = sorted(node for node, state in image.brokers.items() if state == "active")
    behind = (node for node in active if node > after)
    return next(behind, active[0] if active else None)


def _store(before: list[Failover], now: list[Failover], values: dict[str, int] | None = None) -> OperationResult:
    """The outcome that stores the failovers; without a record if they have not changed."""
    records = () if before == now else (KV((KeyValue(KEY, msgspec.json.encode(now)),)),)
    return OperationResult(records, values=dict(values or {}))
