"""All operations of scenario files, by layer."""

from __future__ import annotations

from impl.scenario.operation import ScenarioOperation
from impl.scenario.words_assignment import ASSIGNMENT_OPERATIONS
from impl.scenario.words_balancer import BALANCER_OPERATIONS
from impl.scenario.words_encodings import ENCODING_OPERATIONS
from impl.scenario.words_epochs import EPOCH_OPERATIONS
from impl.scenario.words_queries import QUERIES
from impl.scenario.words_streams import STREAM_OPERATIONS
from impl.scenario.words_zone import ROUTING_OPERATIONS

LAYERS: dict[str, tuple[ScenarioOperation, ...]] = {
    "stream": STREAM_OPERATIONS,
    "query": QUERIES,
    "assignment": ASSIGNMENT_OPERATIONS,
    "routing": ROUTING_OPERATIONS,
    "epochs": EPOCH_OPERATIONS,
    "encodings": ENCODING_OPERATIONS,
    "balancer": BALANCER_OPERATIONS,
}
OPERATIONS: dict[str, ScenarioOperation] = {each.name: each for layer in LAYERS.values() for each in layer}
