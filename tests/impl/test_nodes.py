"""Node epochs, registration, lock and scale-in against streams.md 2.1 and 6."""

from __future__ import annotations

import msgspec
import pytest

from impl.controller.nodes import (
    has_opening,
    is_locked,
    lock_node,
    register_node,
    registration,
    runtime_state,
    scale_in_cleanup,
    unlock_node,
    unregister_node,
)
from impl.controller.streams import close_stream, create_stream, get_opening_streams, open_stream, trim_stream
from impl.errors import E
from impl.metadata.image import Node
from impl.records import (
    BrokerRegistration,
    NodeWALMetadata,
    NodeWALUncommittedOffsets,
    ObjectState,
    Range,
    S3Stream,
    StreamState,
    UncommittedOffsets,
)
from impl.rules import without
from tests.impl.stream_layer import Tables, kinds, opened, sealed


def test_first_registration() -> None:
    """ND-01: an unknown node becomes known, and each registration writes one record."""
    tables = Tables()
    outcome = tables.run(get_opening_streams, 0, 7)
    assert (outcome.records, outcome.values) == ((NodeWALMetadata(0, 7, failover_mode=False),), {"streams": []})
    assert kinds(tables.run(get_opening_streams, 0, 7)) == ["NODEWAL"]


def test_registration_of_an_old_process() -> None:
    """ND-01: an older epoch is refused and lists nothing; a newer one, or the same, overwrites epoch and flag."""
    tables = opened()
    tables.run(get_opening_streams, 0, 5, failover=True)
    outcome = tables.run(get_opening_streams, 0, 4)
    assert (outcome.error, outcome.records, outcome.values) == (E.NODE_EPOCH_EXPIRED, (), {"streams": []})
    assert tables.image.nodes[0] == Node(5, failover=True)
    tables.run(get_opening_streams, 0, 5)
    assert tables.image.nodes[0] == Node(5, failover=False)
    with without("ND-01"):
        assert tables.run(get_opening_streams, 0, 4).error is E.NONE


def test_larger_epoch_passes_and_is_not_stored() -> None:
    """AM-04: CK-01 lets a larger node epoch pass, and the stored one stays."""
    tables = opened()
    assert tables.run(create_stream, 0, 9).error is E.NONE
    assert tables.image.nodes[0] == Node(1, failover=False)


def test_opened_streams_are_listed() -> None:
    """ND-02: the OPENED streams of the node, in order, with the epoch of their range."""
    tables = opened()
    tables.run(create_stream, 1, 1)
    tables.run(create_stream, 0, 1)
    tables.run(open_stream, 1, 1, 1, 1)
    tables.run(open_stream, 0, 1, 2, 6)
    tables.commit(0, (0, 0, 4))
    outcome = tables.run(get_opening_streams, 0, 2)
    assert outcome.values["streams"] == [
        {"stream": 0, "epoch": 1, "start": 0, "end": 4},
        {"stream": 2, "epoch": 6, "start": 0, "end": 0},
    ]
    with without("ND-02"):
        assert tables.run(get_opening_streams, 0, 2).values == {"streams": []}
    tables.run(close_stream, 0, 2, 2, 6)
    assert [each["stream"] for each in tables.run(get_opening_streams, 0, 2).values["streams"]] == [0]


def test_active_entries_are_listed() -> None:
    """ND-03: an entry's stream ends where the entry still has to be committed; an inactive one is not listed."""
    tables = sealed()
    expected = {"stream": 0, "epoch": 1, "start": 0, "end": 4}
    assert tables.run(get_opening_streams, 0, 2).values["streams"] == [expected]
    with without("ND-03"):
        assert tables.run(get_opening_streams, 0, 2).values == {"streams": []}
    tables.run(open_stream, 1, 1, 0, 2)
    tables.run(trim_stream, 1, 1, 0, 2, 6)
    expected = {"stream": 0, "epoch": 1, "start": 6, "end": 6}
    assert tables.run(get_opening_streams, 0, 2).values["streams"] == [expected]
    tables.run(trim_stream, 1, 1, 0, 2, 10)
    assert tables.run(get_opening_streams, 0, 2).values == {"streams": []}
    tables.inject(NodeWALUncommittedOffsets(0, (UncommittedOffsets(9, 0, 4),)))
    assert tables.run(get_opening_streams, 0, 2).error is E.NONE


def test_entries_are_no_part_below_their_version() -> None:
    """ND-03 needs V6."""
    tables = sealed()
    tables.profile = msgspec.structs.replace(tables.profile, v6=False)
    assert tables.run(get_opening_streams, 0, 2).values == {"streams": []}


@pytest.mark.parametrize(
    ("record", "label"),
    [
        (Range(0, 1, 0, 0, 9, 0), "ND-03.none"),
        (Range(0, 1, 0, 0, 10, 1), "ND-03.none"),
        (Range(0, 2, 1, 3, 10, 0), "ND-03.many"),
        (S3Stream(0, 1, 0, 0, StreamState.OPENED), "ND-03.listed"),
    ],
)
def test_entry_needs_its_range(record: Range | S3Stream, label: str) -> None:
    """ND-03: an entry that fits no range, two ranges, or a stream that is listed already, refuses all."""
    tables = sealed()
    tables.inject(record)
    outcome = tables.run(get_opening_streams, 0, 2)
    assert (outcome.error, outcome.records, outcome.values) == (E.STREAM_INNER_ERROR, (), {"streams": []})
    with without(label):
        assert tables.run(get_opening_streams, 0, 2).error is E.NONE


def test_has_opening() -> None:
    """ND-04: an OPENED stream or an active entry."""
    tables = opened()
    assert has_opening(tables.image, 0)
    assert not has_opening(tables.image, 1)
    with without("ND-04.opened"):
        assert not has_opening(tables.image, 0)
    tables.run(close_stream, 0, 1, 0, 1, 5)
    assert has_opening(tables.image, 0)
    with without("ND-04.entry"):
        assert not has_opening(tables.image, 0)
    tables.commit(0, (0, 0, 5))
    assert not has_opening(tables.image, 0)


# Registry -------------------------------------------------------------------------------------------------------


def test_registry_has_its_own_epoch() -> None:
    """ND-10: an older epoch is refused, and the copy of CK-01 stays."""
    tables = opened()
    assert kinds(tables.run(register_node, 0, 5, "wal", {"a": "b"})) == ["KV"]
    assert tables.image.kv["__automq_node/0"] == b'{"e":5,"i":0,"t":{"a":"b"},"w":"wal"}'
    assert tables.image.nodes[0].epoch == 1
    assert tables.run(register_node, 0, 4).error is E.NODE_EPOCH_EXPIRED
    with without("ND-10"):
        assert tables.run(register_node, 0, 4).error is E.NONE


def test_unregister() -> None:
    """ND-11: refused while the node has streams, then while it is locked; the node epoch stays."""
    tables = opened()
    tables.run(lock_node, 0)
    assert tables.run(unregister_node, 0).error is E.UnregisterNodeWithOpenStreamsException
    with without("ND-11.opening"):
        assert tables.run(unregister_node, 0).error is E.NodeLockedException
    tables.run(close_stream, 0, 1, 0, 1)
    with without("ND-11.locked"):
        assert unregister_node(tables.view, 0).error is E.NONE
    tables.run(unlock_node, 0)
    assert kinds(tables.run(unregister_node, 0)) == ["RMKV"]
    assert registration(tables.view, 0) == {"missing": True}
    assert tables.image.nodes[0].epoch == 1
    assert tables.run(unregister_node, 0).records == ()


def test_lock() -> None:
    """ND-20: the tag locks unless it says CLOSED; a lock keeps the rest of the row, or makes one with epoch 0."""
    tables = Tables()
    assert not is_locked(tables.image, 0)
    tables.run(lock_node, 0)
    assert is_locked(tables.image, 0)
    assert registration(tables.view, 0) == {
        "node_epoch": 0,
        "wal_config": "",
        "tags": {"CIRCUIT_BREAKER": "OPEN"},
        "state": "UNKNOWN",
    }
    tables.run(register_node, 0, 3, "wal", {"CIRCUIT_BREAKER": "HALF"})
    assert is_locked(tables.image, 0)
    tables.run(unlock_node, 0)
    assert not is_locked(tables.image, 0)
    assert registration(tables.view, 0)["wal_config"] == "wal"


def test_runtime_state() -> None:
    """ND-30: a fenced broker that was shutting down less than 60 s ago still counts as shutting down."""
    tables = Tables()
    states = []
    for state in ("active", "fenced", "shutting_down", "gone"):
        tables.inject(BrokerRegistration(0, state))
        states.append(runtime_state(tables.image, 0))
    assert states == ["ACTIVE", "FENCED", "CONTROLLED_SHUTDOWN", "UNKNOWN"]
    tables.inject(BrokerRegistration(0, "fenced"))
    assert runtime_state(tables.image, 0, now=60_999, left={0: 1000}) == "CONTROLLED_SHUTDOWN"
    assert runtime_state(tables.image, 0, now=61_000, left={0: 1000}) == "FENCED"
    with without("ND-30"):
        assert runtime_state(tables.image, 0, now=1000, left={0: 1000}) == "FENCED"


# Scale-in -------------------------------------------------------------------------------------------------------


def test_scale_in_cleanup() -> None:
    """ND-40: of an inactive node, an object goes whose streams are missing or start at its end or above."""
    tables = opened()
    tables.commit(0, (0, 0, 4))
    tables.commit(1, (0, 4, 8), (9, 0, 3))
    tables.commit(2, (9, 3, 6))
    tables.run(trim_stream, 0, 1, 0, 1, 4)
    tables.inject(BrokerRegistration(0, "active"))
    assert scale_in_cleanup(tables.view).records == ()
    with without("ND-40.active"):
        assert kinds(scale_in_cleanup(tables.view)) == ["OBJX", "RMSSO", "OBJX", "RMSSO"]
    tables.inject(BrokerRegistration(0, "fenced"))
    with without("ND-40.needed"):
        assert len(scale_in_cleanup(tables.view).records) == 6
    tables.run(scale_in_cleanup)
    assert sorted(tables.image.set_objects[0]) == [1]
    assert tables.image.objects[2].state is ObjectState.MARK_DESTROYED
    tables.run(trim_stream, 0, 1, 0, 1, 8)
    tables.run(scale_in_cleanup)
    assert tables.image.set_objects[0] == {}
