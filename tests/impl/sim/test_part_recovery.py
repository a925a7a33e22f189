"""Runs of recoveries alone: with all rules they violate nothing, and without one of them some run shows it."""

from __future__ import annotations

import pytest

from impl import wire
from impl.broker.object_format import encode, object_key
from impl.broker.wal_format import WalRecord
from impl.controller.commits import CommittedObject, SetCommit
from impl.errors import E
from impl.rules import without
from impl.sim.part_cases.recovery_controller import NODE, RecoveredStream, RecoveryController
from impl.sim.part_cases.registry import judged_run
from impl.store.interface import Put
from impl.store.memory import MemoryStore

BATCHES = [WalRecord(0, 1, base, 1, b"%d" % base) for base in range(4)]


@pytest.mark.parametrize(
    ("label", "violated"),
    [
        ("WL-10", {"WL-10"}),
        ("RC-02.gap", {"RC-02"}),
        ("RC-02.base", {"RC-02"}),
        ("RC-02.opening", {"RC-02"}),
        ("ND-03.end", {"ND-03"}),
        ("RC-05", {"RC-05", "INV-02"}),
    ],
)
def test_a_missing_rule_is_found(label: str, violated: set[str]) -> None:
    """Several of the first runs show the rule, with the property that it protects."""
    with without(label):
        found = [judged_run("recovery", seed) for seed in range(60)]
    labels = [each.label for each in found if each is not None]
    assert len(labels) > 1
    assert set(labels) <= violated


@pytest.mark.parametrize(
    ("records", "kind", "label"),
    [
        (BATCHES[1:3], "open", None),
        (BATCHES[1:2] + BATCHES[3:], "open", "RC-02"),
        (BATCHES[:2], "open", "RC-02"),
        (BATCHES[1:2], "another", "RC-02"),
        ([WalRecord(0, 1, 1, 1, b"x")], "open", "INV-02"),
        ([*BATCHES[1:], WalRecord(0, 1, 4, 1, b"4")], "sealed", "ND-03"),
    ],
    ids=["right", "gap", "twice", "another stream", "another record", "above the end"],
)
def test_a_wrong_commit_is_a_violation(records: list[WalRecord], kind: str, label: str | None) -> None:
    """The judge refuses a commit that leaves a gap, repeats offsets, or has records that nobody acknowledged."""
    store = MemoryStore()
    controller = RecoveryController(store, {0: RecoveredStream(0, kind, BATCHES, 1)}, 5)
    assert controller.execute(wire.GetOpeningStreams(NODE, 6), (6, False)).error is E.NONE
    data = encode(records)
    store.execute(Put(object_key(7), data))
    committed = CommittedObject(7, 0, records[0].base, records[-1].end, len(data))
    commit = SetCommit(NODE, 6, -1, -1, stream_objects=(committed,))
    assert controller.execute(wire.CommitStreamSetObject(commit), (6, False)).error is E.NONE
    assert (controller.found.label if controller.found else None) == label
