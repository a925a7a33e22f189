"""New leader epochs for partitions whose broker cannot use the present one."""

from __future__ import annotations

from impl.controller.nodes import check_node_epoch
from impl.controller.registration import exists, find
from impl.controller.view import OperationResult, View
from impl.errors import E
from impl.records import PartitionChange
from impl.rules import require


def renew(view: View, node: int, node_epoch: int, topic: str, partition: int, leader_epoch: int) -> OperationResult:
    """Give a partition of the broker ``node`` the next leader epoch. The leader does not change, even if it is none.

    A process may not open a stream under an epoch that it has closed (CA-47), since a late copy of the close would end
    the new lease (AM-20). A process that starts anew has closed all streams of its node, so it needs new epochs. A
    request that comes twice, or after the epoch has changed, changes nothing. The facts leave open who asks for the new
    epoch; this is our reading.
    """
    check_node_epoch(view.image, node, node_epoch, failover_barred=True)
    require(exists(view.image, topic, partition), "RA-01.renewed", E.UNKNOWN_TOPIC_OR_PARTITION)
    row = find(view.image, topic, partition)
    if row.replicas != (node,) or row.leader_epoch != leader_epoch:
        return OperationResult()
    # A record that writes the leader raises the leader epoch, even if the leader is the same.
    return OperationResult((PartitionChange(topic, partition, leader=row.leader),))
