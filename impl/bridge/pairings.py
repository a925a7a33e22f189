"""All pairings, by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from impl.bridge.cancellation import CancellationPairing
from impl.bridge.fast_close import FastClosePairing
from impl.bridge.ownership import OwnershipPairing
from impl.bridge.pairing import Pairing
from impl.bridge.reassignment import ReassignmentPairing
from impl.bridge.replicas import KraftPairing, ReplicasPairing

PAIRINGS: Mapping[str, type[Pairing]] = {
    "ownership": OwnershipPairing,
    "fast_close": FastClosePairing,
    "reassignment": ReassignmentPairing,
    "cancellation": CancellationPairing,
    "replica_reassignment": ReplicasPairing,
    "kraft": KraftPairing,
}
"""The pairings, by the name of the model or of its variant."""


@cache
def pairing(name: str) -> Pairing:
    """The pairing of this name; cached, so that its model is compiled once."""
    return PAIRINGS[name]()
