"""The route epochs of the cluster in the metadata: the controller's tick, and the reports of nodes (4.1, 4.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from impl.controller.nodes import NO_NODE, REGISTRY_KEY, has_opening, runtime_state
from impl.controller.view import OperationResult, View
from impl.errors import E
from impl.metadata.image import Image
from impl.records import KV, KeyValue
from impl.rules import require
from impl.zone.encodings import NodeEpochRecord, RouteEpochRecord
from impl.zone.route_epochs import FIRST, CountedNode, tick

EPOCHS_KEY = "__a_r_c/metadata"
REPORT_KEY = "__a_r_c_nce/"
"""The key of the cluster's record, and what the key of a node's report begins with."""


def route_epochs(image: Image) -> RouteEpochRecord:
    """The cluster's route epochs; those of a new cluster if none are stored."""
    data = image.kv.get(EPOCHS_KEY)
    return FIRST if data is None else RouteEpochRecord.decode(data)


def reported(image: Image, node: int) -> int | None:
    """The epoch that a node has reported last; None before its first report."""
    data = image.kv.get(f"{REPORT_KEY}{node}")
    return None if data is None else NodeEpochRecord.decode(data).epoch


def tick_routes(view: View, left: Mapping[int, int]) -> OperationResult:
    """ZR-54, ZR-55. Raise the epochs that are due. ``left``: as in ``runtime_state``."""
    found = tick(route_epochs(view.image), _counted(view, left), view.now, view.profile.bump_ms)
    return OperationResult() if found is None else OperationResult((_put(EPOCHS_KEY, found.encode()),))


def report(view: View, node: int, node_epoch: int, epoch: int) -> OperationResult:
    """Store the report of a node. As built, a process that has a successor may report, too (ZG-3)."""
    stored = view.image.nodes.get(node, NO_NODE)
    is_old = stored.epoch > node_epoch and "ZG-3" not in view.profile.as_built
    require(not is_old, "ZR-60.process", E.NODE_EPOCH_EXPIRED)
    return OperationResult((_put(f"{REPORT_KEY}{node}", NodeEpochRecord(epoch).encode()),))


def _counted(view: View, left: Mapping[int, int]) -> Iterator[CountedNode]:
    """What the tick looks at: all registered nodes."""
    for key in sorted(view.image.kv):
        if key.startswith(REGISTRY_KEY):
            node = int(key.removeprefix(REGISTRY_KEY))
            state = runtime_state(view.image, node, now=view.now, left=left)
            yield CountedNode(state, has_opening(view.image, node), reported(view.image, node))


def _put(key: str, value: bytes) -> KV:
    return KV((KeyValue(key, value),))
