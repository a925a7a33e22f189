"""Runs of a controller with requests of about as many moves as one request may start (RA-08)."""

from __future__ import annotations

from impl.controller.node import Controller
from impl.errors import E
from impl.metadata.log import MetadataBatch
from impl.records import BrokerRegistration, Partition, Topic
from impl.sim.tape import Draw
from impl.sim.violation import PartViolation
from impl.wire import AlterReassignments, CommitNotice, Reply, Request

CAP = 50_000
"""The most records of a request (RA-08)."""
NEAR = 3
TOPIC = "t"


def judged(draw: Draw) -> PartViolation | None:
    """Move about as many partitions as one request may, and some that do not exist.

    Returns what the answer violates; None if nothing.
    """
    moves, unknown = CAP + round((2 * draw() - 1) * NEAR), 1 + int(draw() * NEAR)
    controller = Controller()
    brokers = [BrokerRegistration(broker, "active") for broker in (0, 1)]
    rows = [Partition(TOPIC, number, (0,), (0,), 0) for number in range(moves)]
    controller.log.commit(controller.log.append(MetadataBatch((*brokers, Topic(TOPIC, elastic=True), *rows))))
    before = controller.log.end
    asked = AlterReassignments({TOPIC: dict.fromkeys(range(moves + unknown), (1,))})
    outputs = controller.handle(Request(0, 0, asked), 0) + controller.handle(CommitNotice(0, controller.log.end), 0)
    (answer,) = next(each.answers for each in outputs if isinstance(each, Reply))
    written = sum(len(batch.records) for batch in controller.log.batches[before - controller.log.begin :])
    if written > CAP:
        return PartViolation("RA-08", "a request writes more records than it may")
    if moves > CAP:
        whole = answer.error is not E.NONE and written == 0
        return None if whole else PartViolation("RA-08", "a request with too many moves is done in part")
    wrong = [row for row in answer.values.get("rows", {}).values() if row != E.NONE.name]
    if written != moves or len(wrong) != unknown:
        return PartViolation("RA-08", "a partition that is unknown keeps others from their moves")
    return None
