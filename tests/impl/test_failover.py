"""Who takes over from a crashed broker, against streams.md 7."""

from __future__ import annotations

import pytest

from impl.controller.failover import Failover, contexts, scan
from impl.controller.nodes import register_node
from impl.controller.streams import close_stream, create_stream, get_opening_streams, open_stream
from impl.errors import E
from impl.records import BrokerRegistration
from impl.rules import without
from tests.impl.stream_layer import Tables, kinds


def crashed(*nodes: int, active: tuple[int, ...] = (5, 6)) -> Tables:
    """Nodes that registered with epoch 1000, opened a stream each and were fenced, at 61,001 ms; and active brokers."""
    tables = Tables(now=61_001)
    for stream, node in enumerate(nodes):
        tables.run(get_opening_streams, node, 1000)
        tables.run(register_node, node, 1000, f"wal{node}")
        tables.run(create_stream, node, 1000)
        assert tables.run(open_stream, node, 1000, stream, 1).error is E.NONE
        tables.inject(BrokerRegistration(node, "fenced"))
    tables.inject(*(BrokerRegistration(node, "active") for node in active))
    return tables


def test_failover_begins() -> None:
    """FO-01, FO-02: a fenced node with streams gets an active broker, and the metadata says so."""
    tables = crashed(0)
    outcome = tables.run(scan)
    assert (kinds(outcome), outcome.values) == (["KV"], {"target": 5})
    assert tables.image.kv["__a.failover"] == b'[{"n":0,"t":5,"e":1000,"c":"wal0"}]'
    assert tables.run(scan).records == ()


@pytest.mark.parametrize("label", ["FO-01.registered", "FO-01.fenced", "FO-01.opening", "FO-01.age"])
def test_candidates(label: str) -> None:
    """FO-01: each part of the condition keeps a node from a failover."""
    tables = crashed(0)
    if label == "FO-01.registered":
        tables.image.kv.clear()
    elif label == "FO-01.fenced":
        tables.inject(BrokerRegistration(0, "shutting_down"))
    elif label == "FO-01.opening":
        tables.run(close_stream, 0, 1000, 0, 1)
    else:
        tables.now -= 1
    assert tables.run(scan).records == ()
    with without(label):
        assert kinds(tables.run(scan)) == ["KV"]


def test_node_that_was_shutting_down() -> None:
    """ND-30: a fenced node in its minute of shutdown is no candidate."""
    tables = crashed(0)
    assert scan(tables.view, left={0: tables.now - 59_999}).records == ()
    assert kinds(scan(tables.view, left={0: tables.now - 60_000})) == ["KV"]


def test_one_failover_at_a_time() -> None:
    """FO-02: a second node waits until the first one's streams are closed."""
    tables = crashed(0, 1)
    tables.run(scan)
    assert tables.run(scan).records == ()
    with without("FO-02"):
        assert kinds(scan(tables.view)) == ["KV"]
    tables.run(close_stream, 0, 1000, 0, 1)
    tables.run(scan)
    assert [each.node for each in contexts(tables.image)] == [1]


def test_round_robin() -> None:
    """FO-02: the target is the active broker behind the last one; without an active broker nothing begins."""
    tables = crashed(0)
    assert scan(tables.view, after=5).values == {"target": 6}
    assert scan(tables.view, after=6).values == {"target": 5}
    assert crashed(0, active=()).run(scan).records == ()


@pytest.mark.parametrize("label", ["FO-03.epoch", "FO-03.candidate", "FO-03.target"])
def test_failover_ends(label: str) -> None:
    """FO-03: it ends when the process is replaced, its streams are closed, or the target is not active."""
    tables = crashed(0)
    tables.run(scan)
    if label == "FO-03.epoch":
        tables.run(get_opening_streams, 0, 1001)
        tables.now += 1
    elif label == "FO-03.candidate":
        tables.run(close_stream, 0, 1000, 0, 1)
    else:
        tables.inject(BrokerRegistration(5, "fenced"))
    with without(label):
        assert scan(tables.view).records == ()
    tables.run(scan)
    assert contexts(tables.image) == []


def test_failover_moves_on() -> None:
    """FO-03: a node whose target left gets another one in the next round."""
    tables = crashed(0)
    tables.run(scan)
    tables.inject(BrokerRegistration(5, "fenced"))
    tables.run(scan, after=5)
    tables.run(scan, after=5)
    assert contexts(tables.image) == [Failover(0, 6, 1000, "wal0")]
