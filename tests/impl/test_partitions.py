"""Topics, and reassignments of elastic partitions (reassignment.md 2)."""

from __future__ import annotations

import pytest

from impl.controller import partitions
from impl.controller.partitions import alter, create_topic, list_reassignments
from impl.errors import E
from impl.records import PartitionChange
from tests.impl.partitioned import Cluster, written

REFUSED = "INVALID_REPLICA_ASSIGNMENT"


def test_a_new_partition_is_led_by_its_first_replica() -> None:
    """All replicas are in sync, and both epochs are 0."""
    row = Cluster(lists=([2, 0, 1],)).row("k-0")
    assert (row.replicas, row.isr, row.leader, row.leader_epoch, row.partition_epoch) == ((2, 0, 1), (2, 0, 1), 2, 0, 0)


def test_a_topic_is_created_once() -> None:
    """A second topic of the same name is refused, and nothing changes."""
    cluster = Cluster(elastic=(0,))
    outcome = cluster.run(lambda view: create_topic(view, "e", [[1]]))
    assert (outcome.error, outcome.records) == (E.TOPIC_ALREADY_EXISTS, ())


@pytest.mark.parametrize(
    ("replicas", "elastic"), [([], False), ([0, 0], False), ([0, 9], False), ([0, 1], True)], ids=str
)
def test_a_topic_needs_replicas_that_exist(replicas: list[int], elastic: bool) -> None:
    """RA-42 and PT-01 hold for new partitions too."""
    outcome = Cluster().run(lambda view: create_topic(view, "t", [replicas], elastic))
    assert (outcome.error, outcome.records) == (E.INVALID_REPLICA_ASSIGNMENT, ())


def test_a_start_leaves_nobody_to_lead() -> None:
    """RA-04, RA-05: the target is replica and ISR, the leader is none, and both epochs grow by one."""
    cluster = Cluster(elastic=(0,))
    error, change = cluster.alter("e-0", [1])
    assert (error, written(change)) == ("NONE", {"leader", "isr", "replicas"})
    row = cluster.row("e-0")
    assert (row.replicas, row.isr, row.leader, row.adding_replicas, row.removing_replicas) == ((1,), (1,), -1, (), ())
    assert cluster.epochs("e-0") == (1, 1)


def test_a_second_start_raises_the_leader_epoch_again() -> None:
    """RA-05: a target that is given up opens under an older epoch than the next one."""
    cluster = Cluster(elastic=(0,))
    cluster.alter("e-0", [1])
    cluster.alter("e-0", [2])
    assert cluster.epochs("e-0") == (2, 2)


@pytest.mark.parametrize("replicas", [[], [1, 2], [9]], ids=str)
def test_one_registered_target_is_accepted(replicas: list[int]) -> None:
    """RA-02: no target, two targets and an unknown one are refused with 39."""
    cluster = Cluster(elastic=(0,))
    assert cluster.alter("e-0", replicas) == (REFUSED, None)


@pytest.mark.parametrize(
    ("state", "handshake", "error"),
    [
        ("fenced", "G0", REFUSED),
        ("fenced", "G1", REFUSED),
        ("gone", "G1", REFUSED),
        ("shutting_down", "G0", REFUSED),
        ("shutting_down", "G1", "NONE"),
    ],
)
def test_a_target_is_up(state: str, handshake: str, error: str) -> None:
    """RA-02: only G1 accepts a broker in controlled shutdown."""
    cluster = Cluster(elastic=(0,), handshake=handshake)
    cluster.broker(1, state)
    assert cluster.alter("e-0", [1])[0] == error


def test_the_present_assignment_is_no_change() -> None:
    """RA-03: success without a record, also while nobody leads."""
    cluster = Cluster(elastic=(0,))
    assert cluster.alter("e-0", [0]) == ("NONE", None)
    cluster.alter("e-0", [1])
    assert cluster.alter("e-0", [1]) == ("NONE", None)
    assert cluster.row("e-0").leader == -1


def test_a_reassignment_leaves_streams_alone() -> None:
    """RA-06: the record of the partition is the only one."""
    cluster = Cluster(elastic=(0,))
    outcome = cluster.run(lambda view: alter(view, {"e": {0: [1]}}))
    assert [record.KIND for record in outcome.records] == ["PARTITION"]


def test_rows_fail_one_by_one() -> None:
    """RA-01, RA-08: an unknown partition and a refused one stop no other."""
    cluster = Cluster(elastic=(0, 0, 0))
    plan: dict[str, dict[int, list[int] | None]] = {"e": {0: [1], 1: [1, 2], 2: None, 3: [1]}, "x": {0: [1]}}
    outcome = cluster.run(lambda view: alter(view, plan))
    assert outcome.error is E.NONE
    assert outcome.values["topics"] == {"e", "x"}
    unknown = "UNKNOWN_TOPIC_OR_PARTITION"
    cancelled = "NO_REASSIGNMENT_IN_PROGRESS"
    assert outcome.values["rows"] == {"e-0": "NONE", "e-1": REFUSED, "e-2": cancelled, "e-3": unknown, "x-0": unknown}
    assert len(outcome.records) == 1


def test_a_request_without_topics_succeeds() -> None:
    """Section 6: nothing is asked, nothing changes."""
    outcome = Cluster().run(lambda view: alter(view, {}))
    assert (outcome.error, outcome.records, outcome.values) == (E.NONE, (), {"topics": set(), "rows": {}})


def test_a_request_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """RA-08: a request with more records than the cap is refused whole."""
    monkeypatch.setattr(partitions, "BATCH_CAP", 2)
    cluster = Cluster(elastic=(0, 0, 0))
    outcome = cluster.run(lambda view: alter(view, {"e": {0: [1], 1: [1], 2: [1]}}))
    assert (outcome.error, outcome.records) == (E.INVALID_REQUEST, ())
    assert cluster.run(lambda view: alter(view, {"e": {0: [1], 1: [1], 2: [0]}})).error is E.NONE


def test_a_move_is_listed_while_it_may_be_cancelled() -> None:
    """CA-41: the target is added, the origin removed; the election ends it."""
    cluster = Cluster(elastic=(0, 0))
    cluster.alter("e-0", [1])
    assert cluster.listed() == {"e-0": {"replicas": [1, 0], "adding": {1}, "removing": {0}}}
    cluster.elect("e-0")
    assert cluster.listed() == {}


def test_moves_as_built_are_never_listed() -> None:
    """RA-09: without the marker an elastic partition is never in progress."""
    cluster = Cluster(elastic=(0,), cancel="K")
    cluster.alter("e-0", [1])
    row = cluster.row("e-0")
    assert (cluster.listed(), row.original, row.marker) == ({}, None, None)


def test_a_list_names_what_it_wants() -> None:
    """Section 6: idle and unknown partitions are left out, and an empty list asks for nothing."""
    cluster = Cluster(elastic=(0, 0))
    cluster.alter("e-0", [1])
    cluster.alter("e-1", [2])
    named = list_reassignments(cluster.view, {"e": [1, 7], "x": [0]}).values["reassignments"]
    assert set(named) == {"e-1"}
    assert list_reassignments(cluster.view, {}).values["reassignments"] == {}


def test_a_marker_names_the_origin_and_the_epoch() -> None:
    """CA-41, CA-53: a start over another one keeps the origin and has an epoch of its own."""
    cluster = Cluster(elastic=(0,))
    cluster.alter("e-0", [1])
    assert (cluster.row("e-0").original, cluster.row("e-0").marker) == ((0,), 1)
    cluster.alter("e-0", [2])
    assert (cluster.row("e-0").original, cluster.row("e-0").marker) == ((0,), 2)


def test_a_start_back_to_the_origin_leaves_nothing_to_cancel() -> None:
    """CA-20, CA-53: the origin has the partition again, so that the marker goes."""
    cluster = Cluster(elastic=(0,))
    cluster.alter("e-0", [1])
    error, change = cluster.alter("e-0", [0])
    assert (error, change) == ("NONE", PartitionChange("e", 0, (0,), -1, (0,), original=(), marker=-1))
    assert (cluster.row("e-0").original, cluster.row("e-0").marker) == (None, None)
    assert cluster.listed() == {}
    assert cluster.alter("e-0", None) == ("NO_REASSIGNMENT_IN_PROGRESS", None)
