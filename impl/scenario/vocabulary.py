"""All operations of scenario files, by layer."""

from __future__ import annotations

from impl.scenario.operation import ScenarioOperation
from impl.scenario.words_assignment import ASSIGNMENT_OPERATIONS
from impl.scenario.words_encodings import ENCODING_OPERATIONS
from impl.scenario.words_queries import QUERIES
from impl.scenario.words_streams import STREAM_OPERATIONS

LAYERS: dict[str, tuple[ScenarioOperation, ...]] = {
    "stream": STREAM_OPERATIONS,
    "query": QUERIES,
    "assignment": ASSIGNMENT_OPERATIONS,
    "encodings": ENCODING_OPERATIONS,
}
OPERATIONS: dict[str, ScenarioOperation] = {each.name: each for layer in LAYERS.values() for each in layer}

LATER: dict[str, tuple[str, ...]] = {
    "zone": (
        *("zone_map", "set_zone_map", "ring_hash", "spare_controllers", "client_zone", "route", "leader_hint"),
        *("metadata", "write_mode", "produce", "order_hint", "stripe", "stripe_read", "stripe_done"),
        *("forward_requests", "forward_answers", "route_epoch", "route_node", "epoch_tick", "deliver", "next_epoch"),
        *("channel_append", "channel_complete", "channel_trim", "forward", "finish", "commit_state", "commit_tick"),
        *("commit_done", "report", "wal_recover", "recover_records"),
    ),
    "balancer": (
        *("cluster", "load", "goals", "goal_config", "normalize", "score", "trivial", "replica_order"),
        *("action_score", "phase", "plan", "merge", "batch", "requests", "metrics", "snapshot"),
    ),
}
"""Operations of the language that no code performs yet, by layer."""
